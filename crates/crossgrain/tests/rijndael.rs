//! Rijndael with 192-bit and 256-bit blocks. The reference must give the published answers, every variant
//! must agree with the reference, and modes must follow their definitions.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeSet;

use common::{CAPS, cases, counted, hex, painted, skip};
use crossgrain::engine::cipher::rijndael::reference::rijndael;
use crossgrain::engine::cipher::rijndael::search::Known;
use crossgrain::engine::reference::BlockCipher;
use crossgrain::mode::{Lengths, Mode};
use crossgrain::plan::TableReuse;
use crossgrain::wide::{Key, Options, Rijndael, State, Stream, Variant, search, variants};
use crossgrain::{Direction, Error, Features};
use proptest::prelude::{any, prop_assert_eq, proptest};
use proptest::sample::select;

/// A key, a plaintext block and its ciphertext.
struct Answer {
    key: Vec<u8>,
    plain: Vec<u8>,
    crypt: Vec<u8>,
}

/// The answers in `published/rijndael-ecb.txt`.
fn published() -> Vec<Answer> {
    let lines = include_str!("published/rijndael-ecb.txt").lines();
    let answers = lines.filter(|line| !line.starts_with(['#', '[']) && !line.is_empty()).map(|line| {
        let [key, plain, crypt] = line.split(' ').map(hex).collect::<Vec<_>>().try_into().unwrap();
        Answer { key, plain, crypt }
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), 7);
    answers
}

/// The cipher with these block and key lengths.
fn cipher(block_bytes: usize, key_bytes: usize) -> Rijndael {
    let fits = |cipher: &Rijndael| cipher.block_bytes() == block_bytes && cipher.key_bytes() == key_bytes;
    Rijndael::ALL.into_iter().find(fits).unwrap()
}

/// The variants that encrypt or decrypt blocks and that this CPU can run, with the direction and block size from
/// their names.
fn available() -> Vec<(Variant, Direction, usize)> {
    let is_search = |variant: &Variant| variant.name.contains("-search");
    let here = |variant: &Variant| {
        let is_here = Features::of_cpu().contains(variant.needs);
        if !is_here {
            skip(variant.isa, &variant.name);
        }
        is_here
    };
    let told = |variant: Variant| {
        let direction = Direction::ALL.into_iter().find(|direction| variant.name.contains(direction.name()));
        let block_bytes = if variant.name.starts_with("rijndael192-") { 24 } else { 32 };
        (variant, direction.unwrap(), block_bytes)
    };
    variants().into_iter().filter(|variant| !is_search(variant)).filter(here).map(told).collect()
}

/// Every search finds a key in every lane, in tables of both uses, by whole blocks and by a few bits.
#[test]
fn searches_find_a_key_in_every_lane() {
    let mut count = 0;
    for variant in variants().into_iter().filter(|variant| variant.name.contains("-search")) {
        if !Features::of_cpu().contains(variant.needs) {
            skip(variant.isa, &variant.name);
            continue;
        }
        let direction =
            if variant.name.contains("-decrypt/") { Direction::Decrypt } else { Direction::Encrypt };
        let block_bytes = if variant.name.starts_with("rijndael192-") { 24 } else { 32 };
        for (seed, cipher) in
            (0..).zip(Rijndael::ALL.into_iter().filter(|one| one.block_bytes() == block_bytes))
        {
            let (key_bytes, lanes) = (cipher.key_bytes(), variant.bundle_blocks);
            let keys = painted((2 * lanes + 3) * key_bytes, seed);
            let outer = painted(key_bytes, seed + 10);
            for planted in 0..2 * lanes + 3 {
                let inner = &keys[planted * key_bytes..][..key_bytes];
                let key: Vec<u8> = outer.iter().zip(inner).map(|(a, b)| a ^ b).collect();
                let (input, by) = (painted(block_bytes, seed + 20), rijndael(block_bytes, &key));
                let mut output = input.clone();
                match direction {
                    Direction::Encrypt => by.encrypt(&mut output),
                    Direction::Decrypt => by.decrypt(&mut output),
                }
                let mut mask = vec![0xff; block_bytes];
                if planted % 2 == 1 {
                    // The other bits are wrong.
                    mask[3..].fill(0);
                    output[3..].fill(0x5a);
                }
                let known = Known { direction, input, output, mask };
                let (name, part) = search(cipher, &known, variant.needs, Some(&variant.name)).unwrap();
                assert_eq!((name.as_str(), part.lanes()), (variant.name.as_str(), lanes));
                for usage in TableReuse::ALL {
                    let (mut scratch, mut found) = (Vec::new(), Vec::new());
                    part.inner(&keys, usage).search(&outer, &mut scratch, &mut found);
                    assert_eq!(found, [planted], "{} {cipher} {usage:?}", variant.name);
                    count += 1;
                }
            }
        }
    }
    counted(count, "keys found");
}

