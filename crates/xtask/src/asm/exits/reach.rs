//! Which functions may return while a kernel's registers are still there.
//!
//! Each function is summarised by one question: may it return with registers that a kernel left? A kernel
//! leaves its registers. In modules that call kernels through pointers, these calls count as kernels. A
//! call of the function that clears registers clears them. A call of another function in the text has the
//! effect of that function's summary. Other functions, for example memory copies and the allocator, change
//! nothing, unless they run jobs on threads.

use std::collections::HashMap;

use crate::asm::flow::{Exit, Next};
use crate::asm::name;
use crate::asm::parse::{Callee, Function, Instruction};

/// Parts of the names of functions outside the text that run jobs on threads.
const RUN_JOBS: [&str; 4] = [
    "rayon_core::join",
    "rayon_core::scope::",
    "rayon_core::registry::Registry>::in_worker",
    "std::thread::",
];

/// Modules, and a function, without the caller's key: planning, measuring, and the check of a mode's limits.
const HAVE_NO_KEY: [&str; 4] = [
    "crossgrain::plan::",
    "crossgrain::tune::",
    "crossgrain::wisdom::",
    "crossgrain::mode::registry::Mode>::admits",
];

/// The modules that call kernels through pointers.
const CALL_KERNELS: [&str; 9] = [
    "crossgrain::cipher::aes::",
    "crossgrain::cipher::derived::",
    "crossgrain::cipher::rijndael::",
    "crossgrain::cipher::serpent::",
    "crossgrain::run::",
    "crossgrain::kernel::",
    "crossgrain::mode::",
    "crossgrain::pool::",
    "crossgrain::stream::",
];

/// The effect of a call on the registers that a kernel left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// They are cleared.
    Clears,
    /// They may be present afterwards, regardless of the state before.
    Leaves,
    /// The effect is the summary of this function.
    Calls(usize),
}

/// Whether a function may return with a kernel's registers: if none were present at the call, and if some
/// were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) from_clean: bool,
    pub(super) from_left: bool,
    /// Whether it may call a kernel.
    pub(super) runs_kernels: bool,
    /// Whether it returns at all.
    returns: [bool; 2],
}

/// One function as a graph of effects.
struct Graph {
    effects: Vec<Effect>,
    next: Vec<Next>,
    tail_calls: Vec<Option<Effect>>,
}

