//! AES with T-tables, which combine SubBytes and MixColumns. Each thread computes its blocks one after
//! another.
//!
//! The tables are in the shared memory of a group, in 32 copies, so that each thread of a warp reads from a
//! separate bank:
//!
//! * Four tables take 128 KiB. Word `32·(2·byte + table % 2) + lane` belongs to a pair of tables, and an
//!   address is one byte permutation.
//! * A single table takes 32 KiB. Its entry is word `32·byte + lane`; the other three tables' entries are
//!   rotations of it.
//!
//! The counters of a thread differ by multiples of 256. Until they carry out of their lowest 16 bits, only
//! one byte changes. The contributions of the other bytes to rounds 1 and 2 are kept, which leaves 5 of these
//! rounds' 32 look-ups.
//!
//! Decryption uses the round keys of the equivalent inverse cipher. No byte of a table entry is the
//! InvSubBytes value for the last round. But the XOR of an entry's bytes is this value, since the
//! coefficients of InvMixColumns sum to 1.
//!
//! Source: the Rijndael submission §5.2.1 and 5.3.3. The tables are those of `cipher::aes::table`.
//!
//! Warning: **addresses are secret.** Bank conflicts do not reveal them, but nothing more is guaranteed. Use
//! it only under policy `any`.

use super::cached_counter::Moving;
use crate::arch::{Lanes as _, each};
use crate::block::Direction;
use crate::cipher::aes::key::RoundKeys;
use crate::cipher::aes::table::t_tables;
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::trace::Sym;
use crate::device::text::{PARTS, Text, key_word, words};
use crate::device::{Form, Kernel, Task, Work};

/// The number of blocks per thread.
pub(crate) const THREAD_BLOCKS: u32 = 32;

/// The number of round keys of the longest key, of four words each. The tables follow them.
const ROUND_KEYS_MAX: usize = 15;

/// The size of a table in words, with its 32 copies.
const TABLE_WORDS: u32 = 256 * 32;

/// The round keys in order of use, column by column, then the four tables.
pub(super) fn keys(task: Task, round_keys: &RoundKeys, to: &mut Vec<u32>) {
    let inverse = (task == Task::Decrypt).then(|| round_keys.equivalent_inverse());
    let columns = inverse.as_ref().unwrap_or(round_keys).blocks().as_flattened().as_chunks::<4>().0;
    to.extend(columns.iter().map(|column| u32::from_le_bytes(*column)));
    to.resize(4 * ROUND_KEYS_MAX, 0);
    to.extend(t_tables(direction(task)).as_flattened());
}

const fn direction(task: Task) -> Direction {
    match task {
        Task::Decrypt => Direction::Decrypt,
        _ => Direction::Encrypt,
    }
}

/// The work per block: one address computation per look-up, and three-input sums.
pub(super) fn work(task: Task, rounds: f64) -> Work {
    let (gates, look_ups) = (24.0 * rounds, 16.0 * rounds);
    match task {
        Task::Encrypt => Work { gates, look_ups },
        // The bytes of the last round: two rotations and a sum each.
        Task::Decrypt => Work { gates: gates + 16.0 * 3.0, look_ups },
        // In rounds 1 and 2 only the moving byte needs look-ups per block. Those of the other bytes are done
        // once per thread.
        Task::Count | Task::Generate => {
            let once = f64::from(THREAD_BLOCKS).recip();
            Work { gates: gates - 48.0 + 11.0 + 44.0 * once, look_ups: look_ups - 32.0 + 5.0 + 29.0 * once }
        }
    }
}

/// The program's text.
pub(super) fn text(kernel: Kernel, language: Language) -> String {
    let mut text = Text::new(kernel, language);
    text.structure("State", &[("x", Field::Words(4))]);
    text.push(&declaration(kernel, language));
    look_ups(&mut text, kernel);
    columns(&mut text, kernel.task);
    cipher(&mut text, kernel.task);
    if kernel.task == Task::Count {
        text.swap_bytes();
    }
    let body = body(&text, kernel);
    text.entry(kernel, kernel.group_threads(language), &body)
}

fn declaration(kernel: Kernel, language: Language) -> String {
    let words = kernel.shared_bytes(language) / 4;
    match (language, kernel.form) {
        // CUDA grants more than 48 KiB only as dynamic memory, requested at launch.
        (Language::Cuda, Form::FourTables) => "extern __shared__ u32 tables[];\n\n".to_owned(),
        (Language::Cuda, _) => format!("__shared__ u32 tables[{words}];\n\n"),
        (Language::Wgsl, _) => format!("var<workgroup> tables: array<u32, {words}>;\n\n"),
    }
}

