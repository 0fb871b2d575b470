//! AES-128 in ECB and CTR written by hand for one instruction set, VAES on 512 bits: what one source for all widths is
//! measured against. All round keys stay in registers, everything is written for eight registers of four blocks.
//!
//! Source: Gueron, "Intel Advanced Encryption Standard (AES) New Instructions Set" (2012), for the key schedule.
//! Holds: what is no whole run of 512 bytes, and counters whose low 64 bits wrap, go a block at a time by way of a copy, for
//! it is a yardstick and not a cipher.

use crate::peer::{Operation, Peer, Setup};

/// Why a job is turned down.
const ONLY: &str = "hand-written: AES-128 encryption in ecb and ctr";

/// The code of this file, where the CPU has what it is written for.
pub(crate) struct HandWritten(());

impl HandWritten {
    /// Asks the CPU.
    pub(crate) fn load() -> Result<Self, String> {
        kernel::is_here().then_some(Self(())).ok_or_else(|| "hand-written: no VAES on 512 bits".into())
    }
}

impl Peer for HandWritten {
    fn name(&self) -> String {
        "hand-written AES-128 for VAES on 512 bits".into()
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        kernel::operation(setup)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod kernel {
    use super::{ONLY, Operation, Setup};

    pub(super) fn is_here() -> bool {
        false
    }

    pub(super) fn operation(_: &Setup) -> Result<Box<dyn Operation>, String> {
        Err(ONLY.into())
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

    use super::{ONLY, Operation, Setup};
    use crate::peer::{BLOCK_BYTES, Cipher, Direction, Job, Mode, PARTIAL_BLOCK};

    const RUN_BYTES: usize = 512;

    pub(super) fn is_here() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("vaes")
    }

    struct Keyed {
        keys: [__m128i; 11],
        /// The first counter as an integer, or nothing for ECB.
        counter: Option<u128>,
    }

    pub(super) fn operation(setup: &Setup) -> Result<Box<dyn Operation>, String> {
        let Job { cipher: Cipher::Aes128, mode, direction, .. } = setup.job() else {
            return Err(ONLY.into());
        };
        let counter = match (mode, direction) {
            (Mode::Ecb, Direction::Encrypt) => None,
            (Mode::Ctr, _) => Some(u128::from_be_bytes(setup.iv().try_into().map_err(|_| ONLY)?)),
            _ => return Err(ONLY.into()),
        };
        let key = setup.key().try_into().map_err(|_| ONLY)?;
        // SAFETY: a `HandWritten` exists only where the CPU has AES instructions.
        Ok(Box::new(Keyed { keys: unsafe { expand(key) }, counter }))
    }

    impl Operation for Keyed {
        fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
            if self.counter.is_none() && !buffer.len().is_multiple_of(BLOCK_BYTES) {
                return Err(PARTIAL_BLOCK.into());
            }
            let (runs, mut rest) = buffer.as_chunks_mut::<RUN_BYTES>();
            let mut block = 0;
            if self.counter.is_none_or(|first| (first as u64).checked_add(blocks(runs)).is_some()) {
                self.run(0, runs);
                block = u128::from(blocks(runs));
            } else {
                rest = buffer;
            }
            for (place, block) in rest.chunks_mut(BLOCK_BYTES).zip(block..) {
                let mut copy = [[0; RUN_BYTES]];
                copy[0][..place.len()].copy_from_slice(place);
                self.run(block, &mut copy);
                place.copy_from_slice(&copy[0][..place.len()]);
            }
            Ok(())
        }
    }

    impl Keyed {
        /// Runs of which the first begins with this block of the job.
        fn run(&self, block: u128, runs: &mut [[u8; RUN_BYTES]]) {
            // SAFETY: a `HandWritten` exists only where the CPU has VAES and AVX-512.
            unsafe {
                match self.counter {
                    None => ecb(&self.keys, runs),
                    Some(first) => ctr(&self.keys, first.wrapping_add(block), runs),
                }
            }
        }
    }

    fn blocks(runs: &[[u8; RUN_BYTES]]) -> u64 {
        (size_of_val(runs) / BLOCK_BYTES) as u64
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
    fn ecb(keys: &[__m128i; 11], runs: &mut [[u8; RUN_BYTES]]) {
        let keys = broadcast(keys);
        for run in runs {
            let place: *mut __m512i = run.as_mut_ptr().cast();
            let mut state = [_mm512_setzero_si512(); 8];
            for (i, word) in state.iter_mut().enumerate() {
                // SAFETY: a run is as long as eight registers.
                *word = _mm512_xor_si512(unsafe { _mm512_loadu_si512(place.add(i)) }, keys[0]);
            }
            rounds(&keys, &mut state, [keys[10]; 8]);
            for (i, word) in state.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(place.add(i), word) };
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,vaes")]
    fn ctr(keys: &[__m128i; 11], first: u128, runs: &mut [[u8; RUN_BYTES]]) {
        let keys = broadcast(keys);
        let swap = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        let (low, high) = (first as i64, (first >> 64) as i64);
        let one_by_one = _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0);
        let four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
        let mut counter =
            _mm512_add_epi64(_mm512_set_epi64(high, low, high, low, high, low, high, low), one_by_one);
        for run in runs {
            let place: *mut __m512i = run.as_mut_ptr().cast();
            let (mut state, mut last) = ([_mm512_setzero_si512(); 8], [_mm512_setzero_si512(); 8]);
            for i in 0..8 {
                state[i] = _mm512_xor_si512(_mm512_shuffle_epi8(counter, swap), keys[0]);
                counter = _mm512_add_epi64(counter, four);
                // SAFETY: a run is as long as eight registers.
                last[i] = _mm512_xor_si512(unsafe { _mm512_loadu_si512(place.add(i)) }, keys[10]);
            }
            rounds(&keys, &mut state, last);
            for (i, word) in state.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(place.add(i), word) };
            }
        }
    }
}
