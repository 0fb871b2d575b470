//! Brings registers into memory by signals. Before the kernel runs a handler, it saves all registers of a
//! thread on its stack. The copy stays below the end of the stack, where the scanner finds it.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Number of signals handled.
static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_signal: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// Installs a handler that only counts.
pub(crate) fn install() {
    let handler: extern "C" fn(libc::c_int) = count;
    // SAFETY: the handler touches only an atomic.
    let before = unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
}

/// Saves the registers of this thread on its stack.
#[inline(always)]
pub(crate) fn save_own_registers() {
    // SAFETY: `install` has set the handler.
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
        // SAFETY: `install` has set the handler. If a thread has ended in the meantime, the call fails and is
        // not counted.
        sent += usize::from(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) } == 0);
    }
    while HANDLED.load(Ordering::SeqCst) < before + sent {
        thread::yield_now();
    }
}
