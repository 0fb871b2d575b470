//! Rijndael with AES instructions: a block is two halves of sixteen bytes, each in its own register.
//!
//! An AES instruction shifts the rows of four columns. Before it, the bytes of both halves are blended and
//! shuffled so that its ShiftRows completes Rijndael's. This takes one blend and one shuffle per half.
//!
//! Layout: lane i of two registers has the halves of block i, with one, two or four blocks per pair. In
//! blocks of 24 bytes the halves overlap: both contain columns 2 and 3. Each byte that a half needs can then
//! come from a place that no other byte of that row needs, so a blend is enough.
//!
//! Needs `AesLanes`.
//! Source: Gueron's white paper on the AES instructions ("Using the AES instructions to compute Rijndael").
//! The overlapping halves are original to this engine. A remainder of less than a bundle goes through a
//! scratch copy, which is wiped.

use std::fmt;

use zeroize::Zeroize;

use super::{WideBlocks, second_half};
use crate::arch::{AesLanes, Isa, Kernel, each, wipe};
use crate::block::{Block, Direction};
use crate::cipher::aes::key::{ROUND_KEYS_MAX, RoundKeys};

/// Pairs of registers in flight.
pub const PAIRS: usize = 4;

/// Blocks in the widest register.
const LANES_MAX: usize = 4;

/// The whole cipher with AES instructions.
pub struct Cipher<W: AesLanes, const BYTES: usize> {
    isa: W::Isa,
    direction: Direction,
    /// Round keys in order of use.
    keys: [[Block; 2]; ROUND_KEYS_MAX],
    rounds: usize,
}

impl<W: AesLanes, const BYTES: usize> Cipher<W, BYTES> {
    /// The cipher in one direction with a key of 16, 24 or 32 bytes.
    pub fn new(isa: W::Isa, direction: Direction, key: &[u8]) -> Self {
        let keys = RoundKeys::<BYTES>::of(key, W::Isa::NEEDS);
        let keys = keys.in_use(direction);
        let mut halves = [[[0; 16]; 2]; ROUND_KEYS_MAX];
        for (halves, key) in halves.iter_mut().zip(keys.blocks()) {
            *halves = [half(key, 0), half(key, second_half(BYTES))];
        }
        let cipher = Self { isa, direction, keys: halves, rounds: keys.rounds() };
        wipe(halves.as_flattened_mut().as_flattened_mut());
        cipher
    }
}

impl<W: AesLanes, const BYTES: usize> Drop for Cipher<W, BYTES> {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().as_flattened_mut().zeroize();
    }
}

impl<W: AesLanes, const BYTES: usize> fmt::Debug for Cipher<W, BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rijndael::instructions::Cipher({BYTES} bytes, {} bits, {:?})", W::BITS, self.direction)
    }
}

impl<W: AesLanes, const BYTES: usize> WideBlocks<BYTES> for Cipher<W, BYTES> {
    fn run(&self, blocks: &mut [[u8; BYTES]]) {
        let Self { isa, direction, ref keys, rounds } = *self;
        let keys = &keys[..=rounds];
        match direction {
            Direction::Encrypt => isa.enter(OnBlocks::<W, BYTES, true> { isa, keys, blocks }),
            Direction::Decrypt => isa.enter(OnBlocks::<W, BYTES, false> { isa, keys, blocks }),
        }
    }
}

#[inline(always)]
fn half<const BYTES: usize>(block: &[u8; BYTES], at: usize) -> Block {
    // Building it byte by byte would put it on the stack.
    let mut half = [0; 16];
    half.copy_from_slice(&block[at..at + 16]);
    half
}

/// The blend and shuffle before an AES instruction that turn its ShiftRows into Rijndael's, for one half.
struct Route {
    /// All ones where a byte of the blend comes from the second half.
    second: Block,
    /// Shuffle indices for the blend.
    from: Block,
}

/// The route into half `half` (0 or 1) of a state of `columns` columns.
const fn route(columns: usize, half: usize, is_encrypting: bool) -> Route {
    let mut route = Route { second: [0; 16], from: [0; 16] };
    let second_column = columns - 4;
    let mut row = 0;
    while row < 4 {
        let offset = if columns == 8 { row + row / 2 } else { row };
        // Columns that only one half contains come first. Columns that both contain come from the other half
        // if a place is already taken.
        let mut taken = [false; 4];
        let mut step = 0;
        while step < 8 {
            let (column, takes_shared) = (step % 4, step >= 4);
            let named = half * second_column + column;
            let shift = if is_encrypting { offset } else { columns - offset };
            let wanted = (named + shift) % columns;
            let is_shared = wanted < 4 && wanted >= second_column;
            if is_shared == takes_shared {
                let is_second = wanted >= 4 || (is_shared && taken[wanted]);
                let place = if is_second { wanted - second_column } else { wanted };
                assert!(!taken[place]);
                taken[place] = true;
                // The instruction moves the byte from here to `column`.
                let before = (column + if is_encrypting { row } else { 4 - row }) % 4;
                route.from[4 * before + row] = (4 * place + row) as u8;
                route.second[4 * place + row] = if is_second { 0xff } else { 0 };
            }
            step += 1;
        }
        row += 1;
    }
    route
}

/// Any number of blocks.
struct OnBlocks<'a, W: AesLanes, const BYTES: usize, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a [[Block; 2]],
    blocks: &'a mut [[u8; BYTES]],
}

