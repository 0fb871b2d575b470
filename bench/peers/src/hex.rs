//! Hex as the protocol writes it: no spaces, and `-` where there are no bytes, since an empty word
//! would vanish from its line.

use std::fmt::Write;

/// What stands for no bytes at all.
const EMPTY: &str = "-";

/// Reads one word of hex, in either case.
pub(crate) fn decode(word: &str) -> Result<Vec<u8>, String> {
    if word == EMPTY {
        return Ok(Vec::new());
    }
    let (pairs, rest) = word.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return Err("hex needs two digits a byte".into());
    }
    let digit = |character: u8| char::from(character).to_digit(16);
    pairs
        .iter()
        .map(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8))
        .collect::<Option<_>>()
        .ok_or_else(|| "hex holds 0-9 and a-f only".into())
}

/// Writes bytes as one word of hex.
pub(crate) fn encode(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return EMPTY.into();
    }
    let mut word = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing into a String cannot fail.
        let _ = write!(word, "{byte:02x}");
    }
    word
}
