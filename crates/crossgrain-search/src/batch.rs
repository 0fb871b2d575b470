//! Candidates that arrive one by one: each is turned into a key, and keys are tried many at a time.
//!
//! Used for word lists, derived keys and slow tests. No memory is allocated per candidate. If keys are derived
//! many at a time, on CPU lanes or by a device, or if a device tries them, candidates wait until there are enough
//! of them.
//! Invariant: if a batch fails, no candidate from number [`Batch::next`] on counts as tried or refused.

use std::ops::Range;

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::components::Components;
use super::derivation::{BLOCK_BYTES, Derivation};
use super::job::{Hit, Known, Search, Test, Watch, mixed};
use super::kdf::Deriver;
use super::word_device::WordDevice;
use super::words::{InChunk, Refusal, Refused};
use super::{BlockSearch, Counted, Error, Inner, Kdf, Space, Target};
use crossgrain::engine::wiping_deep_stack;
use crossgrain::plan::TableReuse;

/// Keys that a kernel receives at a time.
const BATCH_KEYS: usize = 4096;

/// Keys among which a planted key is searched.
const PROOF_KEYS: usize = 512;

/// Keys that the CPU derives at a time on lanes, and if a key takes long: whole bundles of the widest registers.
const LANE_KEYS: usize = 64;
const SLOW_KEYS: usize = 16;

/// Candidates waiting to be tried. Each thread has one batch.
pub(super) struct Batch<'a> {
    search: &'a Search,
    watch: &'a Watch<'a>,
    made: Made<'a>,
    /// The device that tries the keys. `None` if the CPU does.
    tried_by: Option<&'a WordDevice>,
    /// The number of candidates that are tried at a time.
    most: usize,
    /// Candidate numbers in `numbers` are relative to this one.
    base: BigUint,
    numbers: Vec<u128>,
    /// The space, if the device generates candidates and the host does not keep them.
    space: Option<&'a Space>,
    /// The candidates back to back and the end of each. Empty if the candidates are the keys.
    candidates: Zeroizing<Vec<u8>>,
    ends: Vec<usize>,
    /// The keys. Empty if candidates are tried unchanged.
    keys: Zeroizing<Vec<u8>>,
    /// The prepared table of keys of each target by blocks, kept for reuse.
    tables: Vec<Option<Inner>>,
    /// Which of several derivations are needed. Empty for all.
    needed: Vec<bool>,
    /// The seed for choosing a planted key, until that check is done.
    proof: Option<u64>,
    next: u128,
    /// Refused words before `next`, and those from it on.
    refused: [Refused; 2],
}

/// How candidates become keys.
enum Made<'a> {
    /// Each is derived when it is added.
    Each(Deriver),
    /// All are derived together, on lanes.
    Lanes(&'a Components),
    /// All are derived together, by a device.
    Fed(Fed<'a>),
}

/// Candidates that wait to be derived by a device.
struct Fed<'a> {
    derivation: &'a Derivation,
    device: &'a WordDevice,
    /// The padded blocks of the candidates, one each.
    blocks: Zeroizing<Vec<u8>>,
    /// Indices of the candidates that do not fit a block. The reference derives their keys.
    alone: Vec<usize>,
    /// The counter from which a device generates the blocks. It replaces `blocks`.
    counted: Option<Counted>,
}

impl<'a> Batch<'a> {
    /// An empty batch. Candidate numbers are relative to `base`. If `proof` is given, one key is planted,
    /// chosen by this seed.
    pub(super) fn new(
        search: &'a Search,
        watch: &'a Watch<'a>,
        base: BigUint,
        proof: Option<u64>,
    ) -> Result<Self, Error> {
        let made = match search.on_lanes() {
            Some(components) => Made::Lanes(components),
            None => Made::each(search)?,
        };
        let most = match &made {
            Made::Lanes(components) if components.is_slow() => SLOW_KEYS,
            Made::Lanes(_) => LANE_KEYS,
            Made::Each(_) if !search.is_by_blocks() => 1,
            _ => BATCH_KEYS,
        };
        Ok(Self { proof, ..Self::of(search, watch, base, (made, most)) })
    }

