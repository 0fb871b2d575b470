//! The instruction-set extensions of 64-bit ARM, their names, and the caps on them.

use crate::arch::Features;

impl Features {
    /// NEON: 128-bit registers. Nearly every 64-bit ARM CPU has it.
    pub const NEON: Self = Self::numbered(0);
    /// FEAT_AES and FEAT_PMULL: half an AES round on one block, and carry-less products.
    pub const AES: Self = Self::numbered(1);
    /// FEAT_SHA3: XOR of three words, and two gates more of three inputs.
    pub const SHA3: Self = Self::numbered(2);
}

/// Each extension with its name.
pub const NAMES: [(Features, &str); 3] =
    [(Features::NEON, "neon"), (Features::AES, "aes"), (Features::SHA3, "sha3")];

/// The first word of a cap, and the extensions that it allows.
pub(crate) const CAP_BASES: [(&str, Features); 2] =
    [("portable", Features::NONE), ("neon", Features::NEON.with(Features::AES).with(Features::SHA3))];

/// Further words of a cap, and the extensions that they remove.
pub(crate) const CAP_REMOVALS: [(&str, Features); 2] = [("aes", Features::AES), ("sha3", Features::SHA3)];

/// Caps that together switch off every extension, the last of them none. Tests and benchmarks run under each.
pub const CAPS: [&str; 5] = ["portable", "neon-aes-sha3", "neon-aes", "neon-sha3", "neon"];

/// A cap without AES instructions.
pub const CAP_WITHOUT_AES: &str = "neon-aes";

/// Further plans that `crossgrain bench` times: their names in its ids, and their caps.
pub const BENCHMARKED_CAPS: [(&str, &str); 2] =
    [("without-sha3", "neon-sha3"), ("without-aes-sha3", "neon-aes-sha3")];
