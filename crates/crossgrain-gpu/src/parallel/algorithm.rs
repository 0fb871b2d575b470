//! The algorithms without order or scans. Each takes a kernel and elements, and runs where the elements
//! are.
//!
//! CPU threads take pieces of `PIECE` elements. A device runs a program from [`Program`], in several runs
//! if the elements exceed one.

use crossgrain::engine::run::Threads;
use rayon::prelude::*;

use super::host;
#[cfg(feature = "device")]
use super::kernel::Sum;
use super::kernel::{Bundle, Combine};
#[cfg(feature = "device")]
use super::launch::Launch;
use super::launch::Span;
#[cfg(feature = "device")]
use super::on_device::Hit;
use super::ordered;
use super::own::Same;
use super::policy::{Kind, Place};
#[cfg(feature = "device")]
use super::text::{NO_HIT, Program, Reads, Sink, combined};
use super::vector::{DeviceVec, Store, View};
use crate::Error;
#[cfg(feature = "device")]
use crate::{Gpu, Memory};

/// Number of elements in a piece of work for a CPU thread.
pub(super) const PIECE: usize = 1 << 16;

/// Number of elements that [`find`] tests in a device run before it checks for a match: initially, and at
/// most.
#[cfg(feature = "device")]
const LOOKS: [usize; 2] = [1 << 16, 1 << 24];

/// Applies the kernel to every element.
///
/// # Errors
/// If the place has too little memory, rejects the kernel, or is lost.
pub fn transform<'a, K, const ROWS: usize, const IN: usize, const OUT: usize>(
    kernel: &K,
    source: impl Into<View<'a, IN>>,
) -> Result<DeviceVec<OUT>, Error>
where
    K: Bundle<ROWS, IN, OUT>,
{
    let source = source.into();
    let mut goal = DeviceVec::with_room(source.place, source.len)?;
    transform_at(kernel, source, &mut goal, 0)?;
    Ok(goal)
}

/// As [`transform`], but writes to an existing vector, which gets the length of the source. Allocates only
/// if the vector has too little capacity.
///
/// # Errors
/// As [`transform`], and if the vector is at a different place. The vector's elements are then unspecified.
pub fn transform_into<'a, K, const ROWS: usize, const IN: usize, const OUT: usize>(
    kernel: &K,
    source: impl Into<View<'a, IN>>,
    goal: &mut DeviceVec<OUT>,
) -> Result<(), Error>
where
    K: Bundle<ROWS, IN, OUT>,
{
    let source = source.into();
    if source.len > goal.stride {
        *goal = DeviceVec::with_room(&goal.place, source.len)?;
    }
    goal.len = source.len;
    transform_at(kernel, source, goal, 0)
}

/// Applies the kernel to the numbers `0..len`.
///
/// # Errors
/// As [`transform`].
pub fn generate<K, const ROWS: usize, const OUT: usize>(
    kernel: &K,
    place: &Place,
    len: usize,
) -> Result<DeviceVec<OUT>, Error>
where
    K: Bundle<ROWS, 1, OUT>,
{
    transform(kernel, place.indices(0..len)?)
}

/// Replaces every element by the kernel's result for it, in place.
///
/// # Errors
/// As [`transform`]. Some elements may then have been replaced.
pub fn for_each_bundle<K, const ROWS: usize, const N: usize>(
    kernel: &K,
    elements: &mut DeviceVec<N>,
) -> Result<(), Error>
where
    K: Bundle<ROWS, N, N>,
{
    check(kernel)?;
    let (place, span, len) = (elements.place.clone(), elements.span(), elements.len);
    match (&mut elements.store, place.kind()) {
        (Store::Host(bytes), &Kind::Host { features, is_parallel }) => {
            in_pieces(bytes, span, (len, PIECE), is_parallel, &|_, elements| {
                host::in_place(features, kernel, elements)
            });
            Ok(())
        }
        #[cfg(feature = "device")]
        (Store::Device(memory), Kind::Device(gpu)) => {
            let program = Program::<K, ROWS, N, N>::new(gpu, kernel, Reads::Goal, Sink::Write);
            program.run(gpu, len, (None, span), (memory, span))
        }
        #[cfg(feature = "device")]
        _ => Err(Error::Place),
    }
}

