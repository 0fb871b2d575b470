//! The instruction-set extensions of x86-64, their names, and the caps on them.

use crate::arch::Features;

impl Features {
    /// SSE2 and SSSE3: 128-bit registers and their byte shuffle.
    pub const SSE2: Self = Self::numbered(0);
    /// AVX2: 256-bit registers.
    pub const AVX2: Self = Self::numbered(1);
    /// AVX-512 F, BW, DQ and VL: 512-bit registers. It includes BMI2, for byte masks. Every CPU with AVX-512
    /// has BMI2.
    pub const AVX512: Self = Self::numbered(2);
    /// AES-NI: one AES round on one block. Kernels with AES instructions of any width need it.
    pub const AES: Self = Self::numbered(3);
    /// VAES: one AES round on every block of a wider register.
    pub const VAES: Self = Self::numbered(4);
    /// GFNI: 8 × 8 bit matrices on bytes.
    pub const GFNI: Self = Self::numbered(5);
    /// AVX-512 VBMI: look-ups of bytes in tables held in registers.
    pub const VBMI: Self = Self::numbered(6);
    /// PCLMULQDQ: carry-less products in 128-bit registers. Kernels with AES instructions also need it, for
    /// the tweaks of XTS.
    pub const CLMUL: Self = Self::numbered(7);
    /// VPCLMULQDQ: carry-less products in each 128-bit lane of a wider register.
    pub const VCLMUL: Self = Self::numbered(8);

    /// AES rounds on 128-bit registers, and the carry-less products that those kernels also use.
    pub(super) const AES_ROUNDS: Self = Self::AES.with(Self::CLMUL);
    /// The same on wider registers.
    pub(super) const VAES_ROUNDS: Self = Self::AES_ROUNDS.with(Self::VAES).with(Self::VCLMUL);
}

/// Each extension with its name.
pub const NAMES: [(Features, &str); 9] = [
    (Features::SSE2, "sse2"),
    (Features::AVX2, "avx2"),
    (Features::AVX512, "avx512"),
    (Features::AES, "aes"),
    (Features::VAES, "vaes"),
    (Features::GFNI, "gfni"),
    (Features::VBMI, "vbmi"),
    (Features::CLMUL, "clmul"),
    (Features::VCLMUL, "vclmul"),
];

const UP_TO_SSE2: Features = Features::SSE2.with(Features::AES).with(Features::GFNI).with(Features::CLMUL);
const UP_TO_AVX2: Features = UP_TO_SSE2.with(Features::AVX2).with(Features::VAES).with(Features::VCLMUL);

/// The first word of a cap, and the extensions that it allows.
pub(crate) const CAP_BASES: [(&str, Features); 4] = [
    ("portable", Features::NONE),
    ("sse2", UP_TO_SSE2),
    ("avx2", UP_TO_AVX2),
    ("avx512", UP_TO_AVX2.with(Features::AVX512).with(Features::VBMI)),
];

/// Further words of a cap, and the extensions that they remove.
pub(crate) const CAP_REMOVALS: [(&str, Features); 6] = [
    ("aes", Features::AES.with(Features::VAES)),
    ("vaes", Features::VAES),
    ("gfni", Features::GFNI),
    ("vbmi", Features::VBMI),
    ("clmul", Features::CLMUL.with(Features::VCLMUL)),
    ("vclmul", Features::VCLMUL),
];

/// Caps that together switch off every extension, the last of them none. Tests and benchmarks run under each.
pub const CAPS: [&str; 10] = [
    "portable",
    "sse2-aes-gfni",
    "sse2",
    "avx2-aes-gfni",
    "avx2-aes",
    "avx2",
    "avx512-aes-gfni-vbmi",
    "avx512-aes-gfni",
    "avx512-aes",
    "avx512",
];

/// A cap without AES instructions.
pub const CAP_WITHOUT_AES: &str = "avx2-aes";

/// Further plans that `crossgrain bench` times: their names in its ids, and their caps.
pub const BENCHMARKED_CAPS: [(&str, &str); 5] = [
    ("without-gfni", "avx512-gfni"),
    ("avx2", "avx2-aes-gfni"),
    ("sse2", "sse2-aes-gfni"),
    ("without-aes-gfni", "avx512-aes-gfni"),
    ("avx2-without-aes", "avx2-aes-gfni"),
];
