//! Described ciphers under many keys: the known block of a key search under the key of each lane.
//!
//! Invariant: every function that a kernel calls is `#[inline(always)]`.

use std::marker::PhantomData;

use super::key_lanes::{Byte, KeyLanes};
use super::substitution::Substitution;
use super::{OnBytes, OnWords, Portion, Scheduled, Work};
use crate::arch::{ByteLanes, each};
use crate::block::Direction;

/// A described cipher under many keys, with a common interface for byte-oriented and word-oriented rounds.
pub trait UnderKeys: Send + Sync + 'static {
    /// The description.
    type Cipher: Scheduled;

    /// The operations of a portion of the rounds, and the number of bytes that each operation covers.
    fn work(direction: Direction, portion: Portion) -> (Work, f64);

    /// Computes a portion of the rounds on one block per lane under the round keys `keys`. Implementations must
    /// be `#[inline(always)]`.
    fn portion<W: ByteLanes, Y: Substitution<W>>(
        s: KeyLanes<'_, Self::Cipher, W, Y>,
        direction: Direction,
        portion: Portion,
        block: [Byte<W>; 16],
        keys: &[Byte<W>],
    ) -> [Byte<W>; 16];
}

/// A byte-oriented cipher.
#[derive(Clone, Copy, Debug)]
pub struct OfBytes<C>(PhantomData<fn() -> C>);

/// A word-oriented cipher.
#[derive(Clone, Copy, Debug)]
pub struct OfWords<C>(PhantomData<fn() -> C>);

impl<C: OnBytes + Scheduled> UnderKeys for OfBytes<C> {
    type Cipher = C;

    fn work(direction: Direction, portion: Portion) -> (Work, f64) {
        (Work::on_bytes::<C>(direction, portion), 1.0)
    }

    #[inline(always)]
    fn portion<W: ByteLanes, Y: Substitution<W>>(
        s: KeyLanes<'_, C, W, Y>,
        direction: Direction,
        portion: Portion,
        block: [Byte<W>; 16],
        keys: &[Byte<W>],
    ) -> [Byte<W>; 16] {
        C::portion(s, direction, portion, block, keys)
    }
}

impl<C: OnWords + Scheduled> UnderKeys for OfWords<C> {
    type Cipher = C;

    fn work(direction: Direction, portion: Portion) -> (Work, f64) {
        (Work::on_words::<C>(direction, portion), 4.0)
    }

    #[inline(always)]
    fn portion<W: ByteLanes, Y: Substitution<W>>(
        s: KeyLanes<'_, C, W, Y>,
        direction: Direction,
        portion: Portion,
        block: [Byte<W>; 16],
        keys: &[Byte<W>],
    ) -> [Byte<W>; 16] {
        let words = each!(i < 4 => each!(row < 4 => block[4 * i + row]));
        let words = C::portion(s, direction, portion, words, keys.as_chunks().0);
        each!(i < 16 => words[i / 4][i % 4])
    }
}
