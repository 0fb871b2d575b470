//! Derives keys from passwords on a device, by SHA-256 or by PBKDF2 with HMAC-SHA-256. A thread handles one
//! password at a time.
//!
//! ```text
//! blocks (uploaded, or generated from counted candidates)
//!   ─► first program ─► 32-word state ─► further iterations, in several runs ─► keys (downloaded)
//! ```
//!
//! The PBKDF2 state of a candidate has 32 words: the key so far (8), the last iteration's result (8) and
//! the two SHA-256 states of HMAC's key (16). A run makes many iterations, but is short enough for a
//! device's watchdog. The programs are kernels of [`parallel`](super::parallel) and use its layout: word 0
//! of all elements, then word 1 of all elements, and so on, little-endian.
//!
//! Program texts contain no passwords, candidates or keys. The salt, the iteration count and the data from
//! which candidates are generated are program state. Device and host memory are overwritten when a
//! [`Deriver`] is dropped, if the device still responds.

use std::time::{Duration, Instant};

use crossgrain::engine::circuit::trace::{Width, trace_given};
use crossgrain_search::{Counted, Derivation, Derive, Failure};
use zeroize::Zeroizing;

use super::parallel::{Bundle, Lanes, Loop, Map, MapLoop, Part, Program, Reads, Sink, Span, Written};
use super::{Error, Gpu, Memory};

/// Words of a SHA-256 block, of a digest, and of a candidate's state on the device.
const BLOCK: usize = 16;
const DIGEST: usize = 8;
const STATE: usize = 32;

/// Number of passwords in the first call.
const FIRST_WORDS: usize = 1 << 8;

/// Maximum number of passwords per call: more threads than most devices can keep busy.
const WORDS_MAX: usize = Counted::MOST;

/// The number of passwords grows until a call takes this long.
const MOMENT: Duration = Duration::from_millis(500);

/// The number of iterations per run is adjusted until a run takes at most this long.
const RUN: Duration = Duration::from_millis(100);

/// Number of iterations in the first run.
const FIRST_TURNS: u32 = 16;

/// Kernel: the digest of a block.
struct Digest;

impl Map<BLOCK, DIGEST> for Digest {
    #[inline(always)]
    fn map<W: Lanes>(&self, block: [W; BLOCK]) -> [W; DIGEST] {
        Derivation::digest(block)
    }
}

/// Kernel: PBKDF2's first iteration, with the padded blocks of the salt.
struct FirstTurn<'a>(&'a [[u32; BLOCK]]);

impl Map<BLOCK, STATE> for FirstTurn<'_> {
    #[inline(always)]
    fn map<W: Lanes>(&self, block: [W; BLOCK]) -> [W; STATE] {
        Derivation::first_turn(block, self.0)
    }
}

/// Kernel: further iterations. Their number is set for each run, so the count here is zero.
struct Turns;

impl MapLoop<STATE, STATE> for Turns {
    fn rounds(&self) -> u32 {
        0
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, y: [W; STATE]) -> [W; STATE] {
        y
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, y: [W; STATE]) -> [W; STATE] {
        Derivation::next_turn(y)
    }
}

/// Applies kernel `K` to the blocks of counted candidates, which the device generates.
struct Of<'a, K>(&'a Counted, K);

impl<K: Map<BLOCK, OUT>, const OUT: usize> Map<1, OUT> for Of<'_, K> {
    #[inline(always)]
    fn map<W: Lanes>(&self, [after]: [W; 1]) -> [W; OUT] {
        self.1.map(self.0.block(after))
    }
}

/// Programs for candidates that the device generates.
struct OfCounted {
    /// The shape of the candidates, on which the programs' texts depend.
    shape: Vec<(usize, usize)>,
    /// The first program for each part of a key.
    firsts: Vec<Written>,
}

/// Derives keys from passwords on a device.
pub(super) struct Deriver {
    gpu: Gpu,
    derivation: Derivation,
    /// The first program for each part of a key, for uploaded blocks.
    firsts: Vec<Written>,
    /// The first programs for counted candidates. `None` until the first call with candidates.
    counted: Option<OfCounted>,
    /// The program for further iterations.
    turns: Written,
    blocks: Memory,
    states: Memory,
    /// The preferred number of passwords per call, the duration of the last call with half that number, and
    /// the preferred number of iterations per run.
    words: usize,
    took: Option<Duration>,
    turns_at_once: u32,
}

