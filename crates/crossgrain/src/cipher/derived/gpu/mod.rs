//! Described ciphers, bit-sliced, 32 blocks per thread; see `bits`.
//!
//! The rounds are recorded (`device::recorded`) and their loop is detected (`rolled`). Each step becomes a function
//! call; the function's gates are traced from the circuits that bit-sliced CPU kernels use. Key sizes whose
//! steps differ only in the number of turns share a loop. Other key sizes have a separate function.

mod rolled;
#[cfg(feature = "search")]
pub(crate) mod search;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use zeroize::Zeroizing;

use self::rolled::Rolled;
use crate::arch::each;
use crate::block::{Cipher, Direction, Family, Key};
use crate::cipher::Entry;
use crate::cipher::sbox::{Linear, Sbox};
use crate::circuit::emit::{Language, Signature};
use crate::circuit::trace::Sym;
use crate::device::bits::{self, COLUMNS, ROWS};
use crate::device::recorded::{Operation, Recorded, Section, Step, Value, recorded};
use crate::device::text::{Text, byte, key_words, mapped, words};
use crate::device::{Form, KEY_WORDS_MAX, Kernel, Programs, Task, Work};

/// The programs of all described families.
pub(crate) static PROGRAMS: Programs = Programs {
    gates: Form::Bits,
    others: &[],
    // Not measured.
    cuda_bits_group_threads: [64; Task::ALL.len()],
    cuda_bits_shared_bytes: 0,
    text,
    work: |kernel, cipher| Work { gates: gates(kernel.task, cipher), look_ups: 0.0 },
    keys: |kernel, key| keys(kernel.task, key),
    recorded,
};

/// The ciphers of a family in one direction.
struct Program {
    recorded: Recorded,
    loops: Vec<Loop>,
}

