//! Search for keys of described ciphers, bit-sliced, 32 keys per thread, one key per lane.
//!
//! The schedule and rounds are the recorded operations of the description (`device::recorded`),
//! with their loops (`cipher::derived::gpu::rolled`) and nested loops. A thread computes all round keys of its
//! keys and keeps them in private memory, where the rounds read them. Decryption, which reads them from last to
//! first, therefore needs no special case. The memory is up to 8704 bytes. This is 512 more than WebGPU
//! guarantees, but native drivers accept it.
//!
//! All sixteen bytes of the result are compared. Data that is equal for all keys is in `keys`, one byte per
//! vector: the output, its mask, the input, and the schedule's constants.

use super::rolled::{Rolled, Strides};
use super::{BYTE, functions, moves, name};
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::trace::Sym;
use crate::device::KEY_FOURS_MAX;
use crate::device::bits::{ROWS, structures};
use crate::device::recorded::{Operation, Section, Step, Value, recorded};
use crate::device::search::begun::{loaded, start_column};
use crate::device::search::{GROUP_THREADS, Programs, Search};
use crate::device::text::{Text, words};
use crate::kernel::search::Known;

/// The programs of all described families.
pub(crate) static PROGRAMS: Programs = Programs {
    columns: 0,
    lanes: 32,
    start_columns: |key_columns| key_columns,
    compared: |_| (0..16).collect(),
    thread_bytes: |_, _| 0,
    text: |search, language, _| text(search, language),
    start: |_, _, key, start| start.as_flattened_mut()[..key.len()].copy_from_slice(key),
    constants,
    end: |_, _| 0,
};

/// The first vectors of the mask, the input and the schedule's constants in `keys`.
const MASK: usize = 16;
const INPUT: usize = 32;
const CONSTANTS: usize = 48;

/// The known data and the schedule's constants, in the layout that the program reads.
///
/// # Panics
/// If the schedule has more than a thousand constants, which no cipher has.
fn constants(search: Search, known: &Known) -> Vec<u32> {
    let schedules = recorded(search.cipher, search.direction).constants;
    let bytes = [&known.output[..], &known.mask, &known.input, &schedules].concat();
    assert!(bytes.len() <= KEY_FOURS_MAX, "more constants than programs have room for");
    bytes.into_iter().flat_map(|byte| [u32::from(byte), 0, 0, 0]).collect()
}

/// The program's text.
fn text(search: Search, language: Language) -> String {
    let recorded = recorded(search.cipher, search.direction);
    let mut text = search.headed(language);
    structures(&mut text);
    text.structure("Word", &[("x", Field::Words(1))]);
    text.spread();
    start_column(&mut text);
    constant(&mut text);
    same_byte(&mut text);
    round_keys(&mut text, recorded.round_key_bytes);
    let steps = [&recorded.schedule.steps[..], &recorded.rounds.steps].concat();
    functions(&mut text, &steps, &recorded, BYTE);
    let mut body = loaded(0..recorded.schedule.given / 4);
    if language == Language::Cuda {
        body += "    Kept all;\n";
    }
    let key: Vec<_> =
        (0..recorded.schedule.given).map(|at| format!("from{}.{}", at / 4, ROWS[at % 4])).collect();
    let mut lines = Lines { language, text: body, names: 0 };
    lines.section(&recorded.schedule, &key, &Place::default());
    let input: Vec<_> = (0..16).map(|at| lines.bound(&constant_at(INPUT + at), "    ")).collect();
    let output = lines.section(&recorded.rounds, &input, &Place::default());
    let mut same = Vec::new();
    for (at, byte) in output.iter().enumerate() {
        let value = format!("same_byte({byte}, {}, {})", constant_at(at), constant_at(MASK + at));
        same.push(lines.bound(&value, "    ") + ".x[0]");
    }
    let body = format!("{}    let hits = {};\n", lines.text, same.join(" & "));
    search.ended(text, GROUP_THREADS, &body)
}

/// Adds `constant`: a byte that is equal in all lanes.
fn constant(text: &mut Text) {
    let word = |bit| format!("    y.x[{bit}] = spread(keys[k].x, {bit}u);\n");
    let words: String = (0..8).map(word).collect();
    text.function("constant", &[("k", "u32")], "Byte", &format!("    var y: Byte;\n{words}    return y;\n"));
}

fn constant_at(number: usize) -> String {
    format!("constant({number}u)")
}

/// Adds `keep` and `kept`, which access the bytes of the round keys in a thread's private memory. Each bit
/// has its own array. With a single array, Vulkan in software takes minutes to compile the accesses.
fn round_keys(text: &mut Text, bytes: usize) {
    match text.language {
        Language::Cuda => {
            text.push(&format!("struct Kept {{\n    u32 x[8][{bytes}];\n}};\n\n"));
            text.push("__device__ __forceinline__ void keep(Kept &all, u32 k, Byte b) {\n");
            (0..8).for_each(|bit| text.push(&format!("    all.x[{bit}][k] = b.x[{bit}];\n")));
            text.push("}\n\n__device__ __forceinline__ Byte kept(const Kept &all, u32 k) {\n    Byte y;\n");
            (0..8).for_each(|bit| text.push(&format!("    y.x[{bit}] = all.x[{bit}][k];\n")));
            text.push("    return y;\n}\n\n");
        }
        Language::Wgsl => {
            let array = |bit| format!("var<private> kept{bit}: array<u32, {bytes}>;\n");
            text.push(&(0..8).map(array).collect::<String>());
            let store = |bit| format!("    kept{bit}[k] = b.x[{bit}];\n");
            text.push(&format!(
                "\nfn keep(k: u32, b: Byte) {{\n{}}}\n\n",
                (0..8).map(store).collect::<String>()
            ));
            let load = |bit| format!("    y.x[{bit}] = kept{bit}[k];\n");
            let body = format!("    var y: Byte;\n{}    return y;\n", (0..8).map(load).collect::<String>());
            text.function("kept", &[("k", "u32")], "Byte", &body);
        }
    }
}

