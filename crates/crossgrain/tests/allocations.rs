//! Allocations of the library. After the first call, sealing and opening a message allocates nothing, and
//! tile memory is all zeros when it is freed.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::{CAPS, capped, key, painted};
use crossgrain::mode::{Aead as _, Cbc, Ctr, Mode, Options, OwnKeys, Record, Xts, XtsKey};
use crossgrain::plan::Plan;
use crossgrain::{Cipher, Direction, Features};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The number of freed tile allocations, and of those that held anything but zeros.
static FREED: AtomicUsize = AtomicUsize::new(0);
static DIRTY: AtomicUsize = AtomicUsize::new(0);

/// The alignment of tiles in bytes. Few other allocations have it.
const TILE_ALIGN: usize = 64;

/// The system's allocator. It counts the allocations of each thread and checks the contents of freed tiles.
struct Counting;

// SAFETY: every call is passed to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The counter of a thread that ends may already be destroyed.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.align() == TILE_ALIGN {
            // SAFETY: the memory is the caller's until it is freed below.
            let dirty = (0..layout.size()).any(|at| unsafe { pointer.add(at).read_volatile() } != 0);
            FREED.fetch_add(1, Ordering::Relaxed);
            DIRTY.fetch_add(usize::from(dirty), Ordering::Relaxed);
        }
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Whether the plans run on whole registers. Other plans start with tiles, which a run allocates.
fn has_kernel(plans: &[Plan]) -> bool {
    plans.iter().all(|plan| plan.stages.len() == 1) && CAPS.len() > 1
}

#[test]
fn messages_allocate_nothing() {
    let options = Options { threads: 1, ..Options::default() };
    let ciphers = [Cipher::Aes128, Cipher::Aes256, Cipher::Serpent256];
    let settings = Mode::ALL.into_iter().flat_map(|mode| ciphers.map(|cipher| (mode, cipher)));
    for (mode, cipher) in
        settings.filter(|(mode, cipher)| mode.is_authenticated() && mode.admits(*cipher).is_ok())
    {
        let key = painted(mode.key_bytes(cipher), 1);
        let engine = mode.aead(cipher, &key, 16, &options).unwrap();
        for len_bytes in [0, 1, 16, 64, 100, 511, 512, 513, 1350, 16_384, 200_000] {
            let plain = painted(len_bytes, 2);
            let (mut data, mut forged) = (plain.clone(), plain.clone());
            let mut run = || {
                let before = COUNT.get();
                let tag = engine.seal(b"twelve bytes", b"header", &mut data).unwrap();
                let refused = engine.open(b"twelve bytes", b"header", &tag, &mut forged);
                engine.open(b"twelve bytes", b"header", &tag, &mut data).unwrap();
                assert_eq!(refused.is_ok(), len_bytes == 0, "{mode} {cipher}");
                COUNT.get() - before
            };
            // GCM-SIV allocates once for the keys derived from nonces.
            run();
            let allocated = run();
            assert!(data == plain, "{mode} {cipher}, {len_bytes} bytes");
            assert!(
                allocated == 0 || !has_kernel(engine.plans()),
                "{mode} {cipher}, {len_bytes} bytes: {allocated} allocations"
            );
        }
    }
}

#[test]
fn sectors_and_pieces_of_streams_allocate_nothing() {
    let options = Options { threads: 1, ..Options::default() };
    for cipher in [Cipher::Aes256, Cipher::Serpent256] {
        let sectors = XtsKey::new(cipher, &painted(64, 1)).unwrap();
        let xts = Xts::with_options(&sectors, Direction::Encrypt, 512, &options).unwrap();
        let mut ctr = Ctr::with_options(&key(cipher, 1), &[7; 16], &options).unwrap();
        let cbc = Cbc::with_options(&key(cipher, 1), Direction::Encrypt, &options).unwrap();
        for len_bytes in [16, 100, 512, 4096] {
            let mut data = painted(len_bytes, 2);
            let before = COUNT.get();
            xts.apply(1, &mut data[..len_bytes.min(512)]).unwrap();
            ctr.apply(&mut data);
            cbc.apply(&mut [3; 16].into(), &mut data[..len_bytes / 16 * 16]).unwrap();
            let allocated = COUNT.get() - before;
            assert!(
                allocated == 0 || !has_kernel(xts.plans()),
                "{cipher}, {len_bytes} bytes: {allocated} allocations"
            );
        }
    }
}

#[test]
fn records_under_keys_of_their_own_allocate_once_for_all() {
    for cipher in [Cipher::Aes128, Cipher::Aes256, Cipher::Serpent256] {
        let own = OwnKeys::with_options(cipher, &Options { threads: 1, ..Options::default() }).unwrap();
        let allocated = |count: u64| {
            let keys: Vec<_> = (0..count).map(|number| key(cipher, number)).collect();
            let mut data: Vec<_> = (0..count).map(|number| vec![7; 16 * (number as usize % 90)]).collect();
            let messages: Vec<_> = keys.iter().map(|key| (key, &b"a message"[..])).collect();
            let records = keys.iter().zip(&mut data).map(|(key, data)| Record::new(key, [3; 16], data));
            let mut records: Vec<_> = records.collect();
            let before = COUNT.get();
            own.ctr(&mut records).unwrap();
            for direction in Direction::ALL {
                own.ecb(direction, &mut records).unwrap();
                own.cbc(direction, &mut records).unwrap();
            }
            black_box(own.cmac(&messages).unwrap());
            COUNT.get() - before
        };
        // Without AES instructions, key schedules are computed one at a time.
        let has_kernel = cipher == Cipher::Serpent256 || Features::of_cpu().contains(Features::AES);
        assert!(allocated(10) == allocated(1000) || !has_kernel, "{cipher}: {} allocations", allocated(1000));
    }
}

/// Fills memory below the end of the stack with bytes that are not zero.
#[inline(never)]
fn paint_stack() {
    black_box(&mut [0xa7_u8; 256 * 1024]);
}

/// A value moved into a box has padding between its fields. The move copies stack contents into that padding.
#[test]
fn what_a_tile_was_in_is_zeros() {
    for cap in CAPS {
        // A thread keeps its tiles for the next run and frees them when it ends.
        thread::scope(|scope| scope.spawn(|| seal_by_all(cap)).join()).unwrap();
        assert_eq!(DIRTY.load(Ordering::Relaxed), 0, "{cap}");
    }
    assert!(FREED.load(Ordering::Relaxed) > 0);
}

/// Seals with every authenticated mode, over a painted stack.
fn seal_by_all(cap: &str) {
    for mode in Mode::ALL.into_iter().filter(|mode| mode.is_authenticated()) {
        paint_stack();
        let key = painted(mode.key_bytes(Cipher::Aes128), 1);
        let aead = mode.aead(Cipher::Aes128, &key, 16, &capped(cap, 1)).unwrap();
        for len_bytes in [5, 5000] {
            paint_stack();
            aead.seal(b"twelve bytes", b"header", &mut vec![7; len_bytes]).unwrap();
        }
    }
}
