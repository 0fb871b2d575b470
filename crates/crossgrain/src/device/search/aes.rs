//! AES bit-sliced with a key a lane, 32 keys a thread: the steps are those of `part::aes::search`, run on names of bytes,
//! which record what is called. So schedule, rounds and last rounds are the CPU's own text; the gates within a call are
//! traced from the same circuits.
//!
//! A turn of the loop is as many rounds as bring the schedule's words to the same places again: 1, 3 and 2 rounds for
//! keys of 4, 6 and 8 words. Its variable is the number of the turn's first round constant.
//! Four bytes are compared, those of one column before the last ShiftRows or InvShiftRows: that takes four S-boxes more than
//! two bytes would, and the host has hardly a wrong key to try. Where no column is known well enough, all sixteen are
//! compared, which takes 24 S-boxes more of some 200.
//! Decryption begins with a loop through the schedule, a turn of which makes as many words as a key has; the words that come
//! last it takes back one by one beside the rounds, as the CPU does.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::Search;
use super::begun::{loaded, start_column};
use crate::block::{Cipher, Direction};
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::trace::Sym;
use crate::circuit::{Bits, aes_linear};
use crate::device::aes::byte;
use crate::device::bits::{COLUMNS, ROWS, column_words, structures};
use crate::device::text::{PARTS, Text, key_words, words};
use crate::part::aes::search::{
    CipherByte, Differences, Rounds, Target, are_zero, begins, inv_sub_byte, shifted, sub_byte,
};
use crate::word::each;

/// Rounds of a turn of the loop, and how many times the schedule adds a constant in it.
const fn turn(key_words: usize) -> (usize, usize) {
    match key_words {
        4 => (1, 1),
        6 => (3, 2),
        _ => (2, 1),
    }
}

/// The number of the first turn's first constant; going back, of the last turn's.
const FIRST_CONSTANT: usize = 2;

/// Rounds of the loop: those between the first, which is done beforehand, and the last two.
const fn middle_rounds(cipher: Cipher) -> usize {
    cipher.rounds() - 3
}

/// The same of decryption, of which no round is done beforehand.
const fn middle_rounds_back(cipher: Cipher) -> usize {
    cipher.rounds() - 2
}

/// The number of the last constant that the schedule adds.
const fn last_constant(cipher: Cipher) -> usize {
    (4 * cipher.rounds() + 3) / (cipher.key_bytes() / 4)
}

/// Where the variable of the first loop ends.
pub(super) const fn end(cipher: Cipher, direction: Direction) -> u32 {
    let (rounds, constants) = turn(cipher.key_bytes() / 4);
    let end = match direction {
        Direction::Encrypt => FIRST_CONSTANT + middle_rounds(cipher).div_ceil(rounds) * constants,
        Direction::Decrypt => 1 + last_constant(cipher),
    };
    end as u32
}

/// The program's text.
pub(super) fn text(search: Search, language: Language, group_threads: u32) -> String {
    let record = Record::new(language, search.compared().len());
    let body = match search.cipher {
        Cipher::Aes128 => body::<4>(search, &record),
        Cipher::Aes192 => body::<6>(search, &record),
        _ => body::<8>(search, &record),
    };
    let mut text = search.headed(language);
    structures(&mut text);
    let ring: Vec<_> = (0..search.start_columns() - 4).map(|at| format!("w{at}")).collect();
    let ring: Vec<_> = ring.iter().map(|word| (&word[..], Field::Structure("Column"))).collect();
    text.structure("Ring", &ring);
    text.structure("Word", &[("x", Field::Words(1))]);
    text.spread();
    if language == Language::Cuda {
        shared_ring(&mut text, group_threads);
    }
    start_column(&mut text);
    key_byte(&mut text);
    for step in record.used.take() {
        step.declare(&mut text);
    }
    search.ended(text, group_threads, &body)
}

