//! GCM (SP 800-38D): CTR with a 32-bit counter, and GHASH of the ciphertext and associated data as the tag.
//!
//! ```text
//! H = E(0)
//! J₀ = nonce ‖ 1 in 32 bits                                     if the nonce has 12 bytes
//! J₀ = GHASH(nonce padded ‖ 0 in 64 bits ‖ bits of the nonce)   otherwise
//! C = P ^ E(J₀ + 1) E(J₀ + 2) …                                 only the last 32 bits count
//! S = GHASH(A padded ‖ C padded ‖ bits of A ‖ bits of C)        padded by zeros; lengths have 64 bits
//! tag = first bytes of S ^ E(J₀)
//! ```
//!
//! All integers are big-endian. GHASH processes the blocks of a message in order, on one thread.
//!
//! Messages with nonces of 12 bytes that run on one thread go to a kernel that computes CTR and GHASH in one
//! pass, if the plan has one and it costs less than two passes. For other messages this file runs the counter
//! program and GHASH piece by piece.

pub mod ghash;
pub mod kernel;
pub(crate) mod reference;

use std::sync::OnceLock;
use std::{fmt, mem};

use zeroize::Zeroizing;

use self::ghash::Ghash;
use self::kernel::GcmParams;
use super::aead::{Aead, Groups, by_groups, verdict};
use super::ctr::counter::Counter;
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use crate::arch::{Buffers, ClearRegisters, STACK_BYTES, wipe, wipe_stack};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::kernel::{Keys, Source};
use crate::message::{AeadMessage, Tag};
use crate::mode::Options;
use crate::plan::{Fused, Plan};
use crate::run::{Program, Threads};

pub(super) const ENTRY: Entry = Entry {
    name: "gcm",
    summary: "Counter mode with a tag by multiplication",
    initial: Initial::Nonce { least: 1, usual: NONCE_BYTES, most: usize::MAX },
    lengths: Lengths::Any,
    keys: 1,
    cipher_use: CipherUse::Counters,
    fused: Some(Fused::Gcm),
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[4, 8, 12, 13, 14, 15, 16],
    aad_strings_max: 1,
    reuse: Reuse::Forgery,
    admits: every_cipher,
    wipes_forged: true,
    make: Make::Aead(|cipher, key, tag_bytes, options| {
        Ok(Box::new(Gcm::with_options(&Key::new(cipher, key)?, tag_bytes, options)?))
    }),
};

/// The longest message in bytes (SP 800-38D §5.2.1.1).
const MESSAGE_BYTES_MAX: u64 = (1 << 36) - 32;

/// The length of nonces that are counters themselves.
const NONCE_BYTES: usize = GcmParams::NONCE_BYTES;

/// Bytes that are encrypted and then hashed, so that they are still in cache for GHASH. With several threads,
/// a piece has eight times this for each thread.
const PIECE_BYTES: usize = 128 * 1024;

/// Messages that a thread takes at a time from a list. The kernel for short messages processes several in one
/// call.
const GROUP_MESSAGES: usize = 64;

/// GCM: nonces of 7 bytes or more, ideally 12 ([`Options::short_nonces`] admits all), and tags of 4, 8 or 12 to
/// 16 bytes.
///
/// Never use a nonce twice with one key. Two messages under the same nonce reveal the authentication key, and
/// anyone can then forge messages. `open` may decrypt before it knows the tag. If the tag is wrong,
/// it overwrites the output with zeros. In place, this also destroys the ciphertext.
///
/// ```
/// use crossgrain::mode::{Aead as _, Gcm};
/// use crossgrain::{Cipher, Error, Key};
///
/// let mode = Gcm::new(&Key::generate(Cipher::Aes256)?)?;
/// let mut message = b"meet at noon".to_vec();
/// let tag = mode.seal(b"nonce: once!", b"header", &mut message)?;
/// let mut sealed = message.clone();
/// assert_eq!(mode.open(b"nonce: once!", b"forged", &tag, &mut sealed), Err(Error::Forged));
/// mode.open(b"nonce: once!", b"header", &tag, &mut message)?;
/// assert_eq!(message, b"meet at noon");
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Gcm {
    counter: Program,
    /// The counter program for nonces of other lengths. Their counters come from GHASH and are secret,
    /// because they reveal something about the authentication key. It is made for the first of these nonces:
    /// most callers never use one.
    secret_counter: OnceLock<Program>,
    key: Key,
    options: Options,
    ghash: Ghash,
    /// GHASH with powers for the kernel's registers, if long messages take two passes.
    of_kernel: Option<Ghash>,
    /// Messages with fewer bytes and nonces of [`NONCE_BYTES`] go to the fused kernel. Longer ones cost less in
    /// two passes, or by several threads. 0 if no kernel exists.
    kernel_below_bytes: u64,
    /// The same on a single thread.
    fused_below_bytes: u64,
    tag_bytes: usize,
    tag_kept: &'static Block,
    nonce_bytes_min: usize,
}

