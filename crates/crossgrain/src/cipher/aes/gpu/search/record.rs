//! AES steps on names of bytes. They record the calls to be made.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::arch::each;
use crate::cipher::aes::linear_circuit;
use crate::cipher::aes::search::{CipherByte, are_zero, inv_sub_byte, sub_byte};
use crate::circuit::Bits;
use crate::circuit::emit::{Language, Signature};
use crate::circuit::trace::Sym;
use crate::device::bits::{COLUMNS, ROWS, column_words};
use crate::device::text::{Text, byte, words};

/// A step that is a function in the program's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    SubByte,
    InverseSubByte,
    MixColumn,
    InverseMixColumn,
    Add,
    Keep,
    AreZero,
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::SubByte => "sub_byte",
            Self::InverseSubByte => "inverse_sub_byte",
            Self::MixColumn => "mix_column",
            Self::InverseMixColumn => "inverse_mix_column",
            Self::Add => "add",
            Self::Keep => "keep",
            Self::AreZero => "are_zero",
        }
    }

    /// Adds its circuit as a function.
    pub(super) fn declare(self, text: &mut Text) {
        let name = self.name();
        match self {
            Self::SubByte => byte(text, name, sub_byte),
            Self::InverseSubByte => byte(text, name, inv_sub_byte),
            Self::MixColumn => column(text, name, linear_circuit::mix_column),
            Self::InverseMixColumn => column(text, name, linear_circuit::inv_mix_column),
            Self::Add => two_bytes(text, name, linear_circuit::add),
            Self::Keep => two_bytes(text, name, |a, b| each!(bit < 8 => a[bit] & b[bit])),
            Self::AreZero => {
                let bytes = ["a", "b", "c", "d"];
                let signature = Signature {
                    parameters: &bytes.map(|name| (name, "Byte")),
                    inputs: bytes.iter().flat_map(|name| words(name, 8)).collect(),
                    result: "Word",
                    outputs: words("", 1),
                };
                text.circuit(name, &signature, |x: [Sym; 32]| [are_zero(bytes_of(x))]);
            }
        }
    }
}

fn bytes_of(words: [Sym; 32]) -> [Bits<Sym>; 4] {
    each!(at < 4 => each!(bit < 8 => words[8 * at + bit]))
}

/// Adds a circuit on a column.
fn column(text: &mut Text, name: &str, circuit: fn([Bits<Sym>; 4]) -> [Bits<Sym>; 4]) {
    let (inputs, outputs) = (column_words("x"), column_words(""));
    let signature = Signature { parameters: &[("x", "Column")], inputs, result: "Column", outputs };
    text.circuit(name, &signature, |x: [Sym; 32]| {
        let column = circuit(bytes_of(x));
        each!(at < 32 => column[at / 8][at % 8])
    });
}

/// Adds a circuit on two bytes.
fn two_bytes(text: &mut Text, name: &str, circuit: fn(Bits<Sym>, Bits<Sym>) -> Bits<Sym>) {
    let inputs = [words("a", 8), words("b", 8)].concat();
    let parameters = [("a", "Byte"), ("b", "Byte")];
    let signature = Signature { parameters: &parameters, inputs, result: "Byte", outputs: words("", 8) };
    text.circuit(name, &signature, |x: [Sym; 16]| {
        circuit(each!(bit < 8 => x[bit]), each!(bit < 8 => x[8 + bit]))
    });
}

/// A byte of all keys of a thread, as an expression in the program's text.
#[derive(Clone, Copy)]
pub(super) struct Name<'a> {
    record: &'a Record,
    at: usize,
}

/// The calls recorded so far, and the expressions for bytes.
pub(super) struct Record {
    language: Language,
    /// The number of compared bytes.
    pub(super) compared: usize,
    names: RefCell<Vec<String>>,
    /// Bound names and their values.
    lines: RefCell<Vec<(String, String)>>,
    pub(super) used: RefCell<BTreeSet<Step>>,
    /// The number of the constant for which the loop's variable is the index.
    pub(super) base: Cell<Option<usize>>,
}

impl Record {
    pub(super) fn new(language: Language, compared: usize) -> Self {
        let (names, lines, used) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { language, compared, names, lines, used, base: Cell::new(None) }
    }

