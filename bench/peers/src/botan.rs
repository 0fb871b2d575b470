//! Botan 2 through its C interface, found at run time.
//!
//! Signatures are those of `botan/ffi.h`, versions 2.8 to 2.19. ECB alone: of its modes that interface gives
//! nothing that works on a caller's buffer without copies of its own.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr;
use std::rc::Rc;

use crate::library::{self, open_first, succeeded, symbol};
use crate::peer::{BLOCK_BYTES, Cipher, Direction, Mode, Operation, PARTIAL_BLOCK, Peer, Setup};

const FILES: [&str; 1] = ["libbotan-2.so.19"];

/// `botan_block_cipher_t`.
type Handle = *mut c_void;

/// Handle, input, output, number of blocks.
type Run = unsafe extern "C" fn(Handle, *const c_uchar, *mut c_uchar, usize) -> c_int;

/// The functions used, with the library that keeps them mapped.
struct Library {
    version: unsafe extern "C" fn() -> *const c_char,
    init: unsafe extern "C" fn(*mut Handle, *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
    set_key: unsafe extern "C" fn(Handle, *const c_uchar, usize) -> c_int,
    encrypt: Run,
    decrypt: Run,
    _handle: libloading::Library,
}

impl Library {
    fn open(file: &str) -> Result<Self, String> {
        let handle = library::open(file)?;
        // SAFETY: the field each name is stored in has the type that `ffi.h` gives for that name, and the
        // pointers live in the same value as the handle that keeps the code mapped.
        unsafe {
            Ok(Self {
                version: symbol(&handle, "botan_version_string")?,
                init: symbol(&handle, "botan_block_cipher_init")?,
                destroy: symbol(&handle, "botan_block_cipher_destroy")?,
                set_key: symbol(&handle, "botan_block_cipher_set_key")?,
                encrypt: symbol(&handle, "botan_block_cipher_encrypt_blocks")?,
                decrypt: symbol(&handle, "botan_block_cipher_decrypt_blocks")?,
                _handle: handle,
            })
        }
    }
}

/// A Botan found on this machine.
pub(crate) struct Botan(Rc<Library>);

impl Botan {
    /// Loads the one there is.
    pub(crate) fn load() -> Result<Self, String> {
        open_first("libbotan-2", &FILES, Library::open).map(|library| Self(Rc::new(library)))
    }
}

impl Peer for Botan {
    fn name(&self) -> String {
        // SAFETY: it has no arguments and gives a static string.
        let text = unsafe { CStr::from_ptr((self.0.version)()) }.to_string_lossy();
        // "Botan 2.19.3 (release, dated 20221119, ...)": the rest says nothing the version does not.
        text.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        Ok(Box::new(Keyed::new(Rc::clone(&self.0), setup)?))
    }
}

/// A cipher with its key.
struct Keyed {
    library: Rc<Library>,
    handle: Handle,
    direction: Direction,
}

impl Keyed {
    fn new(library: Rc<Library>, setup: &Setup) -> Result<Self, String> {
        if setup.job().mode != Mode::Ecb {
            return Err("Botan is asked for ECB only".into());
        }
        let name = match setup.job().cipher {
            Cipher::Aes128 => c"AES-128",
            Cipher::Aes192 => c"AES-192",
            Cipher::Aes256 => c"AES-256",
            Cipher::Serpent128 | Cipher::Serpent192 | Cipher::Serpent256 => c"Serpent",
            Cipher::Sm4 => c"SM4",
            Cipher::Camellia128 => c"Camellia-128",
            Cipher::Camellia192 => c"Camellia-192",
            Cipher::Camellia256 => c"Camellia-256",
            Cipher::Aria128 => c"ARIA-128",
            Cipher::Aria192 => c"ARIA-192",
            Cipher::Aria256 => c"ARIA-256",
            Cipher::Kuznyechik => c"Kuznyechik",
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is written by the call, and the name ends in a zero.
        succeeded(unsafe { (library.init)(&raw mut handle, name.as_ptr()) }, 0, "botan_block_cipher_init")?;
        // From here on dropping the value destroys the cipher, whatever fails below.
        let keyed = Self { library, handle, direction: setup.job().direction };
        let key = setup.key();
        // SAFETY: the cipher is alive, and the key as long as told.
        let answer = unsafe { (keyed.library.set_key)(keyed.handle, key.as_ptr(), key.len()) };
        succeeded(answer, 0, "botan_block_cipher_set_key")?;
        Ok(keyed)
    }
}

impl Operation for Keyed {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        if !buffer.len().is_multiple_of(BLOCK_BYTES) {
            return Err(PARTIAL_BLOCK.into());
        }
        let (run, name) = match self.direction {
            Direction::Encrypt => (self.library.encrypt, "botan_block_cipher_encrypt_blocks"),
            Direction::Decrypt => (self.library.decrypt, "botan_block_cipher_decrypt_blocks"),
        };
        let bytes = buffer.as_mut_ptr();
        // SAFETY: the cipher is alive and keyed; the buffer has so many blocks, and input and output may be
        // the same.
        succeeded(unsafe { run(self.handle, bytes, bytes, buffer.len() / BLOCK_BYTES) }, 0, name)
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        // SAFETY: the cipher came from the same library and is not used again.
        unsafe { (self.library.destroy)(self.handle) };
    }
}
