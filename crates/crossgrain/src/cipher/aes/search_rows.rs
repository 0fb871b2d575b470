//! Rows for AES key search.
//!
//! There are no bit-sliced rows on registers. Every CPU with registers has AES instructions, or byte shuffles
//! that are equally fast.

use super::search::substitute::{Galois, Nibbles, Permute, Substitute};
use super::search::{self, Byte, LaneByte};
use crate::arch::{AesLanes, ByteLanes, Isa, Lane32, for_each_register};
use crate::block::Family;
use crate::circuit::Bits;
use crate::layout::repr::Repr;
use crate::variant::table::{bitsliced, kernel};
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