/// Adds `look_up0` to `look_up3`: the contribution of byte r of a word to a column, from row r. Also adds
/// `sub0` to `sub3` for the last round. When encrypting, `subR` uses the table two rows on, whose entry has
/// the plain S-box value in row r. When decrypting, any table works.
fn look_ups(text: &mut Text, kernel: Kernel) {
    for byte in 0..4 {
        let last = if kernel.task == Task::Decrypt { 0 } else { (byte + 2) % 4 };
        look_up(text, kernel.form, &format!("look_up{byte}"), byte, byte);
        look_up(text, kernel.form, &format!("sub{byte}"), byte, last);
    }
}

/// Adds a function that looks up byte `byte` of a word in a table.
fn look_up(text: &mut Text, form: Form, name: &str, byte: usize, table: usize) {
    let index = if byte == 0 { "(v & 255u)".to_owned() } else { format!("((v >> {}u) & 255u)", 8 * byte) };
    let body = match (form, text.language) {
        // The byte shifted by 8 bits, plus four times the lane: the address in a pair of tables.
        (Form::FourTables, Language::Cuda) => {
            let offset_bytes = 65536 * (table / 2) + 128 * (table % 2);
            format!(
                "    let address = __byte_perm(v, 4u * lane, 0x77{byte}4);
    return *(const u32 *)((const char *)tables + address + {offset_bytes});
"
            )
        }
        (Form::FourTables, Language::Wgsl) => {
            let offset = 16384 * (table / 2) + 32 * (table % 2);
            format!("    return tables[64u * {index} + lane + {offset}u];\n")
        }
        _ if table == 0 => format!("    return tables[32u * {index} + lane];\n"),
        _ => format!(
            "    let t = tables[32u * {index} + lane];
    return (t << {}u) | (t >> {}u);
",
            8 * table,
            32 - 8 * table
        ),
    };
    text.function(name, &[("v", "u32"), ("lane", "u32")], "u32", &body);
}

/// Adds `sum`, of four words and a key, and `bytes`, of the S-box values in four rows and a key.
fn columns(text: &mut Text, task: Task) {
    text.structure("Looked", &[("x", Field::Words(4))]);
    text.structure("Word", &[("x", Field::Words(1))]);
    let signature = Signature {
        parameters: &[("x", "Looked"), ("key", "u32")],
        inputs: [words("x", 4), vec!["key".to_owned()]].concat(),
        result: "Word",
        outputs: words("", 1),
    };
    text.circuit("sum", &signature, |x: [Sym; 5]| [x[0] ^ x[1] ^ (x[2] ^ x[3] ^ x[4])]);
    text.circuit("bytes", &signature, |x: [Sym; 5]| {
        let given = |word| if task == Task::Decrypt { sum_of_bytes(word) } else { word };
        let bytes: [Sym; 4] = each!(row < 4 => given(x[row]) & Sym::constant(0xff << (8 * row)));
        [bytes[0] ^ bytes[1] ^ (bytes[2] ^ bytes[3] ^ x[4])]
    });
}

/// The XOR of a word's bytes, in each of its bytes.
fn sum_of_bytes(word: Sym) -> Sym {
    let halves = word ^ word.rotate_lanes_left::<16>();
    halves ^ halves.rotate_lanes_left::<8>()
}

const COLUMNS: [usize; 4] = [0, 1, 2, 3];

/// The counter byte that changes within a thread: the second lowest.
fn moving(task: Task) -> Option<Moving> {
    task.counts().then(|| Moving::of_counter(task, 1))
}

/// Generates the cipher's steps as expressions.
struct Steps<'a> {
    text: &'a Text,
    task: Task,
}

impl Steps<'_> {
    /// The look-up `function` for row `row` of column `column` of the state after `s`.
    fn word(&self, function: &str, column: usize, row: usize) -> String {
        // ShiftRows takes row r from r columns to the right, InvShiftRows from r columns to the left.
        let step = if self.task == Task::Decrypt { 3 } else { 1 };
        format!("{function}{row}(s.x[{}], lane)", (column + step * row) % 4)
    }

    fn state(&self, column: impl FnMut(usize) -> String) -> String {
        self.text.of_words("State", COLUMNS.map(column))
    }

    fn keyed(&self) -> String {
        self.state(|at| format!("block.x[{at}] ^ {}", key_word(at)))
    }

    /// The state after round `number` of `s`.
    fn round(&self, sum: &str, function: &str, number: &str) -> String {
        self.state(|at| {
            let words = self.text.of_words("Looked", COLUMNS.map(|row| self.word(function, at, row)));
            format!("\n        {sum}({words}, keys[{number}].{}).x[0]", PARTS[at])
        })
    }

    /// All rounds from `first` on, applied to `s`, the state before them.
    fn rounds_from(&self, first: u32) -> String {
        format!(
            "    for (var number = {first}u; number < rounds; number = number + 1u) {{
        s = {};
    }}
    return {};
