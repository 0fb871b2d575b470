//! Bit-sliced ciphers: a thread computes 32 blocks, and each word holds the same bit of all of them.
//!
//! * State: four columns, one for each 32-bit word of a block in memory (a column of AES, a word of Serpent).
//!   Word `8·row + bit` of a column is bit `bit` of its byte `row`.
//! * Input and output: each column is transposed as a 32 × 32 bit matrix.
//! * Blocks: those of 32 neighbouring threads are interleaved. Block i of thread t is block 32·i + t, so
//!   neighbouring threads access neighbouring blocks.
//! * Counters: those of a thread are 32 apart. Only the lowest word of each is transposed. Each higher word
//!   has one of two values, chosen per lane by the carry.

use super::text::{PARTS, Text, counter, mapped, words};
use super::{KEY_FOURS_MAX, Kernel, Task};
use crate::circuit::emit::{Field, Signature};
use crate::circuit::trace::Sym;
use crate::layout::convert::transpose_square;

/// The number of neighbouring threads with interleaved blocks: equal to the number of blocks per thread.
pub(crate) const SPAN_THREADS: u32 = 32;

/// The number of their blocks.
pub(crate) const SPAN_BLOCKS: u32 = 32 * SPAN_THREADS;

pub(crate) const ROWS: [&str; 4] = ["a", "b", "c", "d"];
pub(crate) const COLUMNS: [&str; 4] = ["c0", "c1", "c2", "c3"];

/// Adds the structures that hold bit-sliced blocks.
pub(crate) fn structures(text: &mut Text) {
    text.structure("Byte", &[("x", Field::Words(8))]);
    text.structure("Column", &ROWS.map(|row| (row, Field::Structure("Byte"))));
    text.structure("State", &COLUMNS.map(|column| (column, Field::Structure("Column"))));
}

/// The 32 words of a column, by position.
pub(crate) fn column_words(name: &str) -> Vec<String> {
    (0..32).map(|at| format!("{name}.{}.x[{}]", ROWS[at / 8], at % 8)).collect()
}

/// Completes a program around its function `cipher`, which takes a `State` and the number of rounds.
pub(crate) fn entry(mut text: Text, kernel: Kernel, group_threads: u32) -> String {
    let (rows, columns) = (words("x", 32), column_words(""));
    let signature =
        Signature { parameters: &[("x", "Rows")], inputs: rows, result: "Column", outputs: columns };
    rows_of(&mut text);
    text.circuit("column_of", &signature, transposed);
    if kernel.task.counts() {
        counters(&mut text, kernel.task);
    }
    let body = shared_keys(&text, kernel, group_threads) + &body(&text, kernel.task);
    text.entry(kernel, group_threads, &body)
}

/// The number of gates per block, if a thread's cipher has `cipher` gates.
pub(crate) fn gates(task: Task, cipher: f64) -> f64 {
    // For a counter only one word is transposed. The other bits are computed directly.
    let words = if task.counts() { 1.0 } else { 4.0 } + 4.0;
    (cipher + words * transposition_gates()) / 32.0
}

/// The number of gates of a 32 × 32 bit transposition.
pub(crate) fn transposition_gates() -> f64 {
    mapped(transposed).gates().len() as f64
}

/// Adds `rows_of`: converts a column to the words of 32 blocks.
pub(crate) fn rows_of(text: &mut Text) {
    text.structure("Rows", &[("x", Field::Words(32))]);
    let (columns, rows) = (column_words("x"), words("", 32));
    let signature =
        Signature { parameters: &[("x", "Column")], inputs: columns, result: "Rows", outputs: rows };
    text.circuit("rows_of", &signature, transposed);
}

/// Transposes 32 × 32 bits.
fn transposed(mut words: [Sym; 32]) -> [Sym; 32] {
    transpose_square(&mut words);
    words
}

