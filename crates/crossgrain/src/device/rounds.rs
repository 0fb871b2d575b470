//! Whole rounds as bit circuits for hardware, built from the same source as the parts.
//!
//! Inputs 0 to 127 are the state, 128 to 255 the round key; the outputs are the next state. Bit 8·i + j is
//! bit j of byte i, with bit 0 the least significant.
//!
//! * AES encryption: SubBytes, ShiftRows, MixColumns, AddRoundKey.
//! * AES decryption: InvShiftRows, InvSubBytes, AddRoundKey, InvMixColumns (FIPS 197 §5.1 and §5.3).
//! * Serpent, round i: add the key, then S-box i modulo 8 and the linear transformation. The inverse round
//!   undoes these steps.

use super::Task;
use crate::arch::each;
use crate::cipher::aes::gpu as aes;
use crate::cipher::serpent::{gpu as serpent, sbox_circuit as serpent_sbox};
use crate::circuit::named::{Named, add_constant};
use crate::circuit::trace::{Sym, trace};
use crate::circuit::{Bits, aes_sbox};

const AES: &str = "a round of AES: the state, and then the round key";
const SERPENT: &str = "a round of Serpent: the state, and then the round key";

macro_rules! serpent {
    ($name:literal, $round:ident, $index:literal) => {
        Named::new($name, SERPENT, |width| trace(width, |x| $round($index, x)))
    };
}

/// The four bytes of a column.
type Column = [Bits<Sym>; 4];

/// All rounds.
pub const ALL: [Named; 18] = [
    Named::new("aes-round", AES, |width| trace(width, aes_round)),
    Named::new("aes-inverse-round", AES, |width| trace(width, aes_inverse_round)),
    serpent!("serpent-round-0", serpent_round, 0),
    serpent!("serpent-round-1", serpent_round, 1),
    serpent!("serpent-round-2", serpent_round, 2),
    serpent!("serpent-round-3", serpent_round, 3),
    serpent!("serpent-round-4", serpent_round, 4),
    serpent!("serpent-round-5", serpent_round, 5),
    serpent!("serpent-round-6", serpent_round, 6),
    serpent!("serpent-round-7", serpent_round, 7),
    serpent!("serpent-inverse-round-0", serpent_inverse_round, 0),
    serpent!("serpent-inverse-round-1", serpent_inverse_round, 1),
    serpent!("serpent-inverse-round-2", serpent_inverse_round, 2),
    serpent!("serpent-inverse-round-3", serpent_inverse_round, 3),
    serpent!("serpent-inverse-round-4", serpent_inverse_round, 4),
    serpent!("serpent-inverse-round-5", serpent_inverse_round, 5),
    serpent!("serpent-inverse-round-6", serpent_inverse_round, 6),
    serpent!("serpent-inverse-round-7", serpent_inverse_round, 7),
];

/// The round with this name.
pub fn find(name: &str) -> Option<Named> {
    ALL.into_iter().find(|round| round.name == name)
}

/// The bytes of the state, then those of the key.
fn bytes(x: &[Sym; 256]) -> [Bits<Sym>; 32] {
    each!(byte < 32 => each!(bit < 8 => x[8 * byte + bit]))
}

/// The state whose column c is `mixed` of four substituted bytes and the key. Row r is taken from column `c +
/// step·r`.
fn columns(
    x: &[Sym; 256],
    step: usize,
    s_box: fn(Bits<Sym>) -> Bits<Sym>,
    mixed: fn(Column, Column) -> Column,
) -> [Sym; 128] {
    let bytes = bytes(x);
    let column = |column: usize| {
        let moved = each!(row < 4 => s_box(bytes[4 * ((column + step * row) % 4) + row]));
        mixed(moved, each!(row < 4 => bytes[16 + 4 * column + row]))
    };
    let columns = each!(at < 4 => column(at));
    each!(at < 128 => columns[at / 32][at / 8 % 4][at % 8])
}

fn aes_round(x: [Sym; 256]) -> [Sym; 128] {
    columns(&x, 1, |byte| add_constant(aes_sbox::forward(byte)), aes::mix_forwards)
}

fn aes_inverse_round(x: [Sym; 256]) -> [Sym; 128] {
    columns(&x, 3, |byte| aes_sbox::inverse(add_constant(byte)), aes::mix_backwards)
}

/// Applies an S-box to the four words of a state.
fn substituted(x: [Sym; 128], s_box: impl Fn([Sym; 4]) -> [Sym; 4]) -> [Sym; 128] {
    let places = each!(place < 32 => s_box(each!(word < 4 => x[32 * word + place])));
    each!(at < 128 => places[at % 32][at / 32])
}

fn serpent_round(index: usize, x: [Sym; 256]) -> [Sym; 128] {
    let keyed = each!(at < 128 => x[at] ^ x[128 + at]);
    serpent::on_bits(Task::Encrypt, substituted(keyed, |x| serpent_sbox::forward(index, x)))
}

fn serpent_inverse_round(index: usize, x: [Sym; 256]) -> [Sym; 128] {
    let state = serpent::on_bits(Task::Decrypt, each!(at < 128 => x[at]));
    let state = substituted(state, |x| serpent_sbox::inverse(index, x));
    each!(at < 128 => state[at] ^ x[128 + at])
}
