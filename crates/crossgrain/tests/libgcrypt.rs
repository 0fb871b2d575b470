//! Every cipher in every mode compared with libgcrypt, if it is installed. Serpent has no published answers
//! in authenticated modes, so this is the independent check for it.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use common::{ALL_CAP, capped, counted, key, known_caps, painted};
use crossgrain::mode::{Aead as _, Cbc, Cfb, Cfb8, Cmac, Ctr, Ecb, Mode, Ofb, Options, Xts, XtsKey};
use crossgrain::{Block, Buffers, Cipher, Direction};
use libloading::Library;

type Handle = *mut c_void;
type Open = unsafe extern "C" fn(*mut Handle, c_int, c_int, c_uint) -> c_uint;
type Close = unsafe extern "C" fn(Handle);
type Give = unsafe extern "C" fn(Handle, *const c_void, usize) -> c_uint;
type Run = unsafe extern "C" fn(Handle, *mut c_void, usize, *const c_void, usize) -> c_uint;
type Control = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_uint;
type Tag = unsafe extern "C" fn(Handle, *mut c_void, usize) -> c_uint;

/// libgcrypt, loaded at run time.
struct Gcrypt(Library);

impl Gcrypt {
    /// `None`, with a printed skip, if it is not installed. Initialised once, because another thread would
    /// see a library that is not yet operational.
    fn load() -> Option<&'static Self> {
        static LOADED: OnceLock<Option<Gcrypt>> = OnceLock::new();
        let gcrypt = LOADED.get_or_init(Self::set_up).as_ref();
        if gcrypt.is_none() {
            println!("skipped: libgcrypt (not installed)");
        }
        gcrypt
    }

    fn set_up() -> Option<Self> {
        // SAFETY: loading the library runs only its own initialisation code.
        let gcrypt = Self(unsafe { Library::new("libgcrypt.so.20") }.ok()?);
        // SAFETY: the signature is that of gcrypt.h. A null pointer requests the version and initialises the
        // library.
        let version = unsafe {
            let check: unsafe extern "C" fn(*const c_char) -> *const c_char =
                gcrypt.symbol("gcry_check_version");
            CStr::from_ptr(check(ptr::null()))
        };
        println!("libgcrypt {}", version.to_string_lossy());
        Some(gcrypt)
    }

    /// A function by name.
    ///
    /// # Safety
    /// `F` must be its type, and it must not outlive the library.
    unsafe fn symbol<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller upholds the contract above.
        unsafe { *self.0.get::<F>(name.as_bytes()).unwrap() }
    }

    fn cipher(&self, cipher: Cipher, mode: c_int, key: &[u8]) -> Keyed<'_> {
        let mut handle = ptr::null_mut();
        // SAFETY: the signature is that of gcrypt.h, and the handle is written by the call.
        let failed = unsafe {
            self.symbol::<Open>("gcry_cipher_open")(&raw mut handle, algorithm(cipher).unwrap(), mode, 0)
        };
        assert_eq!(failed, 0);
        let keyed = Keyed { gcrypt: self, handle };
        keyed.give("gcry_cipher_setkey", key);
        keyed
    }
}

/// `enum gcry_cipher_algos`.
const fn algorithm(cipher: Cipher) -> Option<c_int> {
    let number = match cipher {
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
        // Later versions of libgcrypt added ARIA and Kuznyechik.
        _ => return None,
    };
    Some(number)
}

// `enum gcry_cipher_modes`
const ECB: c_int = 1;
const CFB: c_int = 2;
const CBC: c_int = 3;
const OFB: c_int = 5;
const CTR: c_int = 6;
const CCM: c_int = 8;
const GCM: c_int = 9;
const OCB: c_int = 11;
const CFB8: c_int = 12;
const XTS: c_int = 13;
const EAX: c_int = 14;
const SIV: c_int = 15;
const GCM_SIV: c_int = 16;

// `enum gcry_ctl_cmds`
const FINALIZE: c_int = 5;
const SET_CCM_LENGTHS: c_int = 69;

/// A cipher with its key.
struct Keyed<'a> {
    gcrypt: &'a Gcrypt,
    handle: Handle,
}