impl Deriver {
    /// # Errors
    /// If the device has too little memory or is lost.
    pub(super) fn new(gpu: &Gpu, derivation: &Derivation) -> Result<Self, Error> {
        let room = |words: usize| gpu.allocate(4 * words * WORDS_MAX);
        Ok(Self {
            derivation: derivation.clone(),
            firsts: firsts(gpu, derivation, None)?,
            counted: None,
            turns: written::<_, STATE, STATE>(gpu, &Loop(Turns), Reads::Goal)?,
            blocks: room(BLOCK)?,
            states: room(STATE)?,
            gpu: gpu.clone(),
            words: FIRST_WORDS,
            took: None,
            turns_at_once: FIRST_TURNS,
        })
    }

    /// Derives a key from each block. The number of blocks must not exceed `WORDS_MAX`.
    fn derive(&mut self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Error> {
        let count = blocks.len() / (4 * BLOCK);
        self.gpu.device().upload(&in_numbers(blocks, count), &mut self.blocks)?;
        self.derive_there(count, keys, false)
    }

    /// Derives keys from candidates that the device generates.
    fn derive_counted(&mut self, candidates: &Counted, keys: &mut [u8]) -> Result<(), Error> {
        let shape = candidates.shape();
        let mut counted = match self.counted.take() {
            Some(counted) if counted.shape == shape => counted,
            _ => OfCounted { shape, firsts: firsts(&self.gpu, &self.derivation, Some(candidates))? },
        };
        // The candidates' own parameters come first in the program's state.
        let (_, given) = trace_given(Width::Three, 1, |after| candidates.block(after[0]).to_vec());
        counted.firsts.iter_mut().for_each(|first| first.give(&given));
        self.counted = Some(counted);
        self.derive_there(keys.len() / self.derivation.key_bytes(), keys, true)
    }

    /// Derives `count` keys from blocks on the device, or from counted candidates.
    fn derive_there(&mut self, count: usize, keys: &mut [u8], is_counted: bool) -> Result<(), Error> {
        for part in 0..self.firsts.len() {
            let words = DIGEST.min((self.derivation.key_bytes() - 4 * DIGEST * part).div_ceil(4));
            let mut digests = Zeroizing::new(vec![0; 4 * words * count]);
            let span = Span { first: 0, stride: count };
            let (first, from) = match &self.counted {
                Some(counted) if is_counted => (&counted.firsts[part], (None, Span { first: 0, stride: 0 })),
                _ => (&self.firsts[part], (Some(&self.blocks), span)),
            };
            first.run(&self.gpu, count, from, (&mut self.states, span))?;
            self.make_turns(count)?;
            self.gpu.device().download(&self.states, &mut digests)?;
            self.put(&digests, count, part, keys);
        }
        Ok(())
    }

    /// Makes all iterations after the first, and adjusts the number per run.
    fn make_turns(&mut self, count: usize) -> Result<(), Error> {
        let (mut left, span) = (self.derivation.turns(), Span { first: 0, stride: count });
        while left > 0 {
            let turns = left.min(self.turns_at_once);
            let start = Instant::now();
            self.turns.make_rounds(&self.gpu, turns, count, (&mut self.states, span))?;
            left -= turns;
            if start.elapsed() > RUN {
                self.turns_at_once = (turns / 2).max(1);
            } else if start.elapsed() < RUN / 4 && turns == self.turns_at_once {
                self.turns_at_once = turns.saturating_mul(2);
            }
        }
        Ok(())
    }

    /// Copies part `part` of each key to its position in `keys`.
    fn put(&self, digests: &[u8], count: usize, part: usize, keys: &mut [u8]) {
        let key_bytes = self.derivation.key_bytes();
        for (number, digests) in digests.chunks_exact(4 * count).enumerate() {
            let from = 4 * (DIGEST * part + number);
            for (word, key) in digests.as_chunks().0.iter().zip(keys.chunks_exact_mut(key_bytes)) {
                let len_bytes = (key_bytes - from).min(4);
                let bytes = u32::from_le_bytes(*word).to_be_bytes();
                key[from..from + len_bytes].copy_from_slice(&bytes[..len_bytes]);
            }
        }
    }

    /// Doubles the number of passwords per call if calls are short or the last doubling cost little time.
    fn grow(&mut self, count: usize, time: Duration) {
        if count != self.words {
            return;
        }
        let is_cheap = self.took.is_some_and(|half| time < half * 3 / 2);
        if (time < MOMENT || is_cheap) && self.words < WORDS_MAX {
            self.words *= 2;
            self.took = Some(time);
        }
    }
}

impl Derive for Deriver {
    fn words(&self) -> usize {
        self.words
    }

