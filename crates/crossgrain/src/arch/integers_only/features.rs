//! A machine whose instruction-set extensions crossgrain does not know. It has the names that exist on every
//! machine.

use crate::arch::Features;

impl Features {
    /// AES instructions. This machine has none that crossgrain knows.
    pub const AES: Self = Self::numbered(0);
}

/// Each extension with its name.
pub const NAMES: [(Features, &str); 1] = [(Features::AES, "aes")];

/// The first word of a cap, and the extensions that it allows.
pub(crate) const CAP_BASES: [(&str, Features); 1] = [("portable", Features::NONE)];

/// Further words of a cap, and the extensions that they remove.
pub(crate) const CAP_REMOVALS: [(&str, Features); 1] = [("aes", Features::AES)];

/// Caps that together switch off every extension, the last of them none. Tests and benchmarks run under each.
pub const CAPS: [&str; 1] = ["portable"];

/// A cap without AES instructions.
pub const CAP_WITHOUT_AES: &str = "portable";

/// Further plans that `crossgrain bench` times: their names in its ids, and their caps.
pub const BENCHMARKED_CAPS: [(&str, &str); 0] = [];
