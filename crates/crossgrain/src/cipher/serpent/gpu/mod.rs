//! Serpent on its four words or bit-sliced.
//!
//! On words, each thread computes one block, without transposition and with few registers. Bit-sliced
//! (`bits`), a thread computes 32 blocks. Rotations become renaming and a round needs fewer gates per block,
//! but it uses as many registers as a thread may have. For encryption the round keys are transformed, so that
//! they are added before the linear transformation. In both directions a key addition then follows an S-box
//! directly and merges with its last gates. In CUDA C the threads of a bit-sliced group share a copy of the
//! keys, because the constant cache is too small for them.

mod record;
#[cfg(feature = "search")]
pub(crate) mod search;

use std::ops::BitXor;

use zeroize::Zeroizing;

use super::description::{self, Moves};
use super::key::RoundKeys;
use super::sbox_circuit;
use crate::arch::each;
use crate::block::Key;
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::trace::Sym;
use crate::device::bits::{self, COLUMNS, SHARED, column_words};
use crate::device::text::{Text, key_words, mapped, words, words_of_fours};
use crate::device::{Form, KEY_FOURS_MAX, KEY_WORDS_MAX, Kernel, Programs, Task, Work};

/// Serpent's programs.
pub(crate) static PROGRAMS: Programs = Programs {
    gates: Form::Words,
    others: &[
        (Task::Encrypt, Form::Bits, "serpent-encrypt-bitsliced"),
        (Task::Decrypt, Form::Bits, "serpent-decrypt-bitsliced"),
        (Task::Generate, Form::Bits, "serpent-random-bitsliced"),
    ],
    cuda_bits_group_threads: [384, 256, 384, 384],
    // A copy of the round keys. WebGPU guarantees less shared memory.
    cuda_bits_shared_bytes: 4 * KEY_WORDS_MAX,
    text,
    work: |kernel, _| Work { gates: gates(kernel), look_ups: 0.0 },
    keys,
    recorded: record::recorded,
};

/// The words of the round keys, or one word of 32 equal bits per key bit. For encryption they are the keys
/// added before the linear transformation.
fn keys(kernel: Kernel, key: &Key) -> Zeroizing<Vec<u32>> {
    let keys = RoundKeys::expand(key);
    let keys = if kernel.task == Task::Decrypt { keys } else { keys.before_transform() };
    let words = keys.words().as_flattened();
    if kernel.form == Form::Words {
        return kernel.in_order::<4>(Zeroizing::new(words.to_vec()));
    }
    let mut bits = Zeroizing::new(Vec::with_capacity(KEY_WORDS_MAX));
    let spread = |word: u32| (0..32).map(move |bit| 0_u32.wrapping_sub(word >> bit & 1));
    bits.extend(words.iter().copied().flat_map(spread));
    kernel.in_order::<128>(bits)
}

/// The program's text.
fn text(kernel: Kernel, language: Language, group_threads: u32) -> String {
    let mut text = Text::new(kernel, language);
    if kernel.form == Form::Bits {
        bits::structures(&mut text);
        text.structure("Nibble", &[("x", Field::Words(4))]);
        if kernel.shared_bytes(language) > 0 {
            text.push(&format!("__shared__ uint4 {SHARED}[{KEY_FOURS_MAX}];\n\n"));
        }
        cipher::<OnBits>(&mut text, kernel.task);
        return bits::entry(text, kernel, group_threads);
    }
    text.structure("State", &[("x", Field::Words(4))]);
    cipher::<OnWords>(&mut text, kernel.task);
    if kernel.task == Task::Count {
        text.swap_bytes();
    }
    let body = body(&text, kernel.task);
    text.entry(kernel, group_threads, &body)
}

/// The number of gates per block.
fn gates(kernel: Kernel) -> f64 {
    let count = |index| mapped(|x| keyed(kernel.task, index, x)).gates().len();
    let boxes: usize = (0..8).map(count).sum();
    // Eight S-boxes four times, 31 linear transformations, and the first key addition, which follows no
    // S-box.
    let cipher = |transform: usize, units: usize| (units * (4 * boxes + 4) + 31 * transform) as f64;
    match kernel.form {
        Form::Bits => {
            let transform = mapped(|x| on_bits(kernel.task, x)).gates().len();
            bits::gates(kernel.task, cipher(transform, 32))
        }
        _ => cipher(mapped(|x| transform(kernel.task, x)).gates().len(), 1),
    }
}

/// S-box `index` or its inverse, then the addition of a key's words.
fn keyed(task: Task, index: usize, x: [Sym; 8]) -> [Sym; 4] {
    let state = each!(i < 4 => x[i]);
    let state = match task {
        Task::Decrypt => sbox_circuit::inverse(index, state),
        _ => sbox_circuit::forward(index, state),
    };
    each!(i < 4 => state[i] ^ x[4 + i])
}

fn transform<W: Moves>(task: Task, x: [W; 4]) -> [W; 4] {
    match task {
        Task::Decrypt => description::inv_transform(x),
        _ => description::transform(x),
    }
}

/// The linear transformation of four words, given by their bits.
pub(crate) fn on_bits(task: Task, x: [Sym; 128]) -> [Sym; 128] {
    let words = each!(word < 4 => Across(each!(bit < 32 => x[32 * word + bit])));
    let words = transform(task, words);
    each!(at < 128 => words[at / 32].0[at % 32])
}

/// The bits of a word. Rotations and shifts only rename them.
#[derive(Clone, Copy)]
struct Across([Sym; 32]);

impl BitXor for Across {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self(each!(bit < 32 => self.0[bit] ^ other.0[bit]))
    }
}