/// Combines all elements. The result for an empty vector is the identity.
///
/// # Errors
/// As [`transform`].
pub fn reduce<'a, C, const N: usize>(combine: &C, elements: impl Into<View<'a, N>>) -> Result<[u32; N], Error>
where
    C: Combine<N>,
{
    transform_reduce::<_, _, 1, N, N>(&Same, combine, elements)
}

/// Combines the kernel's results for all elements, without storing the results.
///
/// # Errors
/// As [`transform`].
pub fn transform_reduce<'a, K, C, const ROWS: usize, const IN: usize, const OUT: usize>(
    kernel: &K,
    combine: &C,
    elements: impl Into<View<'a, IN>>,
) -> Result<[u32; OUT], Error>
where
    K: Bundle<ROWS, IN, OUT>,
    C: Combine<OUT>,
{
    check(kernel)?;
    let view = elements.into();
    match view.place.kind() {
        &Kind::Host { features, is_parallel } if C::IS_ORDERED => {
            Ok(ordered::reduce((features, is_parallel), kernel, combine, view.source()?, view.len))
        }
        &Kind::Host { features, is_parallel } => {
            let source = view.source()?;
            let piece = |first: usize, len| host::reduce(features, kernel, combine, source.after(first), len);
            Ok(all_of(combine, of_pieces(view.len, PIECE, is_parallel, &piece)))
        }
        // Threads that take several rows at a time combine in a different order, and so do several runs.
        // Both cases store the results first and then combine them row by row.
        #[cfg(feature = "device")]
        Kind::Device(gpu)
            if C::IS_ORDERED && (ROWS > 1 || view.len > Launch::USUAL.at_once(ROWS, kernel.rounds())) =>
        {
            let made = transform(kernel, view)?;
            reduce_on::<_, _, 1, OUT, OUT>(gpu, &Same, combine, (&made).into())
        }
        #[cfg(feature = "device")]
        Kind::Device(gpu) => reduce_on(gpu, kernel, combine, view),
    }
}

/// Checks that the kernel gives the same result at every place. It must write all words of its results:
/// unwritten words are zero on a device, but not on a CPU.
pub(super) fn check<K: Bundle<ROWS, IN, OUT>, const ROWS: usize, const IN: usize, const OUT: usize>(
    kernel: &K,
) -> Result<(), Error> {
    if kernel.is_whole() {
        return Ok(());
    }
    let told = "a part of the kernel's loop leaves words of its results as they were: write all of them";
    Err(Error::Kernel(told.to_owned()))
}

/// Combines elements.
fn all_of<C: Combine<N>, const N: usize>(combine: &C, elements: Vec<[u32; N]>) -> [u32; N] {
    elements.into_iter().fold(C::IDENTITY, |a, b| combine.combine::<u32>(a, b))
}

/// Combines the kernel's results on a device.
#[cfg(feature = "device")]
fn reduce_on<K, C, const ROWS: usize, const IN: usize, const OUT: usize>(
    gpu: &Gpu,
    kernel: &K,
    combine: &C,
    view: View<'_, IN>,
) -> Result<[u32; OUT], Error>
where
    K: Bundle<ROWS, IN, OUT>,
    C: Combine<OUT>,
{
    let sink = Sink::Combine(combined(combine), C::IDENTITY.to_vec());
    let mut program = Program::<K, ROWS, IN, OUT>::new(gpu, kernel, view.reads(), sink);
    if C::IS_ORDERED {
        program.launch = Launch::USUAL;
    }
    let (at_once, mut total) = (program.shape().at_once(), C::IDENTITY);
    for first in (0..view.len).step_by(at_once) {
        let part = view.view(first..view.len.min(first + at_once))?;
        let made = by_thread(&program, gpu, part)?;
        total = made.into_iter().fold(total, |a, b| combine.combine::<u32>(a, b));
    }
    Ok(total)
}