#[test]
fn a_search_takes_blocks_of_its_cipher() {
    let block = |len_bytes| vec![0; len_bytes];
    let known = |len_bytes| Known {
        direction: Direction::Encrypt,
        input: block(len_bytes),
        output: block(len_bytes),
        mask: block(len_bytes),
    };
    let refused = search(Rijndael::Block192Key192, &known(32), Features::of_cpu(), None).err().unwrap();
    assert!(refused.to_string().contains("not 32"), "{refused}");
    let other = "rijndael256-search/bitsliced32/portable";
    let refused = search(Rijndael::Block192Key192, &known(24), Features::of_cpu(), Some(other)).err();
    assert_eq!(refused, Some(Error::UnknownVariant(other.to_owned())));
    assert!(search(Rijndael::Block192Key192, &known(24), Features::NONE, None).is_ok());
}

/// ECB with one forced variant.
fn forced(variant: &Variant, direction: Direction, cipher: Rijndael, key: &[u8], data: &mut [u8]) {
    let options = Options { variants: vec![variant.name.clone()], threads: 1, ..Options::default() };
    let stream =
        Stream::with_options(&Key::new(cipher, key).unwrap(), Mode::Ecb, direction, &options).unwrap();
    assert_eq!(stream.variants(), [(variant.name.as_str(), variant.bundle_blocks)]);
    stream.apply(&mut zeros(cipher), data).unwrap();
}

fn zeros(cipher: Rijndael) -> State {
    State::new(cipher, &vec![0; cipher.block_bytes()]).unwrap()
}

/// A mode after SP 800-38A, block by block with the reference.
fn defined(mode: Mode, direction: Direction, cipher: Rijndael, key: &[u8], iv: &[u8], data: &mut [u8]) {
    let by = rijndael(cipher.block_bytes(), key);
    let encrypts = direction == Direction::Encrypt;
    let mut state = iv.to_vec();
    if let Some(bits) = mode.segment_bits() {
        return segments_defined(bits, direction, &*by, state, data);
    }
    let add = |to: &mut [u8], bytes: &[u8]| to.iter_mut().zip(bytes).for_each(|(to, byte)| *to ^= byte);
    for block in data.chunks_mut(cipher.block_bytes()) {
        let input = block.to_vec();
        match mode {
            Mode::Ecb if encrypts => by.encrypt(block),
            Mode::Ecb => by.decrypt(block),
            Mode::Cbc if encrypts => {
                add(block, &state);
                by.encrypt(block);
                state = block.to_vec();
            }
            Mode::Cbc => {
                by.decrypt(block);
                add(block, &state);
                state = input;
            }
            Mode::Cfb => {
                by.encrypt(&mut state);
                add(block, &state);
                state = if encrypts { block.to_vec() } else { input };
            }
            Mode::Ofb => {
                by.encrypt(&mut state);
                add(block, &state);
            }
            Mode::Ctr => {
                let mut keystream = state.clone();
                by.encrypt(&mut keystream);
                add(block, &keystream);
                for byte in state.iter_mut().rev() {
                    *byte = byte.wrapping_add(1);
                    if *byte != 0 {
                        break;
                    }
                }
            }
            _ => unreachable!("{mode} is defined for blocks of 16 bytes alone"),
        }
    }
}