/// The schedule's words in the memory that a group shares: a byte is two vectors of four words, and neighbouring threads'
/// vectors are neighbours.
fn shared_ring(text: &mut Text, group_threads: u32) {
    text.push("extern __shared__ uint4 ring[];\n\n");
    let place = |half: u32| format!("ring[(2u * at + {half}u) * {group_threads}u + threadIdx.x]");
    let words: String =
        (0..8).map(|bit| format!("    y.x[{bit}] = v{}.{};\n", bit / 4, PARTS[bit % 4])).collect();
    let body = format!(
        "    let v0 = {};\n    let v1 = {};\n    var y: Byte;\n{words}    return y;\n",
        place(0),
        place(1)
    );
    text.function("ring_byte", &[("at", "u32")], "Byte", &body);
    let vector = |half: usize| text.block([0, 1, 2, 3].map(|part| format!("b.x[{}]", 4 * half + part)));
    let body = format!("    {} = {};\n    {} = {};\n", place(0), vector(0), place(1), vector(1));
    text.function("put_ring_byte", &[("at", "u32"), ("b", "Byte")], "void", &body);
}

/// A byte of what is known, or a round constant: the same in all lanes.
fn key_byte(text: &mut Text) {
    let word = |(bit, word)| format!("    y.x[{bit}] = {word};\n");
    let words: String = key_words(8).iter().enumerate().map(word).collect();
    text.function("key_byte", &[("k", "u32")], "Byte", &format!("    var y: Byte;\n{words}    return y;\n"));
}

/// What a thread does: it goes through the rounds and knows its hits.
fn body<const NK: usize>(search: Search, record: &Record) -> String {
    let (first, words) = begins::<NK>(search.usage());
    let steps =
        Rounds::<Name<'_>> { isa: record, way: (), back: (), rounds: search.cipher.rounds(), first, words };
    match search.direction {
        Direction::Encrypt => encrypted::<NK>(search, record, &steps),
        Direction::Decrypt => decrypted::<NK>(search, record, &steps),
    }
}

fn encrypted<'a, const NK: usize>(search: Search, record: &'a Record, steps: &Rounds<Name<'a>>) -> String {
    let &Rounds { first, words, .. } = steps;
    let (rounds, constants) = turn(NK);
    // Of long keys the schedule has the key of the first round already, and goes one ahead.
    let is_ahead = words / 4 > first;
    record.base.set(Some(FIRST_CONSTANT));
    let mut turn = String::new();
    for round in first..first + rounds {
        let schedule = |number| {
            let mut ring = record.carried_ring::<NK>();
            steps.schedule(&mut ring, number);
            record.kept("        ", &ring)
        };
        if !is_ahead {
            turn += &schedule(round);
        }
        turn += LOCKSTEP;
        let state = steps.round::<NK, false>(record.carried(), &record.carried_ring(), round);
        turn += &record.turned(&state);
        if is_ahead {
            turn += &schedule(round + 1);
        }
        // What is left of the rounds in the last turn.
        if round + 1 - first == middle_rounds(search.cipher) % rounds {
            turn += &until(&format!("g + {constants}u == job.end"));
        }
    }
    record.base.set(None);
    let (state, mut ring) = (record.carried(), record.carried_ring::<NK>());
    if !is_ahead {
        steps.schedule(&mut ring, search.cipher.rounds() - 1);
    }
    let hits = hits(search, record, |target| steps.last_rounds(&state, ring, target));
    format!(
        "{}{}    var s = {};
{}    for (var g = {FIRST_CONSTANT}u; g < job.end; g = g + {constants}u) {{
{turn}    }}
{hits}",
        loaded(0..4),
        loaded(4..4 + NK),
        record.state(&record.begun()),
        record.declared(&record.begun_ring::<NK>()),
    )
}

