//! The control flow of a function: where each instruction may continue, and where the function is left.

use super::parse::{Callee, Function, Instruction};

/// Where an instruction may continue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Next {
    /// Indices of instructions in the same function.
    pub(crate) inside: Vec<usize>,
    /// How this instruction may leave the function.
    pub(crate) exit: Option<Exit>,
}

/// A way out of a function other than a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Return,
    /// A jump to another function, which returns to this function's caller.
    TailCall(Callee),
}

/// Parts of the names of functions that never return. Code after a call of one is not reached from there.
const NEVER_RETURN: [&str; 16] = [
    "core::panicking::",
    "std::panicking::",
    "core::slice::index::",
    "core::str::slice_error_fail",
    "core::cell::panic_",
    "core::option::unwrap_failed",
    "core::option::expect_failed",
    "core::result::unwrap_failed",
    "len_mismatch_fail",
    "handle_alloc_error",
    "alloc::raw_vec::handle_error",
    "alloc::raw_vec::capacity_overflow",
    "_Unwind_Resume",
    "core::intrinsics::abort",
    "std::process::abort",
    "core::num::", // only the panics of arithmetic remain as functions there
];

impl Function<'_> {
    /// Where instruction `at` may continue. An indirect jump through a table may continue at any label that a
    /// table of this function names.
    pub(crate) fn next(&self, at: usize) -> Next {
        let instruction = &self.body[at];
        let mut next = Next::default();
        match instruction.mnemonic {
            "ret" | "retq" => next.exit = Some(Exit::Return),
            "ud2" | "int3" | "hlt" => {}
            "jmp" | "jmpq" => self.jump(at, &mut next),
            mnemonic if mnemonic.starts_with('j') => {
                self.jump(at, &mut next);
                self.fall_through(at, &mut next);
            }
            _ if never_returns(instruction) => {}
            _ => self.fall_through(at, &mut next),
        }
        next
    }

    fn fall_through(&self, at: usize, next: &mut Next) {
        if at + 1 < self.body.len() {
            next.inside.push(at + 1);
        }
    }

    fn jump(&self, at: usize, next: &mut Next) {
        let target = self.body[at].operands;
        if let Some(place) = self.place(target) {
            next.inside.push(place);
        } else if target.starts_with('*') && self.is_switch(at) {
            next.inside.extend(self.table_targets.iter().filter_map(|label| self.place(label)));
        } else {
            let callee = self.body[at].callee().unwrap_or(Callee::Unknown);
            next.exit = Some(Exit::TailCall(callee)).filter(|exit| !exit.never_returns());
        }
    }

    /// The index of the instruction after a local label.
    fn place(&self, label: &str) -> Option<usize> {
        let place = *self.labels.get(label)?;
        (place < self.body.len()).then_some(place)
    }

    /// Whether an indirect jump goes through a table of this function: LLVM adds the table's address right
    /// before.
    fn is_switch(&self, at: usize) -> bool {
        let target = self.body[at].operands.trim_start_matches('*');
        let adds_table = at.checked_sub(1).is_some_and(|before| {
            let before = &self.body[before];
            before.mnemonic == "addq" && before.operands.ends_with(target)
        });
        !self.table_targets.is_empty() && (adds_table || target.starts_with(".LJTI"))
    }

    /// For each instruction, whether a basic block begins there: it is a jump target, or it follows a branch.
    pub(crate) fn block_starts(&self) -> Vec<bool> {
        let mut starts = vec![false; self.body.len()];
        if let Some(first) = starts.first_mut() {
            *first = true;
        }
        for at in 0..self.body.len() {
            if self.body[at].mnemonic.starts_with('j') {
                self.next(at).inside.iter().for_each(|&place| starts[place] = true);
            }
        }
        starts
    }
}

impl Exit {
    fn never_returns(&self) -> bool {
        matches!(self, Self::TailCall(Callee::Named(name)) if is_endless(name))
    }
}

/// Whether this calls a function that never returns.
fn never_returns(instruction: &Instruction<'_>) -> bool {
    matches!(instruction.callee(), Some(Callee::Named(name)) if is_endless(&name))
}

fn is_endless(name: &str) -> bool {
    NEVER_RETURN.iter().any(|part| name.contains(part))
}