/// CFB-8 and CFB-1 after SP 800-38A, with the register as a list of bits.
fn segments_defined(bits: usize, direction: Direction, by: &dyn BlockCipher, iv: Vec<u8>, data: &mut [u8]) {
    let bit = |bytes: &[u8], i: usize| bytes[i / 8] >> (7 - i % 8) & 1;
    let width = 8 * iv.len();
    let mut register: Vec<u8> = (0..width).map(|i| bit(&iv, i)).collect();
    for first in (0..8 * data.len()).step_by(bits) {
        let number = |byte: &[u8]| byte.iter().fold(0, |number, bit| number << 1 | bit);
        let mut block: Vec<u8> = register.chunks(8).map(number).collect();
        by.encrypt(&mut block);
        register.drain(..bits);
        for i in 0..bits {
            let (input, keystream) = (bit(data, first + i), bit(&block, i));
            register.push(if direction == Direction::Encrypt { input ^ keystream } else { input });
            data[(first + i) / 8] ^= keystream << (7 - (first + i) % 8);
        }
    }
}

#[test]
fn the_reference_gives_published_answers() {
    counted(published().len(), "known answers");
    for Answer { key, plain, crypt } in published() {
        let cipher = rijndael(plain.len(), &key);
        let mut block = plain.clone();
        cipher.encrypt(&mut block);
        assert_eq!(block, crypt);
        cipher.decrypt(&mut block);
        assert_eq!(block, plain);
    }
}

#[test]
fn every_variant_gives_published_answers() {
    for (variant, direction, block_bytes) in available() {
        for Answer { key, plain, crypt } in published() {
            if plain.len() != block_bytes {
                continue;
            }
            let (input, want) = match direction {
                Direction::Encrypt => (plain, crypt),
                Direction::Decrypt => (crypt, plain),
            };
            let mut block = input;
            forced(&variant, direction, cipher(block_bytes, key.len()), &key, &mut block);
            assert_eq!(block, want, "{}", variant.name);
        }
    }
}

#[test]
fn every_variant_agrees_with_the_reference_at_every_number_of_blocks() {
    for (variant, direction, block_bytes) in available() {
        let bundle = variant.bundle_blocks;
        for (seed, key_bytes) in [16, 24, 32].into_iter().enumerate() {
            let key = painted(key_bytes, seed as u64 + 1);
            let by = rijndael(block_bytes, &key);
            for blocks in [0, 1, 2, 3, 5, bundle - 1, bundle, bundle + 1, 2 * bundle + 3] {
                let mut data = painted(blocks * block_bytes, blocks as u64);
                let mut want = data.clone();
                forced(&variant, direction, cipher(block_bytes, key_bytes), &key, &mut data);
                for block in want.chunks_mut(block_bytes) {
                    match direction {
                        Direction::Encrypt => by.encrypt(block),
                        Direction::Decrypt => by.decrypt(block),
                    }
                }
                assert!(data == want, "{}, {key_bytes}-byte key, {blocks} blocks", variant.name);
            }
        }
    }
}

