//! The correctness check. Before a variant is timed, and in every test, it must agree with the reference.

use std::sync::{Arc, Mutex, PoisonError};

use crate::arch::Features;
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::cipher::reference;
use crate::kernel::search::{Known, TableReuse};
use crate::layout::repr::Repr;
use crate::mode::ccm::reference::ccm;
use crate::mode::chained::reference::{cbc, cfb, ofb};
use crate::mode::ctr::reference::ctr;
use crate::mode::eax::reference::eax;
use crate::mode::ecb::reference::ecb;
use crate::mode::gcm::reference::gcm;
use crate::mode::gcm_siv::reference::gcm_siv;
use crate::mode::ocb::reference::ocb;
use crate::mode::segmented::reference::cfb_segments;
use crate::mode::siv::reference::siv;
use crate::mode::xts::reference::xts;
use crate::mode::{Aead, AeadMessage, Cbc, Ctr, Ecb, Gcm, Message, Mode, Ocb, Options, Start};
#[cfg(feature = "own-keys")]
use crate::mode::{OwnKeys, Record};
use crate::plan::{Fused, Job, JobSource};
use crate::run::search;
use crate::variant::{Action, Policy, Variant, table};

/// The number of known bits in a search job here. Less than a whole block, so that the search has one
/// direction.
const KNOWN_BITS: u32 = 64;

/// The jobs of a cipher that can use a variant.
pub fn jobs(variant: &Variant, cipher: Cipher) -> Vec<Job> {
    let keys = |usage| JobSource::Keys { usage, known_bits: KNOWN_BITS };
    let kinds = [
        (Direction::Encrypt, JobSource::Bytes),
        (Direction::Decrypt, JobSource::Bytes),
        (Direction::Encrypt, JobSource::Counter),
        (Direction::Encrypt, keys(TableReuse::Often)),
        (Direction::Decrypt, keys(TableReuse::Often)),
        (Direction::Encrypt, keys(TableReuse::Once)),
        (Direction::Decrypt, keys(TableReuse::Once)),
    ];
    let jobs = kinds.map(|(direction, source)| Job { cipher, direction, source });
    let jobs = jobs.into_iter().chain(Job::of_modes(cipher));
    // Counters can be created in most representations, and searches need conversions only between some steps. A
    // forced load therefore means a job on bytes, and a forced store a job on data.
    let means = |job: &Job| match variant.action {
        Action::Load(_) => !job.source.counts() && !job.source.is_search(),
        Action::Store(_) => !job.source.is_search(),
        _ => true,
    };
    // Other variants run records with their own keys one after another, as they run their other jobs.
    let is_of_mode = matches!(variant.action, Action::Fused(..) | Action::Pass(_));
    let is_new = |job: &Job| is_of_mode || !job.is_of_own_keys();
    jobs.filter(|job| job.takes(variant) && means(job) && is_new(job)).collect()
}

/// Options that force a variant into a job, on one thread.
///
/// On `blocks` the cipher on tiles consists of single steps, so for an entry or exit one step is forced as
/// well.
pub fn forced(variant: &Variant, direction: Direction, features: Features) -> Options {
    let mut variants = vec![variant.name.clone()];
    let is_an_end = matches!(variant.action, Action::Load(_) | Action::Count(_) | Action::Store(_));
    if variant.repr == Repr::Blocks && is_an_end {
        let is_step = |row: &&Variant| {
            row.repr == Repr::Blocks && matches!(row.action, Action::Tile(_, way, _) if way == direction)
        };
        variants.extend(table().iter().find(is_step).map(|row| row.name.clone()));
    }
    Options { policy: Policy::Any, variants, threads: 1, features: Some(features), ..Options::default() }
}

