//! Rows for AES key search.
//!
//! Complete searches on bits exist for 64-bit integers only. Every CPU with registers has AES instructions, or
//! byte shuffles that are equally fast. The steps exist on bits of registers too, so that plans can mix them.

#[cfg(feature = "search-steps")]
use super::search::steps;
use super::search::substitute::{Galois, Nibbles, Permute, Substitute};
use super::search::{self, Byte, LaneByte};
#[cfg(feature = "search-steps")]
use crate::arch::Portable;
use crate::arch::{AesLanes, ByteLanes, Isa, Lane32, for_each_register};
use crate::block::Family;
#[cfg(feature = "search-steps")]
use crate::block::{BLOCK_BYTES, Direction};
use crate::circuit::Bits;
#[cfg(feature = "search-steps")]
use crate::kernel::search::Step;
use crate::layout::repr::Repr;
#[cfg(feature = "search-steps")]
use crate::variant::table::by;
use crate::variant::table::{bitsliced, kernel};
#[cfg(feature = "search-steps")]
use crate::variant::table::{by_table, step};
use crate::variant::{BindSearch, Variant};

/// Adds them.
pub(crate) fn push(rows: &mut Vec<Variant>) {
    aes_search::<Bits<u64>>(bitsliced::<u64>(), "", rows);
    for_each_register!(without_byte_tables, W => aes_search_by::<W, Nibbles<W>>(rows));
    for_each_register!(byte_tables, W => aes_search_by::<W, Permute<W>>(rows));
    for_each_register!(galois_of_16, W => aes_search_by::<W, Galois>(rows));
    for_each_register!(galois_of_32, W => aes_search_by::<W, Galois>(rows));
    for_each_register!(aes, W => aes_search_in_blocks::<W>(rows));
}

/// Adds rows for AES key search, which process one byte of all lanes at a time.
fn aes_search<B: LaneByte>(repr: Repr, way: &str, rows: &mut Vec<Variant>) {
    let bind: BindSearch =
        |features, cipher, known| search::search::<B>(B::Isa::detect(features)?, cipher, known);
    kernel::<B::Isa>((Family::Aes, "aes"), repr, way, bind, rows);
}

/// Adds rows for AES key search with one byte per lane.
fn aes_search_by<W: ByteLanes, S: Substitute<W> + 'static>(rows: &mut Vec<Variant>) {
    aes_search::<Byte<W, S>>(Repr::Bytesliced { bits: W::BITS }, S::NAME, rows);
}

/// Adds rows for AES key search with AES instructions.
fn aes_search_in_blocks<W: AesLanes + Lane32>(rows: &mut Vec<Variant>) {
    let bind: BindSearch =
        |features, cipher, known| search::instructions::search::<W>(W::Isa::detect(features)?, cipher, known);
    kernel::<W::Isa>((Family::Aes, "aes"), Repr::Blocks, "", bind, rows);
}

/// Instructions per block that the steps take in a bundle, to estimate their costs: those of a substitution, of
/// the other work on a byte, and of a load or store.
#[cfg(feature = "search-steps")]
#[derive(Clone, Copy)]
struct Work {
    substitution: f64,
    rest: f64,
}

#[cfg(feature = "search-steps")]
impl Work {
    const BITS: Self = Self { substitution: 160.0, rest: 60.0 };
    const BYTES: Self = Self { substitution: 8.0, rest: 6.0 };
    const NIBBLES: Self = Self { substitution: 26.0, rest: 8.0 };

    /// For AES-128: 40 substitutions and 160 other bytes in the schedule, 16 of each in a round.
    const fn of(self, step: Step) -> f64 {
        let (substitutions, bytes) = match step {
            Step::Schedule => (40.0, 176.0),
            Step::FirstRounds => (128.0, 128.0),
            _ => (3.0, 12.0),
        };
        self.substitution * substitutions + self.rest * bytes
    }
}

