//! The secret of a run, which may serve several files: it is asked for once.

use crossgrain_container::Suite;

use super::keys::{KeyArgs, Known, OpenArgs};
use super::passphrase;
use crate::error::Error;

/// Where the secret comes from.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// A secret for new files. A passphrase is prompted for twice.
    New(&'a KeyArgs),
    /// That of existing files.
    Existing(&'a OpenArgs),
    /// A new random passphrase, which is shown.
    Random,
}

/// The secret of a run.
pub(super) struct Keyring<'a> {
    place: Place<'a>,
    /// The secret, and the suite that it was read for.
    held: Option<(Suite, Known)>,
    /// Whether the secret serves several files.
    is_kept: bool,
}

impl<'a> Keyring<'a> {
    /// A secret for new files, read when it is needed. Unless it `is_kept`, it is overwritten after its first use.
    pub(super) const fn new(args: &'a KeyArgs, is_kept: bool) -> Self {
        Self { place: Place::New(args), held: None, is_kept }
    }

    /// The secret of existing files, likewise.
    pub(super) const fn existing(args: &'a OpenArgs, is_kept: bool) -> Self {
        Self { place: Place::Existing(args), held: None, is_kept }
    }

    /// A random passphrase, likewise. It is shown.
    pub(super) const fn random(is_kept: bool) -> Self {
        Self { place: Place::Random, held: None, is_kept }
    }

    /// Reads the secret now, for files of this suite.
    pub(super) fn fetch(&mut self, suite: Suite) -> Result<(), Error> {
        let is_held = self.held.as_ref().is_some_and(|(known_suite, known)| match known {
            Known::Passphrase(_) | Known::Identities(_) => true,
            // Keys of other suites may have other lengths.
            Known::Key(_) => *known_suite == suite,
        });
        if is_held {
            return Ok(());
        }
        let known = match self.place {
            Place::New(args) => args.known(suite, true)?,
            Place::Existing(args) => args.known(suite)?,
            Place::Random => {
                let passphrase = passphrase::generated()?;
                passphrase::show(&passphrase)?;
                Known::Passphrase(passphrase)
            }
        };
        self.held = Some((suite, known));
        Ok(())
    }

    /// Uses the secret for a file of this suite.
    pub(super) fn with<T>(&mut self, suite: Suite, derive: impl FnOnce(&Known) -> T) -> Result<T, Error> {
        self.fetch(suite)?;
        let derived = self.held.as_ref().map(|(_, known)| derive(known));
        if !self.is_kept {
            self.held = None;
        }
        derived.ok_or_else(|| Error::usage("there is no key: give --key-file"))
    }
}
