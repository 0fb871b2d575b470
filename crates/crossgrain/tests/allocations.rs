//! Sealing and opening a message of GCM allocates nothing.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{key, painted};
use crossgrain::mode::{Aead as _, Gcm, Options};
use crossgrain::{Cipher, Error};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts what a thread asks of it.
struct Counting;

// SAFETY: everything is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends may have no counter any more.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn gcm_allocates_nothing() {
    let options = Options { threads: 1, ..Options::default() };
    for cipher in [Cipher::Aes128, Cipher::Aes256] {
        let gcm = Gcm::with_options(&key(cipher, 1), 16, &options).unwrap();
        for len_bytes in [0, 1, 16, 64, 100, 511, 512, 513, 1350, 16_384, 200_000] {
            let plain = painted(len_bytes, 2);
            let mut data = plain.clone();
            let mut forged = plain.clone();
            let before = COUNT.get();
            let tag = gcm.seal(b"twelve bytes", b"header", &mut data).unwrap();
            let refused = gcm.open(b"twelve bytes", b"header", &tag, &mut forged);
            gcm.open(b"twelve bytes", b"header", &tag, &mut data).unwrap();
            let allocated = COUNT.get() - before;
            assert!(data == plain, "{len_bytes} bytes");
            assert_eq!(refused, if len_bytes == 0 { Ok(()) } else { Err(Error::Forged) });
            // Without AES instructions a run begins with tiles, which it allocates.
            let has_kernel = gcm.plans()[0].stages.len() == 1 && cfg!(target_arch = "x86_64");
            assert!(allocated == 0 || !has_kernel, "{len_bytes} bytes: {allocated} allocations");
        }
    }
}