fn decrypted<'a, const NK: usize>(search: Search, record: &'a Record, steps: &Rounds<Name<'a>>) -> String {
    let cipher = search.cipher;
    let (rounds, constants) = turn(NK);
    record.base.set(Some(1));
    let mut schedule = String::new();
    // Words of the last turn, if they are fewer.
    let left = 4 * (cipher.rounds() + 1) % NK;
    for words in [0..left, left..NK].into_iter().filter(|words| !words.is_empty()) {
        let mut ring = record.carried_ring::<NK>();
        let end = words.end;
        words.for_each(|word| steps.expand(&mut ring, NK + word));
        schedule += &record.kept("        ", &ring);
        if end == left {
            schedule += &until("g + 1u == job.end");
        }
    }
    record.base.set(None);
    let mut ring = record.carried_ring::<NK>();
    let state = steps.with_last_key(record.begun(), &ring);
    let mut turned = format!("{}    var s = {};\n", record.taken("    "), record.state(&state));
    steps.schedule_back(&mut ring, cipher.rounds() - 1);
    turned += &record.kept("    ", &ring);
    // The number of the constant that is taken back first: of the words that are left, the last that has one.
    let first = (4 * (cipher.rounds() - 1)).div_ceil(NK);
    record.base.set(Some(first));
    let mut turn = String::new();
    for round in (cipher.rounds() - rounds..cipher.rounds()).rev() {
        turn += LOCKSTEP;
        let mut ring = record.carried_ring::<NK>();
        let state = steps.round::<NK, true>(record.carried(), &ring, round);
        turn += &record.turned(&state);
        steps.schedule_back(&mut ring, round - 1);
        turn += &record.kept("        ", &ring);
        if cipher.rounds() - round == middle_rounds_back(cipher) % rounds {
            turn += &until(&format!("g == {FIRST_CONSTANT}u"));
        }
    }
    record.base.set(None);
    let (state, ring) = (record.carried(), record.carried_ring::<NK>());
    let key = record.begun_ring::<NK>();
    let hits = hits(search, record, |target| steps.last_rounds_back(&state, ring, key, target));
    // The state is asked for when the schedule is done: a thread has hardly registers for both.
    format!(
        "{}{}    for (var g = 1u; g < job.end; g = g + 1u) {{
{schedule}    }}
{}{turned}    for (var g = job.end - {}u; g >= {FIRST_CONSTANT}u; g = g - {constants}u) {{
{turn}    }}
{hits}",
        loaded(4..4 + NK),
        record.declared(&key),
        loaded(0..4),
        1 + last_constant(cipher) - first,
    )
}

/// The end of a loop within its turn.
fn until(condition: &str) -> String {
    format!("        if ({condition}) {{\n            break;\n        }}\n")
}

/// The lanes in which the bytes compared are as they are known to be.
fn hits<'a>(
    search: Search,
    record: &'a Record,
    differences: impl Fn(&Target<Name<'a>, 4>) -> Differences<Name<'a>, 4>,
) -> String {
    let rows = [0, 1, 2, 3];
    let hits = search.columns().enumerate().map(|(at, column)| {
        let target = Target {
            column,
            rows,
            columns: rows.map(|row| shifted(search.direction, column, row)),
            output: rows.map(|row| 2 * (4 * at + row)),
            mask: rows.map(|row| 2 * (record.compared + 4 * at + row)),
        };
        let same = record.call(Step::AreZero, &differences(&target).0);
        format!("{}.x[0]", record.text(same))
    });
    let hits: Vec<_> = hits.collect();
    format!("{}    let hits = {};\n", record.taken("    "), hits.join(" & "))
}

/// The beginning of a round: the words of its key are where they are carried, and no thread of a group runs ahead.
const LOCKSTEP: &str = "        lockstep();\n";

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
    /// How many bytes are compared.
    compared: usize,
    names: RefCell<Vec<String>>,
    /// Names and what they are bound to.
    lines: RefCell<Vec<(String, String)>>,
    used: RefCell<BTreeSet<Step>>,
    /// The number of the constant that the loop's variable stands for.
    base: Cell<Option<usize>>,
}

