//! Loads and stores of 1 to 15 bytes. No byte outside the part is read or written.
//!
//! A part of 4 bytes or more is two overlapping pieces, each of 4 or 8 bytes. One starts at the first byte,
//! the other ends at the last. General registers hold the pieces and shift them to their positions.

/// The bytes as the lowest of an integer. The others are zero.
///
/// # Panics
/// If `bytes` is empty or has more than 15 bytes.
#[inline(always)]
pub(super) fn load_part(bytes: &[u8]) -> u128 {
    let len_bytes = bytes.len();
    assert!((1..16).contains(&len_bytes));
    if let (Some(front), Some(back)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (front, back) = (u64::from_le_bytes(*front), u64::from_le_bytes(*back));
        u128::from(front) | u128::from(back) << (8 * (len_bytes - 8))
    } else if let (Some(front), Some(back)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (front, back) = (u32::from_le_bytes(*front), u32::from_le_bytes(*back));
        u128::from(u64::from(front) | u64::from(back) << (8 * (len_bytes - 4)))
    } else {
        let byte = |at: usize| u32::from(bytes[at]) << (8 * at);
        u128::from(byte(0) | byte(len_bytes / 2) | byte(len_bytes - 1))
    }
}

/// Stores the lowest bytes of an integer.
///
/// # Panics
/// If `bytes` is empty or has more than 15 bytes.
#[inline(always)]
pub(super) fn store_part(number: u128, bytes: &mut [u8]) {
    let len_bytes = bytes.len();
    assert!((1..16).contains(&len_bytes));
    if let Some(front) = bytes.first_chunk_mut() {
        *front = (number as u64).to_le_bytes();
        if let Some(back) = bytes.last_chunk_mut() {
            *back = ((number >> (8 * (len_bytes - 8))) as u64).to_le_bytes();
        }
    } else if let Some(front) = bytes.first_chunk_mut() {
        *front = (number as u32).to_le_bytes();
        if let Some(back) = bytes.last_chunk_mut() {
            *back = ((number as u64 >> (8 * (len_bytes - 4))) as u32).to_le_bytes();
        }
    } else {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (number as u32 >> (8 * at)) as u8;
        }
    }
}
