//! Search for the key of a cipher that is described once: the schedule of one key after another, then 64 at a time by gates.
//!
//! Holds: all known bits are compared, so what is found is right; nothing branches on keys but on that.

use std::fmt;

use zeroize::Zeroizing;

use super::search::{Inner, Known, SearchPart, Use};
use crate::block::{BLOCK_BYTES, Block, Cipher};
use crate::cipher::{Entry, KEYS_AT_ONCE};

/// A kernel for one known block.
#[derive(Clone)]
pub struct Search {
    entry: &'static Entry,
    key_bytes: usize,
    known: Known,
}

impl Search {
    /// A kernel for keys of a cipher; `None` for those that are written by hand.
    pub fn new(cipher: Cipher, known: &Known) -> Option<Self> {
        let entry = Entry::of(cipher.family())?;
        Some(Self { entry, key_bytes: cipher.key_bytes(), known: *known })
    }

    /// Whether a result is the known one, as far as that is known.
    fn is_known(&self, result: &Block) -> bool {
        let Known { output, mask, .. } = &self.known;
        (0..BLOCK_BYTES).fold(0, |sum, i| sum | (result[i] ^ output[i]) & mask[i]) == 0
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "described::Search({:?})", self.entry)
    }
}

impl SearchPart for Search {
    fn lanes(&self) -> usize {
        KEYS_AT_ONCE
    }

    fn inner(&self, keys: &[u8], usage: Use) -> Box<dyn Inner> {
        let mut table = Table { search: self.clone(), keys: Zeroizing::default() };
        table.refill(keys, usage);
        Box::new(table)
    }
}

/// The inner keys, one after another.
struct Table {
    search: Search,
    keys: Zeroizing<Vec<u8>>,
}

impl Inner for Table {
    fn keys(&self) -> usize {
        self.keys.len() / self.search.key_bytes
    }

    fn refill(&mut self, keys: &[u8], _: Use) {
        assert!(keys.len().is_multiple_of(self.search.key_bytes));
        self.keys.clear();
        self.keys.extend_from_slice(keys);
    }

    fn search(&self, outer: &[u8], _: &mut Vec<u64>, found: &mut Vec<usize>) {
        let Self { search: Search { entry, key_bytes, known }, keys } = self;
        assert_eq!(outer.len(), *key_bytes);
        for (bundle, keys) in keys.chunks(KEYS_AT_ONCE * key_bytes).enumerate() {
            let expand = |inner: &[u8]| {
                let key: Zeroizing<Vec<u8>> =
                    Zeroizing::new(inner.iter().zip(outer).map(|(inner, outer)| inner ^ outer).collect());
                entry.schedule(&key, known.direction)
            };
            let round_keys: Vec<_> = keys.chunks_exact(*key_bytes).map(expand).collect();
            let results = entry.under_keys(&round_keys, known.direction, &known.input);
            let right = results
                .iter()
                .take(round_keys.len())
                .enumerate()
                .filter(|(_, block)| self.search.is_known(block));
            found.extend(right.map(|(lane, _)| bundle * KEYS_AT_ONCE + lane));
        }
    }
}
