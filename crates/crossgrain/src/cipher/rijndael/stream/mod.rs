//! Rijndael with blocks of 24 and 32 bytes, in the modes that are defined for any block size.
//!
//! The rest of the engine (tiles, counters, plans of parts) needs blocks of 16 bytes. Here the whole cipher
//! is the only part, so no composition is necessary. One or two variants are chosen by cost, and the modes
//! only use them to replace blocks. Modes that are defined only for blocks of 16 bytes
//! ([`crate::mode::Entry::any_block_size`]) are rejected.
//!
//! ```
//! use crossgrain::Direction;
//! use crossgrain::mode::Mode;
//! use crossgrain::wide::{Key, Rijndael, State, Stream};
//!
//! let key = Key::new(Rijndael::Block256Key256, &[7; 32])?;
//! let first = State::new(key.cipher(), &[0; 32])?;
//! let stream = Stream::new(&key, Mode::Ctr, Direction::Encrypt)?;
//! let mut data = b"some secret text".to_vec();
//! stream.apply(&mut first.clone(), &mut data)?;
//! stream.apply(&mut first.clone(), &mut data)?;
//! assert_eq!(data, b"some secret text");
//! # Ok::<(), crossgrain::Error>(())
//! ```

mod bound;
mod rows;
#[cfg(feature = "search")]
mod search;

#[doc(hidden)]
pub use rows::{Variant, variants};
#[cfg(feature = "search")]
#[doc(hidden)]
pub use search::search;

use std::fmt;
use std::str::FromStr;

use zeroize::Zeroizing;

use self::bound::{Bound, Run};
use crate::arch::{ClearRegisters, DEEP_STACK_BYTES, Features, wipe_stack, wiping_deep_stack};
use crate::block::{Direction, Error, fill_random};
use crate::mode::{Lengths, Mode, follow};
use crate::run::Threads;

/// The size of the longest block or key, in bytes.
const BYTES_MAX: usize = 32;

/// The size of a thread's piece, in bytes: whole blocks of both sizes, and whole bundles of every variant.
const PIECE_BYTES: usize = 3 << 16;

/// Rijndael (Daemen and Rijmen) with blocks wider than in AES. Names give the bits of block and key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rijndael {
    /// Blocks of 192 bits, keys of 128; twelve rounds.
    Block192Key128,
    /// Blocks and keys of 192 bits; twelve rounds.
    Block192Key192,
    /// Blocks of 192 bits, keys of 256; fourteen rounds.
    Block192Key256,
    /// Blocks of 256 bits, keys of 128; fourteen rounds, as for every key of such blocks.
    Block256Key128,
    /// Blocks of 256 bits, keys of 192.
    Block256Key192,
    /// Blocks and keys of 256 bits.
    Block256Key256,
}

impl Rijndael {
    /// All of them, in the order in which tables list them.
    pub const ALL: [Self; 6] = [
        Self::Block192Key128,
        Self::Block192Key192,
        Self::Block192Key256,
        Self::Block256Key128,
        Self::Block256Key192,
        Self::Block256Key256,
    ];

    /// The name that users type, for example `rijndael-256-256`: block bits, then key bits.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Block192Key128 => "rijndael-192-128",
            Self::Block192Key192 => "rijndael-192-192",
            Self::Block192Key256 => "rijndael-192-256",
            Self::Block256Key128 => "rijndael-256-128",
            Self::Block256Key192 => "rijndael-256-192",
            Self::Block256Key256 => "rijndael-256-256",
        }
    }

    /// The size of a block, in bytes.
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::Block192Key128 | Self::Block192Key192 | Self::Block192Key256 => 24,
            Self::Block256Key128 | Self::Block256Key192 | Self::Block256Key256 => 32,
        }
    }

    /// The size of a key, in bytes.
    pub const fn key_bytes(self) -> usize {
        match self {
            Self::Block192Key128 | Self::Block256Key128 => 16,
            Self::Block192Key192 | Self::Block256Key192 => 24,
            Self::Block192Key256 | Self::Block256Key256 => 32,
        }
    }
}

impl fmt::Display for Rijndael {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rijndael {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|cipher| cipher.name() == name);
        found.ok_or_else(|| Error::UnknownCipher(name.to_owned()))
    }
}

/// A secret key and its cipher. The key is wiped from memory when it is dropped and is never printed. Its
/// bytes are on the heap, so they stay in place when the value is moved.
pub struct Key {
    cipher: Rijndael,
    bytes: Box<Zeroizing<[u8; BYTES_MAX]>>,
}

