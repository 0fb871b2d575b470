//! The steps of a search for the key of a described cipher on bytes of many keys in registers.
//!
//! The arithmetic is that of the complete search ([`super::registers`]), but the round keys and the state pass
//! through the batch.
//!
//! Layout: `kernel::search::Batch`, in `Repr::Bytesliced`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::registers::ROUND_KEY_BYTES;
use crate::arch::{ByteLanes, Isa, Kernel, Tile, each};
use crate::block::{BLOCK_BYTES, Cipher};
use crate::cipher::key_lanes::{Byte, Constants, KeyLanes};
use crate::cipher::substitution::Substitution;
use crate::cipher::under_keys::UnderKeys;
use crate::cipher::{Description as _, Portion, Scheduled as _};
use crate::kernel::search::{Batch, KeyStep, Known};

/// The value of `STEP` for the key schedule.
pub const SCHEDULE: usize = 0;
/// The value for the first rounds.
pub const FIRST: usize = 1;
/// The value for the last rounds.
pub const LAST: usize = 2;

/// One of the steps.
pub struct OnBytes<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize> {
    isa: W::Isa,
    constants: Arc<Constants<W, Y>>,
    key_bytes: usize,
    known: Known,
    of: PhantomData<fn() -> U>,
}

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize> OnBytes<U, W, Y, STEP> {
    /// The step for keys of a cipher. `None` if this form of substitution cannot compute the S-boxes.
    pub fn new(isa: W::Isa, cipher: Cipher, known: &Known) -> Option<Self> {
        let constants = Arc::new(Constants::of::<U::Cipher>()?);
        Some(Self { isa, constants, key_bytes: cipher.key_bytes(), known: *known, of: PhantomData })
    }
}

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize> fmt::Debug
    for OnBytes<U, W, Y, STEP>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steps::OnBytes(step {STEP}, {} bits)", W::BITS)
    }
}

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize> KeyStep for OnBytes<U, W, Y, STEP> {
    fn run(&self, batch: &mut Batch) {
        self.isa.enter(Run(self, batch));
    }
}

struct Run<'a, U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize>(
    &'a OnBytes<U, W, Y, STEP>,
    &'a mut Batch,
);

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize> Kernel for Run<'_, U, W, Y, STEP> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(step, batch) = self;
        let lanes = KeyLanes::<U::Cipher, W, Y>::new(step.isa, &step.constants);
        match STEP {
            SCHEDULE => step.expand(lanes, batch),
            FIRST => step.begin(lanes, batch),
            _ => step.end(lanes, batch),
        }
    }
}

impl<U: UnderKeys, W: ByteLanes, Y: Substitution<W>, const STEP: usize> OnBytes<U, W, Y, STEP> {
    #[inline(always)]
    fn expand(&self, lanes: KeyLanes<'_, U::Cipher, W, Y>, batch: &mut Batch) {
        let Self { isa, key_bytes, ref known, .. } = *self;
        let Batch { keys, key, round_keys, .. } = batch;
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
            U::Cipher::round_keys(lanes, &key[..key_bytes], known.direction, &mut put);
        }
    }

    #[inline(always)]
    fn begin(&self, lanes: KeyLanes<'_, U::Cipher, W, Y>, batch: &mut Batch) {
        let Self { isa, ref known, .. } = *self;
        let Batch { keys, round_keys, state, .. } = batch;
        let first = &round_keys[..round_keys.len() - U::Cipher::LAST_KEYS];
        let mut schedule = [Byte(W::splat(isa, 0)); ROUND_KEY_BYTES];
        let schedule = &mut schedule[..BLOCK_BYTES * first.len()];
        for bundle in 0..*keys / W::BYTES {
            read(isa, first, bundle, schedule);
            let block = lanes.same(&known.input);
            let block = U::portion(lanes, known.direction, Portion::First, block, schedule);
            *state.bundle_mut(isa, bundle) = each!(i < BLOCK_BYTES => block[i].0);
        }
    }

    /// Bytes that are not computed get their known values.
    #[inline(always)]
    fn end(&self, lanes: KeyLanes<'_, U::Cipher, W, Y>, batch: &mut Batch) {
        let Self { isa, ref known, .. } = *self;
        let Batch { keys, round_keys, state, .. } = batch;
        const { assert!(U::Cipher::LAST_KEYS <= LAST_KEYS_MAX, "more round keys than there is room for") };
        let last = &round_keys[round_keys.len() - U::Cipher::LAST_KEYS..];
        let mut schedule = [Byte(W::splat(isa, 0)); BLOCK_BYTES * LAST_KEYS_MAX];
        let schedule = &mut schedule[..BLOCK_BYTES * U::Cipher::LAST_KEYS];
        let knows_early = knows_early::<U>(known);
        for bundle in 0..*keys / W::BYTES {
            read(isa, last, bundle, schedule);
            let state: &mut [W; BLOCK_BYTES] = state.bundle_mut(isa, bundle);
            let block = each!(i < BLOCK_BYTES => Byte(state[i]));
            // Each branch has its own rounds, so that the compiler leaves out what is not stored.
            if knows_early {
                let block = U::portion(lanes, known.direction, Portion::Last, block, schedule);
                let other = lanes.same(&known.output);
                let is_early = |i: usize| (U::Cipher::EARLY..U::Cipher::EARLY + EARLY_BYTES).contains(&i);
                *state = each!(i < BLOCK_BYTES => if is_early(i) { block[i].0 } else { other[i].0 });
            } else {
                let block = U::portion(lanes, known.direction, Portion::Last, block, schedule);
                *state = each!(i < BLOCK_BYTES => block[i].0);
            }
        }
    }
}

/// Bytes that the last rounds compute if they are known.
const EARLY_BYTES: usize = 4;

/// Whether they are.
fn knows_early<U: UnderKeys>(known: &Known) -> bool {
    known.mask[U::Cipher::EARLY..][..EARLY_BYTES] == [0xff; EARLY_BYTES]
}

/// The most blocks that the last rounds of a described cipher take, those of ARIA.
const LAST_KEYS_MAX: usize = 3;

/// Reads the round keys of a bundle.
#[inline(always)]
fn read<W: ByteLanes>(isa: W::Isa, tiles: &[Box<Tile>], bundle: usize, keys: &mut [Byte<W>]) {
    for (bytes, tile) in keys.chunks_exact_mut(BLOCK_BYTES).zip(tiles) {
        let words: &[W; BLOCK_BYTES] = tile.bundle(isa, bundle);
        for (byte, word) in bytes.iter_mut().zip(words) {
            *byte = Byte(*word);
        }
    }
}
