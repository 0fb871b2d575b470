//! The slots of a header of version 2. Each slot holds the file key, sealed under one key, passphrase or
//! recipient. A slot is `kind ‖ n ‖ n bytes of parameters ‖ sealed file key`:
//!
//! | kind | parameters | key of the slot |
//! |---|---|---|
//! | 1 | none | the user's key |
//! | 2 | the Argon2id string, as in version 1 | from a passphrase by Argon2id |
//! | 3 | a share of X25519 | agreed between the share and the recipient |
//!
//! The sealed file key is a payload of one chunk under the key of the slot. Its context is the beginning of
//! the header and of the slot. A slot thus commits to its key: no slot opens under two passphrases, so an
//! attacker who sees whether a reader opens a file tests only one passphrase per slot.
//!
//! A tag from the file key covers the whole header. Without the file key, slots can therefore not be added,
//! dropped, moved or changed. The tag can be verified only after a slot was opened, and that may cost
//! Argon2id. So the number of slots is limited, and the limits of Argon2id hold for all slots together.

use std::fmt;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::derive::{Argon2id, Limits, Secret, expand};
use super::error::Error;
use super::header::{fixed, read_kdf, spelled};
use super::payload::{PREFIX_BYTES, Payload, Suite, TAG_BYTES};
use super::x25519::{Identity, POINT_BYTES, Recipient};
use crossgrain::engine::wiping_stack;
use crossgrain::mode::Options;

/// The most slots of a header.
pub const SLOTS_MAX: usize = 64;

/// The most of them that have passphrases. An attacker who sees whether a reader opens a file can test one
/// passphrase with each.
pub const PASSPHRASES_MAX: usize = 8;

/// The most bytes of all slots together.
pub(super) const SLOTS_BYTES_MAX: usize = PASSPHRASES_MAX * PHC_BYTES_MAX
    + (SLOTS_MAX - PASSPHRASES_MAX) * POINT_BYTES
    + SLOTS_MAX * (2 + PREFIX_BYTES + FILE_KEY_BYTES_MAX + TAG_BYTES);

/// Bytes of the tag that covers the header.
pub(super) const MAC_BYTES: usize = 32;

/// Bytes of the longest Argon2id string: all three numbers have ten digits.
const PHC_BYTES_MAX: usize = 76;

const FILE_KEY_BYTES_MAX: usize = 32;
const MAC_LABEL: &[u8] = b"crossgrain/header@v2";

/// A key, passphrase or recipient that shall open a file.
#[derive(Clone, Copy)]
pub enum Lock<'a> {
    /// Uniformly random bytes, of the suite's key length.
    Key(&'a [u8]),
    /// A passphrase as bytes, and fresh parameters ([`Argon2id::fresh`]).
    Passphrase(&'a [u8], Argon2id),
    /// The public key of an [`Identity`].
    Recipient(Recipient),
}

/// The kind of secret that opens a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// A key.
    Key,
    /// A passphrase.
    Passphrase(Argon2id),
    /// An identity. The header does not show which one: the share is random.
    X25519 {
        /// The public part of a key pair that only this slot has.
        share: [u8; POINT_BYTES],
    },
}

/// The slots of a header, and the tag that covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    slots: Vec<Slot>,
    mac: [u8; MAC_BYTES],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Slot {
    kind: SlotKind,
    /// A payload whose plaintext is the file key.
    sealed: Vec<u8>,
}

/// Bytes of a sealed file key.
const fn sealed_key_bytes(suite: Suite) -> usize {
    PREFIX_BYTES + suite.key_bytes() + TAG_BYTES
}

/// A slot holds one chunk.
fn options() -> Options {
    Options { threads: 1, ..Options::default() }
}

impl Slots {
    /// The kind of secret that opens each slot, in the order of the header.
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = &SlotKind> {
        self.slots.iter().map(|slot| &slot.kind)
    }

