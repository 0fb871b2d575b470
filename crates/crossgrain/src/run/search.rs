//! Binds a plan of key search to a cipher and a known block.
//!
//! A plan is either one kernel or a row for each step. In the second case keys pass through the steps in
//! batches, which stay in the first-level or second-level cache.

use std::sync::Arc;

use zeroize::Zeroizing;

use crate::arch::Features;
use crate::block::{Cipher, Direction, Error};
use crate::kernel::search::{Batch, Inner, KeyStep, Known, SearchPart, TableReuse};
use crate::plan::Plan;
use crate::variant::Action;

/// Keys in a batch: the number that bit-sliced rounds take at once.
const BATCH_KEYS: usize = 64;

/// Binds a plan of key search. The known block is turned into the plan's direction, which is possible if all
/// of it is known.
///
/// # Errors
/// [`Error::Unavailable`] if a variant needs more than `features`, [`Error::NoPlan`] for a plan of another
/// job.
pub fn search(
    plan: &Plan,
    features: Features,
    cipher: Cipher,
    known: &Known,
) -> Result<Box<dyn SearchPart>, Error> {
    let other_end = || Error::NoPlan("it goes from the end of the block that is known in part".to_owned());
    let known = known.in_direction(direction(plan, known)).ok_or_else(other_end)?;
    let mut steps = Vec::new();
    for stage in &plan.stages {
        let missing = || stage.variant.unavailable(features);
        match stage.variant.action {
            Action::Search(.., bind) => return bind(features, cipher, &known).ok_or_else(missing),
            Action::SearchStep(.., bind) => {
                steps.push(bind(features, cipher, &known).ok_or_else(missing)?);
            }
            _ => return Err(Error::NoPlan(format!("{} tries no keys", stage.variant.name))),
        }
    }
    Ok(Box::new(Composed { steps: steps.into(), key_bytes: cipher.key_bytes() }))
}

/// The direction of a plan's first stage.
fn direction(plan: &Plan, known: &Known) -> Direction {
    match plan.stages.first().map(|stage| stage.variant.action) {
        Some(Action::Search(direction, ..) | Action::SearchStep(_, direction, _)) => direction,
        _ => known.direction,
    }
}

/// A search that runs its steps in order.
struct Composed {
    steps: Arc<[Box<dyn KeyStep>]>,
    key_bytes: usize,
}

impl SearchPart for Composed {
    fn lanes(&self) -> usize {
        BATCH_KEYS
    }

    fn inner(&self, keys: &[u8], usage: TableReuse) -> Box<dyn Inner> {
        let Self { steps, key_bytes } = self;
        let mut table = Table { steps: Arc::clone(steps), key_bytes: *key_bytes, keys: Zeroizing::default() };
        table.refill(keys, usage);
        Box::new(table)
    }
}

/// The inner keys in sequence, without any preparation.
struct Table {
    steps: Arc<[Box<dyn KeyStep>]>,
    key_bytes: usize,
    keys: Zeroizing<Vec<u8>>,
}

impl Inner for Table {
    fn keys(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    fn refill(&mut self, keys: &[u8], _: TableReuse) {
        assert!(keys.len().is_multiple_of(self.key_bytes));
        // A new vector. Growing the old one might move it within the heap and leave a copy of the keys.
        self.keys = keys.to_vec().into();
    }

    fn search(&self, outer: &[u8], _: &mut Vec<u64>, found: &mut Vec<usize>) {
        let Self { steps, key_bytes, keys } = self;
        assert_eq!(outer.len(), *key_bytes);
        let mut batch = Batch::default();
        for (number, inner) in keys.chunks(BATCH_KEYS * key_bytes).enumerate() {
            batch.keys.clear();
            batch.keys.extend(inner.iter().zip(outer.iter().cycle()).map(|(inner, outer)| inner ^ outer));
            steps.iter().for_each(|step| step.run(&mut batch));
            found.extend(batch.found.iter().map(|place| number * BATCH_KEYS + place));
        }
    }
}