    /// The same, with keys derived or tried by a device. Where it tries them, one key of the first call is
    /// planted.
    pub(super) fn on(
        search: &'a Search,
        watch: &'a Watch<'a>,
        base: BigUint,
        device: &'a WordDevice,
    ) -> Result<Self, Error> {
        let (made, tried_by) = match device.derivation() {
            Some(derivation) => (Made::Fed(Fed::new(derivation, device)), None),
            None => (Made::each(search)?, Some(device)),
        };
        let proof = tried_by.map(|_| 0);
        Ok(Self { tried_by, proof, ..Self::of(search, watch, base, (made, device.words())) })
    }

    /// An empty batch for at most `most` candidates.
    fn of(search: &'a Search, watch: &'a Watch<'a>, base: BigUint, (made, most): (Made<'a>, usize)) -> Self {
        Self {
            search,
            watch,
            made,
            tried_by: None,
            most,
            base,
            numbers: Vec::with_capacity(most),
            space: None,
            candidates: Zeroizing::default(),
            ends: Vec::with_capacity(most),
            keys: Zeroizing::new(Vec::with_capacity(most * search.key_bytes().unwrap_or(0))),
            tables: Vec::new(),
            needed: search.needed(),
            proof: None,
            next: 0,
            refused: Default::default(),
        }
    }

    /// Adds a candidate and its number. Returns the refusal if no key can be derived from it.
    pub(super) fn push(&mut self, number: u128, candidate: &[u8]) -> Result<Result<(), Refusal>, Error> {
        match (&mut self.made, self.search.key_bytes()) {
            (Made::Fed(fed), _) => fed.push(candidate, self.numbers.len()),
            (Made::Each(deriver), Some(key_bytes)) => {
                let from = self.keys.len();
                self.keys.resize(from + key_bytes, 0);
                if let Err(refusal) = deriver.derive(candidate, &mut self.keys[from..]) {
                    self.keys.truncate(from);
                    return Ok(Err(refusal));
                }
            }
            (Made::Each(_), None) | (Made::Lanes(_), _) => {}
        }
        self.numbers.push(number);
        if !self.is_exact() {
            append(&mut self.candidates, candidate);
            self.ends.push(self.candidates.len());
        }
        if self.numbers.len() >= self.most {
            self.flush()?;
        }
        Ok(Ok(()))
    }

    /// Tries the candidates of a space with these numbers, relative to `base`, if the device can generate
    /// them. Returns whether it can.
    pub(super) fn try_counted(&mut self, space: &'a Space, numbers: &Range<u64>) -> Result<bool, Error> {
        let Made::Fed(fed) = &mut self.made else { return Ok(false) };
        fed.counted = Counted::new(space, fed.derivation, &(&self.base + numbers.start));
        if fed.counted.is_none() {
            return Ok(false);
        }
        self.space = Some(space);
        self.numbers.extend(numbers.clone().map(u128::from));
        self.flush()?;
        Ok(true)
    }

    /// Moves keys directly from a chunk into the batch, with numbers from `first` on. Returns their number,
    /// which is 0 unless the words are the keys and the search is by blocks.
    pub(super) fn take(&mut self, first: u128, words: &mut InChunk<'_>) -> Result<usize, Error> {
        let (true, Some(key_bytes)) =
            (self.search.is_by_blocks() && self.is_exact(), self.search.key_bytes())
        else {
            return Ok(0);
        };
        let count = words.take_keys(key_bytes, self.most - self.numbers.len(), &mut self.keys);
        self.numbers.extend(first..first + count as u128);
        if self.numbers.len() == self.most {
            self.flush()?;
        }
        Ok(count)
    }

    /// Counts a word that gives no candidate or no key.
    pub(super) fn refuse(&mut self, refusal: Refusal, line: u64) {
        self.refused[1].count(refusal, line);
    }

    /// The refused words before [`Batch::next`].
    pub(super) const fn refused(&self) -> &Refused {
        &self.refused[0]
    }

    /// All candidates added with a number below this one were tried.
    pub(super) const fn next(&self) -> u128 {
        self.next
    }

    /// Whether no candidate waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether the candidates are the keys.
    fn is_exact(&self) -> bool {
        self.search.key_bytes().is_some() && *self.search.kdf() == Kdf::Exact
    }

    /// Derives and tries all waiting candidates.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        if let Some(&last) = self.numbers.last() {
            self.derive()?;
            self.try_keys()?;
            self.watch.add_tried(self.numbers.len() as u64);
            self.next = last + 1;
        }
        let refused = std::mem::take(&mut self.refused[1]);
        self.refused[0].merge(&refused);
        self.numbers.clear();
        self.ends.clear();
        self.candidates.clear();
        self.keys.clear();
        Ok(())
    }

    /// Derives the keys of waiting candidates.
    fn derive(&mut self) -> Result<(), Error> {
        match self.made {
            Made::Each(_) => Ok(()),
            Made::Lanes(components) => {
                let mut keys = self.room();
                let words: Vec<_> = (0..self.numbers.len()).map(|place| self.candidate(place)).collect();
                components.derive(&words, &self.needed, &mut keys)?;
                self.keys = keys;
                Ok(())
            }
            Made::Fed(_) => self.derive_on_device(),
        }
    }

    /// Room for the keys of all waiting candidates.
    fn room(&mut self) -> Zeroizing<Vec<u8>> {
        let len_bytes = self.numbers.len() * self.search.key_bytes().unwrap_or(0);
        let mut keys = std::mem::take(&mut self.keys);
        if keys.capacity() < len_bytes {
            keys = Zeroizing::new(Vec::with_capacity(len_bytes));
        }
        keys.resize(len_bytes, 0);
        keys
    }

    fn derive_on_device(&mut self) -> Result<(), Error> {
        self.keys = self.room();
        let Made::Fed(fed) = &mut self.made else { return Ok(()) };
        match &fed.counted {
            Some(candidates) => fed.device.derive_counted(candidates, &mut self.keys)?,
            None => fed.device.derive(&fed.blocks, &mut self.keys)?,
        }
        fed.blocks.clear();
        let (device, alone) = (fed.device, std::mem::take(&mut fed.alone));
        let key_bytes = fed.derivation.key_bytes();
        for at in alone {
            let key = self.derived(at)?;
            self.keys[at * key_bytes..][..key_bytes].copy_from_slice(&key);
        }
        self.most = device.words();
        let seed = mixed(self.numbers[0] as u64);
        let at = (seed % self.numbers.len() as u64) as usize;
        if *self.derived(at)? != *self.key(at) {
            return Err(Error::Canary { kernel: device.name().to_owned() });
        }
        self.proof = Some(mixed(seed));
        Ok(())
    }

    /// The key of a candidate, derived by the reference.
    fn derived(&self, at: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut key = Zeroizing::new(vec![0; self.key(at).len()]);
        wiping_deep_stack(|| self.search.kdf().derive(&self.whole_candidate(at), &mut key))?;
        Ok(key)
    }

    fn try_keys(&mut self) -> Result<(), Error> {
        let (search, proof) = (self.search, self.proof.take());
        let Known::Several(targets) = search.known() else {
            return self.try_target(search.known(), (0, None), proof);
        };
        for (at, target) in targets.iter().enumerate().filter(|(_, target)| !target.is_finished()) {
            self.try_target(target.known(), (at, Some(target)), proof)?;
        }
        Ok(())
    }

    /// Tries all keys on one target, or on the only one.
    fn try_target(
        &mut self,
        known: &Known,
        (at, target): (usize, Option<&Target>),
        proof: Option<u64>,
    ) -> Result<(), Error> {
        // The keys of one of several targets, back to back.
        let mut own = Zeroizing::default();
        if let Some(target) = target {
            (0..self.numbers.len()).for_each(|place| target.gather(self.key(place), &mut own));
        }
        let is_own = target.is_some_and(|target| target.end().is_some());
        match known {
            Known::Blocks(blocks) => {
                let keys = if is_own { own } else { std::mem::take(&mut self.keys) };
                let mut places = Vec::new();
                let tried = match self.tried_by {
                    Some(device) => self.try_on_device(device, (blocks, proof), &keys, &mut places),
                    None => self.try_blocks(blocks, at, &keys, proof, &mut places),
                };
                let own = if is_own { keys } else { std::mem::replace(&mut self.keys, keys) };
                let key_bytes = blocks.key_bytes();
                for place in places {
                    let key = if is_own { &own[place * key_bytes..][..key_bytes] } else { self.key(place) };
                    self.hit(place, at, key);
                }
                tried
            }
            Known::Test(test) => {
                if matches!(self.made, Made::Lanes(components) if components.is_partial()) {
                    return self.try_first_bytes(&**test, proof.is_some());
                }
                let key_bytes = test.key_bytes().unwrap_or(0);
                for place in 0..self.numbers.len() {
                    let key = if is_own {
                        &own[place * key_bytes..][..key_bytes]
                    } else {
                        self.key_of(&**test, place)
                    };
                    if proof.is_some() && place == 0 && !test.planted(key)?.holds(key)? {
                        return Err(Error::Canary { kernel: test.name() });
                    }
                    if test.holds(key)? {
                        self.hit(place, at, key);
                    }
                }
                Ok(())
            }
            // Targets have no targets.
            Known::Several(_) => Ok(()),
        }
    }

    /// Tries all keys by the bytes that were derived. Those that may be right are derived in full. If `is_planted`,
    /// the first is also tried as the right key.
    fn try_first_bytes(&self, test: &dyn Test, is_planted: bool) -> Result<(), Error> {
        for place in 0..self.numbers.len() {
            if is_planted && place == 0 {
                let whole = self.derived(place)?;
                let planted = test.planted(&whole)?;
                if !planted.may_hold(self.key(place))? || !planted.holds(&whole)? {
                    return Err(Error::Canary { kernel: test.name() });
                }
            }
            if test.may_hold(self.key(place))? {
                let whole = self.derived(place)?;
                if test.holds(&whole)? {
                    self.hit(place, 0, &whole);
                }
            }
        }
        Ok(())
    }

    /// Tries the keys of all candidates on the target with index `target`, and adds the places of those that hit.
    fn try_blocks(
        &mut self,
        blocks: &BlockSearch,
        target: usize,
        all: &[u8],
        mut proof: Option<u64>,
        places: &mut Vec<usize>,
    ) -> Result<(), Error> {
        let key_bytes = blocks.key_bytes();
        let none = Zeroizing::new(vec![0; key_bytes]);
        self.tables.resize_with(self.tables.len().max(target + 1), || None);
        let mut found = Vec::new();
        for (from, keys) in (0..).step_by(BATCH_KEYS).zip(all.chunks(BATCH_KEYS * key_bytes)) {
            if let Some(table) = &mut self.tables[target] {
                table.refill(keys);
            }
            let table = self.tables[target].get_or_insert_with(|| blocks.prepare(keys, TableReuse::Once));
            blocks.search(&none, table, &mut found);
            places.extend(found.drain(..).map(|(_, place)| from + place));
            if let Some(seed) = proof.take() {
                let count = keys.len() / key_bytes;
                let place = (seed % count as u64) as usize;
                let from = place / PROOF_KEYS * PROOF_KEYS;
                let keys = &keys[from * key_bytes..count.min(from + PROOF_KEYS) * key_bytes];
                prove(blocks, TableReuse::Once, &none, keys, (0, place - from))?;
            }
        }
        Ok(())
    }

    /// Has a device try the keys of all candidates, and adds the places of those that hit. If `proof` is given,
    /// the device must find one of the keys first, on the output that this key gives.
    fn try_on_device(
        &self,
        device: &WordDevice,
        (blocks, proof): (&BlockSearch, Option<u64>),
        keys: &[u8],
        places: &mut Vec<usize>,
    ) -> Result<(), Error> {
        let key_bytes = blocks.key_bytes();
        let key = |place: usize| &keys[place * key_bytes..][..key_bytes];
        let mut maybe = Vec::new();
        if proof.is_some() {
            let place = (mixed(self.numbers[0] as u64) % self.numbers.len() as u64) as usize;
            let (_, planted) = blocks.planted(key(place))?.for_device()?;
            device.try_keys(&planted, keys, &mut maybe)?;
            if !maybe.contains(&place) {
                return Err(Error::Canary { kernel: device.name().to_owned() });
            }
            maybe.clear();
        }
        let (_, known) = blocks.for_device()?;
        device.try_keys(&known, keys, &mut maybe)?;
        places.extend(maybe.into_iter().filter(|&place| blocks.holds(key(place))));
        Ok(())
    }

    /// A candidate. If it was not kept, it is generated again from its number.
    fn whole_candidate(&self, place: usize) -> Zeroizing<Vec<u8>> {
        match self.space {
            Some(space) => space.candidates(&(&self.base + self.numbers[place]), 1),
            None => Zeroizing::new(self.candidate(place).to_vec()),
        }
    }

    /// A candidate that was kept.
    fn candidate(&self, place: usize) -> &[u8] {
        if self.is_exact() {
            return self.key(place);
        }
        let from = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.candidates[from..self.ends[place]]
    }

    /// The key of a candidate. It is the candidate itself if the test accepts any length.
    fn key(&self, place: usize) -> &[u8] {
        match self.search.key_bytes() {
            Some(key_bytes) => &self.keys[place * key_bytes..][..key_bytes],
            None => self.candidate(place),
        }
    }

    /// The key of a candidate for a test. It is the candidate itself if the test accepts any length.
    fn key_of(&self, test: &dyn Test, place: usize) -> &[u8] {
        if test.key_bytes().is_some() { self.key(place) } else { self.candidate(place) }
    }

    fn hit(&self, place: usize, target: usize, key: &[u8]) {
        self.watch.hit(Hit {
            number: &self.base + self.numbers[place],
            candidate: self.whole_candidate(place),
            key: Zeroizing::new(key.to_vec()),
            target,
        });
    }
}

