//! The public interface of ECB and CTR: any split into pieces, any position and any number of threads give
//! the same result.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{CAPS, capped, cases, forced, here, key, other, painted};
use crossgrain::engine::block::Family;
use crossgrain::engine::variant::{Action, table};
use crossgrain::mode::{Cbc, Chain, Ctr, Ecb, Options};
use crossgrain::plan::JobSource;
use crossgrain::{Buffers, Cipher, Direction, Error, Key};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::sample::select;
use proptest::{prop_oneof, proptest};

/// Initial counters: ordinary ones, and ones whose low 16, 32, 64 or 128 bits wrap at once or soon.
const FIRSTS: [u128; 10] = [
    0,
    0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
    (1 << 16) - 1,
    (1 << 31) - 1,
    (1 << 32) - 1,
    (1 << 32) - 300,
    (1 << 64) - 1,
    (1 << 64) - 700,
    u128::MAX,
    u128::MAX - 500,
];

/// Number of blocks that share all but the last four bytes of their counter.
const NONCE_BLOCKS: u128 = 1 << 32;

/// Nonces, by the number of their first block. They differ in all bytes above the last four.
const NONCES: [u128; 8] = [1 << 32, 2 << 32, 1 << 40, 3 << 40, 1 << 64, 1 << 80, 1 << 88, 1 << 120];

/// The expected output for `data` at byte `position` of the stream, from a second implementation.
fn stream_at(key: &Key, first: u128, position: u128, data: &[u8]) -> Vec<u8> {
    let skipped = (position % 16) as usize;
    let mut padded = vec![0; skipped];
    padded.extend(data);
    other(key, Direction::Encrypt, JobSource::Counter, first.wrapping_add(position / 16), &mut padded);
    padded.split_off(skipped)
}

fn ctr(key: &Key, first: u128, options: &Options) -> Ctr {
    Ctr::with_options(key, &first.to_be_bytes(), options).unwrap()
}

/// All ways to run CTR with every cipher: the free choice under every cap, and every variant that makes
/// keystream without other parts.
fn counter_ways() -> Vec<(String, Options, Cipher)> {
    let free = CAPS.iter().map(|cap| (format!("cap {cap}"), capped(cap, 1), None));
    let by_itself = table()
        .iter()
        .filter(|variant| matches!(variant.action, Action::WholeCounter(_) | Action::CountEncrypted(_)))
        .filter_map(here)
        .map(|variant| (variant.name.clone(), forced(variant, Direction::Encrypt), variant.family));
    let can = |family: Option<Family>| {
        let fits = move |cipher: &Cipher| family.is_none_or(|family| family == cipher.family());
        Cipher::ALL.into_iter().filter(fits)
    };
    free.chain(by_itself)
        .flat_map(|(way, options, family)| can(family).map(move |c| (way.clone(), options.clone(), c)))
        .collect()
}

/// The ways for one cipher.
fn counter_ways_of(cipher: Cipher) -> impl Iterator<Item = (String, Options)> {
    counter_ways().into_iter().filter(move |(.., can)| *can == cipher).map(|(way, options, _)| (way, options))
}

/// Runs work in a pool of three threads, the largest number that these tests request. WebAssembly has one.
fn with_three_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if cfg!(target_family = "wasm") {
        return work();
    }
    rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(work)
}

/// Lengths in bytes: mostly odd and short, some of several bundles.
fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..40_usize, 3 => 0..700_usize, 2 => 0..20_000_usize, 1 => (0..40_usize).prop_map(|n| 512 * n)]
}