    fn derive(&mut self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Failure> {
        let start = Instant::now();
        let keys = keys.chunks_mut(WORDS_MAX * self.derivation.key_bytes());
        for (blocks, keys) in blocks.chunks(4 * BLOCK * WORDS_MAX).zip(keys) {
            Self::derive(self, blocks, keys)?;
        }
        self.grow(blocks.len() / (4 * BLOCK), start.elapsed());
        Ok(())
    }

    fn derive_counted(&mut self, candidates: &Counted, keys: &mut [u8]) -> Result<(), Failure> {
        let (start, count) = (Instant::now(), keys.len() / self.derivation.key_bytes());
        if count == 0 {
            return Ok(());
        }
        if count > WORDS_MAX {
            return Err(
                format!("{WORDS_MAX} candidates are counted from one, and {count} were asked for").into()
            );
        }
        Self::derive_counted(self, candidates, keys)?;
        self.grow(count, start.elapsed());
        Ok(())
    }
}

impl Drop for Deriver {
    fn drop(&mut self) {
        self.gpu.wipe(&mut self.blocks, 4 * BLOCK * WORDS_MAX);
        self.gpu.wipe(&mut self.states, 4 * STATE * WORDS_MAX);
    }
}

/// Compiles the first program for each part of a key: for uploaded blocks, or for candidates.
fn firsts(gpu: &Gpu, derivation: &Derivation, candidates: Option<&Counted>) -> Result<Vec<Written>, Error> {
    let digest = || match candidates {
        Some(candidates) => written::<_, 1, DIGEST>(gpu, &Of(candidates, Digest), Reads::Indices),
        None => written::<_, BLOCK, DIGEST>(gpu, &Digest, Reads::Source),
    };
    let first_turn = |salt: &Vec<_>| match candidates {
        Some(candidates) => written::<_, 1, STATE>(gpu, &Of(candidates, FirstTurn(salt)), Reads::Indices),
        None => written::<_, BLOCK, STATE>(gpu, &FirstTurn(salt), Reads::Source),
    };
    match derivation.parts() {
        [] => Ok(vec![digest()?]),
        parts => parts.iter().map(first_turn).collect(),
    }
}

/// Compiles a kernel as a program that writes its results. If the kernel reads its input from the goal, the
/// program contains only the rounds of its loop.
fn written<K: Bundle<1, IN, OUT>, const IN: usize, const OUT: usize>(
    gpu: &Gpu,
    kernel: &K,
    reads: Reads,
) -> Result<Written, Error> {
    let part = if reads == Reads::Goal { Part::Rounds } else { Part::All };
    let launch = gpu.launch();
    Program::<K, 1, IN, OUT> { kernel, reads, sink: Sink::Write, part, launch }.written(gpu)
}

/// Transposes blocks to the device's layout: word 0 of all blocks, then word 1, and so on.
fn in_numbers(blocks: &[u8], count: usize) -> Zeroizing<Vec<u8>> {
    let mut numbers = Zeroizing::new(vec![0; blocks.len()]);
    for (at, block) in blocks.chunks_exact(4 * BLOCK).enumerate() {
        for (number, word) in block.as_chunks::<4>().0.iter().enumerate() {
            let word = u32::from_be_bytes(*word);
            numbers[4 * (number * count + at)..][..4].copy_from_slice(&word.to_le_bytes());
        }
    }
    numbers
}
