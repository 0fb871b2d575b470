//! Rows for key search of described ciphers.

use super::search::{Comparison, Rounds, Schedule, registers};
use crate::arch::{ByteLanes, Isa, Portable, for_each_register};
use crate::block::Direction;
use crate::cipher::key_lanes::{OfBytes, OfWords, UnderKeys};
use crate::cipher::sbox::Sbox;
use crate::cipher::substitution::{self, Substitution};
use crate::cipher::{Description, Listed, OnBytes, OnWords, Scheduled, Visitor, Work, visit};
use crate::kernel::search::{Step, TableReuse};
use crate::layout::repr::Repr;
use crate::variant::table::{back, bitsliced, by_table, kernel, of};
use crate::variant::{Action, BindSearch, BindStep, Variant};

/// Adds the rows of every description.
pub(crate) fn push(rows: &mut Vec<Variant>) {
    visit(&mut Described(rows));
}

/// The search steps of described ciphers. Schedules are bit-sliced with gates, 64 keys at a time. Rounds are
/// bit-sliced too, and then also convert the round keys, or use look-ups on blocks.
struct Described<'a>(&'a mut Vec<Variant>);

/// Instructions per gate in the bit-sliced rounds of 64 keys, including the conversion of their round keys.
const OF_GATE: f64 = 6.0;

/// Instructions per gate in a bit-sliced schedule, for one key.
const OF_GATE_IN_SCHEDULE: f64 = 0.145;

/// Instructions for the look-up of a byte's substitution, and for a linear map of a byte.
const LOOK_UP: f64 = 4.0;
const MAP: f64 = 18.0;

/// The instructions of the schedule, the bit-sliced rounds and the rounds on blocks. They give the estimated
/// cost of rows without a line in the shipped estimates.
type Instructions = [fn(Direction) -> f64; 3];

/// Adds a row for each step, direction and method.
fn steps<C: Description>([schedule, across, along]: Instructions, rows: &mut Vec<Variant>) {
    for direction in Direction::ALL {
        let bind_schedule: BindStep = |_, cipher, known| Some(Box::new(Schedule::new(cipher, known)));
        let bind_across: BindStep = |_, cipher, known| Some(Box::new(Rounds::<true>::new(cipher, known)));
        let bind_along: BindStep = |_, cipher, known| Some(Box::new(Rounds::<false>::new(cipher, known)));
        rows.push(step::<C>(Step::Schedule, direction, Repr::Blocks, schedule, bind_schedule));
        rows.push(step::<C>(Step::Rounds, direction, bitsliced::<u64>(), across, bind_across));
        rows.push(by_table(step::<C>(Step::Rounds, direction, Repr::Blocks, along, bind_along)));
    }
    let bind: BindStep = |_, _, known| Some(Box::new(Comparison::new(known)));
    rows.push(step::<C>(Step::Comparison, Direction::Encrypt, Repr::Blocks, |_| 12.0, bind));
}

fn step<C: Description>(
    step: Step,
    direction: Direction,
    repr: Repr,
    instructions: fn(Direction) -> f64,
    bind: BindStep,
) -> Variant {
    let stem = format!("{}-{}{}", C::NAMES.family, step.name(), back(direction));
    let row = of::<Portable>(C::FAMILY, &stem, repr, Action::SearchStep(step, direction, bind));
    Variant { instructions: Some(instructions), ..row }
}

/// Additional instructions per key of a list.
const LISTED: f64 = 60.0;

/// Instructions per bundle of a search on registers. An S-box takes two more, for constants.
fn on_registers<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(direction: Direction) -> f64 {
    let of_box = |sbox: &Sbox| Y::instructions(sbox) + 2.0;
    let ((rounds, bytes), schedule) = (U::work(direction), Work::on_keys::<U::Cipher>(direction));
    let [rounds, schedule] =
        [rounds, schedule].map(|work| work.instructions::<U::Cipher>(of_box, Y::INSTRUCTIONS_OF_MAP));
    bytes * rounds + schedule
}

/// Adds a complete search on registers, with a method for the cipher's S-boxes.
fn registers<U: UnderKeys, W: ByteLanes, Y: Substitution<W>>(rows: &mut Vec<Variant>) {
    let bind: BindSearch = |features, cipher, known| {
        Some(Box::new(registers::Search::<U, W, Y>::new(W::Isa::detect(features)?, cipher, known)?))
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
    fn bytes<C: OnBytes + Scheduled>(&mut self) {
        all_registers::<OfBytes<C>>(self.0);
        let instructions: Instructions = [
            |direction| Work::on_bytes::<C>(direction).gates::<C>(1) * OF_GATE_IN_SCHEDULE,
            |direction| Work::on_bytes::<C>(direction).gates::<C>(1) * OF_GATE,
            |direction| Work::on_bytes::<C>(direction).instructions::<C>(|_| LOOK_UP, MAP),
        ];
        steps::<C>(instructions, self.0);
    }

    fn words<C: OnWords + Scheduled>(&mut self) {
        all_registers::<OfWords<C>>(self.0);
        let instructions: Instructions = [
            |direction| Work::on_words::<C>(direction).gates::<C>(4) * OF_GATE_IN_SCHEDULE,
            |direction| Work::on_words::<C>(direction).gates::<C>(4) * OF_GATE,
            |direction| Work::on_words::<C>(direction).instructions::<C>(|_| 4.0 * LOOK_UP, 4.0 * MAP),
        ];
        steps::<C>(instructions, self.0);
    }
}
