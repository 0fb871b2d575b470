//! Masks of candidates, sets of characters for them, masks of keys, and shards.
//!
//! The first line is a mask, the next four are the sets `?1` to `?4`, and the sixth is a shard.
//! Holds: nothing panics. A space has as many places as the mask; its first and last candidates are different unless it has only one.
//! A shard is part of the space.

#![no_main]

use crossgrain_search::{BigUint, OWN_SETS, Part, Sets, Shard, Space, key_mask};
use libfuzzer_sys::fuzz_target;

/// Longer masks are valid, but slow.
const PLACES_MAX: usize = 256;

fn counted(space: &Space, shard: Option<Shard>) {
    let size = space.size();
    let last = size.clone() - 1_u32;
    let first = space.candidates(&BigUint::ZERO, 1);
    assert_eq!(first.len(), space.len_bytes());
    assert_eq!(*first == *space.candidates(&last, 1), size == BigUint::from(1_u32));
    assert!(space.period() >= 1);
    let range = Part { shard, ..Part::default() }.of(&size);
    assert!(range.start <= range.end && range.end <= size);
}

fuzz_target!(|data: &[u8]| {
    if data.len() > PLACES_MAX {
        return;
    }
    let mut lines = data.split(|&byte| byte == b'\n');
    let mask = lines.next().unwrap_or_default();
    let mut sets = Sets::default();
    for number in 1..=OWN_SETS {
        let _ = lines.next().map(|set| sets.define(number, set));
    }
    let shard = lines.next().and_then(|text| std::str::from_utf8(text).ok()?.parse::<Shard>().ok());
    if let Some(shard) = shard {
        assert_eq!(shard.to_string().parse::<Shard>().ok(), Some(shard));
    }
    for space in [sets.bytes(mask), sets.hex(mask), key_mask(mask)] {
        match space {
            Ok(space) => counted(&space, shard),
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
});
