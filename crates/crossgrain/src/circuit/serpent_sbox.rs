//! Serpent's eight S-boxes and their inverses, as sums of products of their inputs.
//!
//! Word i of the input is bit i of it, word 0 least significant.
//! Source: appendix A of the submission, in algebraic normal form.
//! Holds: equal to the tables on all 16 inputs in every lane (`tests/laws.rs`).

use crate::word::Word;

/// The outputs as sums: bit m of an output's number says whether it has the product of the inputs in m.
type Sums = [u16; 4];

const FORWARD: [Sums; 8] = [
    [0x61fb, 0x64e3, 0x45ac, 0x0316],
    [0x7247, 0x6d3b, 0x011d, 0x6b25],
    [0x0134, 0x3ad6, 0x3d46, 0x0497],
    [0x7346, 0x3a26, 0x0d9a, 0x31be],
    [0x071d, 0x7562, 0x5cda, 0x0e56],
    [0x071d, 0x1d1b, 0x7925, 0x2397],
    [0x49f7, 0x0215, 0x5cdb, 0x51bc],
    [0x7619, 0x2b7c, 0x4f96, 0x02b6],
];

const INVERSE: [Sums; 8] = [
    [0x7e59, 0x6436, 0x011f, 0x7943],
    [0x648f, 0x6794, 0x21e7, 0x0512],
    [0x0456, 0x3a1c, 0x2f1b, 0x21c9],
    [0x4752, 0x63d4, 0x3e68, 0x1ab6],
    [0x3b17, 0x2338, 0x0dbf, 0x1a1c],
    [0x0942, 0x0be6, 0x2c1a, 0x029d],
    [0x49eb, 0x0135, 0x5c47, 0x5bdd],
    [0x5c47, 0x6753, 0x3924, 0x0e98],
];

/// S-box `index`.
#[inline(always)]
pub fn forward<W: Word>(index: usize, x: [W; 4]) -> [W; 4] {
    evaluate(&FORWARD[index], x)
}

/// The inverse of S-box `index`.
#[inline(always)]
pub fn inverse<W: Word>(index: usize, x: [W; 4]) -> [W; 4] {
    evaluate(&INVERSE[index], x)
}

#[inline(always)]
fn evaluate<W: Word>(sums: &Sums, [a, b, c, d]: [W; 4]) -> [W; 4] {
    let (ab, ac, bc, cd) = (a & b, a & c, b & c, c & d);
    let products = [a, b, ab, c, ac, bc, ab & c, d, a & d, b & d, ab & d, cd, a & cd, b & cd, ab & cd];
    let zero = a ^ a;
    let mut outputs = [zero; 4];
    for (output, sum) in outputs.iter_mut().zip(sums) {
        if sum & 1 == 1 {
            *output = !zero;
        }
        for (i, product) in products.into_iter().enumerate() {
            if sum >> (i + 1) & 1 == 1 {
                *output = *output ^ product;
            }
        }
    }
    outputs
}
