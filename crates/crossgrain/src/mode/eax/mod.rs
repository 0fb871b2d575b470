//! EAX (Bellare, Rogaway and Wagner, "The EAX Mode of Operation", FSE 2004): CTR and CMAC under one key.
//!
//! ```text
//! OMACₜ(M) = CMAC(number t as a block ‖ M)
//! N = OMAC₀(nonce)
//! C = P ^ CTR from counter block N on
//! tag = first bytes of N ^ OMAC₁(associated data) ^ OMAC₂(C)
//! ```
//!
//! The CMAC state after the block of t is computed once per key. The tag covers the ciphertext, so `open`
//! checks it before it decrypts.

pub(crate) mod reference;
pub(crate) mod serial;

use std::fmt;
use std::slice::{from_mut, from_ref};

use zeroize::Zeroizing;

use self::serial::{EaxJob, Omacs};
use super::aead::{Aead, Groups, by_groups, verdict};
use super::cmac::Cmac;
use super::ctr::counted::apply_counters;
use super::ctr::counter::Counter;
use super::lists::{Lists, add};
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::arch::ClearRegisters;
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::kernel::Source;
use crate::kernel::serial::Serial;
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::plan::{Fused, Job, Plan};
use crate::run::{Program, Threads};

pub(super) const ENTRY: Entry = Entry {
    name: "eax",
    summary: "Counter mode with a tag by the cipher itself",
    initial: Initial::Nonce { least: 0, usual: BLOCK_BYTES, most: usize::MAX },
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Counters,
    fused: Some(Fused::Chains),
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    aad_strings_max: 1,
    reuse: Reuse::Plaintexts,
    admits: every_cipher,
    wipes_forged: false,
    make: Make::Aead(|cipher, key, tag_bytes, options| {
        Ok(Box::new(Eax::with_options(&Key::new(cipher, key)?, tag_bytes, options)?))
    }),
};

/// EAX: nonces of 7 bytes or more ([`Options::short_nonces`] admits all), and tags of 4 to 16 bytes.
///
/// ```
/// use crossgrain::mode::{Aead as _, Eax};
/// use crossgrain::{Cipher, Error, Key};
///
/// let mode = Eax::new(&Key::generate(Cipher::Aes256)?)?;
/// let mut message = b"meet at noon".to_vec();
/// let tag = mode.seal(b"sixteen byte one", b"header", &mut message)?;
/// assert_eq!(mode.open(b"sixteen byte one", b"forged", &tag, &mut message), Err(Error::Forged));
/// mode.open(b"sixteen byte one", b"header", &tag, &mut message)?;
/// assert_eq!(message, b"meet at noon");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Eax {
    counter: Program,
    cmac: Cmac,
    /// Boxed, so that moving `Eax` leaves no copies of them.
    omacs: Box<Zeroizing<Omacs>>,
    tag_bytes: usize,
    nonce_bytes_min: usize,
}

/// The input of an OMAC, which determines its t.
#[derive(Clone, Copy)]
enum Of {
    Nonce,
    Aad,
    Ciphertext,
}

