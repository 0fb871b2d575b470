//! Serpent on its own four words, a block a thread: no transposition, and few registers.

use super::text::{Text, key_words, mapped, words};
use super::{Kernel, Task};
use crate::circuit::emit::{Field, Language, Signature};
use crate::circuit::graph::Graph;
use crate::circuit::serpent_sbox;
use crate::circuit::trace::Sym;
use crate::part::serpent::vsliced;
use crate::word::each;

/// The program's text.
pub(super) fn text(kernel: Kernel, language: Language) -> String {
    let mut text = Text::new(kernel, language);
    text.structure("State", &[("x", Field::Words(4))]);
    let signature = Signature {
        parameters: &[("x", "State"), ("k", "u32")],
        inputs: [words("x", 4), key_words("k", 4)].concat(),
        result: "State",
        outputs: words("", 4),
    };
    text.circuit("mix_key", &signature, |x: [Sym; 8]| -> [Sym; 4] { each!(i < 4 => x[i] ^ x[4 + i]) });
    if kernel.task == Task::Decrypt {
        decrypt(&mut text);
    } else {
        encrypt(&mut text);
    }
    if kernel.task == Task::Count {
        text.swap_bytes();
    }
    let body = body(&text, kernel.task);
    text.entry(kernel, &body)
}

/// A circuit on the four words.
fn on_words(text: &mut Text, name: &str, circuit: impl FnOnce([Sym; 4]) -> [Sym; 4]) {
    let [inputs, outputs] = ["x", ""].map(|name| words(name, 4));
    text.circuit(
        name,
        &Signature { parameters: &[("x", "State")], inputs, result: "State", outputs },
        circuit,
    );
}

/// Gates for a block.
pub(super) fn gates(task: Task) -> f64 {
    let count = |graph: Graph| graph.gates().len();
    let (sub, transform): (usize, _) = if task == Task::Decrypt {
        let boxes = (0..8).map(|index| count(mapped(|x| serpent_sbox::inverse(index, x))));
        (boxes.sum(), count(mapped(vsliced::inv_transform)))
    } else {
        let boxes = (0..8).map(|index| count(mapped(|x| serpent_sbox::forward(index, x))));
        (boxes.sum(), count(mapped(vsliced::transform)))
    };
    // Eight S-boxes four times, 31 transformations, and 33 keys.
    (4 * sub + 31 * transform + 33 * 4) as f64
}

/// Encryption by keys that are mixed in before the linear transformation.
fn encrypt(text: &mut Text) {
    on_words(text, "transform", vsliced::transform);
    let mut rounds = String::new();
    for index in 0..8 {
        on_words(text, &format!("s{index}"), |x| serpent_sbox::forward(index, x));
        let keyed = format!("mix_key(s{index}(s), k + {}u)", 4 * (index + 1));
        rounds += &match index {
            7 => format!("        s = {keyed};\n"),
            _ => format!("        s = transform({keyed});\n"),
        };
    }
    let body = format!(
        "    var s = mix_key(block, 0u);
    for (var first = 0u; first < rounds; first = first + 8u) {{
        let k = 4u * first;
{rounds}        if (first + 8u < rounds) {{
            s = transform(s);
        }}
    }}
    return s;
"
    );
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
}

fn decrypt(text: &mut Text) {
    on_words(text, "inverse_transform", vsliced::inv_transform);
    let mut rounds = String::new();
    for index in (0..8).rev() {
        on_words(text, &format!("inverse_s{index}"), |x| serpent_sbox::inverse(index, x));
        let before = if index == 7 { "s" } else { "inverse_transform(s)" };
        rounds += &format!("        s = mix_key(inverse_s{index}({before}), k + {}u);\n", 4 * index);
    }
    let body = format!(
        "    var s = mix_key(block, 4u * rounds);
    for (var after = rounds; after > 0u; after = after - 8u) {{
        if (after < rounds) {{
            s = inverse_transform(s);
        }}
        let k = 4u * (after - 8u);
{rounds}    }}
    return s;
"
    );
    text.function("cipher", &[("block", "State"), ("rounds", "u32")], "State", &body);
}

/// What a thread does.
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
