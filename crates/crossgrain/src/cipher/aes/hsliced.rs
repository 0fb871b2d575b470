//! AES bit-sliced within 128-bit lanes: word j holds bit j of every byte in a bundle.
//!
//! Layout: `Repr::Hsliced`. Byte p of a 128-bit part is byte p of the state, and its eight bits belong to
//! eight blocks. The whole state is eight registers. S-boxes do not access memory. ShiftRows and the
//! rotations in MixColumns are byte shuffles, so nothing is renumbered and a tile in this representation
//! always has phase 0.
//!
//! Needs `ByteLanes`.
//! Source: Käsper and Schwabe, "Faster and timing-attack resistant AES-GCM" (CHES 2009).

use std::fmt;

use zeroize::Zeroize;

use super::key::RoundKeys;
use super::linear_circuit::double;
use super::steps::Part;
use crate::arch::{ByteLanes, Isa, Kernel, Tile, each};
use crate::block::{Block, Direction};
use crate::circuit::{Bits, aes_sbox};
use crate::kernel::TilePart;

/// The bits of a round key. Byte p of entry j is 0xff if bit j of the key's byte p is set, and 0x00
/// otherwise.
type SlicedKey = [Block; 8];

/// The parts that a kernel computes, with their round keys in this form. Wiped when dropped.
pub struct Sliced<W: ByteLanes> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    keys: Vec<SlicedKey>,
}

impl<W: ByteLanes> Sliced<W> {
    /// A step, a round or the whole cipher, with the key of `round` or all keys.
    pub fn new(isa: W::Isa, part: Part, direction: Direction, keys: &RoundKeys, round: usize) -> Self {
        let constant = |round| if round == 0 { 0 } else { aes_sbox::CONSTANT };
        let keys = match part {
            Part::Cipher => {
                keys.blocks().iter().enumerate().map(|(i, key)| slice_key(key, constant(i))).collect()
            }
            Part::Round => vec![slice_key(&keys.blocks()[round], aes_sbox::CONSTANT)],
            _ => vec![slice_key(&keys.blocks()[round], 0)],
        };
        Self { isa, part, direction, keys }
    }
}

fn slice_key(key: &Block, constant: u8) -> SlicedKey {
    std::array::from_fn(|bit| key.map(|byte| 0_u8.wrapping_sub((byte ^ constant) >> bit & 1)))
}

impl<W: ByteLanes> Drop for Sliced<W> {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().as_flattened_mut().zeroize();
    }
}

impl<W: ByteLanes> fmt::Debug for Sliced<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hsliced::{}({} bits)", self.part.planned().name(self.direction), W::BITS)
    }
}

/// The source index of each byte of a state, for permutations that move columns by `column_step` per row and
/// rotate rows by `row_step`.
const fn permutation(column_step: usize, row_step: usize) -> Block {
    let mut from = [0; 16];
    let mut to = 0;
    while to < 16 {
        let row = (to + row_step) % 4;
        let column = (to / 4 + column_step * row) % 4;
        from[to] = (4 * column + row) as u8;
        to += 1;
    }
    from
}

/// ShiftRows, and rotations of every column by one row and by two.
const SHIFT_ROWS: Block = permutation(1, 0);
const SHIFT_ROWS_ROTATE_1: Block = permutation(1, 1);
const INV_SHIFT_ROWS: Block = permutation(3, 0);
const ROTATE_1: Block = permutation(0, 1);
const ROTATE_2: Block = permutation(0, 2);

#[inline(always)]
fn permute<W: ByteLanes>(isa: W::Isa, state: Bits<W>, from: &Block) -> Bits<W> {
    let from = W::broadcast(isa, from);
    each!(bit < 8 => state[bit].shuffle_bytes(from))
}

#[inline(always)]
fn add_round_key<W: ByteLanes>(isa: W::Isa, state: Bits<W>, key: &SlicedKey) -> Bits<W> {
    each!(bit < 8 => state[bit] ^ W::broadcast(isa, &key[bit]))
}

#[inline(always)]
fn add<W: ByteLanes>(a: Bits<W>, b: Bits<W>) -> Bits<W> {
    each!(bit < 8 => a[bit] ^ b[bit])
}

/// MixColumns, from the columns `a` and `rotated`, the columns rotated by one row: 2·u ⊕ a₁ ⊕ u₂ with u = a ⊕
/// a₁.
#[inline(always)]
fn mix<W: ByteLanes>(isa: W::Isa, a: Bits<W>, rotated: Bits<W>) -> Bits<W> {
    let u = add(a, rotated);
    add(add(double(u), rotated), permute(isa, u, &ROTATE_2))
}

