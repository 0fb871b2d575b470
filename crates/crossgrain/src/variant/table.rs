//! The variant table: rows that every cipher may use, and the order of all rows. The `rows` of each cipher's
//! folder list its own.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Action, BindFused, BindTile, BindWhole, Leaks, Variant};
#[cfg(feature = "search")]
use super::{BindSearch, BindStep};
use crate::arch::{ByteLanes, Features, Isa, Lane32, Portable, Register, for_each_register};
use crate::block::{Direction, Error, Family};
#[cfg(feature = "serpent")]
use crate::cipher::serpent;
use crate::cipher::substitution::{Galois, Nibbles, Permute};
use crate::cipher::{Entry, aes, derived};
use crate::kernel::Part;
#[cfg(feature = "search")]
use crate::kernel::comparison::{OnBits, OnBlocks};
#[cfg(feature = "search-steps")]
use crate::kernel::comparison::{OnBytes, OnWords};
use crate::kernel::fused::Fused;
#[cfg(feature = "search")]
use crate::kernel::search::{Step, TableReuse};
use crate::layout::convert::{
    BitGroup, BlocksToBits, BlocksToGroups, ByteGroup, Copy, Group, Interleave, LaneGroup, Network, Transpose,
};
use crate::layout::repr::Repr;
use crate::mode::ctr::counter::{CounterToBits, CounterToBlocks, CounterToBytes, CounterToWords};

