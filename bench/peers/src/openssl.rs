//! OpenSSL through its EVP interface, found at run time: the build needs no headers, and a machine
//! without the library loses this peer only.
//!
//! `OPENSSL_ia32cap` in the environment takes CPU features away from the library, which reads it by
//! itself while it is being loaded; here it is only repeated in the name.
//!
//! Both the signatures in [`Library`] and the claims about what the functions read and write are those of
//! the manual pages `EVP_EncryptInit(3)` and `OpenSSL_version(3)`, the same from 1.1 on.

use std::env;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::ptr::{self, NonNull};
use std::rc::Rc;

use crate::library::{self, open_first, succeeded, symbol};
use crate::peer::{
    BLOCK_BYTES, Cipher, Direction, Mode, Operation, PARTIAL_BLOCK, Peer, Setup, TAG_BYTES, each_sector,
    with_tag,
};

/// Newest first: where several are installed, the newest is the rival worth beating.
const FILES: [&str; 3] = ["libcrypto.so.4", "libcrypto.so.3", "libcrypto.so.1.1"];

/// Asks `OpenSSL_version` for name, version and date.
const OPENSSL_VERSION: c_int = 0;

/// Ask `EVP_CIPHER_CTX_ctrl` for a tag, and give it one.
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

/// Tells `EVP_CipherInit_ex` to leave the direction as it is.
const SAME_DIRECTION: c_int = -1;

/// `EVP_CIPHER`: a cipher and mode, owned by the library.
#[repr(C)]
struct EvpCipher {
    _opaque: [u8; 0],
}

/// `EVP_CIPHER_CTX`: the state of one keyed cipher, owned by a [`Context`].
#[repr(C)]
struct EvpCipherCtx {
    _opaque: [u8; 0],
}

type CipherGetter = unsafe extern "C" fn() -> *const EvpCipher;

/// The functions used, with the library that keeps them mapped.
struct Library {
    version: unsafe extern "C" fn(c_int) -> *const c_char,
    new: unsafe extern "C" fn() -> *mut EvpCipherCtx,
    free: unsafe extern "C" fn(*mut EvpCipherCtx),
    set_padding: unsafe extern "C" fn(*mut EvpCipherCtx, c_int) -> c_int,
    /// Context, cipher, engine (always null here), key, iv, direction.
    init: unsafe extern "C" fn(
        *mut EvpCipherCtx,
        *const EvpCipher,
        *mut EvpCipher,
        *const c_uchar,
        *const c_uchar,
        c_int,
    ) -> c_int,
    /// Context, output, where the output's length goes, input, input's length.
    update: unsafe extern "C" fn(*mut EvpCipherCtx, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int,
    /// Context, output, where the output's length goes.
    end: unsafe extern "C" fn(*mut EvpCipherCtx, *mut c_uchar, *mut c_int) -> c_int,
    /// Context, request, a length, and what is read or written.
    control: unsafe extern "C" fn(*mut EvpCipherCtx, c_int, c_int, *mut c_void) -> c_int,
    handle: libloading::Library,
}

impl Library {
    fn open(file: &str) -> Result<Self, String> {
        let handle = library::open(file)?;
        // SAFETY: the field each name is stored in has the type the manual gives for that name,
        // and the pointers live in the same value as the handle that keeps the code mapped.
        unsafe {
            Ok(Self {
                version: symbol(&handle, "OpenSSL_version")?,
                new: symbol(&handle, "EVP_CIPHER_CTX_new")?,
                free: symbol(&handle, "EVP_CIPHER_CTX_free")?,
                set_padding: symbol(&handle, "EVP_CIPHER_CTX_set_padding")?,
                init: symbol(&handle, "EVP_CipherInit_ex")?,
                update: symbol(&handle, "EVP_CipherUpdate")?,
                end: symbol(&handle, "EVP_CipherFinal_ex")?,
                control: symbol(&handle, "EVP_CIPHER_CTX_ctrl")?,
                handle,
            })
        }
    }