impl Gcm {
    /// GCM with 16-byte tags and the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, BLOCK_BYTES, &Options::default())
    }

    /// GCM with tags of `tag_bytes` and these options, bound to a key.
    ///
    /// # Errors
    /// [`Error::TagBytes`] unless tags have 4, 8 or 12 to 16 bytes, and as
    /// [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(key: &Key, tag_bytes: usize, options: &Options) -> Result<Self, Error> {
        Mode::Gcm.admits_tag(tag_bytes)?;
        let bound = Self::bind(key, options);
        // Key set-up and the single block in `bind` use the stack equally deep, so one wipe is enough.
        match &bound {
            Ok((counter, ..)) => counter.wipe_setup_stack(),
            Err(_) => wipe_stack::<STACK_BYTES>(),
        }
        let (counter, ghash, of_kernel) = bound?;
        let nonce_bytes_min = Mode::Gcm.nonce_bytes_min(options);
        let (key, options) = (key.clone(), options.freely());
        let fused_below_bytes = counter.fused_below_bytes();
        let kernel_below_bytes =
            fused_below_bytes.min(MESSAGE_BYTES_MAX).min(counter.threads().pays_from_bytes());
        let (secret_counter, tag_kept) = (OnceLock::new(), Tag::kept(tag_bytes));
        Ok(Self {
            counter,
            secret_counter,
            key,
            options,
            ghash,
            of_kernel,
            kernel_below_bytes,
            fused_below_bytes,
            tag_bytes,
            tag_kept,
            nonce_bytes_min,
        })
    }

    /// Replaces the key by another one of the same cipher. Tag length, options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        let replaced = self.take_key(key);
        Program::wipe_rekeyed_stack([&mut self.counter], replaced)
    }

    /// A separate function, so that its stack frame can be wiped. Returns whether programs were bound again.
    #[inline(never)]
    fn take_key(&mut self, key: &Key) -> Result<bool, Error> {
        let is_bound_again = self.counter.replace_key(key)?;
        self.secret_counter.take();
        self.key.clone_from(key);
        let mut h = Zeroizing::new([0; BLOCK_BYTES]);
        self.counter.counter_block(&mut h);
        self.ghash.rekey(&h);
        if let Some(ghash) = &mut self.of_kernel {
            ghash.rekey(&h);
        }
        if let Some(kernel) = self.counter.gcm_mut().filter(|_| is_bound_again) {
            let prepared = kernel.prepare(&h);
            *self.of_kernel.as_mut().unwrap_or(&mut self.ghash) = prepared;
        }
        Ok(is_bound_again)
    }

    /// Binds the counter program and GHASH to a key. GHASH of the kernel comes last, if it is another one.
    ///
    /// A separate function, so that its stack frame can be wiped.
    #[inline(never)]
    fn bind(key: &Key, options: &Options) -> Result<(Program, Ghash, Option<Ghash>), Error> {
        let limits = options.limits()?;
        let plans = options.planned(Mode::Gcm.job(key.cipher(), Direction::Encrypt), &limits)?;
        let threads = Threads::at_most(options.threads);
        let pass = plans.first().and_then(Plan::pass);
        let mut counter =
            Program::of_message(plans, &Keys::of(key, limits.features), threads)?.wiping_stack();
        let mut h = Zeroizing::new([0; BLOCK_BYTES]);
        counter.counter_block(&mut h);
        // The kernel's tables would take parts of the key from the stack into their gaps, and a later key would not
        // overwrite them there.
        if counter.gcm().is_some() {
            counter.wipe_setup_stack();
        }
        // A kernel's GHASH has powers for registers of the kernel's width.
        let of_kernel = counter.gcm_mut().map(|kernel| kernel.prepare(&h));
        let of_pass = pass.map(|pass| Ghash::new(&h, pass.needs));
        Ok(match (of_pass, of_kernel) {
            (Some(of_pass), of_kernel) => (counter, of_pass, of_kernel),
            (None, Some(of_kernel)) => (counter, of_kernel, None),
            (None, None) => (counter, Ghash::new(&h, limits.features), None),
        })
    }

    /// Checks a nonce whose length is not [`NONCE_BYTES`], and makes the program for it unless it exists.
    fn admits_rare(&self, nonce: &[u8]) -> Result<(), Error> {
        Mode::Gcm.admits_nonce(self.nonce_bytes_min, nonce)?;
        if self.secret_counter.get().is_none() {
            let keys = self.options.keys(&self.key)?;
            let program = self.options.program_of_secret_counter(&keys)?;
            // Another thread may have made it first. Its program is the same.
            drop(self.secret_counter.set(program));
        }
        Ok(())
    }

    /// The counter block J₀ (SP 800-38D §7.1, step 2) as a big-endian number.
    fn first(&self, nonce: &[u8]) -> u128 {
        let mut first = [0; BLOCK_BYTES];
        if nonce.len() == NONCE_BYTES {
            first[..NONCE_BYTES].copy_from_slice(nonce);
            first[BLOCK_BYTES - 1] = 1;
        } else {
            self.ghash.absorb(&mut first, nonce);
            self.finish(&mut first, 0, nonce.len());
        }
        u128::from_be_bytes(first)
    }

    /// The counter program for a nonce that was checked.
    fn counter_of(&self, nonce: &[u8]) -> &Program {
        match self.secret_counter.get() {
            _ if nonce.len() == NONCE_BYTES => &self.counter,
            Some(program) => program,
            None => unreachable!("admitting a nonce makes what encrypts under it"),
        }
    }

    /// GHASH of a string, without the lengths.
    fn hash_of(&self, string: &[u8]) -> Block {
        let mut sum = [0; BLOCK_BYTES];
        self.ghash.absorb(&mut sum, string);
        sum
    }

    /// Absorbs the two lengths, the last block of GHASH.
    fn finish(&self, sum: &mut Block, aad_bytes: usize, len_bytes: usize) {
        let bits = |bytes: usize| 8 * bytes as u128;
        self.ghash.absorb(sum, &(bits(aad_bytes) << 64 | bits(len_bytes)).to_be_bytes());
    }

    /// The tag, from the GHASH of the associated data and all of the ciphertext.
    fn tag(&self, mut sum: Block, (program, first): (&Program, u128), aad: &[u8], len_bytes: usize) -> Tag {
        self.finish(&mut sum, aad.len(), len_bytes);
        // The mask is added to the sum in place, so it is never stored separately. Together, mask and sum
        // would reveal the authentication key.
        add_keystream(program, first, &mut sum);
        let tag = Tag::cut(&sum, self.tag_bytes);
        wipe(&mut sum);
        tag
    }

    fn params(&self, opens: bool) -> GcmParams<'_> {
        GcmParams {
            ghash: self.of_kernel.as_ref().unwrap_or(&self.ghash),
            opens,
            tag_bytes: self.tag_bytes,
            tag_kept: self.tag_kept,
        }
    }

    /// Seals or opens a message by the kernel, if its nonce, length and tag length are the usual ones.
    /// Returns whether the tag is right, or `None` for other messages. A message that the kernel takes need
    /// not be checked by `admits`.
    #[inline(always)]
    fn usual_by_kernel(&self, opens: bool, message: &mut AeadMessage<'_>) -> Option<bool> {
        let nonce = message.nonce.try_into().ok()?;
        if message.buffers.len_bytes() as u64 >= self.kernel_below_bytes
            || (opens && message.tag.len_bytes() != self.tag_bytes)
        {
            return None;
        }
        Some(self.by_kernel(opens, nonce, message))
    }

    /// Seals or opens a message by the kernel, and returns whether the tag is right. Returns `None` if no
    /// kernel exists, if two passes or several threads would be faster, or if the nonce has another length.
    fn one_by_kernel(&self, threads: Threads, opens: bool, message: &mut AeadMessage<'_>) -> Option<bool> {
        let nonce = message.nonce.try_into().ok()?;
        let len_bytes = message.buffers.len_bytes();
        let takes = (len_bytes as u64) < self.fused_below_bytes && !threads.pays(len_bytes);
        takes.then(|| self.by_kernel(opens, nonce, message))
    }

    /// Runs the kernel. If the tag is wrong, overwrites the output with zeros.
    #[inline(always)]
    fn by_kernel(&self, opens: bool, nonce: &[u8; NONCE_BYTES], message: &mut AeadMessage<'_>) -> bool {
        let kernel = self.counter.gcm().unwrap_or_else(|| unreachable!("the length says that there is one"));
        self.counter.ran(message.buffers.len_bytes());
        let right = kernel.one(&self.params(opens), nonce, message);
        if !right {
            wipe(message.buffers.output_mut());
        }
        right
    }

    /// Seals or opens short messages from the front of the list by the kernel, and returns their number. If a
    /// tag is wrong, overwrites the output of that message with zeros.
    #[inline(always)]
    fn short_by_kernel(&self, opens: bool, messages: &mut [AeadMessage<'_>], right: &mut [bool]) -> usize {
        let is_short =
            messages.first().is_some_and(|first| first.buffers.len_bytes() <= GcmParams::SHORT_BYTES_MAX);
        let Some(kernel) = self.counter.gcm().filter(|_| is_short) else { return 0 };
        let short = kernel.short(&self.params(opens), messages, right);
        for (message, right) in messages[..short].iter_mut().zip(right) {
            if !*right {
                wipe(message.buffers.output_mut());
            }
        }
        short
    }

    #[inline(never)]
    fn seal_one(&self, threads: Threads, message: &mut AeadMessage<'_>) {
        if self.one_by_kernel(threads, false, message).is_some() {
            return;
        }
        let AeadMessage { nonce, aad, buffers, tag } = message;
        let (first, len_bytes) = (self.first(nonce), buffers.len_bytes());
        let (program, mut sum) = (self.counter_of(nonce), self.hash_of(aad));
        let piece_bytes = PIECE_BYTES * threads.for_bytes(len_bytes).pieces_at_once();
        for (number, piece) in buffers.reborrow().parts(piece_bytes).enumerate() {
            for (counter, mut now) in under_counters(first, number * piece_bytes, piece) {
                program.run_by(threads, Source::Counter(counter), now.reborrow());
                self.ghash.absorb(&mut sum, now.output_mut());
            }
        }
        *tag = self.tag(sum, (program, first), aad, len_bytes);
    }

    /// Opens a message and returns whether its tag is right. If the tag is wrong, overwrites the output with
    /// zeros. If only its length is wrong, the output stays as it was.
    #[inline(never)]
    fn open_one(&self, threads: Threads, message: &mut AeadMessage<'_>) -> bool {
        if message.tag.len_bytes() != self.tag_bytes {
            return false;
        }
        if let Some(right) = self.one_by_kernel(threads, true, message) {
            return right;
        }
        let AeadMessage { nonce, aad, buffers, tag } = message;
        let (first, len_bytes) = (self.first(nonce), buffers.len_bytes());
        let (program, mut sum) = (self.counter_of(nonce), self.hash_of(aad));
        self.ghash.absorb(&mut sum, buffers.input());
        let right = self.tag(sum, (program, first), aad, len_bytes) == *tag;
        for (counter, buffers) in under_counters(first, 0, buffers.reborrow()).take_while(|_| right) {
            program.run_by(threads, Source::Counter(counter), buffers);
        }
        if !right {
            wipe(buffers.output_mut());
        }
        right
    }
}

