//! The modes under memcheck, with the plans that they choose. This covers the code that modes add to the
//! cipher, and the comparison of tags.

use std::hint::black_box;

use crossgrain::mode::{
    Aead, Cbc, Ccm, Cfb, Cfb1, Cfb8, Cmac, Gcm, Ocb, Ofb, Options, OwnKeys, Record, Xts, XtsKey,
};
use crossgrain::{Cipher, Direction, Error, Features, Key};

use super::check::LEN_BYTES;
use super::memcheck;

const IV: [u8; 16] = [0xff; 16];

/// A mode as a function of a cipher, options, key and data.
type Work = fn(Cipher, &Options, &[u8], &mut [u8]) -> Result<(), Error>;

const MODES: [(&str, Work); 16] = [
    ("cbc encrypt", |cipher, options, key, data| {
        Cbc::with_options(&Key::new(cipher, key)?, Direction::Encrypt, options)?.apply(&mut IV.into(), data)
    }),
    ("cbc decrypt", |cipher, options, key, data| {
        Cbc::with_options(&Key::new(cipher, key)?, Direction::Decrypt, options)?.apply(&mut IV.into(), data)
    }),
    ("cfb encrypt", |cipher, options, key, data| {
        Cfb::with_options(&Key::new(cipher, key)?, Direction::Encrypt, options)?.apply(&mut IV.into(), data)
    }),
    ("cfb decrypt", |cipher, options, key, data| {
        Cfb::with_options(&Key::new(cipher, key)?, Direction::Decrypt, options)?.apply(&mut IV.into(), data)
    }),
    ("cfb8 encrypt", |cipher, options, key, data| {
        Cfb8::with_options(&Key::new(cipher, key)?, Direction::Encrypt, options)?.apply(&mut IV.into(), data);
        Ok(())
    }),
    ("cfb8 decrypt", |cipher, options, key, data| {
        Cfb8::with_options(&Key::new(cipher, key)?, Direction::Decrypt, options)?.apply(&mut IV.into(), data);
        Ok(())
    }),
    ("cfb1 decrypt", |cipher, options, key, data| {
        Cfb1::with_options(&Key::new(cipher, key)?, Direction::Decrypt, options)?.apply(&mut IV.into(), data);
        Ok(())
    }),
    ("ofb", |cipher, options, key, data| {
        Ofb::with_options(&Key::new(cipher, key)?, Direction::Encrypt, options)?.apply(&mut IV.into(), data)
    }),
    // The two halves of the key are public here because they are compared: equal halves are refused.
    ("xts", |cipher, options, _, data| {
        let keys: Vec<u8> = (0..2 * cipher.key_bytes() as u8).collect();
        let key = XtsKey::new(cipher, &keys)?;
        Xts::with_options(&key, Direction::Decrypt, 512, options)?.apply(7, data)
    }),
    // EAX consists of CMAC and CTR. Its first counter block is derived from the key, but counter sources
    // treat it as public (docs/security.md), so EAX as a whole would fail here. The same holds for GCM-SIV
    // and SIV, whose counter blocks are derived from tags.
    ("cmac", |cipher, options, key, data| {
        black_box(Cmac::with_options(&Key::new(cipher, key)?, options)?.tag(data));
        Ok(())
    }),
    ("ctr and cbc encrypt by own keys", |cipher, options, key, data| {
        let (own, key) = (OwnKeys::with_options(cipher, options)?, Key::new(cipher, key)?);
        own.ctr(&mut records(&key, data))?;
        own.cbc(Direction::Encrypt, &mut records(&key, data))
    }),
    ("ecb and cbc decrypt by own keys", |cipher, options, key, data| {
        let (own, key) = (OwnKeys::with_options(cipher, options)?, Key::new(cipher, key)?);
        own.ecb(Direction::Encrypt, &mut records(&key, data))?;
        own.ecb(Direction::Decrypt, &mut records(&key, data))?;
        own.cbc(Direction::Decrypt, &mut records(&key, data))
    }),
    ("cmac by own keys", |cipher, options, key, data| {
        let (own, key) = (OwnKeys::with_options(cipher, options)?, Key::new(cipher, key)?);
        let lens = [0, 16, 100, 2000];
        black_box(own.cmac(&lens.map(|len_bytes| (&key, &data[..len_bytes])))?);
        Ok(())
    }),
    ("gcm", |cipher, options, key, data| {
        Gcm::with_options(&Key::new(cipher, key)?, 16, options)?.seal(&IV[..12], b"header", data).map(drop)
    }),
    ("ocb", |cipher, options, key, data| {
        Ocb::with_options(&Key::new(cipher, key)?, 16, options)?.seal(&IV[..12], b"header", data).map(drop)
    }),
    ("ccm", |cipher, options, key, data| {
        Ccm::with_options(&Key::new(cipher, key)?, 16, options)?.seal(&IV[..12], b"header", data).map(drop)
    }),
];