    /// The library's own description, for a cipher and mode it has under their usual name.
    fn cipher(&self, setup: &Setup) -> Result<*const EvpCipher, String> {
        let name = match (setup.job().cipher, setup.job().mode) {
            (_, Mode::Ctr64) => return Err("OpenSSL has no ctr64".into()),
            (_, Mode::Rekey) => return Err("OpenSSL's keys are set up once".into()),
            (Cipher::Serpent128 | Cipher::Serpent192 | Cipher::Serpent256, _) => {
                return Err("OpenSSL has no Serpent".into());
            }
            (Cipher::Aes128, Mode::Ecb) => "EVP_aes_128_ecb",
            (Cipher::Aes192, Mode::Ecb) => "EVP_aes_192_ecb",
            (Cipher::Aes256, Mode::Ecb) => "EVP_aes_256_ecb",
            (Cipher::Aes128, Mode::Ctr) => "EVP_aes_128_ctr",
            (Cipher::Aes192, Mode::Ctr) => "EVP_aes_192_ctr",
            (Cipher::Aes256, Mode::Ctr) => "EVP_aes_256_ctr",
            (Cipher::Aes128, Mode::Xts) => "EVP_aes_128_xts",
            (Cipher::Aes192, Mode::Xts) => return Err("XTS is not defined for AES-192".into()),
            (Cipher::Aes256, Mode::Xts) => "EVP_aes_256_xts",
            (Cipher::Aes128, Mode::Gcm) => "EVP_aes_128_gcm",
            (Cipher::Aes192, Mode::Gcm) => "EVP_aes_192_gcm",
            (Cipher::Aes256, Mode::Gcm) => "EVP_aes_256_gcm",
            (_, Mode::Gcm) => return Err("OpenSSL's GCM is AES's here".into()),
            (Cipher::Sm4, Mode::Ecb) => "EVP_sm4_ecb",
            (Cipher::Sm4, Mode::Ctr) => "EVP_sm4_ctr",
            (Cipher::Camellia128, Mode::Ecb) => "EVP_camellia_128_ecb",
            (Cipher::Camellia128, Mode::Ctr) => "EVP_camellia_128_ctr",
            (Cipher::Camellia192, Mode::Ecb) => "EVP_camellia_192_ecb",
            (Cipher::Camellia192, Mode::Ctr) => "EVP_camellia_192_ctr",
            (Cipher::Camellia256, Mode::Ecb) => "EVP_camellia_256_ecb",
            (Cipher::Camellia256, Mode::Ctr) => "EVP_camellia_256_ctr",
            (Cipher::Aria128, Mode::Ecb) => "EVP_aria_128_ecb",
            (Cipher::Aria128, Mode::Ctr) => "EVP_aria_128_ctr",
            (Cipher::Aria192, Mode::Ecb) => "EVP_aria_192_ecb",
            (Cipher::Aria192, Mode::Ctr) => "EVP_aria_192_ctr",
            (Cipher::Aria256, Mode::Ecb) => "EVP_aria_256_ecb",
            (Cipher::Aria256, Mode::Ctr) => "EVP_aria_256_ctr",
            (Cipher::Kuznyechik, _) => return Err("OpenSSL has no Kuznyechik".into()),
            (_, Mode::Xts) => return Err("OpenSSL's XTS is AES's".into()),
        };
        // SAFETY: every name above is a function without arguments that returns a cipher.
        let cipher = unsafe { symbol::<CipherGetter>(&self.handle, name)?() };
        if cipher.is_null() {
            return Err(format!("OpenSSL was built without {name}"));
        }
        Ok(cipher)
    }
}

/// A libcrypto found on this machine.
pub(crate) struct OpenSsl(Rc<Library>);

impl OpenSsl {
    /// Loads the newest libcrypto there is.
    pub(crate) fn load() -> Result<Self, String> {
        open_first("libcrypto", &FILES, Library::open).map(|library| Self(Rc::new(library)))
    }
}

impl Peer for OpenSsl {
    fn name(&self) -> String {
        // SAFETY: any number may be asked for; the answer is a static string.
        let text = unsafe { CStr::from_ptr((self.0.version)(OPENSSL_VERSION)) }.to_string_lossy();
        // "OpenSSL 3.0.2 15 Mar 2022": the date says nothing the version does not.
        let mut name = text.split(' ').take(2).collect::<Vec<_>>().join(" ");
        if let Some(mask) = env::var_os("OPENSSL_ia32cap") {
            let mask = mask.to_string_lossy();
            name += &format!(" (OPENSSL_ia32cap={})", mask.escape_debug());
        }
        name
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        Ok(Box::new(Context::new(Rc::clone(&self.0), setup)?))
    }
}

/// One keyed `EVP_CIPHER_CTX`.
struct Context {
    library: Rc<Library>,
    raw: NonNull<EvpCipherCtx>,
    mode: Mode,
    direction: Direction,
    /// Empty where nothing counts.
    iv: Vec<u8>,
}

impl Context {
    fn new(library: Rc<Library>, setup: &Setup) -> Result<Self, String> {
        let cipher = library.cipher(setup)?;
        // SAFETY: it has no arguments.
        let raw = NonNull::new(unsafe { (library.new)() }).ok_or("EVP_CIPHER_CTX_new failed")?;
        // From here on dropping the value frees the context, whatever fails below.
        let (mode, direction) = (setup.job().mode, setup.job().direction);
        let context = Self { library, raw, mode, direction, iv: setup.iv().to_vec() };
        let direction = c_int::from(direction == Direction::Encrypt);
        context.init(cipher, setup.key().as_ptr(), &context.iv, direction)?;
        // SAFETY: the context is alive and has its cipher. A last partial block is refused in
        // `apply`, so padding would only hold back the last whole one.
        let done = unsafe { (context.library.set_padding)(context.raw.as_ptr(), 0) };
        succeeded(done, 1, "EVP_CIPHER_CTX_set_padding")?;
        Ok(context)
    }

