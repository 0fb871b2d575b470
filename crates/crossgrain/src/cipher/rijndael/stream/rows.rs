//! The table of variants for wide blocks. All are whole ciphers or whole key searches, and none leaks anything.

#[cfg(feature = "search")]
use std::sync::Arc;

use crate::arch::{AesLanes, Features, Isa, Register, for_each_register};
#[cfg(feature = "search")]
use crate::arch::{ByteLanes, Portable, Wiped};
use crate::block::{Direction, Error};
#[cfg(feature = "search")]
use crate::cipher::aes::description::{Aes, WideRounds};
#[cfg(feature = "search")]
use crate::cipher::rijndael::search::{BindBlocks, OnLanes, OneByOne};
use crate::cipher::rijndael::{WideBlocks, bitsliced, instructions};
#[cfg(feature = "search")]
use crate::cipher::substitution::{self, Substitution};
#[cfg(feature = "search")]
use crate::kernel::search::{Known, SearchPart};
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
    let mut all: Vec<_> = narrow.chain(wide).collect();
    #[cfg(feature = "search")]
    for direction in Direction::ALL {
        all.extend(search_rows::<24, 192>(direction).into_iter().map(|row| row.variant));
        all.extend(search_rows::<32, 256>(direction).into_iter().map(|row| row.variant));
    }
    all
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

/// A variant that searches for keys of ciphers with blocks of `BYTES` bytes.
#[cfg(feature = "search")]
pub(super) struct SearchRow<const BYTES: usize> {
    pub(super) variant: Variant,
    pub(super) bind: BindSearch<BYTES>,
}

/// Binds a search for keys of this length to a known block; `None` if its instructions are missing or not allowed.
#[cfg(feature = "search")]
type BindSearch<const BYTES: usize> = fn(Features, usize, Known<BYTES>) -> Option<Box<dyn SearchPart>>;

/// The variants that search for keys from a block that is known in full in this direction.
#[cfg(feature = "search")]
pub(super) fn search_rows<const BYTES: usize, const WORDS: usize>(
    direction: Direction,
) -> Vec<SearchRow<BYTES>>
where
    Aes: WideRounds<BYTES>,
{
    let mut rows =
        vec![one_by_one::<BYTES, WORDS, Portable>(direction, Repr::Bitsliced { bits: 32 }, 60_000.0)];
    for_each_register!(one_block, W => {
        rows.push(one_by_one::<BYTES, WORDS, <W as Register>::Isa>(direction, Repr::Blocks, 400.0));
    });
    for_each_register!(all, W => {
        rows.push(on_lanes::<W, substitution::Nibbles, BYTES>(direction, 3_000.0));
    });
    for_each_register!(galois_of_16, W => {
        rows.push(on_lanes::<W, substitution::Galois, BYTES>(direction, 1_500.0));
    });
    for_each_register!(galois_of_32, W => {
        rows.push(on_lanes::<W, substitution::Galois, BYTES>(direction, 2_000.0));
    });
    rows
}

/// The name and the properties of a variant for key search. `lanes` is the number of keys that it tries together.
#[cfg(feature = "search")]
fn search_variant<I: Isa>(
    (block_bytes, direction): (usize, Direction),
    (repr, method): (Repr, &str),
    lanes: usize,
    bundle_ns: f64,
) -> Variant {
    let back = if direction == Direction::Decrypt { "-decrypt" } else { "" };
    let name = format!("rijndael{}-search{back}/{repr}/{}{method}", 8 * block_bytes, I::NAME);
    Variant { name, repr, isa: I::NAME, needs: I::NEEDS, bundle_blocks: lanes, bundle_ns }
}

/// One key after another, by the cheapest variant for single blocks that needs no more than these instructions.
#[cfg(feature = "search")]
fn one_by_one<const BYTES: usize, const WORDS: usize, I: Isa>(
    direction: Direction,
    repr: Repr,
    key_ns: f64,
) -> SearchRow<BYTES> {
    let variant = search_variant::<I>((BYTES, direction), (repr, ""), 1, key_ns);
    let bind: BindSearch<BYTES> = |features, key_bytes, known| {
        let (needs, direction) = (I::NEEDS, known.direction);
        let rows =
            rows::<BYTES, WORDS>(direction).into_iter().filter(|row| needs.contains(row.variant.needs));
        let row = rows.min_by(|a, b| a.variant.cost_ns(1).total_cmp(&b.variant.cost_ns(1)))?;
        features.contains(needs).then_some(())?;
        let bind: BindBlocks<BYTES> = Arc::new(move |key| (row.bind)(needs, direction, key).map(Wiped::from));
        Some(Box::new(OneByOne::new(bind, key_bytes, known)))
    };
    SearchRow { variant, bind }
}

/// Bytes of many keys in registers.
#[cfg(feature = "search")]
fn on_lanes<W: ByteLanes, Y: Substitution<W>, const BYTES: usize>(
    direction: Direction,
    bundle_ns: f64,
) -> SearchRow<BYTES>
where
    Aes: WideRounds<BYTES>,
{
    let (repr, method) = (Repr::Bytesliced { bits: W::BITS }, format!("-{}", Y::NAME));
    let variant = search_variant::<W::Isa>(
        (BYTES, direction),
        (repr, method.trim_end_matches('-')),
        W::BYTES,
        bundle_ns,
    );
    let bind: BindSearch<BYTES> = |features, key_bytes, known| {
        Some(Box::new(OnLanes::<W, Y, BYTES>::new(W::Isa::detect(features)?, key_bytes, &known)?))
    };
    SearchRow { variant, bind }
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