impl Aead for Gcm {
    fn tag_bytes(&self) -> usize {
        self.tag_bytes
    }

    #[inline]
    fn admits(&self, message: &AeadMessage<'_>) -> Result<(), Error> {
        if message.buffers.len_bytes() as u64 > MESSAGE_BYTES_MAX {
            return Err(Error::TooLong { most_bytes: MESSAGE_BYTES_MAX });
        }
        if message.nonce.len() == NONCE_BYTES { Ok(()) } else { self.admits_rare(message.nonce) }
    }

    fn plans(&self) -> &[Plan] {
        self.counter.plans()
    }

    #[inline]
    fn seal_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        if self.usual_by_kernel(false, message).is_none() {
            self.admits(message)?;
            self.seal_one(self.counter.threads(), message);
        }
        Ok(())
    }

    #[inline]
    fn open_message(&self, message: &mut AeadMessage<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        let right = match self.usual_by_kernel(true, message) {
            Some(right) => right,
            None => {
                self.admits(message)?;
                self.open_one(self.counter.threads(), message)
            }
        };
        verdict(self, message, right)
    }

    by_groups!(many);
}

/// Cuts the buffers into parts, each with its first counter. The first part starts `position_bytes` after the
/// beginning of the message, whose first counter is J₀ + 1. A new part begins where the last 32 bits of the
/// counter wrap, because there is no carry into the others (SP 800-38D §6.5).
fn under_counters(
    first: u128,
    position_bytes: usize,
    mut buffers: Buffers<'_>,
) -> impl Iterator<Item = (Counter, Buffers<'_>)> {
    let mut low = (first as u32).wrapping_add(1).wrapping_add((position_bytes / BLOCK_BYTES) as u32);
    std::iter::from_fn(move || {
        let blocks_left = (1_u64 << 32) - u64::from(low);
        let most_bytes = usize::try_from(blocks_left * BLOCK_BYTES as u64).unwrap_or(usize::MAX);
        let counter = Counter::big_endian(first >> 32 << 32 | u128::from(low));
        let at = most_bytes.min(buffers.len_bytes());
        low = 0;
        (at > 0).then(|| (counter, buffers.take_front(at)))
    })
}

