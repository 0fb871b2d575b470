//! Rule 5: the data of a kernel stays in vector registers, so no address and no branch depends on data.
//!
//! Two checks follow from that. First, no instruction moves a vector or mask register into a general register
//! or into flags, gathers, or scatters. Second, results of vector instructions are followed through the
//! stack: a general register may reload them, but must not use them as an address, a branch condition or a
//! divisor. A mask that a vector comparison made must not select which bytes of memory are touched.
//!
//! Limits: values that a kernel loads from memory into general registers, other than from its own frame, are
//! not followed, because pointers and lengths come the same way. Results that a kernel stores through a
//! pointer to anything but its frame are not followed either.

mod exceptions;
mod state;
mod step;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::name;
use super::parse::{Function, Instruction};
use super::rules::Kernel;
use exceptions::{EXCEPTIONS, Exception};
use state::State;

/// A way to break the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A vector or mask register becomes a general register or flags.
    Move,
    /// Lanes of a vector are addresses.
    Gather,
    /// Reloaded data is an address.
    Address,
    /// Reloaded data decides a branch, or how long a division takes.
    Branch,
    /// Data selects which bytes of memory are touched.
    Select,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Self::Move => "moves a vector or mask register to a general register or flags",
            Self::Gather => "gathers or scatters",
            Self::Address => "uses data as an address",
            Self::Branch => "branches on data",
            Self::Select => "lets data select the memory that it touches",
        }
    }
}

/// The instructions of one kernel that break the rule.
type Found<'t> = BTreeMap<Kind, Vec<Instruction<'t>>>;

/// Everything that breaks the rule, and every exception that no kernel needs.
pub(crate) fn faults(kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    faults_but(EXCEPTIONS, kernels)
}

/// [`faults`] with these exceptions.
pub(crate) fn faults_but(exceptions: &[Exception], kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut unused: Vec<_> = exceptions.iter().flat_map(Exception::uses).collect();
    for kernel in kernels {
        let short = name::short(kernel.name);
        for (kind, instructions) in found(kernel.code) {
            let allowed = exceptions.iter().find(|exception| exception.allows(&short, kernel.isa, kind));
            match allowed {
                Some(it) => unused.retain(|unused| *unused != (it.kernel, kernel.isa, kind)),
                None => faults.push(fault(&name::short(&kernel.code.name), kind, &instructions)),
            }
        }
    }
    faults.extend(unused.into_iter().map(|(kernel, isa, kind)| {
        format!("unused exception: no {kernel} for {isa} {}; remove it", kind.text())
    }));
    faults
}

/// The exceptions, one line each.
pub(crate) fn justified() -> impl Iterator<Item = String> {
    let kinds = |exception: &Exception| {
        let texts: Vec<_> = exception.kinds.iter().map(|kind| kind.text()).collect();
        texts.join(", ")
    };
    EXCEPTIONS.iter().map(move |it| {
        format!("allowed: {} ({}) {}: {}", it.kernel, it.isas.join(", "), kinds(it), it.reason)
    })
}

fn fault(kernel: &str, kind: Kind, instructions: &[Instruction<'_>]) -> String {
    let (first, count) = (instructions[0], instructions.len());
    format!("{kernel} {}: {} {} (x{count})", kind.text(), first.mnemonic, first.operands)
}

/// The instructions of a function that break the rule.
///
/// The states before blocks are a fixed point. It is computed twice. The second time uses the words of the
/// frame from the first, because a word that turns out public makes the registers loaded from it public, too.
pub(crate) fn found<'t>(function: &Function<'t>) -> Found<'t> {
    let starts = function.block_starts();
    let first = states(function, &starts, None);
    let states = states(function, &starts, Some(&first));
    let mut found = Found::new();
    for (start, mut state) in states {
        follow(function, &starts, start, &mut state, |kind, instruction| {
            found.entry(kind).or_default().push(instruction);
        });
    }
    found
}

/// The state before each block that is reached. Words of the frame come from `words`, if given.
fn states(
    function: &Function<'_>,
    starts: &[bool],
    words: Option<&BTreeMap<usize, State>>,
) -> BTreeMap<usize, State> {
    let mut entered: BTreeMap<usize, State> = BTreeMap::from([(0, State::at_entry())]);
    let mut waiting = BTreeSet::from([0]); // in the order of the text, which is close to that of execution
    while let Some(start) = waiting.pop_first() {
        let mut state = entered[&start].clone();
        for place in follow(function, starts, start, &mut state, |_, _| {}) {
            let words = words.and_then(|states| states.get(&place));
            let changed = match entered.get_mut(&place) {
                Some(there) => there.join(&state, words, place),
                None => {
                    let mut there = state.clone();
                    there.join(&state, words, place);
                    entered.insert(place, there).is_none()
                }
            };
            if changed {
                waiting.insert(place);
            }
        }
    }
    entered
}

/// Executes a block. Returns where its last instruction may continue.
fn follow<'t>(
    function: &Function<'t>,
    starts: &[bool],
    start: usize,
    state: &mut State,
    mut note: impl FnMut(Kind, Instruction<'t>),
) -> Vec<usize> {
    let mut at = start;
    loop {
        let instruction = function.body[at];
        state.step(&instruction).into_iter().for_each(|kind| note(kind, instruction));
        let next = function.next(at).inside;
        match next.as_slice() {
            [only] if *only == at + 1 && !starts[at + 1] => at += 1,
            _ => return next,
        }
    }
}
