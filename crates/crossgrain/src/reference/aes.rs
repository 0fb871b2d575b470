//! Rijndael as FIPS 197 writes it, one byte at a time, for any number of columns.
//!
//! Layout: the state is `NB` columns of four bytes; byte `r` of column `c` is input byte `4c + r`.
//! Needs: nothing. Source: FIPS 197 (AES is `NB` = 4), the Rijndael submission for 6 and 8 columns.
//! Holds: nothing here is constant-time; see the module above.

use std::array;
use std::fmt;

use zeroize::Zeroizing;

use super::BlockCipher;

type Column = [u8; 4];

/// Multiplication in GF(2⁸) modulo x⁸ + x⁴ + x³ + x + 1 (FIPS 197 §4.2).
pub const fn gf_mul(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 == 0 { 0 } else { 0x1b };
        b >>= 1;
    }
    product
}

/// The S-box by its definition: inversion, then the affine map (FIPS 197 §5.1.1).
const fn sbox_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        // x²⁵⁴ is the inverse of x, and 0 for 0.
        let (mut inverse, mut power) = (1, 0);
        while power < 254 {
            inverse = gf_mul(inverse, x as u8);
            power += 1;
        }
        let spread = inverse
            ^ inverse.rotate_left(1)
            ^ inverse.rotate_left(2)
            ^ inverse.rotate_left(3)
            ^ inverse.rotate_left(4);
        table[x] = spread ^ 0x63;
        x += 1;
    }
    table
}

const fn inverted(table: &[u8; 256]) -> [u8; 256] {
    let mut inverse = [0; 256];
    let mut x = 0;
    while x < 256 {
        inverse[table[x] as usize] = x as u8;
        x += 1;
    }
    inverse
}

/// SubBytes of every byte value.
pub const SBOX: [u8; 256] = sbox_table();
/// InvSubBytes of every byte value.
pub const INV_SBOX: [u8; 256] = inverted(&SBOX);

/// Rijndael with `NB` columns of state, its round keys expanded.
#[derive(Clone)]
pub struct Rijndael<const NB: usize> {
    /// Wiped: a search tries what it finds by this.
    round_keys: Zeroizing<Vec<[Column; NB]>>,
}

/// AES: Rijndael with four columns.
pub type Aes = Rijndael<4>;

/// Rijndael on blocks of 16, 24 or 32 bytes, by the key.
///
/// # Panics
/// For other lengths of either.
pub fn rijndael(block_bytes: usize, key: &[u8]) -> Box<dyn BlockCipher> {
    match block_bytes {
        16 => Box::new(Rijndael::<4>::new(key)),
        24 => Box::new(Rijndael::<6>::new(key)),
        32 => Box::new(Rijndael::<8>::new(key)),
        _ => panic!("blocks of {block_bytes} bytes"),
    }
}

impl<const NB: usize> Rijndael<NB> {
    /// Expands a key of 16, 24 or 32 bytes (KeyExpansion, FIPS 197 §5.2).
    ///
    /// # Panics
    /// If the key has another length, or `NB` is not 4, 6 or 8.
    pub fn new(key: &[u8]) -> Self {
        assert!(matches!(key.len(), 16 | 24 | 32) && matches!(NB, 4 | 6 | 8));
        let nk = key.len() / 4;
        let rounds = nk.max(NB) + 6;
        // As many as there will be: a vector that grows leaves a copy behind.
        let mut words = Zeroizing::new(Vec::with_capacity(NB * (rounds + 1)));
        words.extend(key.chunks_exact(4).map(|word| -> Column { array::from_fn(|i| word[i]) }));
        let mut rcon = 1;
        for i in nk..NB * (rounds + 1) {
            let mut word = words[i - 1];
            if i % nk == 0 {
                word.rotate_left(1);
                word = word.map(|byte| SBOX[usize::from(byte)]);
                word[0] ^= rcon;
                rcon = gf_mul(rcon, 2);
            } else if nk > 6 && i % nk == 4 {
                word = word.map(|byte| SBOX[usize::from(byte)]);
            }
            let before = words[i - nk];
            words.push(array::from_fn(|j| before[j] ^ word[j]));
        }
        let round_keys = words.chunks_exact(NB).map(|columns| array::from_fn(|c| columns[c]));
        Self { round_keys: Zeroizing::new(round_keys.collect()) }
    }

