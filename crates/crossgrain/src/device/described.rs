//! Ciphers that are described once, bit-sliced, 32 blocks a thread (`bits`).
//!
//! The rounds are recorded and their loop is found (`rolled`); a step is a call of a function, whose gates are traced from what
//! kernels of bits compute with. A word is a column: its rows are the bytes in the order of memory, the highest first.
//! Key sizes whose steps differ in nothing but how often the loop turns share it; others have a function of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use zeroize::Zeroizing;

use super::bits::{self, COLUMNS, ROWS, column_words};
use super::rolled::{Operation, Recorded, Rolled, Section, Step, Value, recorded};
use super::text::{Text, key_words, mapped, words};
use super::{KEY_WORDS_MAX, Kernel, Task};
use crate::block::{Cipher, Direction, Family, Key};
use crate::cipher::Entry;
use crate::cipher::sbox::{Linear, Sbox};
use crate::circuit::emit::{Language, Signature};
use crate::circuit::trace::Sym;
use crate::word::each;

/// A family's ciphers in one direction.
struct Program {
    recorded: Recorded,
    loops: Vec<Loop>,
}

/// Steps with a loop.
struct Loop {
    rolled: Rolled,
    /// How often it turns, by the rounds of the ciphers.
    turns: BTreeMap<usize, usize>,
}

const fn direction(task: Task) -> Direction {
    match task {
        Task::Decrypt => Direction::Decrypt,
        _ => Direction::Encrypt,
    }
}

fn ciphers(family: Family) -> impl DoubleEndedIterator<Item = Cipher> {
    Cipher::ALL.into_iter().filter(move |cipher| cipher.family() == family)
}

fn recorded_of(cipher: Cipher, direction: Direction) -> Recorded {
    recorded(cipher, direction).expect("a cipher that is not written by hand is described")
}

/// The programs that were found.
type Known = Mutex<HashMap<(Family, Direction), Arc<Program>>>;

/// The program of a family, found once.
fn program(family: Family, direction: Direction) -> Arc<Program> {
    static KNOWN: LazyLock<Known> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry((family, direction)).or_insert_with(|| Arc::new(found(family, direction))).clone()
}

fn found(family: Family, direction: Direction) -> Program {
    let (mut loops, mut longest) = (Vec::<Loop>::new(), None);
    // The longest first: a loop is found the more surely the more often it turns.
    for cipher in ciphers(family).rev() {
        let (recorded, rounds) = (recorded_of(cipher, direction), cipher.rounds());
        let turns = |rolled: &Rolled| (0..=rounds).find(|&turns| rolled.unrolled(turns) == recorded.section);
        let shared = loops.iter_mut().find_map(|shared| Some((turns(&shared.rolled)?, shared)));
        if let Some((turns, shared)) = shared {
            shared.turns.insert(rounds, turns);
        } else {
            let (rolled, turns) = Rolled::of(&recorded.section);
            loops.push(Loop { rolled, turns: BTreeMap::from([(rounds, turns)]) });
        }
        longest.get_or_insert(recorded);
    }
    Program { recorded: longest.expect("no family is empty"), loops }
}

/// The program's text.
pub(super) fn text(kernel: Kernel, language: Language, group_threads: u32) -> String {
    let program = program(kernel.family, direction(kernel.task));
    let mut text = Text::new(kernel, language);
    bits::structures(&mut text);
    functions(&mut text, &program.recorded);
    let mut body = String::new();
    for (number, Loop { rolled, turns }) in program.loops.iter().enumerate() {
        looped(&mut text, number, rolled, program.recorded.value_bytes);
        for (rounds, turns) in turns {
            let call = format!("return cipher{number}(block, {turns}u);");
            body += &format!("    if (rounds == {rounds}u) {{\n        {call}\n    }}\n");
        }
    }
    body += "    return block;\n";
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
    bits::entry(text, kernel, group_threads)
}

/// Gates for a block.
pub(super) fn gates(task: Task, cipher: Cipher) -> f64 {
    let recorded = recorded_of(cipher, direction(task));
    let mut costs = HashMap::new();
    let mut gates =
        |step: &Step| *costs.entry(step.operation).or_insert_with(|| gates_of(step.operation, &recorded));
    bits::gates(task, recorded.section.steps.iter().map(&mut gates).sum())
}

/// Gates of an operation.
fn gates_of(operation: Operation, recorded: &Recorded) -> f64 {
    let of_byte = match operation {
        Operation::Rotate(_) => 0,
        Operation::Substitute(number) => mapped(substitution(&recorded.boxes[number])).gates().len(),
        Operation::Linear(number) => mapped(map(&recorded.maps[number])).gates().len(),
        Operation::Add | Operation::AddKey | Operation::AndKey | Operation::OrKey => 8,
    };
    (recorded.value_bytes * of_byte) as f64
}

