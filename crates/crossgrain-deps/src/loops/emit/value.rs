//! Expressions and variables as text.

use super::{Language, Writer};
use crate::loops::program::{Expr, Kind, Op, Reference};
use crate::loops::source::quoted;

impl Writer<'_> {
    /// The place of a variable.
    pub(super) fn variable(&self, variable: usize) -> String {
        self.names[variable].clone()
    }

    /// The place of an element or a scalar.
    pub(super) fn place(&self, of: &Reference) -> String {
        let name = self.copied.get(&of.number).cloned().unwrap_or_else(|| self.variable(of.variable));
        let offset = |(subscript, (from, len)): (&Expr, (String, String))| {
            let at = bare(self.int(subscript));
            let offset = match from.as_str() {
                _ if self.checks => {
                    let text = quoted(&of.text);
                    format!("within(\"{}: `{text}`\", {at}, {}, {})", of.at, bare(from), bare(len.clone()))
                }
                "0" => at,
                _ => format!("{at} - {from}"),
            };
            (offset, len)
        };
        let offsets = of.subscripts.iter().zip(self.spans(of.variable)).map(offset);
        let flat = offsets.reduce(|(flat, _), (offset, len)| (format!("({flat}) * {len} + ({offset})"), len));
        match (self.language, flat) {
            (_, None) => name,
            (Language::C, Some((flat, _))) => format!("{name}[{flat}]"),
            (Language::Rust, Some((flat, _))) => format!("{name}[({flat}) as usize]"),
        }
    }

    /// For each subscript of an array or a table, its first value and the number of its values.
    pub(super) fn spans(&self, variable: usize) -> Vec<(String, String)> {
        let variable = &self.program.variables[variable];
        let of_table = |&(from, to): &(i64, i64)| {
            (self.int(&Expr::Number(from)), self.int(&Expr::Number(to - from + 1)))
        };
        match variable.spans.is_empty() {
            true => variable.dims().iter().map(of_table).collect(),
            false => variable.spans.iter().map(|span| (self.int(&span.from), self.int(&span.len))).collect(),
        }
    }

    /// A read of a number or a word.
    pub(super) fn read(&self, read: &Reference) -> String {
        let place = self.place(read);
        if self.copied.contains_key(&read.number) { place } else { self.load(&place, read.variable) }
    }

    /// Whether the variable is atomic: in Rust, if threads share it and it can change.
    fn is_atomic(&self, variable: usize) -> bool {
        let is_changed =
            matches!(self.program.variables[variable].kind, Kind::Int(_) | Kind::Word | Kind::Array(_));
        self.language == Language::Rust && is_changed && !self.own.contains(&variable)
    }

    /// Loads the value of a place.
    pub(super) fn load(&self, place: &str, variable: usize) -> String {
        if self.is_atomic(variable) { format!("{place}.load(Relaxed)") } else { place.to_owned() }
    }

    /// Assigns a value to a place.
    pub(super) fn assigned(&self, place: &str, variable: usize, value: &str) -> String {
        if self.is_atomic(variable) {
            format!("{place}.store({value}, Relaxed);")
        } else {
            format!("{place} = {value};")
        }
    }

    /// An expression as a number.
    pub(super) fn int(&self, value: &Expr) -> String {
        if let Some(number) = constant(value) {
            return if number < 0 { format!("({number})") } else { number.to_string() };
        }
        if !value.is_int(self.program) {
            let word = self.word(value);
            return if self.language == Language::C {
                format!("(int64_t){word}")
            } else {
                format!("i64::from({word})")
            };
        }
        match value {
            Expr::Symbol(variable) => self.names[*variable].clone(),
            Expr::Read(read) => self.read(read),
            Expr::Negative(inner) if self.checks => format!("minus(0, {})", bare(self.int(inner))),
            Expr::Negative(inner) => format!("(-{})", self.int(inner)),
            Expr::Binary(op, a, b) if self.checks => {
                let name = match op {
                    Op::Add => "plus",
                    Op::Subtract => "minus",
                    _ => "product",
                };
                format!("{name}({}, {})", bare(self.int(a)), bare(self.int(b)))
            }
            Expr::Binary(op, a, b) => format!("({} {} {})", self.int(a), op.sign(), self.int(b)),
            Expr::Number(_) | Expr::Not(_) => String::new(),
        }
    }

    /// An expression as a word.
    pub(super) fn word(&self, value: &Expr) -> String {
        let is_c = self.language == Language::C;
        if let Some(number) = constant(value) {
            return format!("{}{}", number as u32, if is_c { "u" } else { "_u32" });
        }
        if value.is_int(self.program) {
            let int = self.int(value);
            return if is_c { format!("(uint32_t)({int})") } else { format!("(({int}) as u32)") };
        }
        match value {
            Expr::Read(read) => self.read(read),
            Expr::Negative(inner) if is_c => format!("(0u - {})", self.word(inner)),
            Expr::Negative(inner) => format!("{}.wrapping_neg()", self.word(inner)),
            Expr::Not(inner) if is_c => format!("~{}", self.word(inner)),
            Expr::Not(inner) => format!("(!{})", self.word(inner)),
            Expr::Binary(op, a, b) => self.combined(*op, &self.word(a), &self.word(b), b),
            Expr::Number(_) | Expr::Symbol(_) => String::new(),
        }
    }

    pub(super) fn combined(&self, op: Op, a: &str, b: &str, by: &Expr) -> String {
        let by = constant(by).unwrap_or(0);
        match (self.language, op) {
            (_, Op::ShiftLeft | Op::ShiftRight) => format!("({a} {} {by})", op.sign()),
            (Language::C, Op::RotateLeft) => format!("rotl({a}, {by})"),
            (Language::Rust, Op::RotateLeft) => format!("{a}.rotate_left({by})"),
            (Language::Rust, Op::Add) => format!("{a}.wrapping_add({b})"),
            (Language::Rust, Op::Subtract) => format!("{a}.wrapping_sub({b})"),
            (Language::Rust, Op::Multiply) => format!("{a}.wrapping_mul({b})"),
            _ => format!("({a} {} {b})", op.sign()),
        }
    }

    /// The tightest of several bounds.
    pub(super) fn bound(&self, bounds: &[Expr], largest: bool) -> String {
        let all = bounds.iter().map(|bound| bare(self.int(bound)));
        let tightest = all.reduce(|a, b| match (self.language, largest) {
            (Language::C, true) => format!("largest({a}, {b})"),
            (Language::C, false) => format!("least({a}, {b})"),
            (Language::Rust, true) => format!("i64::max({a}, {b})"),
            (Language::Rust, false) => format!("i64::min({a}, {b})"),
        });
        tightest.unwrap_or_default()
    }
}

/// The value of an expression that contains only numbers.
pub(super) fn constant(value: &Expr) -> Option<i64> {
    value.known(&|_| None)
}

/// Removes brackets around the whole text.
pub(super) fn bare(text: String) -> String {
    let mut depth = 0;
    let closes = text.bytes().position(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth == 0
    });
    let is_one = text.starts_with('(') && closes == Some(text.len() - 1);
    if is_one { text[1..text.len() - 1].to_owned() } else { text }
}

/// `step * count`, as a term of a sum.
pub(super) fn times(step: i64, count: &str) -> String {
    match step {
        1 => count.to_owned(),
        0.. => format!("{step} * {count}"),
        _ => format!("({step}) * {count}"),
    }
}
