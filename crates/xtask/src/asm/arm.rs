//! Rules for 64-bit ARM, in addition to those in `rules`.
//!
//! * A round of AES is AESE or AESD, then AESMC or AESIMC. AESE begins with the XOR of a key. If its key is
//!   zero, the compiler did not merge the XOR of the round before, which is then an instruction of its own.
//! * `clear_registers` clears every register that a function need not preserve. That public functions call it
//!   is the same in the source on every machine, and checked for x86-64.

use super::name;
use super::parse::{Function, Instruction};
use super::rules::Kernel;

/// How many instructions lie at most between the halves of a round.
const ROUND_REACH: usize = 64;

/// One round in this many may begin with a key of zero: the first in a loop. Its key was added before the loop.
const ONE_IN: usize = 5;

/// Kernels that compute a round with a key of zero by design: key schedules, which mix the columns of keys, tables
/// of a round, and wide Rijndael, whose rows move further between the halves.
const NO_ENCRYPTION: [&str; 6] = [
    "key::Take",
    "own_keys::Expand",
    "search::instructions::Try",
    "cached_counter::Fill",
    "gcm::heads",
    "rijndael::",
];

/// Every fault, one line each.
pub(super) fn faults(functions: &[Function<'_>], kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let mut faults: Vec<_> = kernels.iter().filter_map(unmerged).collect();
    faults.extend(not_cleared(functions));
    faults
}

/// Shows a kernel on one line: its instructions, rounds of AES, and XORs.
pub(super) fn show_kernel(kernel: &Kernel<'_, '_>) {
    let count = |mnemonics: &[&str]| {
        let is_it = |i: &&Instruction<'_>| mnemonics.contains(&i.mnemonic);
        kernel.code.body.iter().filter(is_it).count()
    };
    println!(
        "{:<9} {:>6} instructions {:>3} calls {:>5} half rounds {:>5} mixes {:>5} XORs  {}",
        kernel.isa,
        kernel.code.body.len(),
        kernel.code.calls().count(),
        count(&["aese", "aesd"]),
        count(&["aesmc", "aesimc"]),
        count(&["eor", "eor3"]),
        name::short(kernel.name),
    );
}

/// A kernel with rounds whose key is zero.
fn unmerged(kernel: &Kernel<'_, '_>) -> Option<String> {
    let body = &kernel.code.body;
    let rounds = (0..body.len()).filter(|&at| is_round(body, at));
    let (found, rounds) = rounds
        .fold((0, 0), |(found, rounds), at| (found + usize::from(has_zero_key(kernel.code, at)), rounds + 1));
    let name = name::short(kernel.name);
    let is_meant = NO_ENCRYPTION.iter().any(|part| name.contains(part));
    (found * ONE_IN > rounds && !is_meant)
        .then(|| format!("{found} of {rounds} rounds with an XOR of their own: {name}"))
}

/// The operands of an instruction, without the arrangement of lanes.
fn operands<'t>(instruction: &Instruction<'t>) -> Vec<&'t str> {
    instruction.operands.split(',').map(|operand| operand.trim().split('.').next().unwrap_or("")).collect()
}

/// Whether instruction `at` is the first half of a round: the second follows, on the same register.
fn is_round(body: &[Instruction<'_>], at: usize) -> bool {
    let second = match body[at].mnemonic {
        "aese" => "aesmc",
        "aesd" => "aesimc",
        _ => return false,
    };
    let state = operands(&body[at])[0];
    let mut after = body[at + 1..].iter().take(ROUND_REACH);
    let user = after.find(|i| operands(i).contains(&state));
    user.is_some_and(|i| i.mnemonic == second)
}

/// Whether the key of the half round `at` was set to zero by the last instruction before it that writes the
/// register, and no instruction of the same loop writes it.
fn has_zero_key(code: &Function<'_>, at: usize) -> bool {
    let body = &code.body;
    let Some(&key) = operands(&body[at]).get(1) else { return false };
    let quadword = key.replacen('v', "q", 1);
    let writes = |i: &&Instruction<'_>| operands(i).iter().take(2).any(|to| *to == key || *to == quadword);
    let is_zero = |i: &Instruction<'_>| i.mnemonic == "movi" && i.operands.ends_with("#0000000000000000");
    // Half rounds read their second operand, a key.
    let sets = |i: &&Instruction<'_>| writes(i) && !matches!(i.mnemonic, "aese" | "aesd");
    if !body[..at].iter().rev().find(sets).is_some_and(is_zero) {
        return false;
    }
    let inner = (at..body.len()).find_map(|end| {
        let target = body[end].operands.rsplit(',').next()?.trim();
        let begin = *code.labels.get(target)?;
        (body[end].mnemonic != "adr" && begin <= at).then_some(begin..end)
    });
    inner.is_none_or(|body_of_loop| body[body_of_loop].iter().filter(sets).all(is_zero))
}

/// Registers that `clear_registers` leaves as they are.
fn not_cleared(functions: &[Function<'_>]) -> Option<String> {
    let clear = functions.iter().find(|function| function.name.ends_with("::clear_registers"));
    let Some(clear) = clear else { return Some("there is no function clear_registers".to_owned()) };
    let is_set = |mnemonic: &str, register: &str| {
        let sets = |i: &&Instruction<'_>| i.mnemonic == mnemonic && operands(i)[0] == register;
        clear.body.iter().any(|i| sets(&i))
    };
    let vectors = (0..8).chain(16..32).map(|number| ("movi", format!("v{number}")));
    let general = (0..18).map(|number| ("mov", format!("x{number}")));
    let left: Vec<_> = vectors.chain(general).filter(|(by, register)| !is_set(by, register)).collect();
    let names: Vec<_> = left.into_iter().map(|(_, register)| register).collect();
    (!names.is_empty()).then(|| format!("clear_registers leaves {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::parse::functions_with;
    use super::*;

    fn unmerged_in(body: &str) -> bool {
        let text = format!("kernel:\n\t{}\n\tret\n", body.replace('\n', "\n\t"));
        let functions = functions_with(&text, "//");
        unmerged(&Kernel { isa: "neonaes", name: "kernel", code: &functions[0] }).is_some()
    }

    #[test]
    fn a_round_with_a_key_of_zero_is_found() {
        let round = "aese v0.16b, v1.16b\naesmc v0.16b, v0.16b";
        assert!(unmerged_in(&format!("movi v1.2d, #0000000000000000\n{round}\neor v0.16b, v0.16b, v2.16b")));
        assert!(!unmerged_in(&format!("movi v1.2d, #0000000000000000\nldr q1, [x0] // a key\n{round}")));
        // The S-box of a key schedule is no round.
        assert!(!unmerged_in(
            "movi v1.2d, #0000000000000000\naese v0.16b, v1.16b\neor v0.16b, v0.16b, v2.16b"
        ));
    }

    #[test]
    fn a_register_that_is_not_cleared_is_named() {
        let vectors = (0..8).chain(16..32).map(|number| format!("\tmovi v{number}.2d, #0\n"));
        let general = (0..17).map(|number| format!("\tmov x{number}, #0\n"));
        let text: String =
            ["a::clear_registers:\n".to_owned()].into_iter().chain(vectors).chain(general).collect();
        let found = not_cleared(&functions_with(&text, "//"));
        assert_eq!(found.as_deref(), Some("clear_registers leaves x17"));
    }
}
