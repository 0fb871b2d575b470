//! The variant table. Only this file and the other files of rows in this module list variants.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Action, BindTile, BindWhole, Leaks, Variant};
use crate::block::{Direction, Error, Family};
use crate::cipher::aes as aes_described;
use crate::cipher::ways::{Galois, Nibbles, Permute, Way};
use crate::convert::{
    BitGroup, BlocksToBits, BlocksToGroups, ByteGroup, Copy, Group, Interleave, LaneGroup, Matrices, Network,
    Transpose,
};
use crate::part::aes::{self, bitsliced, bytesliced, hsliced, instructions, table as tables, walk as walks};
use crate::part::counter::{CounterToBits, CounterToBlocks, CounterToBytes, CounterToWords};
use crate::part::described::BytesOnLanes;
use crate::part::{Keys, Part};
use crate::repr::Repr;
use crate::word::{AesLanes, ByteLanes, Features, Isa, Lane32, Portable, Register, for_each_register};

static TABLE: LazyLock<Vec<Variant>> = LazyLock::new(|| {
    let mut rows = Vec::new();
    along_the_grain(&mut rows);
    for_each_register!(aes, W => aes_instructions::<W>(&mut rows));
    across_the_grain::<u64>(&mut rows);
    for_each_register!(all, W => across_the_grain::<W>(&mut rows));
    for_each_register!(all, W => within_the_byte::<W>(&mut rows));
    for_each_register!(all, W => between_the_grains::<W, Nibbles, 1>(&mut rows));
    for_each_register!(byte_tables, W => between_the_grains::<W, Permute, 1>(&mut rows));
    for_each_register!(galois_of_16, W => between_the_grains::<W, Galois, 2>(&mut rows));
    for_each_register!(galois_of_32, W => between_the_grains::<W, Galois, 1>(&mut rows));
    for_each_register!(all, W => bytes_of_blocks::<W>(&mut rows));
    #[cfg(feature = "search")]
    super::search_rows::push(&mut rows);
    #[cfg(feature = "serpent")]
    super::serpent_rows::push(&mut rows);
    words_of_blocks::<u32>(&mut rows);
    for_each_register!(all, W => words_of_blocks::<W>(&mut rows));
    super::described_rows::push(&mut rows);
    transposition::<u64, Network>(&mut rows);
    for_each_register!(all, W => transposition::<W, Network>(&mut rows));
    for_each_register!(all, W => transposition::<W, Interleave>(&mut rows));
    for_each_register!(bit_matrices, W => transposition::<W, Matrices>(&mut rows));
    rows
});

/// All variants, including those that this CPU lacks.
pub fn table() -> &'static [Variant] {
    &TABLE
}

/// The variant with this name.
///
/// # Errors
/// [`Error::UnknownVariant`] if no variant has this name.
pub fn find(name: &str) -> Result<&'static Variant, Error> {
    static BY_NAME: LazyLock<HashMap<&str, &Variant>> =
        LazyLock::new(|| table().iter().map(|variant| (variant.name.as_str(), variant)).collect());
    BY_NAME.get(name).copied().ok_or_else(|| Error::UnknownVariant(name.to_owned()))
}

/// A row for instructions `I` that every cipher may use. Its name ends with the name of the instruction set.
fn row<I: Isa>(stem: String, repr: Repr, action: Action) -> Variant {
    named(stem, set::<I>(), repr, action)
}

/// A row for one family of ciphers.
pub(super) fn of<I: Isa>(family: Family, stem: &str, repr: Repr, action: Action) -> Variant {
    of_family(family, stem, set::<I>(), repr, action)
}