/// Recorded steps with their loop.
struct Loop {
    rolled: Rolled,
    /// The number of turns for each number of rounds.
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

/// The programs built so far.
type Known = Mutex<HashMap<(Family, Direction), Arc<Program>>>;

/// The program of a family, built once.
fn program(family: Family, direction: Direction) -> Arc<Program> {
    static KNOWN: LazyLock<Known> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry((family, direction)).or_insert_with(|| Arc::new(found(family, direction))).clone()
}

fn found(family: Family, direction: Direction) -> Program {
    let (mut loops, mut longest) = (Vec::<Loop>::new(), None);
    // Longest first: a loop with more turns is easier to detect.
    for cipher in ciphers(family).rev() {
        let (recorded, rounds) = (recorded(cipher, direction), cipher.rounds());
        let turns = |rolled: &Rolled| (0..=rounds).find(|&turns| rolled.unrolled(turns) == recorded.rounds);
        let shared = loops.iter_mut().find_map(|shared| Some((turns(&shared.rolled)?, shared)));
        if let Some((turns, shared)) = shared {
            shared.turns.insert(rounds, turns);
        } else {
            let (rolled, turns) = Rolled::of(&recorded.rounds);
            loops.push(Loop { rolled, turns: BTreeMap::from([(rounds, turns)]) });
        }
        longest.get_or_insert(recorded);
    }
    Program { recorded: longest.expect("no family is empty"), loops }
}

/// The program's text.
fn text(kernel: Kernel, language: Language, group_threads: u32) -> String {
    let program = program(kernel.family, direction(kernel.task));
    let mut text = Text::new(kernel, language);
    bits::structures(&mut text);
    functions(&mut text, &program.recorded.rounds.steps, &program.recorded, UNIFORM);
    let mut body = String::new();
    for (number, Loop { rolled, turns }) in program.loops.iter().enumerate() {
        looped(&mut text, number, rolled);
        for (rounds, turns) in turns {
            let call = format!("return cipher{number}(block, {turns}u);");
            body += &format!("    if (rounds == {rounds}u) {{\n        {call}\n    }}\n");
        }
    }
    body += "    return block;\n";
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
    bits::entry(text, kernel, group_threads)
}

/// The number of gates per block.
fn gates(task: Task, cipher: Cipher) -> f64 {
    let recorded = recorded(cipher, direction(task));
    let mut costs = HashMap::new();
    let mut gates =
        |step: &Step| *costs.entry(step.operation).or_insert_with(|| gates_of(step.operation, &recorded));
    bits::gates(task, recorded.rounds.steps.iter().map(&mut gates).sum())
}

/// The number of gates of an operation.
fn gates_of(operation: Operation, recorded: &Recorded) -> f64 {
    let gates = match operation {
        Operation::Constant | Operation::Keep | Operation::Between(_) | Operation::ShiftUp(_) => 0,
        Operation::Slice { .. } => unreachable!("only Serpent has S-boxes of four bits"),
        Operation::Substitute(number) => mapped(substitution(&recorded.boxes[number])).gates().len(),
        Operation::SubstituteAlone(number) => mapped(|x| recorded.boxes[number].gates(x)).gates().len(),
        Operation::Linear(number) => mapped(map(&recorded.maps[number])).gates().len(),
        Operation::Add | Operation::AddKey | Operation::AndKey | Operation::OrKey => 8,
    };
    gates as f64
}

/// The round keys: one word of 32 equal bits per key bit.
fn keys(task: Task, key: &Key) -> Zeroizing<Vec<u32>> {
    let keys = Entry::of(key.cipher().family()).expand_by_gates(key);
    let mut words = Zeroizing::new(Vec::with_capacity(KEY_WORDS_MAX));
    let spread = |&byte: &u8| (0..8).map(move |bit| 0_u32.wrapping_sub(u32::from(byte >> bit & 1)));
    words.extend(keys.of(direction(task)).iter().flat_map(spread));
    words
}

/// A byte XOR a key byte, through an S-box.
fn substitution(sbox: &Sbox) -> impl FnOnce([Sym; 16]) -> [Sym; 8] {
    move |x| sbox.gates(each!(bit < 8 => x[bit] ^ x[8 + bit]))
}

fn map(map: &Linear) -> impl FnOnce([Sym; 8]) -> [Sym; 8] {
    move |x| map.gates(x)
}

/// The function name of an operation.
fn name(operation: Operation) -> String {
    match operation {
        Operation::Add => "sum".to_owned(),
        Operation::AddKey => "add_key".to_owned(),
        Operation::AndKey => "and_key".to_owned(),
        Operation::OrKey => "or_key".to_owned(),
        Operation::Substitute(number) => format!("sub_byte{number}"),
        Operation::SubstituteAlone(number) => format!("sub_byte{number}_alone"),
        Operation::Linear(number) => format!("map{number}"),
        Operation::Between(count) => format!("between{count}"),
        Operation::Constant => "constant".to_owned(),
        Operation::Keep => "keep".to_owned(),
        Operation::Slice { .. } | Operation::ShiftUp(_) => unreachable!("only Serpent has these steps"),
    }
}

/// A function parameter: its name and type, and the expressions for its bits.
type Parameter = ((&'static str, &'static str), fn() -> Vec<String>);

/// A byte of a key that all blocks share. Its words begin at vector `k` of `keys`.
const UNIFORM: Parameter = (("k", "u32"), || key_words(8));

/// Another byte of the state, or a key byte that differs between lanes.
const BYTE: Parameter = (("z", "Byte"), || words("z", 8));

/// Adds the functions of all operations in these steps. They take key bytes as the parameter `key`.
fn functions(text: &mut Text, steps: &[Step], recorded: &Recorded, key: Parameter) {
    let mut operations: Vec<_> = Vec::new();
    for step in steps {
        if !operations.contains(&step.operation) {
            operations.push(step.operation);
            function_of(text, step.operation, recorded, key);
        }
    }
}

fn function_of(text: &mut Text, operation: Operation, recorded: &Recorded, key: Parameter) {
    let name = name(operation);
    let mut with = |second: Parameter, circuit: &dyn Fn([Sym; 16]) -> [Sym; 8]| {
        let (second, inputs) = (second.0, [words("x", 8), second.1()].concat());
        let parameters = [("x", "Byte"), second];
        let signature = Signature { parameters: &parameters, inputs, result: "Byte", outputs: words("", 8) };
        text.circuit(&name, &signature, circuit);
    };
    match operation {
        Operation::Add => with(BYTE, &|x| each!(bit < 8 => x[bit] ^ x[8 + bit])),
        Operation::AddKey => with(key, &|x| each!(bit < 8 => x[bit] ^ x[8 + bit])),
        Operation::AndKey => with(key, &|x| each!(bit < 8 => x[bit] & x[8 + bit])),
        Operation::OrKey => with(key, &|x| each!(bit < 8 => !(!x[bit] & !x[8 + bit]))),
        Operation::Substitute(number) => with(key, &|x| substitution(&recorded.boxes[number])(x)),
        Operation::Between(count) => with(BYTE, &|x| between(x, count as usize)),
        Operation::SubstituteAlone(number) => {
            byte(text, &name, |x| recorded.boxes[number].gates(x));
        }
        Operation::Linear(number) => byte(text, &name, map(&recorded.maps[number])),
        // Each program defines constants and storage for kept bytes in its own way.
        Operation::Constant | Operation::Keep | Operation::Slice { .. } | Operation::ShiftUp(_) => {}
    }
}

/// Eight bits of two bytes: the first shifted left by `count`, filled with the top bits of the second. Bits
/// are only renamed.
fn between(x: [Sym; 16], count: usize) -> [Sym; 8] {
    each!(bit < 8 => if bit < count { x[8 + 8 - count + bit] } else { x[bit - count] })
}

/// The number of four-word vectors that hold `bytes` key bytes, one word per bit.
const fn key_fours(bytes: usize) -> u32 {
    2 * bytes as u32
}

/// The lines of a section and the names of its results. Names of computed values begin with `made`; key
/// indices begin with `key`.
fn lines(section: &Section, [made, key]: [&str; 2], given: &[String]) -> (String, Vec<String>) {
    let value = |value: &Value| match *value {
        Value::Given(at) => given[at].clone(),
        Value::Made(at) => format!("{made}{at}"),
    };
    let line = |(at, Step { operation, inputs, number }): (usize, &Step)| {
        let key = number.map(|number| format!("{key}{}u", key_fours(number)));
        let given: Vec<_> = inputs.iter().map(value).chain(key).collect();
        format!("    let {made}{at} = {}({});\n", name(*operation), given.join(", "))
    };
    let lines = section.steps.iter().enumerate().map(line).collect();
    (lines, section.results.iter().map(value).collect())
}

/// Adds `cipherN`: the cipher as a loop with its sections before and after.
fn looped(text: &mut Text, number: usize, rolled: &Rolled) {
    let block: Vec<_> = (0..16).map(|at| format!("block.{}.{}", COLUMNS[at / 4], ROWS[at % 4])).collect();
    let fours_a_turn = key_fours(rolled.strides[0]);
    let slots: Vec<_> = (0..rolled.turn.given).map(|at| format!("s{at}")).collect();
    let (mut body, begin) = lines(&rolled.before, ["a", ""], &block);
    let given = if slots.is_empty() { &begin } else { &slots };
    if !slots.is_empty() {
        let begin = slots.iter().zip(&begin);
        body += &begin.map(|(slot, begin)| format!("    var {slot} = {begin};\n")).collect::<String>();
        let (turn, next) = lines(&rolled.turn, ["t", "k + "], &slots);
        let turn: String = turn.lines().map(|line| format!("    {line}\n")).collect();
        body += &format!(
            "    for (var turn = 0u; turn < turns; turn = turn + 1u) {{
        let k = {fours_a_turn}u * turn;
{turn}{}    }}
",
            moves("        ", &slots, &next)
        );
    }
    body += &format!("    let end = {fours_a_turn}u * turns;\n");
    let (after, results) = lines(&rolled.after, ["b", "end + "], given);
    body += &after;
    let columns: Vec<_> =
        results.chunks(4).map(|column| text.made("Column", column.iter().cloned())).collect();
    body += &format!("    return {};\n", text.made("State", columns));
    text.function(&format!("cipher{number}"), &[("block", "State"), ("turns", "u32")], "State", &body);
}

/// The end of a turn: assigns the next values to the slots.
fn moves(indent: &str, slots: &[String], next: &[String]) -> String {
    // If another slot needs the old value of a slot, it is saved before any slot is written.
    let moves = |(slot, next): &(&String, &String)| slot != next;
    let moved: Vec<_> = slots.iter().zip(next).filter(moves).collect();
    let kept =
        |next: &str| if slots.iter().any(|slot| slot == next) { format!("o{next}") } else { next.to_owned() };
    let keeps: BTreeSet<_> =
        moved.iter().map(|(_, next)| *next).filter(|next| kept(next) != **next).collect();
    let keep: String = keeps.iter().map(|slot| format!("{indent}let o{slot} = {slot};\n")).collect();
    let write = moved.iter().map(|(slot, next)| format!("{indent}{slot} = {};\n", kept(next)));
    keep + &write.collect::<String>()
}