",
            self.round("sum", "look_up", "number"),
            self.round("bytes", "sub", "rounds")
        )
    }

    /// The cipher.
    fn cipher(&self) -> String {
        format!("    var s = {};\n{}", self.keyed(), self.rounds_from(1))
    }

    /// The contributions of all bytes except the moving one: the four words after round 2, then the word
    /// after round 1 that depends on the moving byte.
    fn head(&self, moving: Moving) -> String {
        let Moving { row, column } = moving;
        let sum = |at: usize| {
            let rows = COLUMNS.into_iter().filter(|&row| row != moving.goes_by(at));
            let words: Vec<_> = rows.map(|row| self.word("look_up", at, row)).collect();
            format!("\n        {} ^ {}", key_word(8 + at), words.join(" ^ "))
        };
        let kept = format!("\n        s.x[{}] ^ moving", moving.comes_to());
        format!(
            "    var s = {};
    let moving = look_up{row}(s.x[{column}], lane);
    s = {};
    return {};
",
            self.keyed(),
            self.round("sum", "look_up", "1u"),
            self.text.of_words("Head", [sum(0), sum(1), sum(2), sum(3), kept])
        )
    }

    /// The cipher from these contributions on. `word` is the block's word that contains the moving byte.
    fn cipher_from(&self, moving: Moving) -> String {
        let Moving { row, column } = moving;
        let state = self.state(|at| format!("kept.x[{at}] ^ look_up{}(w, lane)", moving.goes_by(at)));
        format!(
            "    let w = kept.x[4] ^ look_up{row}(word ^ {}, lane);
    var s = {state};
{}",
            key_word(column),
            self.rounds_from(3)
        )
    }
}

fn cipher(text: &mut Text, task: Task) {
    let (rounds, lane) = (("rounds", "u32"), ("lane", "u32"));
    let Some(moving) = moving(task) else {
        let body = Steps { text, task }.cipher();
        return text.function("cipher", &[("block", "State"), rounds, lane], "State", &body);
    };
    text.structure("Head", &[("x", Field::Words(5))]);
    let body = Steps { text, task }.head(moving);
    text.function("head", &[("block", "State"), lane], "Head", &body);
    let body = Steps { text, task }.cipher_from(moving);
    text.function("cipher", &[("kept", "Head"), ("word", "u32"), rounds, lane], "State", &body);
}

/// The body of a thread. The blocks of a group's threads are adjacent.
fn body(text: &Text, kernel: Kernel) -> String {
    let group = kernel.group_threads(text.language);
    let block = text.one_block(kernel.task, |words| match moving(kernel.task) {
        None => format!("    let s = cipher({}, job.rounds, lane);\n", text.of_words("State", words)),
        Some(moving) => {
            let word = words[moving.column].clone();
            format!(
                "    if (number == 0u || (b0 >> 16u) != high) {{
        high = b0 >> 16u;
        kept = head({}, lane);
    }}
    let s = cipher(kept, {word}, job.rounds, lane);
",
                text.of_words("State", words)
            )
        }
    });
    let block: String = block.lines().map(|line| format!("        {line}\n")).collect();
    let kept = if kernel.task.counts() { "    var high = 0u;\n    var kept: Head;\n" } else { "" };
    format!(
        "{}    barrier();
    let lane = local % 32u;
    let base = {THREAD_BLOCKS}u * (thread - local) + local;
{kept}    for (var number = 0u; number < {THREAD_BLOCKS}u; number = number + 1u) {{
        let first = base + {group}u * number;
        if (first < job.blocks) {{
{block}        }}
    }}
",
        fill(kernel, text.language)
    )
}

/// Each thread of a group writes a part of the tables, four words of one table at a time.
fn fill(kernel: Kernel, language: Language) -> String {
    let (group, fours) = (kernel.group_threads(language), kernel.shared_bytes(language) / 16);
    let (first, stride) = match kernel.form {
        Form::FourTables => (
            format!("{}u * (four / 128u) + 32u * (four / 64u % 2u) + 256u * (four % 64u)", 2 * TABLE_WORDS),
            64,
        ),
        _ => ("128u * four".to_owned(), 32),
    };
    let word = |at: usize| format!("        tables[to + {}u] = words.{};\n", stride * at, PARTS[at]);
    let words: String = (0..4).map(word).collect();
    format!(
        "    for (var at = local; at < {fours}u; at = at + {group}u) {{
        let four = at / 32u;
        let words = keys[{ROUND_KEYS_MAX}u + four];
        let to = {first} + at % 32u;
{words}    }}
"
    )
}
