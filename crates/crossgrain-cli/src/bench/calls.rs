//! Calls with few blocks: `encrypt_n` on all blocks, and block by block.

use crossgrain::BLOCK_BYTES;
use crossgrain::engine::reference::{self, modes};
use crossgrain::rustcrypto::{BlockCipher, Kind, kind};
use crossgrain::{Block, Direction, Features};

use super::subject::{Candidate, Group, arbitrary_key, measured};
use super::{Timed, wrong};
use crate::error::Error;

/// Blocks per call.
const COUNTS: [usize; 8] = [1, 4, 8, 16, 64, 256, 1024, 4096];

type Call<K> = fn(&BlockCipher<K>, &[Block], &mut [Block]) -> Result<(), crossgrain::Error>;

/// Every block count, in both ways.
pub(super) fn group(features: Features, filter: &str) -> Group {
    let without_aes = features.without(Features::AES);
    let mut group = of::<kind::Aes128>("best", features, filter)?;
    group.extend(of::<kind::Aes128>("without-aes", without_aes, filter)?);
    group.extend(of::<kind::Serpent256>("best", features, filter)?);
    Ok(group)
}

fn of<K: Kind>(kind: &str, features: Features, filter: &str) -> Group {
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
            if id.contains(filter) {
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
