//! Executes one instruction on a [`State`], and finds how it breaks the rule.

use super::Kind;
use super::state::{Place, State, Value};
use crate::asm::operand::{Memory, Operand, Operands, Register, STACK};
use crate::asm::parse::Instruction;

/// Instructions that turn vectors or masks into flags.
const TO_FLAGS: [&str; 8] =
    ["kortest", "ktest", "comis", "ucomis", "vcomis", "vucomis", "pcmpestr", "pcmpistr"];

/// The same, by their whole names: `vptestmb` makes a mask.
const TO_FLAGS_WHOLE: [&str; 8] =
    ["ptest", "vptest", "vtestps", "vtestpd", "vpcmpestri", "vpcmpestrm", "vpcmpistri", "vpcmpistrm"];

/// `%rax` and `%rdx`, which products and divisions use without naming them.
const LOW: u8 = 0;
const HIGH: u8 = 2;

/// Instructions that touch the memory that a vector selects.
const SELECT: [&str; 4] = ["vpmaskmov", "vmaskmov", "maskmov", "vmaskmovdqu"];

/// Instructions that write a part of memory as long as their mask has bits.
const COMPRESS: [&str; 3] = ["vpcompress", "vcompress", "vpexpand"];

/// Beginnings of vector instructions that copy lanes and compute nothing.
const COPIES: [&str; 14] = [
    "vmov",
    "mova",
    "movu",
    "movd",
    "movq",
    "movnt",
    "vpbroadcast",
    "vbroadcast",
    "vinsert",
    "vextract",
    "lddqu",
    "pextr",
    "vpextr",
    "k", // logic on masks: the result is data if an operand is
];

/// Beginnings of instructions on general registers that leave the flags.
const KEEP_FLAGS: [&str; 16] = [
    "mov", "lea", "push", "pop", "not", "bswap", "sarx", "shlx", "shrx", "rorx", "mulx", "pdep", "pext",
    "cmov", "set", "xchg",
];

/// Beginnings of instructions whose destination is no source.
const OVERWRITE: [&str; 18] = [
    "mov", "lea", "set", "pop", "andn", "bzhi", "bextr", "bls", "sarx", "shlx", "shrx", "rorx", "pdep",
    "pext", "popcnt", "lzcnt", "tzcnt", "bs",
];

/// Instructions that compare and write nothing but flags.
const COMPARE: [&str; 3] = ["cmp", "test", "bt"];

/// Whether this is a comparison of general registers, with or without `b`, `w`, `l` or `q` at its end.
fn is_comparison(mnemonic: &str) -> bool {
    let stem = mnemonic.strip_suffix(['b', 'w', 'l', 'q']).unwrap_or(mnemonic);
    COMPARE.contains(&stem) || COMPARE.contains(&mnemonic)
}

fn begins(mnemonic: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| mnemonic.starts_with(start))
}

impl State {
    /// Executes an instruction. Returns how it breaks the rule.
    pub(super) fn step(&mut self, instruction: &Instruction<'_>) -> Vec<Kind> {
        let operands = Operands::of(instruction.operands);
        let mnemonic = instruction.mnemonic;
        let mut kinds = self.breaches(mnemonic, &operands);
        match mnemonic {
            "call" | "callq" => self.after_call(),
            "push" | "pushq" => self.push(&operands),
            "pop" | "popq" => self.pop(&operands),
            _ if begins(mnemonic, &["mul", "imul", "div", "idiv"]) && operands.all.len() == 1 => {
                self.multiply(mnemonic, &operands);
            }
            _ if mnemonic.starts_with('j') => {
                let by_flags = !matches!(mnemonic, "jmp" | "jmpq" | "jrcxz") && self.flags;
                kinds.extend(by_flags.then_some(Kind::Branch));
            }
            _ if !self.moves_in_frame(mnemonic, &operands) => self.compute(mnemonic, &operands),
            _ => {}
        }
        kinds
    }

