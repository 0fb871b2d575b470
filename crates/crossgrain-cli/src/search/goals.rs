//! The targets of a search: their names, which of them are found, and when the search is over.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use base16ct::lower::encode_string;
use sha2::{Digest as _, Sha256};

use super::args::Args;

/// Bytes of a file that identify it. They contain the headers of all formats.
const IDENTIFYING_BYTES: u64 = 64 << 10;

/// One target.
#[derive(Debug)]
pub(super) struct Goal {
    /// Its name, for messages.
    pub(super) name: String,
    /// A digest that identifies it.
    pub(super) fingerprint: String,
    /// How often wrong keys fit, if that is often. All that fit are reported then.
    pub(super) doubt: Option<String>,
}

/// All targets, and which of them are found.
pub(super) struct Goals {
    goals: Vec<Goal>,
    found: Vec<AtomicBool>,
    /// Whether one target is enough.
    any: bool,
    /// Whether the search goes on after a find.
    all: bool,
}

impl Goals {
    pub(super) fn new(goals: Vec<Goal>, args: &Args) -> Self {
        let found = goals.iter().map(|_| AtomicBool::new(false)).collect();
        Self { goals, found, any: args.any_target, all: args.all }
    }

    /// The targets, in their order.
    pub(super) fn each(&self) -> impl Iterator<Item = &Goal> {
        self.goals.iter()
    }

    /// The number of targets.
    pub(super) fn count(&self) -> usize {
        self.goals.len()
    }

    /// The target with this index.
    pub(super) fn get(&self, target: usize) -> Option<&Goal> {
        self.goals.get(target)
    }

    /// The index of the target with this fingerprint.
    pub(super) fn with_fingerprint(&self, fingerprint: &str) -> Option<usize> {
        self.goals.iter().position(|goal| goal.fingerprint == fingerprint)
    }

    /// Records that a target was found. Returns whether no more of its keys are wanted.
    pub(super) fn find(&self, target: usize) -> bool {
        self.found.get(target).inspect(|found| found.store(true, Ordering::Relaxed));
        !self.is_open(target)
    }

    /// The targets that are found and of which no more keys are wanted.
    pub(super) fn closed(&self) -> impl Iterator<Item = usize> {
        let is_found = |target: &usize| self.found[*target].load(Ordering::Relaxed);
        (0..self.found.len()).filter(move |target| is_found(target) && !self.is_open(*target))
    }

    /// Whether all keys of a target are wanted that fit.
    fn is_open(&self, target: usize) -> bool {
        self.all || self.goals.get(target).is_some_and(|goal| goal.doubt.is_some())
    }

    /// Whether enough targets are found and no more keys are wanted.
    pub(super) fn are_over(&self) -> bool {
        let is_over =
            |(target, found): (usize, &AtomicBool)| found.load(Ordering::Relaxed) && !self.is_open(target);
        let mut each = self.found.iter().enumerate();
        if self.any { each.any(is_over) } else { each.all(is_over) }
    }

    /// The number of targets found.
    pub(super) fn found_count(&self) -> usize {
        self.found.iter().filter(|found| found.load(Ordering::Relaxed)).count()
    }

    /// Whether enough targets are found.
    pub(super) fn are_found(&self) -> bool {
        let wanted = if self.any { 1 } else { self.count() };
        self.found_count() >= wanted
    }
}

/// The fingerprint of a file. `header` is the name of the header that is searched.
pub(super) fn of_file(path: &Path, header: &str) -> io::Result<String> {
    let mut digest = Sha256::new_with_prefix(b"crossgrain target file 1\0");
    digest.update(header);
    digest.update([0]);
    let mut beginning = Vec::new();
    File::open(path)?.take(IDENTIFYING_BYTES).read_to_end(&mut beginning)?;
    digest.update(beginning);
    Ok(encode_string(&digest.finalize()))
}

/// The fingerprint of known data, given as texts.
pub(super) fn of_texts(texts: &[String]) -> String {
    let mut digest = Sha256::new_with_prefix(b"crossgrain target data 1\0");
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text.to_ascii_lowercase());
    }
    encode_string(&digest.finalize())
}
