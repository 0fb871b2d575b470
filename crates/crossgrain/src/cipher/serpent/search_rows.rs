//! Rows for Serpent key search.

use super::search::Search;
#[cfg(feature = "search-steps")]
use super::search_steps::{BitRounds, Expansion, InTile, WordRounds};
#[cfg(feature = "search-steps")]
use crate::arch::Register;
use crate::arch::{Isa, Lane32, for_each_register};
#[cfg(feature = "search-steps")]
use crate::block::Direction;
use crate::block::Family;
#[cfg(feature = "search-steps")]
use crate::cipher::Portion;
#[cfg(feature = "search-steps")]
use crate::kernel::search::Step;
use crate::layout::repr::Repr;
#[cfg(feature = "search-steps")]
use crate::variant::BindStep;
use crate::variant::table::kernel;
#[cfg(feature = "search-steps")]
use crate::variant::table::{bitsliced, step};
use crate::variant::{BindSearch, Variant};

/// Adds them.
pub(crate) fn push(rows: &mut Vec<Variant>) {
    serpent_search::<u32>(rows);
    for_each_register!(all, W => serpent_search::<W>(rows));
}

/// Adds rows for Serpent key search.
fn serpent_search<W: Lane32>(rows: &mut Vec<Variant>) {
    let bind: BindSearch = |features, cipher, known| {
        let search = Search::<W>::new(W::Isa::detect(features)?, cipher, known)?;
        Some(Box::new(search))
    };
    let repr = Repr::Vsliced { bits: W::BITS };
    kernel::<W::Isa>((Family::Serpent, "serpent"), repr, "", bind, rows);
}

/// Adds rows for the steps of a search: the schedule and the rounds, on words and on bits.
#[cfg(feature = "search-steps")]
pub(crate) fn push_steps(rows: &mut Vec<Variant>) {
    on_words::<u32>(rows);
    for_each_register!(all, W => on_words::<W>(rows));
    on_bits::<u64>(rows);
    for_each_register!(all, W => on_bits::<W>(rows));
}

/// Adds the schedule, which serves both directions, and the first and last rounds.
#[cfg(feature = "search-steps")]
fn steps<T: InTile>(
    repr: Repr,
    rounds: [BindStep; 2],
    instructions: [fn(Direction) -> f64; 3],
    rows: &mut Vec<Variant>,
) {
    let schedule: BindStep =
        |features, cipher, _| Some(Box::new(Expansion::<T>::new(T::Isa::detect(features)?, cipher)));
    let [of_schedule, of_first, of_last] = instructions;
    rows.push(step::<T::Isa>(Family::Serpent, Step::Schedule, None, repr, schedule, of_schedule));
    for direction in Direction::ALL {
        let mut push = |of, bind, instructions| {
            rows.push(step::<T::Isa>(Family::Serpent, of, Some(direction), repr, bind, instructions));
        };
        push(Step::FirstRounds, rounds[0], of_first);
        push(Step::LastRounds, rounds[1], of_last);
    }
}

#[cfg(feature = "search-steps")]
fn on_words<W: Lane32>(rows: &mut Vec<Variant>) {
    let rounds: [BindStep; 2] = [
        |features, _, known| Some(Box::new(WordRounds::<W, false>::new(W::Isa::detect(features)?, known))),
        |features, _, known| Some(Box::new(WordRounds::<W, true>::new(W::Isa::detect(features)?, known))),
    ];
    steps::<W>(Repr::Vsliced { bits: W::BITS }, rounds, [|_| 1800.0, |_| 1125.0, |_| 375.0], rows);
}

#[cfg(feature = "search-steps")]
fn on_bits<W: Register>(rows: &mut Vec<Variant>) {
    let rounds: [BindStep; 2] = [
        |features, _, known| {
            Some(Box::new(BitRounds::<W>::new(W::Isa::detect(features)?, Portion::First, known)))
        },
        |features, _, known| {
            Some(Box::new(BitRounds::<W>::new(W::Isa::detect(features)?, Portion::Last, known)))
        },
    ];
    steps::<[W; 32]>(bitsliced::<W>(), rounds, [|_| 50_000.0, |_| 34_000.0, |_| 11_000.0], rows);
}
