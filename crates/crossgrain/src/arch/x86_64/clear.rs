//! Clears the registers of x86-64 after work with a key.
//!
//! A kernel returns with round keys in registers. They stay there until other code needs the registers. A
//! signal makes the operating system copy all registers to the stack, and a core dump contains them.
//!
//! [`clear_registers`] clears every vector and mask register that the CPU has, whatever instructions the
//! caller was allowed: `memcpy` of the C library chooses its registers by the CPU. It also clears the general
//! registers that a function need not preserve. The other general registers hold values of its callers again
//! by the time it runs.
//!
//! An instruction of AVX or AVX-512 that writes 128 bits clears the rest of the register. XOR of a register
//! with itself executes at no cost beyond its place in the instruction stream. `vzeroall` takes longer
//! (docs/mistakes.md).

use std::arch::{asm, is_x86_feature_detected};
use std::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const SSE2: u8 = 1;
const AVX: u8 = 2;
const AVX512: u8 = 3;

/// The widest registers that the CPU has.
static WIDEST: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Detects the widest registers and caches the result.
#[cold]
fn detect_widest() -> u8 {
    let widest = match (is_x86_feature_detected!("avx512bw"), is_x86_feature_detected!("avx")) {
        (true, _) => AVX512,
        (_, true) => AVX,
        _ => SSE2,
    };
    WIDEST.store(widest, Ordering::Relaxed);
    widest
}

/// An instruction with a destination and two sources, all the same register, for each register.
macro_rules! each_cleared {
    ($instruction:literal, $($register:literal)*) => {
        concat!($($instruction, " ", $register, ", ", $register, ", ", $register, "\n"),*)
    };
}

/// The same for instructions with one source, which is also the destination.
macro_rules! each_xored {
    ($instruction:literal, $($register:literal)*) => {
        concat!($($instruction, " ", $register, ", ", $register, "\n"),*)
    };
}

/// Assembly that clears vector registers by `$lines`, then general registers.
macro_rules! clear {
    ($($lines:expr),*) => {
        asm!(
            $($lines,)*
            each_xored!("xor", "eax" "ecx" "edx" "esi" "edi" "r8d" "r9d" "r10d" "r11d"),
            clobber_abi("C"),
            // Functions preserve these on Windows.
            out("rsi") _, out("rdi") _,
            out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _,
            out("xmm11") _, out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(nomem, nostack),
        )
    };
}

/// Clears all registers that may hold secrets when a function returns.
#[inline(never)]
pub(crate) fn clear_registers() {
    // Miri knows no assembly, and has no registers.
    if cfg!(miri) {
        return;
    }
    let widest = match WIDEST.load(Ordering::Relaxed) {
        UNKNOWN => detect_widest(),
        widest => widest,
    };
    // SAFETY: the CPU has the instructions, and the clobbers name every register that they write to.
    unsafe {
        match widest {
            AVX512 => clear!(
                each_cleared!("vpxord", "xmm16" "xmm17" "xmm18" "xmm19" "xmm20" "xmm21" "xmm22" "xmm23"),
                each_cleared!("vpxord", "xmm24" "xmm25" "xmm26" "xmm27" "xmm28" "xmm29" "xmm30" "xmm31"),
                each_cleared!("kxorq", "k0" "k1" "k2" "k3" "k4" "k5" "k6" "k7"),
                each_cleared!("vpxor", "xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7"),
                each_cleared!("vpxor", "xmm8" "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm14" "xmm15")
            ),
            AVX => clear!(
                each_cleared!("vpxor", "xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7"),
                each_cleared!("vpxor", "xmm8" "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm14" "xmm15")
            ),
            _ => clear!(
                each_xored!("pxor", "xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7"),
                each_xored!("pxor", "xmm8" "xmm9" "xmm10" "xmm11" "xmm12" "xmm13" "xmm14" "xmm15")
            ),
        }
    }
}