    /// Sets whatever is there.
    fn init(
        &self,
        cipher: *const EvpCipher,
        key: *const c_uchar,
        iv: &[u8],
        direction: c_int,
    ) -> Result<(), String> {
        let iv = if iv.is_empty() { ptr::null() } else { iv.as_ptr() };
        // SAFETY: the context is alive; `cipher` came from the library or is null; `key` is null or
        // as long as that cipher's key, which `Setup` made sure of; `iv` is null or what it made sure of
        // too: a block, which is what a counter mode reads, and XTS, or the twelve bytes of GCM.
        let done =
            unsafe { (self.library.init)(self.raw.as_ptr(), cipher, ptr::null_mut(), key, iv, direction) };
        succeeded(done, 1, "EVP_CipherInit_ex")
    }
}

impl Operation for Context {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        match self.mode {
            Mode::Xts => {
                let first = self.iv[..].try_into().map_err(|_| "no number of a sector")?;
                each_sector(first, buffer, |number, sector| self.update(&number, sector))
            }
            Mode::Gcm => self.update_with_tag(buffer),
            _ if self.iv.is_empty() && !buffer.len().is_multiple_of(BLOCK_BYTES) => Err(PARTIAL_BLOCK.into()),
            _ => self.update(&self.iv, buffer),
        }
    }
}

impl Context {
    /// Replaces a message, and makes its tag or compares it.
    fn update_with_tag(&self, buffer: &mut [u8]) -> Result<(), String> {
        let (message, tag) = with_tag(buffer)?;
        self.update(&self.iv, message)?;
        if self.direction == Direction::Decrypt {
            self.control(SET_TAG, tag)?;
        }
        let (mut nothing, mut count) = ([0; BLOCK_BYTES], 0);
        // SAFETY: the context is alive and keyed; GCM writes nothing here, and no mode more than a block.
        let done = unsafe { (self.library.end)(self.raw.as_ptr(), nothing.as_mut_ptr(), &mut count) };
        succeeded(done, 1, "EVP_CipherFinal_ex")?;
        match self.direction {
            Direction::Encrypt => self.control(GET_TAG, tag),
            Direction::Decrypt => {
                tag.fill(0);
                Ok(())
            }
        }
    }

    fn control(&self, request: c_int, tag: &mut [u8; TAG_BYTES]) -> Result<(), String> {
        // SAFETY: the context is alive and GCM's; both requests take as many bytes as they are told.
        let done = unsafe {
            (self.library.control)(self.raw.as_ptr(), request, TAG_BYTES as c_int, tag.as_mut_ptr().cast())
        };
        succeeded(done, 1, "EVP_CIPHER_CTX_ctrl")
    }

    /// Replaces a buffer, counting from here.
    fn update(&self, iv: &[u8], buffer: &mut [u8]) -> Result<(), String> {
        if !iv.is_empty() {
            self.init(ptr::null(), ptr::null(), iv, SAME_DIRECTION)?;
        }
        let input_bytes = c_int::try_from(buffer.len()).map_err(|e| e.to_string())?;
        let mut output_bytes = 0;
        let bytes = buffer.as_mut_ptr();
        // SAFETY: the context is alive and keyed. Input and output may be the same buffer. No more
        // than the input's length is written: a counter mode writes that, and XTS, and ECB never holds a
        // partial block from an earlier call, because `apply` checks the length.
        let done =
            unsafe { (self.library.update)(self.raw.as_ptr(), bytes, &mut output_bytes, bytes, input_bytes) };
        succeeded(done, 1, "EVP_CipherUpdate")?;
        if output_bytes != input_bytes {
            return Err(format!("OpenSSL wrote {output_bytes} bytes of {input_bytes}"));
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context came from the same library and is not used again.
        unsafe { (self.library.free)(self.raw.as_ptr()) }
    }
}
