//! Serpent in the submission's bit-slice description.
//!
//! The state is four 32-bit words. Bit j of the four words is the input of copy j of an S-box, with word 0 as
//! the least significant bit. Word i is bytes 4i to 4i + 3 of the block, little-endian (NESSIE's order). A
//! round is key addition, 32 copies of S-box (round mod 8), and the linear transformation. The last round has
//! a second key addition instead of the linear transformation.
//! Source: Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption Standard" (1998), §3
//! for the cipher, §4 for the key schedule, appendix A for the S-boxes. `tests/serpent.rs` compares this with
//! the submission's standard description, whose linear transformation is a table.

use std::ops::{BitXor, Range};
use std::slice::Iter;

use zeroize::Zeroizing;

use super::schedule::Schedule;
use crate::arch::{Lanes, Portable, each, unrolled};
use crate::block::{Block, Direction};
use crate::cipher::sbox::Sbox;
use crate::cipher::{ByHand, Description, Portion, RoundKeys};

/// Serpent.
#[derive(Debug)]
pub struct Serpent;

/// Rounds, for every key size.
pub const ROUNDS: usize = 32;

/// A round key: one word for each word of the state.
pub type RoundKey = [u32; 4];

/// S₀ to S₇.
pub const S_BOXES: [[u8; 16]; 8] = [
    [3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12],
    [15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4],
    [8, 6, 7, 9, 3, 12, 10, 15, 13, 1, 14, 4, 0, 11, 5, 2],
    [0, 15, 11, 8, 12, 9, 6, 3, 13, 1, 2, 4, 10, 7, 5, 14],
    [1, 15, 8, 3, 12, 0, 11, 6, 2, 5, 4, 10, 9, 14, 7, 13],
    [15, 5, 2, 11, 4, 10, 9, 12, 0, 3, 14, 8, 13, 6, 7, 1],
    [7, 2, 12, 5, 8, 4, 6, 11, 14, 9, 1, 15, 13, 3, 10, 0],
    [1, 13, 15, 0, 14, 8, 2, 11, 7, 4, 12, 10, 9, 3, 5, 6],
];

impl Description for Serpent {
    /// Serpent has no 8-bit S-boxes.
    const BOXES: &'static [Sbox] = &[];

    /// The last eight rounds and the key addition after them: S-boxes repeat after eight rounds.
    const LAST_KEYS: usize = 9;
}

impl ByHand for Serpent {
    fn schedule(key: &[u8], direction: Direction) -> RoundKeys {
        let mut keys = Zeroizing::new([[0; 4]; ROUNDS + 1]);
        expand(key, &mut keys);
        if direction == Direction::Decrypt {
            keys.reverse();
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(16 * keys.len()));
        bytes.extend(keys.as_flattened().iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn crypt_plainly(keys: &[u8], direction: Direction, block: &mut Block) {
        let (mut plain, words) = (Plain(keys.as_chunks().0.iter()), words_of(block));
        let words = match direction {
            Direction::Encrypt => plain.encrypt(words),
            Direction::Decrypt => plain.decrypt(words),
        };
        block.copy_from_slice(words.map(u32::to_le_bytes).as_flattened());
    }
}

/// The key schedule: computes round keys 0 to 32.
pub fn expand(key: &[u8], round_keys: &mut [RoundKey; ROUNDS + 1]) {
    let mut words = Zeroizing::new([0_u32; 8]);
    let bytes = key.as_chunks().0;
    for (word, bytes) in words.iter_mut().zip(bytes) {
        *word = u32::from_le_bytes(*bytes);
    }
    // Shorter keys are padded to 256 bits with a one bit and zeros.
    if let Some(end) = words.get_mut(bytes.len()) {
        *end = 1;
    }
    let mut schedule = Schedule::new(Portable, *words);
    for key in round_keys {
        *key = schedule.round_key();
    }
}

/// The operations of the linear transformation: XOR, rotation and shift of words.
pub trait Moves: Copy + BitXor<Output = Self> {
    /// Rotates every 32-bit word left.
    #[must_use]
    fn rotated<const COUNT: u32>(self) -> Self;

    /// Shifts every 32-bit word left.
    #[must_use]
    fn shifted<const COUNT: u32>(self) -> Self;
}

impl<W: Lanes> Moves for W {
    #[inline(always)]
    fn rotated<const COUNT: u32>(self) -> Self {
        self.rotate_lanes_left::<COUNT>()
    }
    #[inline(always)]
    fn shifted<const COUNT: u32>(self) -> Self {
        self.shift_lanes_left::<COUNT>()
    }
}

/// The linear transformation.
#[inline(always)]
pub fn transform<W: Moves>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let x0 = x0.rotated::<13>();
    let x2 = x2.rotated::<3>();
    let x1 = (x1 ^ x0 ^ x2).rotated::<1>();
    let x3 = (x3 ^ x2 ^ x0.shifted::<3>()).rotated::<7>();
    let x0 = (x0 ^ x1 ^ x3).rotated::<5>();
    let x2 = (x2 ^ x3 ^ x1.shifted::<7>()).rotated::<22>();
    [x0, x1, x2, x3]
}

/// The inverse linear transformation: the same steps undone, last first.
#[inline(always)]
pub fn inv_transform<W: Moves>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let x2 = x2.rotated::<{ 32 - 22 }>() ^ x3 ^ x1.shifted::<7>();
    let x0 = x0.rotated::<{ 32 - 5 }>() ^ x1 ^ x3;
    let x3 = x3.rotated::<{ 32 - 7 }>() ^ x2 ^ x0.shifted::<3>();
    let x1 = x1.rotated::<{ 32 - 1 }>() ^ x0 ^ x2;
    [x0.rotated::<{ 32 - 13 }>(), x1, x2.rotated::<{ 32 - 3 }>(), x3]
}

