//! Whole ciphers on tiles, generated from the description of a cipher (`cipher`).
//!
//! Layout: `Repr::Bytesliced` or `Repr::Vsliced` for [`OnLanes`], `Repr::Bitsliced` for [`OnGates`]. A kernel
//! works on `N` bundles side by side. These may extend past the requested blocks; the tile then holds
//! meaningless data there.

use std::fmt;
use std::marker::PhantomData;

use zeroize::Zeroizing;

use crate::arch::{ByteLanes, Isa, Kernel, Lane32, Portable, TILE_WORDS, Tile, each, eight, written_out};
use crate::block::Direction;
use crate::cipher::folded;
use crate::cipher::sliced::{Forms, Gates, Integer, Lanes, spread_byte, spread_word};
use crate::cipher::substitution::Substitution;
use crate::cipher::{Entry, Keys, OnBytes, OnWords, Pass, Passes};
use crate::kernel::{Part, Parts, TilePart, boxed};

/// The planner's entry for every family of described ciphers.
pub(crate) static PARTS: Parts = Parts {
    steps: |cipher| vec![(Part::whole(cipher.family()), 0)],
    runs: &[],
    expand: |key, features| boxed(Entry::of(key.cipher().family()).expand(key, features)),
};

/// A cipher of bytes or of words with its state in lanes, `N` bundles side by side.
pub struct OnLanes<C, W: ByteLanes, Y: Substitution<W>, K: Clone + Default + zeroize::Zeroize, const N: usize>
{
    isa: W::Isa,
    direction: Direction,
    forms: Forms<W, Y>,
    keys: Zeroizing<Vec<K>>,
    /// Public constants to be added to the words of every block at the end. They remain from folding
    /// constants into round keys, if no last round key can take them.
    lacks: [u32; 4],
    cipher: PhantomData<fn() -> C>,
}

impl<C, W: ByteLanes, Y: Substitution<W>, K: Clone + Default + zeroize::Zeroize, const N: usize> fmt::Debug
    for OnLanes<C, W, Y, K, N>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnLanes({N} bundles of {} bits, {:?}, secret)", W::BITS, self.direction)
    }
}

/// A cipher of bytes in lanes.
pub type BytesOnLanes<C, W, Y, const N: usize> = OnLanes<C, W, Y, u64, N>;

/// A cipher of words in lanes.
pub type WordsOnLanes<C, W, Y, const N: usize> = OnLanes<C, W, Y, u32, N>;

impl<C: OnBytes, W: ByteLanes, Y: Substitution<W>, const N: usize> BytesOnLanes<C, W, Y, N> {
    /// The cipher in one direction. `keys` are the bytes of its round keys for that direction, or of its last
    /// rounds only. `None` if this form of substitution cannot compute the S-boxes.
    pub fn new(isa: W::Isa, direction: Direction, keys: &[u8]) -> Option<Self> {
        let mut keys = Zeroizing::new(keys.to_vec());
        folded::on_bytes::<C>(&Forms::<W, Y>::lacks::<C>(), direction, &mut keys);
        let keys = Zeroizing::new(keys.iter().map(|&byte| eight(byte)).collect());
        Some(Self { isa, direction, forms: Forms::of::<C>()?, keys, cipher: PhantomData, lacks: [0; 4] })
    }

    /// The token that proves that the instructions exist.
    pub(crate) const fn isa(&self) -> W::Isa {
        self.isa
    }

    /// The results for bundles side by side, inside a kernel. `direction` is passed again: if it is a
    /// constant, the code for the other direction is not compiled.
    #[inline(always)]
    pub(crate) fn on_state(&self, direction: Direction, state: [[W; N]; 16]) -> [[W; N]; 16] {
        C::rounds(Lanes::<C, W, Y, N>::new(self.isa, &self.forms), direction, state, &self.keys)
    }
}

impl<C: OnWords, W: ByteLanes, Y: Substitution<W>, const N: usize> WordsOnLanes<C, W, Y, N> {
    /// The cipher in one direction; `None` if this form of substitution cannot compute the S-boxes.
    pub fn new(isa: W::Isa, direction: Direction, keys: &Keys) -> Option<Self> {
        let words = keys.of(direction).as_chunks().0.iter().map(|&bytes| u32::from_be_bytes(bytes));
        let mut keys = Zeroizing::new(words.collect::<Vec<_>>());
        let lacks = folded::on_words::<C>(&Forms::<W, Y>::lacks::<C>(), direction, &mut keys);
        Some(Self { isa, direction, forms: Forms::of::<C>()?, keys, cipher: PhantomData, lacks })
    }
}