/// The summary of each function. `clears` are the places of the functions that clear registers.
pub(super) fn summaries(functions: &[Function<'_>], clears: &[usize]) -> Vec<Summary> {
    let places: HashMap<&str, usize> =
        functions.iter().enumerate().map(|(place, function)| (function.name.as_str(), place)).collect();
    let effect_of = |callee: &Callee| effect(callee, &places, clears);
    let graphs: Vec<_> = functions.iter().map(|function| Graph::of(function, &effect_of)).collect();
    let callers = callers(&graphs);
    let mut summaries = vec![Summary::default(); functions.len()];
    let mut waiting: Vec<usize> = (0..functions.len()).collect();
    while let Some(place) = waiting.pop() {
        let summary = match (name::entry(&functions[place].name), clears.contains(&place)) {
            (_, true) => Summary { returns: [true; 2], ..Summary::default() },
            (Some(_), _) => {
                Summary { from_clean: true, from_left: true, runs_kernels: true, returns: [true; 2] }
            }
            _ => graphs[place].summary(&summaries),
        };
        if summary != summaries[place] {
            summaries[place] = summary;
            waiting.extend(callers.get(&place).into_iter().flatten());
        }
    }
    summaries
}

fn effect(callee: &Callee, places: &HashMap<&str, usize>, clears: &[usize]) -> Effect {
    match callee {
        Callee::Unknown => Effect::Leaves,
        Callee::Named(name) if has_no_key(name) => Effect::Nothing,
        Callee::Named(name) => match places.get(name.as_str()) {
            Some(place) if clears.contains(place) => Effect::Clears,
            Some(place) => Effect::Calls(*place),
            None if RUN_JOBS.iter().any(|part| name.contains(part)) => Effect::Leaves,
            None => Effect::Nothing,
        },
    }
}

/// Whether a function cannot work with the caller's key, because of its module.
fn has_no_key(name: &str) -> bool {
    let path = name.trim_start_matches('<');
    HAVE_NO_KEY.iter().any(|module| path.starts_with(module))
}

/// For each function, those whose summaries depend on it.
fn callers(graphs: &[Graph]) -> HashMap<usize, Vec<usize>> {
    let mut callers: HashMap<usize, Vec<usize>> = HashMap::new();
    for (caller, graph) in graphs.iter().enumerate() {
        let tails = graph.tail_calls.iter().flatten();
        for effect in graph.effects.iter().chain(tails) {
            if let Effect::Calls(callee) = effect {
                callers.entry(*callee).or_default().push(caller);
            }
        }
    }
    callers
}

impl Graph {
    fn of(function: &Function<'_>, effect_of: &impl Fn(&Callee) -> Effect) -> Self {
        let calls_kernels = CALL_KERNELS.iter().any(|module| function.name.contains(module));
        let effect_here = |callee: &Callee| match effect_of(callee) {
            Effect::Leaves if *callee == Callee::Unknown && !calls_kernels => Effect::Nothing,
            effect => effect,
        };
        let next: Vec<_> = (0..function.body.len()).map(|at| function.next(at)).collect();
        let effects = function.body.iter().enumerate().map(|(at, instruction)| {
            let is_call = instruction.mnemonic.starts_with("call");
            let callee = callee(function, at).filter(|_| is_call && !drops(function, at));
            callee.as_ref().map_or(Effect::Nothing, effect_here)
        });
        let tail_calls = next.iter().map(|next| match &next.exit {
            Some(Exit::TailCall(callee)) => Some(effect_here(callee)),
            _ => None,
        });
        Self { effects: effects.collect(), tail_calls: tail_calls.collect(), next }
    }

    fn summary(&self, summaries: &[Summary]) -> Summary {
        let [clean, left] = [false, true].map(|is_left| self.ends(is_left, summaries));
        let mut effects = self.effects.iter().chain(self.tail_calls.iter().flatten());
        let runs_kernels = effects.any(|effect| match effect {
            Effect::Leaves => true,
            Effect::Calls(place) => summaries[*place].runs_kernels,
            _ => false,
        });
        let returns = [clean, left].map(|ends| ends[0] || ends[1]);
        Summary { from_clean: clean[1], from_left: left[1], runs_kernels, returns }
    }

    /// Whether the function may return without, and with, a kernel's registers, for the given state at its
    /// beginning.
    fn ends(&self, is_left: bool, summaries: &[Summary]) -> [bool; 2] {
        let mut ends = [false; 2];
        let mut seen = vec![[false; 2]; self.effects.len()];
        let mut waiting = vec![(0, is_left)];
        while let Some((at, is_left)) = waiting.pop() {
            if seen.get(at).is_none_or(|seen| seen[usize::from(is_left)]) {
                continue;
            }
            seen[at][usize::from(is_left)] = true;
            for after in after(self.effects[at], is_left, summaries) {
                waiting.extend(self.next[at].inside.iter().map(|&place| (place, after)));
                match self.next[at].exit {
                    Some(Exit::Return) => ends[usize::from(after)] = true,
                    Some(Exit::TailCall(_)) => {
                        let effect = self.tail_calls[at].unwrap_or(Effect::Nothing);
                        for end in self::after(effect, after, summaries) {
                            ends[usize::from(end)] = true;
                        }
                    }
                    None => {}
                }
            }
        }
        ends
    }
}

/// The target of a call or jump. A register is traced back to the symbol that was last loaded into it, in the
/// order of the text. The compiler keeps the address of `memcpy` in a register.
fn callee(function: &Function<'_>, at: usize) -> Option<Callee> {
    let instruction = &function.body[at];
    let callee = instruction.callee()?;
    let Some(register) = instruction.operands.strip_prefix('*').filter(|it| it.starts_with('%')) else {
        return Some(callee);
    };
    let writes =
        |before: &&Instruction<'_>| before.operands.ends_with(register) && before.mnemonic != "testq";
    let loaded = function.body[..at].iter().rev().find(writes);
    let symbol =
        loaded.and_then(|load| load.operands.strip_suffix(register)?.strip_suffix("@GOTPCREL(%rip), "));
    Some(symbol.map_or(callee, Callee::of))
}

/// Whether a call through a register drops a value of unknown type. The drop function is the only entry of a
/// method table that may be absent, so the code tests it first. Drops run no kernel.
fn drops(function: &Function<'_>, at: usize) -> bool {
    let Some(register) = function.body[at].operands.strip_prefix("*%") else {
        return false;
    };
    let test = format!("%{register}, %{register}");
    let before = &function.body[at.saturating_sub(DROP_SETUP)..at];
    before.iter().any(|instruction| instruction.mnemonic == "testq" && instruction.operands == test)
}

/// Instructions between the test and the call of a drop, at most.
const DROP_SETUP: usize = 6;

/// The possible states after an effect: whether a kernel's registers may be present.
fn after(effect: Effect, is_left: bool, summaries: &[Summary]) -> Vec<bool> {
    match effect {
        Effect::Nothing => vec![is_left],
        Effect::Clears => vec![false],
        Effect::Leaves => vec![true],
        Effect::Calls(place) => {
            let summary = &summaries[place];
            let leaves = if is_left { summary.from_left } else { summary.from_clean };
            match (summary.returns[usize::from(is_left)], leaves) {
                (false, _) => Vec::new(), // not known yet, or the function never returns
                (true, leaves) => vec![leaves],
            }
        }
    }
}