proptest! {
    #![proptest_config(cases(512))]

    #[test]
    fn ctr_in_pieces_is_ctr_at_once(
        (way, options, cipher) in select(counter_ways()),
        first in select(&FIRSTS[..]),
        pieces in vec((lengths(), any::<bool>()), 1..40),
    ) {
        let key = key(cipher, 1);
        let input = painted(pieces.iter().map(|(len, _)| len).sum(), 2);
        let want = stream_at(&key, first, 0, &input);
        let mut stream = ctr(&key, first, &options);
        let mut at = 0;
        for (len, in_place) in pieces {
            let mut output = input[at..][..len].to_vec();
            if in_place {
                stream.apply(&mut output);
            } else {
                stream.apply(Buffers::apart(&input[at..][..len], &mut output).unwrap());
            }
            assert!(output == want[at..][..len], "{way}: {len} bytes at {at}");
            at += len;
            assert_eq!(stream.position_bytes(), at as u128);
        }
    }

    #[test]
    fn seeking_is_skipping(
        (way, options, cipher) in select(counter_ways()),
        first in select(&FIRSTS[..]),
        position in prop_oneof![0..70_000_u128, any::<u128>()],
        len in lengths(),
    ) {
        let key = key(cipher, 3);
        let data = painted(len, 4);
        let want = stream_at(&key, first, position, &data);
        let mut stream = ctr(&key, first, &options);

        let mut there = data.clone();
        stream.apply_at(position, &mut there);
        assert!(there == want, "{way}: applied at {position}");
        assert_eq!(stream.position_bytes(), 0);

        stream.seek(position);
        let mut sought = data.clone();
        stream.apply(&mut sought);
        assert!(sought == want, "{way}: sought {position}");
        assert_eq!(stream.position_bytes(), position.wrapping_add(len as u128));

        if let Some(skipped) = usize::try_from(position).ok().filter(|&skipped| skipped <= 70_000) {
            let mut stream = ctr(&key, first, &options);
            stream.apply(&mut vec![0; skipped]);
            let mut after = data;
            stream.apply(&mut after);
            assert!(after == want, "{way}: skipped {position}");
        }
    }

    /// Short and long calls on one stream that jump between nonces, near their ends and far from them. State
    /// that a kernel caches between calls must not be used outside its range.
    #[test]
    fn nonces_may_come_and_go(
        (way, options, cipher) in select(counter_ways()),
        first in prop_oneof![Just(0), select(&FIRSTS[..]), any::<u128>()],
        jumps in vec(jump(), 1..30),
    ) {
        let key = key(cipher, 5);
        let stream = ctr(&key, first, &options);
        for Jump { block, within, len } in jumps {
            // The position is relative to the beginning of the first counter's nonce.
            let position = block.wrapping_sub(first % NONCE_BLOCKS).wrapping_mul(16).wrapping_add(within);
            let input = painted(len, 6);
            let mut data = input.clone();
            stream.apply_at(position, &mut data);
            assert!(data == stream_at(&key, first, position, &input), "{way}: {len} bytes at {position}");
        }
    }
}

/// One call on a stream.
#[derive(Clone, Debug)]
struct Jump {
    /// The block where it begins, and the byte in that block.
    block: u128,
    within: u128,
    len: usize,
}

fn jump() -> impl Strategy<Value = Jump> {
    let nonce = select(&NONCES[..]);
    // Places where 8, 16 or 32 bits of the counter wrap, and arbitrary places.
    let place = prop_oneof![Just(0), Just(1 << 8), Just(1 << 16), Just(5 << 16), 0..NONCE_BLOCKS];
    let back = prop_oneof![Just(0), 0..40_u128, 0..2000_u128];
    let within = prop_oneof![Just(0), 0..16_u128];
    let len = prop_oneof![4 => 1..200_usize, 2 => 8000..9000_usize, 1 => 0..40_000_usize];
    (nonce, place, back, within, len).prop_map(|(nonce, place, back, within, len)| Jump {
        block: nonce + place - back,
        within,
        len,
    })
}

#[test]
fn many_short_calls_then_long_ones_then_another_nonce_and_back() {
    let key = key(Cipher::Aes128, 7);
    for (way, options) in counter_ways_of(key.cipher()) {
        // A nonce ends 3000 blocks after the beginning of the stream, and every 2³² blocks from there.
        let first = (9_u128 << 40) - 3000;
        let stream = ctr(&key, first, &options);
        let check = |block: u128, len: usize| {
            let input = painted(len, 8);
            let mut data = input.clone();
            stream.apply_at(16 * block, &mut data);
            assert!(
                data == stream_at(&key, first, 16 * block, &input),
                "{way}: {len} bytes at block {block}"
            );
        };
        for from in NONCES.into_iter().flat_map(|nonce| [0, nonce]) {
            (0..300).for_each(|block| check(from + block, 40));
            check(from + 300, 16 * 1000);
            check(from + 2900, 16 * 300);
            check(from + 2999, 32);
            (2990..3010).for_each(|block| check(from + block, 17));
            check(from, 16 * 6000);
        }
    }
}

