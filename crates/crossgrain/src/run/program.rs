//! A program: the plans of one job, bound to a key.
//!
//! [`Program::run_by`] cuts its data in this order:
//!
//! 1. A long job is split into pieces for threads (see `threads`). Huge outputs are written with streaming
//!    stores.
//! 2. A piece is cut into whole bundles of the widest plan, which run tile by tile (see `tiles`).
//! 3. The rest is copied and padded to the bundle of the plan that runs it at the least cost. A job that one
//!    kernel runs from bytes to bytes has no rest, except for a partial block in modes whose kernels take none.
//!
//! A mode may XOR blocks before and after the cipher. This is done tile by tile (see `frame`). A kernel that
//! is the whole cipher does it itself.

use std::sync::Arc;
use std::{fmt, iter};

use super::bound::{Bound, BoundPlan, bind_all};
use super::depth::{AtomicDepth, Depth};
use super::many::Queue;
use super::threads::Threads;
use crate::arch::{Buffers, Features, STACK_BYTES, Tile, WipedBytes, wipe_stack};
use crate::block::{BLOCK_BYTES, Block, Cipher, Error, Key};
use crate::kernel::serial::Serial;
use crate::kernel::{Keys, Source, WholePart};
use crate::mode::chained::chain::{ChainMessage, Rule, SHORT_CHAINS_MAX, ShortChains};
use crate::mode::chained::serial::ChainJob;
use crate::mode::ctr::counter::Counter;
use crate::mode::gcm::kernel::GcmKernel;
use crate::mode::ocb::kernel::OcbKernel;
use crate::plan::{Costs, Job, Limits, Plan, choose};

/// A job that is ready to run: its plans with their instructions and keys.
pub struct Program {
    /// The plan of the widest bundle.
    widest: BoundPlan,
    /// The other plans, widest bundle first. One kernel may run several plans, so there may be fewer.
    narrower: Vec<BoundPlan>,
    /// Shared by the programs of many keys.
    plans: Arc<[Plan]>,
    /// Whether the source is a counter.
    counts: bool,
    threads: Threads,
    cipher: Cipher,
    features: Features,
    depth: Depth,
    /// The depth of what it ran so far, if that is more.
    reached: AtomicDepth,
    /// Whether its drop wipes the stack.
    wipes_stack: bool,
}

/// Messages with fewer bytes run by the plan that is cheapest for them. The plan for bulk data may prepare
/// tables of a nonce. Streams that go on in pieces of this length use them again.
const SHORT_BYTES: usize = 4096;

impl Program {
    /// Chooses plans for a job and binds them to a key.
    ///
    /// # Errors
    /// As [`choose`].
    pub fn new(job: Job, key: &Key, limits: &Limits, costs: &Costs, threads: Threads) -> Result<Self, Error> {
        let plans = choose(job, limits, costs)?.into();
        Self::of(plans, &Keys::of(key, limits.features), threads)
    }

    /// Binds plans, widest bundle first, to a key.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a variant needs more than the features of `keys`, [`Error::NoPlan`] if there is no
    /// plan or one does not lead to bytes.
    pub fn of(plans: Arc<[Plan]>, keys: &Keys<'_>, threads: Threads) -> Result<Self, Error> {
        let program = Self::of_message(plans, keys, threads);
        // This wipes only as deep as key set-up goes. The program holds the key until it is dropped, and its
        // drop wipes the deeper stack.
        match &program {
            Ok(program) => program.wipe_setup_stack(),
            Err(_) => wipe_stack::<STACK_BYTES>(),
        }
        Ok(program?.wiping_stack())
    }

    /// Makes the program wipe the stack when it is dropped.
    pub(crate) fn wiping_stack(mut self) -> Self {
        self.wipes_stack = true;
        self
    }

