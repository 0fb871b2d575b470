//! Serpent on its four words. Word i of a bundle holds word i of every block, one block per 32-bit lane.
//!
//! The state of a bundle is four registers, and a round is one chain of dependent gates. Whole ciphers
//! therefore process several bundles side by side. Their number is a parameter, which the rows choose.
//!
//! Layout: `Repr::Vsliced`.
//! Needs `Lane32`.
//! Source: the submission's bit-slice description.

use std::fmt;

use super::description::{ROUNDS, RoundKey, inv_transform, transform};
use super::key::RoundKeys;
use super::sbox_circuit::{self, forward_but_constant, inverse_but_constant};
use super::steps::Part;
use crate::arch::{Isa, Kernel, Lane32, TILE_BYTES, Tile, each, unrolled};
use crate::block::Direction;
use crate::kernel::TilePart;

/// The four words of a bundle.
pub(super) type State<W> = [W; 4];

/// A round key for some bundles: the same key for all lanes, or one key per lane.
pub(super) trait Key<W: Lane32> {
    /// The state of a bundle with the key added.
    fn mixed(&self, isa: W::Isa, state: State<W>, bundle: usize) -> State<W>;
}

impl<W: Lane32> Key<W> for RoundKey {
    #[inline(always)]
    fn mixed(&self, isa: W::Isa, state: State<W>, _bundle: usize) -> State<W> {
        mix_key(isa, state, self)
    }
}

/// The keys of a cipher in the order of their numbers.
type Keys<K> = [K; ROUNDS + 1];

#[inline(always)]
fn mix_key<W: Lane32>(isa: W::Isa, state: State<W>, key: &RoundKey) -> State<W> {
    each!(i < 4 => state[i] ^ W::splat_lanes(isa, key[i]))
}

/// The cipher on several bundles. The keys are added before the linear transformation
/// ([`RoundKeys::before_transform`]) and include the constants that the S-boxes omit.
#[inline(always)]
pub(super) fn encrypt<W: Lane32, K: Key<W>, const N: usize>(
    isa: W::Isa,
    mut states: [State<W>; N],
    keys: &Keys<K>,
) -> [State<W>; N] {
    let key = &keys[0];
    states = each!(n < N => key.mixed(isa, states[n], n));
    for first in (0..ROUNDS).step_by(8) {
        unrolled!(index in [0 1 2 3 4 5 6 7] {
            let key = &keys[first + index + 1];
            if first + index < ROUNDS - 1 {
                states = each!(n < N => transform(key.mixed(isa, forward_but_constant(index, states[n]), n)));
            } else {
                states = each!(n < N => key.mixed(isa, forward_but_constant(index, states[n]), n));
            }
        });
    }
    states
}

/// The inverse cipher on several bundles. The keys include the constants of the inverse S-boxes.
#[inline(always)]
pub(super) fn decrypt<W: Lane32, K: Key<W>, const N: usize>(
    isa: W::Isa,
    mut states: [State<W>; N],
    keys: &Keys<K>,
) -> [State<W>; N] {
    let key = &keys[ROUNDS];
    states = each!(n < N => key.mixed(isa, states[n], n));
    for first in (0..ROUNDS).step_by(8).rev() {
        unrolled!(index in [7 6 5 4 3 2 1 0] {
            if first + index < ROUNDS - 1 {
                states = each!(n < N => inv_transform(states[n]));
            }
            let key = &keys[first + index];
            states = each!(n < N => key.mixed(isa, inverse_but_constant(index, states[n]), n));
        });
    }
    states
}

/// The whole cipher in one direction, with its keys in the form for that direction.
pub struct Cipher<W: Lane32> {
    isa: W::Isa,
    direction: Direction,
    keys: RoundKeys,
}

impl<W: Lane32> Cipher<W> {
    /// The cipher in one direction.
    pub fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        let keys = match direction {
            Direction::Encrypt => {
                keys.before_transform().with_constants(1, sbox_circuit::forward_constant::<W>)
            }
            Direction::Decrypt => keys.clone().with_constants(0, sbox_circuit::inverse_constant::<W>),
        };
        Self::with_mixed(isa, direction, keys)
    }

    /// The same, from keys in the form that the direction adds.
    pub(super) const fn with_mixed(isa: W::Isa, direction: Direction, keys: RoundKeys) -> Self {
        Self { isa, direction, keys }
    }
}

