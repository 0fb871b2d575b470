//! AES bit-sliced: a thread computes 32 blocks, word `8·row + bit` of a column being that bit of all of them.
//!
//! The blocks of 32 neighbouring threads lie interleaved: block i of thread t of them is block 32·i + t, so that
//! neighbours read neighbouring blocks. Words are transposed on the way in and out, 32 by 32 bits.
//! As in `part::aes::bitsliced`, the constant of the S-boxes is in the round keys.
//! Counters of a thread differ by 32: the lowest word of each is transposed, and of the higher ones every lane sees
//! one of two values, by the carry.

use super::text::{COUNTER, Text, key_words, mapped};
use super::{Kernel, Task};
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::graph::Graph;
use crate::circuit::trace::Sym;
use crate::circuit::{Bits, aes_linear, aes_sbox};
use crate::convert::transpose_square;
use crate::word::each;

/// Neighbouring threads whose blocks lie interleaved.
pub(super) const SPAN_THREADS: u32 = 32;

/// Their blocks.
pub(super) const SPAN_BLOCKS: u32 = 32 * SPAN_THREADS;

pub(super) const ROWS: [&str; 4] = ["a", "b", "c", "d"];
pub(super) const COLUMNS: [&str; 4] = ["c0", "c1", "c2", "c3"];

/// The program's text.
pub(super) fn text(kernel: Kernel, language: Language) -> String {
    let mut text = Text::new(kernel, language);
    structures(&mut text);
    text.structure("Rows", &[("x", Field::Words(32))]);
    transpositions(&mut text);
    add_key(&mut text);
    if kernel.task == Task::Decrypt {
        decrypt(&mut text);
    } else {
        encrypt(&mut text);
    }
    if kernel.task.counts() {
        counters(&mut text, kernel.task);
    }
    let body = body(&text, kernel.task);
    text.entry(kernel, &body)
}

/// What bits of blocks are kept in.
pub(super) fn structures(text: &mut Text) {
    text.structure("Byte", &[("x", Field::Words(8))]);
    text.structure("Column", &ROWS.map(|row| (row, Field::Structure("Byte"))));
    text.structure("State", &COLUMNS.map(|column| (column, Field::Structure("Column"))));
}

/// The 32 words of a column by their places in it.
pub(super) fn column_words(name: &str) -> Vec<String> {
    (0..32).map(|at| format!("{name}.{}.x[{}]", ROWS[at / 8], at % 8)).collect()
}

/// 32 by 32 bits: a word of 32 blocks to a column, and back.
fn transpositions(text: &mut Text) {
    let rows = |name| super::text::words(name, 32);
    let both = [
        ("column_of", "Rows", rows("x"), "Column", column_words("")),
        ("rows_of", "Column", column_words("x"), "Rows", rows("")),
    ];
    for (name, from, inputs, result, outputs) in both {
        text.circuit(name, &Signature { parameters: &[("x", from)], inputs, result, outputs }, transposed);
    }
}

fn transposed(mut words: [Sym; 32]) -> [Sym; 32] {
    transpose_square(&mut words);
    words
}

/// A circuit on a byte.
pub(super) fn byte(text: &mut Text, name: &str, circuit: impl FnOnce(Bits<Sym>) -> Bits<Sym>) {
    let [inputs, outputs] = ["x", ""].map(|name| super::text::words(name, 8));
    text.circuit(name, &Signature { parameters: &[("x", "Byte")], inputs, result: "Byte", outputs }, circuit);
}

/// A circuit on a column and the words of its round key, which begin at index `k`.
fn keyed_column(
    text: &mut Text,
    name: &str,
    circuit: impl FnOnce([Bits<Sym>; 4], [Bits<Sym>; 4]) -> [Bits<Sym>; 4],
) {
    let inputs = [column_words("x"), key_words("k", 32)].concat();
    let parameters = [("x", "Column"), ("k", "u32")];
    let signature =
        Signature { parameters: &parameters, inputs, result: "Column", outputs: column_words("") };
    text.circuit(name, &signature, |words: [Sym; 64]| on_words(words, circuit));
}

/// A circuit on the words of a column and those of a round key.
fn on_words(
    words: [Sym; 64],
    circuit: impl FnOnce([Bits<Sym>; 4], [Bits<Sym>; 4]) -> [Bits<Sym>; 4],
) -> [Sym; 32] {
    let bytes: [Bits<Sym>; 8] = each!(at < 8 => each!(bit < 8 => words[8 * at + bit]));
    let column = circuit(each!(row < 4 => bytes[row]), each!(row < 4 => bytes[4 + row]));
    each!(at < 32 => column[at / 8][at % 8])
}

/// Gates for a block.
pub(super) fn gates(task: Task, rounds: f64) -> f64 {
    let count = |graph: Graph| graph.gates().len() as f64;
    let (sub_byte, column) = match task {
        Task::Decrypt => (mapped(aes_sbox::inverse), mapped(|words| on_words(words, mix_backwards))),
        _ => (mapped(aes_sbox::forward), mapped(|words| on_words(words, mix_forwards))),
    };
    // Of a counter one word is transposed, and the other bits are written down.
    let transposed_words = if task.counts() { 1.0 } else { 4.0 } + 4.0;
    let thread = 16.0 * rounds * count(sub_byte)
        + 4.0 * (rounds - 1.0) * count(column)
        + 2.0 * 128.0
        + transposed_words * count(mapped(transposed));
    thread / 32.0
}

