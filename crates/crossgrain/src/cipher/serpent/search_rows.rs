//! Rows for Serpent key search.

use super::search::Search;
use crate::arch::{Isa, Lane32, for_each_register};
use crate::block::Family;
use crate::layout::repr::Repr;
use crate::variant::table::kernel;
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