/// The modes that are defined for these block sizes.
fn wide_modes() -> Vec<Mode> {
    Mode::ALL.into_iter().filter(|mode| mode.entry().any_block_size).collect()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_reference_deciphers_what_it_enciphered(
        block_bytes in select(&[24_usize, 32][..]),
        key_bytes in select(&[16_usize, 24, 32][..]),
        key in any::<[u8; 32]>(),
        plain in any::<[u8; 32]>(),
    ) {
        let cipher = rijndael(block_bytes, &key[..key_bytes]);
        let mut block = plain;
        cipher.encrypt(&mut block[..block_bytes]);
        cipher.decrypt(&mut block[..block_bytes]);
        prop_assert_eq!(block, plain);
    }

    /// In one piece or several, under every cap.
    #[test]
    fn modes_give_what_their_definitions_give(
        cipher in select(&Rijndael::ALL[..]),
        mode in select(wide_modes()),
        direction in select(&Direction::ALL[..]),
        cap in select(&CAPS[..]),
        len_bytes in 0_usize..3000,
        cut in 0_usize..100,
        seed in 0_u64..1000,
    ) {
        let block_bytes = cipher.block_bytes();
        let takes_any = mode.entry().lengths == Lengths::Any;
        let len_bytes = if takes_any { len_bytes } else { len_bytes / block_bytes * block_bytes };
        let (key, iv) = (painted(cipher.key_bytes(), seed), painted(block_bytes, seed + 1));
        let options = Options { features: Some(cap.parse().unwrap()), threads: 1, ..Options::default() };
        let stream = Stream::with_options(&Key::new(cipher, &key).unwrap(), mode, direction, &options).unwrap();
        let mut data = painted(len_bytes, seed + 2);
        let mut want = data.clone();
        defined(mode, direction, cipher, &key, &iv, &mut want);
        let mut state = State::new(cipher, &iv).unwrap();
        // A piece may end wherever a message may end.
        let unit = if takes_any { 1 } else { block_bytes };
        let (first, rest) = data.split_at_mut((cut * unit).min(len_bytes));
        let (first, second) = first.split_at_mut(first.len() / (2 * unit) * unit);
        for piece in [first, second, rest] {
            stream.apply(&mut state, piece).unwrap();
        }
        prop_assert_eq!(data, want);
    }
}

/// Long enough for several threads, and for several pieces of each.
#[test]
fn threads_change_nothing() {
    for (cipher, mode) in
        [Rijndael::Block192Key192, Rijndael::Block256Key256].into_iter().flat_map(|cipher| {
            [Mode::Ecb, Mode::Cbc, Mode::Cfb, Mode::Cfb8, Mode::Cfb1, Mode::Ctr].map(|mode| (cipher, mode))
        })
    {
        let key = Key::new(cipher, &painted(cipher.key_bytes(), 3)).unwrap();
        let odd_bytes = if mode.entry().lengths == Lengths::Any { 5 } else { 0 };
        let data = painted(9600 * 96 + odd_bytes, 4);
        let first = State::new(cipher, &painted(cipher.block_bytes(), 5)).unwrap();
        let by = |threads: usize| {
            let options = Options { threads, ..Options::default() };
            let stream = Stream::with_options(&key, mode, Direction::Decrypt, &options).unwrap();
            let (mut state, mut data) = (first.clone(), data.clone());
            stream.apply(&mut state, &mut data).unwrap();
            (state, data)
        };
        assert!(by(1) == by(2) && by(1) == by(0), "{cipher} {mode:?}");
    }
}

#[test]
fn counters_carry_through_the_whole_block() {
    for cipher in [Rijndael::Block192Key128, Rijndael::Block256Key128] {
        let (key, block_bytes) = (painted(16, 1), cipher.block_bytes());
        for high_bytes in [0, 1, block_bytes - 9, block_bytes - 8, block_bytes - 1] {
            let mut iv = vec![0xff; block_bytes];
            iv[..high_bytes].fill(0x12);
            iv[block_bytes - 1] = 0xfd;
            let mut data = vec![0; 40 * block_bytes];
            let mut want = data.clone();
            defined(Mode::Ctr, Direction::Encrypt, cipher, &key, &iv, &mut want);
            let stream = Stream::with_options(
                &Key::new(cipher, &key).unwrap(),
                Mode::Ctr,
                Direction::Encrypt,
                &Options::default(),
            );
            let stream = stream.unwrap();
            let mut state = State::new(cipher, &iv).unwrap();
            let (first, rest) = data.split_at_mut(2 * block_bytes);
            stream.apply(&mut state, first).unwrap();
            stream.apply(&mut state, rest).unwrap();
            assert!(data == want, "{cipher}, {high_bytes} bytes above the carry");
        }
    }
}