/// Records of data under a key: short ones, and one that is long for any kernel.
fn records<'a>(key: &'a Key, data: &'a mut [u8]) -> Vec<Record<'a>> {
    let (short, long) = data.split_at_mut(16 * 96);
    let short = short.chunks_mut(48);
    short.chain([long]).map(|data| Record::new(key, IV, data)).collect()
}

/// Checks every mode with every cipher, with and without AES instructions and vectors. Returns the number of
/// modes that leak.
pub(crate) fn run() -> Result<usize, Error> {
    let all = Features::of_cpu();
    let (mut tight, mut wrong) = (0, 0);
    for features in [all, all.without(Features::AES), Features::NONE] {
        let options = Options { features: Some(features), threads: 1, ..Options::default() };
        for (cipher, (mode, work)) in
            Cipher::ALL.into_iter().flat_map(|cipher| MODES.map(|mode| (cipher, mode)))
        {
            let reports = |is_secret| {
                reports(is_secret, |key, data| work(cipher, &options, &key[..cipher.key_bytes()], data))
            };
            // The first run chooses the plans. The second counts the reports without secret data.
            let [_, open, secret] = [reports(false)?, reports(false)?, reports(true)?];
            let count = secret.saturating_sub(open);
            if count > 0 {
                println!("{cipher} {mode} with {features} leaks: {count} reports");
            }
            tight += usize::from(count == 0);
            wrong += usize::from(count > 0);
        }
        wrong += tags(&options)?;
    }
    println!("counted: {tight} runs of modes that leak nothing under memcheck");
    Ok(wrong)
}

/// The verdict on a tag is public, so branches on it are allowed. The position of a wrong byte in the tag
/// must not matter. Returns 1 if it does.
fn tags(options: &Options) -> Result<usize, Error> {
    let open = |at: usize| {
        reports(true, |key, data| {
            let mode = Gcm::with_options(&Key::new(Cipher::Aes128, &key[..16])?, 16, options)?;
            let mut tag = mode.seal(&IV[..12], b"", &mut *data)?.to_vec();
            tag[at] ^= 1;
            match mode.open(&IV[..12], b"", &tag, data) {
                Ok(()) => Err(Error::NoPlan("a wrong tag was taken for right".to_owned())),
                Err(_) => Ok(()),
            }
        })
    };
    let counts = [open(0)?, open(7)?, open(15)?];
    let is_even = counts[0] == counts[1] && counts[1] == counts[2];
    if !is_even {
        println!("the comparison of tags leaks where they differ: {counts:?} reports");
    }
    Ok(usize::from(!is_even))
}

/// The number of memcheck's reports for some work.
fn reports(is_secret: bool, work: impl Fn(&[u8], &mut [u8]) -> Result<(), Error>) -> Result<u64, Error> {
    let before = memcheck::count_errors();
    let (mut key, mut data) = ([7; 32], vec![9; LEN_BYTES]);
    if is_secret {
        memcheck::make_secret(&mut key);
        memcheck::make_secret(&mut data);
    }
    work(&key, &mut data)?;
    Ok(memcheck::count_errors() - before)
}
