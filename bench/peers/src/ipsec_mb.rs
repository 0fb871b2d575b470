//! Intel's Multi-Buffer Crypto for IPsec, found at run time: AES in GCM by its direct calls, in CBC and CMAC by its jobs, of which
//! many are computed side by side.
//!
//! [`Manager`] and [`Job`] are the front parts of `IMB_MGR` and `IMB_JOB` as `intel-ipsec-mb.h` has them in versions 1.3 and 2.0,
//! where all fields named here are at the same places; other versions are refused. What the functions read and write
//! is described in that header.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use crate::library::{self, open_first, symbol};
use crate::peer::{
    BLOCK_BYTES, Cipher, Direction, Mode, Operation, PARTIAL_BLOCK, Peer, Setup, TAG_BYTES, with_tag,
};

const FILES: [&str; 2] = ["libIPSec_MB.so.2", "libIPSec_MB.so.1"];

/// Major and minor numbers of the versions whose structures are known here.
const VERSIONS: [(u32, u32); 2] = [(1, 3), (2, 0)];

/// Values of `IMB_CIPHER_MODE`, `IMB_HASH_ALG`, `IMB_CIPHER_DIRECTION`, `IMB_CHAIN_ORDER` and `IMB_STATUS`.
const CIPHER_CBC: c_int = 1;
const CIPHER_NONE: c_int = 3;
const HASH_NONE: c_int = 8;
const HASH_CMAC: c_int = 12;
const HASH_CMAC_256: c_int = 27;
const ENCRYPT: c_int = 1;
const DECRYPT: c_int = 2;
const CIPHER_THEN_HASH: c_int = 1;
const HASH_THEN_CIPHER: c_int = 2;
const COMPLETED: c_int = 3;

/// Key, encryption's round keys, decryption's.
type ExpandKey = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void);

/// Round keys, the two subkeys.
type Subkeys = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void);

/// Key, prepared key.
type PrepareGcm = unsafe extern "C" fn(*const c_void, *mut GcmKey);

/// Prepared key, context, output, input, their length, nonce of 12 bytes, additional data and its length, tag and its length.
type RunGcm = unsafe extern "C" fn(
    *const GcmKey,
    *mut GcmContext,
    *mut u8,
    *const u8,
    u64,
    *const u8,
    *const u8,
    u64,
    *mut u8,
    u64,
);

/// Gives a job: one to be filled in, or one that is done.
type NextJob = unsafe extern "C" fn(*mut Manager) -> *mut Job;

/// The front of `IMB_MGR`, which the library allocates.
#[repr(C)]
struct Manager {
    _state: [u64; 7],
    _architecture: u32,
    _error: c_int,
    next_job: Option<NextJob>,
    _submit_checked: Option<NextJob>,
    submit: Option<NextJob>,
    completed: Option<NextJob>,
    flush: Option<NextJob>,
    _queue_size: usize,
    /// For keys of 128, 192 and 256 bits, as all arrays here.
    expand_key: [Option<ExpandKey>; 3],
    subkeys_128: Option<Subkeys>,
    _hashes: [usize; 14],
    encrypt_gcm: [Option<RunGcm>; 3],
    decrypt_gcm: [Option<RunGcm>; 3],
    _parts_of_gcm: [usize; 18],
    prepare_gcm: [Option<PrepareGcm>; 3],
    _others: [usize; 42],
    subkeys_256: Option<Subkeys>,
}

const _: () = assert!(
    offset_of!(Manager, next_job) == 64
        && offset_of!(Manager, submit) == 80
        && offset_of!(Manager, flush) == 96
        && offset_of!(Manager, expand_key) == 112
        && offset_of!(Manager, subkeys_128) == 136
        && offset_of!(Manager, encrypt_gcm) == 256
        && offset_of!(Manager, decrypt_gcm) == 280
        && offset_of!(Manager, prepare_gcm) == 448
        && offset_of!(Manager, subkeys_256) == 808
);

