//! The table of instruction sets, with the instructions that the kernels of each must use.

use super::parse::{Function, Instruction};

/// An instruction set, and the marks of its kernels.
#[derive(Debug)]
pub(crate) struct Isa {
    /// The end of the entry's name: `avx2` for `enter_avx2`.
    pub(crate) name: &'static str,
    /// Used by every kernel.
    pub(crate) every: Use,
    /// Used by at least one kernel: the instructions that distinguish the set.
    pub(crate) some: Use,
    /// Registers that no kernel may name.
    pub(crate) never: &'static [&'static str],
    /// Whether valgrind knows the instructions, so that `cargo xtask taint` runs these kernels.
    pub(crate) valgrind: bool,
}

/// An instruction whose mnemonic begins in one of these ways and that names this register. No mnemonic means
/// any instruction, no register any operand.
#[derive(Debug)]
pub(crate) struct Use {
    mnemonics: &'static [&'static str],
    register: &'static str,
}

/// Every instruction set of the library. An entry without a line here fails the check, and so does a line
/// without a kernel.
#[rustfmt::skip] // a table: one line a set
pub(crate) const ISAS: &[Isa] = &[
    Isa { name: "portable", every: ANYTHING,             some: ANYTHING,                       never: &["%ymm", "%zmm"], valgrind: true },
    Isa { name: "sse2",     every: Use::of(SSE, "%xmm"), some: ANYTHING,                       never: &["%ymm", "%zmm"], valgrind: true },
    Isa { name: "avx2",     every: Use::of(AVX, "%ymm"), some: ANYTHING,                       never: &["%zmm"], valgrind: true },
    Isa { name: "avx512",   every: Use::of(AVX, "%zmm"), some: Use::of(&["vpternlog"], "%zmm"), never: &[], valgrind: false },
    Isa { name: "vbmi512",  every: Use::of(AVX, "%zmm"), some: Use::of(&["vpermi2b", "vpermt2b"], "%zmm"), never: &[], valgrind: false },
    Isa { name: "gfni256",  every: Use::of(AVX, "%ymm"), some: Use::of(&["vgf2p8"], "%ymm"),    never: &["%zmm"], valgrind: false },
    Isa { name: "gfni512",  every: Use::of(AVX, "%zmm"), some: Use::of(&["vgf2p8"], "%zmm"),    never: &[], valgrind: false },
    Isa { name: "gfnivbmi512", every: Use::of(AVX, "%zmm"), some: Use::of(&["vpermi2b", "vpermt2b"], "%zmm"), never: &[], valgrind: false },
    Isa { name: "aesni",    every: Use::of(AES, "%xmm"), some: Use::of(AESENC, "%xmm"),         never: &["%ymm", "%zmm"], valgrind: true },
    Isa { name: "vaes256",  every: Use::of(AES, "%ymm"), some: Use::of(AESENC, "%ymm"),         never: &["%zmm"], valgrind: false },
    Isa { name: "vaes512",  every: Use::of(AES, "%zmm"), some: Use::of(AESENC, "%zmm"),         never: &[], valgrind: false },
    Isa { name: "clmul",    every: Use::of(CLMUL, "%xmm"), some: ANYTHING,                      never: &["%ymm", "%zmm"], valgrind: true },
    Isa { name: "vclmul256", every: Use::of(CLMUL, "%ymm"), some: ANYTHING,                     never: &["%zmm"], valgrind: false },
    Isa { name: "vclmul512", every: Use::of(CLMUL, "%zmm"), some: ANYTHING,                     never: &[], valgrind: false },
];

/// The same for 64-bit ARM.
#[rustfmt::skip] // a table: one line a set
pub(crate) const ARM_ISAS: &[Isa] = &[
    Isa { name: "portable", every: ANYTHING,               some: ANYTHING,                      never: &[], valgrind: false },
    Isa { name: "neon",     every: Use::of(NEON, ""),      some: Use::of(&["tbl"], ".16b"),     never: &[], valgrind: false },
    Isa { name: "neonaes",  every: Use::of(ARM_AES, ""),   some: Use::of(&["aese"], ".16b"),    never: &[], valgrind: false },
    Isa { name: "neonsha3", every: Use::of(NEON, ""),      some: Use::of(&["eor3"], ".16b"),    never: &[], valgrind: false },
];

/// Logic, shifts and shuffles of NEON. Moves are not listed, because they do not show that a kernel computes.
const NEON: &[&str] = &[
    "eor", "and", "orr", "bic", "bsl", "bit", "bif", "shl", "ushr", "sri", "sli", "zip", "trn", "uzp", "tbl",
    "rev",
];

/// AES instructions and carry-less products. Kernels for keys also transpose words.
const ARM_AES: &[&str] = &["aes", "pmull", "zip", "trn", "uzp"];

const ANYTHING: Use = Use::of(&[], "");

/// Logic, shifts and shuffles of SSE. Moves are not listed, because they do not show that a kernel computes.
const SSE: &[&str] =
    &["pxor", "pand", "por", "xorps", "andps", "andnps", "orps", "psll", "psrl", "pshuf", "punpck", "unpck"];

/// The same for AVX2 and AVX-512, with the three-input gate and the affine map.
#[rustfmt::skip]
const AVX: &[&str] = &[
    "vpxor", "vpand", "vpor", "vxorp", "vandp", "vandnp", "vorp", "vpternlog", "vpsll", "vpsrl",
    "vprol", "vpror", "vpshuf", "vpunpck", "vunpck", "vperm", "vpblend", "vgf2p8",
];

/// AES instructions, and those that encrypt. Kernels for keys also transpose words.
const AES: &[&str] = &["aes", "vaes", "punpck", "vpunpck", "unpck", "vunpck"];
const AESENC: &[&str] = &["aesenc", "vaesenc"];

/// Carry-less products.
const CLMUL: &[&str] = &["pclmul", "vpclmul"];

impl Use {
    const fn of(mnemonics: &'static [&'static str], register: &'static str) -> Self {
        Self { mnemonics, register }
    }

    /// Whether the function has a matching instruction.
    pub(crate) fn is_in(&self, function: &Function<'_>) -> bool {
        function.body.iter().any(|instruction| self.is(instruction))
    }

    fn is(&self, instruction: &Instruction<'_>) -> bool {
        let begins = |start: &&str| instruction.mnemonic.starts_with(*start);
        let does = self.mnemonics.is_empty() || self.mnemonics.iter().any(begins);
        does && instruction.names(self.register)
    }
}