impl Keyed<'_> {
    fn give(&self, function: &str, bytes: &[u8]) {
        // SAFETY: the signature is that of gcrypt.h, the handle is open, and the length is that of the bytes.
        let failed =
            unsafe { self.gcrypt.symbol::<Give>(function)(self.handle, bytes.as_ptr().cast(), bytes.len()) };
        assert_eq!(failed, 0, "{function} of {} bytes", bytes.len());
    }

    fn control(&self, command: c_int, numbers: &[u64]) {
        // SAFETY: as above.
        let failed = unsafe {
            let control = self.gcrypt.symbol::<Control>("gcry_cipher_ctl");
            let given = if numbers.is_empty() { ptr::null() } else { numbers.as_ptr().cast() };
            control(self.handle, command, given, size_of_val(numbers))
        };
        assert_eq!(failed, 0, "command {command}");
    }

    fn run(&self, direction: Direction, data: &mut [u8]) {
        let function = format!("gcry_cipher_{}", direction.name());
        // SAFETY: as above; with a null input the call works in place.
        let failed = unsafe {
            let run = self.gcrypt.symbol::<Run>(&function);
            run(self.handle, data.as_mut_ptr().cast(), data.len(), ptr::null(), 0)
        };
        assert_eq!(failed, 0, "{function} of {} bytes", data.len());
    }

    fn tag(&self) -> Block {
        let mut tag = [0; 16];
        // SAFETY: as above.
        let failed = unsafe {
            let get = self.gcrypt.symbol::<Tag>("gcry_cipher_gettag");
            get(self.handle, tag.as_mut_ptr().cast(), tag.len())
        };
        assert_eq!(failed, 0, "the tag");
        tag
    }
}

impl Drop for Keyed<'_> {
    fn drop(&mut self) {
        // SAFETY: as above; the handle is closed once.
        unsafe { self.gcrypt.symbol::<Close>("gcry_cipher_close")(self.handle) };
    }
}

/// Options along the grain and across it.
fn ways() -> Vec<Options> {
    let caps = known_caps([ALL_CAP, "avx2-aes-gfni", "neon-aes", "portable"]);
    caps.into_iter().map(|cap| capped(cap, 1)).collect()
}

/// Calls `check` with every cipher, length and direction. It returns whether the combination is a valid case.
fn each_case(mut check: impl FnMut(Cipher, Direction, &[u8]) -> bool) {
    let mut cases = 0;
    for cipher in Cipher::ALL.into_iter().filter(|&cipher| algorithm(cipher).is_some()) {
        for len in [16, 17, 48, 100, 512, 1000, 4096 + 16, 20_003] {
            for direction in Direction::ALL {
                cases += usize::from(check(cipher, direction, &painted(len, len as u64)));
            }
        }
    }
    counted(cases, "messages compared with libgcrypt");
}

#[test]
fn modes_without_a_tag() {
    let Some(gcrypt) = Gcrypt::load() else { return };
    let iv: Block = painted(16, 1).try_into().unwrap();
    each_case(|cipher, direction, data| {
        let key = key(cipher, 2);
        let whole = &data[..data.len() / 16 * 16];
        let expected = |mode, data: &[u8]| {
            let (keyed, mut want) = (gcrypt.cipher(cipher, mode, key.bytes()), data.to_vec());
            if mode == CTR {
                keyed.give("gcry_cipher_setctr", &iv);
            } else if mode != ECB {
                keyed.give("gcry_cipher_setiv", &iv);
            }
            keyed.run(direction, &mut want);
            want
        };
        for options in ways() {
            let got = |data: &[u8], apply: &dyn Fn(Buffers<'_>)| {
                let mut got = data.to_vec();
                apply(Buffers::in_place(&mut got));
                got
            };
            let what = format!("{cipher} {direction:?}, {} bytes, {:?}", data.len(), options.features);
            let ecb = Ecb::with_options(&key, direction, &options).unwrap();
            assert!(got(whole, &|buffers| ecb.apply(buffers).unwrap()) == expected(ECB, whole), "ecb {what}");
            let ctr = Ctr::with_options(&key, &iv, &options).unwrap();
            assert!(got(data, &|buffers| ctr.apply_at(0, buffers)) == expected(CTR, data), "ctr {what}");
            let cbc = Cbc::with_options(&key, direction, &options).unwrap();
            let apply = |buffers: Buffers<'_>| cbc.apply(&mut iv.into(), buffers).unwrap();
            assert!(got(whole, &apply) == expected(CBC, whole), "cbc {what}");
            let cfb = Cfb::with_options(&key, direction, &options).unwrap();
            let apply = |buffers: Buffers<'_>| cfb.apply(&mut iv.into(), buffers).unwrap();
            assert!(got(data, &apply) == expected(CFB, data), "cfb {what}");
            let cfb8 = Cfb8::with_options(&key, direction, &options).unwrap();
            let apply = |buffers: Buffers<'_>| cfb8.apply(&mut iv.into(), buffers);
            assert!(got(data, &apply) == expected(CFB8, data), "cfb8 {what}");
            let ofb = Ofb::with_options(&key, direction, &options).unwrap();
            let apply = |buffers: Buffers<'_>| ofb.apply(&mut iv.into(), buffers).unwrap();
            assert!(got(data, &apply) == expected(OFB, data), "ofb {what}");
        }
        true
    });
}

