//! Keys made of words on a device: by SHA-256, or by PBKDF2 with it, a word a thread.
//!
//! Blocks go to the device, or it makes those of candidates that are counted, and keys come back. In between stay 32 words a candidate: what is to be the key, the last turn's result
//! and the two states of HMAC's key. Turns are made many at a time, in runs that a device's watchdog lets pass. Numbers lie as in
//! [`parallel`](super::parallel), of whose kernels these are some: the first of all words, then the second and so on, little-endian.
//! Holds: of words, candidates and keys nothing is in a program's text; the salt and the number of turns are its state, and what a candidate is made of. Device and host are
//! overwritten when a [`Deriver`] is dropped, as far as the device still listens.

use std::time::{Duration, Instant};

use crossgrain::internal::circuit::trace::{Width, trace_given};
use crossgrain_search::{Counted, Derivation, Derive, Failure};
use zeroize::Zeroizing;

use super::parallel::{Bundle, Lanes, Loop, Map, MapLoop, Part, Program, Reads, Sink, Span, Written};
use super::{Error, Gpu, Memory};

/// Words of a block, of a digest, and of what stays on the device in between.
const BLOCK: usize = 16;
const DIGEST: usize = 8;
const STATE: usize = 32;

/// Words of the first call.
const FIRST_WORDS: usize = 1 << 8;

/// Most words of a call: more threads than most devices keep busy at a time.
const WORDS_MAX: usize = Counted::MOST;

/// Calls grow until they last as long.
const MOMENT: Duration = Duration::from_millis(500);

/// Turns of a run are as many as last about so long.
const RUN: Duration = Duration::from_millis(100);

/// Turns of the first run.
const FIRST_TURNS: u32 = 16;

/// The digest of a block.
struct Digest;

impl Map<BLOCK, DIGEST> for Digest {
    #[inline(always)]
    fn map<W: Lanes>(&self, block: [W; BLOCK]) -> [W; DIGEST] {
        Derivation::digest(block)
    }
}

/// PBKDF2's first turn, by the blocks of its salt.
struct FirstTurn<'a>(&'a [[u32; BLOCK]]);

impl Map<BLOCK, STATE> for FirstTurn<'_> {
    #[inline(always)]
    fn map<W: Lanes>(&self, block: [W; BLOCK]) -> [W; STATE] {
        Derivation::first_turn(block, self.0)
    }
}

/// Turns, as many as are told when they are made.
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

/// What something makes of blocks, of those of candidates that are counted.
struct Of<'a, K>(&'a Counted, K);

impl<K: Map<BLOCK, OUT>, const OUT: usize> Map<1, OUT> for Of<'_, K> {
    #[inline(always)]
    fn map<W: Lanes>(&self, [after]: [W; 1]) -> [W; OUT] {
        self.1.map(self.0.block(after))
    }
}

/// What the device makes of candidates that are counted.
struct OfCounted {
    /// The shape of these candidates.
    shape: Vec<(usize, usize)>,
    /// What makes something of their blocks, for each part of a key.
    firsts: Vec<Written>,
}

/// What makes keys of words on a device.
pub(super) struct Deriver {
    gpu: Gpu,
    derivation: Derivation,
    /// What makes something of blocks, for each part of a key.
    firsts: Vec<Written>,
    /// The same of candidates that it makes itself, once there were some.
    counted: Option<OfCounted>,
    /// What makes turns.
    turns: Written,
    blocks: Memory,
    states: Memory,
    /// How many words are best given at a time, how long the last call took of as many, and how many turns are best made in a run.
    words: usize,
    took: Option<Duration>,
    turns_at_once: u32,
}

impl Deriver {
    /// # Errors
    /// If the device has no room or is lost.
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

    /// Makes a key of each block, of which there are no more than there is room for.
    fn derive(&mut self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Error> {
        let count = blocks.len() / (4 * BLOCK);
        self.gpu.device().upload(&in_numbers(blocks, count), &mut self.blocks)?;
        self.derive_there(count, keys, false)
    }

    /// The same of candidates that it makes itself.
    fn derive_counted(&mut self, candidates: &Counted, keys: &mut [u8]) -> Result<(), Error> {
        let shape = candidates.shape();
        let mut counted = match self.counted.take() {
            Some(counted) if counted.shape == shape => counted,
            _ => OfCounted { shape, firsts: firsts(&self.gpu, &self.derivation, Some(candidates))? },
        };
        // What candidates are made of is asked for before anything else.
        let (_, given) = trace_given(Width::Three, 1, |after| candidates.block(after[0]).to_vec());
        counted.firsts.iter_mut().for_each(|first| first.give(&given));
        self.counted = Some(counted);
        self.derive_there(keys.len() / self.derivation.key_bytes(), keys, true)
    }

    /// The same of as many blocks that are on the device, or of candidates that are counted.
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

    /// All turns after the first, in runs that last a moment.
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

    /// Puts a part of each key in its place.
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

    /// Takes more words from now on where that takes hardly longer, or a call is soon over.
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

/// What makes something of blocks, for each part of a key: of those that the device is given, or those of candidates.
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

/// A kernel as a program that writes its results; of one that finds its elements where these go, the rounds of its loop alone.
fn written<K: Bundle<1, IN, OUT>, const IN: usize, const OUT: usize>(
    gpu: &Gpu,
    kernel: &K,
    reads: Reads,
) -> Result<Written, Error> {
    let part = if reads == Reads::Goal { Part::Rounds } else { Part::All };
    let launch = gpu.launch();
    Program::<K, 1, IN, OUT> { kernel, reads, sink: Sink::Write, part, launch }.written(gpu)
}

/// Blocks as numbers that lie one after another.
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