#[inline(always)]
fn mix_columns<W: ByteLanes>(isa: W::Isa, direction: Direction, state: Bits<W>) -> Bits<W> {
    let mut a = state;
    if direction == Direction::Decrypt {
        // Adding four times (aᵢ ⊕ aᵢ₊₂) to every row turns InvMixColumns into MixColumns.
        a = add(a, double(double(add(a, permute(isa, a, &ROTATE_2)))));
    }
    mix(isa, a, permute(isa, a, &ROTATE_1))
}

#[inline(always)]
fn encrypt_round<W: ByteLanes>(isa: W::Isa, state: Bits<W>, key: &SlicedKey) -> Bits<W> {
    let sub = aes_sbox::forward(state);
    let (a, rotated) = (permute(isa, sub, &SHIFT_ROWS), permute(isa, sub, &SHIFT_ROWS_ROTATE_1));
    add_round_key(isa, mix(isa, a, rotated), key)
}

#[inline(always)]
fn decrypt_round<W: ByteLanes>(isa: W::Isa, state: Bits<W>, key: &SlicedKey) -> Bits<W> {
    let mixed = mix_columns(isa, Direction::Decrypt, add_round_key(isa, state, key));
    aes_sbox::inverse(permute(isa, mixed, &INV_SHIFT_ROWS))
}

#[inline(always)]
fn encrypt<W: ByteLanes>(isa: W::Isa, mut state: Bits<W>, keys: &[SlicedKey]) -> Bits<W> {
    let last = keys.len() - 1;
    state = add_round_key(isa, state, &keys[0]);
    for key in &keys[1..last] {
        state = encrypt_round(isa, state, key);
    }
    add_round_key(isa, permute(isa, aes_sbox::forward(state), &SHIFT_ROWS), &keys[last])
}

#[inline(always)]
fn decrypt<W: ByteLanes>(isa: W::Isa, mut state: Bits<W>, keys: &[SlicedKey]) -> Bits<W> {
    let last = keys.len() - 1;
    state = add_round_key(isa, state, &keys[last]);
    state = aes_sbox::inverse(permute(isa, state, &INV_SHIFT_ROWS));
    for key in keys[1..last].iter().rev() {
        state = decrypt_round(isa, state, key);
    }
    add_round_key(isa, state, &keys[0])
}

/// The four NOTs that the circuits omit.
#[inline(always)]
fn add_constant<W: ByteLanes>(state: Bits<W>) -> Bits<W> {
    each!(bit < 8 => if aes_sbox::CONSTANT >> bit & 1 == 1 { !state[bit] } else { state[bit] })
}

impl<W: ByteLanes> Sliced<W> {
    #[inline(always)]
    fn on_bundle(&self, state: Bits<W>) -> Bits<W> {
        let &Self { isa, part, direction, ref keys } = self;
        match (part.in_table(), direction) {
            (Part::AddRoundKey, _) => add_round_key(isa, state, &keys[0]),
            (Part::SubBytes, Direction::Encrypt) => add_constant(aes_sbox::forward(state)),
            (Part::SubBytes, Direction::Decrypt) => aes_sbox::inverse(add_constant(state)),
            (Part::ShiftRows, Direction::Encrypt) => permute(isa, state, &SHIFT_ROWS),
            (Part::ShiftRows, Direction::Decrypt) => permute(isa, state, &INV_SHIFT_ROWS),
            (Part::MixColumns, _) => mix_columns(isa, direction, state),
            (Part::Round, Direction::Encrypt) => encrypt_round(isa, state, &keys[0]),
            (Part::Round, Direction::Decrypt) => decrypt_round(isa, state, &keys[0]),
            (Part::Cipher, Direction::Encrypt) => encrypt(isa, state, keys),
            (Part::Cipher, Direction::Decrypt) => decrypt(isa, state, keys),
        }
    }
}

struct SlicedOnTile<'a, W: ByteLanes>(&'a Sliced<W>, &'a mut Tile, usize);

impl<W: ByteLanes> Kernel for SlicedOnTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(sliced, tile, blocks) = self;
        for bundle in 0..blocks * 16 / W::BITS {
            let words = tile.bundle_mut::<W, 8>(sliced.isa, bundle);
            *words = sliced.on_bundle(*words);
        }
    }
}

impl<W: ByteLanes> TilePart for Sliced<W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(SlicedOnTile::<W>(self, tile, blocks));
    }
}