/// Adds `counter_column`: a column with the bits of `first`, or of `first ^ change` in lanes where `carry` is
/// set.
fn counters(text: &mut Text, task: Task) {
    if task == Task::Count {
        text.swap_bytes();
    }
    text.spread();
    let mut body = "    var y: Column;\n".to_owned();
    for at in 0..32 {
        // Big-endian: row 0 is the highest byte.
        let byte = if task == Task::Count { 3 - at / 8 } else { at / 8 };
        let (place, bit) = (&column_words("y")[at], 8 * byte + at % 8);
        body += &format!("    {place} = spread(first, {bit}u) ^ (spread(change, {bit}u) & carry);\n");
    }
    body += "    return y;\n";
    let parameters = [("first", "u32"), ("change", "u32"), ("carry", "u32")];
    text.function("counter_column", &parameters, "Column", &body);
}

/// The name of a group's shared copy of the keys.
pub(crate) const SHARED: &str = "shared_keys";

/// If a group has a shared copy of the keys, each of its threads copies a part of them.
fn shared_keys(text: &Text, kernel: Kernel, group_threads: u32) -> String {
    if kernel.shared_bytes(text.language) == 0 {
        return String::new();
    }
    format!(
        "    for (var at = local; at < {KEY_FOURS_MAX}u; at = at + {group_threads}u) {{
        {SHARED}[at] = keys[at];
    }}
    barrier();
"
    )
}

/// The body of a thread around its `cipher`.
fn body(text: &Text, task: Task) -> String {
    let mut body = format!(
        "    let first = {SPAN_BLOCKS}u * (thread / {SPAN_THREADS}u) + thread % {SPAN_THREADS}u;
    if (first >= job.blocks) {{
        return;
    }}
"
    );
    body += &if task.counts() { counted(text, task) } else { loaded(text) };
    body += "    let s = cipher(state, job.rounds);\n";
    body + &stored(text, task, &place())
}

/// The index of block `i` of the 32 that begin with `first`.
fn place() -> String {
    format!("first + {SPAN_THREADS}u * i")
}

/// Stores the blocks of a state `s`.
pub(crate) fn stored(text: &Text, task: Task, place: &str) -> String {
    let rows = |(at, column): (usize, &&str)| format!("    var y{at} = rows_of(s.{column});\n");
    let rows: String = COLUMNS.iter().enumerate().map(rows).collect();
    let word = |at: usize| match task {
        Task::Count => format!("y{at}.x[i] ^ given.{}", PARTS[at]),
        _ => format!("y{at}.x[i]"),
    };
    let given = if task == Task::Count { "            let given = source[at];\n" } else { "" };
    let block = text.block([word(0), word(1), word(2), word(3)]);
    rows + &each_block(place, &format!("{given}            goal[at] = {block};\n"))
}

/// The loop over the thread's 32 blocks, without those past the end. `at` is the index of block `i`.
fn each_block(place: &str, body: &str) -> String {
    format!(
        "    for (var i = 0u; i < 32u; i = i + 1u) {{
        let at = {place};
        if (at < job.blocks) {{
{body}        }}
    }}
"
    )
}

fn loaded(text: &Text) -> String {
    let mut body: String = (0..4).map(|at| format!("    var x{at}: Rows;\n")).collect();
    let words = PARTS.iter().enumerate();
    let words: String = words.map(|(at, part)| format!("            x{at}.x[i] = given.{part};\n")).collect();
    body += &each_block(&place(), &format!("            let given = source[at];\n{words}"));
    let columns = (0..4).map(|at| format!("column_of(x{at})"));
    body + &format!("    let state = {};\n", text.made("State", columns))
}

fn counted(text: &Text, task: Task) -> String {
    // The lowest word is first, as in a little-endian counter.
    let high = [1, 2, 3].map(|at| format!("counter_column(b{at}, b{at} ^ n{at}, carry)"));
    let mut columns = [&["column_of(low)".to_owned()], &high[..]].concat();
    let mut low = "v";
    if task == Task::Count {
        columns.reverse();
        low = "swap_bytes(v)";
    }
    format!(
        "{}    let n1 = b1 + 1u;
    let n2 = b2 + u32(n1 == 0u);
    let n3 = b3 + (u32(n1 == 0u) & u32(n2 == 0u));
    var low: Rows;
    var carry = 0u;
    for (var i = 0u; i < 32u; i = i + 1u) {{
        let v = b0 + {SPAN_THREADS}u * i;
        low.x[i] = {low};
        carry = carry | (u32(v < b0) << i);
    }}
    let state = {};
",
        counter(),
        text.made("State", columns)
    )
}
