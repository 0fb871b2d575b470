//! Work on several places at once.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::policy::Place;
use crate::Error;

/// Splits a range into parts of at most `part` elements, runs a job for each at several places in parallel,
/// and returns the results in order.
///
/// A place that finishes a part takes the next one, so faster places take more. If the job gives the same
/// result at every place, the distribution does not affect the results.
///
/// # Errors
/// The error of the first part that fails; the places then take no more parts. Also if `places` is empty or
/// `part` is zero.
///
/// ```
/// use crossgrain_gpu::parallel::{Lanes, Map, Policy, Sum, spread, transform_reduce};
///
/// struct Square;
///
/// impl Map<1, 1> for Square {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
///         [x.multiply_lanes(x)]
///     }
/// }
///
/// let places = [Policy::Auto.open()?, Policy::Seq.open()?];
/// let sums = spread(&places, 1000, 300, |place, range| {
///     transform_reduce(&Square, &Sum, place.indices(range)?)
/// })?;
/// assert_eq!(sums.len(), 4);
/// assert_eq!(sums.as_flattened().iter().sum::<u32>(), 332_833_500);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn spread<T: Send>(
    places: &[Place],
    len: usize,
    part: usize,
    job: impl Fn(&Place, Range<usize>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let Some((first, others)) = places.split_first().filter(|_| part > 0) else {
        let told =
            "work is spread over places by parts: give one place or more, and parts of one element or more";
        return Err(Error::NoDevice(told.to_owned()));
    };
    let next = AtomicUsize::new(0);
    let work = |place: &Place| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(start) = at.checked_mul(part).filter(|&start| start < len) else { return done };
            let result = job(place, start..len.min(start.saturating_add(part)));
            if result.is_err() {
                // Marks all parts as taken: no part has number this large.
                next.store(usize::MAX / 2, Ordering::Relaxed);
            }
            done.push((at, result));
        }
    };
    let mut done = thread::scope(|scope| {
        // If a thread cannot be started, the other places do its work.
        let started =
            others.iter().filter_map(|place| thread::Builder::new().spawn_scoped(scope, || work(place)).ok());
        let started: Vec<_> = started.collect();
        let mut done = work(first);
        for thread in started {
            match thread.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
