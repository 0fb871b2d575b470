//! Bit-sliced AES on counters, 256 per thread, which differ only in their second lowest byte.
//!
//! The other fifteen bytes contribute the same to rounds 1 and 2 of all 256 counters. Their contribution is
//! five words, each bit of which is one bit of all 32 lanes. It is computed once, by the rounds themselves,
//! with zero as the moving byte. The S-box constant is in the round keys, so the S-box maps zero to zero. A
//! zero byte adds nothing to its column. Then follow eight runs of 32 blocks. In each run rounds 1 and 2 need
//! five S-boxes instead of 32.
//!
//! The counters of 256 neighbouring threads begin at a multiple of 65,536. Neighbours differ in the lowest
//! byte, so they write neighbouring blocks. These threads form a group that executes round by round in
//! lockstep. The program is longer than the instruction cache next to a scheduler, and threads at different
//! rounds would fetch it by turns.
//!
//! Source: as `cipher::aes::cached_counter`.

use super::{forward_parts, keyed, last_round, middle_round, part_gates};
use crate::arch::each;
use crate::cipher::aes::linear_circuit::mix_column;
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::trace::Sym;
use crate::device::bits::{self, COLUMNS, ROWS, column_words};
use crate::device::text::{Text, counter_from, counter_words, key_word, mapped, words};
use crate::device::{Kernel, Task};

/// The number of blocks per thread.
pub(crate) const THREAD_BLOCKS: u32 = 256;

/// The number of neighbouring threads with interleaved blocks: one per value of a byte.
pub(crate) const SPAN_THREADS: u32 = 256;

/// The number of their blocks.
pub(crate) const SPAN_BLOCKS: u32 = SPAN_THREADS * THREAD_BLOCKS;

/// The counter byte that changes within a thread; 0 is the lowest.
const MOVING: usize = 1;

/// The number of runs of 32 blocks.
const RUNS: u32 = THREAD_BLOCKS / 32;

/// The lane numbers' bits: the lowest five bits of the moving byte.
const LANES: [u32; 5] = [0xaaaa_aaaa, 0xcccc_cccc, 0xf0f0_f0f0, 0xff00_ff00, 0xffff_0000];

/// The position of a counter byte that changes while the others are constant.
#[derive(Clone, Copy)]
pub(super) struct Moving {
    pub(super) row: usize,
    pub(super) column: usize,
}

impl Moving {
    /// Byte `number` of the counter; 0 is the lowest.
    pub(crate) const fn of_counter(task: Task, number: usize) -> Self {
        match task {
            Task::Count => Self { row: 3 - number, column: 3 },
            _ => Self { row: number, column: 0 },
        }
    }

    /// The column that depends on this byte after round 1.
    pub(crate) const fn comes_to(self) -> usize {
        (self.column + 4 - self.row) % 4
    }

    /// The row of that column that column `at` takes in round 2.
    pub(crate) const fn goes_by(self, at: usize) -> usize {
        (self.comes_to() + 4 - at) % 4
    }
}

/// The program's text.
pub(super) fn text(kernel: Kernel, language: Language) -> String {
    let mut text = Text::new(kernel, language);
    bits::structures(&mut text);
    text.structure("Word", &[("x", Field::Words(1))]);
    text.structure("Kept", &[("x", Field::Words(5))]);
    forward_parts(&mut text);
    columns(&mut text);
    let moving = Moving::of_counter(kernel.task, MOVING);
    from_round2(&mut text, moving);
    bits::rows_of(&mut text);
    let body = body(&text, kernel.task, moving);
    text.entry(kernel, kernel.group_threads(language), &body)
}

/// The number of gates per block.
pub(super) fn gates(rounds: f64) -> f64 {
    let task = Task::Generate;
    let [sub_byte, column] = part_gates(task);
    let one = |row| mapped(|x| mixed(row, x)).gates().len() as f64;
    // Spreading a bit to 32 lanes and adding it takes a shift, a mask and a sum; two of these merge into one
    // gate.
    let begin = 5.0 * sub_byte
        + one(Moving::of_counter(task, MOVING).row)
        + (0..4).map(one).sum::<f64>()
        + 2.0 * 160.0;
    let rest = 16.0 * (rounds - 2.0) * sub_byte + 4.0 * (rounds - 3.0) * column + 128.0;
    let once = 32.0 * sub_byte + 8.0 * column + 128.0 + 160.0;
    (begin + rest + 4.0 * bits::transposition_gates() + once / f64::from(RUNS)) / 32.0
}

/// MixColumns of a column with one byte, in row `row`; the other rows are 0.
fn mixed(row: usize, x: [Sym; 8]) -> [Sym; 32] {
    let none = [Sym::constant(0); 8];
    let column = mix_column(each!(at < 4 => if at == row { x } else { none }));
    each!(at < 32 => column[at / 8][at % 8])
}