impl Key {
    /// Copies the key from bytes in the order of the Rijndael submission.
    ///
    /// # Errors
    /// [`Error::WideKeyLength`] unless `bytes` is exactly [`Rijndael::key_bytes`] long.
    pub fn new(cipher: Rijndael, bytes: &[u8]) -> Result<Self, Error> {
        let (key_bytes, len_bytes) = (cipher.key_bytes(), bytes.len());
        if len_bytes != key_bytes {
            return Err(Error::WideKeyLength { cipher: cipher.name(), key_bytes, len_bytes });
        }
        let _clear = ClearRegisters;
        let mut key = Box::new(Zeroizing::new([0; BYTES_MAX]));
        key[..len_bytes].copy_from_slice(bytes);
        Ok(Self { cipher, bytes: key })
    }

    /// Creates a key with the operating system's random generator.
    ///
    /// # Errors
    /// [`Error::NoRandom`] if the system returns no random bytes.
    pub fn generate(cipher: Rijndael) -> Result<Self, Error> {
        let _clear = ClearRegisters;
        let mut key = Box::new(Zeroizing::new([0; BYTES_MAX]));
        fill_random(&mut key[..cipher.key_bytes()])?;
        Ok(Self { cipher, bytes: key })
    }

    /// The cipher of this key.
    pub const fn cipher(&self) -> Rijndael {
        self.cipher
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.cipher.key_bytes()]
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        let _clear = ClearRegisters;
        let mut bytes = Box::new(Zeroizing::new([0; BYTES_MAX]));
        bytes.copy_from_slice(&self.bytes[..]);
        Self { cipher: self.cipher, bytes }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, secret)", self.cipher)
    }
}

/// The chaining state of a mode: the initial value, a counter, or a block of ciphertext or keystream. If a
/// piece ended inside a block, also the position in that block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    block: [u8; BYTES_MAX],
    block_bytes: usize,
    /// The first `within_bytes` bytes of the current ciphertext block.
    begun: [u8; BYTES_MAX],
    within_bytes: usize,
}

impl State {
    /// The state at the beginning of a message. ECB ignores it, so zeros are fine.
    ///
    /// # Errors
    /// [`Error::WideInitialLength`] unless `initial` is a block of the cipher.
    pub fn new(cipher: Rijndael, initial: &[u8]) -> Result<Self, Error> {
        let (block_bytes, len_bytes) = (cipher.block_bytes(), initial.len());
        if len_bytes != block_bytes {
            return Err(Error::WideInitialLength { cipher: cipher.name(), block_bytes, len_bytes });
        }
        let mut block = [0; BYTES_MAX];
        block[..block_bytes].copy_from_slice(initial);
        Ok(Self { block, block_bytes, begun: [0; BYTES_MAX], within_bytes: 0 })
    }

    /// The block.
    pub fn block(&self) -> &[u8] {
        &self.block[..self.block_bytes]
    }

    /// Replaces the block by the last whole block of `input`, if any, and stores the bytes after it.
    fn follow(&mut self, input: &[u8]) {
        let mut blocks = input.chunks_exact(self.block_bytes);
        let tail = blocks.remainder();
        if let Some(last) = blocks.next_back() {
            self.block[..self.block_bytes].copy_from_slice(last);
        }
        self.begun[..tail.len()].copy_from_slice(tail);
        self.within_bytes = tail.len();
    }

    /// Adds `blocks` to the block as a big-endian counter, modulo the block size.
    pub fn count(&mut self, blocks: u64) {
        let mut carry = u128::from(blocks);
        for byte in self.block[..self.block_bytes].iter_mut().rev() {
            carry += u128::from(*byte);
            *byte = carry as u8;
            carry >>= 8;
        }
    }
}

/// Options for running a mode. By default they allow all instructions that the CPU has and `CROSSGRAIN_ISA`
/// permits, and all threads of rayon's pool. All variants are constant-time.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The instructions that may be used; `None` for those that the environment allows.
    pub features: Option<Features>,
    /// Names of variants that must be used, as in `crossgrain variants`. At most one; empty for a free
    /// choice.
    pub variants: Vec<String>,
    /// The maximum number of threads; 0 for all of rayon's current pool.
    pub threads: usize,
}

/// A mode in one direction, bound to a key.
pub struct Stream {
    cipher: Rijndael,
    mode: Mode,
    direction: Direction,
    threads: Threads,
    bound: Box<dyn Run>,
}

impl Stream {
    /// Binds the mode to a key, with the default options.
    ///
    /// # Errors
    /// [`Error::UnfitMode`] for a mode that is defined only for blocks of 16 bytes, [`Error::BadIsaCap`] if
    /// the environment's cap cannot be parsed.
    pub fn new(key: &Key, mode: Mode, direction: Direction) -> Result<Self, Error> {
        Self::with_options(key, mode, direction, &Options::default())
    }