/// The name of an instruction set, and the CPU features that it needs.
type Set = (&'static str, Features);

const fn set<I: Isa>() -> Set {
    (I::NAME, I::NEEDS)
}

/// Not inlined, and neither is the next function. Inlined in about three hundred places, they would be a
/// thirtieth of the crate's code.
#[inline(never)]
fn named(stem: String, (isa, needs): Set, repr: Repr, action: Action) -> Variant {
    let (name, leaks) = (format!("{stem}/{isa}"), Leaks::Nothing);
    let (family, instructions) = (None, None);
    Variant { name, family, repr, isa, needs, leaks, walks: false, action, instructions }
}

#[inline(never)]
fn of_family(family: Family, stem: &str, isa: Set, repr: Repr, action: Action) -> Variant {
    Variant { family: Some(family), ..named(format!("{stem}/{repr}"), isa, repr, action) }
}

/// The row of a part.
pub(super) fn part<I: Isa>(part: Part, direction: Direction, repr: Repr, bind: BindTile) -> Variant {
    of::<I>(part.family(), part.name(direction), repr, Action::Tile(part, direction, bind))
}

/// The row of a whole cipher from bytes to bytes.
pub(super) fn whole<I: Isa>(family: Family, direction: Direction, bind: BindWhole) -> Variant {
    let stem = Part::whole(family).name(direction);
    of::<I>(family, stem, Repr::Blocks, Action::Whole(direction, bind))
}

/// The row of a keystream that uses tables in the counter's order.
fn walk<I: Isa>(repr: Repr, action: Action) -> Variant {
    Variant { walks: true, ..of::<I>(Family::Aes, "aes-ctr-walk", repr, action) }
}

/// A row with the method appended to its name, if the method has a name.
#[inline(never)]
pub(super) fn by(way: &str, mut row: Variant) -> Variant {
    if !way.is_empty() {
        row.name = format!("{}-{way}", row.name);
    }
    row
}

/// The row of a variant that looks up tables at secret addresses.
pub(super) fn by_table(row: Variant) -> Variant {
    Variant { leaks: Leaks::TableIndices, ..by("table", row) }
}

pub(super) fn bitsliced<W: Register>() -> Repr {
    Repr::Bitsliced { bits: W::BITS }
}

/// The parts that need a row in this direction. A part that is its own inverse has one row for both
/// directions.
pub(super) fn needed<const N: usize>(parts: [Part; N], direction: Direction) -> impl Iterator<Item = Part> {
    parts.into_iter().filter(move |part| direction == Direction::Encrypt || !part.is_own_inverse())
}

/// Adds rows for all parts of AES on tiles, from single steps to the whole cipher.
#[inline(never)]
fn aes_tiles(isa: Set, way: &str, repr: Repr, bind: BindTile, rows: &mut Vec<Variant>) {
    for direction in Direction::ALL {
        for part in needed(aes::Part::ALL.map(aes::Part::planned), direction) {
            let action = Action::Tile(part, direction, bind);
            rows.push(by(way, of_family(Family::Aes, part.name(direction), isa, repr, action)));
        }
    }
}

/// Downcasts a part and keys to those of AES.
fn aes(part: Part, keys: &Keys) -> Option<(aes::Part, &aes::key::RoundKeys)> {
    Some((aes::Part::of(part)?, keys.of()?))
}

/// Adds rows on `blocks` for any machine: bytes and tables.
fn along_the_grain(rows: &mut Vec<Variant>) {
    let blocks = Repr::Blocks;
    let bind: BindTile = |_, part, direction, keys, round| {
        let (part, keys) = aes(part, keys)?;
        tables::Step::new(part, direction, keys, round).map(|step| Box::new(step) as _)
    };
    let bind_whole: BindWhole =
        |_, direction, keys| Some(Box::new(tables::TCipher::new(direction, keys.of()?)));
    rows.push(row::<Portable>("bytes-to-blocks".into(), blocks, Action::Load(|_| Some(Box::new(Copy)))));
    rows.push(row::<Portable>(
        "counter-to-blocks".into(),
        blocks,
        Action::Count(|_| Some(Box::new(CounterToBlocks))),
    ));
    rows.push(row::<Portable>("blocks-to-bytes".into(), blocks, Action::Store(|_| Some(Box::new(Copy)))));
    for direction in Direction::ALL {
        for step in needed(aes::Part::STEPS.map(aes::Part::planned), direction) {
            let row = part::<Portable>(step, direction, blocks, bind);
            rows.push(if step == aes::Part::SubBytes.planned() { by_table(row) } else { row });
        }
        rows.push(by_table(whole::<Portable>(Family::Aes, direction, bind_whole)));
    }
    let action = Action::WholeCounter(bind_whole);
    rows.push(by_table(of::<Portable>(Family::Aes, "aes-ctr", blocks, action)));
}

/// Adds rows of whole ciphers with AES instructions.
fn aes_instructions<W: AesLanes + Lane32>(rows: &mut Vec<Variant>) {
    let bind: BindWhole = |features, direction, keys| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(instructions::Cipher::<W>::new(isa, direction, keys.of()?)))
    };
    for direction in Direction::ALL {
        rows.push(whole::<W::Isa>(Family::Aes, direction, bind));
    }
    let counter = Action::WholeCounter(bind);
    rows.push(of::<W::Isa>(Family::Aes, "aes-ctr", Repr::Blocks, counter));
    let bind_walk: BindWhole = |features, _, keys| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(walks::Walk::<W>::new(isa, keys.of()?)))
    };
    let action = Action::WholeCounter(bind_walk);
    rows.push(walk::<W::Isa>(Repr::Blocks, action));
}

