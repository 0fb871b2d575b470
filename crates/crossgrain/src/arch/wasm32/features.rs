//! The instruction-set extensions of 32-bit WebAssembly, their names, and the caps on them.

use crate::arch::Features;

impl Features {
    /// simd128: 128-bit registers. A program has them if it is compiled with `-C target-feature=+simd128`.
    pub const SIMD128: Self = Self::numbered(0);
    /// AES instructions. WebAssembly has none.
    pub const AES: Self = Self::numbered(1);
}

/// Each extension with its name.
pub const NAMES: [(Features, &str); 2] = [(Features::SIMD128, "simd128"), (Features::AES, "aes")];

/// The first word of a cap, and the extensions that it allows.
pub(crate) const CAP_BASES: [(&str, Features); 2] =
    [("portable", Features::NONE), ("simd128", Features::SIMD128.with(Features::AES))];

/// Further words of a cap, and the extensions that they remove.
pub(crate) const CAP_REMOVALS: [(&str, Features); 1] = [("aes", Features::AES)];

/// Caps that together switch off every extension, the last of them none. Tests and benchmarks run under each.
pub const CAPS: [&str; 2] = ["portable", "simd128"];

/// A cap without AES instructions.
pub const CAP_WITHOUT_AES: &str = "simd128-aes";

/// Further plans that `crossgrain bench` times: their names in its ids, and their caps.
pub const BENCHMARKED_CAPS: [(&str, &str); 0] = [];
