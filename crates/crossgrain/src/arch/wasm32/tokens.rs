//! The token type of 32-bit WebAssembly, and facts about the machine.
//!
//! WebAssembly has no detection at run time: an engine refuses a module with instructions that it does not
//! know. `build.rs` chooses this folder only if the whole program is compiled with simd128, so the token is
//! always there.

use crate::arch::Features;
use crate::arch::token::isa;

pub(in crate::arch) const fn detect_features() -> Features {
    Features::SIMD128
}

/// Whether streaming stores are the fastest way to write memory that no cache holds. WebAssembly has none.
pub(crate) const fn stores_best_past_caches() -> bool {
    false
}

/// Whether the CPU fetches the next lines by itself. WebAssembly has no other prefetch.
pub(crate) const fn fetches_in_place() -> bool {
    true
}

/// Whether the CPU shuffles several blocks of a register at a time. A register holds one.
pub(crate) const fn shuffles_whole_registers() -> bool {
    false
}

/// Whether hashing one message in each 32-bit lane is faster than hashing them one after another.
/// WebAssembly has no instructions for hashes, so it is.
pub const fn hashes_best_in_lanes(features: Features) -> bool {
    features.contains(Features::SIMD128)
}

/// A program cannot ask for the CPU.
pub(in crate::arch) fn cpu_model() -> Option<String> {
    None
}

/// Nothing: engines align registers that they store by themselves.
#[inline(always)]
const fn align_frame() {}

isa!(
    /// 128-bit registers.
    Simd128, "simd128", Features::SIMD128, enter_simd128, "simd128"
);

impl Simd128 {
    /// The token. This folder is compiled only into programs that have the instructions.
    #[inline(always)]
    pub(super) const fn here() -> Self {
        Self(())
    }
}
