//! Recipients and identities: key pairs of X25519 (RFC 7748), written as age writes them.
//!
//! A file encrypted to a recipient has a fresh key pair for each slot, and its public part, the *share*, is
//! in the slot. The key of the slot is
//!
//! ```text
//! HKDF(SHA-512, input = X25519(secret, public), salt = share ‖ recipient, info = "crossgrain/x25519@v2")
//! ```
//!
//! Salt and label bind the key to this slot and this format. The same key pair may therefore serve age, too.

use std::fmt;
use std::str::FromStr;

use subtle::ConstantTimeEq as _;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};
use zeroize::{Zeroize as _, Zeroizing};

use super::bech32::{self, Letters};
use super::derive::{expand, extract};
use super::error::Error;
use crossgrain::engine::{fill_random, wiping_stack};

/// Bytes of a secret, of a public key and of a share.
pub(super) const POINT_BYTES: usize = bech32::KEY_BYTES;

const RECIPIENT_PREFIX: &str = "age";
const IDENTITY_PREFIX: &str = "AGE-SECRET-KEY-";
const LABEL: &[u8] = b"crossgrain/x25519@v2";

/// A public key, to which files are encrypted. Its text begins with `age1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recipient([u8; POINT_BYTES]);

/// A secret key, which opens files encrypted to its [`Recipient`]. Its text begins with `AGE-SECRET-KEY-1`.
///
/// ```
/// use crossgrain_container::Identity;
///
/// let identity = Identity::generate()?;
/// let again: Identity = identity.to_text().parse()?;
/// assert_eq!(again.recipient(), identity.recipient());
/// assert!(identity.recipient().to_string().starts_with("age1"));
/// # Ok::<(), crossgrain_container::Error>(())
/// ```
pub struct Identity {
    /// Boxed, because a move would leave a copy.
    secret: Box<Zeroizing<[u8; POINT_BYTES]>>,
    recipient: Recipient,
}

impl Identity {
    /// A random identity.
    ///
    /// # Errors
    /// [`Error::Cipher`] if the system provides no random bytes.
    pub fn generate() -> Result<Self, Error> {
        let mut secret = Box::new(Zeroizing::new([0; POINT_BYTES]));
        fill_random(&mut secret[..])?;
        Ok(Self::of_secret(secret))
    }

    /// The identity with these uniformly random bytes.
    pub fn of_bytes(bytes: &[u8; POINT_BYTES]) -> Self {
        let mut secret = Box::new(Zeroizing::new([0; POINT_BYTES]));
        secret.copy_from_slice(bytes);
        Self::of_secret(secret)
    }

    fn of_secret(secret: Box<Zeroizing<[u8; POINT_BYTES]>>) -> Self {
        let recipient = Recipient(wiping_stack(|| x25519(**secret, X25519_BASEPOINT_BYTES)));
        Self { secret, recipient }
    }

    /// The public key.
    pub const fn recipient(&self) -> Recipient {
        self.recipient
    }

    /// The text, as an identity file has it.
    pub fn to_text(&self) -> Zeroizing<String> {
        wiping_stack(|| bech32::encode(IDENTITY_PREFIX, Letters::Upper, &self.secret))
    }

    /// Derives the key of a slot with this share.
    ///
    /// # Errors
    /// [`Error::BadHeader`] if the share is a point of low order: every identity would get the same key.
    pub(super) fn slot_key(&self, share: &[u8; POINT_BYTES], key: &mut [u8]) -> Result<(), Error> {
        let agreed = agree(&self.secret, share, (share, &self.recipient.0), key);
        if agreed { Ok(()) } else { Err(Error::BadHeader("a share is a point of low order".to_owned())) }
    }
}

impl Recipient {
    /// Derives a key that only the recipient can derive, too. Returns the share for this.
    pub(super) fn fresh_slot_key(&self, key: &mut [u8]) -> Result<[u8; POINT_BYTES], Error> {
        let ephemeral = Identity::generate()?;
        let share = ephemeral.recipient.0;
        let agreed = agree(&ephemeral.secret, &self.0, (&share, &self.0), key);
        if agreed { Ok(share) } else { Err(self.refused("it is a point of low order")) }
    }

    fn refused(&self, why: &'static str) -> Error {
        Error::BadRecipient { text: self.to_string(), why }
    }
}

/// Derives the key that both sides have. False if the secret has no part in it.
fn agree(
    secret: &[u8; POINT_BYTES],
    public: &[u8; POINT_BYTES],
    (share, recipient): (&[u8; POINT_BYTES], &[u8; POINT_BYTES]),
    key: &mut [u8],
) -> bool {
    wiping_stack(|| {
        let mut shared = Zeroizing::new(x25519(*secret, *public));
        let is_low_order = bool::from(shared.ct_eq(&[0; POINT_BYTES]));
        if !is_low_order {
            let extracted = extract([share, recipient], &*shared);
            expand(&extracted[..], &[LABEL], key);
        }
        shared.zeroize();
        !is_low_order
    })
}

/// Whether a point is below 2²⁵⁵ − 19, as every computed public key is.
fn is_canonical(point: &[u8; POINT_BYTES]) -> bool {
    let [low, middle @ .., high] = point;
    *high < 0x7f || (*high == 0x7f && (*low < 0xed || middle.iter().any(|&byte| byte != 0xff)))
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&bech32::encode(RECIPIENT_PREFIX, Letters::Lower, &self.0))
    }
}

impl FromStr for Recipient {
    type Err = Error;

    /// # Errors
    /// [`Error::BadRecipient`] for a text that is no public key of X25519, and for points of low order.
    fn from_str(text: &str) -> Result<Self, Error> {
        let is_identity = text
            .get(..IDENTITY_PREFIX.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(IDENTITY_PREFIX));
        if is_identity {
            let text = format!("{IDENTITY_PREFIX}…");
            return Err(Error::BadRecipient { text, why: "it is an identity, which is secret" });
        }
        let refused = |why| Error::BadRecipient { text: text.to_owned(), why };
        let point = bech32::decode(RECIPIENT_PREFIX, Letters::Lower, text);
        let recipient = Self(*point.ok_or_else(|| refused("it is mistyped or incomplete"))?);
        if !is_canonical(&recipient.0) {
            return Err(refused("no program makes such a key"));
        }
        // Finds points of low order here, and not only when a file is encrypted. Any secret does.
        if x25519([1; POINT_BYTES], recipient.0) == [0; POINT_BYTES] {
            return Err(refused("it is a point of low order"));
        }
        Ok(recipient)
    }
}

impl FromStr for Identity {
    type Err = Error;

    /// # Errors
    /// [`Error::BadIdentity`], which does not contain the text.
    fn from_str(text: &str) -> Result<Self, Error> {
        let secret = wiping_stack(|| bech32::decode(IDENTITY_PREFIX, Letters::Upper, text).map(Box::new));
        Ok(Self::of_secret(secret.ok_or(Error::BadIdentity)?))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity(secret of {})", self.recipient)
    }
}