/// Adds `packed`: one bit of each word of a column, as one word. Adds `spread_on`, which XORs such bits to
/// the words of a column, and `from_row0` to `from_row3`.
fn columns(text: &mut Text) {
    let [x, all] = ["x", ""].map(column_words);
    let signature =
        Signature { parameters: &[("x", "Column")], inputs: x, result: "Word", outputs: words("", 1) };
    text.circuit("packed", &signature, |x: [Sym; 32]| {
        let mut packed = x[0] & Sym::constant(1);
        for (bit, word) in x.into_iter().enumerate().skip(1) {
            packed = packed ^ (word & Sym::constant(1 << bit));
        }
        [packed]
    });
    for row in 0..4 {
        let (inputs, outputs) = (words("x", 8), all.clone());
        let signature = Signature { parameters: &[("x", "Byte")], inputs, result: "Column", outputs };
        text.circuit(&format!("from_row{row}"), &signature, |x: [Sym; 8]| mixed(row, x));
    }
    text.spread();
    let sum = |(bit, (y, x)): (usize, (&String, &String))| format!("    {y} = {x} ^ spread(v, {bit}u);\n");
    let sums: String = column_words("y").iter().zip(&column_words("x")).enumerate().map(sum).collect();
    let body = format!("    var y: Column;\n{sums}    return y;\n");
    text.function("spread_on", &[("x", "Column"), ("v", "u32")], "Column", &body);
}

/// Adds `from_round2`: the state of a run after round 2.
fn from_round2(text: &mut Text, moving: Moving) {
    let Moving { row, column } = moving;
    let key = |bit: usize| key_word(32 * column + 8 * row + bit);
    let lanes = LANES.iter().map(|lanes| format!("{lanes:#x}u"));
    let runs = (0..3).map(|bit| format!("spread(run, {bit}u)"));
    let bits = lanes.chain(runs).enumerate();
    let byte: String = bits.map(|(bit, word)| format!("    b.x[{bit}] = {word} ^ {};\n", key(bit))).collect();
    let next = |at: usize| {
        let row = moving.goes_by(at);
        format!("\n        spread_on(from_row{row}(sub_byte(x.{})), kept.x[{at}])", ROWS[row])
    };
    let body = format!(
        "    var b: Byte;
{byte}    let x = spread_on(from_row{row}(sub_byte(b)), kept.x[4]);
    return {};
",
        text.made("State", (0..4).map(next))
    );
    text.function("from_round2", &[("kept", "Kept"), ("run", "u32")], "State", &body);
}

/// The body of a thread: run 0 computes the shared part up to round 2; each further run continues from there.
fn body(text: &Text, task: Task, moving: Moving) -> String {
    let comes_to = COLUMNS[moving.comes_to()];
    let block = text.made("State", counter_words(task).map(|word| format!("spread_on(no_column, {word})")));
    let packed = |at: usize| format!("            kept.x[{at}] = packed(s.{}).x[0];\n", COLUMNS[at]);
    let packed: String = (0..4).map(packed).collect();
    let stored = bits::stored(text, task, &format!("first - low + {SPAN_THREADS}u * (32u * (run - 1u) + i)"));
    let stored: String = stored.lines().map(|line| format!("        {line}\n")).collect();
    format!(
        "    let low = job.c0 & {}u;
    let first = {SPAN_BLOCKS}u * (thread / {SPAN_THREADS}u) + thread % {SPAN_THREADS}u;
    if (first >= job.blocks + low) {{
        return;
    }}
{}    var kept: Kept;
    var no_byte: Byte;
    var no_column: Column;
    for (var run = 0u; run <= {RUNS}u; run = run + 1u) {{
        var s: State;
        var start = 3u;
        var end = job.rounds;
        if (run == 0u) {{
            start = 1u;
            end = 3u;
            let k = 0u;
            let block = {block};
            s = {};
            s.{}.{} = no_byte;
        }} else {{
            s = from_round2(kept, run - 1u);
        }}
        for (var number = start; number < end; number = number + 1u) {{
            if (number == 2u) {{
                kept.x[4] = packed(s.{comes_to}).x[0];
                s.{comes_to} = no_column;
            }}
            lockstep();
            let k = 32u * number;
            s = {};
        }}
        if (run == 0u) {{
{packed}        }} else {{
            let k = 32u * job.rounds;
            s = {};
{stored}        }}
    }}
",
        SPAN_BLOCKS - 1,
        counter_from("(job.c0 - low)"),
        keyed(text, "block"),
        COLUMNS[moving.column],
        ROWS[moving.row],
        middle_round(text),
        last_round(text)
    )
}
