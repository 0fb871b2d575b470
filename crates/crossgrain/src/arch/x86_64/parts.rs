//! Loads and stores of parts of registers without masked instructions.
//!
//! A load reads two overlapping pieces, each of a power of two bytes. One starts at the first byte, the other
//! ends at the last. PSHUFB shifts the second to its position, and OR joins them: where they overlap, their
//! bytes are equal. Stores work the same way. Parts of 1 to 3 bytes are read and written one byte at a time.
//! No byte outside the part is read or written.
//!
//! A copy through memory would be simpler, but store forwarding fails when a register is loaded from several
//! smaller stores. The load then waits until all of them have left the store buffer, 15 cycles or more.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_cvtsi32_si128, _mm_loadl_epi64, _mm_loadu_si32, _mm_loadu_si128,
    _mm_or_si128, _mm_shuffle_epi8, _mm_storel_epi64, _mm_storeu_si32, _mm_storeu_si128,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_inserti128_si256, _mm256_loadu_si256,
    _mm256_zextsi128_si256, _mm512_inserti64x4, _mm512_zextsi256_si512,
};

use crate::arch::wipe;

/// Indices for PSHUFB: zeros, all bytes in order, zeros. Read from byte 16 − k, they shift a register up by k
/// bytes. Read from byte 16 + k, they shift it down by k bytes.
static SHIFTS: [u8; 48] = {
    let mut indices = [0x80; 48];
    let mut i = 0;
    while i < 16 {
        indices[16 + i] = i as u8;
        i += 1;
    }
    indices
};

/// # Safety
/// The CPU must have SSSE3, and `count` must be at most 16.
#[inline(always)]
unsafe fn shifted_up(lane: __m128i, count: usize) -> __m128i {
    // SAFETY: the caller guarantees the instructions, and that the read is within the table.
    unsafe { _mm_shuffle_epi8(lane, _mm_loadu_si128(SHIFTS.as_ptr().add(16 - count).cast())) }
}

/// # Safety
/// As [`shifted_up`].
#[inline(always)]
unsafe fn shifted_down(lane: __m128i, count: usize) -> __m128i {
    // SAFETY: the caller guarantees the instructions, and that the read is within the table.
    unsafe { _mm_shuffle_epi8(lane, _mm_loadu_si128(SHIFTS.as_ptr().add(16 + count).cast())) }
}

/// Loads the first bytes of a lane. The rest of the lane is zero.
///
/// # Safety
/// `len_bytes`, 1 to 15, must be readable, and the CPU must have SSSE3.
#[inline(always)]
pub(super) unsafe fn load_part(bytes: *const u8, len_bytes: usize) -> __m128i {
    // SAFETY: every piece lies within the bytes that the caller guarantees.
    unsafe {
        match len_bytes {
            8.. => {
                let back = _mm_loadl_epi64(bytes.add(len_bytes - 8).cast());
                _mm_or_si128(_mm_loadl_epi64(bytes.cast()), shifted_up(back, len_bytes - 8))
            }
            4.. => {
                let back = _mm_loadu_si32(bytes.add(len_bytes - 4));
                _mm_or_si128(_mm_loadu_si32(bytes), shifted_up(back, len_bytes - 4))
            }
            _ => {
                let byte = |at: usize| i32::from(*bytes.add(at)) << (8 * at);
                _mm_cvtsi32_si128(byte(0) | byte(len_bytes / 2) | byte(len_bytes - 1))
            }
        }
    }
}

/// Stores the first bytes of a lane.
///
/// # Safety
/// `len_bytes`, 1 to 15, must be writable, and the CPU must have SSSE3.
#[inline(always)]
pub(super) unsafe fn store_part(lane: __m128i, bytes: *mut u8, len_bytes: usize) {
    // SAFETY: every piece lies within the bytes that the caller guarantees.
    unsafe {
        match len_bytes {
            8.. => {
                _mm_storel_epi64(bytes.cast(), lane);
                _mm_storel_epi64(bytes.add(len_bytes - 8).cast(), shifted_down(lane, len_bytes - 8));
            }
            4.. => {
                _mm_storeu_si32(bytes, lane);
                _mm_storeu_si32(bytes.add(len_bytes - 4), shifted_down(lane, len_bytes - 4));
            }
            _ => {
                let mut copy = [0; 4];
                _mm_storeu_si32(copy.as_mut_ptr(), lane);
                copy.iter().take(len_bytes).enumerate().for_each(|(at, byte)| bytes.add(at).write(*byte));
                wipe(&mut copy);
            }
        }
    }
}

/// Loads the first bytes of two lanes. The rest of the lanes is zero.
///
/// # Safety
/// `len_bytes`, 1 to 31, must be readable, and the CPU must have AVX2.
#[inline(always)]
pub(super) unsafe fn load_part_of_two(bytes: *const u8, len_bytes: usize) -> __m256i {
    // SAFETY: every piece lies within the bytes that the caller guarantees.
    unsafe {
        if len_bytes < 16 {
            return _mm256_zextsi128_si256(load_part(bytes, len_bytes));
        }
        let front = _mm256_zextsi128_si256(_mm_loadu_si128(bytes.cast()));
        if len_bytes == 16 {
            return front;
        }
        let back = _mm_loadu_si128(bytes.add(len_bytes - 16).cast());
        _mm256_inserti128_si256::<1>(front, shifted_down(back, 32 - len_bytes))
    }
}

/// Loads the first bytes of four lanes. The rest of the lanes is zero.
///
/// # Safety
/// `len_bytes`, 1 to 63, must be readable, and the CPU must have AVX-512.
#[inline(always)]
pub(super) unsafe fn load_part_of_four(bytes: *const u8, len_bytes: usize) -> __m512i {
    // SAFETY: every piece lies within the bytes that the caller guarantees.
    unsafe {
        if len_bytes < 32 {
            return _mm512_zextsi256_si512(load_part_of_two(bytes, len_bytes));
        }
        let front = _mm512_zextsi256_si512(_mm256_loadu_si256(bytes.cast()));
        if len_bytes == 32 {
            return front;
        }
        _mm512_inserti64x4::<1>(front, load_part_of_two(bytes.add(32), len_bytes - 32))
    }
}

/// Stores the first bytes of two lanes.
///
/// # Safety
/// `len_bytes`, 1 to 31, must be writable, and the CPU must have AVX2.
#[inline(always)]
pub(super) unsafe fn store_part_of_two(lanes: __m256i, bytes: *mut u8, len_bytes: usize) {
    // SAFETY: every piece lies within the bytes that the caller guarantees.
    unsafe {
        let front = _mm256_castsi256_si128(lanes);
        if len_bytes < 16 {
            return store_part(front, bytes, len_bytes);
        }
        _mm_storeu_si128(bytes.cast(), front);
        if len_bytes > 16 {
            store_part(_mm256_extracti128_si256::<1>(lanes), bytes.add(16), len_bytes - 16);
        }
    }
}
