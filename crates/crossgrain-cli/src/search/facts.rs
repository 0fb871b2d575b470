//! Facts about files that determine the numbers of candidates. A session records them, and refuses to go on if
//! they have changed.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::input::Input;

/// Bytes at either end of a list that go into its digest.
const ENDS_BYTES: u64 = 1 << 20;

/// Facts about the files of a search; empty without files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListFacts {
    /// The length of the word list in bytes, if that is known.
    pub(super) len_bytes: Option<u64>,
    /// A digest of its first and last bytes, if it is a file. Earlier versions did not record this.
    pub(super) ends: Option<u64>,
    /// A digest of its files of rules, if there are any. Earlier versions did not record this either.
    pub(super) rules: Option<u64>,
    /// A digest of files of masks and the second list, if there are any.
    pub(super) attached: Option<u64>,
}

/// Collects facts, if there is a session that records them.
pub(super) struct Facts {
    are_recorded: bool,
    facts: ListFacts,
    attached: Option<Sha256>,
}

impl ListFacts {
    /// Refuses files that have changed, because the numbers of candidates would have changed too.
    pub(super) fn check(self, before: Self) -> Result<(), Error> {
        let differs = |before: Option<u64>, now| before.is_some() && before != now;
        let what = if before.len_bytes != self.len_bytes {
            "the word list is not as long as"
        } else if differs(before.ends, self.ends) {
            "the word list has other words than"
        } else if differs(before.rules, self.rules) {
            "there are other rules than"
        } else if differs(before.attached, self.attached) {
            "there are other masks, or other words in the second list, than"
        } else {
            return Ok(());
        };
        Err(Error::usage(format!(
            "{what} when the session began: give back what there was, or begin another"
        )))
    }
}

impl Facts {
    pub(super) fn new(are_recorded: bool) -> Self {
        Self { are_recorded, facts: ListFacts::default(), attached: None }
    }

    /// Adds a word list, unless it is standard input, and its files of rules.
    pub(super) fn add_list(
        &mut self,
        path: Option<&Path>,
        input: &Input,
        rules: &[Vec<u8>],
    ) -> Result<(), Error> {
        if self.are_recorded {
            self.facts.len_bytes = input.len_bytes();
            if let (Some(path), Some(len_bytes)) = (path, input.len_bytes()) {
                self.facts.ends = Some(digest_of_ends(path, len_bytes)?);
            }
            self.facts.rules = (!rules.is_empty()).then(|| short(Sha256::new_with_prefix(rules.join(&0))));
        }
        Ok(())
    }

    /// Adds the second list.
    pub(super) fn add_second(&mut self, path: &Path, input: &Input) -> Result<(), Error> {
        let (true, Some(len_bytes)) = (self.are_recorded, input.len_bytes()) else { return Ok(()) };
        let ends = digest_of_ends(path, len_bytes)?;
        self.add_attached(&[len_bytes.to_be_bytes(), ends.to_be_bytes()].concat());
        Ok(())
    }

    /// Adds a file of masks, or facts about the second list.
    pub(super) fn add_attached(&mut self, text: &[u8]) {
        let attached = self.attached.get_or_insert_default();
        attached.update((text.len() as u64).to_be_bytes());
        attached.update(text);
    }

    /// All facts.
    pub(super) fn all(self) -> ListFacts {
        let Self { are_recorded, facts, attached } = self;
        ListFacts { attached: attached.filter(|_| are_recorded).map(short), ..facts }
    }
}

/// The digest of a file's first and last [`ENDS_BYTES`]: enough to distinguish lists, and quick.
fn digest_of_ends(path: &Path, len_bytes: u64) -> Result<u64, Error> {
    let mut input = Input::open_regular(path)?;
    let mut digest = Sha256::new();
    let read: io::Result<()> = [0, len_bytes.saturating_sub(ENDS_BYTES)].into_iter().try_for_each(|from| {
        let mut end = Zeroizing::new(Vec::with_capacity(ENDS_BYTES.min(len_bytes) as usize));
        input.seek(SeekFrom::Start(from))?;
        input.by_ref().take(ENDS_BYTES).read_to_end(&mut end)?;
        digest.update(&end);
        Ok(())
    });
    read.map_err(|error| Error::read(input.name(), &error))?;
    Ok(short(digest))
}

/// 64 bits of SHA-256. They detect accidental changes; an attacker would gain nothing from a collision.
fn short(digest: Sha256) -> u64 {
    digest.finalize().iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}
