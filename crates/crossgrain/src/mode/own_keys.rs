//! Many records, each under a key of its own: schedules side by side, a key a lane.
//!
//! Setting up a key for one record costs as much as encrypting some hundred blocks. Here the schedules of many keys are worked out at
//! once, and none is kept.

use std::array;
use std::cmp::Reverse;

use zeroize::Zeroizing;

use super::cmac::{last_keys_of, split_last, with_last};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::exec::{self, Threads};
use crate::mode::{Options, Tag};
use crate::part::Source;
use crate::part::chain::{Data, Link, Rule, Strand};
use crate::part::counter::Counter;
use crate::part::own_keys::{Job as Work, Keyed, LANES_MAX};
use crate::plan::{Birth, Job};
use crate::word::{Buffers, wipe};

/// A record: a message with its key.
#[derive(Debug)]
pub struct Record<'a> {
    /// The key, which may be that of other records too.
    pub key: &'a Key,
    /// The initialisation vector, or first counter block; ECB has no use for it.
    pub iv: Block,
    /// Where it lies and where its result goes.
    pub buffers: Buffers<'a>,
}

impl<'a> Record<'a> {
    /// A record under its key and an initialisation vector.
    pub fn new(key: &'a Key, iv: Block, buffers: impl Into<Buffers<'a>>) -> Self {
        Self { key, iv, buffers: buffers.into() }
    }
}

/// Modes for many records of which each has a key of its own, such as those of many users.
///
/// The results are those of a [`Ctr`](super::Ctr), [`Cbc`](super::Cbc), [`Ecb`](super::Ecb) or [`Cmac`](super::Cmac) made for each record.
/// That costs about a microsecond a key; here it costs some nanoseconds for AES by AES instructions, and some tens for Serpent.
/// Other ciphers, and AES without AES instructions, are run key after key.
///
/// There is no mode with a tag but CMAC: GCM would need powers of another H in every lane, which take longer than a short record.
/// Encrypt by CTR and make a tag of the ciphertext and its counter block by CMAC under another key.
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
    encrypt: exec::OwnKeys,
    decrypt: exec::OwnKeys,
    count: exec::OwnKeys,
}

