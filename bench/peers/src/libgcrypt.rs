//! libgcrypt, found at run time.
//!
//! Signatures and numbers are those of `gcrypt.h`, the same in all versions 1.8 to 1.12; what the functions
//! read and write is described in "The Libgcrypt Reference Manual", chapter 6.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use crate::library::{self, open_first, succeeded, symbol};
use crate::peer::{
    BLOCK_BYTES, Cipher, Direction, Job, Mode, Operation, PARTIAL_BLOCK, Peer, Setup, TAG_BYTES, each_sector,
    with_tag,
};

const FILES: [&str; 1] = ["libgcrypt.so.20"];

/// `GCRYCTL_FINALIZE`: what comes next is the end of a message.
const FINALIZE: c_int = 5;

/// `GCRYCTL_SET_CCM_LENGTHS`: three numbers of 64 bits, of the bytes of message, additional data and tag.
const SET_CCM_LENGTHS: c_int = 69;

/// `gcry_cipher_hd_t`.
type Handle = *mut c_void;

/// Handle, bytes and how many.
type Give = unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint;

/// Handle, output and its length, input and its length; without input the output is it.
type Run = unsafe extern "C" fn(Handle, *mut c_void, usize, *const c_void, usize) -> c_uint;

/// The functions used, with the library that keeps them mapped.
struct Library {
    version: String,
    /// Where the handle goes, algorithm, mode, flags.
    open: unsafe extern "C" fn(*mut Handle, c_int, c_int, c_uint) -> c_uint,
    close: unsafe extern "C" fn(Handle),
    set_key: Give,
    set_counter: Give,
    set_iv: Give,
    encrypt: Run,
    decrypt: Run,
    /// Handle, where the tag goes and its length.
    get_tag: unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_uint,
    check_tag: Give,
    /// Handle, request, what it reads and its length.
    control: unsafe extern "C" fn(Handle, c_int, *mut c_void, usize) -> c_uint,
    _handle: libloading::Library,
}

impl Library {
    fn open(file: &str) -> Result<Self, String> {
        // Who comes while another thread sets it up finds a library that is not operational.
        static SET_UP: Mutex<()> = Mutex::new(());
        let _alone = SET_UP.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = library::open(file)?;
        // SAFETY: the field each name is stored in has the type that `gcrypt.h` gives for that name, and the
        // pointers live in the same value as the handle that keeps the code mapped. No required version:
        // the first function sets the library up and gives its version, a static string.
        unsafe {
            let check: unsafe extern "C" fn(*const c_char) -> *const c_char =
                symbol(&handle, "gcry_check_version")?;
            Ok(Self {
                version: CStr::from_ptr(check(ptr::null())).to_string_lossy().into_owned(),
                open: symbol(&handle, "gcry_cipher_open")?,
                close: symbol(&handle, "gcry_cipher_close")?,
                set_key: symbol(&handle, "gcry_cipher_setkey")?,
                set_counter: symbol(&handle, "gcry_cipher_setctr")?,
                set_iv: symbol(&handle, "gcry_cipher_setiv")?,
                encrypt: symbol(&handle, "gcry_cipher_encrypt")?,
                decrypt: symbol(&handle, "gcry_cipher_decrypt")?,
                get_tag: symbol(&handle, "gcry_cipher_gettag")?,
                check_tag: symbol(&handle, "gcry_cipher_checktag")?,
                control: symbol(&handle, "gcry_cipher_ctl")?,
                _handle: handle,
            })
        }
    }
}

/// A libgcrypt found on this machine.
pub(crate) struct Libgcrypt(Rc<Library>);

impl Libgcrypt {
    /// Loads the one there is.
    pub(crate) fn load() -> Result<Self, String> {
        open_first("libgcrypt", &FILES, Library::open).map(|library| Self(Rc::new(library)))
    }
}

impl Peer for Libgcrypt {
    fn name(&self) -> String {
        format!("libgcrypt {}", self.0.version)
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        Ok(Box::new(Keyed::new(Rc::clone(&self.0), setup)?))
    }
}

/// `enum gcry_cipher_algos`.
fn algorithm(cipher: Cipher) -> c_int {
    match cipher {
        Cipher::Aes128 => 7,
        Cipher::Aes192 => 8,
        Cipher::Aes256 => 9,
        Cipher::Serpent128 => 304,
        Cipher::Serpent192 => 305,
        Cipher::Serpent256 => 306,
        Cipher::Camellia128 => 310,
        Cipher::Camellia192 => 311,
        Cipher::Camellia256 => 312,
        Cipher::Sm4 => 318,
        Cipher::Aria128 => 319,
        Cipher::Aria192 => 320,
        Cipher::Aria256 => 321,
        // None of its numbers: it is refused as one that the library lacks.
        Cipher::Kuznyechik => 0,
    }
}

/// An open handle with its key.
struct Keyed {
    library: Rc<Library>,
    handle: Handle,
    job: Job,
    /// Empty where nothing counts.
    iv: Vec<u8>,
}

