//! Rows of described ciphers: the whole cipher on tiles, in every shape and with every method that may be the
//! fastest.
//!
//! * Words of 32 bits are in lanes of registers, with several bundles side by side. A round is one dependency
//!   chain, in which each instruction waits for the one before it.
//! * Bytes take sixteen registers per bundle, so one bundle fills the register file. A second one pays only
//!   if the chains are as long as in Kuznyechik's L.
//! * If a round changes at most half of a block, as in Camellia, it can run over all bundles of a tile in
//!   memory.
//!
//! No CPU has VAES on 512 bits without GFNI, or GFNI on 512 bits without VBMI. Rows that only such a CPU
//! would choose are omitted.

use super::kernels::{BytesOnGates, BytesOnLanes, InPasses, WordsOnGates, WordsOnLanes};
use crate::arch::{ByteLanes, Isa, Lane32, Portable, for_each_register};
use crate::block::Direction;
use crate::cipher::sliced::Integer;
use crate::cipher::substitution::{Galois, Nibbles, PermuteGalois, Rounds, Scan, ScanGalois, Substitution};
use crate::cipher::{self, Description, OnBytes, OnWords, Portion, Scheduled, Visitor, Work, visit};
use crate::kernel::{Keys, Part};
use crate::layout::repr::Repr;
use crate::variant::table::{bitsliced, by, part};
use crate::variant::{BindTile, Variant};

/// Adds the rows of every description.
pub(crate) fn push(rows: &mut Vec<Variant>) {
    visit(&mut Rows(rows));
}

struct Rows<'a>(&'a mut Vec<Variant>);

impl Visitor for Rows<'_> {
    fn bytes<C: OnBytes + Scheduled>(&mut self) {
        let rows = &mut *self.0;
        gates_of_bytes::<C, u64>(rows);
        #[cfg(feature = "steps")]
        gates_of_bytes::<C, u32>(rows);
        // This is a compile-time constant, so kernels without a row are not compiled.
        if C::HAS_STRUCTURE {
            for_each_register!(all, W => bytes::<C, W, Nibbles, 1>(rows));
            for_each_register!(aes_without_galois, W => bytes::<C, W, Rounds, 1>(rows));
            for_each_register!(galois_of_16, W => bytes::<C, W, Galois, 1>(rows));
            for_each_register!(galois_of_32, W => bytes::<C, W, Galois, 1>(rows));
            if C::IN_PASSES {
                for_each_register!(galois_of_32, W => passes::<C, W, Galois>(rows));
            }
        } else {
            for_each_register!(all, W => bytes::<C, W, Scan, 1>(rows));
            for_each_register!(galois_of_16, W => bytes::<C, W, ScanGalois, 1>(rows));
            for_each_register!(byte_tables_and_galois, W => bytes::<C, W, PermuteGalois, 2>(rows));
        }
    }

    fn words<C: OnWords + Scheduled>(&mut self) {
        let rows = &mut *self.0;
        gates_of_words::<C, u64>(rows);
        #[cfg(feature = "steps")]
        gates_of_words::<C, u32>(rows);
        if C::HAS_STRUCTURE {
            for_each_register!(all, W => words::<C, W, Nibbles, 2>(rows));
            for_each_register!(aes_without_galois, W => words::<C, W, Rounds, 4>(rows));
            for_each_register!(galois_of_16, W => words::<C, W, Galois, 1>(rows));
            for_each_register!(galois_of_16, W => words::<C, W, Galois, 4>(rows));
            for_each_register!(galois_of_32, W => words::<C, W, Galois, 1>(rows));
            for_each_register!(galois_of_32, W => words::<C, W, Galois, 2>(rows));
            for_each_register!(galois_of_32, W => words::<C, W, Galois, 4>(rows));
        }
    }
}

/// Instructions per gate on integers. Most of a state's 128 words are in memory.
const OF_GATE: f64 = 2.5;

/// The round keys, if they belong to this cipher.
fn round_keys<'a, C: Description>(keys: &'a Keys<'_>) -> Option<&'a cipher::Keys> {
    keys.round_keys().filter(|keys: &&cipher::Keys| keys.family() == C::FAMILY)
}

