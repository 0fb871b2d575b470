//! Whether the function that clears registers does so: for each instruction set, every register on every
//! path.

use std::collections::HashSet;

use crate::asm::flow::Exit;
use crate::asm::operand::{Operand, Operands, Register, general_name};
use crate::asm::parse::{Callee, Function, Instruction};

/// A set of registers that one path must clear.
struct Level {
    name: &'static str,
    vectors: u8,
    /// Bytes of each vector register.
    width: i64,
    masks: u8,
}

/// Every path clears one of these whole, and each has a path: x86-64 CPUs differ in the registers that they
/// have.
const LEVELS: [Level; 3] = [
    Level { name: "SSE2", vectors: 16, width: 16, masks: 0 },
    Level { name: "AVX", vectors: 16, width: 64, masks: 0 },
    Level { name: "AVX-512", vectors: 32, width: 64, masks: 8 },
];

/// General registers that a function need not restore. Every path clears them too.
pub(super) const GENERAL: &[u8] = &[0, 1, 2, 6, 7, 8, 9, 10, 11];

/// The search for ends of paths gives up after this many states; a function that clears registers has a few
/// hundred.
const MAX_STATES: usize = 100_000;

/// The registers that are zero at one point of a path.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Cleared {
    /// Bytes of each vector register, from the lowest on.
    vectors: [i64; 32],
    masks: u8,
    general: u16,
    /// The level that the instructions so far aim at.
    level: usize,
}