struct BytesKernel<'a, C, W: ByteLanes, Y: Substitution<W>, const N: usize>(
    &'a BytesOnLanes<C, W, Y, N>,
    &'a mut Tile,
    usize,
);

impl<C: OnBytes, W: ByteLanes, Y: Substitution<W>, const N: usize> Kernel for BytesKernel<'_, C, W, Y, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(cipher, tile, blocks) = self;
        let isa = cipher.isa;
        for first in (0..(8 * blocks).div_ceil(W::BITS)).step_by(N) {
            let state = each!(i < 16 => each!(n < N => tile.bundle::<W, 16>(isa, first + n)[i]));
            let state = cipher.on_state(cipher.direction, state);
            #[allow(clippy::needless_range_loop, reason = "a bundle is a column of the state")]
            for n in 0..N {
                *tile.bundle_mut(isa, first + n) = each!(i < 16 => state[i][n]);
            }
        }
    }
}

impl<C: OnBytes, W: ByteLanes, Y: Substitution<W>, const N: usize> TilePart for BytesOnLanes<C, W, Y, N> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(BytesKernel(self, tile, blocks));
    }
}

/// A cipher of bytes in lanes that runs each pass over all bundles of a tile before the next pass.
///
/// A round waits for its own instructions, and the rounds of other bundles fill these gaps. A pass reads the
/// words that it changes from the tile and writes them back. This takes fewer instructions than keeping that
/// many bundles in registers and on the stack.
pub struct InPasses<C, W: ByteLanes, Y: Substitution<W>>(BytesOnLanes<C, W, Y, 1>);

impl<C: OnBytes, W: ByteLanes, Y: Substitution<W>> InPasses<C, W, Y> {
    /// As [`BytesOnLanes::new`].
    pub fn new(isa: W::Isa, direction: Direction, keys: &[u8]) -> Option<Self> {
        BytesOnLanes::new(isa, direction, keys).map(Self)
    }
}

impl<C, W: ByteLanes, Y: Substitution<W>> fmt::Debug for InPasses<C, W, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InPasses({:?})", self.0)
    }
}

/// Passes over the bundles of a tile.
struct OverTile<'a, C, W: ByteLanes, Y: Substitution<W>> {
    lanes: Lanes<'a, C, W, Y, 1>,
    bundles: &'a mut [[W; 16]],
    keys: &'a [u64],
}

impl<C: OnBytes, W: ByteLanes, Y: Substitution<W>> Passes for OverTile<'_, C, W, Y> {
    #[inline(always)]
    fn pass<P: Pass>(&mut self) {
        let (keys, rest) = self.keys.split_at(P::KEYS);
        self.keys = rest;
        // A local copy: the compiler cannot know that stores to the tile leave keys in a vector unchanged.
        let keys = written_out!(i < 16 => if i < P::KEYS { keys[i] } else { 0 });
        for bundle in self.bundles.iter_mut() {
            let mut state = written_out!(i < 16 => [bundle[i]]);
            P::run(self.lanes, &mut state, &keys[..P::KEYS]);
            *bundle = written_out!(i < 16 => state[i][0]);
        }
    }
}

struct PassesKernel<'a, C, W: ByteLanes, Y: Substitution<W>>(&'a InPasses<C, W, Y>, &'a mut Tile, usize);

impl<C: OnBytes, W: ByteLanes, Y: Substitution<W>> Kernel for PassesKernel<'_, C, W, Y> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(InPasses(cipher), tile, blocks) = self;
        let lanes = Lanes::<C, W, Y, 1>::new(cipher.isa, &cipher.forms);
        let bundles = tile.bundles_mut(cipher.isa, (8 * blocks).div_ceil(W::BITS));
        C::passes(&mut OverTile { lanes, bundles, keys: &cipher.keys }, cipher.keys.len());
    }
}

impl<C: OnBytes, W: ByteLanes, Y: Substitution<W>> TilePart for InPasses<C, W, Y> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.0.isa.enter(PassesKernel(self, tile, blocks));
    }
}

