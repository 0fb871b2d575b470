//! Rows for key search of described ciphers.

#[cfg(feature = "search-steps")]
use super::search::steps::OnBytes;
use super::search::{Rounds, Schedule, TableRounds, TableSchedule, registers};
use crate::arch::{ByteLanes, Isa, Portable, for_each_register};
use crate::block::Direction;
use crate::cipher::key_lanes::{OfBytes, OfWords, UnderKeys};
use crate::cipher::sbox::Sbox;
use crate::cipher::substitution::{self, Substitution};
use crate::cipher::{self, Description, Listed, OnWords, Scheduled, Visitor, Work, visit};
use crate::kernel::search::{Step, TableReuse};
use crate::layout::repr::Repr;
#[cfg(feature = "search-steps")]
use crate::variant::BindStep;
#[cfg(feature = "search-steps")]
use crate::variant::table::by;
use crate::variant::table::{bitsliced, by_table, kernel, step};
use crate::variant::{Action, BindSearch, Variant};

/// Adds the rows of every description.
pub(crate) fn push(rows: &mut Vec<Variant>) {
    visit(&mut Described(rows));
}

/// The search steps of described ciphers: on bits by gates, 64 keys at a time, on blocks by table look-ups, and on
/// bytes in registers.
struct Described<'a>(&'a mut Vec<Variant>);

/// Instructions per gate on bits of 64 keys, with loads and stores: in the rounds, and in the schedule.
const OF_GATE: f64 = 6.0;
const OF_GATE_IN_SCHEDULE: f64 = 4.0;

/// Instructions for the look-up of a byte's substitution, and for a linear map of a byte.
const LOOK_UP: f64 = 4.0;
const MAP: f64 = 18.0;

/// The instructions of the bit-sliced schedule and rounds, and of both on blocks. They give the
/// estimated cost of rows without a line in the shipped estimates.
type Instructions = [fn(Direction) -> f64; 4];

/// Adds a row for each step, direction and method.
fn steps<C: Description>([schedule, across, expansion, along]: Instructions, rows: &mut Vec<Variant>) {
    let (bits, family) = (bitsliced::<u64>(), C::FAMILY);
    for direction in Direction::ALL {
        let push = |of, repr, bind, instructions| {
            step::<Portable>(family, of, Some(direction), repr, bind, instructions)
        };
        rows.push(push(
            Step::Schedule,
            bits,
            |_, cipher, known| Some(Box::new(Schedule::new(cipher, known))),
            schedule,
        ));
        rows.push(push(
            Step::Rounds,
            bits,
            |_, cipher, known| Some(Box::new(Rounds::new(cipher, known))),
            across,
        ));
        rows.push(by_table(push(
            Step::Schedule,
            Repr::Blocks,
            |_, cipher, known| Some(Box::new(TableSchedule(Schedule::new(cipher, known)))),
            expansion,
        )));
        rows.push(by_table(push(
            Step::Rounds,
            Repr::Blocks,
            |_, cipher, known| Some(Box::new(TableRounds(Rounds::new(cipher, known)))),
            along,
        )));
    }
}

/// Factor for the loads and stores of round keys between the steps.
#[cfg(feature = "search-steps")]
const STORED: f64 = 1.6;

/// Adds the steps on bytes in registers, with a method for the cipher's S-boxes.
#[cfg(feature = "search-steps")]
fn on_bytes<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(rows: &mut Vec<Variant>) {
    let (repr, family) = (Repr::Bytesliced { bits: W::BITS }, <U::Cipher as Listed>::FAMILY);
    for direction in Direction::ALL {
        let bind: BindStep = |features, cipher, known| {
            Some(Box::new(OnBytes::<U, W, Y, false>::new(W::Isa::detect(features)?, cipher, known)?))
        };
        let of_schedule = |direction| STORED * in_schedule::<U, W, Y>(direction);
        let of_rounds = |direction| STORED * in_rounds::<U, W, Y>(direction);
        rows.push(by(
            Y::NAME,
            step::<W::Isa>(family, Step::Schedule, Some(direction), repr, bind, of_schedule),
        ));
        let bind: BindStep = |features, cipher, known| {
            Some(Box::new(OnBytes::<U, W, Y, true>::new(W::Isa::detect(features)?, cipher, known)?))
        };
        rows.push(by(Y::NAME, step::<W::Isa>(family, Step::Rounds, Some(direction), repr, bind, of_rounds)));
    }
}

