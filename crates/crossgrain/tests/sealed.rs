//! Authenticated modes: published answers, the reference's bytes at every length and on any number of
//! threads, and refused inputs and forgeries.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod authenticated;
mod common;

use std::fmt::Display;

use authenticated::{authenticated, ciphers, few_caps, key_of, nonce_bytes};
use common::{ALL_CAP, CAP_WITHOUT_AES, CAPS, capped, counted, forced, here, hex, known_caps, painted};
use crossgrain::engine::arch::FEATURE_NAMES;
use crossgrain::engine::block::Family;
use crossgrain::engine::check;
use crossgrain::engine::variant::table;
use crossgrain::mode::{Aead, AeadMessage, Initial, Mode, Options, Start, Tag};
use crossgrain::{Block, Cipher, Direction, Error, Features};

use Direction::{Decrypt, Encrypt};

/// The parameters under which a message is sealed.
#[derive(Clone, Copy)]
struct Setting<'a> {
    mode: Mode,
    cipher: Cipher,
    key: &'a [u8],
    nonce: &'a [u8],
    aad: &'a [u8],
}

impl Setting<'_> {
    fn engine(&self, tag_bytes: usize, options: &Options) -> Box<dyn Aead> {
        self.mode.aead(self.cipher, self.key, tag_bytes, options).unwrap()
    }

    /// Runs the reference in place. `tag` has the tag's length; decryption that begins with the tag (SIV)
    /// also reads its bytes.
    fn reference(&self, direction: Direction, tag: &[u8], data: &mut [u8]) -> Tag {
        let Self { mode, cipher, key, nonce, aad } = *self;
        let (by, start) = ((cipher, key), Start { iv: nonce, ..Start::default() });
        let made = check::mode_by_reference(mode, by, direction, &start, aad, tag, data).unwrap();
        Tag::try_from(&made.unwrap()[..tag.len()]).unwrap()
    }
}

#[test]
fn published_answers() {
    let (mut mode, mut count) = (Mode::Gcm, 0);
    for line in include_str!("published/sealed.txt").lines() {
        if let Some(heading) = line.strip_prefix('[') {
            mode = heading.split(':').next().unwrap().parse().unwrap();
            continue;
        }
        let fields: Vec<_> = line.split(' ').map(|field| field.trim_matches('-')).collect();
        let [key, nonce, aad, plain, sealed] = fields[..] else { continue };
        if line.starts_with('#') {
            continue;
        }
        let [key, nonce, aad, plain, sealed] = [key, nonce, aad, plain, sealed].map(hex);
        let of_key = |cipher: &Cipher| mode.key_bytes(*cipher) == key.len();
        let aes = Cipher::ALL.into_iter().filter(|cipher| cipher.family() == Family::Aes);
        let cipher = aes.into_iter().find(of_key).unwrap();
        let setting = Setting { mode, cipher, key: &key, nonce: &nonce, aad: &aad };
        let (crypt, tag) = sealed.split_at(plain.len());
        for (direction, from, to) in [(Encrypt, &plain[..], crypt), (Decrypt, crypt, &plain)] {
            let mut data = from.to_vec();
            assert_eq!(setting.reference(direction, tag, &mut data)[..], *tag, "{line} by the reference");
            assert_eq!(data, to, "{line} by the reference");
        }
        for options in CAPS.map(|cap| capped(cap, 1)) {
            let (engine, mut data) = (setting.engine(tag.len(), &options), plain.clone());
            assert_eq!(engine.seal(&nonce, &aad, &mut data).unwrap()[..], *tag, "{line}");
            assert_eq!(data, crypt, "{line}");
            engine.open(&nonce, &aad, tag, &mut data).unwrap();
            assert_eq!(data, plain, "{line}");
        }
        count += 1;
    }
    counted(count, "known answers");
    assert!(count > 50, "{count}");
}

/// RFC 7253, appendix A: the iterated test, by key length and tag length in bytes.
const OCB_ITERATED: [(Cipher, usize, &str); 9] = [
    (Cipher::Aes128, 16, "67e944d23256c5e0b6c61fa22fdf1ea2"),
    (Cipher::Aes192, 16, "f673f2c3e7174aae7bae986ca9f29e17"),
    (Cipher::Aes256, 16, "d90eb8e9c977c88b79dd793d7ffa161c"),
    (Cipher::Aes128, 12, "77a3d8e73589158d25d01209"),
    (Cipher::Aes192, 12, "05d56ead2752c86be6932c5e"),
    (Cipher::Aes256, 12, "5458359ac23b0cba9e6330dd"),
    (Cipher::Aes128, 8, "192c9b7bd90ba06a"),
    (Cipher::Aes192, 8, "0066bc6e0ef34e24"),
    (Cipher::Aes256, 8, "7d4ea5d445501cbe"),
];

