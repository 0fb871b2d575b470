//! Rijndael with 192-bit and 256-bit blocks compared with libmcrypt, if it is installed. It is the one
//! library in common use that has these block sizes. For modes without published answers it is an independent
//! check.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use common::{ALL_CAP, CAP_WITHOUT_AES, painted};
use crossgrain::mode::Mode;
use crossgrain::wide::{Key, Options, Rijndael, State, Stream};
use crossgrain::{Direction, Features};
use libloading::Library;

type Handle = *mut c_void;
type Open = unsafe extern "C" fn(*const c_char, *const c_char, *const c_char, *const c_char) -> Handle;
type Init = unsafe extern "C" fn(Handle, *const c_void, c_int, *const c_void) -> c_int;
type Run = unsafe extern "C" fn(Handle, *mut c_void, c_int) -> c_int;
type End = unsafe extern "C" fn(Handle) -> c_int;

/// A mode's name in libmcrypt. Its `cfb` is CFB-8. Its `ctr` and `ofb` work on bytes or words and are
/// not comparable.
const MODES: [(Mode, &str); 5] =
    [(Mode::Ecb, "ecb"), (Mode::Cbc, "cbc"), (Mode::Cfb, "ncfb"), (Mode::Cfb8, "cfb"), (Mode::Ofb, "nofb")];

/// libmcrypt's result on whole blocks.
///
/// # Panics
/// If libmcrypt reports an error.
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
    // SAFETY: the signatures are those of mcrypt.h. Null directories select the built-in modules. The key,
    // the data and the initialisation vector have the lengths that are passed or that the algorithm requires.
    // The handle is closed once.
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
    // SAFETY: loading the library runs only its own initialisation code.
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
                for cap in [ALL_CAP, CAP_WITHOUT_AES, "portable"] {
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