/// The front of `IMB_JOB`: what follows is for uses other than these.
#[repr(C)]
struct Job {
    encryption_keys: *const c_void,
    decryption_keys: *const c_void,
    key_bytes: u64,
    input: *const u8,
    output: *mut u8,
    cipher_start: u64,
    cipher_bytes: u64,
    hash_start: u64,
    hash_bytes: u64,
    iv: *const u8,
    iv_bytes: u64,
    tag: *mut u8,
    tag_bytes: u64,
    /// A union in C; for CMAC round keys and two subkeys.
    hash_keys: [*const c_void; 3],
    status: c_int,
    cipher: c_int,
    direction: c_int,
    hash: c_int,
    order: c_int,
}

const _: () = assert!(
    offset_of!(Job, input) == 24
        && offset_of!(Job, cipher_bytes) == 48
        && offset_of!(Job, iv) == 72
        && offset_of!(Job, tag) == 88
        && offset_of!(Job, hash_keys) == 104
        && offset_of!(Job, status) == 128
        && offset_of!(Job, order) == 144
);

/// `struct gcm_key_data` with room to spare: it has 1008 bytes in 1.3 and 1264 in 2.0.
#[repr(C, align(64))]
struct GcmKey([u8; 2048]);

/// `struct gcm_context_data`, likewise: 88 bytes.
#[repr(C, align(64))]
struct GcmContext([u8; 256]);

/// Round keys, sixteen bytes each.
#[repr(C, align(64))]
struct RoundKeys([u8; 15 * BLOCK_BYTES]);

/// Subkeys of CMAC.
#[repr(C, align(16))]
struct Subkey([u8; BLOCK_BYTES]);

/// The library with its one manager, whose functions suit the CPU.
struct Library {
    version: String,
    manager: NonNull<Manager>,
    free: unsafe extern "C" fn(*mut Manager),
    _handle: libloading::Library,
}

impl Library {
    fn open(file: &str) -> Result<Self, String> {
        let handle = library::open(file)?;
        // SAFETY: each variable has the type that the header gives for that name, and none is used after the handle.
        let (version, allocate, set_up, free) = unsafe {
            (
                symbol::<unsafe extern "C" fn() -> c_uint>(&handle, "imb_get_version")?,
                symbol::<unsafe extern "C" fn(u64) -> *mut Manager>(&handle, "alloc_mb_mgr")?,
                symbol::<unsafe extern "C" fn(*mut Manager, *mut c_int)>(&handle, "init_mb_mgr_auto")?,
                symbol::<unsafe extern "C" fn(*mut Manager)>(&handle, "free_mb_mgr")?,
            )
        };
        // SAFETY: it has no arguments.
        let [_, major, minor, patch] = unsafe { version() }.to_be_bytes().map(u32::from);
        let version = format!("{major}.{minor}.{patch}");
        if !VERSIONS.contains(&(major, minor)) {
            return Err(format!("{file} is ipsec-mb {version}, whose structures are not known here"));
        }
        // SAFETY: 0 stands for no flags.
        let manager = NonNull::new(unsafe { allocate(0) }).ok_or("alloc_mb_mgr failed")?;
        let mut architecture = 0;
        // SAFETY: the manager was just made, and the second argument is written.
        unsafe { set_up(manager.as_ptr(), &raw mut architecture) };
        let library = Self { version, manager, free, _handle: handle };
        if architecture == 0 {
            return Err("ipsec-mb has no code for this CPU".into());
        }
        Ok(library)
    }

    /// A function of the manager.
    fn function<F: Copy>(&self, field: impl Fn(&Manager) -> Option<F>) -> Result<F, String> {
        // SAFETY: the manager is alive, begins with these fields, and no call into the library runs meanwhile.
        field(unsafe { self.manager.as_ref() }).ok_or_else(|| "ipsec-mb lacks a function".into())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the manager came from this library and is not used again.
        unsafe { (self.free)(self.manager.as_ptr()) }
    }
}

/// An ipsec-mb found on this machine.
pub(crate) struct IpsecMb(Rc<Library>);

impl IpsecMb {
    /// Loads the newest there is.
    pub(crate) fn load() -> Result<Self, String> {
        open_first("libIPSec_MB", &FILES, Library::open).map(|library| Self(Rc::new(library)))
    }
}

