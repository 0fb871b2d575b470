//! Rijndael with blocks of 192 and 256 bits beside libmcrypt, where that is installed: the one library in common
//! use that has them, and an independent word on modes for which nothing is published.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use common::painted;
use crossgrain::mode::Mode;
use crossgrain::wide::{Key, Options, Rijndael, State, Stream};
use crossgrain::{Direction, Features};
use libloading::Library;

type Handle = *mut c_void;
type Open = unsafe extern "C" fn(*const c_char, *const c_char, *const c_char, *const c_char) -> Handle;
type Init = unsafe extern "C" fn(Handle, *const c_void, c_int, *const c_void) -> c_int;
type Run = unsafe extern "C" fn(Handle, *mut c_void, c_int) -> c_int;
type End = unsafe extern "C" fn(Handle) -> c_int;

/// A mode's name in libmcrypt; its counters and its own `cfb` and `ofb` go by bytes or words.
const MODES: [(Mode, &str); 4] =
    [(Mode::Ecb, "ecb"), (Mode::Cbc, "cbc"), (Mode::Cfb, "ncfb"), (Mode::Ofb, "nofb")];

/// What libmcrypt makes of whole blocks.
///
/// # Panics
/// If it refuses anything.
fn answer(
    library: &Library,
    (cipher, mode): (Rijndael, &str),
    direction: Direction,
    key: &[u8],
    iv: &[u8],
    data: &mut [u8],
) {
    let algorithm = CString::new(format!("rijndael-{}", 8 * cipher.block_bytes())).unwrap();
    let mode = CString::new(mode).unwrap();
    let run: &[u8] = match direction {
        Direction::Encrypt => b"mcrypt_generic",
        Direction::Decrypt => b"mdecrypt_generic",
    };
    // SAFETY: the signatures are those of mcrypt.h; null directories mean what is built in; key, data and
    // initialisation vector are as long as told or as the algorithm has it; the handle is closed once.
    unsafe {
        let open = library.get::<Open>(b"mcrypt_module_open").unwrap();
        let handle = open(algorithm.as_ptr(), ptr::null(), mode.as_ptr(), ptr::null());
        assert!(!handle.is_null(), "{algorithm:?} {mode:?}");
        let init = library.get::<Init>(b"mcrypt_generic_init").unwrap();
        assert!(init(handle, key.as_ptr().cast(), length(key), iv.as_ptr().cast()) >= 0);
        assert_eq!(library.get::<Run>(run).unwrap()(handle, data.as_mut_ptr().cast(), length(data)), 0);
        assert!(library.get::<End>(b"mcrypt_generic_end").unwrap()(handle) >= 0);
    }
}

fn length(bytes: &[u8]) -> c_int {
    bytes.len().try_into().unwrap()
}

#[test]
fn wide_blocks_are_what_libmcrypt_has() {
    // SAFETY: loading it runs no code but its own set-up, which is made for that.
    let Ok(library) = (unsafe { Library::new("libmcrypt.so.4") }) else {
        return println!("skipped: libmcrypt (not installed)");
    };
    for cipher in Rijndael::ALL {
        for (mode, name) in MODES {
            for direction in Direction::ALL {
                let key = painted(cipher.key_bytes(), 1);
                let iv = painted(cipher.block_bytes(), 2);
                let given = painted(517 * cipher.block_bytes(), 3);
                let mut want = given.clone();
                answer(&library, (cipher, name), direction, &key, &iv, &mut want);
                for cap in ["avx512", "avx2-aes-gfni", "portable"] {
                    let features: Option<Features> = Some(cap.parse().unwrap());
                    let options = Options { features, threads: 1, ..Options::default() };
                    let stream =
                        Stream::with_options(&Key::new(cipher, &key).unwrap(), mode, direction, &options)
                            .unwrap();
                    let mut data = given.clone();
                    stream.apply(&mut State::new(cipher, &iv).unwrap(), &mut data).unwrap();
                    assert!(data == want, "{cipher} {name} {direction:?} under {cap}");
                }
            }
        }
    }
}