impl Eax {
    /// EAX with 16-byte tags and the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, &Options::default())
    }

    /// EAX with tags of `tag_bytes` and these options, bound to a key.
    ///
    /// # Errors
    /// [`Error::TagBytes`] unless tags have 4 to 16 bytes, and as
    /// [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &Key, tag_bytes: usize, options: &Options) -> Result<Self, Error> {
        Mode::Eax.admits_tag(tag_bytes)?;
        let (cipher, keys) = (key.cipher(), options.keys(key)?);
        let (count, chain) = (Mode::Eax.job(cipher, Direction::Encrypt), Job::of_chains(cipher));
        let counter = options.for_job(count, chain).program_of_secret_counter(&keys)?;
        let cmac = Cmac::of(&keys, &options.for_job(chain, count))?;
        let omacs = Box::new(Zeroizing::new([[[0; BLOCK_BYTES]; 2]; 3]));
        let nonce_bytes_min = Mode::Eax.nonce_bytes_min(options);
        let mut eax = Self { counter, cmac, omacs, tag_bytes, nonce_bytes_min };
        eax.set_omacs();
        eax.cmac.wipe_stack();
        Ok(eax)
    }

    /// Replaces the key by another one of the same cipher. Tag length, options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        let replaced = self.take_key(key);
        let programs = [&mut self.counter, self.cmac.program_mut()];
        Program::wipe_rekeyed_stack(programs, replaced)
    }

    /// A separate function, so that its stack frame can be wiped. Returns whether programs were bound again.
    #[inline(never)]
    fn take_key(&mut self, key: &Key) -> Result<bool, Error> {
        let is_bound_again = self.counter.replace_key(key)? | self.cmac.take_key(key)?;
        self.set_omacs();
        Ok(is_bound_again)
    }

    /// Computes the first states and the tags of empty strings.
    #[inline(never)]
    fn set_omacs(&mut self) {
        for (t, [chained, of_nothing]) in (0..).zip(self.omacs.iter_mut()) {
            *chained = [0; BLOCK_BYTES];
            chained[BLOCK_BYTES - 1] = t;
            *of_nothing = *chained;
            self.cmac.chain(chained);
            self.cmac.tag_block(of_nothing);
        }
    }

    /// Runs a message block by block. The result is its tag as a whole block, and the first counter block as
    /// a number. Nothing is decrypted.
    fn run_single(&self, direction: Direction, message: &mut AeadMessage<'_>) -> (Block, u128) {
        let (omacs, last_keys) = (&**self.omacs, self.cmac.last_keys());
        let (opens, tag) = (direction == Direction::Decrypt, [0; BLOCK_BYTES]);
        let mut job = EaxJob { opens, omacs, last_keys, message, counter: 0, tag };
        self.cmac.program().serial(Serial::Eax(&mut job));
        (job.tag, job.counter)
    }

    /// Computes OMACₜ of each message, for one t.
    fn omacs(&self, threads: Threads, of: Of, messages: &[&[u8]], omacs: &mut [Block]) {
        let [chained, of_nothing] = &self.omacs[of as usize];
        omacs.fill(*chained);
        if !messages.iter().all(|message| message.is_empty()) {
            self.cmac.tags_after(threads, omacs, messages);
        }
        let empty = omacs.iter_mut().zip(messages).filter(|(_, message)| message.is_empty());
        empty.for_each(|(omac, _)| *omac = *of_nothing);
    }

    /// The first counter blocks of messages, and the XOR of the OMACs that do not depend on the ciphertext.
    fn headers(&self, threads: Threads, messages: &[AeadMessage<'_>], [counters, sums]: [&mut [Block]; 2]) {
        let nonces: Vec<_> = messages.iter().map(|message| message.nonce).collect();
        let aads: Vec<_> = messages.iter().map(|message| message.aad).collect();
        self.omacs(threads, Of::Nonce, &nonces, counters);
        self.omacs(threads, Of::Aad, &aads, sums);
        add(sums, counters);
    }

    /// CTR over messages, each from its own counter block on.
    fn apply(&self, threads: Threads, counters: &[Block], messages: &mut [AeadMessage<'_>]) {
        apply_counters([&self.counter, self.cmac.program()], threads, counters, messages);
    }
}

impl Aead for Eax {
    fn tag_bytes(&self) -> usize {
        self.tag_bytes
    }

    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error> {
        Mode::Eax.admits_nonce(self.nonce_bytes_min, message.nonce)
    }

    fn plans(&self) -> &[Plan] {
        self.counter.plans()
    }

    fn seal_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        self.admits(message)?;
        let (tag, _) = self.run_single(Direction::Encrypt, message);
        message.tag = Tag::cut(&tag, self.tag_bytes);
        Ok(())
    }

    fn open_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        self.admits(message)?;
        let (tag, counter) = self.run_single(Direction::Decrypt, message);
        let right = Tag::cut(&tag, self.tag_bytes) == message.tag;
        if right {
            let first = Source::Counter(Counter::big_endian(counter));
            self.counter.run(first, message.buffers.reborrow());
        }
        verdict(self, message, right)
    }

    by_groups!(many);
}

impl Groups for Eax {
    fn threads(&self) -> Threads {
        self.counter.threads()
    }

    fn group_most(&self) -> usize {
        self.cmac.lanes()
    }

    fn seal_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>]) {
        let mut lists = Lists::new(messages.len());
        let [counters, sums, omacs] = lists.each();
        self.headers(threads, messages, [counters, sums]);
        self.apply(threads, counters, messages);
        let ciphertexts: Vec<_> = messages.iter_mut().map(|message| &*message.buffers.output_mut()).collect();
        self.omacs(threads, Of::Ciphertext, &ciphertexts, omacs);
        add(sums, omacs);
        for (message, sum) in messages.iter_mut().zip(sums) {
            message.tag = Tag::cut(sum, self.tag_bytes);
        }
    }

    fn open_group(&self, threads: Threads, messages: &mut [AeadMessage<'_>], opened: &mut [bool]) {
        let mut lists = Lists::new(messages.len());
        let [counters, sums, omacs] = lists.each();
        self.headers(threads, messages, [counters, sums]);
        let ciphertexts: Vec<_> = messages.iter().map(|message| message.buffers.input()).collect();
        self.omacs(threads, Of::Ciphertext, &ciphertexts, omacs);
        add(sums, omacs);
        for ((message, opened), sum) in messages.iter().zip(&mut *opened).zip(sums) {
            *opened = Tag::cut(sum, self.tag_bytes) == message.tag;
        }
        if opened.iter().all(|opened| *opened) {
            return self.apply(threads, counters, messages);
        }
        let right = messages.iter_mut().zip(counters).zip(opened).filter(|(_, opened)| **opened);
        right.for_each(|((message, counter), _)| self.apply(threads, from_ref(counter), from_mut(message)));
    }
}

impl fmt::Debug for Eax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Eax")
            .field("tag_bytes", &self.tag_bytes)
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}
