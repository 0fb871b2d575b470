//! AES bit-sliced with a key a lane, 32 keys a thread: the steps are those of `part::aes::search`, run on names of bytes,
//! which record what is called. So schedule, rounds and last rounds are the CPU's own text; the gates within a call are
//! traced from the same circuits.
//!
//! A turn of the loop is as many rounds as bring the schedule's words to the same places again: 1, 3 and 2 rounds for
//! keys of 4, 6 and 8 words. Its variable is the number of the turn's first round constant.
//! Four bytes are compared, those of one column before the last ShiftRows: that takes four S-boxes more than two bytes
//! would, and the host has hardly a wrong key to try.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use zeroize::Zeroizing;

use super::Search;
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction};
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::trace::Sym;
use crate::circuit::{Bits, aes_linear};
use crate::device::aes::{COLUMNS, ROWS, byte, column_words, structures};
use crate::device::text::{Text, words};
use crate::part::aes::search::{
    CipherByte, LaneByte, Rounds, Target, are_zero, begins, inv_sub_byte, shifted, sub_byte,
};
use crate::part::search::{START_BLOCKS, Use};
use crate::word::{Portable, each};

/// Bytes that are compared.
const COMPARED: usize = 4;

/// Words of `keys` at which the round constants begin: after output and mask.
const CONSTANTS: usize = 8 * 2 * COMPARED;

/// Rounds of a turn of the loop, and how many times the schedule adds a constant in it.
const fn turn(key_words: usize) -> (usize, usize) {
    match key_words {
        4 => (1, 1),
        6 => (3, 2),
        _ => (2, 1),
    }
}

/// The number of the first turn's first constant.
const FIRST_CONSTANT: usize = 2;

/// Rounds of the loop: those between the first, which is done beforehand, and the last two.
const fn middle_rounds(cipher: Cipher) -> usize {
    cipher.rounds() - 3
}

/// Where the variable of the loop ends.
pub(super) const fn end(cipher: Cipher) -> u32 {
    let key_words = cipher.key_bytes() / 4;
    let (rounds, constants) = turn(key_words);
    (FIRST_CONSTANT + middle_rounds(cipher).div_ceil(rounds) * constants) as u32
}

/// What 32 keys or fewer begin from, a word a bit: the first columns of it.
pub(super) fn sliced(starts: &[[Block; START_BLOCKS]], columns: usize) -> Zeroizing<Vec<u32>> {
    let mut words = Zeroizing::new(Vec::with_capacity(128 * START_BLOCKS));
    for part in 0..columns.div_ceil(4) {
        let mut blocks = Zeroizing::new([[0; BLOCK_BYTES]; 32]);
        for (block, start) in blocks.iter_mut().zip(starts) {
            *block = start[part];
        }
        words.extend(<Bits<u32> as LaneByte>::load(Portable, blocks.as_flattened()).as_flattened());
    }
    words.truncate(32 * columns);
    words
}

/// The program's text.
pub(super) fn text(search: Search, language: Language) -> String {
    let record = Record::new(language);
    let body = match search.cipher {
        Cipher::Aes128 => body::<4>(search, &record),
        Cipher::Aes192 => body::<6>(search, &record),
        _ => body::<8>(search, &record),
    };
    let mut text = search.headed(language);
    structures(&mut text);
    let ring: Vec<_> = (0..search.columns() - 4).map(|at| format!("w{at}")).collect();
    let ring: Vec<_> = ring.iter().map(|word| (&word[..], Field::Structure("Column"))).collect();
    text.structure("Ring", &ring);
    text.structure("Word", &[("x", Field::Words(1))]);
    text.spread();
    start_column(&mut text);
    key_byte(&mut text);
    for step in record.used.take() {
        step.declare(&mut text);
    }
    search.ended(text, &body)
}

/// A column of what 32 keys begin from: eight vectors of the table's, and the outer key's word spread over all lanes.
fn start_column(text: &mut Text) {
    let vector = if text.language == Language::Cuda { "uint4" } else { "vec4<u32>" };
    let names: Vec<_> = (0..8).map(|at| format!("v{at}")).collect();
    let mut parameters: Vec<_> = names.iter().map(|name| (&name[..], vector)).collect();
    parameters.push(("outer", "u32"));
    let mut body = "    var y: Column;\n".to_owned();
    for (at, word) in column_words("y").into_iter().enumerate() {
        let part = ["x", "y", "z", "w"][at % 4];
        body += &format!("    {word} = {}.{part} ^ spread(outer, {at}u);\n", names[at / 4]);
    }
    text.function("start_column", &parameters, "Column", &(body + "    return y;\n"));
}

