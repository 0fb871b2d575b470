//! The token types of x86-64, and facts about the CPU from CPUID.
//!
//! Only `detect` makes tokens, and it asks the CPU. A token therefore proves that its instructions exist.
//! `enter` runs a kernel that is compiled for these instructions. The target features of `enter` must be the
//! features in `NEEDS`.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{__cpuid, __m512i, CpuidResult};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::LazyLock;

use crate::arch::token::isa;
use crate::arch::{Features, Isa};

pub(in crate::arch) fn detect_features() -> Features {
    let has_avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi2");
    Features::found([
        (Features::SSE2, is_x86_feature_detected!("ssse3")),
        (Features::AVX2, is_x86_feature_detected!("avx2")),
        (Features::AVX512, has_avx512),
        (Features::AES, is_x86_feature_detected!("aes")),
        (Features::VAES, is_x86_feature_detected!("vaes")),
        (Features::GFNI, is_x86_feature_detected!("gfni")),
        (Features::VBMI, is_x86_feature_detected!("avx512vbmi")),
        (Features::CLMUL, is_x86_feature_detected!("pclmulqdq")),
        (Features::VCLMUL, is_x86_feature_detected!("vpclmulqdq")),
    ])
}

/// The result of CPUID for `leaf`.
fn ask(leaf: u32) -> CpuidResult {
    // Newer compilers declare it safe.
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 CPU has CPUID. Unknown leaves are harmless.
    unsafe {
        __cpuid(leaf)
    }
}

/// Whether streaming stores are the fastest way to write memory that no cache holds. Intel's CPUs fetch every
/// line that a store misses. On AMD's Zen 4 and Zen 5 streaming stores are slower (docs/mistakes.md,
/// "Streaming stores").
pub(crate) fn stores_best_past_caches() -> bool {
    is_intel()
}

/// Whether the CPU fetches the next lines by itself if a long job reads and writes the same ones. AMD's
/// CPUs do, and prefetch instructions hold them up (docs/mistakes.md, "Prefetching in place").
pub(crate) fn fetches_in_place() -> bool {
    !is_intel()
}

fn is_intel() -> bool {
    static IS_INTEL: LazyLock<bool> = LazyLock::new(|| ask(0).ebx.to_le_bytes() == *b"Genu");
    *IS_INTEL
}

/// Whether hashing one message in each 32-bit lane is faster than hashing them one after another.
pub fn hashes_best_in_lanes(features: Features) -> bool {
    features.contains(Features::AVX2)
}

/// Whether shuffles of 512-bit registers are cheap enough to load and store chains by squares of blocks. They
/// are on AMD from Zen 5 on (family 26), and on Intel from Sapphire Rapids on, which is the first with
/// AVX-512 FP16. Zen 4 executes them in halves.
pub(crate) fn shuffles_whole_registers() -> bool {
    static DOES: LazyLock<bool> = LazyLock::new(|| {
        let version = ask(1).eax;
        let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
        if is_intel() { is_x86_feature_detected!("avx512fp16") } else { family >= 26 }
    });
    *DOES
}

/// The CPU's brand string, followed by its family, model and stepping in hex as CPUID packs them. Many
/// virtual machines shorten the brand to the maker's name.
pub(in crate::arch) fn cpu_model() -> Option<String> {
    const BRAND: std::ops::RangeInclusive<u32> = 0x8000_0002..=0x8000_0004;
    let last = ask(0x8000_0000).eax;
    let words = BRAND.filter(|leaf| *leaf <= last).map(ask).flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx]);
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).filter(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&bytes);
    let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!("{name} ({:08x})", ask(1).eax).trim_start().to_owned())
}

/// Aligns the stack frame of the calling function to a cache line.
///
/// LLVM finds out too late that a kernel spills wide registers, and then it cannot align the frame. Spilled
/// words straddle cache lines and sometimes pages, depending on where the caller's frame ends. Kernels took
/// up to four times as long, in some processes and not in others. A local variable with this alignment makes
/// the requirement known in time.
#[inline(always)]
fn align_frame() {
    black_box(&MaybeUninit::<__m512i>::uninit());
}