/// MixColumns, and the key.
fn mix_forwards(x: [Bits<Sym>; 4], key: [Bits<Sym>; 4]) -> [Bits<Sym>; 4] {
    sum(aes_linear::mix_column(x), key)
}

/// The key, and InvMixColumns.
fn mix_backwards(x: [Bits<Sym>; 4], key: [Bits<Sym>; 4]) -> [Bits<Sym>; 4] {
    aes_linear::inv_mix_column(sum(x, key))
}

fn sum(a: [Bits<Sym>; 4], b: [Bits<Sym>; 4]) -> [Bits<Sym>; 4] {
    each!(row < 4 => aes_linear::add(a[row], b[row]))
}

fn add_key(text: &mut Text) {
    keyed_column(text, "add_key", sum);
}

/// The state whose column c is `function` of four bytes, row r from the column `c + step·r`, each through `sub_byte`,
/// and of its words of the round key at `k`.
fn round(text: &Text, function: &str, sub_byte: &str, step: usize) -> String {
    let column = |column: usize| {
        let bytes =
            (0..4).map(|row| format!("{sub_byte}(s.{}.{})", COLUMNS[(column + step * row) % 4], ROWS[row]));
        format!("\n        {function}({}, k + {}u)", text.made("Column", bytes), 32 * column)
    };
    text.made("State", (0..4).map(column))
}

/// A state of which each column has the words of a round key at `k` added.
fn keyed(text: &Text, state: &str) -> String {
    let column = |at: usize| format!("add_key({state}.{}, k + {}u)", COLUMNS[at], 32 * at);
    text.made("State", (0..4).map(column))
}

fn encrypt(text: &mut Text) {
    byte(text, "sub_byte", aes_sbox::forward);
    keyed_column(text, "mix_column_and_add", mix_forwards);
    let body = format!(
        "    var k = 0u;
    var s = {};
    for (var number = 1u; number < rounds; number = number + 1u) {{
        k = 128u * number;
        s = {};
    }}
    k = 128u * rounds;
    return {};
",
        keyed(text, "block"),
        round(text, "mix_column_and_add", "sub_byte", 1),
        round(text, "add_key", "sub_byte", 1)
    );
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
}

fn decrypt(text: &mut Text) {
    byte(text, "inverse_sub_byte", aes_sbox::inverse);
    keyed_column(text, "add_and_inverse_mix_column", mix_backwards);
    let body = format!(
        "    var k = 128u * rounds;
    var s = {};
    for (var number = rounds - 1u; number > 0u; number = number - 1u) {{
        k = 128u * number;
        s = {};
    }}
    k = 0u;
    return {};
",
        keyed(text, "block"),
        round(text, "add_and_inverse_mix_column", "inverse_sub_byte", 3),
        round(text, "add_key", "inverse_sub_byte", 3)
    );
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
}

/// Columns of counters whose bits are those of `first`, or where `carry` is set those of `first ^ change`.
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

/// What a thread does.
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
    for (at, column) in COLUMNS.iter().enumerate() {
        body += &format!("    var y{at} = rows_of(s.{column});\n");
    }
    let word = |at: usize| match task {
        Task::Count => format!("y{at}.x[i] ^ given.{}", ["x", "y", "z", "w"][at]),
        _ => format!("y{at}.x[i]"),
    };
    let given = if task == Task::Count { "            let given = source[at];\n" } else { "" };
    body + &each_block(&format!(
        "{given}            goal[at] = {};\n",
        text.block([word(0), word(1), word(2), word(3)])
    ))
}

/// The loop over a thread's blocks that are there: `at` is the place of block `i`.
fn each_block(body: &str) -> String {
    format!(
        "    for (var i = 0u; i < 32u; i = i + 1u) {{
        let at = first + {SPAN_THREADS}u * i;
        if (at < job.blocks) {{
{body}        }}
    }}
"
    )
}

fn loaded(text: &Text) -> String {
    let mut body: String = (0..4).map(|at| format!("    var x{at}: Rows;\n")).collect();
    let words = ["x", "y", "z", "w"].iter().enumerate();
    let words: String = words.map(|(at, part)| format!("            x{at}.x[i] = given.{part};\n")).collect();
    body += &each_block(&format!("            let given = source[at];\n{words}"));
    let columns = (0..4).map(|at| format!("column_of(x{at})"));
    body + &format!("    let state = {};\n", text.made("State", columns))
}

fn counted(text: &Text, task: Task) -> String {
    // The lowest word first, as a little-endian counter has them.
    let high = [1, 2, 3].map(|at| format!("counter_column(b{at}, b{at} ^ n{at}, carry)"));
    let mut columns = [&["column_of(low)".to_owned()], &high[..]].concat();
    let mut low = "v";
    if task == Task::Count {
        columns.reverse();
        low = "swap_bytes(v)";
    }
    format!(
        "{COUNTER}    let n1 = b1 + 1u;
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
        text.made("State", columns)
    )
}
