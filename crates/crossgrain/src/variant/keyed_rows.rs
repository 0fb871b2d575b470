//! Which rows have a kernel that takes one key for each lane.
//!
//! What the planner chooses for one key runs for many, if that row has such a kernel.

use super::{Action, Variant};
use crate::block::{Cipher, Direction, Family};
use crate::part::aes;
use crate::part::own_keys::Keyed;
#[cfg(feature = "serpent")]
use crate::part::serpent;
use crate::repr::Repr;
use crate::word::{AesLanes, AesWord128, AesWord256, AesWord512, Features, Isa, Lane32};
#[cfg(feature = "serpent")]
use crate::word::{Word128, Word256, Word512};

/// A kernel of a cipher that is given keys later, one for each lane.
pub type BindKeyed = fn(Features, Direction, Cipher) -> Option<Box<dyn Keyed>>;

/// Whose kernel it is, and by which instructions.
type Row = (Family, &'static str, BindKeyed);

/// The kernel of a row, where it has one.
pub fn keyed(variant: &Variant) -> Option<BindKeyed> {
    let is_whole = matches!(variant.action, Action::Whole(..) | Action::WholeCounter(_));
    let rows: &[Row] = &[
        aes::<AesWord128>(),
        aes::<AesWord256>(),
        aes::<AesWord512>(),
        #[cfg(feature = "serpent")]
        serpent::<u32>(),
        #[cfg(feature = "serpent")]
        serpent::<Word128>(),
        #[cfg(feature = "serpent")]
        serpent::<Word256>(),
        #[cfg(feature = "serpent")]
        serpent::<Word512>(),
    ];
    let is_its = |row: &&Row| variant.family == Some(row.0) && variant.isa == row.1;
    let row = rows.iter().filter(|_| is_whole && variant.repr == Repr::Blocks).find(is_its)?;
    Some(row.2)
}

fn aes<W: AesLanes + Lane32>() -> Row {
    let bind: BindKeyed = |features, direction, cipher| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(aes::own_keys::OwnKeys::<W>::new(isa, direction, cipher.key_bytes())))
    };
    (Family::Aes, W::Isa::NAME, bind)
}

#[cfg(feature = "serpent")]
fn serpent<W: Lane32>() -> Row {
    let bind: BindKeyed = |features, direction, cipher| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(serpent::own_keys::OwnKeys::<W>::new(isa, direction, cipher.key_bytes())))
    };
    (Family::Serpent, W::Isa::NAME, bind)
}
