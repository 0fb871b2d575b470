//! The speed of key search on one thread.
//!
//! A key counts as a block of 16 bytes, whatever its length. So keys per second are bytes per second divided
//! by 16.

use std::time::{Duration, Instant};

use crossgrain::plan::TableReuse;
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Features};
use crossgrain_search::{BlockSearch, Pair};

use super::subject::{Candidate, Group, measured};
use super::{Filter, Timed, wrong};
use crate::error::Error;

/// Keys of a table, the number that a mask search uses.
const TABLE_KEYS: usize = 4096;

/// Outer keys; each is combined with every key of the table.
const OUTER_KEYS: usize = 64;

/// If the first outer key takes longer than this, only that one is used. A cipher without a search kernel
/// tries a hundredth of the keys per second.
const LONG: Duration = Duration::from_millis(2);

/// Masks, word lists, and plaintext known in part.
pub(super) fn group(features: Features, filter: Filter<'_>) -> Group {
    let mut group = Vec::new();
    for cipher in Cipher::ALL {
        for (name, direction, usage) in [
            ("mask", Direction::Encrypt, TableReuse::Often),
            ("words", Direction::Encrypt, TableReuse::Once),
            ("mask-decrypt", Direction::Decrypt, TableReuse::Often),
        ] {
            let id = format!("search/{cipher}/{name}");
            if filter.passes(&id) {
                group.push(candidate(id, cipher, direction, usage, features)?);
            }
        }
    }
    Ok(group)
}

/// A search that has found a planted key and no other.
fn candidate(
    id: String,
    cipher: Cipher,
    direction: Direction,
    usage: TableReuse,
    features: Features,
) -> Result<Candidate, Error> {
    let options = measured(cipher, features);
    let pair = match direction {
        Direction::Encrypt => Pair::whole(direction, [1; 16], [2; 16]),
        // If the pair were known in full, the kernel could search in the other direction.
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
    let outer_keys = if usage == TableReuse::Once || start.elapsed() > LONG { 1 } else { OUTER_KEYS };
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
        if usage == TableReuse::Once {
            // A word list gives new keys each time.
            table.refill(&inner);
        }
        search.search(&outer, &table, &mut found);
    };
    Ok(Candidate { id, bytes, threads: 1, work: Box::new(Timed(run)) })
}
