//! Trying keys: how fast a search goes on one thread.
//!
//! A key counts as a block of 16 bytes, whatever its length: keys a second are bytes a second over 16.

use std::time::{Duration, Instant};

use crossgrain::plan::Use;
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Features};
use crossgrain_search::{BlockSearch, Pair};

use super::subject::{Candidate, Group, measured};
use super::{Timed, wrong};
use crate::error::Error;

/// Keys of a table, as many as a search of a mask takes.
const TABLE_KEYS: usize = 4096;

/// Outer keys that each of a table's is added to.
const OUTER_KEYS: usize = 64;

/// Where the first of them takes longer, it is the only one: a cipher without kernels of its own tries a hundredth of the keys in a
/// second.
const LONG: Duration = Duration::from_millis(2);

/// Masks, word lists, and plaintext known in part.
pub(super) fn group(features: Features, filter: &str) -> Group {
    let mut group = Vec::new();
    for cipher in Cipher::ALL {
        for (name, direction, usage) in [
            ("mask", Direction::Encrypt, Use::Often),
            ("words", Direction::Encrypt, Use::Once),
            ("mask-decrypt", Direction::Decrypt, Use::Often),
        ] {
            let id = format!("search/{cipher}/{name}");
            if id.contains(filter) {
                group.push(candidate(id, cipher, direction, usage, features)?);
            }
        }
    }
    Ok(group)
}

/// A search that has found a key that was planted, and no other.
fn candidate(
    id: String,
    cipher: Cipher,
    direction: Direction,
    usage: Use,
    features: Features,
) -> Result<Candidate, Error> {
    let options = measured(cipher, features);
    let pair = match direction {
        Direction::Encrypt => Pair::whole(direction, [1; 16], [2; 16]),
        // Of a pair known in full the kernel would take the other way.
        Direction::Decrypt => {
            let mut pair = Pair::whole(direction, [1; 16], [2; 16]);
            pair.mask[15] = 0;
            pair
        }
    };
    let search = BlockSearch::new(cipher, &[pair], &options)?;
    let key_bytes = cipher.key_bytes();
    let inner: Vec<u8> = (0..TABLE_KEYS)
        .flat_map(|i| vec![0; key_bytes - 2].into_iter().chain((i as u16).to_be_bytes()))
        .collect();
    let (mut table, mut found) = (search.prepare(&inner, usage), Vec::new());
    let start = Instant::now();
    search.search(&vec![0; key_bytes], &table, &mut found);
    let outer_keys = if usage == Use::Once || start.elapsed() > LONG { 1 } else { OUTER_KEYS };
    let outer: Vec<u8> =
        (0..outer_keys).flat_map(|o| vec![o as u8; key_bytes - 2].into_iter().chain([0, 0])).collect();

    let (o, i) = (outer_keys / 3, TABLE_KEYS / 3);
    let halves = outer[o * key_bytes..][..key_bytes].iter().zip(&inner[i * key_bytes..][..key_bytes]);
    let planted = search.planted(&halves.map(|(a, b)| a ^ b).collect::<Vec<_>>())?;
    found.clear();
    planted.search(&outer, &planted.prepare(&inner, usage), &mut found);
    if found != [(o, i)] {
        return Err(wrong(&id));
    }
    let bytes = TABLE_KEYS * BLOCK_BYTES * outer_keys;
    let run = move || {
        found.clear();
        if usage == Use::Once {
            // A list is new keys every time.
            table.refill(&inner);
        }
        search.search(&outer, &table, &mut found);
    };
    Ok(Candidate { id, bytes, threads: 1, work: Box::new(Timed(run)) })
}