impl Record {
    fn new(language: Language, compared: usize) -> Self {
        let (names, lines, used) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { language, compared, names, lines, used, base: Cell::new(None) }
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

    /// A line that binds a value, if none does yet; its name.
    fn bound(&self, value: String) -> String {
        let mut lines = self.lines.borrow_mut();
        if let Some((name, _)) = lines.iter().find(|(_, known)| *known == value) {
            return name.clone();
        }
        let name = format!("t{}", self.names.borrow().len());
        lines.push((name.clone(), value));
        name
    }

    fn call(&self, step: Step, bytes: &[Name<'_>]) -> Name<'_> {
        self.used.borrow_mut().insert(step);
        let bytes: Vec<_> = bytes.iter().map(|&byte| self.text(byte)).collect();
        self.name(self.bound(format!("{}({})", step.name(), bytes.join(", "))))
    }

    fn call_on_column(&self, step: Step, column: [Name<'_>; 4]) -> [Name<'_>; 4] {
        self.used.borrow_mut().insert(step);
        let result = self.bound(format!("{}({})", step.name(), self.column(&column)));
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

    /// The state, as a round leaves it to the next.
    fn carried(&self) -> [Name<'_>; 16] {
        each!(at < 16 => self.name(format!("s.{}.{}", COLUMNS[at / 4], ROWS[at % 4])))
    }

    /// The schedule's words, as a round leaves them to the next.
    fn carried_ring<const NK: usize>(&self) -> [[Name<'_>; 4]; NK] {
        each!(word < NK => each!(row < 4 => self.name(self.carried_byte(word, row))))
    }

    fn carried_byte(&self, word: usize, row: usize) -> String {
        match self.language {
            Language::Cuda => format!("ring_byte({}u)", 4 * word + row),
            Language::Wgsl => format!("w.w{word}.{}", ROWS[row]),
        }
    }

    /// The schedule's first words put where they are carried.
    fn declared(&self, ring: &[[Name<'_>; 4]]) -> String {
        match self.language {
            Language::Cuda => self.kept("    ", ring),
            Language::Wgsl => format!("    var w = {};\n", self.ring(ring)),
        }
    }

    /// The lines so far, and the schedule's words put where they are carried: in shared memory each as soon as it is there, when its
    /// word before it has been read for the last time.
    fn kept(&self, indent: &str, ring: &[[Name<'_>; 4]]) -> String {
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
        // What no line has made.
        lines + &puts.into_iter().map(|(text, at)| put(at, &text)).collect::<String>()
    }

    /// The state that a thread begins from.
    fn begun(&self) -> [Name<'_>; 16] {
        each!(at < 16 => self.name(format!("from{}.{}", at / 4, ROWS[at % 4])))
    }

    /// The schedule's words that a thread begins from.
    fn begun_ring<const NK: usize>(&self) -> [[Name<'_>; 4]; NK] {
        each!(word < NK => ROWS.map(|row| self.name(format!("from{}.{row}", 4 + word))))
    }

    /// The end of a round within the loop: the lines so far, and the state that they carry.
    fn turned(&self, state: &[Name<'_>; 16]) -> String {
        format!("{}        s = {};\n", self.taken("        "), self.state(state))
    }

    /// The lines so far, which are taken off.
    fn taken(&self, indent: &str) -> String {
        let lines = self.lines.take();
        lines.iter().map(|(name, value)| format!("{indent}let {name} = {value};\n")).collect()
    }
}

impl<'a> CipherByte for Name<'a> {
    type Isa = &'a Record;
    type Way = ();
    /// The four in `keys` with which its words begin.
    type Pattern = usize;

    fn of(record: &'a Record, k: &usize) -> Self {
        record.name(record.bound(format!("key_byte({k}u)")))
    }

    fn round_constant(record: &'a Record, number: usize) -> Self {
        // After output and mask.
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