    /// How an instruction breaks the rule before it is executed; conditions of jumps aside.
    fn breaches(&self, mnemonic: &str, operands: &Operands) -> Vec<Kind> {
        let mut kinds = Vec::new();
        let is_data = |register| self.is_data(Operand::Register(register), 8);
        if let Some(memory) = operands.memory().filter(|_| !begins(mnemonic, &["lea", "nop", "prefetch"])) {
            let address: Vec<Register> = [memory.base, memory.index].into_iter().flatten().collect();
            kinds.extend(address.iter().any(|it| matches!(it, Register::Vector(..))).then_some(Kind::Gather));
            let is_secret = address.iter().any(|it| matches!(it, Register::General(_)) && is_data(*it));
            kinds.extend(is_secret.then_some(Kind::Address));
            let by_mask = operands.mask.is_some_and(|mask| is_data(Register::Mask(mask)));
            kinds.extend((by_mask || begins(mnemonic, &SELECT)).then_some(Kind::Select));
        }
        let to_flags = begins(mnemonic, &TO_FLAGS) || TO_FLAGS_WHOLE.contains(&mnemonic);
        let to_general = matches!(operands.destination(), Some(Operand::Register(Register::General(_))))
            && operands.sources().iter().any(|source| source.holds_lanes());
        kinds.extend((to_flags || to_general).then_some(Kind::Move));
        let by_data = operands.all.iter().any(|&operand| self.is_data(operand, 8));
        let divides = begins(mnemonic, &["div", "idiv"]);
        let by_implicit = divides && (self.general(LOW) == Value::Data || self.general(HIGH) == Value::Data);
        let varies = divides || is_indirect(mnemonic, operands);
        kinds.extend((varies && by_data || by_implicit).then_some(Kind::Branch));
        kinds
    }

    /// Follows addresses in the frame: copies, sums with constants, and alignment. Returns whether it was
    /// one.
    fn moves_in_frame(&mut self, mnemonic: &str, operands: &Operands) -> bool {
        let Some(Operand::Register(Register::General(to))) = operands.destination() else {
            return false;
        };
        let moved = match (mnemonic, operands.sources()) {
            ("movq" | "mov", [Operand::Register(Register::General(from))]) => Some(self.general(*from)),
            ("leaq" | "lea", [Operand::Memory(memory)]) => self.place(*memory).map(Value::Frame),
            ("addq" | "add", [Operand::Immediate(by)]) => self.shifted(to, *by),
            ("subq" | "sub", [Operand::Immediate(by)]) => self.shifted(to, -by),
            ("addq", [Operand::Register(Register::General(_))]) => self.somewhere(to),
            ("andq" | "and", [Operand::Immediate(_)]) if to == STACK => {
                Some(Value::Frame(Place { base: 1, offset: 0, is_exact: true }))
            }
            _ => None,
        };
        let Some(value) = moved else {
            return false;
        };
        self.general[usize::from(to)] = value;
        if !begins(mnemonic, &KEEP_FLAGS) {
            self.flags = false;
        }
        true
    }

    /// A frame address in `register`, moved by a constant.
    fn shifted(&self, register: u8, by: i64) -> Option<Value> {
        match self.general(register) {
            Value::Frame(place) => {
                Some(Value::Frame(Place { offset: place.offset.saturating_add(by), ..place }))
            }
            _ => None,
        }
    }

    /// A frame address in `register`, moved by an unknown amount.
    fn somewhere(&self, register: u8) -> Option<Value> {
        match self.general(register) {
            Value::Frame(place) => Some(Value::Frame(Place { is_exact: false, ..place })),
            _ => None,
        }
    }

    fn push(&mut self, operands: &Operands) {
        let is_data = operands.all.iter().any(|&operand| self.is_data(operand, 8));
        if let Some(Value::Frame(place)) = self.shifted(STACK, -8) {
            self.general[usize::from(STACK)] = Value::Frame(place);
        }
        self.write(Operand::Memory(TOP_OF_STACK), 8, is_data);
    }

    fn pop(&mut self, operands: &Operands) {
        let is_data = self.is_data(Operand::Memory(TOP_OF_STACK), 8);
        operands.all.iter().for_each(|&operand| self.write(operand, 8, is_data));
        if let Some(value) = self.shifted(STACK, 8) {
            self.general[usize::from(STACK)] = value;
        }
    }

    /// Every other instruction: the destination is data if a source is, or if vectors are computed.
    fn compute(&mut self, mnemonic: &str, operands: &Operands) {
        let len_bytes = memory_bytes(mnemonic, operands);
        let has_lanes = operands.all.iter().any(|operand| operand.holds_lanes());
        let mut is_data = operands.sources().iter().any(|&source| self.is_data(source, len_bytes));
        let destination = operands.destination();
        if has_lanes {
            is_data |= operands.mask.is_some_and(|mask| self.masks >> mask & 1 == 1);
            is_data |= computes(mnemonic, operands);
            is_data |=
                self.merges(mnemonic, operands) && destination.is_some_and(|to| self.is_data(to, len_bytes));
        } else {
            let reads_flags = begins(mnemonic, &["adc", "sbb", "set", "cmov", "rcl", "rcr"]);
            is_data |= reads_flags && self.flags;
            let writes_third = operands.all.len() > 2 && !begins(mnemonic, &["shl", "shr"]);
            let reads = !writes_third && !begins(mnemonic, &OVERWRITE) || is_comparison(mnemonic);
            is_data |= reads && destination.is_some_and(|to| self.is_data(to, len_bytes));
            is_data &= !clears(mnemonic, operands);
            if let (true, [_, low, _]) = (mnemonic.starts_with("mulx"), operands.all.as_slice()) {
                is_data |= self.general(HIGH) == Value::Data;
                self.write(*low, 8, is_data);
            }
            if !begins(mnemonic, &KEEP_FLAGS) && !operands.all.is_empty() {
                self.flags = is_data;
            }
            if is_comparison(mnemonic) {
                return;
            }
        }
        match destination {
            _ if to_flags(mnemonic) => {
                self.flags = operands.all.iter().any(|&operand| self.is_data(operand, len_bytes));
            }
            Some(destination) => self.write(destination, len_bytes, is_data),
            None => {}
        }
    }