    /// Binds the mode to a key, with these options.
    ///
    /// # Errors
    /// [`Error::UnfitMode`] for a mode that is defined only for blocks of 16 bytes, [`Error::UnknownVariant`]
    /// or [`Error::Unavailable`] for a named variant, [`Error::BadIsaCap`] if the environment's cap cannot be
    /// parsed.
    pub fn with_options(
        key: &Key,
        mode: Mode,
        direction: Direction,
        options: &Options,
    ) -> Result<Self, Error> {
        let _clear = ClearRegisters;
        if !mode.entry().any_block_size {
            return Err(mode.unfit(|mode| mode.entry().any_block_size));
        }
        let features = Features::usable(options.features)?;
        let cipher = key.cipher();
        let cipher_direction = mode.cipher_direction(direction);
        let bound = wiping_deep_stack(|| -> Result<Box<dyn Run>, Error> {
            if cipher.block_bytes() == 24 {
                Bound::<24>::new::<192>(key.bytes(), cipher_direction, features, &options.variants).map(boxed)
            } else {
                Bound::<32>::new::<256>(key.bytes(), cipher_direction, features, &options.variants).map(boxed)
            }
        })?;
        Ok(Self { cipher, mode, direction, threads: Threads::at_most(options.threads), bound })
    }

    /// The names of the chosen variants, with the number of blocks in a bundle.
    pub fn variants(&self) -> Vec<(&str, usize)> {
        self.bound.variants()
    }

    /// Processes the next piece of a message in place and updates `state` for the piece after it. A piece may
    /// end wherever a message may.
    ///
    /// # Errors
    /// [`Error::PartialWideBlock`] if the mode needs whole blocks, [`Error::WideInitialLength`] if the state
    /// has another block size. Nothing is written then.
    pub fn apply(&self, state: &mut State, data: &mut [u8]) -> Result<(), Error> {
        let _clear = ClearRegisters;
        let (cipher, block_bytes, len_bytes) = (self.cipher.name(), self.cipher.block_bytes(), data.len());
        if state.block_bytes != block_bytes {
            return Err(Error::WideInitialLength { cipher, block_bytes, len_bytes: state.block_bytes });
        }
        if self.mode.entry().lengths != Lengths::Any && !len_bytes.is_multiple_of(block_bytes) {
            return Err(Error::PartialWideBlock { cipher, block_bytes, len_bytes });
        }
        let within = if state.within_bytes == 0 { 0 } else { block_bytes - state.within_bytes };
        let (begun, data) = data.split_at_mut(within.min(len_bytes));
        self.go_on(state, begun);
        if !self.mode.is_parallel(self.direction) {
            let unit_bytes = if self.mode.segment_bits().is_some() { 1 } else { block_bytes };
            let (whole, tail) = data.split_at_mut(data.len() / unit_bytes * unit_bytes);
            self.bound.serial(self.mode, state, whole);
            self.go_on(state, tail);
        } else {
            let pieces = Pieces { mode: self.mode, state, rest: data };
            self.threads
                .each(len_bytes, pieces, &|(state, piece)| self.bound.parallel(self.mode, &state, piece));
        }
        Ok(())
    }

    /// Continues inside a block, at most to its end.
    fn go_on(&self, state: &mut State, data: &mut [u8]) {
        if data.is_empty() {
            return;
        }
        let mut key = Zeroizing::new(state.block);
        self.bound.parallel(Mode::Ecb, state, &mut key[..state.block_bytes]);
        for byte in data {
            let input = *byte;
            *byte ^= key[state.within_bytes];
            state.begun[state.within_bytes] =
                if self.direction == Direction::Decrypt { input } else { *byte };
            state.within_bytes += 1;
        }
        if state.within_bytes == state.block_bytes {
            match self.mode {
                Mode::Ofb => state.block = *key,
                Mode::Ctr => state.count(1),
                _ => state.block = state.begun,
            }
            state.within_bytes = 0;
        }
    }
}

fn boxed(bound: impl Run + 'static) -> Box<dyn Run> {
    Box::new(bound)
}

/// Runs spill values from registers to the stack.
impl Drop for Stream {
    fn drop(&mut self) {
        wipe_stack::<DEEP_STACK_BYTES>();
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({}, {:?}, {:?}, {:?})", self.cipher, self.mode, self.direction, self.variants())
    }
}

/// A message cut into pieces, each with its initial state. The state is read before the piece is returned,
/// and so before the piece is overwritten.
struct Pieces<'a, 's> {
    mode: Mode,
    state: &'s mut State,
    rest: &'a mut [u8],
}

impl<'a> Iterator for Pieces<'a, '_> {
    type Item = (State, &'a mut [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let rest = std::mem::take(&mut self.rest);
        let (piece, rest) = rest.split_at_mut(PIECE_BYTES.min(rest.len()));
        self.rest = rest;
        let state = self.state.clone();
        match self.mode {
            Mode::Ctr => {
                self.state.count((piece.len() / state.block_bytes) as u64);
                self.state.within_bytes = piece.len() % state.block_bytes;
            }
            Mode::Cbc | Mode::Cfb => self.state.follow(piece),
            Mode::Cfb8 | Mode::Cfb1 => follow(&mut self.state.block[..state.block_bytes], piece),
            // These modes chain nothing, or are never cut.
            _ => {}
        }
        Some((state, piece))
    }
}