    /// Round key `round` as `4·NB` bytes.
    ///
    /// # Panics
    /// If there is no such round.
    pub fn round_key(&self, round: usize) -> Vec<u8> {
        self.round_keys[round].concat()
    }
}

impl<const NB: usize> BlockCipher for Rijndael<NB> {
    /// Enciphers one block of `4·NB` bytes (Cipher, FIPS 197 §5.1).
    ///
    /// # Panics
    /// If `block` has another length.
    fn encrypt(&self, block: &mut [u8]) {
        let mut state = load::<NB>(block);
        let last = self.round_keys.len() - 1;
        add_round_key(&mut state, &self.round_keys[0]);
        for (round, key) in self.round_keys.iter().enumerate().skip(1) {
            sub_bytes(&mut state, &SBOX);
            shift_rows(&mut state, |c, offset| (c + offset) % NB);
            if round != last {
                mix_columns(&mut state, [2, 3, 1, 1]);
            }
            add_round_key(&mut state, key);
        }
        store(&state, block);
    }

    /// Deciphers one block of `4·NB` bytes (InvCipher, FIPS 197 §5.3).
    ///
    /// # Panics
    /// If `block` has another length.
    fn decrypt(&self, block: &mut [u8]) {
        let mut state = load::<NB>(block);
        let last = self.round_keys.len() - 1;
        for (round, key) in self.round_keys.iter().enumerate().skip(1).rev() {
            add_round_key(&mut state, key);
            if round != last {
                mix_columns(&mut state, [14, 11, 13, 9]);
            }
            shift_rows(&mut state, |c, offset| (c + NB - offset) % NB);
            sub_bytes(&mut state, &INV_SBOX);
        }
        add_round_key(&mut state, &self.round_keys[0]);
        store(&state, block);
    }
}

impl<const NB: usize> fmt::Debug for Rijndael<NB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rijndael({} columns, {} round keys, secret)", NB, self.round_keys.len())
    }
}

fn load<const NB: usize>(block: &[u8]) -> [Column; NB] {
    assert_eq!(block.len(), 4 * NB);
    array::from_fn(|c| array::from_fn(|r| block[4 * c + r]))
}

fn store<const NB: usize>(state: &[Column; NB], block: &mut [u8]) {
    block.copy_from_slice(&state.concat());
}

fn add_round_key<const NB: usize>(state: &mut [Column; NB], key: &[Column; NB]) {
    for (column, key) in state.iter_mut().zip(key) {
        *column = array::from_fn(|r| column[r] ^ key[r]);
    }
}

fn sub_bytes<const NB: usize>(state: &mut [Column; NB], table: &[u8; 256]) {
    for column in state {
        *column = column.map(|byte| table[usize::from(byte)]);
    }
}

/// Row `r` of column `c` comes from column `from(c, offset of row r)`.
fn shift_rows<const NB: usize>(state: &mut [Column; NB], from: impl Fn(usize, usize) -> usize) {
    let offsets = if NB == 8 { [0, 1, 3, 4] } else { [0, 1, 2, 3] };
    *state = array::from_fn(|c| array::from_fn(|r| state[from(c, offsets[r])][r]));
}

/// Multiplies each column by the circulant matrix whose first row is `row`.
fn mix_columns<const NB: usize>(state: &mut [Column; NB], row: [u8; 4]) {
    for column in state {
        *column = array::from_fn(|r| (0..4).fold(0, |sum, i| sum ^ gf_mul(row[(4 + i - r) % 4], column[i])));
    }
}
