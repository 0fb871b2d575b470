//! Signals bring registers into memory: the kernel saves all registers of a thread on its stack before it runs a handler.
//!
//! The copy stays on the stack, below its end, where the scanner finds it.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many signals were handled.
static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_signal: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Has this process handle the signal, by a function that does nothing but count.
pub(crate) fn install() {
    let handler: extern "C" fn(libc::c_int) = count;
    // SAFETY: the handler touches nothing but an atomic.
    let before = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
}

/// Saves the registers of this thread on its stack.
#[inline(always)]
pub(crate) fn save_own_registers() {
    // SAFETY: the signal is handled since `install`.
    unsafe { libc::raise(libc::SIGUSR1) };
}

/// Saves the registers of all other threads on their stacks.
pub(crate) fn save_registers_of_others() {
    let threads: Vec<libc::c_long> = fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
        .collect();
    // SAFETY: these calls only ask the kernel for numbers.
    let (process, own) = unsafe { (libc::syscall(libc::SYS_getpid), libc::syscall(libc::SYS_gettid)) };
    let before = HANDLED.load(Ordering::SeqCst);
    let mut sent = 0;
    for thread in threads.into_iter().filter(|thread| *thread != own) {
        // SAFETY: the signal is handled since `install`. A thread that has ended meanwhile is an error, and is not counted.
        sent += usize::from(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) } == 0);
    }
    while HANDLED.load(Ordering::SeqCst) < before + sent {
        thread::yield_now();
    }
}
