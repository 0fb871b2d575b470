//! Serpent as the submission's bit-slice description has it, one S-box look-up after another.
//!
//! Layout: four words of 32 bits; word i is bytes 4i to 4i + 3 of the block, little-endian (NESSIE's order).
//! Bit j of the four words, word 0 least significant, is the input of S-box j.
//! Needs: nothing. Source: Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption
//! Standard" (1998), §3 for the cipher, §4 for the key schedule, appendix A for the S-boxes.
//! Holds: nothing here is constant-time; see the module above. `tests/serpent.rs` compares it with the
//! submission's standard description, whose linear transformation is a table.

use std::array;
use std::fmt;

use super::BlockCipher;

type State = [u32; 4];

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

/// Serpent, its round keys expanded.
#[derive(Clone)]
pub struct Serpent {
    round_keys: [State; 33],
}

impl Serpent {
    /// Expands a key of at most 32 bytes.
    ///
    /// # Panics
    /// If the key is longer.
    pub fn new(key: &[u8]) -> Self {
        assert!(key.len() <= 32);
        // Shorter keys are made 256 bits long by a one and zeros.
        let mut padded = key.to_vec();
        if padded.len() < 32 {
            padded.push(1);
        }
        padded.resize(32, 0);
        let mut prekeys: Vec<u32> =
            padded.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        for i in 0..132 {
            let sum = prekeys[i] ^ prekeys[i + 3] ^ prekeys[i + 5] ^ prekeys[i + 7] ^ 0x9e37_79b9 ^ i as u32;
            prekeys.push(sum.rotate_left(11));
        }
        let round_keys = array::from_fn(|round| {
            let prekey = array::from_fn(|i| prekeys[8 + 4 * round + i]);
            substitute(&S_BOXES[(35 - round) % 8], prekey)
        });
        Self { round_keys }
    }

    /// The four words of round key `round`.
    ///
    /// # Panics
    /// If there is no such round.
    pub const fn round_key(&self, round: usize) -> State {
        self.round_keys[round]
    }
}

impl BlockCipher for Serpent {
    fn encrypt(&self, block: &mut [u8]) {
        let mut state = load(block);
        for round in 0..32 {
            state = add(state, self.round_keys[round]);
            state = substitute(&S_BOXES[round % 8], state);
            state = if round < 31 { transform(state) } else { add(state, self.round_keys[32]) };
        }
        store(state, block);
    }

    fn decrypt(&self, block: &mut [u8]) {
        let mut state = load(block);
        for round in (0..32).rev() {
            state = if round < 31 { inv_transform(state) } else { add(state, self.round_keys[32]) };
            state = substitute(&inverted(&S_BOXES[round % 8]), state);
            state = add(state, self.round_keys[round]);
        }
        store(state, block);
    }
}

impl fmt::Debug for Serpent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Serpent(33 round keys, secret)")
    }
}

fn load(block: &[u8]) -> State {
    assert_eq!(block.len(), 16);
    array::from_fn(|i| u32::from_le_bytes(array::from_fn(|j| block[4 * i + j])))
}

fn store(state: State, block: &mut [u8]) {
    block.copy_from_slice(state.map(u32::to_le_bytes).as_flattened());
}

fn add(a: State, b: State) -> State {
    array::from_fn(|i| a[i] ^ b[i])
}

/// The S-box that undoes another.
pub fn inverted(s_box: &[u8; 16]) -> [u8; 16] {
    let mut inverse = [0; 16];
    for (input, output) in s_box.iter().enumerate() {
        inverse[usize::from(*output)] = input as u8;
    }
    inverse
}

/// An S-box on all 32 places.
pub fn substitute(s_box: &[u8; 16], state: State) -> State {
    let mut substituted = [0; 4];
    for place in 0..32 {
        let input = (0..4).fold(0, |input, i| input | (state[i] >> place & 1) << i);
        let output = u32::from(s_box[input as usize]);
        for (i, word) in substituted.iter_mut().enumerate() {
            *word |= (output >> i & 1) << place;
        }
    }
    substituted
}

/// The linear transformation.
pub const fn transform([mut x0, mut x1, mut x2, mut x3]: State) -> State {
    x0 = x0.rotate_left(13);
    x2 = x2.rotate_left(3);
    x1 ^= x0 ^ x2;
    x3 ^= x2 ^ (x0 << 3);
    x1 = x1.rotate_left(1);
    x3 = x3.rotate_left(7);
    x0 ^= x1 ^ x3;
    x2 ^= x3 ^ (x1 << 7);
    x0 = x0.rotate_left(5);
    x2 = x2.rotate_left(22);
    [x0, x1, x2, x3]
}

/// Its inverse: the same steps undone, last first.
pub const fn inv_transform([mut x0, mut x1, mut x2, mut x3]: State) -> State {
    x2 = x2.rotate_right(22);
    x0 = x0.rotate_right(5);
    x2 ^= x3 ^ (x1 << 7);
    x0 ^= x1 ^ x3;
    x3 = x3.rotate_right(7);
    x1 = x1.rotate_right(1);
    x3 ^= x2 ^ (x0 << 3);
    x1 ^= x0 ^ x2;
    x2 = x2.rotate_right(3);
    x0 = x0.rotate_right(13);
    [x0, x1, x2, x3]
}