/// A run shorter than a tile ends shortly before a nonce does. The next run is longer and begins far earlier,
/// at the same offset in its group.
#[test]
fn what_a_short_run_leaves_is_right_for_longer_ones() {
    let key = key(Cipher::Aes128, 12);
    let input = painted(16 * 1024, 13);
    for (way, options) in counter_ways_of(key.cipher()) {
        for blocks in [32, 64, 128, 256] {
            let stream = ctr(&key, 0, &options);
            let near = (1 << 40) - 44 - blocks as u128;
            for (block, blocks) in [(near, blocks), (near - 256 * 1000, 1024), (near, 1024)] {
                let mut data = input[..16 * blocks].to_vec();
                let want = stream_at(&key, 0, 16 * block, &data);
                stream.apply_at(16 * block, &mut data);
                assert!(data == want, "{way}: {blocks} blocks at {block}");
            }
        }
    }
}

#[test]
fn one_stream_serves_several_threads_in_several_nonces() {
    let key = key(Cipher::Aes256, 9);
    let input = painted(16 * 3000, 10);
    for (way, options) in counter_ways_of(key.cipher()) {
        let stream = ctr(&key, 77, &options);
        std::thread::scope(|scope| {
            for nonce in 0..3 {
                let (stream, key, input, way) = (&stream, &key, &input, &way);
                scope.spawn(move || {
                    for round in 0..8 {
                        let position = 16 * NONCES[nonce + round % 2 * 4];
                        let mut data = input.clone();
                        stream.apply_at(position, &mut data);
                        assert!(data == stream_at(key, 77, position, input), "{way} at {position}");
                    }
                });
            }
        });
    }
}

#[test]
fn ctr_is_the_same_from_every_first_counter_by_any_number_of_threads() {
    let key = key(Cipher::Aes256, 11);
    let input = painted(3 * 256 * 1024 + 5, 12);
    with_three_threads(|| {
        for first in FIRSTS.into_iter().chain([(1 << 32) - 20_000]) {
            let want = stream_at(&key, first, 0, &input);
            for (cap, threads) in CAPS.into_iter().flat_map(|cap| [1, 2, 3].map(|threads| (cap, threads))) {
                let mut data = input.clone();
                ctr(&key, first, &capped(cap, threads)).apply(&mut data);
                assert!(data == want, "{cap}, {threads} threads, from {first:#x}, in place");
                data.fill(0);
                let buffers = Buffers::apart(&input, &mut data).unwrap();
                ctr(&key, first, &capped(cap, threads)).apply(buffers);
                assert!(data == want, "{cap}, {threads} threads, from {first:#x}, apart");
            }
        }
    });
}

#[test]
fn ecb_is_the_same_in_place_and_apart_by_any_number_of_threads() {
    let key = key(Cipher::Aes192, 13);
    let input = painted(3 * 256 * 1024 + 16, 14);
    with_three_threads(|| {
        for direction in Direction::ALL {
            let mut want = input.clone();
            other(&key, direction, JobSource::Bytes, 0, &mut want);
            for (cap, threads) in CAPS.into_iter().flat_map(|cap| [1, 2, 3].map(|threads| (cap, threads))) {
                let ecb = Ecb::with_options(&key, direction, &capped(cap, threads)).unwrap();
                let mut data = input.clone();
                ecb.apply(&mut data).unwrap();
                assert!(data == want, "{cap}, {threads} threads, {direction:?}, in place");
                data.fill(0);
                ecb.apply(Buffers::apart(&input, &mut data).unwrap()).unwrap();
                assert!(data == want, "{cap}, {threads} threads, {direction:?}, apart");
            }
        }
    });
}

/// Long enough for streaming stores on some CPUs, at any alignment. The modes include ones in which a block
/// depends on the one before.
#[test]
fn hundreds_of_megabytes_are_the_same_wherever_their_lines_begin() {
    const LEN_BYTES: usize = (64 << 20) + 16 * 37;
    let (input, mut output) = (painted(LEN_BYTES + 64, 1), vec![0; LEN_BYTES + 64]);
    let options = Options { threads: 2, ..Options::default() };
    let key = key(Cipher::Aes128, 2);
    let ctr = Ctr::with_options(&key, &[7; 16], &options).unwrap();
    let cbc = Cbc::with_options(&key, Direction::Decrypt, &options).unwrap();
    for at in [0, 5, 16, 48] {
        let input = &input[at..][..LEN_BYTES];
        let mut want = input.to_vec();
        ctr.apply_at(0, &mut want);
        ctr.apply_at(0, (input, &mut output[at..][..LEN_BYTES]));
        assert!(output[at..][..LEN_BYTES] == want, "CTR from byte {at} of a line");
        want.copy_from_slice(input);
        cbc.apply(&mut Chain::from([9; 16]), &mut want).unwrap();
        cbc.apply(&mut Chain::from([9; 16]), (input, &mut output[at..][..LEN_BYTES])).unwrap();
        assert!(output[at..][..LEN_BYTES] == want, "CBC from byte {at} of a line");
    }
}