/// The round keys: a word of equal bits for each bit.
pub(super) fn keys(task: Task, key: &Key) -> Zeroizing<Vec<u32>> {
    let keys = Entry::of(key.cipher().family()).expand(key);
    let mut words = Zeroizing::new(Vec::with_capacity(KEY_WORDS_MAX));
    let spread = |&byte: &u8| (0..8).map(move |bit| 0_u32.wrapping_sub(u32::from(byte >> bit & 1)));
    words.extend(keys.of(direction(task)).iter().flat_map(spread));
    words
}

/// A byte plus a byte of a key, through an S-box.
fn substitution(sbox: &Sbox) -> impl FnOnce([Sym; 16]) -> [Sym; 8] {
    move |x| sbox.gates(each!(bit < 8 => x[bit] ^ x[8 + bit]))
}

fn map(map: &Linear) -> impl FnOnce([Sym; 8]) -> [Sym; 8] {
    move |x| map.gates(x)
}

/// The function of an operation on a byte, and on a value.
fn names(operation: Operation, value_bytes: usize) -> [String; 2] {
    let byte = match operation {
        Operation::Add => "sum".to_owned(),
        Operation::AddKey => "add_key".to_owned(),
        Operation::AndKey => "and_key".to_owned(),
        Operation::OrKey => "or_key".to_owned(),
        Operation::Substitute(number) => format!("sub_byte{number}"),
        Operation::Linear(number) => format!("map{number}"),
        Operation::Rotate(count) => format!("rotate{count}"),
    };
    let value = if value_bytes == 1 { byte.clone() } else { format!("{byte}_word") };
    [byte, value]
}

/// The functions of all operations that there are.
fn functions(text: &mut Text, recorded: &Recorded) {
    let mut operations: Vec<_> = Vec::new();
    for step in &recorded.section.steps {
        if !operations.contains(&step.operation) {
            operations.push(step.operation);
            let [byte, value] = names(step.operation, recorded.value_bytes);
            if let Operation::Rotate(count) = step.operation {
                rotation(text, &value, count as usize);
                continue;
            }
            function_of_byte(text, &byte, step.operation, recorded);
            if recorded.value_bytes == 4 {
                function_of_word(text, [&byte, &value], step);
            }
        }
    }
}

fn function_of_byte(text: &mut Text, name: &str, operation: Operation, recorded: &Recorded) {
    let mut with = |second: (&str, &str), inputs: Vec<String>, circuit: &dyn Fn([Sym; 16]) -> [Sym; 8]| {
        let inputs = [words("x", 8), inputs].concat();
        let parameters = [("x", "Byte"), second];
        let signature = Signature { parameters: &parameters, inputs, result: "Byte", outputs: words("", 8) };
        text.circuit(name, &signature, circuit);
    };
    let (other, key) = (("z", "Byte"), ("k", "u32"));
    match operation {
        Operation::Add => with(other, words("z", 8), &|x| each!(bit < 8 => x[bit] ^ x[8 + bit])),
        Operation::AddKey => with(key, key_words(8), &|x| each!(bit < 8 => x[bit] ^ x[8 + bit])),
        Operation::AndKey => with(key, key_words(8), &|x| each!(bit < 8 => x[bit] & x[8 + bit])),
        Operation::OrKey => with(key, key_words(8), &|x| each!(bit < 8 => !(!x[bit] & !x[8 + bit]))),
        Operation::Substitute(number) => {
            with(key, key_words(8), &|x| substitution(&recorded.boxes[number])(x));
        }
        Operation::Linear(number) => super::aes::byte(text, name, map(&recorded.maps[number])),
        Operation::Rotate(_) => {}
    }
}

/// The function of a word by that of its bytes.
fn function_of_word(text: &mut Text, [byte, word]: [&str; 2], step: &Step) {
    let call = |(at, row): (usize, &&str)| match (step.inputs.len(), step.key) {
        (2, _) => format!("{byte}(x.{row}, z.{row})"),
        (_, Some(_)) => format!("{byte}(x.{row}, k + {}u)", 2 * at),
        _ => format!("{byte}(x.{row})"),
    };
    let column = text.made("Column", ROWS.iter().enumerate().map(call));
    let parameters: &[_] = match (step.inputs.len(), step.key) {
        (2, _) => &[("x", "Column"), ("z", "Column")],
        (_, Some(_)) => &[("x", "Column"), ("k", "u32")],
        _ => &[("x", "Column")],
    };
    text.function(word, parameters, "Column", &format!("    return {column};\n"));
}

