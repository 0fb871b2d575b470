//! Serpent search on four words, one key per thread, in either direction. The schedule and cipher of
//! `cipher::serpent::search` form one circuit without loops, which needs few registers at a time. All known
//! bits are compared.

use std::array;

use crate::arch::each;
use crate::block::Direction;
use crate::cipher::serpent::schedule::KeyLanes;
use crate::cipher::serpent::search::{decrypt, encrypt, start};
use crate::circuit::emit::{Field, Language, Signature, function};
use crate::circuit::trace::{Sym, Width, trace};
use crate::device::search::{GROUP_THREADS, Programs, Search, words as words_of};
use crate::device::text::{PARTS, key_word, words};
use crate::kernel::search::TableReuse;

/// Serpent's programs.
pub(crate) static PROGRAMS: Programs = Programs {
    columns: 0,
    lanes: 1,
    start_columns: |_| 8,
    compared: |_| (0..16).collect(),
    thread_bytes: |_, _| 0,
    text: |search, language, _| text(search, language),
    start: |search, _, key, to| start(search.direction, key, TableReuse::Often, to),
    constants: |_, known| words_of(&[known.input, known.output, known.mask]).to_vec(),
    end: |_, _| 0,
};

/// The schedule of one key per thread, on symbols.
impl KeyLanes for Sym {
    type Isa = ();

    fn constant((): (), word: u32) -> Self {
        Self::constant(word)
    }
}

/// The program's text.
fn text(search: Search, language: Language) -> String {
    let mut text = search.headed(language);
    text.structure("Key", &[("x", Field::Words(8))]);
    text.structure("Word", &[("x", Field::Words(1))]);
    // The input, the output, and the mask of known output bits.
    let known = (0..12).map(key_word).collect();
    let signature = Signature {
        parameters: &[("k", "Key")],
        inputs: [words("k", 8), known].concat(),
        result: "Word",
        outputs: words("", 1),
    };
    let graph = trace(Width::Three, |x: [Sym; 20]| {
        [difference(search.direction, each!(i < 8 => x[i]), each!(i < 12 => x[8 + i]))]
    });
    text.push(&function(&graph, "difference", &signature, language));
    let sum = |at: usize| {
        let part = PARTS[at % 4];
        format!("i{half}.{part} ^ o{half}.{part}", half = at / 4)
    };
    let body = format!(
        "    let i0 = source[at];
    let i1 = source[at + job.bundles];
    let differing = difference({});
    let hits = u32(differing.x[0] == 0u);
",
        text.of_words::<8>("Key", array::from_fn(sum))
    );
    search.ended(text, GROUP_THREADS, &body)
}

/// Nonzero if the result from this start differs from the known output in a known bit.
fn difference(direction: Direction, start: [Sym; 8], known: [Sym; 12]) -> Sym {
    let input = each!(i < 4 => known[i]);
    let result = match direction {
        Direction::Encrypt => encrypt((), input, start),
        Direction::Decrypt => decrypt((), input, start),
    };
    let differing: [Sym; 4] = each!(i < 4 => (result[i] ^ known[4 + i]) & known[8 + i]);
    let mut same = !differing[0];
    for &word in &differing[1..] {
        same = same & !word;
    }
    !same
}