    /// Seals a file key for each lock. These slots follow those that are kept.
    fn with(
        suite: Suite,
        file_key: &[u8],
        kept: impl Iterator<Item = Slot>,
        locks: &[Lock<'_>],
    ) -> Result<Self, Error> {
        let mut slots: Vec<_> = kept.collect();
        // Several passphrases that are each allowed may cost more together than readers allow.
        let new = locks.iter().filter_map(|lock| match lock {
            Lock::Passphrase(_, argon2id) => Some(argon2id),
            _ => None,
        });
        let all: Vec<_> = argon2ids(&slots).chain(new).collect();
        let (count, passphrases) = (slots.len() + locks.len(), all.len());
        if count == 0 || count > SLOTS_MAX || passphrases > PASSPHRASES_MAX {
            return Err(Error::SlotCount { count, passphrases });
        }
        if passphrases > 1 {
            Limits::default().admit(all.into_iter()).map_err(|_| Error::ManyCosts)?;
        }
        for lock in locks {
            slots.push(Slot::sealed(suite, file_key, lock)?);
        }
        let mut made = Self { slots, mac: [0; MAC_BYTES] };
        made.mac = made.right_mac(suite, file_key);
        Ok(made)
    }

    /// The same file key with other slots: those of `kept`, then one for each lock.
    pub(super) fn resealed(
        &self,
        suite: Suite,
        file_key: &[u8],
        kept: &[usize],
        locks: &[Lock<'_>],
    ) -> Result<Self, Error> {
        self.verify(suite, file_key)?;
        let kept = kept.iter().filter_map(|&number| self.slots.get(number).cloned());
        Self::with(suite, file_key, kept, locks)
    }

    /// Seals a file key for each lock.
    pub(super) fn sealed(suite: Suite, file_key: &[u8], locks: &[Lock<'_>]) -> Result<Self, Error> {
        Self::with(suite, file_key, std::iter::empty(), locks)
    }

    /// The slots without the tag.
    fn body(&self) -> Vec<u8> {
        self.slots.iter().flat_map(|slot| [slot.kind.to_bytes(), slot.sealed.clone()].concat()).collect()
    }

    /// The header without its tag.
    fn covered(&self, suite: Suite) -> Vec<u8> {
        let body = self.body();
        [&fixed(suite)[..], &(body.len() as u16).to_be_bytes(), &body].concat()
    }

    /// The whole header.
    pub(super) fn header(&self, suite: Suite) -> Vec<u8> {
        [&self.covered(suite)[..], &self.mac].concat()
    }

    /// Parses all slots, and accepts nothing after them.
    pub(super) fn read(suite: Suite, mut body: &[u8], mac: [u8; MAC_BYTES]) -> Result<Self, Error> {
        let mut slots = Vec::new();
        while !body.is_empty() {
            if slots.len() == SLOTS_MAX {
                return Err(Error::BadHeader(format!("it has more than {SLOTS_MAX} slots")));
            }
            slots.push(Slot::read(suite, &mut body)?);
        }
        if argon2ids(&slots).count() > PASSPHRASES_MAX {
            return Err(Error::BadHeader(format!("it has more than {PASSPHRASES_MAX} passphrases")));
        }
        Ok(Self { slots, mac })
    }

    fn right_mac(&self, suite: Suite, file_key: &[u8]) -> [u8; MAC_BYTES] {
        let mut mac = [0; MAC_BYTES];
        let covered = self.covered(suite);
        wiping_stack(|| expand(file_key, &[MAC_LABEL, &covered], &mut mac));
        mac
    }

    fn verify(&self, suite: Suite, file_key: &[u8]) -> Result<(), Error> {
        let is_right = bool::from(self.right_mac(suite, file_key).ct_eq(&self.mac));
        if is_right { Ok(()) } else { Err(Error::ForgedHeader) }
    }

    /// The file key, from the first slot that the secret opens.
    pub(super) fn open(
        &self,
        suite: Suite,
        secret: Secret<'_>,
        limits: &Limits,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.opened(suite, secret, limits, 1).map(|(file_key, _)| file_key)
    }

    /// The file key, and the numbers of all slots that the secret opens.
    pub(super) fn open_all(
        &self,
        suite: Suite,
        secret: Secret<'_>,
        limits: &Limits,
    ) -> Result<(Zeroizing<Vec<u8>>, Vec<usize>), Error> {
        self.opened(suite, secret, limits, SLOTS_MAX)
    }

    /// The file key, and the numbers of the first `most` slots that the secret opens.
    fn opened(
        &self,
        suite: Suite,
        secret: Secret<'_>,
        limits: &Limits,
        most: usize,
    ) -> Result<(Zeroizing<Vec<u8>>, Vec<usize>), Error> {
        if matches!(secret, Secret::Passphrase(_)) {
            limits.admit(argon2ids(&self.slots))?;
        }
        let (mut is_tried, mut found, mut numbers) = (false, None, Vec::new());
        for (number, slot) in self.slots.iter().enumerate().filter(|(_, slot)| slot.kind.takes(&secret)) {
            is_tried = true;
            if let Some(file_key) = slot.open_by(suite, secret)? {
                self.verify(suite, &file_key)?;
                found = Some(file_key);
                numbers.push(number);
                if numbers.len() == most {
                    break;
                }
            }
        }
        match found {
            Some(file_key) => Ok((file_key, numbers)),
            None if is_tried => Err(Error::WrongKey),
            None => Err(self.wanted()),
        }
    }

    /// The error for a secret of a kind that no slot has.
    fn wanted(&self) -> Error {
        match self.slots.first().map(|slot| &slot.kind) {
            Some(SlotKind::Passphrase(_)) => Error::WantsPassphrase,
            Some(SlotKind::X25519 { .. }) => Error::WantsIdentity,
            _ => Error::WantsKey,
        }
    }
}

/// The parameters of all passphrases.
fn argon2ids(slots: &[Slot]) -> impl Iterator<Item = &Argon2id> {
    slots.iter().filter_map(|slot| match &slot.kind {
        SlotKind::Passphrase(argon2id) => Some(argon2id),
        _ => None,
    })
}

impl SlotKind {
    const fn number(&self) -> u8 {
        match self {
            Self::Key => 1,
            Self::Passphrase(_) => 2,
            Self::X25519 { .. } => 3,
        }
    }

    /// Whether a secret is of this kind.
    const fn takes(&self, secret: &Secret<'_>) -> bool {
        matches!(
            (self, secret),
            (Self::Key, Secret::Key(_))
                | (Self::Passphrase(_), Secret::Passphrase(_))
                | (Self::X25519 { .. }, Secret::Identities(_))
        )
    }

    /// The beginning of a slot.
    fn to_bytes(&self) -> Vec<u8> {
        let parameters = match self {
            Self::Key => Vec::new(),
            Self::Passphrase(argon2id) => spelled(argon2id).into_bytes(),
            Self::X25519 { share } => share.to_vec(),
        };
        [&[self.number(), parameters.len() as u8][..], &parameters].concat()
    }

    fn read(number: u8, parameters: &[u8]) -> Result<Self, Error> {
        let bad = |why| Err(Error::BadHeader(why));
        match (number, parameters) {
            (1, []) => Ok(Self::Key),
            (2, phc) => read_kdf(phc).map(Self::Passphrase),
            (3, share) if share.len() == POINT_BYTES => {
                let mut point = [0; POINT_BYTES];
                point.copy_from_slice(share);
                Ok(Self::X25519 { share: point })
            }
            (1 | 3, _) => {
                bad(format!("a slot of kind {number} has {} bytes of parameters", parameters.len()))
            }
            _ => bad(format!("kind {number} of a slot is none of this version")),
        }
    }

    /// The context of a slot's payload.
    fn context(&self, suite: Suite) -> Vec<u8> {
        [&fixed(suite)[..], &self.to_bytes()].concat()
    }
}

impl Slot {
    fn sealed(suite: Suite, file_key: &[u8], lock: &Lock<'_>) -> Result<Self, Error> {
        let mut derived = Zeroizing::new(vec![0; suite.key_bytes()]);
        let (kind, key) = match *lock {
            Lock::Key(key) => (SlotKind::Key, key),
            Lock::Passphrase(passphrase, argon2id) => {
                argon2id.key(passphrase, &mut derived)?;
                (SlotKind::Passphrase(argon2id), &derived[..])
            }
            Lock::Recipient(recipient) => {
                let share = recipient.fresh_slot_key(&mut derived)?;
                (SlotKind::X25519 { share }, &derived[..])
            }
        };
        let payload = Payload::fresh(suite, key, &kind.context(suite), &options())?;
        let mut sealed = vec![0; sealed_key_bytes(suite)];
        let (prefix, chunk) = sealed.split_at_mut(PREFIX_BYTES);
        prefix.copy_from_slice(payload.prefix());
        payload.seal(0, true, file_key, chunk)?;
        Ok(Self { kind, sealed })
    }

    /// Parses the first slot of `body`, and removes it.
    fn read(suite: Suite, body: &mut &[u8]) -> Result<Self, Error> {
        let short = || Error::BadHeader("a slot is longer than the rest of the header".to_owned());
        let (&[kind, parameters_bytes], rest) = body.split_first_chunk().ok_or_else(short)?;
        let (parameters, rest) = rest.split_at_checked(usize::from(parameters_bytes)).ok_or_else(short)?;
        let kind = SlotKind::read(kind, parameters)?;
        let (sealed, rest) = rest.split_at_checked(sealed_key_bytes(suite)).ok_or_else(short)?;
        *body = rest;
        Ok(Self { kind, sealed: sealed.to_vec() })
    }

    /// The file key, or `None` if the secret does not open the slot.
    fn open_by(&self, suite: Suite, secret: Secret<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        match (&self.kind, secret) {
            (SlotKind::Key, Secret::Key(key)) => self.open(suite, key),
            (SlotKind::Passphrase(argon2id), Secret::Passphrase(passphrase)) => {
                let mut key = Zeroizing::new(vec![0; suite.key_bytes()]);
                argon2id.key(passphrase, &mut key)?;
                self.open(suite, &key)
            }
            (SlotKind::X25519 { share }, Secret::Identities(identities)) => {
                self.open_by_any(suite, share, identities)
            }
            _ => Ok(None),
        }
    }

    /// The file key, or `None` if the slot has another key.
    fn open(&self, suite: Suite, key: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let (prefix, chunk) = self.sealed.split_first_chunk().ok_or(Error::TruncatedHeader)?;
        let payload = match Payload::committed(suite, key, prefix, &self.kind.context(suite), &options()) {
            Ok(payload) => payload,
            Err(Error::WrongKey) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut file_key = Zeroizing::new(vec![0; suite.key_bytes()]);
        match payload.open(0, true, chunk, &mut file_key).1 {
            Ok(()) => Ok(Some(file_key)),
            Err(Error::Damaged(_)) => Err(Error::ForgedHeader),
            Err(error) => Err(error),
        }
    }

    fn open_by_any(
        &self,
        suite: Suite,
        share: &[u8; POINT_BYTES],
        identities: &[Identity],
    ) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let mut key = Zeroizing::new(vec![0; suite.key_bytes()]);
        for identity in identities {
            identity.slot_key(share, &mut key)?;
            if let Some(file_key) = self.open(suite, &key)? {
                return Ok(Some(file_key));
            }
        }
        Ok(None)
    }
}

impl fmt::Debug for Lock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(_) => f.write_str("Key(secret)"),
            Self::Passphrase(_, argon2id) => write!(f, "Passphrase(secret, {argon2id:?})"),
            Self::Recipient(recipient) => write!(f, "Recipient({recipient})"),
        }
    }
}
