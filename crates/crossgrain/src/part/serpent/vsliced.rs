//! Serpent on its own four words: word i of a bundle holds word i of every block, a block a 32-bit lane.
//!
//! Layout: `Repr::Vsliced`. Needs: `Lane32`. Source: the submission's bit-slice description.

use super::key::{RoundKey, RoundKeys};
use super::{Part, ROUNDS};
use crate::block::Direction;
use crate::circuit::serpent_sbox;
use crate::part::TilePart;
use crate::word::{Isa, Kernel, Lane32, Tile, each, unrolled};

type State<W> = [W; 4];

#[inline(always)]
fn mix_key<W: Lane32>(isa: W::Isa, state: State<W>, key: &RoundKey) -> State<W> {
    each!(i < 4 => state[i] ^ W::splat_lanes(isa, key[i]))
}

/// The linear transformation.
#[inline(always)]
fn transform<W: Lane32>([x0, x1, x2, x3]: State<W>) -> State<W> {
    let x0 = x0.rotate_lanes_left::<13>();
    let x2 = x2.rotate_lanes_left::<3>();
    let x1 = (x1 ^ x0 ^ x2).rotate_lanes_left::<1>();
    let x3 = (x3 ^ x2 ^ x0.shift_lanes_left::<3>()).rotate_lanes_left::<7>();
    let x0 = (x0 ^ x1 ^ x3).rotate_lanes_left::<5>();
    let x2 = (x2 ^ x3 ^ x1.shift_lanes_left::<7>()).rotate_lanes_left::<22>();
    [x0, x1, x2, x3]
}

/// Its inverse: the same steps undone, last first.
#[inline(always)]
fn inv_transform<W: Lane32>([x0, x1, x2, x3]: State<W>) -> State<W> {
    let x2 = x2.rotate_lanes_left::<{ 32 - 22 }>() ^ x3 ^ x1.shift_lanes_left::<7>();
    let x0 = x0.rotate_lanes_left::<{ 32 - 5 }>() ^ x1 ^ x3;
    let x3 = x3.rotate_lanes_left::<{ 32 - 7 }>() ^ x2 ^ x0.shift_lanes_left::<3>();
    let x1 = x1.rotate_lanes_left::<{ 32 - 1 }>() ^ x0 ^ x2;
    [x0.rotate_lanes_left::<{ 32 - 13 }>(), x1, x2.rotate_lanes_left::<{ 32 - 3 }>(), x3]
}

#[inline(always)]
fn encrypt<W: Lane32>(isa: W::Isa, mut state: State<W>, keys: &[RoundKey; ROUNDS + 1]) -> State<W> {
    for first in (0..ROUNDS).step_by(8) {
        unrolled!(index in [0 1 2 3 4 5 6 7] {
            state = serpent_sbox::forward(index, mix_key(isa, state, &keys[first + index]));
            if first + index < ROUNDS - 1 {
                state = transform(state);
            }
        });
    }
    mix_key(isa, state, &keys[ROUNDS])
}

#[inline(always)]
fn decrypt<W: Lane32>(isa: W::Isa, mut state: State<W>, keys: &[RoundKey; ROUNDS + 1]) -> State<W> {
    state = mix_key(isa, state, &keys[ROUNDS]);
    for first in (0..ROUNDS).step_by(8).rev() {
        unrolled!(index in [7 6 5 4 3 2 1 0] {
            if first + index < ROUNDS - 1 {
                state = inv_transform(state);
            }
            state = mix_key(isa, serpent_sbox::inverse(index, state), &keys[first + index]);
        });
    }
    state
}

/// A part of Serpent, of any length, with its round keys.
#[derive(Debug)]
pub struct Words<W: Lane32> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    keys: RoundKeys,
    round: usize,
}

impl<W: Lane32> Words<W> {
    /// A part of the given round.
    pub fn new(isa: W::Isa, part: Part, direction: Direction, keys: &RoundKeys, round: usize) -> Self {
        Self { isa, part, direction, keys: keys.clone(), round }
    }

    #[inline(always)]
    fn on_bundle(&self, state: State<W>) -> State<W> {
        let Self { isa, part, direction, round, .. } = *self;
        let keys = self.keys.words();
        match (part, direction) {
            (Part::KeyMixing, _) => mix_key(isa, state, &keys[round]),
            (Part::SBoxes, Direction::Encrypt) => serpent_sbox::forward(round % 8, state),
            (Part::SBoxes, Direction::Decrypt) => serpent_sbox::inverse(round % 8, state),
            (Part::LinearTransform, Direction::Encrypt) => transform(state),
            (Part::LinearTransform, Direction::Decrypt) => inv_transform(state),
            (Part::Round, Direction::Encrypt) => {
                transform(serpent_sbox::forward(round % 8, mix_key(isa, state, &keys[round])))
            }
            (Part::Round, Direction::Decrypt) => {
                mix_key(isa, serpent_sbox::inverse(round % 8, inv_transform(state)), &keys[round])
            }
            (Part::Cipher, Direction::Encrypt) => encrypt(isa, state, keys),
            (Part::Cipher, Direction::Decrypt) => decrypt(isa, state, keys),
        }
    }
}

impl<W: Lane32> TilePart for Words<W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(OnTile::<W>(self, tile, blocks));
    }
}

struct OnTile<'a, W: Lane32>(&'a Words<W>, &'a mut Tile, usize);

impl<W: Lane32> Kernel for OnTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(words, tile, blocks) = self;
        for bundle in 0..32 * blocks / W::BITS {
            let state = tile.bundle_mut::<W, 4>(words.isa, bundle);
            *state = words.on_bundle(*state);
        }
    }
}
