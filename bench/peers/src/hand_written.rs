//! AES-128 in ECB and CTR written by hand for one instruction set, VAES on 512 bits. It measures what one source for all widths
//! costs. All round keys stay in registers, and the loop takes eight registers of four blocks.
//!
//! Source: Gueron, "Intel Advanced Encryption Standard (AES) New Instructions Set" (2012), for the key schedule.
//! Holds: messages are whole runs of 512 bytes, and the low 64 bits of counters do not wrap.

use crate::job::Job;
use crate::messages::Messages;
use crate::worker::{How, Refusal, Time, Worker};

/// The code of this file.
pub(crate) struct HandWritten;

impl Worker for HandWritten {
    fn name(&self) -> Result<String, Refusal> {
        let name = "hand-written AES-128 for VAES on 512 bits";
        if kernel::is_here() {
            Ok(name.into())
        } else {
            Err(format!("{name}: the CPU has no such instructions").into())
        }
    }

    fn run(&self, job: &Job, how: How, messages: &mut Messages) -> Time {
        kernel::run(job, how, messages)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod kernel {
    use super::{How, Job, Messages, Refusal, Time};

    pub(super) fn is_here() -> bool {
        false
    }

    pub(super) fn run(_: &Job, _: How, _: &mut Messages) -> Time {
        Err(Refusal::None("this is for x86-64"))
    }
}

#[cfg(target_arch = "x86_64")]
mod kernel {
    use std::arch::x86_64::{
        __m128i, __m512i, _mm_aeskeygenassist_si128, _mm_loadu_si128, _mm_set_epi8, _mm_shuffle_epi32,
        _mm_slli_si128, _mm_xor_si128, _mm512_add_epi64, _mm512_aesenc_epi128, _mm512_aesenclast_epi128,
        _mm512_broadcast_i32x4, _mm512_loadu_si512, _mm512_set_epi64, _mm512_setzero_si512,
        _mm512_shuffle_epi8, _mm512_storeu_si512, _mm512_xor_si512,
    };

    use crossgrain::Cipher;
    use crossgrain::mode::Mode;

    use super::{How, Job, Messages, Refusal, Time};
    use crate::worker::each;

    const RUN_BYTES: usize = 512;

    type Run = [u8; RUN_BYTES];

    pub(super) fn is_here() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("vaes")
    }

    pub(super) fn run(job: &Job, how: How, messages: &mut Messages) -> Time {
        let is_ctr = match job.mode {
            Some(Mode::Ecb) if !how.opens => false,
            Some(Mode::Ctr) => true,
            _ => return Err(Refusal::None("written for ECB and CTR encryption")),
        };
        let is_whole = job.bytes.iter().all(|bytes| bytes.is_multiple_of(RUN_BYTES));
        if job.cipher != Cipher::Aes128 || !is_whole || !is_here() {
            return Err(Refusal::None("written for AES-128 and whole runs"));
        }
        let make = |key: &[u8]| {
            let key = key.try_into()?;
            // SAFETY: a CPU with VAES has AES instructions.
            Ok(unsafe { expand(key) })
        };
        each(how, &mut messages.all(), make, |keys, _, message, in_place| {
            let to = message.output.as_mut_ptr().cast::<Run>();
            let from = if in_place { to.cast_const() } else { message.source.as_ptr().cast() };
            let runs = message.source.len() / RUN_BYTES;
            // SAFETY: the CPU has the instructions, and both places have `runs` runs.
            unsafe {
                if is_ctr {
                    ctr(keys, u128::from_be_bytes(message.nonce.try_into()?), from, to, runs);
                } else {
                    ecb(keys, from, to, runs);
                }
            }
            Ok(())
        })
    }

    #[target_feature(enable = "aes,sse2")]
    fn expand(key: &[u8; 16]) -> [__m128i; 11] {
        // SAFETY: the key is as long as a register.
        let mut key = unsafe { _mm_loadu_si128(key.as_ptr().cast()) };
        let mut keys = [key; 11];
        macro_rules! next {
            ($($round:literal $constant:literal)*) => {$(
                let word = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<$constant>(key));
                key = _mm_xor_si128(key, _mm_slli_si128::<4>(key));
                key = _mm_xor_si128(key, _mm_slli_si128::<8>(key));
                key = _mm_xor_si128(key, word);
                keys[$round] = key;
            )*};
        }
        next!(1 0x01 2 0x02 3 0x04 4 0x08 5 0x10 6 0x20 7 0x40 8 0x80 9 0x1b 10 0x36);
        keys
    }

    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    fn broadcast(keys: &[__m128i; 11]) -> [__m512i; 11] {
        let mut wide = [_mm512_setzero_si512(); 11];
        for (wide, key) in wide.iter_mut().zip(keys) {
            *wide = _mm512_broadcast_i32x4(*key);
        }
        wide
    }

    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    fn rounds(keys: &[__m512i; 11], state: &mut [__m512i; 8], last: [__m512i; 8]) {
        for key in &keys[1..10] {
            for word in state.iter_mut() {
                *word = _mm512_aesenc_epi128(*word, *key);
            }
        }
        for (word, last) in state.iter_mut().zip(last) {
            *word = _mm512_aesenclast_epi128(*word, last);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    unsafe fn ecb(keys: &[__m128i; 11], from: *const Run, to: *mut Run, runs: usize) {
        let keys = broadcast(keys);
        for run in 0..runs {
            // SAFETY: there are `runs` runs at both places, as the caller promises.
            let (from, to): (*const __m512i, *mut __m512i) =
                unsafe { (from.add(run).cast(), to.add(run).cast()) };
            let mut state = [_mm512_setzero_si512(); 8];
            for (i, word) in state.iter_mut().enumerate() {
                // SAFETY: a run is as long as eight registers.
                *word = _mm512_xor_si512(unsafe { _mm512_loadu_si512(from.add(i)) }, keys[0]);
            }
            rounds(&keys, &mut state, [keys[10]; 8]);
            for (i, word) in state.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(to.add(i), word) };
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    unsafe fn ctr(keys: &[__m128i; 11], first: u128, from: *const Run, to: *mut Run, runs: usize) {
        let keys = broadcast(keys);
        let swap = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        let (low, high) = (first as i64, (first >> 64) as i64);
        let one_by_one = _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0);
        let four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
        let mut counter =
            _mm512_add_epi64(_mm512_set_epi64(high, low, high, low, high, low, high, low), one_by_one);
        for run in 0..runs {
            // SAFETY: there are `runs` runs at both places, as the caller promises.
            let (from, to): (*const __m512i, *mut __m512i) =
                unsafe { (from.add(run).cast(), to.add(run).cast()) };
            let (mut state, mut last) = ([_mm512_setzero_si512(); 8], [_mm512_setzero_si512(); 8]);
            for i in 0..8 {
                state[i] = _mm512_xor_si512(_mm512_shuffle_epi8(counter, swap), keys[0]);
                counter = _mm512_add_epi64(counter, four);
                // SAFETY: a run is as long as eight registers.
                last[i] = _mm512_xor_si512(unsafe { _mm512_loadu_si512(from.add(i)) }, keys[10]);
            }
            rounds(&keys, &mut state, last);
            for (i, word) in state.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(to.add(i), word) };
            }
        }
    }
}
