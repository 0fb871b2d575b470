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

/// Methods of [`ByteLanes`](super::ByteLanes) for a register of one block, on a machine without masks. Its type has
/// `of_u128` and `number`.
#[allow(unused_macros, reason = "a machine without registers of one block")]
macro_rules! one_block {
    () => {
        #[inline(always)]
        fn broadcast(isa: <Self as Register>::Isa, lane: &[u8; 16]) -> Self {
            Self::load(isa, lane)
        }

        #[inline(always)]
        fn load_lanes(isa: <Self as Register>::Isa, bytes: &[u8]) -> Self {
            assert!(bytes.len() <= Self::BYTES && bytes.len().is_multiple_of(16));
            if bytes.is_empty() { Self::splat(isa, 0) } else { Self::load(isa, bytes) }
        }

        #[inline(always)]
        fn store_lanes(self, bytes: &mut [u8]) {
            assert!(bytes.len() <= Self::BYTES && bytes.len().is_multiple_of(16));
            if !bytes.is_empty() {
                self.store(bytes);
            }
        }

        #[inline(always)]
        fn load_part(isa: <Self as Register>::Isa, bytes: &[u8]) -> Self {
            match bytes.len() {
                0 => Self::splat(isa, 0),
                1..16 => Self::of_u128(parts::load_part(bytes)),
                _ => Self::load(isa, bytes),
            }
        }

        #[inline(always)]
        fn store_part(self, bytes: &mut [u8]) {
            match bytes.len() {
                0 => {}
                1..16 => parts::store_part(self.number(), bytes),
                _ => self.store(bytes),
            }
        }

        /// A plain store.
        #[inline(always)]
        unsafe fn store_past_caches(self, bytes: &mut [u8]) {
            assert!(bytes.len() == Self::BYTES && bytes.as_ptr().addr().is_multiple_of(Self::BYTES));
            self.store(bytes);
        }

        #[inline(always)]
        fn load_lowest(isa: <Self as Register>::Isa, lane: &[u8; 16]) -> Self {
            Self::load(isa, lane)
        }

        #[inline(always)]
        fn store_lowest(self, lane: &mut [u8; 16]) {
            self.store(lane);
        }

        #[inline(always)]
        fn shuffle_bytes_up_to_15(self, _isa: <Self as Register>::Isa, indices: Self) -> Self {
            self.shuffle_bytes(indices)
        }
    };
}
pub(super) use one_block;