    /// An expression for a byte.
    pub(super) fn name(&self, text: String) -> Name<'_> {
        let mut names = self.names.borrow_mut();
        names.push(text);
        Name { record: self, at: names.len() - 1 }
    }

    pub(super) fn text(&self, name: Name<'_>) -> String {
        self.names.borrow()[name.at].clone()
    }

    /// Binds a value to a name, unless it has one already. Returns the name.
    pub(super) fn bound(&self, value: String) -> String {
        let mut lines = self.lines.borrow_mut();
        if let Some((name, _)) = lines.iter().find(|(_, known)| *known == value) {
            return name.clone();
        }
        let name = format!("t{}", self.names.borrow().len());
        lines.push((name.clone(), value));
        name
    }

    pub(super) fn call(&self, step: Step, bytes: &[Name<'_>]) -> Name<'_> {
        self.used.borrow_mut().insert(step);
        let bytes: Vec<_> = bytes.iter().map(|&byte| self.text(byte)).collect();
        self.name(self.bound(format!("{}({})", step.name(), bytes.join(", "))))
    }

    pub(super) fn call_on_column(&self, step: Step, column: [Name<'_>; 4]) -> [Name<'_>; 4] {
        self.used.borrow_mut().insert(step);
        let result = self.bound(format!("{}({})", step.name(), self.column(&column)));
        ROWS.map(|row| self.name(format!("{result}.{row}")))
    }

    pub(super) fn column(&self, column: &[Name<'_>]) -> String {
        self.language.made("Column", &column.iter().map(|&byte| self.text(byte)).collect::<Vec<_>>())
    }

    pub(super) fn state(&self, state: &[Name<'_>; 16]) -> String {
        let columns: Vec<_> = state.chunks(4).map(|column| self.column(column)).collect();
        self.language.made("State", &columns)
    }

    pub(super) fn ring(&self, ring: &[[Name<'_>; 4]]) -> String {
        let columns: Vec<_> = ring.iter().map(|column| self.column(column)).collect();
        self.language.made("Ring", &columns)
    }

    /// The state that a round passes to the next.
    pub(super) fn carried(&self) -> [Name<'_>; 16] {
        each!(at < 16 => self.name(format!("s.{}.{}", COLUMNS[at / 4], ROWS[at % 4])))
    }

    /// The schedule's words that a round passes to the next.
    pub(super) fn carried_ring<const NK: usize>(&self) -> [[Name<'_>; 4]; NK] {
        each!(word < NK => each!(row < 4 => self.name(self.carried_byte(word, row))))
    }

    pub(super) fn carried_byte(&self, word: usize, row: usize) -> String {
        match self.language {
            Language::Cuda => format!("ring_byte({}u)", 4 * word + row),
            Language::Wgsl => format!("w.w{word}.{}", ROWS[row]),
        }
    }

    /// The code that stores the schedule's first words for the next round.
    pub(super) fn declared(&self, ring: &[[Name<'_>; 4]]) -> String {
        match self.language {
            Language::Cuda => self.kept("    ", ring),
            Language::Wgsl => format!("    var w = {};\n", self.ring(ring)),
        }
    }

    /// The recorded lines, and code that stores the schedule's words for the next round. In shared memory
    /// each byte is stored as soon as it is computed. The byte it overwrites has then been read for the last
    /// time.
    pub(super) fn kept(&self, indent: &str, ring: &[[Name<'_>; 4]]) -> String {
        if self.language == Language::Wgsl {
            return format!("{}{indent}w = {};\n", self.taken(indent), self.ring(ring));
        }
        let mut puts: BTreeMap<_, _> = (0..4 * ring.len())
            .map(|at| (self.text(ring[at / 4][at % 4]), at))
            .filter(|(text, at)| *text != self.carried_byte(at / 4, at % 4))
            .collect();
        let put = |at: usize, text: &str| format!("{indent}put_ring_byte({at}u, {text});\n");
        let mut lines = String::new();
        for (name, value) in self.lines.take() {
            lines += &format!("{indent}let {name} = {value};\n");
            lines += &puts.remove(&name).map_or_else(String::new, |at| put(at, &name));
        }
        // Bytes that no recorded line computes.
        lines + &puts.into_iter().map(|(text, at)| put(at, &text)).collect::<String>()
    }

    /// The state at the start of a thread.
    pub(super) fn begun(&self) -> [Name<'_>; 16] {
        each!(at < 16 => self.name(format!("from{}.{}", at / 4, ROWS[at % 4])))
    }

    /// The schedule's words at the start of a thread.
    pub(super) fn begun_ring<const NK: usize>(&self) -> [[Name<'_>; 4]; NK] {
        each!(word < NK => ROWS.map(|row| self.name(format!("from{}.{row}", 4 + word))))
    }

    /// The end of a round inside the loop: the recorded lines, then the assignment of the state.
    pub(super) fn turned(&self, state: &[Name<'_>; 16]) -> String {
        format!("{}        s = {};\n", self.taken("        "), self.state(state))
    }

    /// The recorded lines. Clears the record.
    pub(super) fn taken(&self, indent: &str) -> String {
        let lines = self.lines.take();
        lines.iter().map(|(name, value)| format!("{indent}let {name} = {value};\n")).collect()
    }
}

impl<'a> CipherByte for Name<'a> {
    type Isa = &'a Record;
    type Substitution = ();
    /// The vector of `keys` at which the byte's words begin.
    type Pattern = usize;

    fn of(record: &'a Record, k: &usize) -> Self {
        record.name(record.bound(format!("key_byte({k}u)")))
    }

    fn round_constant(record: &'a Record, number: usize) -> Self {
        // The constants follow the output and the mask.
        let k = 2 * (2 * record.compared + number);
        record.name(record.bound(match record.base.get() {
            Some(base) => format!("key_byte(2u * g + {}u)", k - 2 * base),
            None => format!("key_byte({k}u)"),
        }))
    }

    fn sum(self, other: Self) -> Self {
        self.record.call(Step::Add, &[self, other])
    }

    fn kept(self, mask: Self) -> Self {
        self.record.call(Step::Keep, &[self, mask])
    }

    fn substituted(self, record: &'a Record, (): ()) -> Self {
        record.call(Step::SubByte, &[self])
    }

    fn mixed(record: &'a Record, (): (), column: [Self; 4]) -> [Self; 4] {
        record.call_on_column(Step::MixColumn, column)
    }

    fn inv_substituted(self, record: &'a Record, (): ()) -> Self {
        record.call(Step::InverseSubByte, &[self])
    }

    fn inv_mixed(record: &'a Record, (): (), column: [Self; 4]) -> [Self; 4] {
        record.call_on_column(Step::InverseMixColumn, column)
    }
}