/// XORs the encryption of a counter block into `to`.
fn add_keystream(counter: &Program, block: u128, to: &mut Block) {
    counter.run(Source::Counter(Counter::big_endian(block)), Buffers::in_place(to));
}

impl Groups for Gcm {
    fn threads(&self) -> Threads {
        self.counter.threads()
    }

    fn group_most(&self) -> usize {
        GROUP_MESSAGES
    }

    fn seal_group(&self, within: Threads, mut messages: &mut [AeadMessage<'_>]) {
        loop {
            let short = self.short_by_kernel(false, messages, &mut []);
            let Some((one, rest)) = mem::take(&mut messages)[short..].split_first_mut() else { return };
            if self.usual_by_kernel(false, one).is_none() {
                self.seal_one(within, one);
            }
            messages = rest;
        }
    }

    fn open_group(&self, within: Threads, mut messages: &mut [AeadMessage<'_>], mut right: &mut [bool]) {
        loop {
            let short = self.short_by_kernel(true, messages, right);
            let Some((one, rest)) = mem::take(&mut messages)[short..].split_first_mut() else { return };
            let Some((one_right, rest_right)) = mem::take(&mut right)[short..].split_first_mut() else {
                return;
            };
            *one_right = self.usual_by_kernel(true, one).unwrap_or_else(|| self.open_one(within, one));
            (messages, right) = (rest, rest_right);
        }
    }
}

impl fmt::Debug for Gcm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gcm")
            .field("tag_bytes", &self.tag_bytes)
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}
