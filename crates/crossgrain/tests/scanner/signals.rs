//! Brings registers into memory by signals. Before the kernel runs a handler, it saves all registers of a
//! thread on its stack. The copy stays below the end of the stack, where the scanner finds it.

use std::fs;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;

/// The threads that have handled the signal most recently, each in the next place.
static HANDLED_BY: [AtomicI32; 64] = [const { AtomicI32::new(0) }; 64];
static NEXT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn note(_signal: libc::c_int) {
    let place = NEXT.fetch_add(1, Ordering::SeqCst) % HANDLED_BY.len();
    HANDLED_BY[place].store(own_thread(), Ordering::SeqCst);
}

fn own_thread() -> libc::pid_t {
    // SAFETY: the call only asks the kernel for a number.
    unsafe { libc::gettid() }
}

/// Sends a signal to a thread of this process, or with 0 asks for it. Returns whether the thread exists.
fn send(signal: libc::c_int, thread: libc::pid_t) -> bool {
    // SAFETY: `install` has set the handler. If the thread has ended, the calls fail.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal) == 0 }
}

/// Installs a handler that only notes the thread.
pub(crate) fn install() {
    let handler: extern "C" fn(libc::c_int) = note;
    // SAFETY: the handler touches only atomics.
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
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let threads = threads.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let others: Vec<libc::pid_t> = threads.filter(|thread| *thread != own_thread()).collect();
    assert!(others.len() < HANDLED_BY.len(), "more threads than places");
    HANDLED_BY.iter().for_each(|place| place.store(0, Ordering::SeqCst));
    let sent: Vec<_> = others.into_iter().filter(|thread| send(libc::SIGUSR1, *thread)).collect();
    let has_handled = |thread| HANDLED_BY.iter().any(|place| place.load(Ordering::SeqCst) == thread);
    // A thread that is about to end takes the signal and never handles it.
    while sent.iter().any(|thread| !has_handled(*thread) && send(0, *thread)) {
        thread::yield_now();
    }
}
