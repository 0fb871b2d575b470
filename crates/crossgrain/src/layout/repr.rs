//! Representations: the shapes of bundles, and index maps that give the position of each bit. Conversions are
//! elsewhere.
//!
//! Pictures of the layouts are in docs/layouts.md.

use std::fmt;

/// The layout of a bundle's blocks in a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repr {
    /// Sixteen bytes per block, block after block, as in a file.
    Blocks,
    /// 16 words of `bits` bits: word i holds byte i of `bits` / 8 blocks, one block per byte lane.
    Bytesliced {
        /// Bits in a word.
        bits: usize,
    },
    /// 8 words of `bits` bits: word j holds bit j of every byte of `bits` / 16 blocks. A byte lane is the
    /// position of a byte in the state; its eight bits belong to eight blocks (Käsper and Schwabe, CHES
    /// 2009).
    Hsliced {
        /// Bits in a word.
        bits: usize,
    },
    /// 4 words of `bits` bits: word i holds the 32-bit word i (bytes 4i to 4i + 3, little-endian) of `bits` /
    /// 32 blocks, one block per 32-bit lane.
    Vsliced {
        /// Bits in a word.
        bits: usize,
    },
    /// 128 words of `bits` lanes: word `8·byte + bit` holds that bit of every block, one block per lane.
    Bitsliced {
        /// Lanes in a word, and blocks in a bundle.
        bits: usize,
    },
}

impl Repr {
    /// Blocks in one bundle of this shape; `None` if a tile can hold any number.
    pub const fn bundle_blocks(self) -> Option<usize> {
        match self {
            Self::Blocks => None,
            Self::Bytesliced { bits } => Some(bits / 8),
            Self::Hsliced { bits } => Some(bits / 16),
            Self::Vsliced { bits } => Some(bits / 32),
            Self::Bitsliced { bits } => Some(bits),
        }
    }

    /// The position of bit `bit` (0 is the least significant) of byte `byte` of block `block` in a tile,
    /// after `phase` ShiftRows by renaming. The result is the index of a bit in the tile's bytes, least
    /// significant first.
    pub const fn place(self, block: usize, byte: usize, bit: usize, phase: usize) -> usize {
        match self {
            Self::Blocks => (16 * block + byte) * 8 + bit,
            Self::Bytesliced { bits } => {
                let parts = bits / 128;
                shifted(byte, phase) * bits + block % parts * 128 + block / parts * 8 + bit
            }
            Self::Hsliced { bits } => {
                let parts = bits / 128;
                bit * bits + block % parts * 128 + byte * 8 + block / parts
            }
            Self::Vsliced { bits } => byte / 4 * bits + word_lane(bits, block) + byte % 4 * 8 + bit,
            Self::Bitsliced { bits } => (8 * shifted(byte, phase) + bit) * bits + lane(bits, block),
        }
    }
}

impl fmt::Display for Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks => f.pad("blocks"),
            Self::Bytesliced { bits } => f.pad(&format!("bytesliced{bits}")),
            Self::Hsliced { bits } => f.pad(&format!("hsliced{bits}")),
            Self::Vsliced { bits } => f.pad(&format!("vsliced{bits}")),
            Self::Bitsliced { bits } => f.pad(&format!("bitsliced{bits}")),
        }
    }
}

/// The first bit of a block's 32-bit lane in a `vsliced` word of `bits` bits. Consecutive blocks are 128 bits
/// apart, as in [`lane`].
pub const fn word_lane(bits: usize, block: usize) -> usize {
    let parts = if bits > 128 { bits / 128 } else { 1 };
    block % parts * 128 + block / parts * 32
}

/// The lane of a block in a bit-sliced word of `bits` lanes.
///
/// A register of several 128-bit parts is loaded with one of several consecutive blocks in each part, and the
/// transposition works within the parts. Consecutive blocks are therefore 128 lanes apart.
pub const fn lane(bits: usize, block: usize) -> usize {
    let parts = if bits > 128 { bits / 128 } else { 1 };
    block % parts * (bits / parts) + block / parts
}

/// The block in lane `lane` of a word of `bits` bits that is divided into `lanes` lanes of equal size. For
/// one-bit lanes this is the inverse of [`lane`].
pub const fn block_of_lane(bits: usize, lanes: usize, lane: usize) -> usize {
    let parts = if bits > 128 { bits / 128 } else { 1 };
    let in_part = lanes / parts;
    lane % in_part * parts + lane / in_part
}

/// The position of state byte `byte` (4·column + row) after `phase` ShiftRows by renaming.
///
/// ShiftRows rotates row r by r columns. Instead of moving data, the tile counts the ShiftRows in `phase`.
/// Row r of column c is then found r·phase columns further on.
pub const fn shifted(byte: usize, phase: usize) -> usize {
    shifted_among(4, byte, phase)
}

/// Like [`shifted`], for a state of `columns` columns, as in Rijndael's wider blocks. With eight columns,
/// rows 2 and 3 rotate by three and four. After as many ShiftRows as there are columns, every byte is in its
/// first position again.
pub const fn shifted_among(columns: usize, byte: usize, phase: usize) -> usize {
    let (column, row) = (byte / 4, byte % 4);
    let offset = if columns == 8 { row + row / 2 } else { row };
    4 * ((column + offset * phase) % columns) + row
}