#[test]
fn ocb_of_all_that_was_sealed_before() {
    for ((cipher, tag_bytes, want), cap) in
        OCB_ITERATED.into_iter().flat_map(|case| CAPS.map(|cap| (case, cap)))
    {
        let mut key = vec![0; cipher.key_bytes()];
        *key.last_mut().unwrap() = 8 * tag_bytes as u8;
        let ocb = Mode::Ocb.aead(cipher, &key, tag_bytes, &capped(cap, 1)).unwrap();
        let (mut all, mut number) = (Vec::new(), 0_u32);
        let mut seal = |aad: &[u8], plain: &[u8]| {
            number += 1;
            let nonce = [&[0; 8], &number.to_be_bytes()[..]].concat();
            let mut data = plain.to_vec();
            let tag = ocb.seal(&nonce, aad, &mut data).unwrap();
            [&data[..], &tag].concat()
        };
        for len in 0..128 {
            let zeros = vec![0; len];
            all.extend(seal(&zeros, &zeros));
            all.extend(seal(&[], &zeros));
            all.extend(seal(&zeros, &[]));
        }
        assert_eq!(seal(&all, &[]), hex(want), "{cipher}, tags of {tag_bytes} bytes, {cap}");
    }
}

#[test]
fn messages_of_every_length_are_the_references() {
    let lens = (0..=300).chain([511 * 16, 512 * 16, 513 * 16 + 5, 20_003, 140_007]);
    let mut count = 0;
    for (mode, len) in authenticated().flat_map(|mode| lens.clone().map(move |len| (mode, len))) {
        let Initial::Nonce { least, usual, most } = mode.entry().initial else { panic!("{mode}: no nonce") };
        let tags = mode.entry().tag_bytes;
        for cipher in ciphers(mode).filter(|cipher| len < 5000 || *cipher != Cipher::Aes256) {
            // Nonce and tag lengths vary with the message length. CCM allows only one nonce length for the
            // longest messages.
            let (nonce_len, tag_bytes) = (least + len % (most.min(20) - least + 1), tags[len % tags.len()]);
            let nonce = painted(if len > 60_000 { usual } else { nonce_len }, len as u64);
            let (key, aad) = (key_of(mode, cipher), painted(len * 7 % 90, 2));
            let setting = Setting { mode, cipher, key: &key, nonce: &nonce, aad: &aad };
            let (plain, mut want) = (painted(len, 3), painted(len, 3));
            let tag = setting.reference(Encrypt, &[0; 16][..tag_bytes], &mut want);
            for (cap, options) in few_caps() {
                let what = format!("{mode} {cipher} {cap}, {len} bytes, nonce of {}", nonce.len());
                let engine = setting.engine(tag_bytes, &options);
                let (mut data, mut apart) = (plain.clone(), vec![7; len]);
                assert_eq!(engine.seal(&nonce, &aad, &mut data).unwrap(), tag, "{what}");
                assert!(data == want, "{what}, in place");
                assert_eq!(engine.seal(&nonce, &aad, (&plain, &mut apart)).unwrap(), tag, "{what}");
                assert!(apart == want, "{what}, apart");
                engine.open(&nonce, &aad, &tag, &mut data).unwrap();
                assert!(data == plain, "{what}, opened in place");
                engine.open(&nonce, &aad, &tag, (&want, &mut apart)).unwrap();
                assert!(apart == plain, "{what}, opened apart");
                count += 1;
            }
        }
    }
    counted(count, "messages compared with the reference");
}

/// Long associated data, which no other test covers.
#[test]
fn long_associated_data() {
    for (mode, len) in
        authenticated().flat_map(|mode| [1023, 1024, 65_279, 65_280, 70_001].map(|len| (mode, len)))
    {
        for cipher in ciphers(mode) {
            let (key, aad, nonce) = (key_of(mode, cipher), painted(len, 1), painted(nonce_bytes(mode)[1], 2));
            let setting = Setting { mode, cipher, key: &key, nonce: &nonce, aad: &aad };
            let mut want = painted(50, 3);
            let tag = setting.reference(Encrypt, &[0; 16], &mut want);
            for (cap, options) in few_caps() {
                let mut data = painted(50, 3);
                let made = setting.engine(16, &options).seal(&nonce, &aad, &mut data).unwrap();
                assert_eq!((made, &data), (tag, &want), "{mode} {cipher} {cap}, {len} bytes");
            }
        }
    }
}