impl OwnKeys {
    /// By the default options, for keys of a cipher.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(cipher: Cipher) -> Result<Self, Error> {
        Self::with_options(cipher, &Options::default())
    }

    /// By these options, for keys of a cipher. What they name for one direction, or for counters, is for that alone.
    ///
    /// # Errors
    /// What is wrong with the options: [`Error::UnknownVariant`], [`Error::Unavailable`], [`Error::NoPlan`],
    /// [`Error::UnfitPlan`], or [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn with_options(cipher: Cipher, options: &Options) -> Result<Self, Error> {
        let limits = options.limits()?;
        let [encrypt, decrypt, count] = [
            (Direction::Encrypt, Birth::Bytes),
            (Direction::Decrypt, Birth::Bytes),
            (Direction::Encrypt, Birth::Counter),
        ]
        .map(|(direction, birth)| Job { cipher, direction, birth });
        let own = |job: Job, others: [Job; 2]| {
            let [first, second] = others;
            let options = options.for_job(job, first).for_job(job, second);
            let plans = options.planned(job, &options.limits()?)?;
            exec::OwnKeys::of(job, plans, limits.features, Threads::at_most(options.threads))
        };
        Ok(Self {
            cipher,
            encrypt: own(encrypt, [decrypt, count])?,
            decrypt: own(decrypt, [encrypt, count])?,
            count: own(count, [encrypt, decrypt])?,
        })
    }

    /// Counter mode over records of any lengths; decrypting is the same as encrypting. Their buffers are used up.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher; nothing is written then.
    pub fn ctr(&self, records: &mut [Record<'_>]) -> Result<(), Error> {
        self.check(records.iter().map(|record| record.key))?;
        let source = |iv: &Block| Source::Counter(Counter::big_endian(u128::from_be_bytes(*iv)));
        run(&self.count, records, source);
        Ok(())
    }

    /// Enciphers or deciphers records of whole blocks, every block by itself. Their buffers are used up.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher, [`Error::PartialBlock`] for a part of a block; nothing is written then.
    pub fn ecb(&self, direction: Direction, records: &mut [Record<'_>]) -> Result<(), Error> {
        self.check_blocks(records)?;
        run(self.way(direction), records, |_| Source::Bytes);
        Ok(())
    }

    /// Cipher block chaining over records of whole blocks. Their buffers are used up.
    ///
    /// # Errors
    /// As [`OwnKeys::ecb`].
    pub fn cbc(&self, direction: Direction, records: &mut [Record<'_>]) -> Result<(), Error> {
        self.check_blocks(records)?;
        if direction == Direction::Decrypt {
            run(&self.decrypt, records, |iv| Source::Chained(*iv));
            return Ok(());
        }
        let records = longest_first(records.iter_mut(), |record| record.buffers.len_bytes());
        let keys: Vec<_> = records.iter().map(|record| record.key).collect();
        let mut strands: Vec<_> = records
            .into_iter()
            .map(|record| Strand { state: record.iv, data: Data::Replaced(record.buffers.take()) })
            .collect();
        let len_bytes = strands.iter().map(|strand| strand.data.len_bytes()).sum();
        let mut strands: Vec<_> = strands.iter_mut().collect();
        let rule = Rule::Replace(Link::Cbc);
        self.encrypt
            .each(len_bytes, &keys, &mut strands, &|keyed, strands| keyed.chain_to_ends(rule, strands));
        Ok(())
    }

    /// The tags of messages by CMAC, each under its key.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher.
    pub fn cmac(&self, messages: &[(&Key, &[u8])]) -> Result<Vec<Tag>, Error> {
        self.check(messages.iter().map(|(key, _)| *key))?;
        let mut tags = vec![Tag::default(); messages.len()];
        let messages = longest_first(messages.iter().zip(&mut tags), |((_, message), _)| message.len());
        let keys: Vec<_> = messages.iter().map(|((key, _), _)| *key).collect();
        let mut items: Vec<_> = messages.into_iter().map(|((_, message), tag)| (*message, tag)).collect();
        let len_bytes = items.iter().map(|(message, _)| message.len()).sum();
        self.encrypt.each(len_bytes, &keys, &mut items, &tag_group);
        Ok(tags)
    }

    const fn way(&self, direction: Direction) -> &exec::OwnKeys {
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

/// Items in the order of their lengths, so that lanes beside each other have about as much to do, and no long item is left alone at
/// the end.
fn longest_first<T>(items: impl Iterator<Item = T>, len_bytes: impl Fn(&T) -> usize) -> Vec<T> {
    let mut items: Vec<_> = items.collect();
    items.sort_unstable_by_key(|item| Reverse(len_bytes(item)));
    items
}

/// Runs records by a mode that is parallel.
fn run(own: &exec::OwnKeys, records: &mut [Record<'_>], source: impl Fn(&Block) -> Source<'static>) {
    let records = longest_first(records.iter_mut(), |record| record.buffers.len_bytes());
    let keys: Vec<_> = records.iter().map(|record| record.key).collect();
    let mut work: Vec<Work<'_>> =
        records.into_iter().map(|record| (source(&record.iv), record.buffers.take())).collect();
    let len_bytes = work.iter().map(|(_, buffers)| buffers.len_bytes()).sum();
    own.each(len_bytes, &keys, &mut work, &|keyed, work| keyed.run(work));
}

/// The tags of messages whose keys are in lanes (SP 800-38B §6.2).
fn tag_group(keyed: &dyn Keyed, items: &mut [(&[u8], &mut Tag)]) {
    let count = items.len();
    let mut ls = [[0; BLOCK_BYTES]; LANES_MAX];
    keyed.blocks(&mut ls, count);
    let mut states = [[0; BLOCK_BYTES]; LANES_MAX];
    let mut strands: [Strand<'_>; LANES_MAX] = array::from_fn(|lane| {
        let message = items.get(lane).map_or(&[][..], |(message, _)| message);
        Strand { state: [0; BLOCK_BYTES], data: Data::Absorbed(split_last(message).0) }
    });
    keyed.chain_to_ends(Rule::Absorb, &mut strands.each_mut()[..count]);
    for (lane, (message, _)) in items.iter().enumerate() {
        let last_keys = Zeroizing::new(last_keys_of(&ls[lane]));
        states[lane] = with_last(&strands[lane].state, split_last(message).1, &last_keys);
    }
    keyed.blocks(&mut states, count);
    for ((_, tag), state) in items.iter_mut().zip(&states) {
        **tag = Tag::from(*state);
    }
    strands.iter_mut().for_each(|strand| wipe(&mut strand.state));
    wipe(ls.as_flattened_mut());
}
