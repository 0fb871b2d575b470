//! crossgrain's Serpent generator as a kernel: the blocks of a random stream, bit-sliced, at any place.
//!
//! Number i of a block is its word i. Serpent has eight S-boxes, one per round in turn, so a round of the
//! loop here is eight rounds of Serpent. Each ends with the linear transformation. The last round of
//! Serpent has none, so `last` undoes it. As in the other bit-sliced kernels, round keys are added before
//! the transformation.
//!
//! Source: as `cipher::serpent::linear_circuit`. Keys are program state: they are in no program's text, and are
//! wiped when the kernel is dropped.

use std::fmt;

use crossgrain::engine::arch::Lanes;
use crossgrain::engine::cipher::serpent::linear_circuit::Places;
use crossgrain::engine::cipher::serpent::sbox_circuit as serpent_sbox;
use crossgrain::{Cipher, Key};

use super::blocks::{Blocks, State};
use super::kernel::BitLoop;
use crate::Error;

/// The blocks of a random Serpent stream. Index i gives block `first + i`.
///
/// ```
/// use crossgrain::stream::{Seed, Stream};
/// use crossgrain::Cipher;
/// use crossgrain_gpu::parallel::{Loop, Policy, SerpentBlocks, generate};
///
/// let key = Seed::new(42).key(Cipher::Serpent256);
/// let place = Policy::Par.open()?;
/// let blocks = generate(&Loop(SerpentBlocks::new(&key, 5)?), &place, 100)?.to_vec()?;
/// let mut same = [0; 4];
/// Stream::new(&key)?.fill_bytes_at(16 * (5 + 99), &mut same);
/// assert_eq!(blocks[99][0], u32::from_le_bytes(same));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SerpentBlocks(Blocks);

impl SerpentBlocks {
    /// The stream of this key, from block `first`.
    ///
    /// # Errors
    /// If it is not a Serpent key.
    pub fn new(key: &Key, first: u128) -> Result<Self, Error> {
        Blocks::new(Cipher::Serpent256, key, first).map(Self)
    }

    /// Round `INDEX` of eight, at the bits' present places.
    #[inline(always)]
    fn round_of_eight<W: Lanes, const INDEX: usize>(
        &self,
        eight: usize,
        state: &mut [W],
        places: &mut Places,
    ) {
        let key = self.0.key(8 * eight + INDEX + 1);
        for bit in 0..32 {
            places.set(state, bit, keyed::<W, INDEX>(places.get(state, bit), key, bit));
        }
        places.transform(state);
    }
}

/// S-box `INDEX` on one bit of each word, followed by that bit of the round key.
#[inline(always)]
fn keyed<W: Lanes, const INDEX: usize>(bits: [W; 4], key: &[[u32; 32]], bit: usize) -> [W; 4] {
    let mut bits = serpent_sbox::forward(INDEX, bits);
    for (word, key) in bits.iter_mut().zip(key) {
        *word = *word ^ word.uniform(key[bit]);
    }
    bits
}

impl BitLoop<1, 4> for SerpentBlocks {
    fn rounds(&self) -> usize {
        4
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, [index]: &[[W; 32]; 1], state: &mut State<W>) {
        self.0.begin(index, state);
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, number: usize, state: &State<W>, next: &mut State<W>) {
        let (state, next) = (state.as_flattened(), next.as_flattened_mut());
        // Eight transformations bring each bit from these places back to its own place.
        let mut places = const { Places::after(32 - 8) };
        let key = self.0.key(8 * number + 1);
        for bit in 0..32 {
            places.set(next, bit, keyed::<W, 0>(Places::OWN.get(state, bit), key, bit));
        }
        places.transform(next);
        self.round_of_eight::<W, 1>(number, next, &mut places);
        self.round_of_eight::<W, 2>(number, next, &mut places);
        self.round_of_eight::<W, 3>(number, next, &mut places);
        self.round_of_eight::<W, 4>(number, next, &mut places);
        self.round_of_eight::<W, 5>(number, next, &mut places);
        self.round_of_eight::<W, 6>(number, next, &mut places);
        self.round_of_eight::<W, 7>(number, next, &mut places);
    }

    /// Undoes the last transformation.
    #[inline(always)]
    fn last<W: Lanes>(&self, state: &State<W>, made: &mut State<W>) {
        let (state, made) = (state.as_flattened(), made.as_flattened_mut());
        let mut places = const { Places::after(1) };
        for bit in 0..32 {
            places.set(made, bit, Places::OWN.get(state, bit));
        }
        places.inv_transform(made);
    }
}

impl fmt::Debug for SerpentBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SerpentBlocks(secret)")
    }
}