/// Adds `same_byte`: the lanes in which a byte matches the known output.
fn same_byte(text: &mut Text) {
    let names = ["x", "output", "mask"];
    let parameters = names.map(|name| (name, "Byte"));
    let inputs = names.iter().flat_map(|name| words(name, 8)).collect();
    let signature = Signature { parameters: &parameters, inputs, result: "Word", outputs: words("", 1) };
    text.circuit("same_byte", &signature, |x: [Sym; 24]| {
        let differing = |bit: usize| (x[bit] ^ x[8 + bit]) & x[16 + bit];
        let mut same = !differing(0);
        for bit in 1..8 {
            same = same & !differing(bit);
        }
        [same]
    });
}

/// The context of a line: its loop depth, and the terms that the enclosing loops add to the indices of each
/// array.
#[derive(Default)]
struct Place {
    loops: usize,
    turns: [String; 2],
}

impl Place {
    fn indent(&self) -> String {
        "    ".repeat(1 + self.loops)
    }

    /// The index that a step uses, as an expression.
    fn number(&self, Step { operation, number, .. }: &Step) -> Option<String> {
        let first = if *operation == Operation::Constant { CONSTANTS } else { 0 };
        let number = number.as_ref()?.wrapping_add(first) as u32;
        Some(format!("{}{number}u", self.turns[operation.row()]))
    }

    /// The context inside a loop with the variable `turn`.
    fn within(&self, turn: &str, strides: Strides) -> Self {
        let turns = [0, 1].map(|row| match strides[row] as u32 {
            0 => self.turns[row].clone(),
            stride => format!("{}{stride}u * {turn} + ", self.turns[row]),
        });
        Self { loops: self.loops + 1, turns }
    }
}

/// A body under construction.
struct Lines {
    language: Language,
    text: String,
    /// The number of names given so far.
    names: usize,
}

impl Lines {
    /// An additional argument of the functions for round keys.
    fn all(&self) -> &'static str {
        if self.language == Language::Cuda { "all, " } else { "" }
    }

    fn fresh(&mut self) -> usize {
        self.names += 1;
        self.names - 1
    }

    /// Adds a line that binds a value. Returns its name.
    fn bound(&mut self, value: &str, indent: &str) -> String {
        let name = format!("t{}", self.fresh());
        self.text += &format!("{indent}let {name} = {value};\n");
        name
    }

    /// Adds a section with its loops. Returns the names of its results.
    fn section(&mut self, section: &Section, given: &[String], place: &Place) -> Vec<String> {
        let (rolled, turns) = Rolled::of(section);
        if turns == 0 {
            return self.straight(section, given, place);
        }
        let begin = self.section(&rolled.before, given, place);
        let (indent, number) = (place.indent(), self.fresh());
        let slots: Vec<_> = (0..rolled.turn.given).map(|at| format!("s{number}_{at}")).collect();
        for (slot, begin) in slots.iter().zip(&begin) {
            self.text += &format!("{indent}var {slot} = {begin};\n");
        }
        let turn = format!("n{number}");
        self.text += &format!("{indent}for (var {turn} = 0u; {turn} < {turns}u; {turn} = {turn} + 1u) {{\n");
        let within = place.within(&turn, rolled.strides);
        let next = self.section(&rolled.turn, &slots, &within);
        self.text += &moves(&within.indent(), &slots, &next);
        self.text += &format!("{indent}}}\n");
        let after = moved(&rolled.after, rolled.moved(turns));
        self.section(&after, &slots, place)
    }

    /// Adds a section step by step. Returns the names of its results.
    fn straight(&mut self, section: &Section, given: &[String], place: &Place) -> Vec<String> {
        let (indent, mut made) = (place.indent(), Vec::new());
        for step in &section.steps {
            let value = |value: &Value| of(value, given, &made);
            let inputs: Vec<_> = step.inputs.iter().map(value).collect();
            let number = place.number(step);
            made.push(match (step.operation, number) {
                (Operation::Keep, Some(number)) => {
                    self.text += &format!("{indent}keep({}{number}, {});\n", self.all(), inputs[0]);
                    String::new()
                }
                (Operation::Constant, Some(number)) => self.bound(&format!("constant({number})"), &indent),
                (operation, number) => {
                    let key = number.map(|number| format!("kept({}{number})", self.all()));
                    let inputs: Vec<_> = inputs.into_iter().chain(key).collect();
                    self.bound(&format!("{}({})", name(operation), inputs.join(", ")), &indent)
                }
            });
        }
        section.results.iter().map(|result| of(result, given, &made)).collect()
    }
}

/// The name of a value.
fn of(value: &Value, given: &[String], made: &[String]) -> String {
    match *value {
        Value::Given(at) => given[at].clone(),
        Value::Made(at) => made[at].clone(),
    }
}

/// A section whose indices are increased by `by`.
fn moved(section: &Section, by: Strides) -> Section {
    let step = |step: &Step| {
        let number = step.number.map(|number| number.wrapping_add(by[step.operation.row()]));
        Step { number, ..step.clone() }
    };
    Section { steps: section.steps.iter().map(step).collect(), ..section.clone() }
}