impl<W: AesLanes, const BYTES: usize, const ENCRYPT: bool> Kernel for OnBlocks<'_, W, BYTES, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, blocks } = self;
        let mut bundles = blocks.chunks_exact_mut(PAIRS * W::BLOCKS);
        for bundle in &mut bundles {
            on_bundle::<W, BYTES, ENCRYPT, PAIRS>(isa, keys, bundle);
        }
        let rest = bundles.into_remainder();
        let mut scratch = [[0; BYTES]; PAIRS * LANES_MAX];
        let count = rest.len();
        if count == 0 {
            return;
        }
        scratch[..count].copy_from_slice(rest);
        if count <= W::BLOCKS {
            on_bundle::<W, BYTES, ENCRYPT, 1>(isa, keys, &mut scratch[..W::BLOCKS]);
        } else {
            on_bundle::<W, BYTES, ENCRYPT, PAIRS>(isa, keys, &mut scratch[..PAIRS * W::BLOCKS]);
        }
        rest.copy_from_slice(&scratch[..count]);
        wipe(scratch.as_flattened_mut());
    }
}

/// `N` pairs of registers full of blocks.
#[inline(always)]
fn on_bundle<W: AesLanes, const BYTES: usize, const ENCRYPT: bool, const N: usize>(
    isa: W::Isa,
    keys: &[[Block; 2]],
    blocks: &mut [[u8; BYTES]],
) {
    let ([first_key, middle @ ..], routes) =
        (keys, const { [route(BYTES / 4, 0, ENCRYPT), route(BYTES / 4, 1, ENCRYPT)] })
    else {
        return;
    };
    let [middle @ .., last_key] = middle else { return };
    let second: [W; 2] = each!(half < 2 => W::broadcast(isa, &routes[half].second));
    let from: [W; 2] = each!(half < 2 => W::broadcast(isa, &routes[half].from));
    let blocks = &mut blocks[..N * W::BLOCKS];
    let first: [W; 2] = broadcast(isa, first_key);
    let mut state: [[W; 2]; N] = each!(pair < N => {
        let blocks = &blocks[pair * W::BLOCKS..][..W::BLOCKS];
        let halves: [W; 2] = [load_lanes(isa, blocks, 0), load_lanes(isa, blocks, second_half(BYTES))];
        [halves[0] ^ first[0], halves[1] ^ first[1]]
    });
    for key in middle {
        let key: [W; 2] = broadcast(isa, key);
        for pair in &mut state {
            let halves = routed(*pair, second, from);
            *pair = each!(half < 2 => {
                if ENCRYPT { halves[half].encrypt_round(key[half]) } else { halves[half].decrypt_round(key[half]) }
            });
        }
    }
    let key: [W; 2] = broadcast(isa, last_key);
    for pair in 0..N {
        let blocks = &mut blocks[pair * W::BLOCKS..][..W::BLOCKS];
        let halves = routed(state[pair], second, from);
        for (half, at) in [0, second_half(BYTES)].into_iter().enumerate() {
            let done = if ENCRYPT {
                halves[half].encrypt_last_round(key[half])
            } else {
                halves[half].decrypt_last_round(key[half])
            };
            store_lanes(done, blocks, at);
        }
    }
}

/// Both halves of a round key, in every lane.
#[inline(always)]
fn broadcast<W: AesLanes>(isa: W::Isa, key: &[Block; 2]) -> [W; 2] {
    each!(half < 2 => W::broadcast(isa, &key[half]))
}

/// The bytes of both halves at the places that the instruction needs.
#[inline(always)]
fn routed<W: AesLanes>(pair: [W; 2], second: [W; 2], from: [W; 2]) -> [W; 2] {
    let differing = pair[0] ^ pair[1];
    each!(half < 2 => (pair[0] ^ (second[half] & differing)).shuffle_bytes(from[half]))
}

/// The sixteen bytes from `at` on of each block, one block per lane.
#[inline(always)]
fn load_lanes<W: AesLanes, const BYTES: usize>(isa: W::Isa, blocks: &[[u8; BYTES]], at: usize) -> W {
    let mut word = W::broadcast(isa, &half(&blocks[0], at));
    for (lane, block) in blocks.iter().enumerate().skip(1) {
        let there = W::load(isa, &const { lane_masks() }[lane][..W::BYTES]);
        word = there.select(W::broadcast(isa, &half(block, at)), word);
    }
    word
}

/// For each lane, a mask with ones in it.
const fn lane_masks() -> [[u8; 16 * LANES_MAX]; LANES_MAX] {
    let mut masks = [[0; 16 * LANES_MAX]; LANES_MAX];
    let mut at = 0;
    while at < 16 * LANES_MAX {
        masks[at / 16][at] = 0xff;
        at += 1;
    }
    masks
}

/// Writes the lanes back.
#[inline(always)]
fn store_lanes<W: AesLanes, const BYTES: usize>(word: W, blocks: &mut [[u8; BYTES]], at: usize) {
    let mut bytes = [0; 16 * LANES_MAX];
    word.store(&mut bytes[..W::BYTES]);
    for lane in 0..W::BLOCKS {
        blocks[lane][at..at + 16].copy_from_slice(&bytes[16 * lane..][..16]);
    }
}