/// Adds bit-sliced rows: parts, fused rounds, whole cipher and counters.
fn across_the_grain<W: Register>(rows: &mut Vec<Variant>) {
    let repr = bitsliced::<W>();
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, aes(part, keys)?);
        if part == aes::Part::Cipher {
            return Some(Box::new(bitsliced::Cipher::<W>::new(isa, direction, keys)));
        }
        let step = bitsliced::Step::<W>::new(isa, part, direction, keys, round)?;
        Some(Box::new(step))
    };
    aes_tiles(set::<W::Isa>(), "", repr, bind, rows);
    let count = Action::Count(|features| {
        W::Isa::detect(features).map(|isa| Box::new(CounterToBits::<W>::new(isa)) as _)
    });
    rows.push(row::<W::Isa>(format!("counter-to-{repr}"), repr, count));
    let encrypted = Action::CountEncrypted(|features, keys| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(bitsliced::Tail::<W>::walk(isa, keys.of()?)))
    });
    rows.push(walk::<W::Isa>(repr, encrypted));
}

/// Adds rows on eight words (`hsliced`): parts, rounds and whole cipher, with their conversions.
fn within_the_byte<W: ByteLanes>(rows: &mut Vec<Variant>) {
    let repr = Repr::Hsliced { bits: W::BITS };
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, aes(part, keys)?);
        Some(Box::new(hsliced::Sliced::<W>::new(isa, part, direction, keys, round)))
    };
    aes_tiles(set::<W::Isa>(), "", repr, bind, rows);
    group::<W, BitGroup, 8>(repr, rows);
}

/// Adds rows on sixteen words (`bytesliced`): parts, rounds and whole cipher, with one method of
/// substitution. The whole cipher processes `N` bundles side by side.
fn between_the_grains<W: ByteLanes, Y: Way<W>, const N: usize>(rows: &mut Vec<Variant>) {
    let repr = Repr::Bytesliced { bits: W::BITS };
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, aes(part, keys)?);
        if part == aes::Part::Cipher {
            let keys = keys.in_use(direction);
            let keys = keys.blocks().as_flattened();
            return Some(Box::new(BytesOnLanes::<aes_described::Aes, W, Y, N>::new(isa, direction, keys)?));
        }
        Some(Box::new(bytesliced::Step::<W, Y>::new(isa, part, direction, keys, round)?))
    };
    aes_tiles(set::<W::Isa>(), Y::NAME, repr, bind, rows);
    let encrypted = Action::CountEncrypted(|features, keys| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(bytesliced::Tail::<W, Y>::walk(isa, keys.of()?)?))
    });
    rows.push(by(Y::NAME, walk::<W::Isa>(repr, encrypted)));
}

/// Adds the conversions and counters of `vsliced`.
fn words_of_blocks<W: Lane32>(rows: &mut Vec<Variant>) {
    let repr = Repr::Vsliced { bits: W::BITS };
    let count = Action::Count(|features| {
        W::Isa::detect(features).map(|isa| Box::new(CounterToWords::<W>::new(isa)) as _)
    });
    rows.push(row::<W::Isa>(format!("counter-to-{repr}"), repr, count));
    group::<W, LaneGroup, 4>(repr, rows);
}

/// Adds the conversions and counters of `bytesliced`.
fn bytes_of_blocks<W: ByteLanes>(rows: &mut Vec<Variant>) {
    let repr = Repr::Bytesliced { bits: W::BITS };
    let count = Action::Count(|features| {
        W::Isa::detect(features).map(|isa| Box::new(CounterToBytes::<W>::new(isa)) as _)
    });
    rows.push(row::<W::Isa>(format!("counter-to-{repr}"), repr, count));
    group::<W, ByteGroup, 16>(repr, rows);
}

/// Adds a conversion in registers, in both directions.
fn group<W: Register, G: Group<W, N>, const N: usize>(repr: Repr, rows: &mut Vec<Variant>) {
    let load = Action::Load(|features: Features| {
        W::Isa::detect(features).map(|isa| Box::new(BlocksToGroups::<W, G, N>::new(isa)) as _)
    });
    let store = Action::Store(|features: Features| {
        W::Isa::detect(features).map(|isa| Box::new(BlocksToGroups::<W, G, N>::new(isa)) as _)
    });
    rows.push(row::<W::Isa>(format!("blocks-to-{repr}"), repr, load));
    rows.push(row::<W::Isa>(format!("{repr}-to-blocks"), repr, store));
}

/// Adds a transposition, in both directions.
fn transposition<W: Register, T: Transpose<W>>(rows: &mut Vec<Variant>) {
    let repr = bitsliced::<W>();
    let load = Action::Load(|features: Features| {
        W::Isa::detect(features).map(|isa| Box::new(BlocksToBits::<W, T>::new(isa)) as _)
    });
    let store = Action::Store(|features: Features| {
        W::Isa::detect(features).map(|isa| Box::new(BlocksToBits::<W, T>::new(isa)) as _)
    });
    for (stem, action) in [(format!("blocks-to-{repr}"), load), (format!("{repr}-to-blocks"), store)] {
        rows.push(by(T::NAME, row::<W::Isa>(stem, repr, action)));
    }
}
