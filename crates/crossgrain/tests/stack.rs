//! The depth to which the library leaves data on the stack below its caller.
//!
//! Key set-up and the drop of a mode overwrite the stack as deep as the kernels of the mode use it
//! (`arch::tile`). Each case paints the stack below itself, uses a mode, and looks for the deepest byte that
//! is neither paint nor zero. That byte must belong to the return address of the function that overwrites the
//! stack. A deeper one is an error: the mode left it.

#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::hint::black_box;
use std::thread;

use common::{CAPS, capped, painted};
use crossgrain::mode::{
    Aead, AeadMessage, Cbc, Ccm, Cmac, Ctr, Ecb, Gcm, Initial, Message, Mode, Options, Start,
};
use crossgrain::{Buffers, Cipher, Direction, Features, Key};

/// The painted region: more than any mode uses.
const PAINTED_BYTES: usize = 256 * 1024;

/// The distance between the frame that measures and the painted region.
const GAP_BYTES: usize = 1024;

/// Allowance for the frames above and below the overwritten region.
const FRAMES_BYTES: usize = 2048 + 256;

/// The depth that key set-up with AES instructions overwrites.
const SETUP_BYTES: usize = 3 * 1024 + FRAMES_BYTES;

/// The depth that the drop of a mode overwrites if the mode used AES instructions on short messages only.
const SHALLOW_BYTES: usize = 8 * 1024 + FRAMES_BYTES;

/// The same after longer messages.
const REGISTERS_BYTES: usize = 24 * 1024 + FRAMES_BYTES;

/// The largest depth that every other drop overwrites.
const DEEP_BYTES: usize = 97 * 1024 + FRAMES_BYTES;

const PAINT: u8 = 0xa5;

/// The depth in bytes of the deepest byte that `work` leaves on the stack and that is not zero.
#[inline(never)]
fn depth(work: &mut dyn FnMut()) -> usize {
    let mark = 0_u8;
    let top = (&raw const mark).expose_provenance() - GAP_BYTES;
    let place = |below: usize| std::ptr::with_exposed_provenance_mut::<u8>(top - below);
    // SAFETY: the region is the thread's own stack below all frames. It is not in use before `work` runs or
    // after it.
    (0..PAINTED_BYTES).for_each(|below| unsafe { place(below).write_volatile(PAINT) });
    work();
    // SAFETY: as above.
    let deepest =
        (0..PAINTED_BYTES).rev().find(|&below| !matches!(unsafe { place(below).read_volatile() }, 0 | PAINT));
    black_box(&mark);
    deepest.unwrap_or(0)
}

/// Runs on a thread with enough stack.
fn on_large_stack(work: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(4 << 20).spawn(work).unwrap().join().unwrap();
}

/// Lengths of short messages.
const SHORT: &[usize] = &[16, 64, 256];

/// Lengths of all kinds of messages.
const ALL: &[usize] = &[16, 64, 512, 4096, 65536];

/// Seals and opens messages, one at a time and, if one is long, together.
fn with_tag(mode: &dyn Aead, lens: &[usize]) {
    for &len_bytes in [0, 20].iter().chain(lens) {
        let mut data = vec![3; len_bytes];
        let tag = mode.seal_with(&[1; 12], &[&[2; 20]], Buffers::in_place(&mut data)).unwrap();
        mode.open_with(&[1; 12], &[&[2; 20]], &tag, Buffers::in_place(&mut data)).unwrap();
    }
    if lens == SHORT {
        return;
    }
    let mut data = vec![vec![3; 100]; 40];
    let mut messages: Vec<_> =
        data.iter_mut().map(|data| AeadMessage::new(&[1; 12], &[], &mut data[..])).collect();
    mode.seal_many(&mut messages).unwrap();
}

/// Whether a cipher is computed by AES instructions.
fn has_instructions(cipher: Cipher, options: &Options) -> bool {
    cipher.name().starts_with("aes")
        && options.features.is_some_and(|features| features.contains(Features::AES))
}

/// Whether a mode uses more stack for many messages together than for one.
fn goes_deeper(mode: Mode) -> bool {
    ["ccm", "eax", "ocb", "siv"].contains(&mode.entry().name)
}

