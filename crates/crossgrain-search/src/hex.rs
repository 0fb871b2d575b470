//! Constant-time hex decoding, eight digits at a time: no branch and no index depends on a digit, because the
//! digits are keys.
//!
//! Layout: a 64-bit word holds eight characters, one per byte. Bit 6 distinguishes letters from digits if the
//! other bits are those of a hex digit.

/// A byte, eight times.
const fn bytes(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Decodes eight characters to four bytes. The second result is zero if all are hex digits.
const fn eight(characters: [u8; 8]) -> ([u8; 4], u64) {
    let characters = u64::from_le_bytes(characters);
    // 1 in each byte that holds a letter.
    let letters = characters >> 6 & bytes(1);
    // '0' to '9' are 0x30 to 0x39; 'a' to 'f' begin at 0x61, 'A' to 'F' at 0x41.
    let value = (characters & bytes(0x0f)) + 9 * letters;
    let rows = (characters | letters << 5) ^ (bytes(0x30) + 0x30 * letters);
    let is_ten = (value + bytes(6)) & bytes(0x10);
    let wrong = rows & bytes(0xf0) | value & bytes(0x10) | is_ten ^ letters << 4;
    // The first character of a pair is the high nibble.
    let pairs = (value << 4 | value >> 8) & 0x00ff_00ff_00ff_00ff;
    let pairs = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (((pairs | pairs >> 16) as u32).to_le_bytes(), wrong)
}

/// Decodes pairs of digits into half as many bytes. Returns whether all are hex digits.
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