#[test]
fn names_tell_what_variants_are() {
    let all = variants();
    let names: BTreeSet<_> = all.iter().map(|variant| variant.name.clone()).collect();
    assert_eq!((all.len(), names.len()), (60, 60));
    for variant in all {
        let [stem, repr, isa] = variant.name.split('/').collect::<Vec<_>>().try_into().unwrap();
        assert!(["rijndael192-", "rijndael256-"].iter().any(|start| stem.starts_with(start)), "{stem}");
        // A method may follow.
        let isa = isa.split('-').next().unwrap();
        assert_eq!((repr, isa), (variant.repr.to_string().as_str(), variant.isa));
    }
    for cipher in Rijndael::ALL {
        assert_eq!(cipher.to_string().parse(), Ok(cipher));
    }
    assert_eq!("rijndael".parse::<Rijndael>(), Err(Error::UnknownCipher("rijndael".to_owned())));
}

#[test]
fn a_variant_is_had_exactly_where_its_instructions_are() {
    let key = Key::new(Rijndael::Block256Key256, &painted(32, 1)).unwrap();
    for (cap, variant) in
        CAPS.iter().flat_map(|cap| variants().into_iter().map(move |variant| (cap, variant)))
    {
        let features = cap.parse::<Features>().unwrap() & Features::of_cpu();
        let options =
            Options { features: Some(features), variants: vec![variant.name.clone()], ..Options::default() };
        let bound = Stream::with_options(&key, Mode::Ecb, Direction::Encrypt, &options);
        let is_whole = variant.name.starts_with("rijndael256-encrypt");
        assert_eq!(
            bound.is_ok(),
            is_whole && features.contains(variant.needs),
            "{} under {cap}",
            variant.name
        );
    }
}

#[test]
fn every_refusal_is_one_line_that_tells_the_numbers() {
    let cipher = Rijndael::Block256Key192;
    let key = Key::new(cipher, &painted(24, 1)).unwrap();
    let stream = |mode, variants: &[&str]| {
        let variants = variants.iter().map(|&name| name.to_owned()).collect();
        Stream::with_options(&key, mode, Direction::Encrypt, &Options { variants, ..Options::default() })
    };
    let mut data = [0; 33];
    let narrow = State::new(Rijndael::Block192Key192, &[0; 24]).unwrap();
    let refusals = [
        (Key::new(cipher, &[0; 16]).unwrap_err(), "24 bytes (48 hex digits), not 16"),
        (State::new(cipher, &[0; 16]).unwrap_err(), "32 bytes (64 hex digits), not 16"),
        (stream(Mode::Cbc, &[]).unwrap().apply(&mut zeros(cipher), &mut data).unwrap_err(), "33 bytes"),
        (stream(Mode::Ctr, &[]).unwrap().apply(&mut narrow.clone(), &mut data).unwrap_err(), "not 24"),
        (stream(Mode::Ctr, &["aes"]).unwrap_err(), "'aes'"),
        (stream(Mode::Ctr, &["rijndael256-decrypt/bitsliced64/portable"]).unwrap_err(), "encrypt of 256-bit"),
        (stream(Mode::Cbc, &["rijndael192-encrypt/bitsliced64/portable"]).unwrap_err(), "encrypt of 256-bit"),
    ];
    for (refusal, words) in refusals {
        let line = refusal.to_string();
        assert!(line.contains(words) && !line.contains(char::is_control), "{line}");
    }
    assert_eq!(data, [0; 33], "written before it was refused");
}

#[test]
fn no_secret_is_printed() {
    let shown = |seed| {
        let key = Key::new(Rijndael::Block192Key256, &painted(32, seed)).unwrap();
        let stream = |cap: &str| {
            let options = Options { features: Some(cap.parse().unwrap()), ..Options::default() };
            Stream::with_options(&key, Mode::Cbc, Direction::Decrypt, &options).unwrap()
        };
        format!("{key:?} {:?}", CAPS.map(stream))
    };
    assert_eq!(shown(1), shown(2));
}
