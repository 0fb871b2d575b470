//! CTR, ECB, CBC and CMAC over many records that each have their own key.
//!
//! Setting up one key takes longer than encrypting a short record. Here the schedules of many keys are
//! computed together, one key per lane, and none is kept.

use std::array;
use std::cmp::Reverse;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::chained::chain::{ChainMessage, Data, Link, Rule};
use super::cmac::serial::split_last;
use super::cmac::{last_keys_of, with_last};
use crate::arch::{ClearRegisters, wipe};
use crate::block::{BLOCK_BYTES, Cipher, Direction, Error, Key};
use crate::kernel::own_keys::{Keyed, LANES_MAX, RecordSource};
use crate::message::Record;
use crate::mode::{Options, Tag};
use crate::plan::{Job, JobSource, Plan};
use crate::run::{self, Threads};

/// Modes for many records that each have their own key, for example those of many users.
///
/// The results are those of [`Ctr`](super::Ctr), [`Cbc`](super::Cbc), [`Ecb`](super::Ecb) and
/// [`Cmac`](super::Cmac). Keys are set up many at a time for Serpent, and for AES with AES instructions. For
/// these, setting up a mode for one key costs more than a short record. Other ciphers, and AES without AES
/// instructions, run one key after another. No key is kept when a call returns.
///
/// To authenticate records, encrypt with CTR and compute a CMAC of the counter block and the ciphertext under
/// a second key. GCM is not available here: its tags need powers of a different element for each key, and
/// computing them costs more than a short record.
///
/// ```
/// use crossgrain::mode::{Ctr, OwnKeys, Record};
/// use crossgrain::{Cipher, Key};
///
/// let keys = [Key::new(Cipher::Aes128, &[1; 16])?, Key::new(Cipher::Aes128, &[2; 16])?];
/// let (mut first, mut second) = ([7; 100], [7; 20]);
/// let own = OwnKeys::new(Cipher::Aes128)?;
/// own.ctr(&mut [Record::new(&keys[0], [3; 16], &mut first), Record::new(&keys[1], [4; 16], &mut second)])?;
/// Ctr::new(&keys[1], &[4; 16])?.apply(&mut second);
/// assert_eq!(second, [7; 20]);
/// # Ok::<(), crossgrain::Error>(())
/// ```
#[derive(Debug)]
pub struct OwnKeys {
    cipher: Cipher,
    encrypt: run::OwnKeys,
    decrypt: run::OwnKeys,
    count: run::OwnKeys,
}

