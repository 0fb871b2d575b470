//! Hex digits to bytes, eight at a time and without a branch or an index on a digit: they are keys.
//!
//! Layout: a word of 64 bits holds eight characters, a byte each. Bit 6 tells letters from digits, where the rest of the
//! bits say that it is one or the other.

/// The same byte eight times.
const fn bytes(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Eight characters as four bytes, and a word that is zero if all are hex digits.
const fn eight(characters: [u8; 8]) -> ([u8; 4], u64) {
    let characters = u64::from_le_bytes(characters);
    // One in the bytes of letters.
    let letters = characters >> 6 & bytes(1);
    // '0' to '9' are 0x30 to 0x39; 'a' to 'f' begin at 0x61, 'A' to 'F' at 0x41.
    let value = (characters & bytes(0x0f)) + 9 * letters;
    let rows = (characters | letters << 5) ^ (bytes(0x30) + 0x30 * letters);
    let is_ten = (value + bytes(6)) & bytes(0x10);
    let wrong = rows & bytes(0xf0) | value & bytes(0x10) | is_ten ^ letters << 4;
    // The first character of two is the high half.
    let pairs = (value << 4 | value >> 8) & 0x00ff_00ff_00ff_00ff;
    let pairs = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (((pairs | pairs >> 16) as u32).to_le_bytes(), wrong)
}

/// Puts what pairs of digits say into half as many bytes; whether they are digits.
pub(super) fn decode(digits: &[u8], decoded: &mut [u8]) -> bool {
    let (eights, rest) = digits.as_chunks::<8>();
    let (fours, last) = decoded.as_chunks_mut::<4>();
    let mut wrong = 0;
    for (digits, decoded) in eights.iter().zip(fours) {
        let is_wrong;
        (*decoded, is_wrong) = eight(*digits);
        wrong |= is_wrong;
    }
    if !rest.is_empty() {
        let mut filled = [b'0'; 8];
        filled[..rest.len()].copy_from_slice(rest);
        let (bytes, is_wrong) = eight(filled);
        wrong |= is_wrong;
        last.copy_from_slice(&bytes[..rest.len() / 2]);
    }
    wrong == 0
}
