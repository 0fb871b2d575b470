//! Bit-sliced AES search, 32 keys per thread, one key per lane. The steps of `cipher::aes::search` run on names
//! of bytes and record the calls. Schedule, rounds and last rounds are therefore the CPU's source. The gates
//! inside a call are traced from the same circuits.
//!
//! After a turn of the loop the schedule's words are in the same places again. A turn is 1, 3 or 2 rounds for
//! keys of 4, 6 or 8 words. The loop variable is the number of the turn's first round constant.
//!
//! Four bytes are compared: those of one column before the last ShiftRows or InvShiftRows. This takes four
//! more S-boxes than two bytes would, but leaves the host hardly any wrong keys to try. If no column has
//! enough known bits, all sixteen bytes are compared, which takes 24 S-boxes more, out of about 200.
//!
//! Decryption begins with a loop through the schedule; one turn computes as many words as a key has. During
//! the rounds the schedule is then undone word by word, as on the CPU.

mod record;

use self::record::{Name, Record, Step};
use crate::block::{Block, Cipher, Direction};
use crate::cipher::aes::lane_schedule::ROUND_CONSTANTS;
use crate::cipher::aes::search::{self as aes_search, Differences, Rounds, Target, begins, shifted};
use crate::circuit::emit::{Field, Language};
use crate::device::bits::structures;
use crate::device::search::begun::{loaded, start_column};
use crate::device::search::{Programs, Search};
use crate::device::text::{PARTS, Text, key_words};
use crate::kernel::search::{Known, START_BLOCKS, TableReuse};

/// AES's programs.
pub(crate) static PROGRAMS: Programs = Programs {
    columns: 4,
    lanes: 32,
    start_columns: |key_columns| 4 + key_columns,
    compared,
    thread_bytes,
    text,
    start,
    constants,
    end,
};

/// The compared bytes of the result: those of the columns before the last ShiftRows or InvShiftRows.
fn compared(search: Search) -> Vec<usize> {
    let place = |column, row| 4 * shifted(search.direction, column, row) + row;
    search.columns().flat_map(|column| (0..4).map(move |row| place(column, row))).collect()
}

/// In CUDA C the words of the key schedule are in shared memory, since a thread lacks registers for them and
/// the state. WebGPU guarantees less shared memory than a group would need.
fn thread_bytes(search: Search, language: Language) -> usize {
    match language {
        Language::Cuda => 32 * search.cipher.key_bytes(),
        Language::Wgsl => 0,
    }
}

/// The start of a key. For encryption, round 1 has been done.
fn start(search: Search, input: &Block, key: &[u8], start: &mut [Block; START_BLOCKS]) {
    let (direction, usage) = (search.direction, usage(search));
    match search.cipher {
        Cipher::Aes128 => aes_search::start::<4>(input, direction, key, usage, start),
        Cipher::Aes192 => aes_search::start::<6>(input, direction, key, usage, start),
        _ => aes_search::start::<8>(input, direction, key, usage, start),
    }
}

/// The progress of a key when it is passed to the device. For decryption the whole schedule is still to do.
const fn usage(search: Search) -> TableReuse {
    match search.direction {
        Direction::Encrypt => TableReuse::Often,
        Direction::Decrypt => TableReuse::Once,
    }
}

/// The compared bytes, their masks, and the schedule's constants, with one word of 32 equal bits per bit.
fn constants(search: Search, known: &Known) -> Vec<u32> {
    let of = |block: Block| compared(search).into_iter().map(move |place| block[place]);
    let bytes = of(known.output).chain(of(known.mask)).chain(ROUND_CONSTANTS);
    bytes.flat_map(|byte| (0..8).map(move |bit| 0_u32.wrapping_sub(u32::from(byte >> bit & 1)))).collect()
}

/// The number of rounds in a turn of the loop, and the number of round constants that the schedule adds in
/// it.
const fn turn(key_words: usize) -> (usize, usize) {
    match key_words {
        4 => (1, 1),
        6 => (3, 2),
        _ => (2, 1),
    }
}

/// The number of the first turn's first constant; when decrypting, of the last turn's.
const FIRST_CONSTANT: usize = 2;

/// The number of rounds in the loop when encrypting: all but the first, which is done beforehand, and the
/// last two.
const fn middle_rounds(cipher: Cipher) -> usize {
    cipher.rounds() - 3
}

/// The number of rounds in the loop when decrypting: all but the last two. No round is done beforehand.
const fn middle_rounds_back(cipher: Cipher) -> usize {
    cipher.rounds() - 2
}

/// The number of the last constant that the schedule adds.
const fn last_constant(cipher: Cipher) -> usize {
    (4 * cipher.rounds() + 3) / (cipher.key_bytes() / 4)
}

/// The end value of the first loop's variable.
const fn end(cipher: Cipher, direction: Direction) -> u32 {
    let (rounds, constants) = turn(cipher.key_bytes() / 4);
    let end = match direction {
        Direction::Encrypt => FIRST_CONSTANT + middle_rounds(cipher).div_ceil(rounds) * constants,
        Direction::Decrypt => 1 + last_constant(cipher),
    };
    end as u32
}

/// The program's text.
fn text(search: Search, language: Language, group_threads: u32) -> String {
    let record = Record::new(language, compared(search).len());
    let body = match search.cipher {
        Cipher::Aes128 => body::<4>(search, &record),
        Cipher::Aes192 => body::<6>(search, &record),
        _ => body::<8>(search, &record),
    };
    let mut text = search.headed(language);
    structures(&mut text);
    let ring: Vec<_> = (0..search.cipher.key_bytes() / 4).map(|at| format!("w{at}")).collect();
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

/// Adds functions for the schedule's words in shared memory. A byte is two vectors of four words. Vectors of
/// neighbouring threads are adjacent.
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

/// Adds `key_byte`: a known byte or a round constant, equal in all lanes.
fn key_byte(text: &mut Text) {
    let word = |(bit, word)| format!("    y.x[{bit}] = {word};\n");
    let words: String = key_words(8).iter().enumerate().map(word).collect();
    text.function("key_byte", &[("k", "u32")], "Byte", &format!("    var y: Byte;\n{words}    return y;\n"));
}

/// The body of a thread: it runs the rounds and computes `hits`.
fn body<const NK: usize>(search: Search, record: &Record) -> String {
    let (first, words) = begins::<NK>(usage(search));
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
    // With long keys, the schedule already has the key of the first round and stays one round ahead.
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
        // The last turn may have fewer rounds.
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
    // The last turn may have fewer words.
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
    // The number of the first constant to be undone: the last one added in the remaining words.
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
    // The state is loaded after the schedule, since a thread has hardly enough registers for both.
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

/// The exit of a loop in the middle of its turn.
fn until(condition: &str) -> String {
    format!("        if ({condition}) {{\n            break;\n        }}\n")
}

/// The lanes in which all compared bytes match the known output.
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

/// Begins a round: the words of its key are stored, and no thread of a group runs ahead.
const LOCKSTEP: &str = "        lockstep();\n";
