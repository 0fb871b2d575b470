//! Reads the operands of one instruction: which registers and which memory it names.
//!
//! The text is AT&T syntax: sources first, destination last, `displacement(base,index,scale)` for memory.

/// A register, by kind and number. Sub-registers have the number of the whole: `%al` is `%rax`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    General(u8),
    /// An SSE, AVX or AVX-512 register, with its width in bytes.
    Vector(u8, i64),
    Mask(u8),
    /// The instruction pointer, a segment, or a register of the x87 unit.
    Other,
}

/// The stack pointer's number.
pub(crate) const STACK: u8 = 4;

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Register),
    Memory(Memory),
    /// A number.
    Immediate(i64),
    /// A label, a symbol or a rounding mode.
    Symbol,
}

/// A memory operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) base: Option<Register>,
    pub(crate) index: Option<Register>,
    pub(crate) displacement: i64,
}

/// The operands of an instruction, and the mask register that selects lanes of its destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operands {
    pub(crate) all: Vec<Operand>,
    pub(crate) mask: Option<u8>,
    /// Whether lanes outside the mask become zero (`{z}`).
    pub(crate) zeroes: bool,
}

const GENERAL: [[&str; 5]; 8] = [
    ["rax", "eax", "ax", "al", "ah"],
    ["rcx", "ecx", "cx", "cl", "ch"],
    ["rdx", "edx", "dx", "dl", "dh"],
    ["rbx", "ebx", "bx", "bl", "bh"],
    ["rsp", "esp", "sp", "spl", ""],
    ["rbp", "ebp", "bp", "bpl", ""],
    ["rsi", "esi", "si", "sil", ""],
    ["rdi", "edi", "di", "dil", ""],
];

/// The name of a general register as a whole.
pub(crate) fn general_name(number: u8) -> String {
    match GENERAL.get(usize::from(number)) {
        Some(names) => names[0].to_owned(),
        None => format!("r{number}"),
    }
}

impl Operands {
    pub(crate) fn of(text: &str) -> Self {
        let mut operands = Self::default();
        for part in split(text) {
            let (part, decorations) = part.split_at(part.find('{').unwrap_or(part.len()));
            for decoration in decorations.split('}') {
                match decoration.trim().trim_start_matches('{') {
                    "z" => operands.zeroes = true,
                    mask if mask.starts_with("%k") => operands.mask = mask[2..].parse().ok(),
                    _ => {}
                }
            }
            if !part.trim().is_empty() {
                operands.all.push(Operand::of(part.trim()));
            }
        }
        operands
    }

    /// The last operand.
    pub(crate) fn destination(&self) -> Option<Operand> {
        self.all.last().copied()
    }

    /// Every operand but the last.
    pub(crate) fn sources(&self) -> &[Operand] {
        self.all.split_last().map_or(&[], |(_, sources)| sources)
    }

    /// The memory operand, if there is one.
    pub(crate) fn memory(&self) -> Option<Memory> {
        self.all.iter().find_map(|operand| match operand {
            Operand::Memory(memory) => Some(*memory),
            _ => None,
        })
    }

    /// The registers that are operands themselves, without those of addresses.
    pub(crate) fn registers(&self) -> impl Iterator<Item = Register> {
        self.all.iter().filter_map(|operand| match operand {
            Operand::Register(register) => Some(*register),
            _ => None,
        })
    }
}

impl Operand {
    fn of(text: &str) -> Self {
        let text = text.trim_start_matches('*');
        if let Some(number) = text.strip_prefix('$') {
            return number_of(number).map_or(Self::Symbol, Self::Immediate);
        }
        if text.ends_with(')') {
            return Self::Memory(Memory::of(text));
        }
        if text.starts_with('%') && !text.contains(':') {
            return Self::Register(Register::of(text));
        }
        Self::Symbol
    }

    /// Whether this is a register of vectors or masks.
    pub(crate) fn holds_lanes(self) -> bool {
        matches!(self, Self::Register(Register::Vector(..) | Register::Mask(_)))
    }
}

impl Memory {
    fn of(text: &str) -> Self {
        let (displacement, address) = text.trim_end_matches(')').split_once('(').unwrap_or((text, ""));
        let mut registers = address.split(',').map(str::trim);
        let mut next = || registers.next().filter(|name| name.starts_with('%')).map(Register::of);
        Self { base: next(), index: next(), displacement: number_of(displacement).unwrap_or(0) }
    }
}

impl Register {
    /// A register by its name, `%` included.
    pub(crate) fn of(name: &str) -> Self {
        let name = name.trim_start_matches('%');
        let number = |digits: &str| digits.parse::<u8>().ok();
        for (prefix, width) in [("xmm", 16), ("ymm", 32), ("zmm", 64), ("mm", 8)] {
            if let Some(number) = name.strip_prefix(prefix).and_then(number) {
                return Self::Vector(number, width);
            }
        }
        if let Some(number) = name.strip_prefix('k').and_then(number) {
            return Self::Mask(number);
        }
        if let Some(at) = GENERAL.iter().position(|names| names.contains(&name)) {
            return Self::General(at as u8);
        }
        let digits = name.strip_prefix('r').map(|rest| rest.trim_end_matches(['d', 'w', 'b']));
        digits.and_then(number).map_or(Self::Other, Self::General)
    }
}

fn number_of(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?.cast_signed(),
        None => digits.parse::<u64>().ok()?.cast_signed(),
    };
    Some(value.wrapping_mul(sign))
}

/// Splits at commas outside parentheses.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_split_outside_parentheses() {
        let operands = Operands::of("-8(%rsp,%r9,8), %zmm17 {%k2} {z}");
        let memory = Memory {
            base: Some(Register::General(STACK)),
            index: Some(Register::General(9)),
            displacement: -8,
        };
        let vector = Operand::Register(Register::Vector(17, 64));
        assert_eq!(
            operands,
            Operands { all: vec![Operand::Memory(memory), vector], mask: Some(2), zeroes: true }
        );
    }

    #[test]
    fn sub_registers_have_the_number_of_the_whole() {
        for (name, number) in [("%al", 0), ("%ch", 1), ("%r8d", 8), ("%r15b", 15), ("%sil", 6), ("%rsp", 4)] {
            assert_eq!(Register::of(name), Register::General(number), "{name}");
        }
        assert_eq!(Register::of("%rip"), Register::Other);
        assert_eq!(Register::of("%k7"), Register::Mask(7));
        assert_eq!(general_name(6), "rsi");
        assert_eq!(general_name(11), "r11");
    }

    #[test]
    fn an_address_may_have_vector_indices_or_no_base() {
        let gather = Operands::of("(%rdi,%zmm1,4), %zmm0 {%k1}");
        assert_eq!(gather.memory().and_then(|memory| memory.index), Some(Register::Vector(1, 64)));
        let table = Operands::of("*.LJTI0_0(,%rax,8)");
        assert_eq!(table.memory().and_then(|memory| memory.base), None);
        assert_eq!(table.memory().and_then(|memory| memory.index), Some(Register::General(0)));
        assert_eq!(Operands::of("$-64, %rsp").all[0], Operand::Immediate(-64));
    }
}
