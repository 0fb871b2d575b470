//! Calls with few blocks: all blocks in one call, and one call for each block, of the same programs.

use crossgrain::engine::reference::{self, modes};
use crossgrain::engine::variant::Policy;
use crossgrain::mode::{Ctr, Ecb, Options};
use crossgrain::rustcrypto::{Aes128, BlockCipher, Kind, Serpent256, kind};
use crossgrain::{BLOCK_BYTES, Block, Cipher, Direction, Features};

use super::subject::{Candidate, Group, arbitrary_key, measured, options};
use super::{Filter, Timed, wrong};
use crate::error::Error;

/// Blocks per call.
const COUNTS: [usize; 8] = [1, 4, 8, 16, 64, 256, 1024, 4096];

/// Blocks of a buffer in CTR.
const CTR_BLOCKS: usize = 4096;

type Call<K> = fn(&BlockCipher<K>, &[Block], &mut [Block]) -> Result<(), crossgrain::Error>;

/// Every block count, in both ways.
pub(super) fn group(features: Features, filter: Filter<'_>) -> Group {
    let without_aes = features.without(Features::AES);
    let mut group = of::<kind::Aes128>("best", features, filter)?;
    group.extend(of::<kind::Aes128>("without-aes", without_aes, filter)?);
    group.extend(of::<kind::Serpent256>("best", features, filter)?);
    group.extend(in_ctr::<Aes128>("best", features, filter)?);
    group.extend(in_ctr::<Aes128>("without-aes", without_aes, filter)?);
    group.extend(in_ctr::<Serpent256>("best", features, filter)?);
    Ok(group)
}

fn of<K: Kind>(kind: &str, features: Features, filter: Filter<'_>) -> Group {
    let calls: [(&str, Call<K>); 2] = [
        ("at-once", |cipher, input, output| cipher.encrypt_n(input, output)),
        ("block-by-block", |cipher, input, output| {
            input.chunks(1).zip(output.chunks_mut(1)).try_for_each(|(from, to)| cipher.encrypt_n(from, to))
        }),
    ];
    let mut group = Vec::new();
    for blocks in COUNTS {
        for (how, call) in calls {
            let id = format!("calls/{}/{kind}/{how}/{blocks}", K::CIPHER);
            if filter.passes(&id) {
                group.push(candidate(id, features, blocks, call)?);
            }
        }
    }
    Ok(group)
}

/// A call whose result equals the reference's.
fn candidate<K: Kind>(
    id: String,
    features: Features,
    blocks: usize,
    call: Call<K>,
) -> Result<Candidate, Error> {
    let key = arbitrary_key(K::CIPHER)?;
    let cipher = BlockCipher::<K>::with_options(key.bytes(), &measured(K::CIPHER, features))?;
    let input: Vec<Block> = (0..blocks as u128).map(u128::to_le_bytes).collect();
    let (mut output, mut expected) = (input.clone(), input.clone());
    call(&cipher, &input, &mut output)?;
    modes::ecb(&*reference::cipher(&key), Direction::Encrypt, expected.as_flattened_mut());
    if output != expected {
        return Err(wrong(&id));
    }
    // The output has the same number of blocks as the input, so this cannot fail.
    let work = Box::new(Timed(move || drop(call(&cipher, &input, &mut output))));
    Ok(Candidate { id, bytes: blocks * BLOCK_BYTES, threads: 1, work })
}

/// CTR over a buffer, in both ways.
fn in_ctr<K: Kind>(kind: &str, features: Features, filter: Filter<'_>) -> Group {
    const FIRST: Block = [0xff; BLOCK_BYTES];
    let mut group = Vec::new();
    for (how, call_bytes) in [("ctr-at-once", CTR_BLOCKS * BLOCK_BYTES), ("ctr-block-by-block", BLOCK_BYTES)]
    {
        let id = format!("calls/{}/{kind}/{how}/{CTR_BLOCKS}", K::CIPHER);
        if !filter.passes(&id) {
            continue;
        }
        let key = arbitrary_key(K::CIPHER)?;
        let ctr = Ctr::with_options(&key, &FIRST, &measured(K::CIPHER, features))?;
        let mut data = vec![1; CTR_BLOCKS * BLOCK_BYTES];
        let mut expected = data.clone();
        let run = move |data: &mut [u8]| {
            for (call, piece) in (0..).zip(data.chunks_mut(call_bytes)) {
                ctr.apply_at(call * call_bytes as u128, piece);
            }
        };
        run(&mut data);
        modes::ctr(&*reference::cipher(&key), FIRST, &mut expected);
        if data != expected {
            return Err(wrong(&id));
        }
        let bytes = data.len();
        group.push(Candidate { id, bytes, threads: 1, work: Box::new(Timed(move || run(&mut data))) });
    }
    Ok(group)
}

