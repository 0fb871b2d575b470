//! Rows that also have a kernel with one key per lane.
//!
//! If the planner chooses such a row for one key, its kernel also serves many keys.

use super::{Action, Variant};
use crate::arch::{Features, for_each_register};
use crate::block::{Cipher, Direction, Family};
use crate::cipher::aes;
#[cfg(feature = "serpent")]
use crate::cipher::serpent;
use crate::kernel::own_keys::Keyed;
use crate::layout::repr::Repr;

/// A kernel of a cipher that receives its keys later, one per lane.
pub type BindKeyed = fn(Features, Direction, Cipher) -> Option<Box<dyn Keyed>>;

/// The family and instruction set of a kernel.
pub(crate) type Row = (Family, &'static str, BindKeyed);

/// The kernel of a row; `None` if the row has none.
pub fn keyed(variant: &Variant) -> Option<BindKeyed> {
    let is_whole = matches!(variant.action, Action::Whole(..) | Action::WholeCounter(_));
    if !is_whole || variant.repr != Repr::Blocks {
        return None;
    }
    let (family, isa) = (variant.family?, variant.isa);
    let bind_if_its = |(of, by, bind): Row| (of == family && by == isa).then_some(bind);
    let mut found = None;
    for_each_register!(aes, W => found = found.or(bind_if_its(aes::rows::keyed::<W>())));
    #[cfg(feature = "serpent")]
    {
        found = found.or(bind_if_its(serpent::rows::keyed::<u32>()));
        for_each_register!(all, W => found = found.or(bind_if_its(serpent::rows::keyed::<W>())));
    }
    found
}