impl Peer for IpsecMb {
    fn name(&self) -> String {
        format!("ipsec-mb {}", self.0.version)
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        let size = match setup.job().cipher {
            Cipher::Aes128 => 0,
            Cipher::Aes192 => 1,
            Cipher::Aes256 => 2,
            _ => return Err("ipsec-mb is asked for AES".into()),
        };
        let library = Rc::clone(&self.0);
        match (setup.job().mode, setup.job().direction) {
            (Mode::Gcm, _) => Ok(Box::new(Gcm::new(&library, setup, size)?)),
            (Mode::Cbc, _) => Ok(Box::new(Jobs::new(library, setup, size)?)),
            (Mode::Cmac, Direction::Encrypt) if size != 1 => Ok(Box::new(Jobs::new(library, setup, size)?)),
            _ => Err("ipsec-mb is asked for gcm, cbc and making cmac".into()),
        }
    }
}

/// A prepared key with its nonce. The functions belong to the library, which is kept.
struct Gcm {
    key: Box<GcmKey>,
    context: Box<GcmContext>,
    nonce: Vec<u8>,
    run: RunGcm,
    direction: Direction,
    _library: Rc<Library>,
}

impl Gcm {
    fn new(library: &Rc<Library>, setup: &Setup, size: usize) -> Result<Self, String> {
        let prepare = library.function(|manager| manager.prepare_gcm[size])?;
        let direction = setup.job().direction;
        let run = library.function(|manager| match direction {
            Direction::Encrypt => manager.encrypt_gcm[size],
            Direction::Decrypt => manager.decrypt_gcm[size],
        })?;
        let mut key = Box::new(GcmKey([0; _]));
        // SAFETY: `Setup` made sure that the key is as long as this function's, and a prepared key fits.
        unsafe { prepare(setup.key().as_ptr().cast(), &raw mut *key) };
        let context = Box::new(GcmContext([0; _]));
        Ok(Self { key, context, nonce: setup.iv().to_vec(), run, direction, _library: Rc::clone(library) })
    }
}

impl Operation for Gcm {
    fn apply(&mut self, message: &mut [u8]) -> Result<(), String> {
        let (message, place) = with_tag(message)?;
        let mut tag = [0; TAG_BYTES];
        let (text, bytes) = (message.as_mut_ptr(), message.len() as u64);
        // SAFETY: the key was prepared by the same library, the nonce has twelve bytes, input and output may be the same and
        // are as long as the call says, as is the tag; there is no additional data.
        unsafe {
            (self.run)(
                &raw const *self.key,
                &raw mut *self.context,
                text,
                text,
                bytes,
                self.nonce.as_ptr(),
                ptr::null(),
                0,
                tag.as_mut_ptr(),
                TAG_BYTES as u64,
            );
        }
        if self.direction == Direction::Encrypt {
            *place = tag;
        } else if *place == tag {
            place.fill(0);
        } else {
            return Err("wrong tag".into());
        }
        Ok(())
    }
}

/// A key for jobs.
struct Jobs {
    library: Rc<Library>,
    mode: Mode,
    direction: Direction,
    key_bytes: usize,
    encryption_keys: Box<RoundKeys>,
    decryption_keys: Box<RoundKeys>,
    subkeys: Box<[Subkey; 2]>,
    iv: Vec<u8>,
    next: NextJob,
    submit: NextJob,
    completed: NextJob,
    flush: NextJob,
}

impl Jobs {
    fn new(library: Rc<Library>, setup: &Setup, size: usize) -> Result<Self, String> {
        let expand = library.function(|manager| manager.expand_key[size])?;
        let mut encryption_keys = Box::new(RoundKeys([0; _]));
        let mut decryption_keys = Box::new(RoundKeys([0; _]));
        let mut subkeys = Box::new([Subkey([0; _]), Subkey([0; _])]);
        let (encryption, decryption) =
            ((&raw mut *encryption_keys).cast(), (&raw mut *decryption_keys).cast());
        // SAFETY: `Setup` made sure that the key is as long as this function's, and the most round keys fit.
        unsafe { expand(setup.key().as_ptr().cast(), encryption, decryption) };
        if setup.job().mode == Mode::Cmac {
            let make = library
                .function(|manager| if size == 0 { manager.subkeys_128 } else { manager.subkeys_256 })?;
            let [first, second] = &mut *subkeys;
            // SAFETY: these are round keys of the function's size, and both subkeys have a block.
            unsafe { make(encryption, first.0.as_mut_ptr().cast(), second.0.as_mut_ptr().cast()) };
        }
        Ok(Self {
            mode: setup.job().mode,
            direction: setup.job().direction,
            key_bytes: setup.key().len(),
            encryption_keys,
            decryption_keys,
            subkeys,
            iv: setup.iv().to_vec(),
            next: library.function(|manager| manager.next_job)?,
            submit: library.function(|manager| manager.submit)?,
            completed: library.function(|manager| manager.completed)?,
            flush: library.function(|manager| manager.flush)?,
            library,
        })
    }

