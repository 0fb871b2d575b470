//! Published sizes of hardware, for comparison.
//!
//! They count gate equivalents, the area of a NAND gate, in some technology. A gate here is any function of two
//! bits, so an XOR counts as one and not as two or more, and a register is not an equivalent of gates. Compare
//! orders of magnitude only.

use crate::block::Cipher;

/// A published figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The name of the cipher.
    pub cipher: &'static str,
    /// Gate equivalents.
    pub gates: usize,
    /// The functions in the design.
    pub contains: &'static str,
    /// The publication.
    pub source: &'static str,
}

/// The figures that are known. None was found for Serpent and Kuznyechik.
const ALL: [Figure; 5] = [
    Figure {
        cipher: "aes-128",
        gates: 2400,
        contains: "encryption, one S-box, 226 cycles a block",
        source: "Moradi, Poschmann, Ling, Paar and Wang, EUROCRYPT 2011",
    },
    Figure {
        cipher: "aes-128",
        gates: 10_799,
        contains: "both directions and CBC",
        source: "Mangard, Aigner and Dominikus, IEEE Transactions on Computers 52, 2003",
    },
    Figure {
        cipher: "sm4",
        gates: 7612,
        contains: "S-boxes in a composite field, 0.13 µm",
        source: "Liang, Wu and Zhang, Microelectronics and Computer 32, 2015",
    },
    Figure {
        cipher: "camellia-128",
        gates: 11_000,
        contains: "both directions, about",
        source: "Aoki, Ichikawa, Kanda, Matsui, Moriai, Nakajima and Tokita, SAC 2000",
    },
    Figure {
        cipher: "aria-128",
        gates: 19_056,
        contains: "both ARIA and AES, 0.25 µm",
        source: "Koo, Ryu, Chang and Lee, ETRI Journal 29, 2007",
    },
];

/// The published figures of a cipher.
pub fn figures(cipher: Cipher) -> impl Iterator<Item = Figure> {
    ALL.into_iter().filter(move |figure| figure.cipher == cipher.name())
}