/// Counts the elements for which the kernel's result is not zero.
///
/// # Errors
/// As [`transform`].
///
/// ```
/// use crossgrain_gpu::parallel::{Lanes, Map, Policy, count_if};
///
/// struct Below(u32);
///
/// impl Map<1, 1> for Below {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
///         [x.less_lanes(x.uniform(self.0))]
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// assert_eq!(count_if(&Below(30), place.indices(10..100)?)?, 20);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn count_if<'a, K, const ROWS: usize, const IN: usize>(
    kernel: &K,
    elements: impl Into<View<'a, IN>>,
) -> Result<usize, Error>
where
    K: Bundle<ROWS, IN, 1>,
{
    check(kernel)?;
    let view = elements.into();
    match view.place.kind() {
        &Kind::Host { features, is_parallel } => {
            let source = view.source()?;
            let piece = |first: usize, len| host::count(features, kernel, source.after(first), len);
            Ok(of_pieces(view.len, PIECE, is_parallel, &piece).into_iter().sum())
        }
        #[cfg(feature = "device")]
        Kind::Device(gpu) => {
            let [count] = reduce_on::<_, _, ROWS, IN, 1>(gpu, &Hit(kernel), &Sum, view)?;
            Ok(count as usize)
        }
    }
}

/// The index of the first element for which the kernel's result is not zero, or `None`. Threads stop early,
/// but may test some elements after the match.
///
/// # Errors
/// As [`transform`].
pub fn find<'a, K, const ROWS: usize, const IN: usize>(
    kernel: &K,
    elements: impl Into<View<'a, IN>>,
) -> Result<Option<usize>, Error>
where
    K: Bundle<ROWS, IN, 1>,
{
    check(kernel)?;
    let view = elements.into();
    match view.place.kind() {
        &Kind::Host { features, is_parallel } => {
            let source = view.source()?;
            let piece = |first: usize, len: usize| {
                let found = host::find(features, kernel, source.after(first), len);
                found.map(|at| first + at)
            };
            Ok(first_of_pieces(view.len, is_parallel, &piece))
        }
        #[cfg(feature = "device")]
        Kind::Device(gpu) => {
            let program = Program::<K, ROWS, IN, 1>::new(gpu, kernel, view.reads(), Sink::Find);
            let (mut first, mut looks) = (0, LOOKS[0]);
            while first < view.len {
                let part = view.view(first..view.len.min(first + looks.min(program.shape().at_once())))?;
                let hits = by_thread(&program, gpu, part)?.into_iter().flatten();
                if let Some(at) = hits.min().filter(|&at| at != NO_HIT) {
                    return Ok(Some(first + at as usize));
                }
                first += part.len;
                looks = LOOKS[1].min(2 * looks);
            }
            Ok(None)
        }
    }
}

/// Runs a search or a sum and returns one element per thread.
#[cfg(feature = "device")]
pub(super) fn by_thread<K, const ROWS: usize, const IN: usize, const OUT: usize>(
    program: &Program<'_, K, ROWS, IN, OUT>,
    gpu: &Gpu,
    view: View<'_, IN>,
) -> Result<Vec<[u32; OUT]>, Error>
where
    K: Bundle<ROWS, IN, OUT>,
{
    let mut results = DeviceVec::with_room(view.place, program.shape().threads(view.len) as usize)?;
    let span = results.span();
    let Store::Device(goal) = &mut results.store else { return Err(Error::Place) };
    program.run(gpu, view.len, (view.memory(), view.span()), (goal, span))?;
    results.to_vec()
}