    /// [`Program::of`] for modes that wipe the stack themselves. A mode with a key for each message makes
    /// many programs, and wipes the stack once, when the mode is dropped.
    ///
    /// # Errors
    /// As [`Program::of`].
    pub(crate) fn of_message(plans: Arc<[Plan]>, keys: &Keys<'_>, threads: Threads) -> Result<Self, Error> {
        let (widest, narrower) = bind_all(&plans, keys)?;
        let first = plans.first().and_then(|plan| plan.cipher_stages().first());
        let counts = first.is_some_and(|stage| stage.variant.action.counts());
        let depth = narrower.iter().map(|bound| bound.depth).fold(widest.depth, Depth::max);
        // Binding several kernels uses more of the stack than binding one.
        let depth = if narrower.is_empty() { depth } else { depth.max(Depth::Longer) };
        let (cipher, features, reached) = (keys.cipher(), keys.features(), AtomicDepth::default());
        let wipes_stack = false;
        Ok(Self { widest, narrower, plans, counts, threads, cipher, features, depth, reached, wipes_stack })
    }

    /// Replaces the key by another one of the same cipher. The caller must wipe the stack afterwards. Not inlined,
    /// so that this includes its own frame.
    ///
    /// Kernels of AES instructions replace the key in place. Other programs are bound again, with the same
    /// plans, and this returns true. The mode must then prepare its kernel again.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher. The program keeps its key then.
    #[inline(never)]
    pub(crate) fn replace_key(&mut self, key: &Key) -> Result<bool, Error> {
        if key.cipher() != self.cipher {
            return Err(Error::OtherCipher { cipher: self.cipher, given: key.cipher() });
        }
        let is_bound_again = !self.rekey(key.bytes());
        if is_bound_again {
            // New kernels would take parts of the replaced key from the stack into their gaps.
            self.wipe_stack();
            let (plans, wipes_stack) = (Arc::clone(&self.plans), self.wipes_stack);
            let program = Self::of_message(plans, &Keys::of(key, self.features), self.threads)?;
            // The stack is wiped already.
            self.wipes_stack = false;
            *self = program;
            self.wipes_stack = wipes_stack;
        }
        Ok(is_bound_again)
    }

    /// Replaces the key for a mode that prepares nothing else for it, and wipes the stack.
    ///
    /// # Errors
    /// As [`Program::replace_key`].
    pub(crate) fn take_key(&mut self, key: &Key) -> Result<(), Error> {
        let replaced = self.replace_key(key);
        Self::wipe_rekeyed_stack([self], replaced)
    }

    /// The bound plans, widest bundle first.
    #[inline(always)]
    fn bound(&self) -> impl Iterator<Item = &BoundPlan> {
        iter::once(&self.widest).chain(&self.narrower)
    }

    fn bound_mut(&mut self) -> impl Iterator<Item = &mut Bound> {
        let narrower = self.narrower.iter_mut().map(|plan| &mut plan.bound);
        iter::once(&mut self.widest.bound).chain(narrower)
    }

    /// Replaces the key in place if every kernel can. Otherwise returns false, and the program must not be
    /// run again.
    pub(crate) fn rekey(&mut self, key: &[u8]) -> bool {
        self.bound_mut().all(|bound| bound.kernel_mut().is_some_and(|kernel| kernel.rekey(key)))
    }

    /// Overwrites the stack below the caller, where runs and key set-up leave parts of the key.
    pub(crate) fn wipe_stack(&self) {
        self.depth.max(self.reached.get()).wipe();
    }

    /// Records that many messages ran together: their lists and kernels use more stack than single messages.
    pub(crate) fn ran_many(&self) {
        self.reached.raise(Depth::Tiles);
    }

    /// Records that a message of this length ran.
    #[inline(always)]
    pub(crate) fn ran(&self, len_bytes: usize) {
        if len_bytes > Depth::SHALLOW_BYTES_MAX {
            self.ran_deeper();
        }
    }

    /// Records that work ran that uses more stack than short messages do.
    #[inline(always)]
    pub(crate) fn ran_deeper(&self) {
        self.reached.raise(Depth::Longer);
    }

    /// Overwrites the stack below the caller as deep as key set-up uses it.
    pub(crate) fn wipe_setup_stack(&self) {
        self.depth.wipe_setup();
    }

    /// Overwrites the stack below the caller after the keys of programs were replaced, as deep as the runs under the
    /// replaced keys used it. Programs that were bound again have overwritten that already: `replaced` is the result of
    /// [`Program::replace_key`], and its error is returned.
    pub(crate) fn wipe_rekeyed_stack<const N: usize>(
        programs: [&mut Self; N],
        replaced: Result<bool, Error>,
    ) -> Result<(), Error> {
        let depths = programs.into_iter().map(|program| program.depth.max(program.reached.take()));
        let depth = depths.fold(Depth::Shallow, Depth::max);
        if replaced == Ok(true) {
            depth.wipe_setup()
        } else {
            depth.wipe()
        }
        replaced.map(drop)
    }