    /// Calls a function of the manager that gives a job, or null.
    fn call(&self, function: NextJob) -> *mut Job {
        // SAFETY: the manager is alive and the function its own. What was submitted before is as `fill` left it.
        unsafe { function(self.library.manager.as_ptr()) }
    }

    /// Hands jobs that are done back, and fails if one is not.
    fn take(&self, mut job: *mut Job) -> Result<(), String> {
        while !job.is_null() {
            // SAFETY: the library gave a job of its own, which begins with these fields.
            let status = unsafe { (*job).status };
            if status != COMPLETED {
                return Err(format!("a job of ipsec-mb failed ({status})"));
            }
            job = self.call(self.completed);
        }
        Ok(())
    }

    /// Fills a job in for a message.
    fn fill(&self, job: &mut Job, message: &mut [u8]) -> Result<(), String> {
        if self.mode == Mode::Cmac {
            let (message, tag) = with_tag(message)?;
            job.input = message.as_ptr();
            (job.hash_start, job.hash_bytes) = (0, message.len() as u64);
            (job.tag, job.tag_bytes) = (tag.as_mut_ptr(), TAG_BYTES as u64);
            let [first, second] = &*self.subkeys;
            job.hash_keys = [
                (&raw const *self.encryption_keys).cast(),
                first.0.as_ptr().cast(),
                second.0.as_ptr().cast(),
            ];
            (job.cipher, job.order) = (CIPHER_NONE, HASH_THEN_CIPHER);
            job.hash = if self.key_bytes == 16 { HASH_CMAC } else { HASH_CMAC_256 };
        } else {
            if !message.len().is_multiple_of(BLOCK_BYTES) {
                return Err(PARTIAL_BLOCK.into());
            }
            (job.input, job.output) = (message.as_ptr(), message.as_mut_ptr());
            (job.cipher_start, job.cipher_bytes) = (0, message.len() as u64);
            (job.iv, job.iv_bytes) = (self.iv.as_ptr(), BLOCK_BYTES as u64);
            (job.cipher, job.hash, job.order) = (CIPHER_CBC, HASH_NONE, CIPHER_THEN_HASH);
        }
        job.encryption_keys = (&raw const *self.encryption_keys).cast();
        job.decryption_keys = (&raw const *self.decryption_keys).cast();
        job.key_bytes = self.key_bytes as u64;
        job.direction = if self.direction == Direction::Encrypt { ENCRYPT } else { DECRYPT };
        Ok(())
    }

    /// Submits a message, and takes what is done meanwhile.
    fn submit(&self, message: &mut [u8]) -> Result<(), String> {
        // SAFETY: the library gives a job that is nobody else's until it is submitted, and begins with these fields.
        let job = unsafe { self.call(self.next).as_mut() }.ok_or("ipsec-mb gives no job")?;
        self.fill(job, message)?;
        self.take(self.call(self.submit))
    }

    /// Takes jobs until none is left.
    fn finish(&self) -> Result<(), String> {
        loop {
            let job = self.call(self.flush);
            if job.is_null() {
                return Ok(());
            }
            self.take(job)?;
        }
    }
}

impl Operation for Jobs {
    fn apply(&mut self, message: &mut [u8]) -> Result<(), String> {
        let bytes = message.len();
        self.apply_many(message, bytes.max(1))
    }

    fn apply_many(&mut self, buffer: &mut [u8], message_bytes: usize) -> Result<(), String> {
        let submitted = buffer.chunks_mut(message_bytes).try_for_each(|message| self.submit(message));
        // Also after a failure, so that no job keeps a pointer to the buffer.
        self.finish().and(submitted)
    }
}
