//! The table of instruction sets: what the kernels of each must be seen to use.

use super::parse::{Function, Instruction};

/// An instruction set, and how its kernels are recognised.
#[derive(Debug)]
pub(crate) struct Isa {
    /// The end of the entry's name: `avx2` for `enter_avx2`.
    pub(crate) name: &'static str,
    /// What every kernel uses.
    pub(crate) every: Use,
    /// What at least one kernel uses: the instructions that the set is there for.
    pub(crate) some: Use,
    /// Registers that no kernel names.
    pub(crate) never: &'static [&'static str],
    /// Whether valgrind knows the instructions, so that `cargo xtask taint` runs these kernels.
    pub(crate) valgrind: bool,
}

/// An instruction whose mnemonic begins in one of these ways and that names such a register.
/// No mnemonic means any instruction, no register any operand.
#[derive(Debug)]
pub(crate) struct Use {
    mnemonics: &'static [&'static str],
    register: &'static str,
}

/// Every instruction set of the library. An entry that has no line here fails the check, and so does
/// a line without a kernel.
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

const ANYTHING: Use = Use::of(&[], "");

/// Logic, shifts and shuffles of SSE: what a kernel does besides moving data about.
const SSE: &[&str] =
    &["pxor", "pand", "por", "xorps", "andps", "andnps", "orps", "psll", "psrl", "pshuf", "punpck", "unpck"];

/// The same of AVX2 and AVX-512, with the three-input gate and the affine map.
#[rustfmt::skip]
const AVX: &[&str] = &[
    "vpxor", "vpand", "vpor", "vxorp", "vandp", "vandnp", "vorp", "vpternlog", "vpsll", "vpsrl",
    "vprol", "vpror", "vpshuf", "vpunpck", "vunpck", "vperm", "vpblend", "vgf2p8",
];

/// The AES instructions, and those that encrypt; words of keys are also transposed.
const AES: &[&str] = &["aes", "vaes", "punpck", "vpunpck", "unpck", "vunpck"];
const AESENC: &[&str] = &["aesenc", "vaesenc"];

/// Carry-less products.
const CLMUL: &[&str] = &["pclmul", "vpclmul"];

impl Use {
    const fn of(mnemonics: &'static [&'static str], register: &'static str) -> Self {
        Self { mnemonics, register }
    }

    /// Whether the function has such an instruction.
    pub(crate) fn is_in(&self, function: &Function<'_>) -> bool {
        function.body.iter().any(|instruction| self.is(instruction))
    }

    fn is(&self, instruction: &Instruction<'_>) -> bool {
        let begins = |start: &&str| instruction.mnemonic.starts_with(*start);
        let does = self.mnemonics.is_empty() || self.mnemonics.iter().any(begins);
        does && instruction.names(self.register)
    }
}