/// The faults of the function at `start`, which may call functions whose names contain `name`.
pub(super) fn faults(functions: &[Function<'_>], start: usize, name: &str) -> Vec<String> {
    match ends(functions, start, name) {
        Ok(ends) => {
            let mut faults: Vec<_> = ends.iter().filter_map(Cleared::fault).collect();
            let missing = (0..LEVELS.len()).filter(|&level| !ends.iter().any(|end| end.level == level));
            faults.extend(missing.map(|level| format!("has no path for {}", LEVELS[level].name)));
            faults.sort();
            faults.dedup();
            faults
        }
        Err(reason) => vec![reason],
    }
}

/// The registers that are zero at the end of each path.
fn ends(functions: &[Function<'_>], start: usize, name: &str) -> Result<HashSet<Cleared>, String> {
    /// A place in a function, and where its callers go on.
    type Frames = Vec<(usize, usize)>;
    let none = Cleared { vectors: [0; 32], masks: 0, general: 0, level: 0 };
    let mut waiting: Vec<(Frames, Cleared)> = vec![(vec![(start, 0)], none)];
    let mut seen = HashSet::new();
    let mut ends = HashSet::new();
    while let Some((mut frames, mut cleared)) = waiting.pop() {
        if !seen.insert((frames.clone(), cleared.clone())) {
            continue;
        }
        if seen.len() > MAX_STATES {
            return Err("has too many paths to read".to_owned());
        }
        let Some((function, at)) = frames.pop() else {
            ends.insert(cleared);
            continue;
        };
        let code = &functions[function];
        let instruction = &code.body[at];
        let callee = instruction.callee();
        cleared.step(instruction);
        let next = code.next(at);
        for &place in &next.inside {
            let mut frames = frames.clone();
            frames.push((function, place));
            if let Some(helper) = helper(functions, callee.as_ref().filter(|_| is_call(instruction)), name)? {
                frames.push((helper, 0));
            }
            waiting.push((frames, cleared.clone()));
        }
        match next.exit {
            Some(Exit::Return) => waiting.push((frames, cleared)),
            Some(Exit::TailCall(callee)) => {
                let helper = helper(functions, Some(&callee), name)?;
                frames.extend(helper.map(|helper| (helper, 0)));
                waiting.push((frames, cleared));
            }
            None => {}
        }
    }
    Ok(ends)
}

fn is_call(instruction: &Instruction<'_>) -> bool {
    instruction.mnemonic.starts_with("call")
}

/// The function that a call goes to, if the call belongs to the clearing.
fn helper(functions: &[Function<'_>], callee: Option<&Callee>, name: &str) -> Result<Option<usize>, String> {
    match callee {
        Some(Callee::Named(callee)) if callee.contains(name) => {
            let place = functions.iter().position(|function| function.name == *callee);
            place.map(Some).ok_or_else(|| format!("calls {callee}, which is not in the text"))
        }
        Some(Callee::Unknown) => Err("calls through a pointer, which cannot be read".to_owned()),
        _ => Ok(None),
    }
}

impl Cleared {
    fn step(&mut self, instruction: &Instruction<'_>) {
        let (mnemonic, operands) = (instruction.mnemonic, Operands::of(instruction.operands));
        match mnemonic {
            "vzeroall" => {
                self.vectors[..16].fill(64);
                self.level = self.level.max(1);
                return;
            }
            "vzeroupper" => {
                self.level = self.level.max(1);
                return;
            }
            _ if is_call(instruction) => {
                (self.vectors, self.masks) = ([0; 32], 0);
                self.general &= !mask_of(GENERAL);
                return;
            }
            _ if is_comparison(mnemonic) || mnemonic.starts_with('j') => return,
            _ => {}
        }
        let is_zero = is_zero_idiom(mnemonic, &operands);
        match operands.destination() {
            Some(Operand::Register(Register::Vector(number, width))) => {
                let is_vex = mnemonic.starts_with('v');
                self.vectors[usize::from(number)] = match (is_zero, is_vex) {
                    (true, true) => 64, // VEX instructions clear the bytes above the register, too
                    (true, false) => width.min(16),
                    (false, _) => 0,
                };
                let level = if width > 32 || number > 15 { 2 } else { usize::from(is_vex) };
                self.level = self.level.max(if is_zero { level } else { 0 });
            }
            Some(Operand::Register(Register::Mask(number))) => {
                self.masks = self.masks & !(1 << number) | u8::from(is_zero) << number;
                self.level = 2;
            }
            Some(Operand::Register(Register::General(number))) => {
                let is_zero = is_zero || moves_zero(mnemonic, &operands);
                self.general = self.general & !(1 << number) | u16::from(is_zero) << number;
            }
            _ => {}
        }
    }

    /// The registers that this path should clear but does not.
    fn fault(&self) -> Option<String> {
        let level = &LEVELS[self.level];
        let vector = if level.width > 32 { if level.masks > 0 { "zmm" } else { "ymm" } } else { "xmm" };
        let vectors = (0..level.vectors).filter(|&number| self.vectors[usize::from(number)] < level.width);
        let masks = (0..level.masks).filter(|number| self.masks >> number & 1 == 0);
        let general = GENERAL.iter().filter(|number| self.general >> **number & 1 == 0);
        let mut left: Vec<String> = vectors.map(|number| format!("{vector}{number}")).collect();
        left.extend(masks.map(|number| format!("k{number}")));
        left.extend(general.map(|&number| general_name(number)));
        (!left.is_empty())
            .then(|| format!("leaves registers on the path for {}: {}", level.name, left.join(" ")))
    }
}

fn mask_of(registers: &[u8]) -> u16 {
    registers.iter().fold(0, |mask, number| mask | 1 << number)
}

fn is_comparison(mnemonic: &str) -> bool {
    ["cmp", "test", "bt"].iter().any(|start| mnemonic.starts_with(start))
}

/// Whether this is the XOR of a register with itself.
fn is_zero_idiom(mnemonic: &str, operands: &Operands) -> bool {
    let is_xor = ["xor", "pxor", "vpxor", "vxorp", "kxor"].iter().any(|start| mnemonic.starts_with(start));
    is_xor
        && operands.mask.is_none()
        && match operands.sources() {
            [a] => Some(*a) == operands.destination(),
            [a, b] => a == b && matches!(a, Operand::Register(_)),
            _ => false,
        }
}

fn moves_zero(mnemonic: &str, operands: &Operands) -> bool {
    mnemonic.starts_with("mov") && operands.sources() == [Operand::Immediate(0)]
}