/// Additional instructions per key of a list.
const LISTED: f64 = 8.0;

/// Instructions per bundle of a search on registers: schedule and rounds.
fn on_registers<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(direction: Direction) -> f64 {
    in_schedule::<U, W, Y>(direction) + in_rounds::<U, W, Y>(direction)
}

/// The same for the schedule alone. An S-box takes two more, for constants.
fn in_schedule<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(direction: Direction) -> f64 {
    let of_box = |sbox: &Sbox| Y::instructions(sbox) + 2.0;
    Work::on_keys::<U::Cipher>(direction).instructions::<U::Cipher>(of_box, Y::INSTRUCTIONS_OF_MAP)
}

/// The same for the rounds alone.
fn in_rounds<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(direction: Direction) -> f64 {
    let of_box = |sbox: &Sbox| Y::instructions(sbox) + 2.0;
    let (rounds, bytes) = U::work(direction);
    bytes * rounds.instructions::<U::Cipher>(of_box, Y::INSTRUCTIONS_OF_MAP)
}

/// Adds a complete search on registers, with a method for the cipher's S-boxes.
fn registers<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(rows: &mut Vec<Variant>) {
    let bind: BindSearch = |features, cipher, known| {
        Some(Box::new(registers::Described::<U, W, Y>::new(
            W::Isa::detect(features)?,
            cipher.key_bytes(),
            known,
        )?))
    };
    let (from, names) = (rows.len(), <U::Cipher as Listed>::NAMES);
    let repr = Repr::Bytesliced { bits: W::BITS };
    kernel::<W::Isa>((<U::Cipher as Listed>::FAMILY, names.family), repr, Y::NAME, bind, rows);
    for row in &mut rows[from..] {
        row.instructions = Some(match row.action {
            Action::Search(_, TableReuse::Once, _) => {
                |direction| on_registers::<U, W, Y>(direction) + LISTED * W::BYTES as f64
            }
            _ => on_registers::<U, W, Y>,
        });
    }
    #[cfg(feature = "search-steps")]
    on_bytes::<U, W, Y>(rows);
}

/// Adds searches on registers with the methods that may be the fastest.
fn all_registers<U: UnderKeys>(rows: &mut Vec<Variant>) {
    if U::Cipher::HAS_STRUCTURE {
        for_each_register!(widest_without_byte_tables, W => registers::<U, W, substitution::Nibbles>(rows));
        for_each_register!(galois_of_32, W => registers::<U, W, substitution::Galois>(rows));
    } else {
        for_each_register!(widest_without_byte_tables, W => registers::<U, W, substitution::Scan>(rows));
        for_each_register!(byte_tables_and_galois, W => registers::<U, W, substitution::PermuteGalois>(rows));
    }
}

impl Visitor for Described<'_> {
    fn bytes<C: cipher::OnBytes + Scheduled>(&mut self) {
        all_registers::<OfBytes<C>>(self.0);
        let instructions: Instructions = [
            |direction| Work::on_keys::<C>(direction).gates::<C>(1) * OF_GATE_IN_SCHEDULE,
            |direction| Work::on_bytes::<C>(direction).gates::<C>(1) * OF_GATE,
            |direction| Work::on_keys::<C>(direction).instructions::<C>(|_| LOOK_UP, MAP),
            |direction| Work::on_bytes::<C>(direction).instructions::<C>(|_| LOOK_UP, MAP),
        ];
        steps::<C>(instructions, self.0);
    }

    fn words<C: OnWords + Scheduled>(&mut self) {
        all_registers::<OfWords<C>>(self.0);
        let instructions: Instructions = [
            |direction| Work::on_keys::<C>(direction).gates::<C>(1) * OF_GATE_IN_SCHEDULE,
            |direction| Work::on_words::<C>(direction).gates::<C>(4) * OF_GATE,
            |direction| Work::on_keys::<C>(direction).instructions::<C>(|_| LOOK_UP, MAP),
            |direction| Work::on_words::<C>(direction).instructions::<C>(|_| 4.0 * LOOK_UP, 4.0 * MAP),
        ];
        steps::<C>(instructions, self.0);
    }
}
