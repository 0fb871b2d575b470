//! The rows of Serpent.

use super::key::RoundKeys;
#[cfg(feature = "own-keys")]
use super::own_keys::OwnKeys;
use super::steps::Part as Step;
use super::whole::{FEW, Whole};
use super::{bitsliced as serpent_bitsliced, vsliced};
use crate::arch::{Isa, Lane32, Register, Wiped, for_each_register};
use crate::block::{Direction, Family};
use crate::kernel::fused::{Fused, FusedPart};
use crate::kernel::{Keys, Part};
use crate::layout::repr::Repr;
use crate::variant::table::{bitsliced, by, fused, needed, of, part, whole};
use crate::variant::{Action, BindFused, BindTile, BindWhole, Variant};

/// Adds the rows.
pub(crate) fn push(rows: &mut Vec<Variant>) {
    bitsliced_rows::<u64>(rows);
    #[cfg(feature = "steps")]
    bitsliced_rows::<u32>(rows);
    // Rotations only rename bits. Where they cost instructions, this may be faster than words.
    for_each_register!(many_without_rotations, W => bitsliced_rows::<W>(rows));
    on_words::<u32, FEW>(rows);
    for_each_register!(all, W => on_words::<W, 4>(rows));
    for_each_register!(more_gates, W => on_words::<W, 4>(rows));
}

/// Downcasts a part and keys to those of Serpent.
fn serpent<'a>(part: Part, keys: &'a Keys<'_>) -> Option<(Step, &'a RoundKeys)> {
    Some((Step::of(part)?, keys.round_keys()?))
}

/// The parts of Serpent on tiles that need a row in this direction.
fn serpent_parts(direction: Direction) -> impl Iterator<Item = Part> {
    needed(Step::IN_TABLE, Step::planned, direction)
}

/// Adds bit-sliced rows: parts, rounds and whole cipher.
fn bitsliced_rows<W: Register>(rows: &mut Vec<Variant>) {
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, serpent(part, keys)?);
        Some(Box::new(serpent_bitsliced::Sliced::<W>::new(isa, part, direction, keys, round)))
    };
    for direction in Direction::ALL {
        for step in serpent_parts(direction) {
            rows.push(part::<W::Isa>(step, direction, bitsliced::<W>(), bind));
        }
    }
}

/// Adds rows on four words: parts, rounds, whole cipher on tiles, and whole cipher from blocks to blocks. The whole
/// cipher has `N` bundles side by side, and the names of its rows end with this number.
fn on_words<W: Lane32, const N: usize>(rows: &mut Vec<Variant>) {
    let repr = Repr::Vsliced { bits: W::BITS };
    let side_by_side = &format!("x{N}");
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, serpent(part, keys)?);
        if part == Step::Cipher {
            return Some(Box::new(vsliced::OnTiles::<W, N>::new(isa, direction, keys)));
        }
        Some(Box::new(vsliced::Step::<W>::new(isa, part, direction, keys, round)?))
    };
    let bind_whole: BindWhole = |features, direction, keys| {
        let isa = W::Isa::detect(features)?;
        Some(Wiped::new(Whole::<W, N>::new(isa, direction, keys.round_keys()?)).as_dyn(|kernel| kernel))
    };
    for direction in Direction::ALL {
        for step in serpent_parts(direction) {
            let row = part::<W::Isa>(step, direction, repr, bind);
            rows.push(if step == Part::whole(Family::Serpent) { by(side_by_side, row) } else { row });
        }
        rows.push(by(side_by_side, whole::<W::Isa>(Family::Serpent, direction, bind_whole)));
    }
    let counter = Action::WholeCounter(bind_whole);
    rows.push(by(side_by_side, of::<W::Isa>(Family::Serpent, "serpent-ctr", Repr::Blocks, counter)));
    let chains: BindFused = |features, direction, keys| {
        let isa = W::Isa::detect(features)?;
        let kernel = Whole::<W, N>::new(isa, direction, keys.round_keys()?);
        Some(FusedPart::Chains(Wiped::new(kernel).as_dyn(|kernel| kernel)))
    };
    rows.push(by(side_by_side, fused::<W::Isa>(Family::Serpent, Fused::Chains, Direction::Encrypt, chains)));
    #[cfg(feature = "own-keys")]
    for direction in Direction::ALL {
        rows.push(fused::<W::Isa>(
            Family::Serpent,
            Fused::OwnKeys,
            direction,
            |features, direction, keys| {
                let isa = W::Isa::detect(features)?;
                let kernel =
                    OwnKeys::<W>::new(isa, direction, keys.key_of(Family::Serpent)?.cipher().key_bytes());
                Some(FusedPart::OwnKeys(Wiped::new(kernel).as_dyn(|kernel| kernel)))
            },
        ));
    }
}