/// Where bit `bit` of a big-endian number lies in a column.
const fn place(bit: usize) -> usize {
    8 * (3 - bit / 8) + bit % 8
}

/// A rotation of a word: a choice of names.
fn rotation(text: &mut Text, name: &str, count: usize) {
    let (from, to) = (column_words("x"), column_words("y"));
    let moved = |bit: usize| format!("    {} = {};\n", to[place((bit + count) % 32)], from[place(bit)]);
    let body: String = (0..32).map(moved).collect();
    let body = format!("    var y: Column;\n{body}    return y;\n");
    text.function(name, &[("x", "Column")], "Column", &body);
}

/// The vectors of four words that so many keys are: a byte is two.
const fn key_fours(keys: usize, value_bytes: usize) -> usize {
    2 * value_bytes * keys
}

/// The lines of a section and the names of its results. What it makes has names that begin with `made`, its keys are from `key` on.
fn lines(
    section: &Section,
    value_bytes: usize,
    [made, key]: [&str; 2],
    given: &[String],
) -> (String, Vec<String>) {
    let name = |value: &Value| match *value {
        Value::Given(at) => given[at].clone(),
        Value::Made(at) => format!("{made}{at}"),
    };
    let line = |(at, Step { operation, inputs, key: number }): (usize, &Step)| {
        let [_, function] = names(*operation, value_bytes);
        let key = number.map(|number| format!("{key}{}u", key_fours(number, value_bytes)));
        let given: Vec<_> = inputs.iter().map(name).chain(key).collect();
        format!("    let {made}{at} = {function}({});\n", given.join(", "))
    };
    let lines = section.steps.iter().enumerate().map(line).collect();
    (lines, section.results.iter().map(name).collect())
}

/// `cipherN`: the cipher around a loop.
fn looped(text: &mut Text, number: usize, rolled: &Rolled, value_bytes: usize) {
    let block: Vec<_> = (0..16 / value_bytes)
        .map(|at| match value_bytes {
            1 => format!("block.{}.{}", COLUMNS[at / 4], ROWS[at % 4]),
            _ => format!("block.{}", COLUMNS[at]),
        })
        .collect();
    let fours_a_turn = key_fours(rolled.keys_a_turn, value_bytes);
    let slots: Vec<_> = (0..rolled.turn.results.len()).map(|at| format!("s{at}")).collect();
    let (mut body, begin) = lines(&rolled.before, value_bytes, ["a", ""], &block);
    let given = if slots.is_empty() { &begin } else { &slots };
    if !slots.is_empty() {
        let begin = slots.iter().zip(&begin);
        body += &begin.map(|(slot, begin)| format!("    var {slot} = {begin};\n")).collect::<String>();
        let (turn, next) = lines(&rolled.turn, value_bytes, ["t", "k + "], &slots);
        body += &turned(&turn, &slots, &next, fours_a_turn);
    }
    body += &format!("    let end = {}u * turns;\n", fours_a_turn);
    let (after, results) = lines(&rolled.after, value_bytes, ["b", "end + "], given);
    body += &after;
    let columns: Vec<_> = match value_bytes {
        1 => results.chunks(4).map(|column| text.made("Column", column.to_vec())).collect(),
        _ => results,
    };
    body += &format!("    return {};\n", text.made("State", columns));
    text.function(&format!("cipher{number}"), &[("block", "State"), ("turns", "u32")], "State", &body);
}

/// The loop: lines of a turn, and what its slots hold next.
fn turned(turn: &str, slots: &[String], next: &[String], fours_a_turn: usize) -> String {
    let turn: String = turn.lines().map(|line| format!("    {line}\n")).collect();
    // A slot that another takes over is kept until all are written.
    let moves = |(slot, next): &(&String, &String)| slot != next;
    let moved: Vec<_> = slots.iter().zip(next).filter(moves).collect();
    let kept =
        |next: &str| if slots.iter().any(|slot| slot == next) { format!("o{next}") } else { next.to_owned() };
    let keeps: BTreeSet<_> =
        moved.iter().map(|(_, next)| *next).filter(|next| kept(next) != **next).collect();
    let keep: String = keeps.iter().map(|slot| format!("        let o{slot} = {slot};\n")).collect();
    let write: String =
        moved.iter().map(|(slot, next)| format!("        {slot} = {};\n", kept(next))).collect();
    format!(
        "    for (var turn = 0u; turn < turns; turn = turn + 1u) {{
        let k = {fours_a_turn}u * turn;
{turn}{keep}{write}    }}
"
    )
}