#[test]
fn sectors() {
    let Some(gcrypt) = Gcrypt::load() else { return };
    // libgcrypt's XTS has two key sizes.
    each_case(|cipher, direction, data| {
        if cipher.key_bytes() == 24 {
            return false;
        }
        let key = painted(2 * cipher.key_bytes(), 3);
        let (keyed, mut want) = (gcrypt.cipher(cipher, XTS, &key), data.to_vec());
        keyed.give("gcry_cipher_setiv", &0x0123_4567_89ab_cdef_u128.to_le_bytes());
        keyed.run(direction, &mut want);
        for options in ways() {
            let mut got = data.to_vec();
            let xts = Xts::with_options(&XtsKey::new(cipher, &key).unwrap(), direction, data.len(), &options)
                .unwrap();
            xts.apply(0x0123_4567_89ab_cdef, &mut got).unwrap();
            assert!(got == want, "{cipher} {direction:?}, {} bytes, {:?}", data.len(), options.features);
        }
        true
    });
}

/// The mode's number in libgcrypt.
fn number(mode: Mode) -> c_int {
    match mode {
        Mode::Ccm => CCM,
        Mode::Eax => EAX,
        Mode::Gcm => GCM,
        Mode::GcmSiv => GCM_SIV,
        Mode::Ocb => OCB,
        Mode::Siv => SIV,
        _ => unreachable!("{mode} has no tag"),
    }
}

/// A message sealed by libgcrypt: ciphertext and tag.
fn sealed(
    gcrypt: &Gcrypt,
    (mode, cipher, key): (Mode, Cipher, &[u8]),
    nonce: &[u8],
    aad: &[u8],
    data: &[u8],
) -> (Vec<u8>, Block) {
    let (keyed, mut sealed) = (gcrypt.cipher(cipher, number(mode), key), data.to_vec());
    // In libgcrypt the nonce is SIV's last string of associated data.
    if mode == Mode::Siv {
        keyed.give("gcry_cipher_authenticate", aad);
    }
    keyed.give("gcry_cipher_setiv", nonce);
    if mode == Mode::Ccm {
        keyed.control(SET_CCM_LENGTHS, &[data.len() as u64, aad.len() as u64, 16]);
    }
    if mode != Mode::Siv {
        keyed.give("gcry_cipher_authenticate", aad);
    }
    if mode == Mode::Ocb {
        keyed.control(FINALIZE, &[]);
    }
    keyed.run(Direction::Encrypt, &mut sealed);
    (sealed, keyed.tag())
}

#[test]
fn modes_with_a_tag() {
    let Some(gcrypt) = Gcrypt::load() else { return };
    let nonces = |mode: Mode| match mode {
        Mode::Eax | Mode::Siv => [16, 9],
        Mode::Gcm => [12, 7],
        Mode::Ccm => [13, 7],
        Mode::Ocb => [12, 15],
        _ => [12, 12],
    };
    each_case(|cipher, direction, data| {
        if direction == Direction::Decrypt {
            return false;
        }
        let authenticated = Mode::ALL.into_iter().filter(|mode| mode.is_authenticated());
        let admitted = authenticated.filter(|mode| mode.admits(cipher).is_ok());
        for (mode, nonce_bytes) in admitted.flat_map(|mode| nonces(mode).map(|bytes| (mode, bytes))) {
            let key = painted(mode.key_bytes(cipher), 4);
            let (nonce, aad) = (painted(nonce_bytes, 5), painted(data.len() % 40, 6));
            let (want, tag) = sealed(gcrypt, (mode, cipher, &key), &nonce, &aad, data);
            for options in ways() {
                let ours = mode.aead(cipher, &key, 16, &options).unwrap();
                let what = format!("{cipher} {mode}, {} bytes, {:?}", data.len(), options.features);
                let mut got = data.to_vec();
                assert_eq!(ours.seal(&nonce, &aad, &mut got).unwrap()[..], tag, "{what}");
                assert!(got == want, "{what}");
                ours.open(&nonce, &aad, &tag, &mut got).unwrap();
                assert!(got == data, "{what}");
            }
        }
        true
    });
}

/// CMAC checked through EAX: OMAC number 0 of the nonce is EAX's first counter, visible in the keystream of a
/// zero message.
#[test]
fn cmac_is_what_eax_counts_from() {
    let Some(gcrypt) = Gcrypt::load() else { return };
    each_case(|cipher, _, data| {
        let key = key(cipher, 7);
        let keyed = gcrypt.cipher(cipher, EAX, key.bytes());
        keyed.give("gcry_cipher_setiv", data);
        let mut keystream = vec![0; 48];
        keyed.run(Direction::Encrypt, &mut keystream);
        for options in ways() {
            let counter = Cmac::with_options(&key, &options).unwrap().tag(&[&[0; 16], data].concat());
            let mut ours = vec![0; 48];
            let counter = counter[..].try_into().unwrap();
            Ctr::with_options(&key, &counter, &options).unwrap().apply(&mut ours);
            assert_eq!(ours, keystream, "{cipher}, {} bytes", data.len());
        }
        true
    });
}
