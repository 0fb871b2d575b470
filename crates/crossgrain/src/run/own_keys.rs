//! Runs records that each have their own key.
//!
//! Records are cut into groups of the number of keys that a kernel holds, and threads take groups from a
//! queue. If one of the plans is a kernel with a key per lane, it runs all records: it runs long ones as fast
//! as a program that is bound to one key after another. Without a kernel such a program runs them.

use std::array;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::program::Program;
use super::threads::Threads;
use crate::arch::{DEEP_STACK_BYTES, Features, Wiped, wipe, wipe_stack};
use crate::block::{Block, Cipher, Direction, Error, Key};
use crate::kernel::Keys;
use crate::kernel::fused::{Fused, FusedPart};
use crate::kernel::own_keys::{Keyed, LANES_MAX, RecordSource};
use crate::message::Record;
use crate::mode::chained::chain::{ChainMessage, Rule};
use crate::plan::Plan;
use crate::variant::{Action, BindFused, Variant};

/// The weight of a key set-up against a byte of data, to decide whether threads are worthwhile.
const KEY_WEIGHT_BYTES: usize = 64;

/// A job that can run under many keys: plans with their instructions but without a key.
pub struct OwnKeys {
    cipher: Cipher,
    plans: Arc<[Plan]>,
    kernel: Option<Kernel>,
    /// Keys that the kernel holds at once, and whether neighbouring records should have similar lengths.
    lanes: usize,
    wants_alike: bool,
    features: Features,
    threads: Threads,
}

impl OwnKeys {
    /// Binds plans, widest bundle first, to a cipher.
    ///
    /// # Errors
    /// As [`Program::of`].
    pub fn of(
        cipher: Cipher,
        plans: Arc<[Plan]>,
        features: Features,
        threads: Threads,
    ) -> Result<Self, Error> {
        let kernel = kernel_of(&plans);
        let mut own = Self { cipher, plans, kernel, lanes: 1, wants_alike: false, features, threads };
        // A trial binding: errors in plans show with any key.
        let key = own.any_key()?;
        let keys = Keys::of(&key, features);
        match own.kernel {
            Some((variant, direction, bind)) => match bind(features, direction, &keys) {
                Some(FusedPart::OwnKeys(kernel)) => {
                    (own.lanes, own.wants_alike) = (kernel.lanes(), kernel.wants_alike());
                }
                _ => return Err(variant.unavailable(features)),
            },
            None => drop(Program::of_message(Arc::clone(&own.plans), &keys, threads)?),
        }
        Ok(own)
    }

    /// Whether one of these plans is a kernel with a key per lane.
    pub fn has_kernel(plans: &[Plan]) -> bool {
        kernel_of(plans).is_some()
    }

    /// A key of the cipher, for kernels that are bound to a cipher and receive their keys later.
    fn any_key(&self) -> Result<Key, Error> {
        Key::new(self.cipher, &[0; LANES_MAX][..self.cipher.key_bytes()])
    }

    /// Runs `work` on groups of items. The cipher that it receives holds the key of item i in lane i. The
    /// items have `len_bytes` in total.
    pub fn each<T: Send>(
        &self,
        len_bytes: usize,
        items: &mut [T],
        key: &(dyn Fn(&T) -> &Key + Sync),
        work: &(dyn Fn(&mut dyn Keyed, &mut [T]) + Sync),
    ) {
        let weight_bytes = len_bytes + KEY_WEIGHT_BYTES * items.len();
        let groups = Mutex::new(items.chunks_mut(self.lanes));
        let next = || groups.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.threads.together(weight_bytes, &|| {
            let mut keyed = self.begin();
            while let Some(items) = next() {
                let keys: [_; LANES_MAX] = array::from_fn(|lane| key(&items[lane.min(items.len() - 1)]));
                keyed.set(&keys[..items.len()]);
                work(&mut *keyed, items);
            }
            drop(keyed);
            wipe_stack_of_groups();
        });
    }

    /// Whether neighbouring items should have similar lengths.
    pub const fn wants_alike(&self) -> bool {
        self.wants_alike
    }

    /// Prepares a kernel, or its replacement, on one thread.
    fn begin(&self) -> Wiped<dyn Keyed + '_> {
        let bound = self.kernel.zip(self.any_key().ok()).and_then(|((_, direction, bind), key)| {
            bind(self.features, direction, &Keys::of(&key, self.features))
        });
        match bound {
            Some(FusedPart::OwnKeys(kernel)) => kernel,
            _ => Wiped::new(KeyAfterKey { of: self, program: None }).as_dyn(|kernel| kernel),
        }
    }

    /// The plans, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }
}

impl fmt::Debug for OwnKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnKeys").field("plans", &self.plans).finish_non_exhaustive()
    }
}

/// A kernel with a key per lane.
type Kernel = (&'static Variant, Direction, BindFused);

/// The kernel with a key per lane among the plans.
fn kernel_of(plans: &[Plan]) -> Option<Kernel> {
    let mut stages = plans.iter().flat_map(|plan| &plan.stages);
    stages.find_map(|stage| match stage.variant.action {
        Action::Fused(Fused::OwnKeys, direction, bind) => Some((stage.variant, direction, bind)),
        _ => None,
    })
}

/// Stack bytes that `work` uses for a group, above those of programs.
const GROUP_STACK_BYTES: usize = 16 * 1024;

/// Overwrites the stack below the caller. It contains groups of records and, below them, the frames of
/// kernels or programs.
#[inline(never)]
fn wipe_stack_of_groups() {
    let mut groups = [0; GROUP_STACK_BYTES];
    wipe_stack::<DEEP_STACK_BYTES>();
    wipe(&mut groups);
}

/// A single lane: a program that is bound to one key after another.
struct KeyAfterKey<'a> {
    of: &'a OwnKeys,
    program: Option<Program>,
}

impl KeyAfterKey<'_> {
    fn program(&self) -> &Program {
        self.program.as_ref().expect("a key comes before messages")
    }
}

impl Keyed for KeyAfterKey<'_> {
    fn lanes(&self) -> usize {
        1
    }

    fn set(&mut self, keys: &[&Key]) {
        let &OwnKeys { ref plans, features, .. } = self.of;
        self.program = keys.first().map(|key| {
            let bound = Program::of_message(Arc::clone(plans), &Keys::of(key, features), Threads::ONE);
            bound.expect("these plans were bound before")
        });
    }

    fn blocks(&self, blocks: &mut [Block; LANES_MAX], _count: usize) {
        self.program().block(&mut blocks[0]);
    }

    fn run(&mut self, source: RecordSource, records: &mut [&mut Record<'_>]) {
        for record in records {
            self.program().run(source.source(&record.iv), record.buffers.reborrow());
        }
    }

    fn wants_alike(&self) -> bool {
        false
    }

    fn chain(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        self.program().chain_here(rule, chains, blocks);
    }
}