/// Whether short messages are many blocks for the cipher, or blocks after a set-up as deep as that.
fn is_deep_when_short(mode: Mode) -> bool {
    mode == Mode::Xts || mode.segment_bits().is_some()
}

/// Creates a mode, uses it and drops it.
fn live(mode: Mode, cipher: Cipher, options: &Options, lens: &[usize]) {
    let entry = mode.entry();
    let key = painted(entry.keys * cipher.key_bytes(), 5);
    if let Ok(bound) = mode.aead(cipher, &key, 16, options) {
        return with_tag(&*bound, lens);
    }
    for direction in Direction::ALL {
        let iv = match entry.initial {
            Initial::Block => &[7; 16][..],
            _ => &[],
        };
        let start = Start { iv, ..Start::default() };
        let bound = mode.unauthenticated(cipher, &key, direction, &start, options).unwrap();
        for &len_bytes in lens {
            bound.apply(&mut bound.start(), &mut vec![9; len_bytes][..]).unwrap();
        }
    }
}

#[test]
fn nothing_is_left_deeper_than_the_stack_is_wiped() {
    on_large_stack(|| {
        let mut wrong = Vec::new();
        for cap in CAPS {
            let options = capped(cap, 1);
            for cipher in [Cipher::Aes128, Cipher::Aes256, Cipher::Serpent256] {
                for mode in Mode::ALL.into_iter().filter(|mode| mode.admits(cipher).is_ok()) {
                    let has_instructions = has_instructions(cipher, &options);
                    for lens in [SHORT, ALL] {
                        live(mode, cipher, &options, lens); // plans are made once
                        let depth = depth(&mut || live(mode, cipher, &options, lens));
                        let most = match () {
                            () if !has_instructions => DEEP_BYTES,
                            () if lens == SHORT && !is_deep_when_short(mode) => SHALLOW_BYTES,
                            () if lens == ALL && goes_deeper(mode) => DEEP_BYTES,
                            () => REGISTERS_BYTES,
                        };
                        if depth > most {
                            wrong.push(format!("{}, {cipher}, {cap}: {depth} bytes", mode.entry().name));
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn key_set_up_leaves_nothing_deeper_than_it_wipes() {
    on_large_stack(|| {
        let mut wrong = Vec::new();
        for cap in CAPS {
            let options = &capped(cap, 1);
            for cipher in [Cipher::Aes128, Cipher::Aes256]
                .into_iter()
                .filter(|&cipher| has_instructions(cipher, options))
            {
                let key = Key::new(cipher, &painted(cipher.key_bytes(), 6)).unwrap();
                let mut made = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
                let mut set_up = || {
                    made.0.push(Ecb::with_options(&key, Direction::Decrypt, options).unwrap());
                    made.1.push(Ctr::with_options(&key, &[0; 16], options).unwrap());
                    made.2.push(Gcm::with_options(&key, 16, options).unwrap());
                    made.3.push(Ccm::with_options(&key, 16, options).unwrap());
                };
                set_up();
                let depth = depth(&mut set_up);
                if depth > SETUP_BYTES {
                    wrong.push(format!("{cipher}, {cap}: {depth} bytes"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// Chains that run together use more stack than anything else.
#[test]
fn chains_leave_nothing_when_their_mode_is_dropped() {
    on_large_stack(|| {
        for cap in CAPS {
            let options = capped(cap, 1);
            let key = Key::new(Cipher::Aes256, &painted(32, 7)).unwrap();
            let mut live = || {
                let cbc = Cbc::with_options(&key, Direction::Encrypt, &options).unwrap();
                let mut data = vec![vec![3; 640]; 40];
                let mut messages: Vec<_> =
                    data.iter_mut().map(|data| Message::new([0; 16], &mut data[..])).collect();
                cbc.apply_many(&mut messages).unwrap();
                let cmac = Cmac::with_options(&key, &options).unwrap();
                black_box(cmac.tag_many(&[&[1; 500][..]; 40]));
            };
            live();
            let depth = depth(&mut live);
            assert!(depth <= DEEP_BYTES, "{cap}: {depth} bytes");
        }
    });
}