struct WordsKernel<'a, C, W: ByteLanes, Y: Substitution<W>, const N: usize>(
    &'a WordsOnLanes<C, W, Y, N>,
    &'a mut Tile,
    usize,
);

impl<C: OnWords, W: ByteLanes + Lane32, Y: Substitution<W>, const N: usize> Kernel
    for WordsKernel<'_, C, W, Y, N>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&OnLanes { isa, direction, ref forms, ref keys, lacks, .. }, tile, blocks) = self;
        let lanes = Lanes::<C, W, Y, N>::new(isa, forms);
        for first in (0..(32 * blocks).div_ceil(W::BITS)).step_by(N) {
            // The words of the state are big-endian numbers.
            let state = each!(i < 4 => each!(n < N => {
                tile.bundle::<W, 4>(isa, first + n)[i].reverse_lane_bytes()
            }));
            let state = C::rounds(lanes, direction, state, keys);
            #[allow(clippy::needless_range_loop, reason = "a bundle is a column of the state")]
            for n in 0..N {
                *tile.bundle_mut(isa, first + n) = each!(i < 4 => {
                    (state[i][n] ^ W::splat_lanes(isa, lacks[i])).reverse_lane_bytes()
                });
            }
        }
    }
}

impl<C: OnWords, W: ByteLanes + Lane32, Y: Substitution<W>, const N: usize> TilePart
    for WordsOnLanes<C, W, Y, N>
{
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(WordsKernel(self, tile, blocks));
    }
}

/// A cipher with its state in bits, in integers `W`, and keys of type `K`.
pub struct OnGates<C, W, K: Clone + Default + zeroize::Zeroize> {
    gates: Gates<W>,
    direction: Direction,
    keys: Zeroizing<Vec<K>>,
    cipher: PhantomData<fn() -> C>,
}

impl<C, W, K: Clone + Default + zeroize::Zeroize> fmt::Debug for OnGates<C, W, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnGates({:?}, secret)", self.direction)
    }
}

/// A cipher of bytes in bits.
pub type BytesOnGates<C, W> = OnGates<C, W, [W; 8]>;

/// A cipher of words in bits.
pub type WordsOnGates<C, W> = OnGates<C, W, [W; 32]>;

impl<C: OnBytes, W: Integer> BytesOnGates<C, W> {
    /// The cipher in one direction.
    pub fn new(direction: Direction, keys: &Keys) -> Self {
        let keys = Zeroizing::new(keys.of(direction).iter().map(|&byte| spread_byte(byte)).collect());
        Self { gates: Gates::of::<C>(), direction, keys, cipher: PhantomData }
    }
}

impl<C: OnWords, W: Integer> WordsOnGates<C, W> {
    /// The cipher in one direction.
    pub fn new(direction: Direction, keys: &Keys) -> Self {
        let words = keys.of(direction).as_chunks().0.iter().map(|&bytes| u32::from_be_bytes(bytes));
        let keys = Zeroizing::new(words.map(spread_word).collect());
        Self { gates: Gates::of::<C>(), direction, keys, cipher: PhantomData }
    }
}

impl<C: OnBytes, W: Integer> TilePart for BytesOnGates<C, W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        for bundle in 0..blocks.div_ceil(W::BITS) {
            let words = tile.bundle_mut::<W, TILE_WORDS>(Portable, bundle);
            let state = each!(byte < 16 => each!(bit < 8 => words[8 * byte + bit]));
            let state = C::rounds(self.gates, self.direction, state, &self.keys);
            words.copy_from_slice(state.as_flattened());
        }
    }
}

/// The index, in a bit-sliced bundle, of bit `bit` of the big-endian number `word` of a block.
const fn place(word: usize, bit: usize) -> usize {
    8 * (4 * word + 3 - bit / 8) + bit % 8
}

impl<C: OnWords, W: Integer> TilePart for WordsOnGates<C, W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        for bundle in 0..blocks.div_ceil(W::BITS) {
            let words = tile.bundle_mut::<W, TILE_WORDS>(Portable, bundle);
            let state = each!(word < 4 => each!(bit < 32 => words[place(word, bit)]));
            let state = C::rounds(self.gates, self.direction, state, &self.keys);
            for (word, bits) in state.into_iter().enumerate() {
                for (bit, value) in bits.into_iter().enumerate() {
                    words[place(word, bit)] = value;
                }
            }
        }
    }
}