/// Messages under one key with the reference's answers.
struct Expected {
    mode: Mode,
    cipher: Cipher,
    key: Vec<u8>,
    messages: Vec<Answer>,
}

struct Answer {
    nonce: Vec<u8>,
    aad: Vec<u8>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    tag: Tag,
}

/// Lengths around block, register and eight-register sizes at every width, and long lengths with tails.
const LENGTHS: [usize; 18] =
    [0, 1, 16, 37, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 529, 1100, 2049, 4131];

impl Expected {
    fn new(mode: Mode, cipher: Cipher) -> Self {
        let key = key_of(mode, cipher);
        let answer = |(i, len): (usize, usize)| {
            let (nonce, plain) = (painted(nonce_bytes(mode)[1], i as u64), painted(len, 3));
            let aad = painted([0, 13, 16, 33, 400][i % 5], 2);
            let mut sealed = plain.clone();
            let setting = Setting { mode, cipher, key: &key, nonce: &nonce, aad: &aad };
            let tag = setting.reference(Encrypt, &[0; 16], &mut sealed);
            Answer { nonce, aad, plain, sealed, tag }
        };
        let messages = LENGTHS.into_iter().enumerate().map(answer).collect();
        Self { mode, cipher, key, messages }
    }

    /// Checks a mode against these answers, one message at a time and all at once, and checks that it detects
    /// a wrong tag. `None` if the options leave no plan.
    fn holds(&self, options: &Options, by: &dyn Display) -> Option<()> {
        let engine = self.mode.aead(self.cipher, &self.key, 16, options).ok()?;
        let what = |len: usize| format!("{} {} by {by}, {len} bytes", self.mode, self.cipher);
        for Answer { nonce, aad, plain, sealed, tag } in &self.messages {
            let (mut data, mut apart) = (plain.clone(), vec![7; plain.len()]);
            let made = engine.seal(nonce, aad, &mut data).unwrap();
            assert!((made, &data) == (*tag, sealed), "{}", what(plain.len()));
            engine.open(nonce, aad, tag, (sealed, &mut apart)).unwrap();
            assert!(apart == *plain, "{}, opened", what(plain.len()));
        }
        let mut data: Vec<_> = self.messages.iter().map(|answer| answer.plain.clone()).collect();
        let places = self.messages.iter().zip(&mut data);
        let mut messages: Vec<_> = places.map(|(answer, data)| answer.message(data)).collect();
        engine.seal_many(&mut messages).unwrap();
        for (message, answer) in messages.iter().zip(&self.messages) {
            let made = (message.tag, message.buffers.input());
            assert!(made == (answer.tag, &answer.sealed), "{}, of many", what(answer.plain.len()));
        }
        let forged = messages.len() / 2;
        let mut tag = messages[forged].tag.to_vec();
        tag[3] ^= 1;
        messages[forged].tag = Tag::try_from(&tag[..]).unwrap();
        let opened = engine.open_many(&mut messages).unwrap();
        drop(messages);
        for (i, (answer, opened)) in self.messages.iter().zip(opened).enumerate() {
            let (want, bytes) = match i == forged {
                true => (Err(Error::Forged), left(self.mode, &answer.sealed)),
                false => (Ok(()), answer.plain.clone()),
            };
            assert!((opened, &data[i]) == (want, &bytes), "{}, opened of many", what(answer.plain.len()));
        }
        Some(())
    }
}

impl Answer {
    fn message<'a>(&'a self, data: &'a mut Vec<u8>) -> AeadMessage<'a> {
        AeadMessage::new(&self.nonce, &self.aad, data)
    }
}

