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
    BLOCK_BYTES, Cipher, Direction, Job, Mode, NONCE_BYTES, Operation, PARTIAL_BLOCK, Peer, Setup, TAG_BYTES,
    each_sector, with_tag,
};

/// Newest first: where several are installed, the newest is the rival worth beating.
const FILES: [&str; 3] = ["libcrypto.so.4", "libcrypto.so.3", "libcrypto.so.1.1"];

/// Asks `OpenSSL_version` for name, version and date.
const OPENSSL_VERSION: c_int = 0;

/// Tell `EVP_CIPHER_CTX_ctrl` how long a nonce is, ask it for a tag, and give it one.
const SET_NONCE_BYTES: c_int = 0x9;
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
        let name = cipher_name(setup.job().cipher, setup.job().mode)?;
        // SAFETY: every such name is a function without arguments that returns a cipher.
        let cipher = unsafe { symbol::<CipherGetter>(&self.handle, &name)?() };
        if cipher.is_null() {
            return Err(format!("OpenSSL was built without {name}"));
        }
        Ok(cipher)
    }
}

/// The function that gives a cipher in a mode, such as `EVP_aes_128_ecb`.
fn cipher_name(cipher: Cipher, mode: Mode) -> Result<String, String> {
    let mode_word = match mode {
        Mode::Ecb => "ecb",
        Mode::Ctr => "ctr",
        Mode::Cbc => "cbc",
        Mode::Xts => "xts",
        Mode::Gcm => "gcm",
        Mode::Ocb => "ocb",
        Mode::Ccm => "ccm",
        Mode::Ctr64 => return Err("OpenSSL has no ctr64".into()),
        Mode::Rekey => return Err("OpenSSL's keys are set up once".into()),
        Mode::Cmac => return Err("OpenSSL's CMAC is not asked for here".into()),
    };
    let (family, bits) = match cipher {
        Cipher::Aes128 => ("aes", "_128"),
        Cipher::Aes192 => ("aes", "_192"),
        Cipher::Aes256 => ("aes", "_256"),
        Cipher::Sm4 => ("sm4", ""),
        Cipher::Camellia128 => ("camellia", "_128"),
        Cipher::Camellia192 => ("camellia", "_192"),
        Cipher::Camellia256 => ("camellia", "_256"),
        Cipher::Aria128 => ("aria", "_128"),
        Cipher::Aria192 => ("aria", "_192"),
        Cipher::Aria256 => ("aria", "_256"),
        Cipher::Serpent128 | Cipher::Serpent192 | Cipher::Serpent256 => {
            return Err("OpenSSL has no Serpent".into());
        }
        Cipher::Kuznyechik => return Err("OpenSSL has no Kuznyechik".into()),
    };
    match (family, mode) {
        (_, Mode::Xts) if cipher == Cipher::Aes192 => Err("XTS is not defined for AES-192".into()),
        ("aes", _) | (_, Mode::Ecb | Mode::Ctr | Mode::Cbc) => Ok(format!("EVP_{family}{bits}_{mode_word}")),
        _ => Err(format!("OpenSSL's {mode_word} is AES's here")),
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
    job: Job,
    /// Empty where nothing counts.
    iv: Vec<u8>,
}

impl Context {
    fn new(library: Rc<Library>, setup: &Setup) -> Result<Self, String> {
        let cipher = library.cipher(setup)?;
        // SAFETY: it has no arguments.
        let raw = NonNull::new(unsafe { (library.new)() }).ok_or("EVP_CIPHER_CTX_new failed")?;
        // From here on dropping the value frees the context, whatever fails below.
        let context = Self { library, raw, job: setup.job(), iv: setup.iv().to_vec() };
        let direction = c_int::from(setup.job().direction == Direction::Encrypt);
        if setup.job().mode == Mode::Ccm {
            // The lengths of nonce and tag come before the key, since its own defaults are others.
            context.init(cipher, ptr::null(), &[], direction)?;
            context.control(SET_NONCE_BYTES, NONCE_BYTES, ptr::null_mut())?;
            context.control(SET_TAG, TAG_BYTES, ptr::null_mut())?;
            context.init(ptr::null(), setup.key().as_ptr(), &context.iv, SAME_DIRECTION)?;
        } else {
            context.init(cipher, setup.key().as_ptr(), &context.iv, direction)?;
        }
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
        // too: a block, which is what a counter mode, CBC and XTS read, or the twelve bytes of a nonce.
        let done =
            unsafe { (self.library.init)(self.raw.as_ptr(), cipher, ptr::null_mut(), key, iv, direction) };
        succeeded(done, 1, "EVP_CipherInit_ex")
    }
}

impl Operation for Context {
    fn apply(&mut self, message: &mut [u8]) -> Result<(), String> {
        match self.job.mode {
            Mode::Xts => {
                let first = self.iv[..].try_into().map_err(|_| "no number of a sector")?;
                each_sector(first, self.job.sector_bytes(), message, |number, sector| {
                    self.replace(&number, sector)
                })
            }
            mode if mode.has_tag() => self.replace_with_tag(message),
            Mode::Ecb | Mode::Cbc if !message.len().is_multiple_of(BLOCK_BYTES) => Err(PARTIAL_BLOCK.into()),
            _ => self.replace(&self.iv, message),
        }
    }
}

impl Context {
    /// Replaces a message, and makes its tag or compares it.
    fn replace_with_tag(&self, buffer: &mut [u8]) -> Result<(), String> {
        let (message, tag) = with_tag(buffer)?;
        self.init(ptr::null(), ptr::null(), &self.iv, SAME_DIRECTION)?;
        let (is_ccm, decrypts) = (self.job.mode == Mode::Ccm, self.job.direction == Direction::Decrypt);
        if decrypts {
            self.control(SET_TAG, TAG_BYTES, tag.as_mut_ptr().cast())?;
        }
        if is_ccm {
            self.announce(message.len())?;
        }
        // CCM has compared the tag when this returns, and has no more to write.
        let written = self.update(message)?;
        match message.get_mut(written..) {
            Some([]) if is_ccm => {}
            Some(rest) if !is_ccm => self.end(rest)?,
            _ => return Err(wrote(written, message.len())),
        }
        if decrypts {
            tag.fill(0);
            return Ok(());
        }
        self.control(GET_TAG, TAG_BYTES, tag.as_mut_ptr().cast())
    }

    /// `argument` is null or what `request` reads or writes, of this length.
    fn control(&self, request: c_int, bytes: usize, argument: *mut c_void) -> Result<(), String> {
        // SAFETY: the context is alive and its cipher has tags; every request takes as many bytes as the call says, and
        // none where there are none.
        let done = unsafe { (self.library.control)(self.raw.as_ptr(), request, bytes as c_int, argument) };
        succeeded(done, 1, "EVP_CIPHER_CTX_ctrl")
    }

    /// Gives CCM the length of the message that follows.
    fn announce(&self, bytes: usize) -> Result<(), String> {
        let (input_bytes, mut output_bytes) = (length(bytes)?, 0);
        let update = self.library.update;
        // SAFETY: the context is alive and keyed; without input and output the call takes the length alone.
        let done = unsafe {
            update(self.raw.as_ptr(), ptr::null_mut(), &mut output_bytes, ptr::null(), input_bytes)
        };
        succeeded(done, 1, "EVP_CipherUpdate")
    }

    /// Writes the last bytes of a message, those that the library held back.
    fn end(&self, rest: &mut [u8]) -> Result<(), String> {
        let (mut last, mut count) = ([0; BLOCK_BYTES], 0);
        // SAFETY: the context is alive and keyed; no mode writes more than a block here.
        let done = unsafe { (self.library.end)(self.raw.as_ptr(), last.as_mut_ptr(), &mut count) };
        succeeded(done, 1, "EVP_CipherFinal_ex")?;
        let count = usize::try_from(count).map_err(|error| error.to_string())?;
        let last = last.get(..count).filter(|last| last.len() == rest.len());
        rest.copy_from_slice(last.ok_or_else(|| wrote(count, rest.len()))?);
        Ok(())
    }

    /// Replaces a buffer, counting from here.
    fn replace(&self, iv: &[u8], buffer: &mut [u8]) -> Result<(), String> {
        if !iv.is_empty() {
            self.init(ptr::null(), ptr::null(), iv, SAME_DIRECTION)?;
        }
        match self.update(buffer)? {
            written if written == buffer.len() => Ok(()),
            written => Err(wrote(written, buffer.len())),
        }
    }

    /// Replaces the front of a buffer from where the library is, and gives how much.
    fn update(&self, buffer: &mut [u8]) -> Result<usize, String> {
        let (input_bytes, mut output_bytes) = (length(buffer.len())?, 0);
        let bytes = buffer.as_mut_ptr();
        // SAFETY: the context is alive and keyed. Input and output may be the same buffer. No more
        // than the input's length is written: a counter mode writes that, and XTS and CCM; ECB and CBC never hold a
        // partial block from an earlier call, because `apply` checks the length, nor does OCB, which begins anew each time.
        let done =
            unsafe { (self.library.update)(self.raw.as_ptr(), bytes, &mut output_bytes, bytes, input_bytes) };
        succeeded(done, 1, "EVP_CipherUpdate")?;
        usize::try_from(output_bytes).map_err(|error| error.to_string())
    }
}

/// Why an answer is not believed.
fn wrote(bytes: usize, wanted: usize) -> String {
    format!("OpenSSL wrote {bytes} bytes of {wanted}")
}

/// A length as the library takes it.
fn length(bytes: usize) -> Result<c_int, String> {
    c_int::try_from(bytes).map_err(|error| error.to_string())
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context came from the same library and is not used again.
        unsafe { (self.library.free)(self.raw.as_ptr()) }
    }
}