/// The rounds in a portion, by their number in encryption. Eight rounds are the last ones.
#[inline(always)]
pub(super) const fn rounds_of(direction: Direction, portion: Portion) -> Range<usize> {
    match (portion, direction) {
        (Portion::All, _) => 0..ROUNDS,
        (Portion::First, Direction::Encrypt) => 0..ROUNDS - 8,
        (Portion::First, Direction::Decrypt) => 8..ROUNDS,
        (Portion::Last, Direction::Encrypt) => ROUNDS - 8..ROUNDS,
        (Portion::Last, Direction::Decrypt) => 0..8,
    }
}

/// The rounds over any state: the words of one block or of many, with their round keys.
///
/// Methods must be `#[inline(always)]` where the rounds are a kernel.
pub trait Rounds {
    /// A word of the state.
    type Word: Moves;

    /// Adds round key `eight + index`. `eight` is a multiple of eight and `index` is a compile-time constant.
    /// The rounds request each key once, in order of use.
    fn add_key(&mut self, words: [Self::Word; 4], eight: usize, index: usize) -> [Self::Word; 4];

    /// S-box `index`, or its inverse for decryption, on all bits of four words.
    fn substitute(direction: Direction, index: usize, words: [Self::Word; 4]) -> [Self::Word; 4];

    /// Encrypts.
    #[inline(always)]
    fn encrypt(&mut self, state: [Self::Word; 4]) -> [Self::Word; 4] {
        self.encrypt_portion(Portion::All, state)
    }

    /// Decrypts.
    #[inline(always)]
    fn decrypt(&mut self, state: [Self::Word; 4]) -> [Self::Word; 4] {
        self.decrypt_portion(Portion::All, state)
    }

    /// Computes a portion of the rounds of encryption.
    #[inline(always)]
    fn encrypt_portion(&mut self, portion: Portion, mut state: [Self::Word; 4]) -> [Self::Word; 4] {
        for eight in rounds_of(Direction::Encrypt, portion).step_by(8) {
            unrolled!(index in [0 1 2 3 4 5 6 7] {
                let keyed = self.add_key(state, eight, index);
                state = Self::substitute(Direction::Encrypt, index, keyed);
                if eight + index < ROUNDS - 1 {
                    state = transform(state);
                }
            });
        }
        if portion == Portion::First { state } else { self.add_key(state, ROUNDS, 0) }
    }

    /// Computes a portion of the rounds of decryption.
    #[inline(always)]
    fn decrypt_portion(&mut self, portion: Portion, mut state: [Self::Word; 4]) -> [Self::Word; 4] {
        if portion != Portion::Last {
            state = self.add_key(state, ROUNDS, 0);
        }
        for eight in rounds_of(Direction::Decrypt, portion).step_by(8).rev() {
            unrolled!(index in [7 6 5 4 3 2 1 0] {
                if eight + index < ROUNDS - 1 {
                    state = inv_transform(state);
                }
                let substituted = Self::substitute(Direction::Decrypt, index, state);
                state = self.add_key(substituted, eight, index);
            });
        }
        state
    }
}

/// One block with table look-ups, and round keys in order of use.
struct Plain<'a>(Iter<'a, Block>);

impl Rounds for Plain<'_> {
    type Word = u32;

    fn add_key(&mut self, words: [u32; 4], _eight: usize, _index: usize) -> [u32; 4] {
        let key = words_of(self.0.next().expect("there are 33 round keys"));
        each!(i < 4 => words[i] ^ key[i])
    }

    fn substitute(direction: Direction, index: usize, words: [u32; 4]) -> [u32; 4] {
        match direction {
            Direction::Encrypt => substitute(&S_BOXES[index], words),
            Direction::Decrypt => substitute(&inverted(&S_BOXES[index]), words),
        }
    }
}

/// The four words of a block.
pub fn words_of(block: &Block) -> [u32; 4] {
    let words = block.as_chunks().0;
    each!(i < 4 => u32::from_le_bytes(words[i]))
}

/// The inverse of an S-box.
pub fn inverted(s_box: &[u8; 16]) -> [u8; 16] {
    let mut inverse = [0; 16];
    for (input, output) in s_box.iter().enumerate() {
        inverse[usize::from(*output)] = input as u8;
    }
    inverse
}

/// Applies an S-box at all 32 bit positions, by table look-ups.
pub fn substitute(s_box: &[u8; 16], words: [u32; 4]) -> [u32; 4] {
    let mut substituted = [0; 4];
    for place in 0..32 {
        let input = (0..4).fold(0, |input, i| input | (words[i] >> place & 1) << i);
        let output = u32::from(s_box[input as usize]);
        for (i, word) in substituted.iter_mut().enumerate() {
            *word |= (output >> i & 1) << place;
        }
    }
    substituted
}
