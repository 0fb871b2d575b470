//! Candidates one by one: each is made a key, and keys are tried many at a time.
//!
//! This is the way of word lists, of derived keys and of slow tests. Nothing is allocated for a candidate.

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::job::{Hit, Known, Search, Watch};
use super::kdf::Deriver;
use super::words::{InChunk, Refusal};
use super::{BlockSearch, Error, Inner, Kdf};
use crossgrain::plan::Use;

/// Keys that a kernel is given at a time.
const BATCH_KEYS: usize = 4096;

/// So many of them are searched for a planted key besides.
const PROOF_KEYS: usize = 512;

/// Candidates on their way: one a thread.
pub(super) struct Batch<'a> {
    search: &'a Search,
    watch: &'a Watch<'a>,
    deriver: Deriver,
    /// What the numbers count from.
    base: BigUint,
    numbers: Vec<u128>,
    /// Candidates and their ends, unless they are the keys.
    candidates: Zeroizing<Vec<u8>>,
    ends: Vec<usize>,
    /// The keys, unless candidates are tried as they are.
    keys: Zeroizing<Vec<u8>>,
    /// The keys made ready, once some were.
    table: Option<Inner>,
    /// Where a key is still to be planted, if one is.
    proof: Option<u64>,
}

impl<'a> Batch<'a> {
    /// An empty batch of candidates with numbers from `base` on. If there is a `proof`, a key is planted at a
    /// place that it tells.
    pub(super) fn new(
        search: &'a Search,
        watch: &'a Watch<'a>,
        base: BigUint,
        proof: Option<u64>,
    ) -> Result<Self, Error> {
        let key_bytes = search.key_bytes().unwrap_or(0);
        let deriver = search.kdf().deriver(key_bytes)?;
        Ok(Self {
            search,
            watch,
            deriver,
            base,
            numbers: Vec::with_capacity(BATCH_KEYS),
            candidates: Zeroizing::default(),
            ends: Vec::with_capacity(BATCH_KEYS),
            keys: Zeroizing::new(Vec::with_capacity(BATCH_KEYS * key_bytes)),
            table: None,
            proof,
        })
    }

    /// Adds a candidate with a number; whether there is a key of it.
    pub(super) fn push(&mut self, number: u128, candidate: &[u8]) -> Result<Result<(), Refusal>, Error> {
        if let Some(key_bytes) = self.search.key_bytes() {
            let from = self.keys.len();
            self.keys.resize(from + key_bytes, 0);
            if let Err(refusal) = self.deriver.derive(candidate, &mut self.keys[from..]) {
                self.keys.truncate(from);
                return Ok(Err(refusal));
            }
        }
        self.numbers.push(number);
        if !self.is_exact() {
            self.candidates.extend_from_slice(candidate);
            self.ends.push(self.candidates.len());
        }
        if self.numbers.len() == BATCH_KEYS || !self.search.is_by_blocks() {
            self.flush()?;
        }
        Ok(Ok(()))
    }

    /// Adds the keys that come next among the words of a chunk, with numbers from `first` on, if the words are keys and the
    /// batch is of whole keys: how many.
    pub(super) fn take(&mut self, first: u128, words: &mut InChunk<'_>) -> Result<usize, Error> {
        let (true, Some(key_bytes)) =
            (self.search.is_by_blocks() && self.is_exact(), self.search.key_bytes())
        else {
            return Ok(0);
        };
        let count = words.take_keys(key_bytes, BATCH_KEYS - self.numbers.len(), &mut self.keys);
        self.numbers.extend(first..first + count as u128);
        if self.numbers.len() == BATCH_KEYS {
            self.flush()?;
        }
        Ok(count)
    }

    /// Whether the keys are the candidates.
    fn is_exact(&self) -> bool {
        self.search.key_bytes().is_some() && *self.search.kdf() == Kdf::Exact
    }

    /// Tries what was added.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        match self.search.known() {
            Known::Blocks(blocks) => self.try_blocks(blocks)?,
            Known::Test(test) => {
                let prove = self.proof.take().is_some();
                for place in 0..self.numbers.len() {
                    let key = self.key(place);
                    if prove && !test.planted(key)?.holds(key) {
                        return Err(Error::Canary { kernel: test.name() });
                    }
                    if test.holds(key) {
                        self.hit(place);
                    }
                }
            }
        }
        self.watch.add_tried(self.numbers.len() as u64);
        self.numbers.clear();
        self.ends.clear();
        self.candidates.clear();
        self.keys.clear();
        Ok(())
    }

    fn try_blocks(&mut self, blocks: &BlockSearch) -> Result<(), Error> {
        let none = Zeroizing::new(vec![0; blocks.cipher().key_bytes()]);
        let mut found = Vec::new();
        if let Some(table) = &mut self.table {
            table.refill(&self.keys);
        }
        let table = self.table.get_or_insert_with(|| blocks.prepare(&self.keys, Use::Once));
        blocks.search(&none, table, &mut found);
        found.iter().for_each(|&(_, place)| self.hit(place));
        if let Some(seed) = self.proof.take() {
            let place = (seed % self.numbers.len() as u64) as usize;
            let from = place / PROOF_KEYS * PROOF_KEYS;
            let to = self.numbers.len().min(from + PROOF_KEYS);
            let key_bytes = none.len();
            let keys = &self.keys[from * key_bytes..to * key_bytes];
            prove(blocks, Use::Once, &none, keys, (0, place - from))?;
        }
        Ok(())
    }

    fn candidate(&self, place: usize) -> &[u8] {
        if self.is_exact() {
            return self.key(place);
        }
        let from = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.candidates[from..self.ends[place]]
    }

    /// The key of a candidate: the candidate itself where no length is asked for.
    fn key(&self, place: usize) -> &[u8] {
        match self.search.key_bytes() {
            Some(key_bytes) => &self.keys[place * key_bytes..][..key_bytes],
            None => self.candidate(place),
        }
    }

    fn hit(&self, place: usize) {
        self.watch.hit(Hit {
            number: &self.base + self.numbers[place],
            candidate: Zeroizing::new(self.candidate(place).to_vec()),
            key: Zeroizing::new(self.key(place).to_vec()),
        });
    }
}

/// Plants the sum of an outer and an inner key, by their places, and fails unless the kernel for a use finds it among them.
pub(super) fn prove(
    blocks: &BlockSearch,
    usage: Use,
    outer: &[u8],
    inner: &[u8],
    (o, i): (usize, usize),
) -> Result<(), Error> {
    let key_bytes = blocks.cipher().key_bytes();
    let halves = outer[o * key_bytes..][..key_bytes].iter().zip(&inner[i * key_bytes..][..key_bytes]);
    let planted = Zeroizing::new(halves.map(|(outer, inner)| outer ^ inner).collect::<Vec<u8>>());
    let planted = blocks.planted(&planted)?;
    let mut found = Vec::new();
    planted.search(outer, &planted.prepare(inner, usage), &mut found);
    if found.contains(&(o, i)) {
        Ok(())
    } else {
        Err(Error::Canary { kernel: blocks.kernel(usage).to_owned() })
    }
}