impl Keyed {
    fn new(library: Rc<Library>, setup: &Setup) -> Result<Self, String> {
        // `enum gcry_cipher_modes`
        let mode = match setup.job().mode {
            Mode::Ecb => 1,
            Mode::Cbc => 3,
            Mode::Ctr => 6,
            Mode::Ccm => 8,
            Mode::Gcm => 9,
            Mode::Ocb => 11,
            Mode::Xts => 13,
            Mode::Ctr64 => return Err("libgcrypt has no ctr64".into()),
            Mode::Rekey => return Err("libgcrypt's keys are set up once".into()),
            Mode::Cmac => return Err("libgcrypt's CMAC is not asked for here".into()),
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is written by the call; 0 stands for no flags.
        let answer = unsafe { (library.open)(&raw mut handle, algorithm(setup.job().cipher), mode, 0) };
        succeeded(answer, 0, "gcry_cipher_open")?;
        // From here on dropping the value closes the handle, whatever fails below.
        let keyed = Self { library, handle, job: setup.job(), iv: setup.iv().to_vec() };
        keyed.give(keyed.library.set_key, setup.key(), "gcry_cipher_setkey")?;
        Ok(keyed)
    }

    fn give(&self, function: Give, bytes: &[u8], name: &str) -> Result<(), String> {
        // SAFETY: the handle is open, and the bytes are as many as the call says.
        succeeded(unsafe { function(self.handle, bytes.as_ptr().cast(), bytes.len()) }, 0, name)
    }
}

impl Operation for Keyed {
    fn apply(&mut self, message: &mut [u8]) -> Result<(), String> {
        match self.job.mode {
            Mode::Xts => {
                let first = self.iv[..].try_into().map_err(|_| "no number of a sector")?;
                return each_sector(first, self.job.sector_bytes(), message, |number, sector| {
                    self.give(self.library.set_iv, &number, "gcry_cipher_setiv")?;
                    self.replace(sector)
                });
            }
            mode if mode.has_tag() => return self.replace_with_tag(message),
            Mode::Ecb | Mode::Cbc if !message.len().is_multiple_of(BLOCK_BYTES) => {
                return Err(PARTIAL_BLOCK.into());
            }
            _ if message.is_empty() => return Ok(()),
            Mode::Cbc => self.give(self.library.set_iv, &self.iv, "gcry_cipher_setiv")?,
            Mode::Ctr => self.give(self.library.set_counter, &self.iv, "gcry_cipher_setctr")?,
            _ => {}
        }
        self.replace(message)
    }
}

impl Keyed {
    /// Replaces a message, and makes its tag or compares it.
    fn replace_with_tag(&self, buffer: &mut [u8]) -> Result<(), String> {
        let (message, tag) = with_tag(buffer)?;
        self.give(self.library.set_iv, &self.iv, "gcry_cipher_setiv")?;
        match self.job.mode {
            Mode::Ccm => self.control(SET_CCM_LENGTHS, &mut [message.len() as u64, 0, TAG_BYTES as u64])?,
            _ => self.control(FINALIZE, &mut [])?,
        }
        self.replace(message)?;
        match self.job.direction {
            Direction::Encrypt => {
                // SAFETY: the handle is open, and the tag is as long as the call says.
                let answer =
                    unsafe { (self.library.get_tag)(self.handle, tag.as_mut_ptr().cast(), TAG_BYTES) };
                succeeded(answer, 0, "gcry_cipher_gettag")
            }
            Direction::Decrypt => {
                self.give(self.library.check_tag, tag, "gcry_cipher_checktag")?;
                tag.fill(0);
                Ok(())
            }
        }
    }

    fn control(&self, request: c_int, numbers: &mut [u64]) -> Result<(), String> {
        let numbers: (*mut c_void, usize) = if numbers.is_empty() {
            (ptr::null_mut(), 0)
        } else {
            (numbers.as_mut_ptr().cast(), size_of_val(numbers))
        };
        // SAFETY: the handle is open; both requests read as many bytes as the call says.
        succeeded(
            unsafe { (self.library.control)(self.handle, request, numbers.0, numbers.1) },
            0,
            "gcry_cipher_ctl",
        )
    }
}

impl Keyed {
    /// Encrypts or decrypts from where the library is.
    fn replace(&self, buffer: &mut [u8]) -> Result<(), String> {
        let (run, name) = match self.job.direction {
            Direction::Encrypt => (self.library.encrypt, "gcry_cipher_encrypt"),
            Direction::Decrypt => (self.library.decrypt, "gcry_cipher_decrypt"),
        };
        // SAFETY: the handle is open and keyed; without input the output, as long as told, is replaced.
        let answer = unsafe { run(self.handle, buffer.as_mut_ptr().cast(), buffer.len(), ptr::null(), 0) };
        succeeded(answer, 0, name)
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        // SAFETY: the handle came from the same library and is not used again.
        unsafe { (self.library.close)(self.handle) }
    }
}