#[test]
fn what_a_mode_does_it_undoes() {
    for (cap, cipher) in CAPS.into_iter().flat_map(|cap| Cipher::ALL.map(|cipher| (cap, cipher))) {
        let (key, options) = (key(cipher, 15), capped(cap, 1));
        let input = painted(16 * 700, 16);
        let mut data = input.clone();
        for (first, second) in
            [(Direction::Encrypt, Direction::Decrypt), (Direction::Decrypt, Direction::Encrypt)]
        {
            Ecb::with_options(&key, first, &options).unwrap().apply(&mut data).unwrap();
            assert!(data != input, "{cap} {cipher}");
            Ecb::with_options(&key, second, &options).unwrap().apply(&mut data).unwrap();
            assert!(data == input, "{cap} {cipher}, {first:?} first");
        }
        let mut stream = ctr(&key, 17, &options);
        stream.apply(&mut data);
        assert!(data != input, "{cap} {cipher}");
        stream.seek(0);
        stream.apply(&mut data);
        assert!(data == input, "{cap} {cipher}, CTR");
    }
}

#[test]
fn ecb_refuses_a_partial_block_and_writes_nothing() {
    let key = key(Cipher::Aes128, 18);
    for (cap, direction) in CAPS.into_iter().flat_map(|cap| Direction::ALL.map(|way| (cap, way))) {
        let ecb = Ecb::with_options(&key, direction, &capped(cap, 1)).unwrap();
        for len in (1..16).chain([17, 31, 16 * 512 - 1, 16 * 512 + 1]) {
            let input = painted(len, 19);
            let mut data = input.clone();
            let refused = ecb.apply(&mut data);
            assert_eq!(refused, Err(Error::PartialBlock { len_bytes: len }));
            assert!(data == input, "{cap}: {len} bytes in place");
            let mut output = vec![0xa5; len];
            let refused = ecb.apply(Buffers::apart(&input, &mut output).unwrap());
            assert_eq!(refused, Err(Error::PartialBlock { len_bytes: len }));
            assert!(output.iter().all(|&byte| byte == 0xa5), "{cap}: {len} bytes apart");
        }
    }
}

#[test]
fn buffers_of_different_lengths_are_refused() {
    for (input_bytes, output_bytes) in [(0, 1), (1, 0), (15, 16), (64, 48)] {
        let (input, mut output) = (vec![0; input_bytes], vec![0; output_bytes]);
        let refused = Buffers::apart(&input, &mut output).unwrap_err();
        assert_eq!(refused, Error::LengthMismatch { input_bytes, output_bytes });
    }
}

#[test]
fn nothing_becomes_nothing() {
    let key = key(Cipher::Aes256, 20);
    for options in CAPS.iter().flat_map(|cap| [1, 2].map(|threads| capped(cap, threads))) {
        for direction in Direction::ALL {
            let ecb = Ecb::with_options(&key, direction, &options).unwrap();
            ecb.apply(&mut []).unwrap();
            ecb.apply(Buffers::apart(&[], &mut []).unwrap()).unwrap();
        }
        let mut stream = ctr(&key, u128::MAX, &options);
        for position in [0, 1, 15, 16, u128::MAX] {
            stream.seek(position);
            stream.apply(&mut []);
            stream.apply(Buffers::apart(&[], &mut []).unwrap());
            assert_eq!(stream.position_bytes(), position);
        }
    }
}

#[test]
fn a_key_of_another_length_is_refused() {
    for cipher in Cipher::ALL {
        for len_bytes in (0..40).filter(|&len| len != cipher.key_bytes()) {
            let refused = Key::new(cipher, &vec![0; len_bytes]).unwrap_err();
            assert_eq!(refused, Error::KeyLength { cipher, len_bytes });
        }
    }
}
