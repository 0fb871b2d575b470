//! The instructions that the CPU has, and the cap on those that may be used.

use std::fmt;
use std::ops::{BitAnd, BitOr};
use std::sync::LazyLock;

/// The environment variable that caps the instructions in use: `avx2`, `avx512-aes`, …
pub const CAP_VARIABLE: &str = "CROSSGRAIN_ISA";

/// A set of instruction-set extensions.
///
/// A cap such as `avx2` or `avx512-aes-gfni` parses into a set. `avx2` means everything up to AVX2, AES
/// instructions included. `avx512-aes-gfni` means AVX-512 without AES instructions and without GFNI.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Features(u16);

impl Features {
    /// No extension: only the language's integers.
    pub const NONE: Self = Self(0);
    /// SSE2 and SSSE3: 128-bit registers and their byte shuffle.
    pub const SSE2: Self = Self(1);
    /// AVX2: 256-bit registers.
    pub const AVX2: Self = Self(1 << 1);
    /// AVX-512 F, BW, DQ and VL: 512-bit registers. It includes BMI2, for byte masks. Every CPU with AVX-512
    /// has BMI2.
    pub const AVX512: Self = Self(1 << 2);
    /// AES-NI: one AES round on one block.
    pub const AES: Self = Self(1 << 3);
    /// VAES: one AES round on every block of a wider register.
    pub const VAES: Self = Self(1 << 4);
    /// GFNI: 8 × 8 bit matrices on bytes.
    pub const GFNI: Self = Self(1 << 5);
    /// AVX-512 VBMI: look-ups of bytes in tables held in registers.
    pub const VBMI: Self = Self(1 << 6);
    /// PCLMULQDQ: carry-less products in 128-bit registers. Kernels with AES instructions also need it, for
    /// the tweaks of XTS.
    pub const CLMUL: Self = Self(1 << 7);
    /// VPCLMULQDQ: carry-less products in each 128-bit lane of a wider register.
    pub const VCLMUL: Self = Self(1 << 8);

    /// AES rounds on 128-bit registers, and the carry-less products that those kernels also use.
    pub(super) const AES_ROUNDS: Self = Self::AES.with(Self::CLMUL);
    /// The same on wider registers.
    pub(super) const VAES_ROUNDS: Self = Self::AES_ROUNDS.with(Self::VAES).with(Self::VCLMUL);

    const NAMES: [(Self, &'static str); 9] = [
        (Self::SSE2, "sse2"),
        (Self::AVX2, "avx2"),
        (Self::AVX512, "avx512"),
        (Self::AES, "aes"),
        (Self::VAES, "vaes"),
        (Self::GFNI, "gfni"),
        (Self::VBMI, "vbmi"),
        (Self::CLMUL, "clmul"),
        (Self::VCLMUL, "vclmul"),
    ];

    /// The union of two sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The extensions of `self` that are not in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether `self` contains all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The extensions that this CPU has, regardless of the cap.
    pub fn of_cpu() -> Self {
        static FOUND: LazyLock<Features> = LazyLock::new(super::machine::detect_features);
        *FOUND
    }
}

/// The name that the CPU reports, or the architecture's name if it reports none.
pub fn cpu_model() -> String {
    super::machine::cpu_model().unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitAnd for Features {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Self::NAMES
            .into_iter()
            .filter(|(feature, _)| self.contains(*feature))
            .map(|(_, name)| name)
            .collect();
        f.pad(&if names.is_empty() { "portable".to_owned() } else { names.join(" ") })
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Features({self})")
    }
}
