//! Client requests to valgrind's memcheck.
//!
//! A request is six words in memory and an instruction sequence that valgrind recognises and that has no
//! effect on a CPU. Source: `valgrind.h` and `memcheck.h` of valgrind 3.19 (both BSD-licensed), amd64 under
//! Linux.

use std::arch::asm;

const RUNNING_ON_VALGRIND: u64 = 0x1001;
const COUNT_ERRORS: u64 = 0x1201;
/// `'M'`, `'C'`, then the number of the request.
const MAKE_MEM_UNDEFINED: u64 = 0x4d43_0001;

fn request(request: u64, address: u64, len_bytes: u64) -> u64 {
    let words = [request, address, len_bytes, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: the rotations add up to 128 bits, so rdi is left as it was, and the exchange has no effect.
    // Under valgrind only rdx is written, and the six words are read.
    unsafe {
        asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") words.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Whether the program runs under valgrind.
pub(crate) fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) > 0
}

/// The number of errors reported so far.
pub(crate) fn count_errors() -> u64 {
    request(COUNT_ERRORS, 0, 0)
}

/// Declares bytes secret. From now on memcheck reports every branch and address that depends on them.
pub(crate) fn make_secret(bytes: &mut [u8]) {
    request(MAKE_MEM_UNDEFINED, bytes.as_mut_ptr() as u64, bytes.len() as u64);
}
