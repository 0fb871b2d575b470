//! Rows for key search of described ciphers.

#[cfg(feature = "search-steps")]
use super::search::steps::{FIRST, LAST, OnBytes, SCHEDULE};
use super::search::{Rounds, Schedule, TableRounds, TableSchedule, registers};
use crate::arch::{ByteLanes, Isa, Portable, for_each_register};
use crate::block::Direction;
use crate::cipher::sbox::Sbox;
use crate::cipher::substitution::{self, Substitution};
use crate::cipher::under_keys::{OfBytes, OfWords, UnderKeys};
use crate::cipher::{self, Description, Listed, OnWords, Portion, Scheduled, Visitor, Work, visit};
use crate::kernel::search::{Step, TableReuse};
use crate::layout::repr::Repr;
#[cfg(feature = "search-steps")]
use crate::variant::table::by;
use crate::variant::table::{bitsliced, by_table, kernel, step};
use crate::variant::{Action, BindSearch, BindStep, Variant};

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

/// Instructions for the look-up of a byte's substitution, for a linear map of a byte, and for copies of a block and
/// its round keys.
const LOOK_UP: f64 = 4.0;
const MAP: f64 = 9.0;
const COPIED: f64 = 60.0;

/// The instructions of the steps in order: the schedule, the first rounds and the last ones. They give the
/// estimated cost of rows without a line in the shipped estimates.
type Instructions = [fn(Direction) -> f64; 3];

/// Adds a row for each step and direction: on bits, and on blocks by table look-ups.
fn steps<C: Description>([across, along]: [Instructions; 2], rows: &mut Vec<Variant>) {
    let (bits, family) = (bitsliced::<u64>(), C::FAMILY);
    for direction in Direction::ALL {
        let push = |of, repr, bind, instructions| {
            step::<Portable>(family, of, Some(direction), repr, bind, instructions)
        };
        let on_bits: [BindStep; 3] = [
            |_, cipher, known| Some(Box::new(Schedule::new(cipher, known))),
            |_, cipher, known| Some(Box::new(Rounds::new(Portion::First, cipher, known))),
            |_, cipher, known| Some(Box::new(Rounds::new(Portion::Last, cipher, known))),
        ];
        let on_blocks: [BindStep; 3] = [
            |_, cipher, known| Some(Box::new(TableSchedule(Schedule::new(cipher, known)))),
            |_, cipher, known| Some(Box::new(TableRounds(Rounds::new(Portion::First, cipher, known)))),
            |_, cipher, known| Some(Box::new(TableRounds(Rounds::new(Portion::Last, cipher, known)))),
        ];
        for (at, of) in STEPS.into_iter().enumerate() {
            rows.push(push(of, bits, on_bits[at], across[at]));
            rows.push(by_table(push(of, Repr::Blocks, on_blocks[at], along[at])));
        }
    }
}

/// The steps before the comparison.
const STEPS: [Step; 3] = [Step::Schedule, Step::FirstRounds, Step::LastRounds];

/// Factor for the loads and stores of round keys between the steps.
#[cfg(feature = "search-steps")]
const STORED: f64 = 1.6;

/// Adds the steps on bytes in registers, with a method for the cipher's S-boxes.
#[cfg(feature = "search-steps")]
fn on_bytes<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(rows: &mut Vec<Variant>) {
    fn bind<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize>() -> BindStep {
        |features, cipher, known| {
            Some(Box::new(OnBytes::<U, W, Y, STEP>::new(W::Isa::detect(features)?, cipher, known)?))
        }
    }
    let (repr, family) = (Repr::Bytesliced { bits: W::BITS }, <U::Cipher as Listed>::FAMILY);
    let binds = [bind::<U, W, Y, SCHEDULE>(), bind::<U, W, Y, FIRST>(), bind::<U, W, Y, LAST>()];
    let instructions: Instructions = [
        |direction| STORED * in_schedule::<U, W, Y>(direction),
        |direction| STORED * in_rounds::<U, W, Y>(direction, Portion::First),
        |direction| STORED * in_rounds::<U, W, Y>(direction, Portion::Last),
    ];
    for direction in Direction::ALL {
        for (at, of) in STEPS.into_iter().enumerate() {
            let row = step::<W::Isa>(family, of, Some(direction), repr, binds[at], instructions[at]);
            rows.push(by(Y::NAME, row));
        }
    }
}

/// Additional instructions per key of a list.
const LISTED: f64 = 8.0;

/// Instructions per bundle of a search on registers: schedule and rounds.
fn on_registers<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(direction: Direction) -> f64 {
    in_schedule::<U, W, Y>(direction) + in_rounds::<U, W, Y>(direction, Portion::All)
}