/// Each variant of the cipher in turn, for example AES on registers narrower than those of the mode's hash.
/// The key sizes rotate.
#[test]
fn any_form_of_the_cipher_gives_the_same() {
    let mut count = 0;
    for mode in authenticated() {
        let admitted = Cipher::ALL.into_iter().filter(|&cipher| mode.admits(cipher).is_ok());
        let expected: Vec<_> = admitted.map(|cipher| Expected::new(mode, cipher)).collect();
        for (number, variant) in table().iter().filter_map(here).enumerate() {
            // A job of the mode that can use the variant.
            let fitting = |cipher| {
                let births: Vec<_> = mode.jobs(cipher, Encrypt).into_iter().map(|job| job.source).collect();
                check::jobs(variant, cipher).into_iter().find(|job| births.contains(&job.source))
            };
            let fit: Vec<_> = expected.iter().filter(|expected| fitting(expected.cipher).is_some()).collect();
            let Some(expected) = fit.get(number % fit.len().max(1)) else { continue };
            let Some(job) = fitting(expected.cipher) else { continue };
            // A mode with secret counters refuses variants that look up tables by the counter.
            if expected.holds(&forced(variant, job.direction), &variant.name).is_some() {
                count += 1;
            }
        }
    }
    counted(count, "modes by a form of their cipher");
    assert!(count > 20, "{count}");
}

