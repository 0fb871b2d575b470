//! The key schedule of a described cipher on registers, for a single key.
//!
//! All lanes have the same key. A substitution of a byte takes a few instructions, and by gates it takes a hundred
//! and more. Machines without these instructions compute the schedule by gates ([`super::plain`]), as the reference
//! does.
//! Invariant: constant-time in the key.

use std::marker::PhantomData;

use zeroize::Zeroizing;

use super::key_lanes::{Byte, Constants, KeyLanes};
use super::substitution::{Galois, Nibbles, PermuteGalois, Scan, Substitution};
use super::{RoundKeys, Scheduled};
use crate::arch::{ByteLanes, Features, Isa, Kernel, each, eight, for_each_register};
use crate::block::Direction;

/// Bytes of the longest key.
const KEY_BYTES: usize = 32;

/// Computes the round keys by the fastest allowed instructions. `None` if there are none.
pub(super) fn on_registers<C: Scheduled>(
    features: Features,
    key: &[u8],
    direction: Direction,
) -> Option<RoundKeys> {
    macro_rules! attempt {
        ($registers:ident, $Way:ident) => {
            for_each_register!($registers, W => {
                if let Some(keys) = by::<C, W, $Way>(features, key, direction) {
                    return Some(keys);
                }
            });
        };
    }
    if C::HAS_STRUCTURE {
        attempt!(galois_of_16, Galois);
        attempt!(widest_without_byte_tables, Nibbles);
    } else {
        attempt!(byte_tables_and_galois, PermuteGalois);
        attempt!(widest_without_byte_tables, Scan);
    }
    None
}

fn by<C: Scheduled, W: ByteLanes, Y: Substitution<W>>(
    features: Features,
    key: &[u8],
    direction: Direction,
) -> Option<RoundKeys> {
    let isa = W::Isa::detect(features)?;
    let constants = Constants::<W, Y>::of::<C>()?;
    let mut keys = Zeroizing::new(vec![0; C::round_key_bytes(key.len())]);
    isa.enter(Expand::<C, W, Y> {
        isa,
        constants: &constants,
        key,
        direction,
        keys: &mut keys,
        of: PhantomData,
    });
    Some(keys)
}

struct Expand<'a, C, W: ByteLanes, Y: Substitution<W>> {
    isa: W::Isa,
    constants: &'a Constants<W, Y>,
    key: &'a [u8],
    direction: Direction,
    keys: &'a mut [u8],
    of: PhantomData<fn() -> C>,
}

impl<C: Scheduled, W: ByteLanes, Y: Substitution<W>> Kernel for Expand<'_, C, W, Y> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, constants, key, direction, keys, .. } = self;
        let lanes = KeyLanes::<C, W, Y>::new(isa, constants);
        let in_all_lanes = |i: usize| Byte(W::splat(isa, eight(key.get(i).copied().unwrap_or(0))));
        let bytes = each!(i < KEY_BYTES => in_all_lanes(i));
        C::round_keys(lanes, &bytes[..key.len()], direction, &mut |place, bytes: &[Byte<W>]| {
            for (key, byte) in keys[place..].iter_mut().zip(bytes) {
                let mut lanes = [0; 64];
                byte.0.store(&mut lanes[..W::BYTES]);
                *key = lanes[0];
            }
        });
    }
}
