//! Clears the registers of 64-bit ARM after work with a key.
//!
//! A kernel returns with round keys in registers. They stay there until other code needs the registers. A
//! signal makes the operating system copy all registers to the stack, and a core dump contains them.
//!
//! [`clear_registers`] clears the registers that a function need not preserve. Of `v8` to `v15` a function
//! preserves the low halves: it loads them from the stack before it returns, and such a load clears the high
//! half. An instruction that writes 128 bits also clears the rest of an SVE register.

use std::arch::asm;

/// Clears all registers that may hold secrets when a function returns.
#[inline(never)]
pub(crate) fn clear_registers() {
    // Miri knows no assembly, and has no registers.
    if cfg!(miri) {
        return;
    }
    // SAFETY: every CPU that Rust's aarch64 targets admit has these instructions. The clobbers name all
    // registers that they write.
    unsafe {
        asm!(
            "movi v0.2d, #0",
            "movi v1.2d, #0",
            "movi v2.2d, #0",
            "movi v3.2d, #0",
            "movi v4.2d, #0",
            "movi v5.2d, #0",
            "movi v6.2d, #0",
            "movi v7.2d, #0",
            "movi v16.2d, #0",
            "movi v17.2d, #0",
            "movi v18.2d, #0",
            "movi v19.2d, #0",
            "movi v20.2d, #0",
            "movi v21.2d, #0",
            "movi v22.2d, #0",
            "movi v23.2d, #0",
            "movi v24.2d, #0",
            "movi v25.2d, #0",
            "movi v26.2d, #0",
            "movi v27.2d, #0",
            "movi v28.2d, #0",
            "movi v29.2d, #0",
            "movi v30.2d, #0",
            "movi v31.2d, #0",
            "mov x0, #0",
            "mov x1, #0",
            "mov x2, #0",
            "mov x3, #0",
            "mov x4, #0",
            "mov x5, #0",
            "mov x6, #0",
            "mov x7, #0",
            "mov x8, #0",
            "mov x9, #0",
            "mov x10, #0",
            "mov x11, #0",
            "mov x12, #0",
            "mov x13, #0",
            "mov x14, #0",
            "mov x15, #0",
            "mov x16, #0",
            "mov x17, #0",
            clobber_abi("C"),
            options(nomem, nostack, preserves_flags),
        );
    }
}