impl Made<'_> {
    fn each(search: &Search) -> Result<Self, Error> {
        let key_bytes = search.key_bytes().unwrap_or(0);
        Ok(Self::Each(search.kdf().deriver(key_bytes)?.only(search.needed())))
    }
}

impl<'a> Fed<'a> {
    fn new(derivation: &'a Derivation, device: &'a WordDevice) -> Self {
        Self { derivation, device, blocks: Zeroizing::default(), alone: Vec::new(), counted: None }
    }

    /// Adds a candidate at index `place`.
    fn push(&mut self, candidate: &[u8], place: usize) {
        append(&mut self.blocks, &[0; BLOCK_BYTES]);
        let block = &mut self.blocks[place * BLOCK_BYTES..];
        if !self.derivation.pad(candidate, block) {
            self.alone.push(place);
        }
    }
}

/// Appends secret bytes. When a vector reallocates, it leaves a copy in freed memory; so this function moves
/// and wipes the bytes.
pub(super) fn append(all: &mut Zeroizing<Vec<u8>>, bytes: &[u8]) {
    let len_bytes = all.len() + bytes.len();
    if len_bytes > all.capacity() {
        let mut longer = Zeroizing::new(Vec::with_capacity(2 * len_bytes));
        longer.extend_from_slice(all);
        *all = longer;
    }
    all.extend_from_slice(bytes);
}

/// Computes the answer for one sum of an outer and an inner key, given by index. Fails unless the kernel for
/// this use finds it.
pub(super) fn prove(
    blocks: &BlockSearch,
    usage: TableReuse,
    outer: &[u8],
    inner: &[u8],
    (o, i): (usize, usize),
) -> Result<(), Error> {
    let key_bytes = blocks.key_bytes();
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