static TABLE: LazyLock<Vec<Variant>> = LazyLock::new(|| {
    let mut rows = Vec::new();
    blocks(&mut rows);
    aes::rows::along_the_grain(&mut rows);
    for_each_register!(aes, W => aes::rows::by_instructions::<W>(&mut rows));
    bitsliced_rows::<u64>(&mut rows);
    #[cfg(feature = "steps")]
    bitsliced_rows::<u32>(&mut rows);
    for_each_register!(all, W => bitsliced_rows::<W>(&mut rows));
    for_each_register!(more_gates, W => bitsliced_rows::<W>(&mut rows));
    for_each_register!(all, W => hsliced_rows::<W>(&mut rows));
    for_each_register!(all, W => aes::rows::bytesliced_rows::<W, Nibbles, 1>(&mut rows));
    for_each_register!(byte_tables, W => aes::rows::bytesliced_rows::<W, Permute, 1>(&mut rows));
    for_each_register!(galois_of_16, W => aes::rows::bytesliced_rows::<W, Galois, 2>(&mut rows));
    for_each_register!(galois_of_32, W => aes::rows::bytesliced_rows::<W, Galois, 1>(&mut rows));
    for_each_register!(all, W => bytes_of_blocks::<W>(&mut rows));
    #[cfg(feature = "search")]
    search(&mut rows);
    #[cfg(feature = "serpent")]
    serpent::rows::push(&mut rows);
    words_of_blocks::<u32>(&mut rows);
    for_each_register!(all, W => words_of_blocks::<W>(&mut rows));
    derived::rows::push(&mut rows);
    transposition::<u64, Network>(&mut rows);
    #[cfg(feature = "steps")]
    transposition::<u32, Network>(&mut rows);
    for_each_register!(all, W => transposition::<W, Interleave>(&mut rows));
    passes(&mut rows);
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
pub(crate) fn of<I: Isa>(family: Family, stem: &str, repr: Repr, action: Action) -> Variant {
    of_family(family, stem, set::<I>(), repr, action)
}

/// The name of an instruction set, and the CPU features that it needs.
pub(crate) type Set = (&'static str, Features);

pub(crate) const fn set<I: Isa>() -> Set {
    (I::NAME, I::NEEDS)
}

/// Not inlined, and neither is the next function. Inlined in about three hundred places, they would be a
/// thirtieth of the crate's code.
#[inline(never)]
fn named(stem: String, (isa, needs): Set, repr: Repr, action: Action) -> Variant {
    let (name, leaks) = (format!("{stem}/{isa}"), Leaks::Nothing);
    let (family, instructions) = (None, None);
    Variant { name, family, repr, isa, needs, leaks, reads_counter_tables: false, action, instructions }
}

#[inline(never)]
pub(crate) fn of_family(family: Family, stem: &str, isa: Set, repr: Repr, action: Action) -> Variant {
    Variant { family: Some(family), ..named(format!("{stem}/{repr}"), isa, repr, action) }
}

/// The row of a part.
pub(crate) fn part<I: Isa>(part: Part, direction: Direction, repr: Repr, bind: BindTile) -> Variant {
    of::<I>(part.family(), part.name(direction), repr, Action::Tile(part, direction, bind))
}

/// The row of a whole cipher from bytes to bytes.
pub(crate) fn whole<I: Isa>(family: Family, direction: Direction, bind: BindWhole) -> Variant {
    let stem = Part::whole(family).name(direction);
    of::<I>(family, stem, Repr::Blocks, Action::Whole(direction, bind))
}

/// A row with the method appended to its name, if the method has a name.
#[inline(never)]
pub(crate) fn by(way: &str, mut row: Variant) -> Variant {
    if !way.is_empty() {
        row.name = format!("{}-{way}", row.name);
    }
    row
}

/// The row of a variant that looks up tables at secret addresses.
pub(crate) fn by_table(row: Variant) -> Variant {
    Variant { leaks: Leaks::TableIndices, ..by("table", row) }
}

pub(crate) fn bitsliced<W: Register>() -> Repr {
    Repr::Bitsliced { bits: W::BITS }
}

/// The parts that need a row in this direction. A part that is its own inverse has one row for both
/// directions.
pub(crate) fn needed<P: Clone>(
    parts: &[P],
    planned: fn(P) -> Part,
    direction: Direction,
) -> impl Iterator<Item = Part> {
    let parts = parts.iter().cloned().map(planned);
    parts.filter(move |part| direction == Direction::Encrypt || !part.is_own_inverse())
}

/// The row of a mode's kernel. Its name begins with the cipher's: `aes-gcm`, `aes-ocb-decrypt`.
pub(crate) fn fused<I: Isa>(family: Family, fused: Fused, direction: Direction, bind: BindFused) -> Variant {
    let cipher = Entry::of(family).names.family;
    let back = if direction == Direction::Decrypt { "-decrypt" } else { "" };
    let stem = format!("{cipher}-{}{back}", fused.name());
    of::<I>(family, &stem, Repr::Blocks, Action::Fused(fused, direction, bind))
}

/// Adds the frames and passes of modes that run the cipher and their own computation one after the other.
fn passes(rows: &mut Vec<Variant>) {
    let row = |name: &str, set: Set, action: Action| {
        named(format!("{name}/{}", Repr::Blocks), set, Repr::Blocks, action)
    };
    let pass = |set: Set, fused: Fused| row(fused.pass(), set, Action::Pass(fused));
    for &fused in Fused::ALL {
        rows.extend(fused.frame().map(|name| row(name, set::<Portable>(), Action::Frame(fused))));
        rows.push(pass(set::<Portable>(), fused));
    }
    for_each_register!(carryless_from_widest, W => {
        rows.push(pass(set::<<W as Register>::Isa>(), Fused::Gcm));
    });
}

/// Adds the rows for key search. The Cargo feature `search` adds them, because no other job uses them and
/// they take a third of the kernels' compile time.
#[cfg(feature = "search")]
fn search(rows: &mut Vec<Variant>) {
    aes::search_rows::push(rows);
    #[cfg(feature = "serpent")]
    serpent::search_rows::push(rows);
    derived::search_rows::push(rows);
    #[cfg(feature = "search-steps")]
    {
        aes::search_rows::push_steps(rows);
        #[cfg(feature = "serpent")]
        serpent::search_rows::push_steps(rows);
    }
    comparisons(rows);
}

/// Adds a kernel for a complete search: one row for each direction and each use of a table.
#[cfg(feature = "search")]
pub(crate) fn kernel<I: Isa>(
    (family, name): (Family, &str),
    repr: Repr,
    way: &str,
    bind: BindSearch,
    rows: &mut Vec<Variant>,
) {
    for direction in Direction::ALL {
        for usage in TableReuse::ALL {
            let list = if usage == TableReuse::Once { "-list" } else { "" };
            let stem = format!("{}-search{list}{}", name, back(direction));
            rows.push(by(way, of::<I>(family, &stem, repr, Action::Search(direction, usage, bind))));
        }
    }
}

/// The row of a step of a search. A step without a direction serves both.
#[cfg(feature = "search")]
pub(crate) fn step<I: Isa>(
    family: Family,
    step: Step,
    direction: Option<Direction>,
    repr: Repr,
    bind: BindStep,
    instructions: fn(Direction) -> f64,
) -> Variant {
    let stem = format!("{}-{}{}", Entry::of(family).names.family, step.name(), direction.map_or("", back));
    let row = of::<I>(family, &stem, repr, Action::SearchStep(step, direction, bind));
    Variant { instructions: Some(instructions), ..row }
}

/// Adds the comparison in a representation. It serves every cipher.
#[cfg(feature = "search")]
fn comparison<I: Isa>(
    repr: Repr,
    bind: BindStep,
    instructions: fn(Direction) -> f64,
    rows: &mut Vec<Variant>,
) {
    let stem = format!("{}/{repr}", Step::Comparison.name());
    let row = row::<I>(stem, repr, Action::SearchStep(Step::Comparison, None, bind));
    rows.push(Variant { instructions: Some(instructions), ..row });
}

/// Adds the comparisons in all representations that steps have.
#[cfg(feature = "search")]
fn comparisons(rows: &mut Vec<Variant>) {
    comparison::<Portable>(Repr::Blocks, |_, _, known| Some(Box::new(OnBlocks::new(known))), |_| 12.0, rows);
    on_bits::<u64>(rows);
    #[cfg(feature = "search-steps")]
    {
        for_each_register!(all, W => on_bits::<W>(rows));
        for_each_register!(all, W => on_bytes::<W>(rows));
        on_words::<u32>(rows);
        for_each_register!(all, W => on_words::<W>(rows));
    }
}

#[cfg(feature = "search")]
fn on_bits<W: Register>(rows: &mut Vec<Variant>) {
    let bind: BindStep =
        |features, _, known| Some(Box::new(OnBits::<W>::new(W::Isa::detect(features)?, known)));
    comparison::<W::Isa>(bitsliced::<W>(), bind, |_| 400.0, rows);
}

#[cfg(feature = "search-steps")]
fn on_bytes<W: ByteLanes>(rows: &mut Vec<Variant>) {
    let bind: BindStep =
        |features, _, known| Some(Box::new(OnBytes::<W>::new(W::Isa::detect(features)?, known)));
    comparison::<W::Isa>(Repr::Bytesliced { bits: W::BITS }, bind, |_| 60.0 + W::BITS as f64 / 2.0, rows);
}

#[cfg(feature = "search-steps")]
fn on_words<W: Lane32>(rows: &mut Vec<Variant>) {
    let bind: BindStep =
        |features, _, known| Some(Box::new(OnWords::<W>::new(W::Isa::detect(features)?, known)));
    comparison::<W::Isa>(Repr::Vsliced { bits: W::BITS }, bind, |_| 8.0 + W::BITS as f64 / 16.0, rows);
}

/// The suffix of names of searches by decryption. GPU programs use the same suffix.
#[cfg(feature = "search")]
pub(crate) const fn back(direction: Direction) -> &'static str {
    match direction {
        Direction::Encrypt => "",
        Direction::Decrypt => "-back",
    }
}

/// Adds the conversions and counters of `blocks`.
fn blocks(rows: &mut Vec<Variant>) {
    let blocks = Repr::Blocks;
    rows.push(row::<Portable>("bytes-to-blocks".into(), blocks, Action::Load(|_| Some(Box::new(Copy)))));
    rows.push(row::<Portable>(
        "counter-to-blocks".into(),
        blocks,
        Action::Count(|_| Some(Box::new(CounterToBlocks))),
    ));
    rows.push(row::<Portable>("blocks-to-bytes".into(), blocks, Action::Store(|_| Some(Box::new(Copy)))));
}

/// Adds the bit-sliced rows: AES, whose rows lie around the counters, and the counters.
fn bitsliced_rows<W: Register>(rows: &mut Vec<Variant>) {
    let repr = bitsliced::<W>();
    aes::rows::bitsliced_rows::<W>(rows);
    let count = Action::Count(|features| {
        W::Isa::detect(features).map(|isa| Box::new(CounterToBits::<W>::new(isa)) as _)
    });
    rows.push(row::<W::Isa>(format!("counter-to-{repr}"), repr, count));
    aes::rows::cached_counter_rows::<W>(rows);
}

/// Adds the rows of `hsliced`: AES, which alone uses it, and the conversions.
fn hsliced_rows<W: ByteLanes>(rows: &mut Vec<Variant>) {
    aes::rows::hsliced_rows::<W>(rows);
    group::<W, BitGroup, 8>(Repr::Hsliced { bits: W::BITS }, rows);
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
