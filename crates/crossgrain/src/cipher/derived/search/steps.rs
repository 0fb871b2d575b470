//! The steps of a search for the key of a described cipher on bytes of many keys in registers.
//!
//! The arithmetic is that of the complete search ([`super::registers`]), but the round keys pass through the
//! batch.
//!
//! Layout: `kernel::search::Batch`, in `Repr::Bytesliced`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::registers::ROUND_KEY_BYTES;
use crate::arch::{ByteLanes, Isa, Kernel, each, eight};
use crate::block::{BLOCK_BYTES, Cipher};
use crate::cipher::Scheduled;
use crate::cipher::key_lanes::{Byte, Constants, KeyLanes, UnderKeys};
use crate::cipher::substitution::Substitution;
use crate::kernel::search::{Batch, KeyStep, Known};

/// The key schedule, or, with `ROUNDS`, all rounds.
pub struct OnBytes<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool> {
    isa: W::Isa,
    constants: Arc<Constants<W, Y>>,
    key_bytes: usize,
    known: Known,
    of: PhantomData<fn() -> U>,
}

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool> OnBytes<U, W, Y, ROUNDS> {
    /// The step for keys of a cipher. `None` if this form of substitution cannot compute the S-boxes.
    pub fn new(isa: W::Isa, cipher: Cipher, known: &Known) -> Option<Self> {
        let constants = Arc::new(Constants::of::<U::Cipher>()?);
        Some(Self { isa, constants, key_bytes: cipher.key_bytes(), known: *known, of: PhantomData })
    }
}

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool> fmt::Debug
    for OnBytes<U, W, Y, ROUNDS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steps::OnBytes({} bits)", W::BITS)
    }
}

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool> KeyStep
    for OnBytes<U, W, Y, ROUNDS>
{
    fn run(&self, batch: &mut Batch) {
        if ROUNDS { self.isa.enter(Under(self, batch)) } else { self.isa.enter(Expand(self, batch)) }
    }
}

struct Expand<'a, U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool>(
    &'a OnBytes<U, W, Y, ROUNDS>,
    &'a mut Batch,
);

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool> Kernel
    for Expand<'_, U, W, Y, ROUNDS>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(OnBytes { isa, constants, key_bytes, known, .. }, batch) = self;
        let (isa, Batch { keys, key, round_keys, .. }) = (*isa, batch);
        let lanes = KeyLanes::<U::Cipher, W, Y>::new(isa, constants);
        for bundle in 0..*keys / W::BYTES {
            let [low, high]: [&[W; BLOCK_BYTES]; 2] = each!(half < 2 => key[half].bundle(isa, bundle));
            let key = each!(i < 2 * BLOCK_BYTES => Byte(if i < 16 { low[i] } else { high[i - 16] }));
            let mut put = |place: usize, bytes: &[Byte<W>]| {
                // This closure only copies, so it need not be inlined.
                for (at, byte) in (place..).zip(bytes) {
                    let tile: &mut [W; BLOCK_BYTES] = round_keys[at / BLOCK_BYTES].bundle_mut(isa, bundle);
                    tile[at % BLOCK_BYTES] = byte.0;
                }
            };
            U::Cipher::round_keys(lanes, &key[..*key_bytes], known.direction, &mut put);
        }
    }
}

struct Under<'a, U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool>(
    &'a OnBytes<U, W, Y, ROUNDS>,
    &'a mut Batch,
);

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const ROUNDS: bool> Kernel
    for Under<'_, U, W, Y, ROUNDS>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(OnBytes { isa, constants, key_bytes, known, .. }, batch) = self;
        let (isa, Batch { keys, round_keys, state, .. }) = (*isa, batch);
        let lanes = KeyLanes::<U::Cipher, W, Y>::new(isa, constants);
        let mut schedule = [Byte(W::splat(isa, 0)); ROUND_KEY_BYTES];
        for bundle in 0..*keys / W::BYTES {
            for (bytes, tile) in schedule.chunks_exact_mut(BLOCK_BYTES).zip(&*round_keys) {
                let words: &[W; BLOCK_BYTES] = tile.bundle(isa, bundle);
                for (byte, word) in bytes.iter_mut().zip(words) {
                    *byte = Byte(*word);
                }
            }
            let block = each!(i < BLOCK_BYTES => Byte(W::splat(isa, eight(known.input[i]))));
            let keys = &schedule[..U::Cipher::round_key_bytes(*key_bytes)];
            let block = U::rounds(lanes, known.direction, block, keys);
            *state.bundle_mut(isa, bundle) = each!(i < BLOCK_BYTES => block[i].0);
        }
    }
}
