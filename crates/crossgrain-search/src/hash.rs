//! The hashes of key derivations, by name.
//!
//! SHA-256 and SHA-512 are always there. The others come with the feature `hashes`, which the formats of files
//! enable.

#[cfg(feature = "hashes")]
use hmac::SimpleHmac;
use pbkdf2::pbkdf2_hmac;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512};
use zeroize::Zeroizing;

/// A hash of a key derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// MD5, for `openssl enc` before version 1.1.
    #[cfg(feature = "hashes")]
    Md5,
    /// SHA-1.
    #[cfg(feature = "hashes")]
    Sha1,
    /// RIPEMD-160.
    #[cfg(feature = "hashes")]
    Ripemd160,
    /// Whirlpool.
    #[cfg(feature = "hashes")]
    Whirlpool,
    /// Streebog with 512 bits.
    #[cfg(feature = "hashes")]
    Streebog,
    /// BLAKE2s with 256 bits.
    #[cfg(feature = "hashes")]
    Blake2s,
}

/// `$value` with `$type` as the RustCrypto type of a hash.
macro_rules! with_type {
    ($hash:expr, $type:ident => $value:expr) => {
        with_type!(@ $hash, $type, $value;
            [Sha256: Sha256] [Sha512: Sha512] hashes
            [Md5: md5::Md5] [Sha1: sha1::Sha1] [Ripemd160: ripemd::Ripemd160]
            [Whirlpool: whirlpool::Whirlpool] [Streebog: streebog::Streebog512] [Blake2s: blake2::Blake2s256])
    };
    (@ $hash:expr, $type:ident, $value:expr; $([$name:ident: $is:ty])+ hashes $([$more:ident: $of:ty])+) => {
        match $hash {
            $(Hash::$name => {
                type $type = $is;
                $value
            })+
            $(#[cfg(feature = "hashes")]
            Hash::$more => {
                type $type = $of;
                $value
            })+
        }
    };
}

impl Hash {
    /// All hashes of this build.
    pub const ALL: &[Self] = &[
        Self::Sha256,
        Self::Sha512,
        #[cfg(feature = "hashes")]
        Self::Md5,
        #[cfg(feature = "hashes")]
        Self::Sha1,
        #[cfg(feature = "hashes")]
        Self::Ripemd160,
        #[cfg(feature = "hashes")]
        Self::Whirlpool,
        #[cfg(feature = "hashes")]
        Self::Streebog,
        #[cfg(feature = "hashes")]
        Self::Blake2s,
    ];

    /// Its name in lower case, for example `sha256`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
            #[cfg(feature = "hashes")]
            Self::Md5 => "md5",
            #[cfg(feature = "hashes")]
            Self::Sha1 => "sha1",
            #[cfg(feature = "hashes")]
            Self::Ripemd160 => "ripemd160",
            #[cfg(feature = "hashes")]
            Self::Whirlpool => "whirlpool",
            #[cfg(feature = "hashes")]
            Self::Streebog => "streebog",
            #[cfg(feature = "hashes")]
            Self::Blake2s => "blake2s",
        }
    }

    /// The hash of this name. `None` if this build has none.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|hash| hash.name() == name)
    }

    /// The length of a digest.
    #[cfg(feature = "luks")]
    pub(super) fn digest_bytes(self) -> usize {
        with_type!(self, H => <H as Digest>::output_size())
    }

    /// The digest of the parts, one after the other.
    pub(super) fn digest(self, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        with_type!(self, H => {
            let mut hash = H::new();
            parts.iter().for_each(|part| hash.update(part));
            let mut digest = hash.finalize();
            let kept = Zeroizing::new(digest.to_vec());
            zeroize::Zeroize::zeroize(digest.as_mut_slice());
            kept
        })
    }

    /// PBKDF2 with HMAC of this hash.
    pub(super) fn pbkdf2(self, password: &[u8], salt: &[u8], iterations: u32, key: &mut [u8]) {
        #[cfg(feature = "hashes")]
        if self == Self::Blake2s {
            // HMAC takes keys of any length, so this does not fail.
            let _ = pbkdf2::pbkdf2::<SimpleHmac<blake2::Blake2s256>>(password, salt, iterations, key);
            return;
        }
        let pbkdf2 = match self {
            Self::Sha512 => pbkdf2_hmac::<Sha512>,
            #[cfg(feature = "hashes")]
            Self::Md5 => pbkdf2_hmac::<md5::Md5>,
            #[cfg(feature = "hashes")]
            Self::Sha1 => pbkdf2_hmac::<sha1::Sha1>,
            #[cfg(feature = "hashes")]
            Self::Ripemd160 => pbkdf2_hmac::<ripemd::Ripemd160>,
            #[cfg(feature = "hashes")]
            Self::Whirlpool => pbkdf2_hmac::<whirlpool::Whirlpool>,
            #[cfg(feature = "hashes")]
            Self::Streebog => pbkdf2_hmac::<streebog::Streebog512>,
            _ => pbkdf2_hmac::<Sha256>,
        };
        pbkdf2(password, salt, iterations, key);
    }
}