isa!(
    /// 128-bit registers with byte shuffles (SSE2 and SSSE3).
    Sse2, "sse2", Features::SSE2, enter_sse2, "sse2,ssse3"
);
isa!(
    /// 256-bit registers.
    Avx2, "avx2", Features::AVX2, enter_avx2, "avx2"
);
isa!(
    /// 512-bit registers.
    Avx512, "avx512", Features::AVX512, enter_avx512, "avx512f,avx512bw,avx512dq,avx512vl,bmi2"
);
isa!(
    /// 512-bit registers with bit matrices on bytes.
    Gfni512, "gfni512", Features::AVX512.with(Features::GFNI), enter_gfni512,
    "avx512f,avx512bw,avx512dq,avx512vl,bmi2,gfni"
);
isa!(
    /// 256-bit registers with bit matrices and field products on bytes.
    Gfni256, "gfni256", Features::AVX2.with(Features::GFNI), enter_gfni256, "avx2,gfni"
);
isa!(
    /// 512-bit registers with byte tables in registers.
    Vbmi512, "vbmi512", Features::AVX512.with(Features::VBMI), enter_vbmi512,
    "avx512f,avx512bw,avx512dq,avx512vl,bmi2,avx512vbmi"
);
isa!(
    /// 512-bit registers with byte tables in registers, and bit matrices on bytes.
    GfniVbmi512, "gfnivbmi512", Features::AVX512.with(Features::GFNI).with(Features::VBMI), enter_gfnivbmi512,
    "avx512f,avx512bw,avx512dq,avx512vl,bmi2,avx512vbmi,gfni"
);
isa!(
    /// 128-bit registers with AES rounds and carry-less products.
    AesNi, "aesni", Features::SSE2.with(Features::AES_ROUNDS), enter_aesni, "sse2,ssse3,aes,pclmulqdq"
);
isa!(
    /// 256-bit registers with AES rounds and carry-less products.
    Vaes256, "vaes256", Features::AVX2.with(Features::VAES_ROUNDS), enter_vaes256,
    "avx2,aes,vaes,pclmulqdq,vpclmulqdq"
);
isa!(
    /// 512-bit registers with AES rounds and carry-less products.
    Vaes512, "vaes512", Features::AVX512.with(Features::VAES_ROUNDS), enter_vaes512,
    "avx512f,avx512bw,avx512dq,avx512vl,bmi2,aes,vaes,pclmulqdq,vpclmulqdq"
);
isa!(
    /// 128-bit registers with carry-less products.
    Clmul, "clmul", Features::SSE2.with(Features::CLMUL), enter_clmul, "sse2,ssse3,pclmulqdq"
);
isa!(
    /// 256-bit registers with carry-less products.
    Vclmul256, "vclmul256", Features::AVX2.with(Features::CLMUL).with(Features::VCLMUL), enter_vclmul256,
    "avx2,pclmulqdq,vpclmulqdq"
);
isa!(
    /// 512-bit registers with carry-less products.
    Vclmul512, "vclmul512", Features::AVX512.with(Features::CLMUL).with(Features::VCLMUL), enter_vclmul512,
    "avx512f,avx512bw,avx512dq,avx512vl,bmi2,pclmulqdq,vpclmulqdq"
);

/// CPUs with AES rounds on wider registers have those on one block, too, and those with AVX2 have SSSE3.
macro_rules! includes_aesni {
    ($($Wider:ident)*) => {
        $(impl From<$Wider> for AesNi {
            #[inline(always)]
            fn from(_: $Wider) -> Self {
                const { assert!($Wider::NEEDS.contains(Features::AES_ROUNDS)) };
                Self(())
            }
        })*
    };
}

includes_aesni!(Vaes256 Vaes512);