impl Moves for Across {
    fn rotated<const COUNT: u32>(self) -> Self {
        Self(each!(bit < 32 => self.0[(bit + 32 - COUNT as usize) % 32]))
    }

    fn shifted<const COUNT: u32>(self) -> Self {
        Self(
            each!(bit < 32 => if bit < COUNT as usize { Sym::constant(0) } else { self.0[bit - COUNT as usize] }),
        )
    }
}

/// The representation in which the cipher's steps are written.
trait Shape {
    /// The number of four-word vectors per round key.
    const KEY_FOURS: usize;

    /// Adds a function from a state `s` and the vector index `k` of a key to a state.
    fn with_key(text: &mut Text, name: &str, circuit: impl FnOnce([Sym; 8]) -> [Sym; 4]);

    /// Adds `transform`, from a state to a state.
    fn transform(text: &mut Text, task: Task);
}

/// The four words of one block.
struct OnWords;

impl Shape for OnWords {
    const KEY_FOURS: usize = 1;

    fn with_key(text: &mut Text, name: &str, circuit: impl FnOnce([Sym; 8]) -> [Sym; 4]) {
        let inputs = [words("s", 4), key_words(4)].concat();
        let parameters = [("s", "State"), ("k", "u32")];
        let signature = Signature { parameters: &parameters, inputs, result: "State", outputs: words("", 4) };
        text.circuit(name, &signature, circuit);
    }

    fn transform(text: &mut Text, task: Task) {
        let [inputs, outputs] = ["s", ""].map(|name| words(name, 4));
        let signature = Signature { parameters: &[("s", "State")], inputs, result: "State", outputs };
        text.circuit("transform", &signature, |x: [Sym; 4]| transform(task, x));
    }
}

/// The bits of 32 blocks.
struct OnBits;

impl Shape for OnBits {
    const KEY_FOURS: usize = 32;

    fn with_key(text: &mut Text, name: &str, circuit: impl FnOnce([Sym; 8]) -> [Sym; 4]) {
        let one = format!("{name}_bit");
        // Four state bits, then four key bits.
        let given = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let signature = Signature {
            parameters: &given.map(|name| (name, "u32")),
            inputs: given.map(str::to_owned).to_vec(),
            result: "Nibble",
            outputs: words("", 4),
        };
        text.circuit(&one, &signature, circuit);
        let [from, to] = ["s", "y"].map(state_words);
        let array = if text.language == Language::Cuda { SHARED } else { "keys" };
        let keyed = [from, words_of_fours(array, 128)].concat();
        let mut body = "    var y: State;\n".to_owned();
        for bit in 0..32 {
            let bits: [_; 8] = each!(word < 8 => keyed[32 * word + bit].as_str());
            body += &format!("    let n{bit} = {one}({});\n", bits.join(", "));
            for word in 0..4 {
                body += &format!("    {} = n{bit}.x[{word}];\n", to[32 * word + bit]);
            }
        }
        body += "    return y;\n";
        text.function(name, &[("s", "State"), ("k", "u32")], "State", &body);
    }

    fn transform(text: &mut Text, task: Task) {
        let [inputs, outputs] = ["s", ""].map(state_words);
        let signature = Signature { parameters: &[("s", "State")], inputs, result: "State", outputs };
        text.circuit("transform", &signature, |x: [Sym; 128]| on_bits(task, x));
    }
}

/// The words of a state, column by column.
fn state_words(name: &str) -> Vec<String> {
    COLUMNS.iter().flat_map(|column| column_words(&format!("{name}.{column}"))).collect()
}

/// The cipher: eight rounds, one per S-box, four times.
fn cipher<S: Shape>(text: &mut Text, task: Task) {
    S::with_key(text, "mix_key", |x: [Sym; 8]| each!(i < 4 => x[i] ^ x[4 + i]));
    S::transform(text, task);
    for index in 0..8 {
        S::with_key(text, &format!("s{index}"), |x| keyed(task, index, x));
    }
    let body = if task == Task::Decrypt { decrypt::<S>() } else { encrypt::<S>() };
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
}

fn encrypt<S: Shape>() -> String {
    let stride = S::KEY_FOURS;
    let round = |index: usize| {
        let keyed = format!("s{index}(s, k + {}u)", stride * (index + 1));
        if index == 7 {
            format!("        s = {keyed};\n")
        } else {
            format!("        s = transform({keyed});\n")
        }
    };
    let rounds: String = (0..8).map(round).collect();
    format!(
        "    var s = mix_key(block, 0u);
    for (var first = 0u; first < rounds; first = first + 8u) {{
        let k = {stride}u * first;
{rounds}        if (first + 8u < rounds) {{
            s = transform(s);
        }}
    }}
    return s;
"
    )
}

fn decrypt<S: Shape>() -> String {
    let stride = S::KEY_FOURS;
    let round = |index: usize| {
        let before = if index == 7 { "s" } else { "transform(s)" };
        format!("        s = s{index}({before}, k + {}u);\n", stride * (8 - index))
    };
    let rounds: String = (0..8).rev().map(round).collect();
    format!(
        "    var s = mix_key(block, 0u);
    for (var first = 0u; first < rounds; first = first + 8u) {{
        if (first > 0u) {{
            s = transform(s);
        }}
        let k = {stride}u * first;
{rounds}    }}
    return s;
"
    )
}

/// The body of a thread.
fn body(text: &Text, task: Task) -> String {
    let block = text.one_block(task, |words| {
        format!("    let s = cipher({}, job.rounds);\n", text.of_words("State", words))
    });
    format!(
        "    let first = thread;
    if (first >= job.blocks) {{
        return;
    }}
{block}"
    )
}