    /// The plans, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Runs the job over the buffers, with the threads of the program.
    ///
    /// A program for bytes takes every source but counters. A program for counters takes only counters.
    ///
    /// # Panics
    /// If the source needs whole blocks and the buffers have another length, or if the source does not fit
    /// the program.
    #[inline]
    pub fn run(&self, source: Source<'_>, buffers: Buffers<'_>) {
        self.run_by(self.threads, source, buffers);
    }

    /// [`Program::run`] with other threads.
    ///
    /// # Panics
    /// As [`Program::run`].
    #[inline]
    pub fn run_by(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        assert!(self.counts == matches!(source, Source::Counter(_)), "planned for another source");
        assert!(source.takes_partial_blocks() || buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        let len_bytes = buffers.len_bytes();
        let is_as_deep = || len_bytes <= Depth::SHALLOW_BYTES_MAX || self.reached.get() >= Depth::Longer;
        if len_bytes < Threads::JOB_BYTES_MIN && is_as_deep() {
            return self.run_here(source, buffers);
        }
        self.run_longer(threads, source, buffers);
    }

    /// The first message of some length, and long ones. Not inlined: it needs registers that others would then save
    /// and restore.
    #[inline(never)]
    fn run_longer(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        const { assert!(Threads::JOB_BYTES_MIN <= Buffers::HUGE_BYTES) };
        self.ran_deeper();
        if buffers.len_bytes() < Threads::JOB_BYTES_MIN {
            self.run_here(source, buffers);
        } else if Buffers::streaming_stores_pay(buffers.len_bytes()) && !buffers.is_in_place() {
            self.run_past_caches(threads, source, buffers);
        } else {
            self.run_as_given(threads, source, buffers);
        }
    }

    /// Runs the job with streaming stores. An output of this size does not stay in a cache until it is read.
    /// A line that is written whole with a streaming store need not be read first. Streaming stores must
    /// begin at a cache line, so the blocks before it are run separately.
    fn run_past_caches(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        let head_bytes = buffers.bytes_to_line(BLOCK_BYTES);
        let rest_source = source.after(&buffers.input()[..head_bytes]);
        let (head, rest) = buffers.split_at(head_bytes);
        self.run_here(source, head);
        self.run_as_given(threads, rest_source, rest.past_caches());
    }

    fn run_as_given(&self, threads: Threads, source: Source<'_>, buffers: Buffers<'_>) {
        if threads.pays(buffers.len_bytes()) {
            let grain_blocks = self.widest.bound.bundle_blocks();
            threads.split(source, buffers, grain_blocks, &|source, piece| self.run_here(source, piece));
        } else {
            self.run_here(source, buffers);
        }
    }

    /// Runs the job over a single block, in place.
    ///
    /// # Panics
    /// If the program is for counters.
    #[inline]
    pub fn block(&self, block: &mut Block) {
        assert!(!self.counts, "planned for another source");
        match self.widest.bound.kernel() {
            Ok(kernel) => kernel.block(block),
            Err(_) => self.run_here(Source::Bytes, Buffers::in_place(block)),
        }
    }

    /// Replaces a counter block by its encryption. On registers this uses less of the stack than a run.
    ///
    /// # Panics
    /// If the program is not for counters.
    pub fn counter_block(&self, block: &mut Block) {
        assert!(self.counts, "planned for another source");
        match self.widest.bound.kernel() {
            Ok(kernel) => kernel.block(block),
            Err(_) => {
                let counter = Counter::big_endian(u128::from_be_bytes(*block));
                *block = [0; BLOCK_BYTES];
                self.run_here(Source::Counter(counter), Buffers::in_place(block));
            }
        }
    }

    /// Messages with fewer bytes cost less by the fused kernel of the mode. 0 without such a kernel.
    pub fn fused_below_bytes(&self) -> u64 {
        match self.plans.iter().find(|plan| plan.is_fused()) {
            Some(_) if self.plans[0].is_fused() => u64::MAX,
            Some(fused) => fused.cost.lower_below(self.plans[0].cost),
            None => 0,
        }
    }

    /// The kernel of GCM, if a plan has one.
    #[inline]
    pub fn gcm(&self) -> Option<&dyn GcmKernel> {
        self.bound().find_map(|plan| match &plan.bound {
            Bound::Gcm(kernel) => Some(&**kernel),
            _ => None,
        })
    }

    /// [`Program::gcm`], to prepare it.
    pub fn gcm_mut(&mut self) -> Option<&mut (dyn GcmKernel + 'static)> {
        self.bound_mut().find_map(|bound| match bound {
            Bound::Gcm(kernel) => Some(&mut **kernel),
            _ => None,
        })
    }

    /// The kernel of OCB, if the plan for bulk data has one.
    #[inline]
    pub fn ocb(&self) -> Option<&dyn OcbKernel> {
        match &self.widest.bound {
            Bound::Ocb(kernel) => Some(&**kernel),
            _ => None,
        }
    }

    /// The kernel from bytes to bytes, if the plan for bulk data is one.
    #[inline]
    pub(super) fn kernel(&self) -> Option<&dyn WholePart> {
        self.widest.bound.kernel().ok()
    }

    /// The threads of the program.
    pub const fn threads(&self) -> Threads {
        self.threads
    }

    /// Runs all chains to their ends and leaves each with its last state.
    ///
    /// Chains run together, up to the number of lanes. The program must be one that encrypts bytes.
    ///
    /// # Panics
    /// If the length of a chain is not a whole number of blocks.
    pub fn chain(&self, threads: Threads, rule: Rule, chains: &mut [ChainMessage<'_>]) {
        if let [chain] = chains {
            let len_bytes = chain.data.len_bytes();
            assert!(len_bytes.is_multiple_of(BLOCK_BYTES));
            self.ran(len_bytes);
            if len_bytes > 0 {
                let blocks = len_bytes / BLOCK_BYTES;
                let mut job = ChainJob { rule, chain, blocks };
                if self.serial_in_registers(None, Serial::Chain(&mut job)).is_some() {
                    self.chain_here(rule, &mut [&mut *chain], blocks);
                }
                chain.data.advance(len_bytes);
            }
            return;
        }
        self.chain_together(threads, rule, chains);
    }

    /// Runs several chains. Not inlined, so that a single one does not pay for its frame.
    #[inline(never)]
    fn chain_together(&self, threads: Threads, rule: Rule, chains: &mut [ChainMessage<'_>]) {
        match chains.len() {
            ..=Depth::SHALLOW_CHAINS_MAX => {
                chains.iter().for_each(|chain| self.ran(chain.data.len_bytes()));
            }
            _ => self.ran_many(),
        }
        let len_bytes = chains.iter().map(|chain| chain.data.len_bytes()).sum();
        let threads = threads.for_bytes(len_bytes);
        let share = chains.len().div_ceil(threads.count()).clamp(1, self.lanes());
        let bound = self.cheapest_for(share);
        let lanes = share.min(bound.lanes());
        let queue = Queue::new(chains);
        threads.together(len_bytes, &|| {
            let mut running = bound.begin();
            queue.work(lanes, |chains, blocks| running.chain(rule, chains, blocks));
        });
    }

    /// Runs chains of one short length to their ends, if the program has a kernel that takes them where they are.
    /// `add` adds a chain. Otherwise does nothing and returns false.
    #[inline(always)]
    pub(crate) fn short_chains<'a, T>(
        &self,
        (rule, len_bytes): (Rule, usize),
        mut chains: impl ExactSizeIterator<Item = T>,
        add: impl Fn(&mut ShortChains<'a>, T),
    ) -> bool {
        let count = chains.len();
        let Bound::Chains(kernel) = self.cheapest_for(count.min(self.lanes())) else { return false };
        if count <= Depth::SHALLOW_CHAINS_MAX {
            self.ran(len_bytes)
        } else {
            self.ran_many()
        }
        let lanes = kernel.lanes().min(SHORT_CHAINS_MAX);
        for _ in 0..count.div_ceil(lanes) {
            let mut short = ShortChains::new(len_bytes);
            chains.by_ref().take(lanes).for_each(|chain| add(&mut short, chain));
            if !kernel.run_short(rule, &mut short) {
                return false;
            }
        }
        true
    }

    /// Advances a few chains by `blocks` blocks on this thread.
    pub(super) fn chain_here(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        self.cheapest_for(chains.len()).begin().chain(rule, chains, blocks);
    }

    /// The largest number of chains that run together on one thread.
    pub fn lanes(&self) -> usize {
        self.widest.bound.lanes()
    }

    /// Runs the job on this thread. It is inlined together with its callers, because most of the cost of a
    /// short call is copying `source` from one function to the next.
    #[inline]
    fn run_here(&self, source: Source<'_>, buffers: Buffers<'_>) {
        let is_whole = buffers.len_bytes().is_multiple_of(BLOCK_BYTES);
        match self.widest.bound.kernel() {
            // The kernel runs directly if it can. The general path would add more than the cost of a block.
            Ok(kernel) if is_whole || (self.counts && kernel.counts_bytes()) => kernel.run(source, buffers),
            _ => self.run_bundles(source, buffers),
        }
    }

    /// Runs whole bundles of the widest plan, or of the cheapest one if the message is short, then the tail.
    #[inline(never)]
    fn run_bundles(&self, source: Source<'_>, buffers: Buffers<'_>) {
        let widest = match buffers.len_bytes() {
            len_bytes @ ..SHORT_BYTES => self.cheapest_for(len_bytes.div_ceil(BLOCK_BYTES)),
            _ => &self.widest.bound,
        };
        let bundle_bytes = widest.bundle_blocks() * BLOCK_BYTES;
        let at = buffers.len_bytes() / bundle_bytes * bundle_bytes;
        let rest_source = source.after(&buffers.input()[..at]);
        let (bundles, rest) = buffers.split_at(at);
        if !bundles.is_empty() {
            widest.begin().run(source, bundles);
        }
        if !rest.is_empty() {
            self.run_padded(rest_source, rest);
        }
    }

    /// The plan that computes `blocks` blocks at the least cost.
    fn cheapest_for(&self, blocks: usize) -> &Bound {
        let padded_bytes =
            |plan: &BoundPlan| (blocks.next_multiple_of(plan.bound.bundle_blocks()) * BLOCK_BYTES) as u64;
        let cost_ns = |plan: &BoundPlan| plan.cost.at(padded_bytes(plan));
        let cheapest = self.bound().min_by(|a, b| cost_ns(a).total_cmp(&cost_ns(b)));
        &cheapest.unwrap_or(&self.widest).bound
    }

    /// Runs less than a bundle by way of a padded copy. The length need not be a whole number of blocks.
    fn run_padded(&self, source: Source<'_>, rest: Buffers<'_>) {
        let blocks = rest.len_bytes().div_ceil(BLOCK_BYTES);
        let bound = self.cheapest_for(blocks);
        let padded_blocks = blocks.next_multiple_of(bound.bundle_blocks());
        if padded_blocks == 1 {
            let mut block = WipedBytes([0; BLOCK_BYTES]);
            run_copied(bound, source, rest, &mut block[..]);
        } else {
            run_in_tile(bound, source, rest, padded_blocks);
        }
    }
}

/// A separate function, because its frame holds a tile. Inlined, it would take the run of a single block
/// further down the stack than anything else does.
#[inline(never)]
fn run_in_tile(bound: &Bound, source: Source<'_>, rest: Buffers<'_>, padded_blocks: usize) {
    let mut tile = Tile::new();
    run_copied(bound, source, rest, tile.front_mut(padded_blocks * BLOCK_BYTES));
}

/// Runs on a copy in `copy`, which must be zero on entry, and copies the result back.
fn run_copied(bound: &Bound, source: Source<'_>, mut rest: Buffers<'_>, copy: &mut [u8]) {
    copy[..rest.len_bytes()].copy_from_slice(rest.input());
    bound.begin().run(source, Buffers::in_place(copy));
    let len_bytes = rest.len_bytes();
    rest.output_mut().copy_from_slice(&copy[..len_bytes]);
}

/// Runs leave those parts of the key on the stack that did not fit into registers. They are wiped together
/// with the key.
impl Drop for Program {
    fn drop(&mut self) {
        if self.wipes_stack {
            self.wipe_stack();
        }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("plans", &self.plans).finish_non_exhaustive()
    }
}
