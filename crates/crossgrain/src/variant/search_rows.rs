//! The rows that search for keys, a part of the table with the feature `search`: no other job takes them, and they are a
//! third of what kernels cost to compile.
//!
//! Bits of registers are no rows for AES: every CPU that has them has AES instructions, or byte shuffles that are as fast.

use super::table::{bitsliced, by, of};
use super::{Action, BindSearch, Variant};
use crate::block::{Direction, Family};
use crate::cipher::{Description, OnBytes, OnWords, Visitor, Work, visit};
use crate::circuit::Bits;
use crate::part::aes::search::{Byte, LaneByte};
use crate::part::aes::substitute::{Galois, Nibbles, Permute, Substitute};
use crate::part::described_search::Search;
use crate::part::{aes, serpent};
use crate::repr::Repr;
use crate::word::{
    AesLanes, AesWord128, AesWord256, AesWord512, ByteLanes, GfniWord256, GfniWord512, Isa, Lane32, Portable,
    VbmiWord512, Word128, Word256, Word512,
};

/// Adds them all.
pub(super) fn push(rows: &mut Vec<Variant>) {
    aes_search::<Bits<u64>>(bitsliced::<u64>(), "", rows);
    aes_search_by::<Word128, Nibbles<Word128>>(rows);
    aes_search_by::<Word256, Nibbles<Word256>>(rows);
    aes_search_by::<VbmiWord512, Permute<VbmiWord512>>(rows);
    aes_search_by::<GfniWord256, Galois>(rows);
    aes_search_by::<GfniWord512, Galois>(rows);
    aes_search_in_blocks::<AesWord128>(rows);
    aes_search_in_blocks::<AesWord256>(rows);
    aes_search_in_blocks::<AesWord512>(rows);
    serpent_search::<u32>(rows);
    serpent_search::<Word128>(rows);
    serpent_search::<Word256>(rows);
    serpent_search::<Word512>(rows);
    visit(&mut Described(rows));
}

/// Instructions that a gate of the rounds comes to: schedules, a key after another, take fifteen times as long as the rounds.
const OF_GATE: f64 = 40.0;

/// The rows of ciphers that are described once.
struct Described<'a>(&'a mut Vec<Variant>);

impl Described<'_> {
    fn push<C: Description>(&mut self, gates: fn(Direction) -> f64) {
        let bind: BindSearch = |_, cipher, known| {
            let search = (cipher.family() == C::FAMILY).then(|| Search::new(cipher, known))??;
            Some(Box::new(search))
        };
        let row = of::<Portable>(C::FAMILY, C::NAMES.search, bitsliced::<u64>(), Action::Search(bind));
        self.0.push(Variant { instructions: Some(gates), ..row });
    }
}

impl Visitor for Described<'_> {
    fn bytes<C: OnBytes>(&mut self) {
        self.push::<C>(|direction| Work::on_bytes::<C>(direction).gates::<C>(1) * OF_GATE);
    }

    fn words<C: OnWords>(&mut self) {
        self.push::<C>(|direction| Work::on_words::<C>(direction).gates::<C>(4) * OF_GATE);
    }
}

/// Search for a key of AES, a byte of all lanes at a time.
fn aes_search<B: LaneByte>(repr: Repr, way: &str, rows: &mut Vec<Variant>) {
    let bind: BindSearch =
        |features, cipher, known| aes::search::search::<B>(B::Isa::detect(features)?, cipher, known);
    rows.push(by(way, of::<B::Isa>(Family::Aes, "aes-search", repr, Action::Search(bind))));
}

/// The same with one byte per lane.
fn aes_search_by<W: ByteLanes, S: Substitute<W> + 'static>(rows: &mut Vec<Variant>) {
    aes_search::<Byte<W, S>>(Repr::Bytesliced { bits: W::BITS }, S::NAME, rows);
}

/// The same by AES instructions.
fn aes_search_in_blocks<W: AesLanes + Lane32>(rows: &mut Vec<Variant>) {
    let bind: BindSearch = |features, cipher, known| {
        aes::search::instructions::search::<W>(W::Isa::detect(features)?, cipher, known)
    };
    rows.push(of::<W::Isa>(Family::Aes, "aes-search", Repr::Blocks, Action::Search(bind)));
}

/// Search for a key of Serpent.
fn serpent_search<W: Lane32>(rows: &mut Vec<Variant>) {
    let bind: BindSearch = |features, cipher, known| {
        let search = serpent::search::Search::<W>::new(W::Isa::detect(features)?, cipher, known)?;
        Some(Box::new(search))
    };
    let repr = Repr::Vsliced { bits: W::BITS };
    rows.push(of::<W::Isa>(Family::Serpent, "serpent-search", repr, Action::Search(bind)));
}
