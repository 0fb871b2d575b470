//! The middle rounds of AES with AES instructions.
//!
//! A round of x86-64 ends with the XOR of its key. A round of 64-bit ARM begins with the XOR of a key
//! ([`AesLanes::ADDS_KEY_FIRST`]), so there each key is added in the round after its own, and the last one
//! separately.
//!
//! * [`Middle`]: all middle rounds, with one key for all registers.
//! * [`Between`]: the same round by round, for kernels that do other work in between.
//! * [`rounds`]: rounds whose keys may differ between registers ([`RoundKey`]).
//!
//! Needs `AesLanes`.
//! Source: FIPS 197 §5.1, and §5.3.5 for the equivalent inverse cipher.

use crate::arch::{AesLanes, Line, each};

/// Middle rounds of the shortest key.
pub(super) const MIDDLE_LEAST: usize = 9;

/// The keys of the middle rounds.
///
/// With 32 registers, the first `HELD` keys stay in registers, so a round depends only on the round before
/// it. With fewer registers, and for further keys, a loop over rounds loads each key when needed. An unrolled
/// loop would be slower there: 16 registers cannot hold all keys, and LLVM would then process the state
/// registers one after another.
pub(super) struct Middle<'a, W, const HELD: usize> {
    held: [W; HELD],
    more: &'a [Line],
}

impl<'a, W> Middle<'a, W, 0> {
    /// All keys in memory, for kernels that need the registers for other values.
    #[inline(always)]
    pub(super) const fn in_memory(keys: &'a [Line]) -> Self {
        Self { held: [], more: keys }
    }
}

impl<'a, W: AesLanes, const HELD: usize> Middle<'a, W, HELD> {
    /// The keys of at least `HELD` rounds.
    #[inline(always)]
    pub(super) fn new(isa: W::Isa, keys: &'a [Line]) -> Self {
        if W::REGISTERS < 32 {
            return Self { held: [W::splat(isa, 0); HELD], more: keys };
        }
        let (held, more) = keys.split_at(HELD);
        Self { held: each!(i < HELD => held[i].load(isa)), more }
    }

    /// Runs the middle rounds on every register, then the last round with a separate key for each register.
    #[inline(always)]
    pub(super) fn rounds<const N: usize, const ENCRYPT: bool>(
        &self,
        isa: W::Isa,
        state: &mut [W; N],
        last_keys: [W; N],
    ) {
        let mut between = Between::new(isa, *state);
        if W::REGISTERS == 32 {
            for key in self.held {
                between.round::<ENCRYPT>(key);
            }
        }
        for key in self.more {
            between.round::<ENCRYPT>(key.load(isa));
        }
        *state = between.end();
        for (word, key) in state.iter_mut().zip(last_keys) {
            *word = if ENCRYPT { word.encrypt_last_round(key) } else { word.decrypt_last_round(key) };
        }
    }
}

/// Registers between middle rounds. If the CPU adds a key before a round, the key of the last round is still to
/// be added.
pub(super) struct Between<W, const N: usize> {
    state: [W; N],
    due: W,
}

impl<W: AesLanes, const N: usize> Between<W, N> {
    /// Registers whose keys have all been added.
    #[inline(always)]
    pub(super) fn new(isa: W::Isa, state: [W; N]) -> Self {
        Self { state, due: W::splat(isa, 0) }
    }

    /// A middle round on every register.
    #[inline(always)]
    pub(super) fn round<const ENCRYPT: bool>(&mut self, key: W) {
        if !W::ADDS_KEY_FIRST {
            return round_by::<W, N, ENCRYPT>(&mut self.state, key);
        }
        for word in &mut self.state {
            *word = if ENCRYPT { word.encrypt_after(self.due) } else { word.decrypt_after(self.due) };
        }
        self.due = key;
    }

    /// The registers [`pinned`](AesLanes::pinned).
    #[inline(always)]
    pub(super) fn pin(&mut self) {
        self.state = each!(i < N => self.state[i].pinned());
    }

    /// The registers, with all keys added.
    #[inline(always)]
    pub(super) fn end(self) -> [W; N] {
        let Self { state, due } = self;
        if W::ADDS_KEY_FIRST { each!(i < N => state[i] ^ due) } else { state }
    }
}

/// A middle round on every register.
#[inline(always)]
pub(super) fn round<W: AesLanes, const N: usize, const ENCRYPT: bool>(
    isa: W::Isa,
    state: &mut [W; N],
    key: &Line,
) {
    round_by::<W, N, ENCRYPT>(state, key.load(isa));
}

#[inline(always)]
fn round_by<W: AesLanes, const N: usize, const ENCRYPT: bool>(state: &mut [W; N], key: W) {
    for word in state.iter_mut() {
        *word = if ENCRYPT { word.encrypt_round(key) } else { word.decrypt_round(key) };
    }
}

/// A round key for registers: one for all, or one for each.
pub(super) trait RoundKey<W: AesLanes> {
    /// The key of a register.
    fn load(&self, isa: W::Isa, register: usize) -> W;
}

impl<W: AesLanes> RoundKey<W> for Line {
    #[inline(always)]
    fn load(&self, isa: W::Isa, _register: usize) -> W {
        self.load(isa)
    }
}

/// Adds round key 0, unless the first middle round does.
#[inline(always)]
pub(super) fn with_first<W: AesLanes, K: RoundKey<W>, const N: usize>(
    isa: W::Isa,
    state: [W; N],
    first: &K,
) -> [W; N] {
    if W::ADDS_KEY_FIRST { state } else { each!(i < N => state[i] ^ first.load(isa, i)) }
}

/// Middle rounds. Where the CPU adds a key before a round, `due` is still to be added, and the result is the key
/// that is to be added after them. Elsewhere all keys are added.
#[inline(always)]
pub(super) fn rounds<'k, W: AesLanes, K: RoundKey<W>, const N: usize, const ENCRYPT: bool>(
    isa: W::Isa,
    state: &mut [W; N],
    mut due: &'k K,
    keys: &'k [K],
) -> &'k K {
    for key in keys {
        *state = match (W::ADDS_KEY_FIRST, ENCRYPT) {
            (true, true) => each!(i < N => state[i].encrypt_after(due.load(isa, i))),
            (true, false) => each!(i < N => state[i].decrypt_after(due.load(isa, i))),
            (false, true) => each!(i < N => state[i].encrypt_round(key.load(isa, i))),
            (false, false) => each!(i < N => state[i].decrypt_round(key.load(isa, i))),
        };
        due = key;
    }
    due
}

/// The state after the middle rounds with all keys added.
#[inline(always)]
pub(super) fn with_due<W: AesLanes, K: RoundKey<W>, const N: usize>(
    isa: W::Isa,
    state: [W; N],
    due: &K,
) -> [W; N] {
    if W::ADDS_KEY_FIRST { each!(i < N => state[i] ^ due.load(isa, i)) } else { state }
}