impl OwnKeys {
    /// With the default options, for keys of one cipher.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(cipher: Cipher) -> Result<Self, Error> {
        Self::with_options(cipher, &Options::default())
    }

    /// With these options, for keys of one cipher. Variants and plans for one direction, or for counters,
    /// apply only to that. CTR runs on the kernel of encryption if that has a key per lane. Otherwise it runs
    /// by plans of CTR, which are bound to one key after another.
    ///
    /// # Errors
    /// Errors in the options: [`Error::UnknownVariant`], [`Error::Unavailable`], [`Error::NoPlan`],
    /// [`Error::UnfitPlan`], or [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn with_options(cipher: Cipher, options: &Options) -> Result<Self, Error> {
        let _clear = ClearRegisters;
        let features = options.limits()?.features;
        let [encrypt, decrypt] = Direction::ALL.map(|direction| Job::of_own_keys(cipher, direction));
        let count = Job { cipher, direction: Direction::Encrypt, source: JobSource::Counter };
        let planned = |job: Job, [first, second]: [Job; 2]| {
            let options = options.for_job(job, first).for_job(job, second);
            options.planned(job, &options.limits()?)
        };
        let bound = |plans| run::OwnKeys::of(cipher, plans, features, Threads::at_most(options.threads));
        let encrypting = planned(encrypt, [decrypt, count])?;
        let counting = if run::OwnKeys::has_kernel(&encrypting) {
            Arc::clone(&encrypting)
        } else {
            planned(count, [encrypt, decrypt])?
        };
        Ok(Self {
            cipher,
            encrypt: bound(encrypting)?,
            decrypt: bound(planned(decrypt, [encrypt, count])?)?,
            count: bound(counting)?,
        })
    }

    /// The plans in use for ECB and CBC in a direction, widest bundle first.
    pub fn plans(&self, direction: Direction) -> &[Plan] {
        self.way(direction).plans()
    }

    /// Counter mode over records of any lengths. Decryption is the same as encryption.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher. Nothing is written in this case.
    pub fn ctr(&self, records: &mut [Record<'_>]) -> Result<(), Error> {
        let _clear = ClearRegisters;
        self.check(records.iter().map(|record| record.key))?;
        run(&self.count, records, RecordSource::Counter);
        Ok(())
    }

    /// Encrypts or decrypts records of whole blocks in ECB mode: each block independently.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher, [`Error::PartialBlock`] for an incomplete block.
    /// Nothing is written in these cases.
    pub fn ecb(&self, direction: Direction, records: &mut [Record<'_>]) -> Result<(), Error> {
        let _clear = ClearRegisters;
        self.check_blocks(records)?;
        run(self.way(direction), records, RecordSource::Bytes);
        Ok(())
    }

    /// Cipher block chaining over records of whole blocks.
    ///
    /// # Errors
    /// As [`OwnKeys::ecb`].
    pub fn cbc(&self, direction: Direction, records: &mut [Record<'_>]) -> Result<(), Error> {
        let _clear = ClearRegisters;
        self.check_blocks(records)?;
        if direction == Direction::Decrypt {
            run(&self.decrypt, records, RecordSource::Chained);
            return Ok(());
        }
        let len_bytes = total_bytes(records);
        let mut records = longest_first(records.iter_mut().collect(), |record| record.buffers.len_bytes());
        self.encrypt.each(len_bytes, &mut records, &|record| record.key, &|keyed, records| {
            let count = records.len();
            let mut records = records.iter_mut();
            let mut chains: [_; LANES_MAX] = array::from_fn(|_| match records.next() {
                Some(record) => {
                    ChainMessage { state: record.iv, data: Data::Replaced(record.buffers.reborrow()) }
                }
                None => ChainMessage { state: [0; BLOCK_BYTES], data: Data::Absorbed(&[]) },
            });
            keyed.chain_to_ends(Rule::Replace(Link::Cbc), &mut chains.each_mut()[..count]);
        });
        Ok(())
    }

    /// The CMAC tags of messages, each under its own key.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher.
    pub fn cmac(&self, messages: &[(&Key, &[u8])]) -> Result<Vec<Tag>, Error> {
        let _clear = ClearRegisters;
        self.check(messages.iter().map(|(key, _)| *key))?;
        let mut tags = vec![Tag::default(); messages.len()];
        let items = messages.iter().zip(&mut tags).collect();
        let mut items = longest_first(items, |((_, message), _)| message.len());
        let len_bytes = messages.iter().map(|(_, message)| message.len()).sum();
        self.encrypt.each(len_bytes, &mut items, &|((key, _), _)| key, &tag_group);
        Ok(tags)
    }

    const fn way(&self, direction: Direction) -> &run::OwnKeys {
        match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        }
    }

    fn check<'a>(&self, mut keys: impl Iterator<Item = &'a Key>) -> Result<(), Error> {
        match keys.find(|key| key.cipher() != self.cipher) {
            Some(key) => Err(Error::OtherCipher { cipher: self.cipher, given: key.cipher() }),
            None => Ok(()),
        }
    }

    fn check_blocks(&self, records: &[Record<'_>]) -> Result<(), Error> {
        self.check(records.iter().map(|record| record.key))?;
        let mut lens = records.iter().map(|record| record.buffers.len_bytes());
        match lens.find(|len_bytes| !len_bytes.is_multiple_of(BLOCK_BYTES)) {
            Some(len_bytes) => Err(Error::PartialBlock { len_bytes }),
            None => Ok(()),
        }
    }
}

fn total_bytes(records: &[Record<'_>]) -> usize {
    records.iter().map(|record| record.buffers.len_bytes()).sum()
}

/// Sorts items by length, longest first, so that neighbouring lanes have similar amounts of work.
fn longest_first<T>(mut items: Vec<T>, len_bytes: impl Fn(&T) -> usize) -> Vec<T> {
    items.sort_unstable_by_key(|item| Reverse(len_bytes(item)));
    items
}

/// Runs records in a mode whose blocks are independent.
fn run(own: &run::OwnKeys, records: &mut [Record<'_>], source: RecordSource) {
    let len_bytes = total_bytes(records);
    let mut records: Vec<_> = records.iter_mut().collect();
    if own.wants_alike() {
        records = longest_first(records, |record| record.buffers.len_bytes());
    }
    own.each(len_bytes, &mut records, &|record| record.key, &|keyed, records| keyed.run(source, records));
}

/// The CMAC tags of messages (SP 800-38B §6.2). `keyed` holds the key of item i in lane i.
fn tag_group(keyed: &mut dyn Keyed, items: &mut [(&(&Key, &[u8]), &mut Tag)]) {
    let count = items.len();
    let mut ls = [[0; BLOCK_BYTES]; LANES_MAX];
    keyed.blocks(&mut ls, count);
    let mut states = [[0; BLOCK_BYTES]; LANES_MAX];
    let mut chains: [ChainMessage<'_>; LANES_MAX] = array::from_fn(|lane| {
        let message = items.get(lane).map_or(&[][..], |((_, message), _)| message);
        ChainMessage { state: [0; BLOCK_BYTES], data: Data::Absorbed(split_last(message).0.as_flattened()) }
    });
    keyed.chain_to_ends(Rule::Absorb, &mut chains.each_mut()[..count]);
    for (lane, ((_, message), _)) in items.iter().enumerate() {
        let last_keys = Zeroizing::new(last_keys_of(&ls[lane]));
        states[lane] = with_last(&chains[lane].state, split_last(message).1, &last_keys);
    }
    keyed.blocks(&mut states, count);
    for ((_, tag), state) in items.iter_mut().zip(&states) {
        **tag = Tag::from(*state);
    }
    chains.iter_mut().for_each(|chain| wipe(&mut chain.state));
    wipe(ls.as_flattened_mut());
}