/// Whether a variant, forced into every job that can use it, gives the reference's bytes.
///
/// # Errors
/// [`Error::Unavailable`] if these features lack its instructions.
pub fn agrees(variant: &Variant, cipher: Cipher, features: Features) -> Result<bool, Error> {
    for job in jobs(variant, cipher) {
        if !job_agrees(cipher, job.direction, job.source, &forced(variant, job.direction, features))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a job with these options gives the reference's bytes.
///
/// # Errors
/// As [`Ecb::with_options`] and [`Ctr::with_options`].
pub fn job_agrees(
    cipher: Cipher,
    direction: Direction,
    source: JobSource,
    options: &Options,
) -> Result<bool, Error> {
    let (key, painted) = question(cipher)?;
    let mut got = painted.clone();
    match source {
        JobSource::Bytes => Ecb::with_options(&key, direction, options)?.apply(&mut got)?,
        JobSource::Counter => Ctr::with_options(&key, &INITIAL, options)?.apply(&mut got),
        JobSource::Mode(fused) => return mode_agrees(fused, &key, direction, options, painted),
        JobSource::Keys { usage, .. } => return finds(Job { cipher, direction, source }, usage, options),
    }
    Ok(got == *answer(&key, direction, source, painted))
}

/// Whether a mode gives the reference's bytes.
fn mode_agrees(
    fused: Fused,
    key: &Key,
    direction: Direction,
    options: &Options,
    plain: Vec<u8>,
) -> Result<bool, Error> {
    let sealed = answer(key, Direction::Encrypt, JobSource::Mode(fused), plain.clone());
    let (mut got, nonce) = (plain.clone(), &INITIAL[..12]);
    let aead: Box<dyn Aead> = match fused {
        Fused::Gcm => Box::new(Gcm::with_options(key, BLOCK_BYTES, options)?),
        Fused::Ocb => Box::new(Ocb::with_options(key, BLOCK_BYTES, options)?),
        Fused::Chains => {
            let cbc = Cbc::with_options(key, Direction::Encrypt, options)?;
            let mut messages: Vec<_> =
                got.chunks_mut(CHAIN_BYTES).map(|data| Message::new(INITIAL, data)).collect();
            cbc.apply_many(&mut messages)?;
            drop(messages);
            return Ok(got == *sealed);
        }
        #[cfg(feature = "own-keys")]
        Fused::OwnKeys => return own_keys_agree(key.cipher(), direction, options, plain),
    };
    if direction == Direction::Decrypt {
        let (data, tag) = sealed.split_at(plain.len());
        got.copy_from_slice(data);
        let mut message = AeadMessage { tag: tag.try_into()?, ..AeadMessage::new(nonce, &[], &mut got[..]) };
        return Ok(aead.as_ref().open_message(&mut message).is_ok() && got == plain);
    }
    let mut message = AeadMessage::new(nonce, &[], &mut got[..]);
    aead.as_ref().seal_message(&mut message)?;
    let tag = message.tag;
    got.extend_from_slice(&tag);
    Ok(got == *sealed)
}

/// The keys of records, which differ in their first two bytes.
#[cfg(feature = "own-keys")]
fn keys_of_records(cipher: Cipher) -> Result<Vec<Key>, Error> {
    let (_, painted) = question(cipher)?;
    let key = |number: u16| {
        let mut key = painted[100..][..cipher.key_bytes()].to_vec();
        key[..2].copy_from_slice(&number.to_le_bytes());
        Key::new(cipher, &key)
    };
    (0..RECORDS).map(key).collect()
}

/// Whether records that each have their own key give the reference's bytes, in ECB.
#[cfg(feature = "own-keys")]
fn own_keys_agree(
    cipher: Cipher,
    direction: Direction,
    options: &Options,
    plain: Vec<u8>,
) -> Result<bool, Error> {
    let (keys, own) = (keys_of_records(cipher)?, OwnKeys::with_options(cipher, options)?);
    let mut got = plain.clone();
    let records = keys.iter().zip(records_of(&mut got)).map(|(key, data)| Record::new(key, INITIAL, data));
    own.ecb(direction, &mut records.collect::<Vec<_>>())?;
    Ok(got == *answer(&keys[0], direction, JobSource::Mode(Fused::OwnKeys), plain))
}

/// More records than any kernel has lanes.
#[cfg(feature = "own-keys")]
const RECORDS: u16 = 70;

/// Cuts the data into records: long ones first, then short ones.
#[cfg(feature = "own-keys")]
fn records_of(mut data: &mut [u8]) -> Vec<&mut [u8]> {
    let blocks = (0..usize::from(RECORDS)).map(|number| if number < 20 { 40 } else { number % 6 });
    let cut = |blocks: usize| data.split_off_mut(..blocks * BLOCK_BYTES).unwrap_or_default();
    blocks.map(cut).collect()
}

/// Runs a mode on a message in place with the reference implementation. Returns the tag as 16 bytes, of which
/// the first `tag.len()` count, for a mode that has one. `start.iv` is also the nonce. `tag` has the length
/// of the mode's tags. Decryption does not compare it, and reads it only if the mode decrypts with it. The
/// requirements of the mode are not checked; only valid data gives a meaningful result.
///
/// # Errors
/// [`Error::KeyLength`] if the key does not fit the mode.
///
/// # Panics
/// If the initial value is not a block where the mode needs one, or the message ends inside a block where it
/// must not.
pub fn mode_by_reference(
    mode: Mode,
    (cipher, key): (Cipher, &[u8]),
    direction: Direction,
    start: &Start<'_>,
    aad: &[u8],
    tag: &[u8],
    data: &mut [u8],
) -> Result<Option<Block>, Error> {
    let came = || {
        let mut block = [0; BLOCK_BYTES];
        block[..tag.len()].copy_from_slice(tag);
        block
    };
    let (first, second) = key.split_at(cipher.key_bytes().min(key.len()));
    let by = reference::cipher(&Key::new(cipher, first)?);
    let iv = || {
        let mut block = [0; BLOCK_BYTES];
        block.copy_from_slice(start.iv);
        block
    };
    match mode {
        Mode::Ecb => ecb(&*by, direction, data),
        Mode::Cbc => cbc(&*by, direction, iv(), data),
        Mode::Cfb => cfb(&*by, direction, iv(), data),
        Mode::Cfb8 => cfb_segments(8, &*by, direction, iv(), data),
        Mode::Cfb1 => cfb_segments(1, &*by, direction, iv(), data),
        Mode::Ofb => ofb(&*by, iv(), data),
        Mode::Ctr => ctr(&*by, iv(), data),
        Mode::Xts => {
            let tweaks = reference::cipher(&Key::new(cipher, second)?);
            for (sector, data) in (start.sector..).zip(data.chunks_mut(start.sector_bytes)) {
                xts(&*by, &*tweaks, direction, sector, data);
            }
        }
        Mode::Eax => return Ok(Some(eax(&*by, direction, start.iv, aad, data))),
        Mode::Gcm => return Ok(Some(gcm(&*by, direction, start.iv, aad, data))),
        Mode::Ccm => return Ok(Some(ccm(&*by, direction, tag.len(), start.iv, aad, data))),
        Mode::GcmSiv => {
            return gcm_siv((cipher, &*by), direction, start.iv, aad, came(), data).map(Some);
        }
        Mode::Siv => {
            let counter = reference::cipher(&Key::new(cipher, second)?);
            let strings = if start.iv.is_empty() { &[aad][..] } else { &[aad, start.iv] };
            return Ok(Some(siv((&*by, &*counter), direction, strings, came(), data)));
        }
        Mode::Ocb => return Ok(Some(ocb(&*by, direction, tag.len(), start.iv, aad, data))),
    }
    Ok(None)
}

/// Whether a search with these options finds keys in different lanes, with few false hits.
fn finds(job: Job, usage: TableReuse, options: &Options) -> Result<bool, Error> {
    const KEYS: usize = 600;
    let Job { cipher, direction, .. } = job;
    let (features, plans) = (options.limits()?.features, options.plans_of(job)?);
    let (key_bytes, (_, painted)) = (cipher.key_bytes(), question(cipher)?);
    // Inner keys differ only in the first two bytes; the outer key has the other bytes.
    let mut keys = vec![0; KEYS * key_bytes];
    for (i, key) in keys.chunks_exact_mut(key_bytes).enumerate() {
        key[..2].copy_from_slice(&(i as u16).to_le_bytes());
    }
    let mut outer = painted[100..][..key_bytes].to_vec();
    outer[..2].fill(0);
    for planted in [0, 77, KEYS - 1] {
        let inner = &keys[planted * key_bytes..][..key_bytes];
        let key: Vec<u8> = outer.iter().zip(inner).map(|(a, b)| a ^ b).collect();
        let mut output = INITIAL;
        ecb(&*reference::cipher(&Key::new(cipher, &key)?), direction, &mut output);
        let known = Known { direction, input: INITIAL, output, mask: [0xff; BLOCK_BYTES] };
        let (mut scratch, mut found) = (Vec::new(), Vec::new());
        let part = search(&plans[0], features, cipher, &known)?;
        part.inner(&keys, usage).search(&outer, &mut scratch, &mut found);
        if !found.contains(&planted) || found.len() > 3 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The error for a variant, or the first variant of a plan, that gives wrong results.
pub fn disagrees(variant: &str) -> Error {
    let reason = "it disagrees with the reference: please report this machine".to_owned();
    Error::Unavailable { variant: variant.to_owned(), reason }
}

/// More than two of the widest bundles, and enough blocks for the last counter byte to wrap.
const BLOCKS: usize = 1100;
/// Bytes in a chain, of which the data then has more than any kernel runs together.
const CHAIN_BYTES: usize = 8 * BLOCK_BYTES;
const INITIAL: Block = *b"counter block \xff\x03";

/// The key and data that every variant must encrypt.
fn question(cipher: Cipher) -> Result<(Key, Vec<u8>), Error> {
    let painted: Vec<u8> = (0..BLOCK_BYTES * BLOCKS).map(|i| ((i * i) >> 7) as u8 ^ i as u8).collect();
    let key = Key::new(cipher, &painted[100..][..cipher.key_bytes()])?;
    Ok((key, painted))
}

/// An input and the reference's output for it.
type Answer = (Cipher, Direction, JobSource, Arc<Vec<u8>>);

/// The reference's output, computed once, because the reference is slow and the table has hundreds of
/// variants.
fn answer(key: &Key, direction: Direction, source: JobSource, mut data: Vec<u8>) -> Arc<Vec<u8>> {
    static KNOWN: Mutex<Vec<Answer>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let question = (key.cipher(), direction, source);
    if let Some((.., answer)) = known.iter().find(|(c, d, b, _)| (*c, *d, *b) == question) {
        return Arc::clone(answer);
    }
    let cipher = reference::cipher(key);
    match source {
        JobSource::Bytes => ecb(&*cipher, direction, &mut data),
        JobSource::Counter => ctr(&*cipher, INITIAL, &mut data),
        JobSource::Mode(Fused::Gcm) => {
            let tag = gcm(&*cipher, direction, &INITIAL[..12], &[], &mut data);
            data.extend_from_slice(&tag);
        }
        JobSource::Mode(Fused::Ocb) => {
            let tag = ocb(&*cipher, direction, BLOCK_BYTES, &INITIAL[..12], &[], &mut data);
            data.extend_from_slice(&tag);
        }
        JobSource::Mode(Fused::Chains) => {
            data.chunks_mut(CHAIN_BYTES).for_each(|chain| cbc(&*cipher, direction, INITIAL, chain));
        }
        #[cfg(feature = "own-keys")]
        JobSource::Mode(Fused::OwnKeys) => {
            let keys = keys_of_records(key.cipher()).unwrap_or_default();
            for (key, record) in keys.iter().zip(records_of(&mut data)) {
                ecb(&*reference::cipher(key), direction, record);
            }
        }
        // A search changes no data.
        JobSource::Keys { .. } => {}
    }
    let answer = Arc::new(data);
    known.push((key.cipher(), direction, source, Arc::clone(&answer)));
    answer
}