/// Every set of features that options can name and that this CPU has.
fn feature_sets() -> Vec<Features> {
    let mut sets = Vec::new();
    for number in 0..1 << FEATURE_NAMES.len() {
        let parts = FEATURE_NAMES.into_iter().enumerate().filter(|(i, _)| number >> i & 1 == 1);
        let set = parts.fold(Features::NONE, |set, (_, (part, _))| set | part) & Features::of_cpu();
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// Every mode with every cipher under sets of features: every `step`-th combination, at least one per cipher.
fn under_feature_sets(step: usize) {
    let (sets, mut count, mut number) = (feature_sets(), 0, 0);
    let step = step.min(sets.len());
    for (mode, cipher) in authenticated().flat_map(|mode| Cipher::ALL.map(|cipher| (mode, cipher))) {
        if mode.admits(cipher).is_err() {
            continue;
        }
        let expected = Expected::new(mode, cipher);
        for set in &sets {
            number += 1;
            if number % step == 0 {
                let options = Options { features: Some(*set), threads: 1, ..Options::default() };
                expected.holds(&options, set).expect("every set leaves a plan");
                count += 1;
            }
        }
    }
    counted(count, "modes under a set of CPU features");
    assert!(count > 50, "{count}");
}

/// A sample that runs every cipher in every mode under several sets.
#[test]
fn some_feature_sets_give_the_same() {
    under_feature_sets(151);
}

#[test]
#[ignore = "minutes: `cargo xtask nightly` runs it"]
fn all_feature_sets_give_the_same() {
    under_feature_sets(1);
}

/// The contents of the output buffer after a message was not opened.
fn left(mode: Mode, before: &[u8]) -> Vec<u8> {
    if mode.entry().wipes_forged { vec![0; before.len()] } else { before.to_vec() }
}

#[test]
fn every_flipped_bit_is_found_out() {
    for (mode, len) in authenticated().flat_map(|mode| [0, 5, 16, 37].map(|len| (mode, len))) {
        let cipher = ciphers(mode).last().unwrap();
        let (key, nonce, aad) = (key_of(mode, cipher), painted(nonce_bytes(mode)[1], 1), painted(19, 2));
        let engine = mode.aead(cipher, &key, 16, &Options { threads: 1, ..Options::default() }).unwrap();
        let mut crypt = painted(len, 3);
        let tag = engine.seal(&nonce, &aad, &mut crypt).unwrap();
        let parts = [&nonce[..], &aad, &crypt, &tag];
        for (part, bit) in (0..4).flat_map(|part| (0..8 * parts[part].len()).map(move |bit| (part, bit))) {
            let mut forged = parts.map(<[u8]>::to_vec);
            forged[part][bit / 8] ^= 1 << (bit % 8);
            let [nonce, aad, crypt, tag] = &forged;
            let mut data = crypt.clone();
            assert_eq!(engine.open(nonce, aad, tag, &mut data), Err(Error::Forged), "{mode} {part} {bit}");
            assert_eq!(data, left(mode, crypt), "{mode} {part} {bit}, in place");
            let mut apart = vec![0xa5; len];
            let opened = engine.open(nonce, aad, tag, (crypt, &mut apart));
            assert_eq!(opened, Err(Error::Forged), "{mode} {part} {bit}");
            assert_eq!(apart, left(mode, &vec![0xa5; len]), "{mode} {part} {bit}, apart");
        }
        engine.open(&nonce, &aad, &tag, &mut crypt).unwrap();
        assert_eq!(crypt, painted(len, 3), "{mode}");
    }
}

/// Each error is a single line of text, and nothing is written.
#[test]
fn what_no_mode_takes_is_refused() {
    for mode in authenticated() {
        let cipher = ciphers(mode).next().unwrap();
        let key = key_of(mode, cipher);
        let [least, usual, most] = nonce_bytes(mode);
        let engine = mode.aead(cipher, &key, 16, &Options::default()).unwrap();
        let mut data = [9; 40];
        for nonce_bytes in (0..=40).filter(|count| !(least..=most).contains(count)) {
            let nonce = vec![1; nonce_bytes];
            let want = match nonce_bytes {
                0 => Error::EmptyNonce,
                len_bytes => Error::NonceBytes { mode: mode.name(), least, most, len_bytes },
            };
            assert_eq!(engine.seal(&nonce, b"", &mut data), Err(want.clone()), "{mode}");
            assert_eq!(engine.open(&nonce, b"", &[0; 16], &mut data), Err(want.clone()), "{mode}");
            assert_eq!(want.to_string().lines().count(), 1);
        }
        let nonce = vec![1; usual];
        for tag_bytes in (0..16).chain([17, 32]) {
            let opened = engine.open(&nonce, b"", &vec![0; tag_bytes], &mut data);
            assert_eq!(opened, Err(Error::TagBytes { len_bytes: tag_bytes }), "{mode}");
        }
        assert_eq!(data, [9; 40], "{mode}");
    }
}

#[test]
fn ciphers_that_a_mode_is_not_defined_for_are_refused() {
    for mode in Mode::ALL {
        for cipher in Cipher::ALL {
            let (key, start) = (key_of(mode, cipher), Start { iv: &[0; 16], ..Start::default() });
            let refused = match mode.is_authenticated() {
                true => mode.aead(cipher, &key, 16, &Options::default()).err(),
                false => mode.unauthenticated(cipher, &key, Encrypt, &start, &Options::default()).err(),
            };
            let is_unfit = matches!(refused, Some(Error::UnfitCipher { .. }));
            assert_eq!(is_unfit, mode.admits(cipher).is_err(), "{mode} {cipher}: {refused:?}");
            if let Some(line) = refused.filter(|_| is_unfit).map(|error| error.to_string()) {
                assert!(line.contains(mode.name()) && line.contains(cipher.name()), "{line}");
                assert!(line.contains("aes-256") && line.lines().count() == 1, "{line}");
            }
        }
    }
}

/// Messages that may be processed as a group, with lengths around the group limits. Associated data covers no
/// bytes, part of a block, a block and many blocks; some messages are forged.
#[test]
fn short_messages_go_together_as_they_go_alone() {
    let known = known_caps(["avx2", "sse2", "avx512-aes", "neon-sha3", CAP_WITHOUT_AES]);
    let caps = [(ALL_CAP, 12), (ALL_CAP, 16)].into_iter().chain(known.into_iter().map(|cap| (cap, 16)));
    let caps: Vec<_> = caps.collect();
    let settings = authenticated().flat_map(|mode| ciphers(mode).map(move |cipher| (mode, cipher)));
    for ((mode, cipher), (cap, tag_bytes)) in
        settings.flat_map(|setting| caps.iter().map(move |cap| (setting, *cap)))
    {
        let Ok(engine) = mode.aead(cipher, &key_of(mode, cipher), tag_bytes, &capped(cap, 1)) else {
            continue;
        };
        let nonces: Vec<_> = (0..182).map(|i| painted(nonce_bytes(mode)[1], i)).collect();
        let plain: Vec<_> = (0..182).map(|i| painted(short_bytes(i, 37), i as u64)).collect();
        let aads: Vec<_> = (0..182).map(|i| painted(short_bytes(i, 91), 7)).collect();
        let mut alone = plain.clone();
        let seal = |(i, data): (usize, &mut Vec<u8>)| engine.seal(&nonces[i], &aads[i], data).unwrap();
        let mut tags: Vec<Tag> = alone.iter_mut().enumerate().map(seal).collect();

        let mut data = plain.clone();
        let mut messages = messages(&nonces, &[], &mut data);
        messages.iter_mut().zip(&aads).for_each(|(message, aad)| message.aad = aad);
        engine.seal_many(&mut messages).unwrap();
        assert!(
            messages.iter().map(|message| message.tag).eq(tags.iter().copied()),
            "{mode} {cap} {tag_bytes}"
        );
        for i in (2..150).step_by(7) {
            let mut tag = tags[i].to_vec();
            tag[i % tag_bytes] ^= 1 << (i % 8);
            tags[i] = Tag::try_from(&tag[..]).unwrap();
            messages[i].tag = tags[i];
        }
        // In place, like the sealing.
        let opened = engine.open_many(&mut messages).unwrap();
        drop(messages);
        for (i, opened) in opened.into_iter().enumerate() {
            let (want, bytes) = match i % 7 {
                2 if i < 150 => (Err(Error::Forged), left(mode, &alone[i])),
                _ => (Ok(()), plain[i].clone()),
            };
            assert!(opened == want && data[i] == bytes, "{mode} {cap} {tag_bytes}, message {i}: {opened:?}");
        }
    }
}

/// First lengths around blocks and registers, then any length, then groups of at most two blocks.
fn short_bytes(i: usize, step: usize) -> usize {
    match i {
        ..48 => [0, 1, 16, 63, 64, 65, 13, 32][(i * step) % 8],
        48..128 => i * step % 290,
        _ => i * step % 33,
    }
}

/// One long message, many short messages, and many with one forged among them.
#[test]
fn threads_make_no_difference() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.install(|| {
        let settings = authenticated().flat_map(|mode| ciphers(mode).map(move |cipher| (mode, cipher)));
        for ((mode, cipher), cap) in
            settings.flat_map(|setting| [ALL_CAP, CAP_WITHOUT_AES].map(|cap| (setting, cap)))
        {
            let (key, aad) = (key_of(mode, cipher), painted(33, 1));
            let [one, three] =
                [1, 3].map(|threads| mode.aead(cipher, &key, 16, &capped(cap, threads)).unwrap());
            let nonce = painted(nonce_bytes(mode)[1], 2);
            let plain = painted(1_200_003, 3);
            let (mut by_one, mut by_three) = (plain.clone(), vec![0; plain.len()]);
            let tag = one.seal(&nonce, &aad, &mut by_one).unwrap();
            assert_eq!(three.seal(&nonce, &aad, (&plain, &mut by_three)).unwrap(), tag, "{mode} {cap}");
            assert!(by_one == by_three, "{mode} {cap}");
            three.open(&nonce, &aad, &tag, &mut by_three).unwrap();
            assert!(by_three == plain, "{mode} {cap}");
            one.open(&nonce, &aad, &tag, &mut by_one).unwrap();
            assert!(by_one == plain, "{mode} {cap}");
            many(mode, &*one, &*three, &aad);
        }
    });
}

/// Messages of many lengths.
fn many(mode: Mode, one: &dyn Aead, three: &dyn Aead, aad: &[u8]) {
    let nonces: Vec<_> = (0..150).map(|i| painted(nonce_bytes(mode)[1], i)).collect();
    let plain: Vec<_> = (0..150).map(|i| painted(i * i % 9001, 4)).collect();
    let mut data = plain.clone();
    let sealed = |data: &mut [Vec<u8>], by: &dyn Aead| -> Vec<Tag> {
        let mut messages = messages(&nonces, aad, data);
        by.seal_many(&mut messages).unwrap();
        messages.iter().map(|message| message.tag).collect()
    };
    let (mut by_one, mut tags) = (plain.clone(), sealed(&mut data, three));
    assert_eq!(sealed(&mut by_one, one), tags, "{mode}");
    assert!(data == by_one, "{mode}");
    tags[77] = Tag::try_from(&tags[77][..15]).unwrap();
    tags[78] = Block::try_from(&tags[79][..]).unwrap().into();
    let mut sealed = messages(&nonces, aad, &mut data);
    sealed.iter_mut().zip(&tags).for_each(|(message, tag)| message.tag = *tag);
    let opened = three.open_many(&mut sealed).unwrap();
    drop(sealed);
    for (i, opened) in opened.into_iter().enumerate() {
        let (want, bytes) = match i {
            77 => (Err(Error::TagBytes { len_bytes: 15 }), by_one[i].clone()),
            78 => (Err(Error::Forged), left(mode, &by_one[i])),
            _ => (Ok(()), plain[i].clone()),
        };
        assert_eq!(opened, want, "{mode}, message {i}");
        assert!(data[i] == bytes, "{mode}, message {i}");
    }
}

fn messages<'a>(nonces: &'a [Vec<u8>], aad: &'a [u8], data: &'a mut [Vec<u8>]) -> Vec<AeadMessage<'a>> {
    nonces.iter().zip(data).map(|(nonce, data)| AeadMessage::new(nonce, aad, data)).collect()
}