/// Blocks per call of the batches: one by one, as many as in the published measurement, and all.
const BATCHES: [usize; 3] = [1, 8, BATCHED_BLOCKS];
const BATCHED_BLOCKS: usize = 4096;

/// A buffer in ECB and CTR, encrypted one block, eight blocks, or all blocks a call. The kind `scalar` has code
/// for integers, on blocks: AES by tables, which leak, and Serpent on words.
pub(super) fn batches(features: Features, filter: Filter<'_>) -> Group {
    let scalar = |variant: &str| Options {
        policy: Policy::Any,
        variants: vec![variant.to_owned()],
        ..options(Features::NONE)
    };
    let (aes, serpent) = (Cipher::Aes128, Cipher::Serpent256);
    let without_aes = features.without(Features::AES);
    let kinds = [
        (aes, "best", [features; 2].map(|features| measured(aes, features))),
        (aes, "without-aes", [without_aes; 2].map(|features| measured(aes, features))),
        (aes, "scalar", ["aes-encrypt/blocks/portable-table", "aes-ctr/blocks/portable-table"].map(scalar)),
        (serpent, "best", [features; 2].map(|features| measured(serpent, features))),
        (
            serpent,
            "scalar",
            ["serpent-encrypt/blocks/portable-x2", "serpent-ctr/blocks/portable-x2"].map(scalar),
        ),
    ];
    let mut group = Vec::new();
    for (cipher, kind, [ecb, ctr]) in kinds {
        let (key, first) = (arbitrary_key(cipher)?, [0xff; BLOCK_BYTES]);
        for blocks in BATCHES {
            let id = |mode: &str| format!("batch/{cipher}/{kind}/{mode}/{blocks}");
            if filter.passes(&id("ecb")) {
                let ecb = Ecb::with_options(&key, Direction::Encrypt, &ecb)?;
                let expected: Expected<'_> =
                    &|data| modes::ecb(&*reference::cipher(&key), Direction::Encrypt, data);
                group.push(batched(id("ecb"), blocks, expected, move |_, piece| drop(ecb.apply(piece)))?);
            }
            if filter.passes(&id("ctr")) {
                let ctr = Ctr::with_options(&key, &first, &ctr)?;
                let expected: Expected<'_> = &|data| modes::ctr(&*reference::cipher(&key), first, data);
                group.push(batched(id("ctr"), blocks, expected, move |at, piece| ctr.apply_at(at, piece))?);
            }
        }
    }
    Ok(group)
}

/// Encrypts a buffer by the reference.
type Expected<'a> = &'a dyn Fn(&mut [u8]);

/// A buffer in calls of some blocks, after a comparison with the reference. `call` gets the place of its blocks in
/// the buffer.
fn batched(
    id: String,
    blocks: usize,
    expected: Expected<'_>,
    call: impl Fn(u128, &mut [u8]) + 'static,
) -> Result<Candidate, Error> {
    let mut data = vec![1; BATCHED_BLOCKS * BLOCK_BYTES];
    let mut right = data.clone();
    let run = move |data: &mut [u8]| {
        let call_bytes = blocks * BLOCK_BYTES;
        for (number, piece) in (0..).zip(data.chunks_mut(call_bytes)) {
            call(number * call_bytes as u128, piece);
        }
    };
    run(&mut data);
    expected(&mut right);
    if data != right {
        return Err(wrong(&id));
    }
    Ok(Candidate { id, bytes: data.len(), threads: 1, work: Box::new(Timed(move || run(&mut data))) })
}
