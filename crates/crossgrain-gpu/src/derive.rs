//! Keys made of words on a device: by SHA-256, or by PBKDF2 with it, a word a thread.
//!
//! Blocks go to the device, and keys come back. In between stay 32 words a candidate: what is to be the key, the last turn's result
//! and the two states of HMAC's key. Turns are made many at a time, in runs that a device's watchdog lets pass. Numbers lie as in
//! [`parallel`](super::parallel), of whose kernels these are some: the first of all words, then the second and so on, little-endian.
//! Holds: of words and keys nothing is in a program's text; the salt and the number of turns are its state. Device and host are
//! overwritten when a [`Deriver`] is dropped, as far as the device still listens.

use std::time::{Duration, Instant};

use crossgrain_search::{Derivation, Derive, Failure};
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
const WORDS_MAX: usize = 1 << 17;

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

/// What makes keys of words on a device.
pub(super) struct Deriver {
    gpu: Gpu,
    derivation: Derivation,
    /// What makes something of blocks, for each part of a key.
    firsts: Vec<Written>,
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
        let first = |salt: &Vec<_>| written::<_, BLOCK, STATE>(gpu, &FirstTurn(salt), Part::All);
        let mut firsts = derivation.parts().iter().map(first).collect::<Result<Vec<_>, _>>()?;
        if firsts.is_empty() {
            firsts.push(written::<_, BLOCK, DIGEST>(gpu, &Digest, Part::All)?);
        }
        let room = |words: usize| gpu.allocate(4 * words * WORDS_MAX);
        Ok(Self {
            derivation: derivation.clone(),
            firsts,
            turns: written::<_, STATE, STATE>(gpu, &Loop(Turns), Part::Rounds)?,
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
        let mut digests = Zeroizing::new(vec![0; 4 * DIGEST * count]);
        for part in 0..self.firsts.len() {
            let span = Span { first: 0, stride: count };
            self.firsts[part].run(&self.gpu, count, (Some(&self.blocks), span), (&mut self.states, span))?;
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
        let from = 4 * DIGEST * part;
        for (at, key) in keys.chunks_exact_mut(self.derivation.key_bytes()).enumerate() {
            for (number, goal) in key[from..].chunks_mut(4).take(DIGEST).enumerate() {
                for (byte, goal) in goal.iter_mut().enumerate() {
                    *goal = digests[4 * (number * count + at) + 3 - byte];
                }
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
}

impl Drop for Deriver {
    fn drop(&mut self) {
        self.gpu.wipe(&mut self.blocks, 4 * BLOCK * WORDS_MAX);
        self.gpu.wipe(&mut self.states, 4 * STATE * WORDS_MAX);
    }
}

/// A kernel, or a part of it, as a program that writes its results.
fn written<K: Bundle<1, IN, OUT>, const IN: usize, const OUT: usize>(
    gpu: &Gpu,
    kernel: &K,
    part: Part,
) -> Result<Written, Error> {
    let reads = if part == Part::Rounds { Reads::Goal } else { Reads::Source };
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
