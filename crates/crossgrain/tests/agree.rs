//! Every variant gives the reference's bytes: at all lengths up to three bundles and one block, at every
//! alignment, in place and out of place. It touches nothing outside its buffers.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::HashMap;

use common::{CAPS, capped, counted, expected, forced_jobs, key, other, painted, run, run_buffers};
use crossgrain::engine::cipher::Entry;
use crossgrain::plan::{Job, JobSource};
use crossgrain::{Buffers, Cipher, Direction, Key};

/// Counters whose low 8, 32, 64 and 128 bits wrap within a few hundred blocks.
const COUNTERS: [u128; 6] = [
    0,
    0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
    (1 << 32) - 77,
    (1 << 64) - 300,
    u128::MAX - 5,
    u128::MAX - 600,
];

/// The reference's results, each computed once for all variants.
#[derive(Default)]
struct References(HashMap<(Job, u128, usize), Vec<u8>>);

impl References {
    /// Calls with the same length must pass the same data.
    fn of(&mut self, job: Job, key: &Key, first: u128, data: &[u8]) -> &[u8] {
        let known = self.0.entry((job, first, data.len()));
        known.or_insert_with(|| expected(key, job.direction, job.source, first, data))
    }
}

/// Lengths in bytes that end within a block, in each register of the remainder of eight.
const PARTIAL_BYTES: [usize; 24] =
    [1, 2, 3, 4, 7, 8, 9, 13, 15, 17, 31, 33, 47, 63, 65, 100, 129, 191, 200, 257, 321, 511, 1021, 2100];

/// Lengths in blocks around multiples of the bundle, and a few small ones.
fn lengths(bundle: usize) -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..=17).collect();
    for multiple in 1..=3 {
        lengths.extend([multiple * bundle - 1, multiple * bundle, multiple * bundle + 1]);
    }
    lengths.extend([31, 32, 33, 63, 64, 65, 100, 255]);
    lengths
}

#[test]
fn every_variant_agrees_with_the_reference_at_every_length() {
    let (mut compared, mut references) = (0, References::default());
    for (variant, job, options) in forced_jobs() {
        let bundle = variant.repr.bundle_blocks().unwrap_or(32);
        let key = key(job.cipher, 1);
        let longest = painted(16 * (3 * bundle + 256), 2);
        for first in if job.source == JobSource::Counter { &COUNTERS[..] } else { &COUNTERS[..1] } {
            let want = references.of(job, &key, *first, &longest);
            for blocks in lengths(bundle) {
                let mut data = longest[..16 * blocks].to_vec();
                run(&key, job.direction, job.source, *first, &options, &mut data);
                assert!(data == want[..16 * blocks], "{} {job:?} {blocks} from {first:x}", variant.name);
                compared += 1;
            }
            let within_blocks = if job.source == JobSource::Counter { &PARTIAL_BYTES[..] } else { &[] };
            for &bytes in within_blocks {
                let mut data = longest[..bytes].to_vec();
                run(&key, job.direction, job.source, *first, &options, &mut data);
                assert!(data == want[..bytes], "{} {job:?} {bytes} bytes from {first:x}", variant.name);
                compared += 1;
            }
        }
    }
    counted(compared, "messages of variants compared with the reference");
}

/// State that a kernel caches across tiles must be renewed in time. The streams have 100 times 256 blocks and
/// start within and across the renewal points, and across 2⁴⁰.
#[test]
fn long_streams_agree_wherever_they_begin() {
    let data = painted(16 * 25_600, 7);
    let mut others = HashMap::new();
    for (variant, job, options) in forced_jobs()
        .into_iter()
        .filter(|(_, job, _)| job.source == JobSource::Counter && job.cipher == Cipher::Aes128)
    {
        let key = key(job.cipher, 8);
        for first in [0, 77, (1 << 40) - 256 * 50 - 13] {
            let mut got = data.clone();
            run(&key, job.direction, job.source, first, &options, &mut got);
            let want = others.entry((job, first)).or_insert_with(|| {
                let mut want = data.clone();
                other(&key, job.direction, job.source, first, &mut want);
                want
            });
            assert!(got == *want, "{} from {first:x}", variant.name);
        }
    }
}

#[test]
fn every_variant_works_at_every_alignment_apart_and_between_guards() {
    let (mut compared, mut references) = (0, References::default());
    for (variant, job, options) in forced_jobs()
        .into_iter()
        .filter(|(_, job, _)| matches!(job.cipher, Cipher::Aes192 | Cipher::Serpent192))
    {
        let key = key(job.cipher, 3);
        let len = 16 * (variant.repr.bundle_blocks().unwrap_or(32) + 3);
        let message = painted(len, 4);
        let want = references.of(job, &key, 9, &message);
        // Streaming stores as well. The last four offsets cover every position of a block in a cache line.
        for (offset, gap) in
            (0..16).map(|offset| (offset, (offset * 7) % 16)).chain([0, 16, 32, 48].map(|gap| (3, gap)))
        {
            let mut input = vec![0; offset + len];
            input[offset..].copy_from_slice(&message);
            for goes_past_caches in [false, true] {
                let mut output = vec![0xa5; len + 96];
                let (start, end) = (16 + gap, 16 + gap + len);
                let buffers = Buffers::apart(&input[offset..], &mut output[start..end]).unwrap();
                let buffers = if goes_past_caches { buffers.past_caches() } else { buffers };
                run_buffers(&key, job.direction, job.source, 9, &options, buffers);
                assert!(output[start..end] == *want, "{} at offset {offset}, {gap}", variant.name);
                let guards = output[..start].iter().chain(&output[end..]);
                assert!(guards.clone().all(|&byte| byte == 0xa5), "{} wrote outside", variant.name);
                compared += 1;
            }
        }
    }
    counted(compared, "messages of variants compared with the reference");
}

#[test]
fn free_choice_agrees_under_every_cap_and_thread_count() {
    let first = u128::MAX - 20_000;
    let data = painted(3 * 512 * 1024 + 16, 6);
    for cipher in Cipher::ALL {
        let key = key(cipher, 5);
        for (direction, source) in [
            (Direction::Encrypt, JobSource::Bytes),
            (Direction::Decrypt, JobSource::Bytes),
            (Direction::Encrypt, JobSource::Counter),
        ] {
            let mut want = data.clone();
            other(&key, direction, source, first, &mut want);
            // Work is split over threads in the same way for all ciphers, and the portable variants of
            // described ciphers are slow.
            let threads = if Entry::of(cipher.family()).by_hand { &[1, 2, 0][..] } else { &[2] };
            for (cap, &threads) in CAPS.into_iter().flat_map(|cap| threads.iter().map(move |one| (cap, one)))
            {
                let mut got = data.clone();
                run(&key, direction, source, first, &capped(cap, threads), &mut got);
                assert!(got == want, "{cap} {threads} {cipher} {direction:?} {source:?}");
            }
        }
    }
}
