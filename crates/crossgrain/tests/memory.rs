//! After any mode has used a key, in any variant and under any cap, no secret remains in memory or registers. The
//! same holds after another key has replaced it.
//!
//! After each case every thread handles a signal. To run the handler, the kernel saves all registers on the
//! thread's stack. The scan of heap, globals and stacks therefore also finds secrets that were left in
//! registers.
//!
//! The parent derives the secrets. A child process receives them masked and searches its memory for them, so
//! only the library handles them in plain form. Each case runs on its own thread, whose stack is scanned
//! while it waits. It is scanned a second time while its object exists: then the scanner must find the
//! secrets the object holds. `CROSSGRAIN_ALL=1` prints every finding, and `CROSSGRAIN_CASES=Rekeyed` runs only cases whose
//! names contain that.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;
mod rekeyed;
mod scanner;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{BufRead as _, Cursor, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;

use cipher::{BlockCipherEncrypt as _, StreamCipher as _};
use common::{ALL_CAP, CAP_WITHOUT_AES, CAPS, capped, here, hex, painted};
use crossgrain::engine::check;
use crossgrain::engine::variant::table;
use crossgrain::mode::{
    Aead, Cmac, Initial, Lengths, Mode, Options, OwnKeys, Record, Start, Unauthenticated,
};
use crossgrain::plan::{Fused, JobSource};
use crossgrain::stream::Stream;
use crossgrain::{Block, Buffers, Cipher, Direction, Key, rustcrypto, wide};
use crossgrain_container::{Argon2id, Decryptor, Encryptor, Header, Limits, Secret, Suite};
use scanner::secrets::{self, Secrets};
use scanner::{MASK, Needle, Scanner, signals};
use zeroize::Zeroizing;

/// This variable is set in the child process.
const MARK: &str = "CROSSGRAIN_SCANNED";

const IV: Block = *b"an initial block";
const NONCE: &[u8] = b"twelve bytes";
const OTHER_NONCE: &[u8] = b"a nonce";
/// For modes that require twelve bytes.
const LAST_NONCE: &[u8] = b"another one.";

/// Ciphers with different key schedules. They are tested with every change.
const CIPHERS: &[Cipher] = &[Cipher::Aes128, Cipher::Aes256, Cipher::Serpent256];

/// An operation that uses a key.
#[derive(Clone, Copy, Debug)]
enum Work {
    Mode(Mode, Direction),
    Cmac,
    Stream,
    /// Records under the key.
    OwnKeys,
}

impl Work {
    /// Every mode, in both directions if the cipher runs differently in them.
    fn all() -> Vec<Self> {
        let differs = |mode: Mode| {
            mode.cipher_direction(Direction::Decrypt) == Direction::Decrypt
                || mode.is_parallel(Direction::Encrypt) != mode.is_parallel(Direction::Decrypt)
        };
        let modes = Mode::ALL.into_iter().flat_map(|mode| {
            let directions = if differs(mode) { &Direction::ALL[..] } else { &Direction::ALL[..1] };
            directions.iter().map(move |&direction| Self::Mode(mode, direction))
        });
        modes.chain([Self::Cmac, Self::Stream, Self::OwnKeys]).collect()
    }

    fn admits(self, cipher: Cipher) -> bool {
        !matches!(self, Self::Mode(mode, _) if mode.admits(cipher).is_err())
    }

