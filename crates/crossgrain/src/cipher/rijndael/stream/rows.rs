//! The table of variants for wide blocks. All are whole ciphers, and none leaks anything.

use crate::arch::{AesLanes, Features, Isa, Register, for_each_register};
use crate::block::{Direction, Error};
use crate::cipher::rijndael::{WideBlocks, bitsliced, instructions};
use crate::layout::convert::{Interleave, Network, Transpose};
use crate::layout::repr::Repr;

/// A method for the whole cipher in one direction.
#[derive(Clone, Debug)]
pub struct Variant {
    /// `part/representation/isa`.
    pub name: String,
    /// The representation in which it works.
    pub repr: Repr,
    /// The name of its instruction set.
    pub isa: &'static str,
    /// The instructions that it needs.
    pub needs: Features,
    /// The number of blocks in a bundle.
    pub bundle_blocks: usize,
    /// The cost of a bundle, full or not, in nanoseconds. It is an estimate for blocks of 32 bytes on an AMD
    /// EPYC (Zen 4). The order of variants is the same on other CPUs and for blocks of 24 bytes.
    pub bundle_ns: f64,
}

impl Variant {
    /// The cost of this number of blocks, in nanoseconds.
    pub(super) fn cost_ns(&self, blocks: usize) -> f64 {
        blocks.div_ceil(self.bundle_blocks) as f64 * self.bundle_ns
    }

    /// The error for instructions that it needs but are missing here.
    pub(super) fn unavailable(&self, features: Features) -> Error {
        let missing = self.needs.without(features);
        let reason = format!("it needs {missing}, which this CPU lacks or the ISA cap forbids");
        Error::Unavailable { variant: self.name.clone(), reason }
    }
}

/// All variants for both block sizes, including those that this CPU lacks.
pub fn variants() -> Vec<Variant> {
    let narrow = Direction::ALL.into_iter().flat_map(rows::<24, 192>).map(|row| row.variant);
    let wide = Direction::ALL.into_iter().flat_map(rows::<32, 256>).map(|row| row.variant);
    narrow.chain(wide).collect()
}

/// Binds a variant to a key; `None` if its instructions are missing or not allowed.
type Bind<const BYTES: usize> = fn(Features, Direction, &[u8]) -> Option<Box<dyn WideBlocks<BYTES>>>;

/// A variant for blocks of `BYTES` bytes.
pub(super) struct Row<const BYTES: usize> {
    pub(super) variant: Variant,
    pub(super) bind: Bind<BYTES>,
}

/// The variants for blocks of `BYTES` bytes and `WORDS` bits.
pub(super) fn rows<const BYTES: usize, const WORDS: usize>(direction: Direction) -> Vec<Row<BYTES>> {
    let mut rows = Vec::new();
    for_each_register!(aes, W => {
        let bundle_ns = if W::BLOCKS <= 2 { 50.0 } else { 90.0 };
        rows.push(by_instructions::<W, BYTES>(direction, bundle_ns));
    });
    rows.push(bitsliced::<u32, Network, BYTES, WORDS>(direction, 5_500.0));
    rows.push(bitsliced::<u64, Network, BYTES, WORDS>(direction, 6_700.0));
    for_each_register!(all, W => {
        let bundle_ns = 6_700.0 + 10.4 * W::BITS as f64;
        rows.push(bitsliced::<W, Interleave, BYTES, WORDS>(direction, bundle_ns));
    });
    rows
}

fn row<I: Isa, const BYTES: usize>(
    direction: Direction,
    repr: Repr,
    bundle_blocks: usize,
    bundle_ns: f64,
    bind: Bind<BYTES>,
) -> Row<BYTES> {
    let name = format!("rijndael{}-{}/{repr}/{}", 8 * BYTES, direction.name(), I::NAME);
    let variant = Variant { name, repr, isa: I::NAME, needs: I::NEEDS, bundle_blocks, bundle_ns };
    Row { variant, bind }
}

fn by_instructions<W: AesLanes, const BYTES: usize>(direction: Direction, bundle_ns: f64) -> Row<BYTES> {
    let bundle_blocks = instructions::PAIRS * W::BLOCKS;
    row::<W::Isa, BYTES>(direction, Repr::Blocks, bundle_blocks, bundle_ns, |features, direction, key| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(instructions::Cipher::<W, BYTES>::new(isa, direction, key)))
    })
}

fn bitsliced<W: Register, T: Transpose<W>, const BYTES: usize, const WORDS: usize>(
    direction: Direction,
    bundle_ns: f64,
) -> Row<BYTES> {
    let repr = Repr::Bitsliced { bits: W::BITS };
    row::<W::Isa, BYTES>(direction, repr, W::BITS, bundle_ns, |features, direction, key| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(bitsliced::Cipher::<W, T, BYTES, WORDS>::new(isa, direction, key)))
    })
}
