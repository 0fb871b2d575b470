//! Bech32 (BIP 173) for the keys of recipients: 32 bytes as text with a checksum, spelled as age spells them.
//!
//! A string is a prefix, `1`, 52 symbols of five bits, and a checksum of 6 symbols. The text of an identity is
//! secret, so symbols are converted by comparisons with the whole alphabet: no table is indexed by secret
//! bytes, and no branch depends on them. Crates for Bech32 index tables.

use zeroize::Zeroizing;

const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// The coefficients of the checksum's generator polynomial.
const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];

pub(super) const KEY_BYTES: usize = 32;

/// Symbols of a key: 256 bits and 4 zero bits.
const KEY_SYMBOLS: usize = 52;
const CHECKSUM_SYMBOLS: usize = 6;
const SYMBOLS: usize = KEY_SYMBOLS + CHECKSUM_SYMBOLS;

/// The letters of a string. Mixed letters are invalid.
#[derive(Clone, Copy)]
pub(super) enum Letters {
    Lower,
    Upper,
}

impl Letters {
    fn of(self, byte: u8) -> u8 {
        match self {
            Self::Lower => byte.to_ascii_lowercase(),
            Self::Upper => byte.to_ascii_uppercase(),
        }
    }
}

/// Encodes a key. `prefix` has the given letters.
pub(super) fn encode(prefix: &str, letters: Letters, key: &[u8; KEY_BYTES]) -> Zeroizing<String> {
    let mut symbols = Zeroizing::new([0; SYMBOLS]);
    for (i, symbol) in symbols[..KEY_SYMBOLS].iter_mut().enumerate() {
        *symbol = five_bits(key, 5 * i);
    }
    let sum = checksum(prefix, &symbols[..]) ^ 1;
    for (i, symbol) in symbols[KEY_SYMBOLS..].iter_mut().enumerate() {
        *symbol = (sum >> (5 * (CHECKSUM_SYMBOLS - 1 - i)) & 31) as u8;
    }
    // Allocated with its final length, because reallocation would leave a copy.
    let mut text = Zeroizing::new(String::with_capacity(prefix.len() + 1 + SYMBOLS));
    text.push_str(prefix);
    text.push('1');
    for &symbol in symbols.iter() {
        let mut letter = 0;
        for (value, &candidate) in (0_u8..).zip(ALPHABET) {
            letter |= letters.of(candidate) & equal(value, symbol);
        }
        text.push(char::from(letter));
    }
    text
}

/// Decodes a key. `None` for any other spelling than that of [`encode`].
pub(super) fn decode(prefix: &str, letters: Letters, text: &str) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    let text = text.strip_prefix(prefix)?.strip_prefix('1')?.as_bytes();
    if text.len() != SYMBOLS {
        return None;
    }
    let mut symbols = Zeroizing::new([0; SYMBOLS]);
    let mut known = 0xff;
    for (symbol, &letter) in symbols.iter_mut().zip(text) {
        let mut found = 0;
        for (value, &candidate) in (0_u8..).zip(ALPHABET) {
            let same = equal(letters.of(candidate), letter);
            *symbol |= value & same;
            found |= same;
        }
        known &= found;
    }
    let padding = symbols[KEY_SYMBOLS - 1] & 15;
    if known != 0xff || padding != 0 || checksum(prefix, &symbols[..]) != 1 {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    for (i, &symbol) in symbols[..KEY_SYMBOLS].iter().enumerate() {
        let shifted = u16::from(symbol) << (11 - 5 * i % 8);
        key[5 * i / 8] |= (shifted >> 8) as u8;
        if let Some(next) = key.get_mut(5 * i / 8 + 1) {
            *next |= shifted as u8;
        }
    }
    Some(key)
}

/// The five bits from a bit position on. Bits after the end are zeros.
fn five_bits(key: &[u8; KEY_BYTES], from: usize) -> u8 {
    let pair = u16::from(key[from / 8]) << 8 | u16::from(key.get(from / 8 + 1).copied().unwrap_or(0));
    (pair >> (11 - from % 8) & 31) as u8
}

/// All ones if two bytes are equal, otherwise zero.
fn equal(a: u8, b: u8) -> u8 {
    (u16::from(a ^ b).wrapping_sub(1) >> 8) as u8
}

/// The checksum's remainder over the prefix and the symbols. It is 1 for a valid string.
fn checksum(prefix: &str, symbols: &[u8]) -> u32 {
    let prefix = prefix.as_bytes().iter().map(u8::to_ascii_lowercase);
    let values = prefix.clone().map(|byte| byte >> 5).chain([0]).chain(prefix.map(|byte| byte & 31));
    values.chain(symbols.iter().copied()).fold(1, |sum, value| {
        let next = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        let taken = (0..).zip(GENERATOR).map(|(i, term)| term & 0_u32.wrapping_sub(sum >> (25 + i) & 1));
        taken.fold(next, |next, term| next ^ term)
    })
}