    fn key_bytes(self, cipher: Cipher) -> usize {
        match self {
            Self::Mode(mode, _) => mode.key_bytes(cipher),
            Self::Cmac | Self::Stream | Self::OwnKeys => cipher.key_bytes(),
        }
    }
}

/// Lengths of messages.
#[derive(Clone, Copy, Debug)]
enum Messages {
    /// After short messages alone, less of the stack is wiped.
    Short,
    ShortAndLong,
}

impl Messages {
    fn lens(self, threads: usize) -> [usize; 3] {
        match self {
            Self::Short => [20, 256, 5],
            Self::ShortAndLong => [20, if threads > 1 { 1 << 20 } else { 5000 }, 5],
        }
    }
}

/// One way to use a key.
#[derive(Clone, Debug)]
enum Case {
    /// A mode with the plan chosen under a cap, on this number of threads.
    Mode(Work, Cipher, &'static str, usize, Messages),
    /// The same on one thread, with another key in the end.
    Rekeyed(Work, Cipher, &'static str, Messages),
    /// A variant forced into the job of a mode.
    Form(Work, Cipher, String),
    Wide(Mode, wide::Rijndael, &'static str),
    /// A type that implements RustCrypto's traits.
    Trait(&'static str, &'static str),
    File(Suite, &'static str),
    FileByPassphrase(Suite),
    /// A deliberate leak in this test, which the scanner must find.
    Planted,
}

/// Groups of cases. Each group runs in its own process.
fn groups(ciphers: &'static [Cipher]) -> Vec<(String, Vec<Case>)> {
    let under = |cap| {
        let modes = Work::all()
            .into_iter()
            .flat_map(move |work| ciphers.iter().map(move |&cipher| (work, cipher)))
            .filter(|(work, cipher)| work.admits(*cipher))
            .flat_map(move |(work, cipher)| {
                let rekeyed = match work {
                    _ if ![ALL_CAP, "avx2", CAP_WITHOUT_AES].contains(&cap) => false,
                    Work::Mode(mode, _) => rekeyed::has(mode),
                    Work::Cmac => true,
                    Work::Stream | Work::OwnKeys => false,
                };
                [Messages::Short, Messages::ShortAndLong].into_iter().flat_map(move |messages| {
                    let rekeyed = rekeyed.then_some(Case::Rekeyed(work, cipher, cap, messages));
                    [Case::Mode(work, cipher, cap, 1, messages)].into_iter().chain(rekeyed)
                })
            });
        let wide = Mode::ALL.into_iter().filter(|mode| mode.entry().any_block_size).flat_map(move |mode| {
            [wide::Rijndael::Block192Key192, wide::Rijndael::Block256Key256]
                .map(|cipher| Case::Wide(mode, cipher, cap))
        });
        let traits = ["block", "ctr", "eax", "gcm"].map(|name| Case::Trait(name, cap));
        let files =
            [Suite::Aes256Gcm, Suite::Serpent256Eax, Suite::Aes256Ocb].map(|suite| Case::File(suite, cap));
        (cap.to_owned(), modes.chain(wide).chain(traits).chain(files).collect())
    };
    let forms = || {
        table().iter().filter_map(here).flat_map(|variant| {
            let of = |cipher| check::jobs(variant, cipher).into_iter().map(move |job| (cipher, job));
            let jobs = [Cipher::Aes128, Cipher::Serpent256].into_iter().flat_map(of);
            let jobs = jobs.filter(|(_, job)| !job.source.is_search());
            jobs.map(|(cipher, job)| {
                let mode = match job.source {
                    JobSource::Counter => Mode::Ctr,
                    JobSource::Mode(Fused::Gcm) => Mode::Gcm,
                    JobSource::Mode(Fused::Ocb) => Mode::Ocb,
                    JobSource::Mode(Fused::Chains) => Mode::Cbc,
                    JobSource::Mode(Fused::OwnKeys) => {
                        return Case::Form(Work::OwnKeys, cipher, variant.name.clone());
                    }
                    JobSource::Bytes | JobSource::Keys { .. } => Mode::Ecb,
                };
                Case::Form(Work::Mode(mode, job.direction), cipher, variant.name.clone())
            })
        })
    };
    let threads = Work::all().into_iter().flat_map(|work| {
        let both = [(ALL_CAP, Cipher::Aes256), (ALL_CAP, Cipher::Serpent256)].into_iter();
        let admitted = both.filter(move |(_, cipher)| work.admits(*cipher));
        admitted.map(move |(cap, cipher)| Case::Mode(work, cipher, cap, 2, Messages::ShortAndLong))
    });
    let kept = std::env::var("CROSSGRAIN_CASES").unwrap_or_default();
    let mut groups: Vec<(String, Vec<Case>)> = CAPS.into_iter().map(under).collect();
    groups.push(("forms".to_owned(), forms().collect()));
    groups.push(("threads".to_owned(), threads.collect()));
    let others = [Case::FileByPassphrase(Suite::Aes256Gcm), Case::Planted];
    for (_, cases) in &mut groups {
        cases.retain(|case: &Case| format!("{case:?}").contains(&kept));
    }
    groups.push(("others".to_owned(), others.to_vec()));
    groups
}

impl Case {
    /// The key or passphrase of case number `number`.
    fn key(&self, number: usize) -> Vec<u8> {
        let len_bytes = match self {
            Self::Mode(work, cipher, ..) | Self::Rekeyed(work, cipher, ..) | Self::Form(work, cipher, _) => {
                work.key_bytes(*cipher)
            }
            Self::Wide(_, cipher, _) => cipher.key_bytes(),
            Self::File(suite, _) => suite.key_bytes(),
            _ => 32,
        };
        painted(len_bytes, 7919 * number as u64 + 17)
    }

    /// A file sealed under that key, if the case opens one.
    fn file(&self, key: &[u8]) -> Vec<u8> {
        let (header, secret) = match self {
            Self::File(suite, _) => (Header::of_key(*suite), Secret::Key(key)),
            Self::FileByPassphrase(suite) => {
                (Header::of_passphrase(*suite, argon2id()), Secret::Passphrase(key))
            }
            _ => return Vec::new(),
        };
        let mut file = Encryptor::new(Vec::new(), &header, secret, &Options::default()).unwrap();
        file.write_all(&painted(40_000, 3)).unwrap();
        file.finish().unwrap()
    }

    /// All secrets that follow from a key.
    fn secrets(&self, key: &[u8], file: &[u8]) -> Secrets {
        let of = |cipher: Cipher| Key::new(cipher, key).unwrap();
        match *self {
            Self::Rekeyed(work, cipher, cap, messages) => {
                Self::Mode(work, cipher, cap, 1, messages).secrets(key, file)
            }
            Self::Mode(Work::Mode(Mode::Xts, _), cipher, ..) => {
                let (data, tweak) = key.split_at(cipher.key_bytes());
                let [data, tweak] = [data, tweak].map(|half| Key::new(cipher, half).unwrap());
                [secrets::of_key(&data), secrets::of_xts(&tweak, &[5, 6])].concat()
            }
            Self::Mode(Work::Mode(Mode::Siv, _), cipher, ..) => {
                let (mac, counter) = key.split_at(cipher.key_bytes());
                let [mac, counter] = [mac, counter].map(|half| Key::new(cipher, half).unwrap());
                [secrets::of_key(&mac), secrets::of_cmac(&mac), secrets::of_key(&counter)].concat()
            }
            Self::Mode(Work::Mode(Mode::Ocb, _), cipher, ..) => {
                [secrets::of_key(&of(cipher)), secrets::of_ocb(&of(cipher))].concat()
            }
            Self::Mode(Work::Mode(Mode::GcmSiv, _), cipher, ..) => {
                let nonces = [NONCE, LAST_NONCE];
                [secrets::of_key(&of(cipher)), secrets::of_gcm_siv(&of(cipher), &nonces)].concat()
            }
            Self::Mode(Work::Cmac | Work::Mode(Mode::Eax, _), cipher, ..) => {
                [secrets::of_key(&of(cipher)), secrets::of_cmac(&of(cipher))].concat()
            }
            Self::Mode(Work::Mode(Mode::Gcm, _), cipher, ..) => {
                [secrets::of_key(&of(cipher)), secrets::of_gcm(&of(cipher), &[NONCE, OTHER_NONCE])].concat()
            }
            Self::Mode(Work::OwnKeys, cipher, ..) => {
                let key = of(cipher);
                [secrets::of_key(&key), secrets::of_cmac(&key), secrets::in_lanes(&key)].concat()
            }
            Self::Mode(_, cipher, ..) | Self::Form(_, cipher, _) => secrets::of_key(&of(cipher)),
            Self::Wide(_, cipher, _) => secrets::of_wide_key(cipher.block_bytes(), key),
            Self::Trait("eax", _) => {
                [secrets::of_key(&of(Cipher::Aes256)), secrets::of_cmac(&of(Cipher::Aes256))].concat()
            }
            Self::Trait("gcm", _) => {
                [secrets::of_key(&of(Cipher::Aes256)), secrets::of_gcm(&of(Cipher::Aes256), &[NONCE])]
                    .concat()
            }
            Self::Trait(..) | Self::Planted => secrets::of_key(&of(Cipher::Aes256)),
            Self::File(suite, _) | Self::FileByPassphrase(suite) => of_file(suite, key, file),
        }
    }

    /// Runs the case from creating its object to dropping it.
    #[inline(never)]
    fn run(&self, key: &Masked, file: &[u8], alive: &dyn Fn()) {
        match self {
            Self::Mode(work, cipher, cap, threads, messages) => {
                let lens = messages.lens(*threads);
                by_work(*work, *cipher, &capped(cap, *threads), &lens, key, alive);
            }
            Self::Rekeyed(work, cipher, cap, messages) => {
                let of = match *work {
                    Work::Mode(mode, direction) => (Some(mode), direction),
                    _ => (None, Direction::Encrypt),
                };
                rekeyed::run(of, *cipher, &capped(cap, 1), &messages.lens(1), &key.plain(), alive);
            }
            Self::Form(work, cipher, variant) => {
                // Kernels for records with their own keys have no entry or exit, which would need the direction.
                let direction =
                    if let Work::Mode(_, direction) = *work { direction } else { Direction::Encrypt };
                let variant = crossgrain::engine::variant::find(variant).unwrap();
                by_work(*work, *cipher, &common::forced(variant, direction), &[20, 9000, 5], key, alive);
            }
            Self::Wide(mode, cipher, cap) => by_wide(*mode, *cipher, cap, key, alive),
            Self::Trait(name, cap) => by_trait(name, cap, key, alive),
            Self::File(_, cap) => {
                let key = key.plain();
                by_file(Secret::Key(&key), &capped(cap, 1), file, alive);
            }
            Self::FileByPassphrase(_) => {
                let passphrase = key.plain();
                by_file(Secret::Passphrase(&passphrase), &capped(ALL_CAP, 1), file, alive);
            }
            Self::Planted => {
                planted(key);
                alive();
            }
        }
    }
}

fn argon2id() -> Argon2id {
    Argon2id { memory_kib: 256, passes: 1, lanes: 2, salt: [9; 16] }
}

/// The key material of a file: the inputs to key derivation and its results (`docs/format.md`).
fn of_file(suite: Suite, secret: &[u8], file: &[u8]) -> Secrets {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let header_bytes = 13 + usize::from(file[12]);
    let (header, payload) = file.split_at(header_bytes);
    let by_passphrase = header_bytes > 13;
    let kind = if by_passphrase { Secret::Passphrase(secret) } else { Secret::Key(secret) };
    let input_key = Header::read(&mut &header[..]).unwrap().input_key(kind, &Limits::default()).unwrap();
    let info = [
        b"c2sp.org/chunked-encryption@v1+",
        suite.aead_name().as_bytes(),
        &[0],
        &payload[..24],
        header,
        &[1],
    ];
    let mut mac = Hmac::<sha2::Sha512>::new_from_slice(&input_key).unwrap();
    info.iter().for_each(|info| mac.update(info));
    let expanded = mac.finalize().into_bytes();
    let key = Key::new(suite.cipher(), &expanded[..suite.key_bytes()]).unwrap();
    let nonce = &expanded[suite.key_bytes()..][..12];
    let of_aead = match suite {
        Suite::Aes256Gcm | Suite::Aes128Gcm => secrets::of_gcm(&key, &[nonce]),
        Suite::Serpent256Eax | Suite::Aes256Eax => secrets::of_cmac(&key),
        Suite::Aes256Ocb | Suite::Serpent256Ocb => secrets::of_ocb(&key),
        Suite::Aes256GcmSiv => secrets::of_gcm_siv(&key, &[nonce]),
    };
    let of_secret = [secrets::of_bytes("input key", &input_key), secrets::of_bytes("passphrase", secret)];
    [of_secret.concat(), secrets::of_key(&key), of_aead].concat()
}

/// A masked key, so that no plain copy lies in memory.
struct Masked(Vec<u8>);

impl Masked {
    fn plain(&self) -> Zeroizing<Vec<u8>> {
        let mut key = Zeroizing::new(self.0.clone());
        key.iter_mut().for_each(|byte| *byte ^= MASK);
        key
    }

    fn of(&self, cipher: Cipher) -> Key {
        Key::new(cipher, &self.plain()).unwrap()
    }
}

/// Writes the key below the end of the stack.
#[inline(never)]
fn planted(key: &Masked) {
    let mut deep = [0; 4096];
    let len_bytes = key.0.len();
    for (place, byte) in deep[1000..].iter_mut().zip(&key.0) {
        *place = byte ^ MASK;
    }
    black_box((&mut deep, len_bytes));
}

fn sealed(mode: &impl Aead, nonces: [&[u8]; 2], pieces: &mut [Vec<u8>]) {
    for nonce in nonces {
        for piece in &mut *pieces {
            let tag = mode.seal(nonce, b"header", &mut *piece).unwrap();
            mode.open(nonce, b"header", &tag, &mut *piece).unwrap();
            let tag = mode.seal_with(nonce, &[b"header"], Buffers::in_place(piece)).unwrap();
            mode.open_with(nonce, &[b"header"], &tag, Buffers::in_place(piece)).unwrap();
        }
    }
}

/// Processes pieces of one message. In modes of sectors each piece starts anew and is used only if it is long
/// enough.
fn replaced(mode: Mode, bound: &Unauthenticated, pieces: &mut [Vec<u8>]) {
    let mut place = bound.start();
    for piece in pieces {
        let len_bytes = match mode.entry().lengths {
            Lengths::Any => piece.len(),
            Lengths::WholeBlocks => piece.len() / 16 * 16,
            Lengths::Sectors => {
                place = bound.start();
                if piece.len() < 16 { 0 } else { piece.len() }
            }
        };
        bound.apply(&mut place, &mut piece[..len_bytes]).unwrap();
    }
}

/// Several records of each length, so that adjacent lanes use the key.
fn records(own: &OwnKeys, key: &Key, pieces: &[Vec<u8>]) {
    let mut data: Vec<_> = pieces.iter().cycle().take(6 * pieces.len()).cloned().collect();
    let messages: Vec<_> = data.iter().map(|data| (key, &data[..])).collect();
    black_box(own.cmac(&messages).unwrap());
    let given = |data: &mut [Vec<u8>], work: &dyn Fn(&mut [Record<'_>])| {
        work(&mut data.iter_mut().map(|data| Record::new(key, IV, data)).collect::<Vec<_>>());
    };
    given(&mut data, &|records| own.ctr(records).unwrap());
    data.iter_mut().for_each(|data| data.truncate(data.len() / 16 * 16));
    for direction in Direction::ALL {
        given(&mut data, &|records| own.ecb(direction, records).unwrap());
        given(&mut data, &|records| own.cbc(direction, records).unwrap());
    }
}

fn by_work(work: Work, cipher: Cipher, options: &Options, lens: &[usize], key: &Masked, alive: &dyn Fn()) {
    let mut pieces: Vec<_> = lens.iter().map(|&len| vec![7; len]).collect();
    match work {
        Work::Mode(mode, _) if mode.is_authenticated() => {
            let bound = mode.aead(cipher, &key.plain(), 16, options).unwrap();
            let Initial::Nonce { usual, most, .. } = mode.entry().initial else {
                unreachable!("a tag wants a nonce")
            };
            let nonce = if usual == NONCE.len() { NONCE } else { &IV };
            let other = if most == LAST_NONCE.len() { LAST_NONCE } else { OTHER_NONCE };
            sealed(&bound, [nonce, other], &mut pieces);
            alive();
        }
        Work::Mode(mode, direction) => {
            let iv = if mode.entry().initial == Initial::Block { &IV[..] } else { &[] };
            let start = Start { iv, sector: 5, ..Start::default() };
            let bound = mode.unauthenticated(cipher, &key.plain(), direction, &start, options).unwrap();
            replaced(mode, &bound, &mut pieces);
            alive();
        }
        Work::Cmac => {
            let cmac = Cmac::with_options(&key.of(cipher), options).unwrap();
            pieces.iter().for_each(|piece| assert_ne!(black_box(cmac.tag(piece))[..], IV));
            alive();
        }
        Work::OwnKeys => {
            let own = OwnKeys::with_options(cipher, options).unwrap();
            let key = key.of(cipher);
            records(&own, &key, &pieces);
            alive();
        }
        Work::Stream => {
            let stream = Stream::with_options(&key.of(cipher), options).unwrap();
            pieces.iter_mut().for_each(|piece| stream.fill_bytes_at(3, piece));
            alive();
            let mut rng = stream.rng();
            black_box(rng.next_u64());
        }
    }
}

fn by_wide(mode: Mode, cipher: wide::Rijndael, cap: &str, key: &Masked, alive: &dyn Fn()) {
    for direction in Direction::ALL {
        let options =
            wide::Options { features: Some(cap.parse().unwrap()), threads: 1, ..wide::Options::default() };
        let key = wide::Key::new(cipher, &key.plain()).unwrap();
        let stream = wide::Stream::with_options(&key, mode, direction, &options).unwrap();
        drop(key);
        let mut state = wide::State::new(cipher, &vec![3; cipher.block_bytes()]).unwrap();
        for blocks in [1, 300, 2] {
            stream.apply(&mut state, &mut vec![7; blocks * cipher.block_bytes()]).unwrap();
        }
        if direction == Direction::Decrypt {
            alive();
        }
    }
}

fn by_trait(name: &str, cap: &str, key: &Masked, alive: &dyn Fn()) {
    let (options, key) = (capped(cap, 1), key.plain());
    let mut data = vec![7; 5000];
    match name {
        "block" => {
            let cipher = rustcrypto::Aes256::with_options(&key, &options).unwrap();
            cipher.encrypt_blocks(cipher::array::Array::slice_as_chunks_mut(&mut data).0);
            alive();
        }
        "ctr" => {
            let mut ctr = rustcrypto::Ctr::<rustcrypto::Aes256>::with_options(&key, &IV, &options).unwrap();
            ctr.apply_keystream(&mut data);
            alive();
        }
        "eax" => {
            let eax = rustcrypto::Eax::<rustcrypto::Aes256>::with_options(&key, &options).unwrap();
            aead::AeadInOut::encrypt_in_place(&eax, &IV.into(), b"header", &mut data).unwrap();
            alive();
        }
        _ => {
            let gcm = rustcrypto::Gcm::<rustcrypto::Aes256>::with_options(&key, &options).unwrap();
            let nonce: [u8; 12] = NONCE.try_into().unwrap();
            aead::AeadInOut::encrypt_in_place(&gcm, &nonce.into(), b"header", &mut data).unwrap();
            alive();
        }
    }
}

fn by_file(secret: Secret<'_>, options: &Options, file: &[u8], alive: &dyn Fn()) {
    let mut opened = Decryptor::new(Cursor::new(file), secret, &Limits::default(), options).unwrap();
    opened.read_to_end(&mut Vec::new()).unwrap();
    alive();
    drop(opened);
    // Sealing as well. Its payload keys are unknown here, so only the keys they are derived from can be
    // checked.
    let header = Header::read(&mut &file[..]).unwrap();
    let mut sealing = Encryptor::new(Vec::new(), &header, secret, options).unwrap();
    sealing.write_all(&[7; 40_000]).unwrap();
    sealing.finish().unwrap();
}

/// Called on the case's thread. Raises `phase` to an odd number and waits until the scanning thread raises it
/// again.
fn waits(phase: &AtomicU32) {
    let waiting = phase.fetch_add(1, Ordering::SeqCst) + 1;
    while phase.load(Ordering::SeqCst) == waiting {
        thread::yield_now();
    }
}

fn await_odd(phase: &AtomicU32, number: u32) {
    while phase.load(Ordering::SeqCst) != number {
        thread::yield_now();
    }
}

/// Runs a case in this process and prints the findings: for each secret the place where it was left, and the
/// secrets found while the object existed.
fn scanned(case: &Case, key: &Masked, file: &[u8], needles: &[Needle]) {
    let mut scanner = Scanner::new(needles);
    let (phase, mark) = (AtomicU32::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let local = 0_u8;
            mark.store(&raw const local as usize, Ordering::SeqCst);
            case.run(key, file, &|| {});
            signals::save_own_registers();
            waits(&phase);
            case.run(key, file, &|| waits(&phase));
        });
        await_odd(&phase, 1);
        let top = mark.load(Ordering::SeqCst);
        signals::save_registers_of_others();
        let mut told = BTreeSet::new();
        for found in scanner.scan() {
            let below = top.wrapping_sub(found.at);
            let place = if below < 1 << 20 { "below the stack".to_owned() } else { found.region };
            let depth = if below < 1 << 20 { below } else { 0 };
            if told.insert((found.name.clone(), place.clone())) {
                println!("\nleft\t{case:?}\t{}\t{place}\t{depth}", found.name);
            }
        }
        phase.fetch_add(1, Ordering::SeqCst);
        await_odd(&phase, 3);
        let names: BTreeSet<_> = scanner.scan().into_iter().map(|found| found.name).collect();
        println!("\nalive\t{case:?}\t{}\t", names.into_iter().collect::<Vec<_>>().join(";"));
        phase.fetch_add(1, Ordering::SeqCst);
    });
}

/// Runs in the child. It reads its secrets from standard input, one case at a time, so that it holds no more
/// than it needs.
fn child(ciphers: &'static [Cipher], group: &str) {
    let (_, cases) = groups(ciphers).into_iter().find(|(name, _)| name == group).unwrap();
    signals::install();
    let mut lines = std::io::stdin().lock().lines().map(Result::unwrap);
    for case in cases {
        let key = Masked(hex(&lines.next().unwrap()));
        let file = hex(&lines.next().unwrap());
        let mut needles = Vec::new();
        for line in lines.by_ref().take_while(|line| !line.is_empty()) {
            let (name, digits) = line.split_once('\t').unwrap();
            needles.push(Needle::new(name, hex(digits)));
        }
        scanned(&case, &key, &file, &needles);
    }
}

fn digits(bytes: &[u8], mask: u8, text: &mut String) {
    bytes.iter().for_each(|byte| write!(text, "{:02x}", byte ^ mask).unwrap());
}

/// The input that a child reads for a case.
fn told(number: usize, case: &Case) -> String {
    let mut text = String::new();
    let key = case.key(number);
    let file = case.file(&key);
    digits(&key, MASK, &mut text);
    text.push('\n');
    digits(&file, 0, &mut text);
    text.push('\n');
    for (name, secret) in case.secrets(&key, &file) {
        write!(text, "{name}\t").unwrap();
        digits(&secret, MASK, &mut text);
        text.push('\n');
    }
    text + "\n"
}

/// Runs a group's cases in a child and returns its output.
fn by_child(test: &str, group: &str, cases: &[Case]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(MARK, group)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            for (number, case) in cases.iter().enumerate() {
                input.write_all(told(number, case).as_bytes()).unwrap();
            }
        });
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{group}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn nothing_secret_is_left_in_memory() {
    find_nothing("nothing_secret_is_left_in_memory", CIPHERS);
}

#[test]
#[ignore = "takes minutes: `cargo xtask nightly` runs it"]
fn nothing_secret_is_left_by_any_cipher() {
    find_nothing("nothing_secret_is_left_by_any_cipher", &Cipher::ALL);
}

/// Runs all cases with these ciphers in children that run the same test, and expects them to find no secret.
fn find_nothing(test: &str, ciphers: &'static [Cipher]) {
    if let Ok(group) = std::env::var(MARK) {
        return child(ciphers, &group);
    }
    let mut cases = 0;
    let (mut left, mut unseen) = (BTreeMap::<String, Vec<String>>::new(), Vec::new());
    for (group, of_group) in groups(ciphers) {
        let said = by_child(test, &group, &of_group);
        for line in said.lines() {
            let fields: Vec<_> = line.split('\t').collect();
            match fields[..] {
                ["left", case, name, place, depth] => {
                    left.entry(case.to_owned()).or_default().push(format!("{name} {place} {depth}"));
                }
                ["alive", case, found, _] => {
                    cases += 1;
                    if !found.contains("round key") {
                        unseen.push(format!("{case}: {found}"));
                    }
                }
                _ => {}
            }
        }
    }
    let planted = left.remove("Planted").unwrap_or_default();
    assert!(planted.iter().any(|found| found.starts_with("key below the stack")), "the scanner sees nothing");
    // `OwnKeys` holds no keys after a call.
    unseen.retain(|line| !line.starts_with("Planted") && !line.contains("OwnKeys"));
    for (case, found) in &left {
        println!("{case}: {} secrets, such as {}", found.len(), found[0]);
        if std::env::var_os("CROSSGRAIN_ALL").is_some() {
            found.iter().for_each(|found| println!("    {found}"));
        }
    }
    println!("cases: {cases}, leaking: {}", left.len());
    assert!(unseen.is_empty(), "of these the scanner saw no round key: {unseen:#?}");
    assert!(left.is_empty(), "{} of {cases} cases left secrets behind", left.len());
}
