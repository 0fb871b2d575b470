//! Several targets in one search. Each candidate is made once and tried on all targets that are left.
//!
//! Keys for all targets are derived together. The derivation consists of *parts*: those of all targets, without
//! repetition. Two files with the same salt and cost share a part. A target's key is some parts in sequence. A
//! part that only finished targets need is left out.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use zeroize::Zeroizing;

use super::{Error, Kdf, Known, Search};

/// One of several targets.
#[derive(Debug)]
pub struct Target {
    known: Known,
    /// Where the parts of its key are in the key of the search. `None` if candidates are tried unchanged.
    parts: Option<Vec<Range<usize>>>,
    is_finished: AtomicBool,
}

impl Target {
    pub(super) const fn known(&self) -> &Known {
        &self.known
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Relaxed)
    }

    /// The end of the key's last part; `None` if candidates are tried unchanged.
    pub(super) fn end(&self) -> Option<usize> {
        self.parts.as_ref().map(|parts| parts.iter().map(|part| part.end).max().unwrap_or(0))
    }

    /// Appends the key of this target to `all`. `key` is that of the search.
    pub(super) fn gather(&self, key: &[u8], all: &mut Zeroizing<Vec<u8>>) {
        for part in self.parts.iter().flatten() {
            super::batch::append(all, &key[part.clone()]);
        }
    }

    fn needs(&self, part: &Range<usize>) -> bool {
        !self.is_finished() && self.parts.as_ref().is_some_and(|parts| parts.contains(part))
    }
}

/// The derivations of a KDF with the length of the key of each.
fn parts_of(kdf: &Kdf, key_bytes: usize) -> Vec<(Kdf, usize)> {
    match kdf {
        Kdf::Several(parts) => parts.clone(),
        kdf => vec![(kdf.clone(), key_bytes)],
    }
}

impl Search {
    /// One search for the keys of several targets. Their order gives [`Hit::target`](super::Hit::target).
    ///
    /// # Errors
    /// [`Error::BadKdf`] if some targets take keys and others passphrases.
    pub fn several(searches: Vec<Self>) -> Result<Self, Error> {
        let mut all: Vec<(Kdf, usize)> = Vec::new();
        let mut takes = [false; 2];
        for search in &searches {
            takes[usize::from(search.key_bytes().is_some() && search.kdf().is_padding())] = true;
            for part in search.key_bytes().map_or(Vec::new(), |key_bytes| parts_of(search.kdf(), key_bytes)) {
                if !all.contains(&part) {
                    all.push(part);
                }
            }
        }
        if takes == [true; 2] || takes[1] && all.len() > 1 {
            let reason = "some targets take keys and others passphrases, or keys of another length: search for them one after another".to_owned();
            return Err(Error::BadKdf { reason });
        }
        let place = |wanted: &(Kdf, usize)| {
            let from = all.iter().take_while(|part| *part != wanted).map(|(_, part_bytes)| part_bytes).sum();
            from..from + wanted.1
        };
        let target = |search: Self| {
            let parts = search.key_bytes().map(|key_bytes| parts_of(search.kdf(), key_bytes));
            let parts = parts.map(|parts| parts.iter().map(place).collect());
            Target { known: search.into_known(), parts, is_finished: AtomicBool::new(false) }
        };
        let targets = searches.into_iter().map(target).collect();
        let kdf = match all.len() {
            0 => Kdf::Exact,
            1 => all.remove(0).0,
            _ => Kdf::Several(all),
        };
        Self::new(Known::Several(targets), kdf)
    }

    /// Ends the search for one of several targets. Threads may still report it for candidates that they have taken.
    pub fn finish(&self, target: usize) {
        if let Known::Several(targets) = self.known()
            && let Some(target) = targets.get(target)
        {
            target.is_finished.store(true, Ordering::Relaxed);
        }
    }

    /// For each part of several derivations, whether a target that is left needs it. Empty if there are no parts.
    pub(super) fn needed(&self) -> Vec<bool> {
        let (Known::Several(targets), Kdf::Several(parts)) = (self.known(), self.kdf()) else {
            return Vec::new();
        };
        let mut end = 0;
        let is_needed = |(_, part_bytes): &(Kdf, usize)| {
            let part = end..end + part_bytes;
            end = part.end;
            targets.iter().any(|target| target.needs(&part))
        };
        parts.iter().map(is_needed).collect()
    }
}
