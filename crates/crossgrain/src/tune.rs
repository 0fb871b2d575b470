//! Costs found on the machine at hand.
//!
//! Every variant that may be used is compared with the reference, then timed as `exec` runs it. Nothing here
//! happens unless it is asked for: without it, plans go by estimates.

use crate::block::{BLOCK_BYTES, Cipher, Error};
use crate::check;
use crate::plan::compose::Cost;
use crate::plan::measure::{Care, Subject, measure};
use crate::plan::{Costs, Trial};
use crate::variant::{Policy, Variant, table};
use crate::word::Features;

/// Bytes of a whole cipher's longer trial: large against a call, small against the cache.
const BULK_BYTES: usize = 1 << 16;

/// What a measurement covers and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The cipher whose variants are timed.
    pub cipher: Cipher,
    /// Instructions that may be used.
    pub features: Features,
    /// What may leak.
    pub policy: Policy,
    /// About how long to measure, in milliseconds; answers are checked besides.
    pub budget_ms: u64,
}

/// Times every variant in scope that serves the cipher. `clock_ns` tells nanoseconds that never go back.
///
/// # Errors
/// [`Error::Unavailable`] for a variant that disagrees with the reference: it is never timed.
pub fn measure_costs(scope: Scope, clock_ns: &dyn Fn() -> u64) -> Result<Costs, Error> {
    let admitted = |variant: &&Variant| {
        let serves = variant.serves(scope.cipher.family());
        serves && variant.is_available(scope.features) && scope.policy.admits(variant.leaks)
    };
    let variants: Vec<_> = table().iter().filter(admitted).collect();
    for variant in &variants {
        if !check::agrees(variant, scope.cipher, scope.features)? {
            let reason = "it disagrees with the reference: please report this machine".to_owned();
            return Err(Error::Unavailable { variant: variant.name.clone(), reason });
        }
    }
    let trial = |variant: &&Variant, len_bytes| {
        let trial = Trial::new(variant, scope.cipher, scope.features, len_bytes)?;
        Some(Timed { trial, clock_ns })
    };
    let mut bulk: Vec<_> = variants.iter().filter_map(|variant| trial(variant, BULK_BYTES)).collect();
    // Only a whole cipher takes a single block as it comes; parts take a tile whatever is asked.
    let short = variants.iter().map(|variant| trial(variant, BLOCK_BYTES));
    let mut short: Vec<_> = short.map(|trial| trial.filter(|t| t.trial.len_bytes() == BLOCK_BYTES)).collect();
    let mut subjects: Vec<&mut dyn Subject> = bulk.iter_mut().map(|trial| trial as _).collect();
    subjects.extend(short.iter_mut().flatten().map(|trial| trial as &mut dyn Subject));
    let care = care(scope.budget_ms, subjects.len());
    let measured = measure(&mut subjects, care);
    let (bulk_found, short_found) = measured.split_at(bulk.len());
    let mut short_found = short_found.iter();
    let rows = variants.iter().zip(bulk.iter().zip(bulk_found)).zip(&short);
    Ok(rows
        .map(|((variant, (bulk, found)), short)| {
            let per_byte_ns = found.run_ns / bulk.trial.len_bytes() as f64;
            let block_ns = short.as_ref().and_then(|_| short_found.next()).map(|found| found.run_ns);
            (variant.name.clone(), cost(variant, per_byte_ns, block_ns))
        })
        .collect())
}

/// Samples short enough for all subjects to have their turns, and one more for calibration.
fn care(budget_ms: u64, subjects: usize) -> Care {
    const TURNS: usize = 5;
    let samples = (subjects * (TURNS + 3)).max(1) as u64;
    Care { turns: TURNS, sample_ns: (budget_ms * 1_000_000 / samples).max(1000) }
}

struct Timed<'a> {
    trial: Trial,
    clock_ns: &'a dyn Fn() -> u64,
}

impl Subject for Timed<'_> {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let start = (self.clock_ns)();
        for _ in 0..repeats {
            self.trial.run();
        }
        (self.clock_ns)().saturating_sub(start)
    }
}

/// A part on a tile costs at least a bundle; a whole cipher what one block takes.
fn cost(variant: &Variant, per_byte_ns: f64, block_ns: Option<f64>) -> Cost {
    let bundle_blocks = variant.repr.bundle_blocks().unwrap_or(0);
    let fixed_ns = block_ns.map_or(per_byte_ns * (bundle_blocks * BLOCK_BYTES) as f64, |block_ns| {
        (block_ns - per_byte_ns * BLOCK_BYTES as f64).max(0.0)
    });
    Cost { fixed_ns, per_byte_ns }
}