/// A whole cipher on bundles in registers. Its method must be `#[inline(always)]`, like that of a kernel.
pub(super) trait OnBundles<W: Lane32> {
    /// `N` bundles side by side.
    fn on_bundles<const N: usize>(&self, states: [State<W>; N]) -> [State<W>; N];

    /// The same for keys that encrypt. Kernels of modes that only encrypt are half as long with it.
    fn encrypted<const N: usize>(&self, states: [State<W>; N]) -> [State<W>; N];
}

impl<W: Lane32> OnBundles<W> for Cipher<W> {
    #[inline(always)]
    fn on_bundles<const N: usize>(&self, states: [State<W>; N]) -> [State<W>; N] {
        match self.direction {
            Direction::Encrypt => self.encrypted(states),
            Direction::Decrypt => decrypt(self.isa, states, self.keys.words()),
        }
    }

    #[inline(always)]
    fn encrypted<const N: usize>(&self, states: [State<W>; N]) -> [State<W>; N] {
        debug_assert_eq!(self.direction, Direction::Encrypt);
        encrypt(self.isa, states, self.keys.words())
    }
}

impl<W: Lane32> fmt::Debug for Cipher<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher({} bits, {:?}, secret)", W::BITS, self.direction)
    }
}

/// The whole cipher on tiles, with `N` bundles side by side. These may extend past the requested blocks; the
/// tile then holds meaningless data there.
#[derive(Debug)]
pub struct OnTiles<W: Lane32, const N: usize>(Cipher<W>);

impl<W: Lane32, const N: usize> OnTiles<W, N> {
    /// The cipher in one direction.
    pub fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        const { assert!(TILE_BYTES.is_multiple_of(4 * N * W::BYTES)) };
        Self(Cipher::new(isa, direction, keys))
    }
}

impl<W: Lane32, const N: usize> TilePart for OnTiles<W, N> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.0.isa.enter(CipherOnTile::<W, N>(&self.0, tile, blocks));
    }
}

struct CipherOnTile<'a, W: Lane32, const N: usize>(&'a Cipher<W>, &'a mut Tile, usize);

impl<W: Lane32, const N: usize> Kernel for CipherOnTile<'_, W, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(cipher, tile, blocks) = self;
        for first in (0..32 * blocks / W::BITS).step_by(N) {
            let states = each!(n < N => *tile.bundle::<W, 4>(cipher.isa, first + n));
            for (n, state) in cipher.on_bundles(states).into_iter().enumerate() {
                *tile.bundle_mut(cipher.isa, first + n) = state;
            }
        }
    }
}

/// One step or one round, with its key.
#[derive(Debug)]
pub struct Step<W: Lane32> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    keys: RoundKeys,
    round: usize,
}

impl<W: Lane32> Step<W> {
    /// A step or a round of the given number; `None` for the whole cipher.
    pub fn new(
        isa: W::Isa,
        part: Part,
        direction: Direction,
        keys: &RoundKeys,
        round: usize,
    ) -> Option<Self> {
        let step = Self { isa, part, direction, keys: keys.clone(), round };
        (part != Part::Cipher).then_some(step)
    }

    #[inline(always)]
    fn on_bundle(&self, state: State<W>) -> State<W> {
        let &Self { isa, part, direction, ref keys, round } = self;
        let key = &keys.words()[round];
        match (part.in_table(), direction) {
            (Part::KeyMixing, _) => mix_key(isa, state, key),
            (Part::SBoxes, Direction::Encrypt) => sbox_circuit::forward(round % 8, state),
            (Part::SBoxes, Direction::Decrypt) => sbox_circuit::inverse(round % 8, state),
            (Part::LinearTransform, Direction::Encrypt) => transform(state),
            (Part::LinearTransform, Direction::Decrypt) => inv_transform(state),
            (Part::Round, Direction::Encrypt) => {
                transform(sbox_circuit::forward(round % 8, mix_key(isa, state, key)))
            }
            (Part::Round, Direction::Decrypt) => {
                mix_key(isa, sbox_circuit::inverse(round % 8, inv_transform(state)), key)
            }
            (Part::Cipher, _) => state,
        }
    }
}

impl<W: Lane32> TilePart for Step<W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(StepOnTile::<W>(self, tile, blocks));
    }
}

struct StepOnTile<'a, W: Lane32>(&'a Step<W>, &'a mut Tile, usize);

impl<W: Lane32> Kernel for StepOnTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(step, tile, blocks) = self;
        for bundle in 0..32 * blocks / W::BITS {
            let state = tile.bundle_mut::<W, 4>(step.isa, bundle);
            *state = step.on_bundle(*state);
        }
    }
}