/// Adds the rows of a whole cipher in both directions.
fn whole<C: Description, I: Isa>(
    repr: Repr,
    way: &str,
    bind: BindTile,
    instructions: fn(Direction) -> f64,
    rows: &mut Vec<Variant>,
) {
    for direction in Direction::ALL {
        let row = part::<I>(Part::whole(C::FAMILY), direction, repr, bind);
        rows.push(by(way, Variant { instructions: Some(instructions), ..row }));
    }
}

fn bytes<C: OnBytes + Scheduled, W: ByteLanes, Y: Substitution<W>, const N: usize>(rows: &mut Vec<Variant>) {
    let bind: BindTile = |features, _, direction, keys, _| {
        let (isa, keys) = (W::Isa::detect(features)?, round_keys::<C>(keys)?);
        Some(Box::new(BytesOnLanes::<C, W, Y, N>::new(isa, direction, keys.of(direction))?))
    };
    let instructions = |direction| {
        Work::on_bytes::<C>(direction, Portion::All)
            .instructions::<C>(Y::instructions, Y::INSTRUCTIONS_OF_MAP)
    };
    whole::<C, W::Isa>(Repr::Bytesliced { bits: W::BITS }, &way::<W, Y>(N), bind, instructions, rows);
}

fn passes<C: OnBytes + Scheduled, W: ByteLanes, Y: Substitution<W>>(rows: &mut Vec<Variant>) {
    let bind: BindTile = |features, _, direction, keys, _| {
        let (isa, keys) = (W::Isa::detect(features)?, round_keys::<C>(keys)?);
        Some(Box::new(InPasses::<C, W, Y>::new(isa, direction, keys.of(direction))?))
    };
    let instructions = |direction| {
        Work::on_bytes::<C>(direction, Portion::All)
            .instructions::<C>(Y::instructions, Y::INSTRUCTIONS_OF_MAP)
    };
    let way = [Y::NAME, "passes"].join(if Y::NAME.is_empty() { "" } else { "-" });
    whole::<C, W::Isa>(Repr::Bytesliced { bits: W::BITS }, &way, bind, instructions, rows);
}

fn words<C: OnWords + Scheduled, W: ByteLanes + Lane32, Y: Substitution<W>, const N: usize>(
    rows: &mut Vec<Variant>,
) {
    let bind: BindTile = |features, _, direction, keys, _| {
        let (isa, keys) = (W::Isa::detect(features)?, round_keys::<C>(keys)?);
        Some(Box::new(WordsOnLanes::<C, W, Y, N>::new(isa, direction, keys)?))
    };
    // Instructions wait for one another. A single bundle takes about twice the time that the ports need.
    let instructions = |direction| {
        let work = Work::on_words::<C>(direction, Portion::All)
            .instructions::<C>(Y::instructions, Y::INSTRUCTIONS_OF_MAP);
        work * (1.0 + 1.0 / N as f64)
    };
    whole::<C, W::Isa>(Repr::Vsliced { bits: W::BITS }, &way::<W, Y>(N), bind, instructions, rows);
}

/// The suffix that distinguishes rows of one instruction set: the method and the number of bundles side by
/// side.
fn way<W: ByteLanes, Y: Substitution<W>>(bundles: usize) -> String {
    match (Y::NAME, bundles) {
        (name, 1) => name.to_owned(),
        ("", _) => format!("x{bundles}"),
        (name, _) => format!("{name}-x{bundles}"),
    }
}

fn gates_of_bytes<C: OnBytes + Scheduled, W: Integer>(rows: &mut Vec<Variant>) {
    let bind: BindTile = |_, _, direction, keys, _| {
        Some(Box::new(BytesOnGates::<C, W>::new(direction, round_keys::<C>(keys)?)))
    };
    let instructions = |direction| Work::on_bytes::<C>(direction, Portion::All).gates::<C>(1) * OF_GATE;
    whole::<C, Portable>(bitsliced::<W>(), "", bind, instructions, rows);
}

fn gates_of_words<C: OnWords + Scheduled, W: Integer>(rows: &mut Vec<Variant>) {
    let bind: BindTile = |_, _, direction, keys, _| {
        Some(Box::new(WordsOnGates::<C, W>::new(direction, round_keys::<C>(keys)?)))
    };
    let instructions = |direction| Work::on_words::<C>(direction, Portion::All).gates::<C>(4) * OF_GATE;
    whole::<C, Portable>(bitsliced::<W>(), "", bind, instructions, rows);
}