/// A byte of what is known, or a round constant: the same in all lanes.
fn key_byte(text: &mut Text) {
    let words: String = (0..8).map(|bit| format!("    y.x[{bit}] = keys[at + {bit}u];\n")).collect();
    text.function("key_byte", &[("at", "u32")], "Byte", &format!("    var y: Byte;\n{words}    return y;\n"));
}

/// What a thread does: it goes through the rounds and knows its hits.
fn body<const NK: usize>(search: Search, record: &Record) -> String {
    let (first, words) = begins::<NK>(Use::Often);
    let steps =
        Rounds::<Name<'_>> { isa: record, way: (), back: (), rounds: search.cipher.rounds(), first, words };
    let (rounds, constants) = turn(NK);
    // Of long keys the schedule has the key of the first round already, and goes one ahead.
    let is_ahead = words / 4 > first;
    record.base.set(Some(FIRST_CONSTANT));
    let mut turn = String::new();
    for round in first..first + rounds {
        let (state, mut ring) = record.carried::<NK>();
        if !is_ahead {
            steps.schedule(&mut ring, round);
        }
        let state = steps.round::<NK, false>(state, &ring, round);
        if is_ahead {
            steps.schedule(&mut ring, round + 1);
        }
        turn += &record.taken("        ");
        turn += &format!("        s = {};\n        w = {};\n", record.state(&state), record.ring(&ring));
        // What is left of the rounds in the last turn.
        if round + 1 - first == middle_rounds(search.cipher) % rounds {
            turn += &format!("        if (g + {constants}u == job.end) {{\n            break;\n        }}\n");
        }
    }
    record.base.set(None);
    let rows = [0, 1, 2, 3];
    let target = Target {
        column: search.column,
        rows,
        columns: rows.map(|row| shifted(Direction::Encrypt, search.column, row)),
        output: rows.map(|row| 8 * row),
        mask: rows.map(|row| 8 * (COMPARED + row)),
    };
    let (state, mut ring) = record.carried::<NK>();
    if !is_ahead {
        steps.schedule(&mut ring, search.cipher.rounds() - 1);
    }
    let differences = steps.last_rounds(&state, ring, &target).0;
    let hits = record.call(Step::AreZero, &differences);
    format!(
        "{}    for (var g = {FIRST_CONSTANT}u; g < job.end; g = g + {constants}u) {{\n{turn}    }}\n{}    let hits = {}.x[0];\n",
        begun::<NK>(record),
        record.taken("    "),
        record.text(hits),
    )
}

/// What a thread begins from.
fn begun<const NK: usize>(record: &Record) -> String {
    let column = |at: usize| {
        let vectors = (8 * at..8 * at + 8).map(|vector| format!("source[at + {vector}u * job.bundles]"));
        let outer = format!("o{}.{}", at / 4, ["x", "y", "z", "w"][at % 4]);
        format!("start_column({}, {outer})", vectors.collect::<Vec<_>>().join(", "))
    };
    let columns: String = (0..4 + NK).map(|at| format!("    let from{at} = {};\n", column(at))).collect();
    let made = |structure, columns: std::ops::Range<usize>| {
        record.language.made(structure, &columns.map(|at| format!("from{at}")).collect::<Vec<_>>())
    };
    format!("{columns}    var s = {};\n    var w = {};\n", made("State", 0..4), made("Ring", 4..4 + NK))
}

