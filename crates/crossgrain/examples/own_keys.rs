//! Records with a key each: in one call, one after another, and with RustCrypto's crates. Run with `cargo run
//! --release -p crossgrain --example own_keys -- [ISA cap] [FILTER]`, for example `avx2 'aes-128 ctr'`.
//!
//! Every figure is the best of many repetitions on one thread, with the key setup included. Results are
//! compared first.

use std::error::Error;
use std::time::Instant;

use cipher::consts::U16;
use cipher::{
    BlockCipherEncrypt, BlockSizeUser, InnerIvInit, KeyInit, StreamCipher, StreamCipherCoreWrapper,
};
use crossgrain::mode::{Cbc, Cmac, Ctr, Options, OwnKeys, Record};
use crossgrain::{Cipher, Direction, Key};
use ctr::CtrCore;
use ctr::flavors::Ctr128BE;

const LENS: [usize; 6] = [16, 64, 256, 1024, 4096, 16384];

/// Total bytes of the records in a run, unless that gives too few or too many records.
const RUN_BYTES: usize = 256 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let features = std::env::args().nth(1).map(|cap| cap.parse()).transpose()?;
    let options = Options { features, threads: 1, ..Options::default() };
    println!("{:24}{}", "GB/s by bytes a record", LENS.map(|len| format!("{len:>8}")).concat());
    cipher::<aes::Aes128>(Cipher::Aes128, &options)?;
    cipher::<aes::Aes192>(Cipher::Aes192, &options)?;
    cipher::<aes::Aes256>(Cipher::Aes256, &options)?;
    cipher::<serpent::Serpent>(Cipher::Serpent256, &options)
}

/// Records of one length.
struct Records {
    keys: Vec<Key>,
    ivs: Vec<[u8; 16]>,
    data: Vec<Vec<u8>>,
}

impl Records {
    fn new(cipher: Cipher, len_bytes: usize) -> Result<Self, Box<dyn Error>> {
        let count = (RUN_BYTES / len_bytes).clamp(64, 4096);
        let (mut keys, mut ivs) = (Vec::new(), Vec::new());
        for number in 0..count {
            let byte = |at: usize| (number * 31 + at * 7 + number / 256) as u8;
            let key: Vec<_> = (0..cipher.key_bytes()).map(byte).collect();
            keys.push(Key::new(cipher, &key)?);
            ivs.push(std::array::from_fn(byte));
        }
        Ok(Self { keys, ivs, data: vec![vec![7; len_bytes]; count] })
    }

    fn given(&mut self) -> Vec<Record<'_>> {
        let parts = self.keys.iter().zip(&self.ivs).zip(&mut self.data);
        parts.map(|((key, iv), data)| Record::new(key, *iv, data)).collect()
    }

    fn one_by_one(&mut self, mut one: impl FnMut(&Key, &[u8; 16], &mut [u8])) {
        for ((key, iv), data) in self.keys.iter().zip(&self.ivs).zip(&mut self.data) {
            one(key, iv, data);
        }
    }
}

fn cipher<C: KeyInit + BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(
    cipher: Cipher,
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    let own = OwnKeys::with_options(cipher, options)?;
    row(cipher, "ctr, at once", |records| own.ctr(&mut records.given()).expect("keys of this cipher"))?;
    row(cipher, "ctr, one by one", |records| {
        records.one_by_one(|key, iv, data| {
            Ctr::with_options(key, iv, options).expect("options were taken before").apply(data);
        });
    })?;
    row(cipher, "ctr, RustCrypto", |records| {
        records.one_by_one(|key, iv, data| {
            let cipher = C::new_from_slice(key.bytes()).expect("a key of this cipher");
            let core = CtrCore::<C, Ctr128BE>::inner_iv_init(cipher, iv.into());
            StreamCipherCoreWrapper::from_core(core).apply_keystream(data);
        });
    })?;
    row(cipher, "cbc, at once", |records| {
        own.cbc(Direction::Encrypt, &mut records.given()).expect("whole blocks");
    })?;
    row(cipher, "cbc, one by one", |records| {
        records.one_by_one(|key, iv, data| {
            let cbc = Cbc::with_options(key, Direction::Encrypt, options).expect("options were taken before");
            cbc.apply(&mut (*iv).into(), data).expect("whole blocks");
        });
    })?;
    row(cipher, "cmac, at once", |records| {
        let messages: Vec<_> =
            records.keys.iter().zip(&records.data).map(|(key, data)| (key, &data[..])).collect();
        let tags = own.cmac(&messages).expect("keys of this cipher");
        records.data.iter_mut().zip(tags).for_each(|(data, tag)| data[..16].copy_from_slice(&tag));
    })?;
    row(cipher, "cmac, one by one", |records| {
        records.one_by_one(|key, _, data| {
            let tag = Cmac::with_options(key, options).expect("options were taken before").tag(data);
            data[..16].copy_from_slice(&tag);
        });
    })
}

/// Prints the speed of an implementation on records of every length. Implementations of the same mode must
/// give the same bytes.
fn row(cipher: Cipher, what: &str, mut work: impl FnMut(&mut Records)) -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(2).is_some_and(|filter| !format!("{cipher} {what}").contains(&filter)) {
        return Ok(());
    }
    let mut line = format!("{:24}", format!("{cipher} {what}"));
    for len_bytes in LENS {
        let mut records = Records::new(cipher, len_bytes)?;
        work(&mut records);
        let mut expected = Records::new(cipher, len_bytes)?;
        expected.one_by_one(|key, iv, data| match &what[..3] {
            "ctr" => Ctr::new(key, iv).expect("a cap that can be read").apply(data),
            "cbc" => {
                let cbc = Cbc::new(key, Direction::Encrypt).expect("a cap that can be read");
                cbc.apply(&mut (*iv).into(), data).expect("whole blocks");
            }
            _ => {
                let tag = Cmac::new(key).expect("a cap that can be read").tag(data);
                data[..16].copy_from_slice(&tag);
            }
        });
        assert!(records.data == expected.data, "{cipher} {what} of {len_bytes} bytes is wrong");
        let bytes = (len_bytes * records.data.len()) as f64;
        line += &format!("{:8.3}", bytes / least_ns(|| work(&mut records)));
    }
    println!("{line}");
    Ok(())
}

/// The minimum time of a call in nanoseconds, over about a fifth of a second.
fn least_ns(mut work: impl FnMut()) -> f64 {
    let (start, mut least) = (Instant::now(), f64::INFINITY);
    while start.elapsed().as_millis() < 200 {
        let start = Instant::now();
        work();
        least = least.min(start.elapsed().as_nanos() as f64);
    }
    least
}