    /// Products and divisions by one operand: they name neither the other nor the result.
    fn multiply(&mut self, mnemonic: &str, operands: &Operands) {
        let mut is_data =
            operands.all.iter().any(|&operand| self.is_data(operand, memory_bytes(mnemonic, operands)));
        is_data |=
            self.general(LOW) == Value::Data || mnemonic.contains("div") && self.general(HIGH) == Value::Data;
        for number in [LOW, HIGH] {
            self.write(Operand::Register(Register::General(number)), 8, is_data);
        }
        self.flags = is_data;
    }

    /// Whether lanes of the destination stay as they were.
    fn merges(&self, mnemonic: &str, operands: &Operands) -> bool {
        let is_half = begins(mnemonic, &["movlp", "movhp", "movhl", "movlh"]);
        is_half || operands.mask.is_some() && !operands.zeroes
    }
}

fn to_flags(mnemonic: &str) -> bool {
    begins(mnemonic, &TO_FLAGS) || TO_FLAGS_WHOLE.contains(&mnemonic)
}

const TOP_OF_STACK: Memory = Memory { base: Some(Register::General(STACK)), index: None, displacement: 0 };

/// Whether this jumps or calls to an address in a register or in memory.
fn is_indirect(mnemonic: &str, operands: &Operands) -> bool {
    (mnemonic.starts_with('j') || mnemonic.starts_with("call"))
        && operands.all.iter().any(|operand| matches!(operand, Operand::Register(_) | Operand::Memory(_)))
}

/// Whether a vector instruction computes: it is no copy, and not the idiom that clears a register.
fn computes(mnemonic: &str, operands: &Operands) -> bool {
    !begins(mnemonic, &COPIES) && !clears(mnemonic, operands) && operands.registers().next().is_some()
        || begins(mnemonic, &COMPRESS)
}

/// Whether this XORs a register with itself.
fn clears(mnemonic: &str, operands: &Operands) -> bool {
    let is_xor = begins(mnemonic, &["xor", "pxor", "vpxor", "vxorp", "kxor", "sub"]);
    is_xor
        && match operands.sources() {
            [a] => Some(*a) == operands.destination(),
            [a, b] => a == b,
            _ => false,
        }
}

/// How many bytes of memory an instruction reads or writes at most.
fn memory_bytes(mnemonic: &str, operands: &Operands) -> i64 {
    let widest = operands.registers().filter_map(|register| match register {
        Register::Vector(_, bytes) => Some(bytes),
        _ => None,
    });
    if let Some(widest) = widest.max() {
        return match mnemonic.trim_start_matches('v') {
            "movd" | "movss" => 4,
            "movq" | "movsd" | "movlps" | "movhps" | "movlpd" | "movhpd" => 8,
            "pextrb" | "pinsrb" | "pbroadcastb" => 1,
            "pextrw" | "pinsrw" | "pbroadcastw" => 2,
            "pextrd" | "pinsrd" | "extractps" | "pbroadcastd" | "broadcastss" => 4,
            "pextrq" | "pinsrq" | "pbroadcastq" | "broadcastsd" => 8,
            "extracti64x4" | "extractf64x4" | "extracti32x8" | "broadcasti64x4" | "broadcastf64x4" => 32,
            name if begins(name, &["extract", "insert", "broadcasti", "broadcastf"]) => 16,
            _ => widest,
        };
    }
    let ending = match mnemonic {
        name if begins(name, &["movz", "movs"]) && name.len() == 6 => &name[4..5],
        name => &name[name.len() - 1..],
    };
    match ending {
        "b" => 1,
        "w" => 2,
        "l" | "d" => 4,
        _ => 8,
    }
}