/// The same for the schedule alone. An S-box takes two more, for constants.
fn in_schedule<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(direction: Direction) -> f64 {
    let of_box = |sbox: &Sbox| Y::instructions(sbox) + 2.0;
    Work::on_keys::<U::Cipher>(direction).instructions::<U::Cipher>(of_box, Y::INSTRUCTIONS_OF_MAP)
}

/// The same for a portion of the rounds alone.
fn in_rounds<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(direction: Direction, portion: Portion) -> f64 {
    let of_box = |sbox: &Sbox| Y::instructions(sbox) + 2.0;
    let (rounds, bytes) = U::work(direction, portion);
    bytes * rounds.instructions::<U::Cipher>(of_box, Y::INSTRUCTIONS_OF_MAP)
}

/// Adds a complete search on registers, with a method for the cipher's S-boxes.
fn complete<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(rows: &mut Vec<Variant>) {
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
}

/// Adds complete searches on every register, with the methods that may be the fastest.
fn all_registers<U: UnderKeys>(rows: &mut Vec<Variant>) {
    if U::Cipher::HAS_STRUCTURE {
        for_each_register!(all, W => complete::<U, W, substitution::Nibbles>(rows));
        for_each_register!(galois_of_16, W => complete::<U, W, substitution::Galois>(rows));
        for_each_register!(galois_of_32, W => complete::<U, W, substitution::Galois>(rows));
    } else {
        for_each_register!(all, W => complete::<U, W, substitution::Scan>(rows));
        for_each_register!(galois_of_16, W => complete::<U, W, substitution::ScanGalois>(rows));
        for_each_register!(byte_tables_and_galois, W => complete::<U, W, substitution::PermuteGalois>(rows));
    }
    #[cfg(feature = "search-steps")]
    steps_on_registers::<U>(rows);
}

/// Adds the steps on bytes. Complete searches are at least as fast, so the steps do not have every register.
#[cfg(feature = "search-steps")]
fn steps_on_registers<U: UnderKeys>(rows: &mut Vec<Variant>) {
    if U::Cipher::HAS_STRUCTURE {
        for_each_register!(widest_without_byte_tables, W => on_bytes::<U, W, substitution::Nibbles>(rows));
        for_each_register!(galois_of_16, W => on_bytes::<U, W, substitution::Galois>(rows));
        for_each_register!(galois_of_32, W => on_bytes::<U, W, substitution::Galois>(rows));
    } else {
        for_each_register!(widest_without_byte_tables, W => on_bytes::<U, W, substitution::Scan>(rows));
        for_each_register!(byte_tables_and_galois, W => on_bytes::<U, W, substitution::PermuteGalois>(rows));
    }
}

impl Visitor for Described<'_> {
    fn bytes<C: cipher::OnBytes + Scheduled>(&mut self) {
        fn looked_up<C: cipher::OnBytes + Scheduled>(direction: Direction, portion: Portion) -> f64 {
            COPIED + Work::on_bytes::<C>(direction, portion).instructions::<C>(|_| LOOK_UP, MAP)
        }
        all_registers::<OfBytes<C>>(self.0);
        let across: Instructions = [
            |direction| Work::on_keys::<C>(direction).gates::<C>(1) * OF_GATE_IN_SCHEDULE,
            |direction| Work::on_bytes::<C>(direction, Portion::First).gates::<C>(1) * OF_GATE,
            |direction| Work::on_bytes::<C>(direction, Portion::Last).gates::<C>(1) * OF_GATE,
        ];
        let along: Instructions = [
            |direction| Work::on_keys::<C>(direction).instructions::<C>(|_| LOOK_UP, MAP),
            |direction| looked_up::<C>(direction, Portion::First),
            |direction| looked_up::<C>(direction, Portion::Last),
        ];
        steps::<C>([across, along], self.0);
    }

    fn words<C: OnWords + Scheduled>(&mut self) {
        fn looked_up<C: OnWords + Scheduled>(direction: Direction, portion: Portion) -> f64 {
            COPIED + Work::on_words::<C>(direction, portion).instructions::<C>(|_| 4.0 * LOOK_UP, 4.0 * MAP)
        }
        all_registers::<OfWords<C>>(self.0);
        let across: Instructions = [
            |direction| Work::on_keys::<C>(direction).gates::<C>(1) * OF_GATE_IN_SCHEDULE,
            |direction| Work::on_words::<C>(direction, Portion::First).gates::<C>(4) * OF_GATE,
            |direction| Work::on_words::<C>(direction, Portion::Last).gates::<C>(4) * OF_GATE,
        ];
        let along: Instructions = [
            |direction| Work::on_keys::<C>(direction).instructions::<C>(|_| LOOK_UP, MAP),
            |direction| looked_up::<C>(direction, Portion::First),
            |direction| looked_up::<C>(direction, Portion::Last),
        ];
        steps::<C>([across, along], self.0);
    }
}
