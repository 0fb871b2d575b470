//! The bit-sliced start of a thread's 32 keys, one word per bit: the columns of a table XOR those of an outer
//! key.

use std::ops::Range;

use zeroize::Zeroizing;

use crate::arch::Portable;
use crate::block::{BLOCK_BYTES, Block};
use crate::cipher::aes::search::LaneByte;
use crate::circuit::Bits;
use crate::circuit::emit::Language;
use crate::device::bits::column_words;
use crate::device::text::{PARTS, Text};
use crate::kernel::search::START_BLOCKS;

/// The bit-sliced start of at most 32 keys, one word per bit. Only the first `columns` columns are kept.
pub(crate) fn sliced(starts: &[[Block; START_BLOCKS]], columns: usize) -> Zeroizing<Vec<u32>> {
    let mut words = Zeroizing::new(Vec::with_capacity(128 * START_BLOCKS));
    for part in 0..columns.div_ceil(4) {
        let mut blocks = Zeroizing::new([[0; BLOCK_BYTES]; 32]);
        for (block, start) in blocks.iter_mut().zip(starts) {
            *block = start[part];
        }
        words.extend(<Bits<u32> as LaneByte>::load(Portable, blocks.as_flattened()).as_flattened());
    }
    words.truncate(32 * columns);
    words
}

/// Adds `start_column`, which loads a column of the start of 32 keys. It XORs eight vectors of the table and
/// a word of the outer key, spread over all lanes.
pub(crate) fn start_column(text: &mut Text) {
    let vector = if text.language == Language::Cuda { "uint4" } else { "vec4<u32>" };
    let names: Vec<_> = (0..8).map(|at| format!("v{at}")).collect();
    let mut parameters: Vec<_> = names.iter().map(|name| (&name[..], vector)).collect();
    parameters.push(("outer", "u32"));
    let mut body = "    var y: Column;\n".to_owned();
    for (at, word) in column_words("y").into_iter().enumerate() {
        let part = PARTS[at % 4];
        body += &format!("    {word} = {}.{part} ^ spread(outer, {at}u);\n", names[at / 4]);
    }
    text.function("start_column", &parameters, "Column", &(body + "    return y;\n"));
}

/// The lines that load columns of a thread's start, as `from0` and so on.
pub(crate) fn loaded(columns: Range<usize>) -> String {
    let column = |at: usize| {
        let vectors = (8 * at..8 * at + 8).map(|vector| format!("source[at + {vector}u * job.bundles]"));
        let outer = format!("o{}.{}", at / 4, PARTS[at % 4]);
        format!("start_column({}, {outer})", vectors.collect::<Vec<_>>().join(", "))
    };
    columns.map(|at| format!("    let from{at} = {};\n", column(at))).collect()
}