/// A step that is a function of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
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

    /// Its circuit.
    fn declare(self, text: &mut Text) {
        let name = self.name();
        match self {
            Self::SubByte => byte(text, name, sub_byte),
            Self::InverseSubByte => byte(text, name, inv_sub_byte),
            Self::MixColumn => column(text, name, aes_linear::mix_column),
            Self::InverseMixColumn => column(text, name, aes_linear::inv_mix_column),
            Self::Add => two_bytes(text, name, aes_linear::add),
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

/// A circuit on a column.
fn column(text: &mut Text, name: &str, circuit: fn([Bits<Sym>; 4]) -> [Bits<Sym>; 4]) {
    let (inputs, outputs) = (column_words("x"), column_words(""));
    let signature = Signature { parameters: &[("x", "Column")], inputs, result: "Column", outputs };
    text.circuit(name, &signature, |x: [Sym; 32]| {
        let column = circuit(bytes_of(x));
        each!(at < 32 => column[at / 8][at % 8])
    });
}

/// A circuit on two bytes.
fn two_bytes(text: &mut Text, name: &str, circuit: fn(Bits<Sym>, Bits<Sym>) -> Bits<Sym>) {
    let inputs = [words("a", 8), words("b", 8)].concat();
    let parameters = [("a", "Byte"), ("b", "Byte")];
    let signature = Signature { parameters: &parameters, inputs, result: "Byte", outputs: words("", 8) };
    text.circuit(name, &signature, |x: [Sym; 16]| {
        circuit(each!(bit < 8 => x[bit]), each!(bit < 8 => x[8 + bit]))
    });
}

/// A byte of every key of a thread: an expression of the text.
#[derive(Clone, Copy)]
struct Name<'a> {
    record: &'a Record,
    at: usize,
}

/// The calls made so far, and the expressions that name bytes.
struct Record {
    language: Language,
    names: RefCell<Vec<String>>,
    lines: RefCell<Vec<String>>,
    used: RefCell<BTreeSet<Step>>,
    /// The number of the constant that the loop's variable stands for.
    base: Cell<Option<usize>>,
}

impl Record {
    fn new(language: Language) -> Self {
        let (names, lines, used) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { language, names, lines, used, base: Cell::new(None) }
    }

    /// An expression for a byte.
    fn name(&self, text: String) -> Name<'_> {
        let mut names = self.names.borrow_mut();
        names.push(text);
        Name { record: self, at: names.len() - 1 }
    }

    fn text(&self, name: Name<'_>) -> String {
        self.names.borrow()[name.at].clone()
    }

    /// A line that binds a value; its name.
    fn bound(&self, value: &str) -> String {
        let name = format!("t{}", self.names.borrow().len());
        self.lines.borrow_mut().push(format!("let {name} = {value};\n"));
        name
    }

    fn call(&self, step: Step, bytes: &[Name<'_>]) -> Name<'_> {
        self.used.borrow_mut().insert(step);
        let bytes: Vec<_> = bytes.iter().map(|&byte| self.text(byte)).collect();
        self.name(self.bound(&format!("{}({})", step.name(), bytes.join(", "))))
    }

    fn call_on_column(&self, step: Step, column: [Name<'_>; 4]) -> [Name<'_>; 4] {
        self.used.borrow_mut().insert(step);
        let result = self.bound(&format!("{}({})", step.name(), self.column(&column)));
        ROWS.map(|row| self.name(format!("{result}.{row}")))
    }

    fn column(&self, column: &[Name<'_>]) -> String {
        self.language.made("Column", &column.iter().map(|&byte| self.text(byte)).collect::<Vec<_>>())
    }

    fn state(&self, state: &[Name<'_>; 16]) -> String {
        let columns: Vec<_> = state.chunks(4).map(|column| self.column(column)).collect();
        self.language.made("State", &columns)
    }

    fn ring(&self, ring: &[[Name<'_>; 4]]) -> String {
        let columns: Vec<_> = ring.iter().map(|column| self.column(column)).collect();
        self.language.made("Ring", &columns)
    }

    /// The state and the schedule's words, as a round leaves them to the next.
    fn carried<const NK: usize>(&self) -> ([Name<'_>; 16], [[Name<'_>; 4]; NK]) {
        let state = each!(at < 16 => self.name(format!("s.{}.{}", COLUMNS[at / 4], ROWS[at % 4])));
        let ring = each!(word < NK => ROWS.map(|row| self.name(format!("w.w{word}.{row}"))));
        (state, ring)
    }

    /// The lines so far, which are taken off.
    fn taken(&self, indent: &str) -> String {
        self.lines.take().iter().map(|line| format!("{indent}{line}")).collect()
    }
}

impl<'a> CipherByte for Name<'a> {
    type Isa = &'a Record;
    type Way = ();
    /// Where in `keys` its words begin.
    type Pattern = usize;

    fn of(record: &'a Record, at: &usize) -> Self {
        record.name(record.bound(&format!("key_byte({at}u)")))
    }

    fn round_constant(record: &'a Record, number: usize) -> Self {
        let at = |number| CONSTANTS + 8 * number;
        record.name(record.bound(&match record.base.get() {
            Some(base) => format!("key_byte(8u * g + {}u)", at(number - base)),
            None => format!("key_byte({}u)", at(number)),
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