/// Writes the kernel's results to consecutive numbers of a goal, which must be large enough. The first
/// number is `first` words after the start of the goal.
pub(super) fn transform_at<K, const ROWS: usize, const IN: usize, const OUT: usize, const N: usize>(
    kernel: &K,
    source: View<'_, IN>,
    goal: &mut DeviceVec<N>,
    first: usize,
) -> Result<(), Error>
where
    K: Bundle<ROWS, IN, OUT>,
{
    check(kernel)?;
    if !source.place.is(&goal.place) {
        return Err(Error::Place);
    }
    let span = Span { first, ..goal.span() };
    match (&mut goal.store, source.place.kind()) {
        (Store::Host(bytes), &Kind::Host { features, is_parallel }) => {
            let from = source.source()?;
            let work = |at, goal| host::transform(features, kernel, from.after(at), goal);
            in_pieces(bytes, span, (source.len, PIECE), is_parallel, &work);
            Ok(())
        }
        #[cfg(feature = "device")]
        (Store::Device(memory), Kind::Device(gpu)) => transform_on(gpu, kernel, source, memory, span),
        #[cfg(feature = "device")]
        _ => Err(Error::Place),
    }
}

/// Writes the kernel's results to a device's memory.
#[cfg(feature = "device")]
pub(super) fn transform_on<K, const ROWS: usize, const IN: usize, const OUT: usize>(
    gpu: &Gpu,
    kernel: &K,
    source: View<'_, IN>,
    goal: &mut Memory,
    span: Span,
) -> Result<(), Error>
where
    K: Bundle<ROWS, IN, OUT>,
{
    let program = Program::<K, ROWS, IN, OUT>::new(gpu, kernel, source.reads(), Sink::Write);
    program.run(gpu, source.len, (source.memory(), source.span()), (goal, span))
}

/// Splits `len` elements into pieces of at most `most`, and returns the results of the pieces in order.
/// `piece` gets the index of the first element and the length, and may run on any thread.
///
/// Like all code that uses threads, it does not depend on the kernel's type, so it is compiled only once.
pub(super) fn of_pieces<T: Send>(
    len: usize,
    most: usize,
    is_parallel: bool,
    piece: &(dyn Fn(usize, usize) -> T + Sync),
) -> Vec<T> {
    if !(is_parallel && has_threads()) {
        return vec![piece(0, len)];
    }
    let pieces = (0..len.div_ceil(most)).into_par_iter();
    pieces.map(|at| piece(at * most, most.min(len - at * most))).collect()
}

/// The result of the first piece that returns `Some`.
fn first_of_pieces(
    len: usize,
    is_parallel: bool,
    piece: &(dyn Fn(usize, usize) -> Option<usize> + Sync),
) -> Option<usize> {
    if !(is_parallel && has_threads()) {
        return piece(0, len);
    }
    let pieces = (0..len.div_ceil(PIECE)).into_par_iter();
    pieces.find_map_first(|at| piece(at * PIECE, PIECE.min(len - at * PIECE)))
}

/// Calls `work` with the numbers of `len` elements: with all at once, or with pieces of `most` elements on
/// all threads. `work` also gets the index of its first element. Returns the results in order.
pub(super) fn in_pieces<'a, T: Send, const N: usize>(
    bytes: &'a mut [u8],
    span: Span,
    (len, most): (usize, usize),
    is_parallel: bool,
    work: &(dyn Fn(usize, [&'a mut [u8]; N]) -> T + Sync),
) -> Vec<T> {
    let mut rest = bytes.get_mut(4 * span.first..).unwrap_or_default();
    let mut numbers: [_; N] = std::array::from_fn(|_| {
        let number = rest.split_off_mut(..4 * len).unwrap_or_default();
        rest = std::mem::take(&mut rest).get_mut(4 * (span.stride - len)..).unwrap_or_default();
        number
    });
    if !(is_parallel && has_threads()) {
        return vec![work(0, numbers)];
    }
    let piece = |first: usize| {
        let len_bytes = 4 * most.min(len - first);
        let part = numbers.each_mut().map(|number| number.split_off_mut(..len_bytes).unwrap_or_default());
        (first, part)
    };
    let pieces: Vec<_> = (0..len).step_by(most).map(piece).collect();
    pieces.into_par_iter().map(|(first, part)| work(first, part)).collect()
}

/// Whether rayon's current pool has more than one thread. Callers check this before they use rayon, which
/// panics if it cannot start a pool.
pub(super) fn has_threads() -> bool {
    Threads::default().count() > 1
}
