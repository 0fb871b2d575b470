//! The computations of modes that kernels can do together with the cipher.
//!
//! Without a fused kernel, a mode runs the cipher and then a **pass** of its own: GHASH over the ciphertext,
//! or the checksum of the plaintext. A fused kernel does both at once. The planner compares the two: a fused
//! kernel leads from source to sink, and a pass leads from the cipher's output to the sink.
//!
//! A mode may also add blocks around the cipher, such as OCB's offsets. Without a fused kernel, the plan begins
//! with a **frame**. Its cost is that of adding the blocks tile by tile. Kernels from bytes to bytes add them in
//! registers and take less.
//!
//! The folder of a mode defines the trait of its kernels. The folder of a cipher implements it and adds the
//! rows.

use std::fmt;

#[cfg(feature = "own-keys")]
use super::own_keys::Keyed;
use crate::arch::Wiped;
use crate::mode::chained::chain::ChainKernel;
use crate::mode::gcm::kernel::GcmKernel;
use crate::mode::ocb::kernel::OcbKernel;

/// A computation of modes that fused kernels serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fused {
    /// GCM: CTR and GHASH. Its pass is GHASH.
    Gcm,
    /// OCB: masked blocks and the checksum of the plaintext. Its pass is the checksum, its frame the masks.
    Ocb,
    /// CBC and CFB encryption, OFB and CMAC: chains, of which many run side by side. Its pass gathers one
    /// block of each chain, and adds the blocks that the mode adds.
    Chains,
    /// Records that each have their own key: the schedules of many keys side by side, and blocks under each.
    /// Its pass binds the cipher to one key after another. Costs are those of
    /// [`LANES_MAX`](super::own_keys::LANES_MAX) records together.
    #[cfg(feature = "own-keys")]
    OwnKeys,
}

impl Fused {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Gcm,
        Self::Ocb,
        Self::Chains,
        #[cfg(feature = "own-keys")]
        Self::OwnKeys,
    ];

    /// The name of the job and, after the cipher's name, of its kernels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gcm => "gcm",
            Self::Ocb => "ocb",
            Self::Chains => "chains",
            #[cfg(feature = "own-keys")]
            Self::OwnKeys => "own-keys",
        }
    }

    /// The name of the pass.
    pub const fn pass(self) -> &'static str {
        match self {
            Self::Gcm => "ghash",
            Self::Ocb => "ocb-checksum",
            Self::Chains => "chain-blocks",
            #[cfg(feature = "own-keys")]
            Self::OwnKeys => "key-after-key",
        }
    }

    /// The name of the frame, if the mode adds blocks around the cipher.
    pub const fn frame(self) -> Option<&'static str> {
        match self {
            Self::Ocb => Some("ocb-masks"),
            _ => None,
        }
    }

    /// The share of a kernel's cost that grows with the cipher's rounds. The rest of the mode takes the other
    /// execution ports, or the memory, during the rounds.
    pub(crate) const fn share_of_rounds(self) -> f64 {
        match self {
            Self::Gcm => 0.2,
            Self::Chains => 0.3,
            Self::Ocb => 0.8,
            #[cfg(feature = "own-keys")]
            Self::OwnKeys => 1.0,
        }
    }

    /// Nanoseconds that two passes add to the costs of their rows for each message, as measured on Zen 4: calls
    /// and, in GCM, the hash of the lengths and the mask of the tag. Costs of passes include them.
    pub(crate) const fn calls_ns(self) -> f64 {
        match self {
            Self::Gcm => 90.0,
            _ => 0.0,
        }
    }

    /// Whether the cipher encrypts counters.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Gcm)
    }

    /// Whether the cipher also runs in the direction of decryption.
    pub const fn runs_both_ways(self) -> bool {
        match self {
            Self::Ocb => true,
            #[cfg(feature = "own-keys")]
            Self::OwnKeys => true,
            Self::Gcm | Self::Chains => false,
        }
    }
}

/// A fused kernel that is bound to a key.
pub enum FusedPart {
    /// For [`Fused::Gcm`].
    Gcm(Wiped<dyn GcmKernel>),
    /// For [`Fused::Ocb`].
    Ocb(Wiped<dyn OcbKernel>),
    /// For [`Fused::Chains`].
    Chains(Wiped<dyn ChainKernel>),
    /// For [`Fused::OwnKeys`]. It is bound to no key, but to a cipher.
    #[cfg(feature = "own-keys")]
    OwnKeys(Wiped<dyn Keyed>),
}

impl fmt::Debug for FusedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Gcm(_) => Fused::Gcm,
            Self::Ocb(_) => Fused::Ocb,
            Self::Chains(_) => Fused::Chains,
            #[cfg(feature = "own-keys")]
            Self::OwnKeys(_) => Fused::OwnKeys,
        };
        write!(f, "FusedPart({}, secret)", name.name())
    }
}