/// Adds rows for the steps of a search on bits and bytes of many keys, on words and blocks with AES instructions,
/// and on blocks by table look-ups.
#[cfg(feature = "search-steps")]
pub(crate) fn push_steps(rows: &mut Vec<Variant>) {
    on_lanes::<Bits<u64>, 0>(bitsliced::<u64>(), "", rows);
    for_each_register!(all, W => on_lanes::<Bits<W>, 0>(bitsliced::<W>(), "", rows));
    for_each_register!(without_byte_tables, W => on_bytes::<W, Nibbles<W>, 2>(rows));
    for_each_register!(byte_tables, W => on_bytes::<W, Permute<W>, 1>(rows));
    for_each_register!(galois_of_16, W => on_bytes::<W, Galois, 1>(rows));
    for_each_register!(galois_of_32, W => on_bytes::<W, Galois, 1>(rows));
    for_each_register!(aes, W => by_instructions::<W>(rows));
    by_tables(rows);
}

#[cfg(feature = "search-steps")]
fn on_bytes<W: ByteLanes, S: Substitute<W> + 'static, const WORK: usize>(rows: &mut Vec<Variant>) {
    on_lanes::<Byte<W, S>, WORK>(Repr::Bytesliced { bits: W::BITS }, S::NAME, rows);
}

/// Adds the three steps on bits or bytes. The schedule serves both directions.
#[cfg(feature = "search-steps")]
fn on_lanes<B: LaneByte, const WORK: usize>(repr: Repr, way: &str, rows: &mut Vec<Variant>) {
    const fn work<const WORK: usize>(step: Step) -> f64 {
        [Work::BITS, Work::BYTES, Work::NIBBLES][WORK].of(step)
    }
    let mut push = |of, direction, bind, instructions| {
        let row = step::<B::Isa>(Family::Aes, of, direction, repr, bind, instructions);
        rows.push(by(way, row));
    };
    push(
        Step::Schedule,
        None,
        |features, cipher, _| Some(Box::new(steps::Schedule::<B>::new(B::Isa::detect(features)?, cipher))),
        |_| work::<WORK>(Step::Schedule),
    );
    for direction in Direction::ALL {
        push(
            Step::FirstRounds,
            Some(direction),
            |features, cipher, known| {
                Some(Box::new(steps::FirstRounds::<B>::new(B::Isa::detect(features)?, cipher, known)))
            },
            |_| work::<WORK>(Step::FirstRounds),
        );
        push(
            Step::LastRounds,
            Some(direction),
            |features, cipher, known| {
                Some(Box::new(steps::LastRounds::<B>::new(B::Isa::detect(features)?, cipher, known)))
            },
            |_| work::<WORK>(Step::LastRounds),
        );
    }
}

/// Adds the schedule on words of many keys, and the rounds on blocks.
#[cfg(feature = "search-steps")]
fn by_instructions<W: AesLanes + Lane32>(rows: &mut Vec<Variant>) {
    rows.push(step::<W::Isa>(
        Family::Aes,
        Step::Schedule,
        None,
        Repr::Vsliced { bits: W::BITS },
        |features, cipher, _| {
            Some(Box::new(steps::WordSchedule::<W>::new(W::Isa::detect(features)?, cipher)))
        },
        |_| 110.0,
    ));
    for direction in Direction::ALL {
        rows.push(step::<W::Isa>(
            Family::Aes,
            Step::Rounds,
            Some(direction),
            Repr::Blocks,
            |features, cipher, known| {
                Some(Box::new(steps::BlockRounds::<W>::new(W::Isa::detect(features)?, cipher, known)))
            },
            |direction| {
                let instructions = if direction == Direction::Encrypt { 22.0 } else { 40.0 };
                instructions * BLOCK_BYTES as f64 / W::BYTES as f64
            },
        ));
    }
}

/// Adds the schedule and the rounds on blocks by table look-ups.
#[cfg(feature = "search-steps")]
fn by_tables(rows: &mut Vec<Variant>) {
    rows.push(by_table(step::<Portable>(
        Family::Aes,
        Step::Schedule,
        None,
        Repr::Blocks,
        |_, cipher, _| Some(Box::new(steps::TableSchedule(cipher))),
        |_| 500.0,
    )));
    for direction in Direction::ALL {
        rows.push(by_table(step::<Portable>(
            Family::Aes,
            Step::Rounds,
            Some(direction),
            Repr::Blocks,
            |_, _, known| Some(Box::new(steps::TableRounds::new(known))),
            |direction| if direction == Direction::Encrypt { 700.0 } else { 1500.0 },
        )));
    }
}
