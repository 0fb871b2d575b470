//! Selection, indexing and sorting.
//!
//! All of them compute indices and then [`gather`]. On a device, `partition` is the basic step: a scan
//! counts hits and non-hits, which gives each element its new index, with all hits first and the order
//! kept. Sorting is an LSD radix sort with one partition for each bit of the key.
//!
//! The memory addresses and the time depend on results, indices and keys, so these must not be secret.

use crossgrain::engine::arch::{Portable, Register as _};
use rayon::prelude::*;

use super::algorithm::{PIECE, find, has_threads, in_pieces, reduce, transform};
#[cfg(feature = "device")]
use super::algorithm::{check, transform_at, transform_on};
#[cfg(feature = "device")]
use super::kernel::Sum;
use super::kernel::{Bundle, Combine, Max};
#[cfg(feature = "device")]
use super::on_device::{Clear, Hit, Number, Target};
#[cfg(feature = "device")]
use super::own::Same;
use super::own::{Is, Outermost};
use super::policy::Kind;
#[cfg(feature = "device")]
use super::scan::scan_from;
#[cfg(feature = "device")]
use super::text::{Program, Reads, Sink};
use super::vector::{DeviceVec, Store, View};
use crate::Error;
#[cfg(feature = "device")]
use crate::Gpu;

/// Selects the elements for which the kernel's result is not zero, in order.
///
/// # Errors
/// As [`transform`].
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Lanes, Map, Policy, copy_if};
///
/// struct IsOdd;
///
/// impl Map<1, 1> for IsOdd {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
///         [x & x.filled(1)]
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// let numbers = DeviceVec::from_slice(&place, &[[5], [2], [3], [8]])?;
/// assert_eq!(copy_if(&IsOdd, &numbers)?.to_vec()?, [[5], [3]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn copy_if<'a, K, const ROWS: usize, const N: usize>(
    kernel: &K,
    elements: impl Into<View<'a, N>>,
) -> Result<DeviceVec<N>, Error>
where
    K: Bundle<ROWS, N, 1>,
{
    let view = elements.into();
    gather_within(view, (&indices_if(kernel, view)?).into())
}

/// The indices of the elements for which the kernel's result is not zero.
pub(super) fn indices_if<K, const ROWS: usize, const N: usize>(
    kernel: &K,
    view: View<'_, N>,
) -> Result<DeviceVec<1>, Error>
where
    K: Bundle<ROWS, N, 1>,
{
    match view.place.kind() {
        &Kind::Host { is_parallel, .. } => {
            let hits = hits(&transform::<_, ROWS, N, 1>(kernel, view)?.to_vec()?, is_parallel);
            DeviceVec::from_slice(view.place, &hits)
        }
        #[cfg(feature = "device")]
        Kind::Device(gpu) => {
            let (order, len) = partition(gpu, kernel, view)?;
            Ok(DeviceVec { len, ..order })
        }
    }
}

/// Selects the elements with these indices.
///
/// # Errors
/// As [`transform`], if an index is out of range, and if the vectors are at different places.
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Policy, gather};
///
/// let place = Policy::Auto.open()?;
/// let elements = DeviceVec::from_slice(&place, &[[10, 11], [20, 21]])?;
/// let indices = DeviceVec::from_slice(&place, &[[1], [0], [1]])?;
/// assert_eq!(gather(&elements, &indices)?.to_vec()?, [[20, 21], [10, 11], [20, 21]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn gather<'a, 'b, const N: usize>(
    elements: impl Into<View<'a, N>>,
    indices: impl Into<View<'b, 1>>,
) -> Result<DeviceVec<N>, Error> {
    let (elements, indices) = (elements.into(), indices.into());
    if !elements.place.is(indices.place) {
        return Err(Error::Place);
    }
    let [last] = reduce(&Max, indices)?;
    if indices.len > 0 && last as usize >= elements.len {
        return Err(Error::Range { start: last as usize, end: last as usize + 1, len: elements.len });
    }
    gather_within(elements, indices)
}

/// Sorts elements by the key that the kernel computes. The sort is stable. A key may have several numbers,
/// of which the last is the most significant. A `u64` is a key unchanged, and an `f64` becomes one by
/// [`F64::key`](super::Float::key).
///
/// # Errors
/// As [`transform`].
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Lanes, Map, Policy, sort_by_key};
///
/// struct First;
///
/// impl Map<2, 1> for First {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, [key, _]: [W; 2]) -> [W; 1] {
///         [key]
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// let pairs = DeviceVec::from_slice(&place, &[[7, 1], [2, 2], [7, 3]])?;
/// assert_eq!(sort_by_key(&First, &pairs)?.to_vec()?, [[2, 2], [7, 1], [7, 3]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn sort_by_key<'a, K, const ROWS: usize, const N: usize, const KEYS: usize>(
    kernel: &K,
    elements: impl Into<View<'a, N>>,
) -> Result<DeviceVec<N>, Error>
where
    K: Bundle<ROWS, N, KEYS>,
{
    let view = elements.into();
    let keys = transform::<_, ROWS, N, KEYS>(kernel, view)?;
    gather_within(view, (&order_of_keys(&keys)?).into())
}

/// The indices of the keys in sorted order.
pub(super) fn order_of_keys<const N: usize>(keys: &DeviceVec<N>) -> Result<DeviceVec<1>, Error> {
    match keys.place.kind() {
        &Kind::Host { is_parallel, .. } => {
            DeviceVec::from_slice(&keys.place, &sorted(&keys.to_vec()?, is_parallel))
        }
        #[cfg(feature = "device")]
        Kind::Device(gpu) => order_of(gpu, keys),
    }
}

/// The index of the first element with the minimum key, or `None` if the vector is empty. Keys are as in
/// [`sort_by_key`].
///
/// # Errors
/// As [`transform`].
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, F64, Lanes, Map, Policy, max_element, min_element};
///
/// struct Itself;
///
/// impl Map<2, 2> for Itself {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, x: [W; 2]) -> [W; 2] {
///         F64::new(x).key()
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// let numbers = DeviceVec::from_values(&place, &[0.5, -3.0, 7.0, -3.0])?;
/// assert_eq!(min_element(&Itself, &numbers)?, Some(1));
/// assert_eq!(max_element(&Itself, &numbers)?, Some(2));
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn min_element<'a, K, const ROWS: usize, const N: usize, const KEYS: usize>(
    kernel: &K,
    elements: impl Into<View<'a, N>>,
) -> Result<Option<usize>, Error>
where
    K: Bundle<ROWS, N, KEYS>,
{
    outermost(&Outermost::<false>, &transform::<_, ROWS, N, KEYS>(kernel, elements)?)
}

/// The index of the first element with the maximum key, or `None` if the vector is empty.
///
/// # Errors
/// As [`transform`].
pub fn max_element<'a, K, const ROWS: usize, const N: usize, const KEYS: usize>(
    kernel: &K,
    elements: impl Into<View<'a, N>>,
) -> Result<Option<usize>, Error>
where
    K: Bundle<ROWS, N, KEYS>,
{
    outermost(&Outermost::<true>, &transform::<_, ROWS, N, KEYS>(kernel, elements)?)
}

/// The first index of the key that results from combining all keys.
pub(super) fn outermost<C: Combine<N>, const N: usize>(
    combine: &C,
    keys: &DeviceVec<N>,
) -> Result<Option<usize>, Error> {
    let key = reduce(combine, keys)?;
    find::<_, 1, N>(&Is(key), keys)
}

/// The indices of the results that are not zero. Like all code that uses threads, it is compiled only once,
/// not for each kernel.
fn hits(made: &[[u32; 1]], is_parallel: bool) -> Vec<[u32; 1]> {
    let hit = |at: usize| (made[at] != [0]).then_some([at as u32]);
    match is_parallel && has_threads() {
        true => (0..made.len()).into_par_iter().filter_map(hit).collect(),
        false => (0..made.len()).filter_map(hit).collect(),
    }
}

/// The indices of the keys in sorted order.
fn sorted<const N: usize>(keys: &[[u32; N]], is_parallel: bool) -> Vec<[u32; 1]> {
    let mut order: Vec<_> = (0..keys.len() as u32).map(|at| [at]).collect();
    let key = |&[at]: &[u32; 1]| {
        let mut key = keys[at as usize];
        key.reverse();
        key
    };
    match is_parallel && has_threads() {
        true => order.par_sort_by_key(key),
        false => order.sort_by_key(key),
    }
    order
}

/// The indices of a device's keys in sorted order.
#[cfg(feature = "device")]
fn order_of<const N: usize>(gpu: &Gpu, keys: &DeviceVec<N>) -> Result<DeviceVec<1>, Error> {
    let mut order = transform(&Same, keys.place.indices(0..keys.len)?)?;
    for p in 0..N {
        let mut numbers = transform::<_, 1, N, 1>(&Number(p), keys)?;
        numbers = gather_within((&numbers).into(), (&order).into())?;
        let [greatest] = reduce(&Max, &numbers)?;
        for bit in 0..u32::BITS - greatest.leading_zeros() {
            let (moved, _) = partition(gpu, &Clear { bit }, (&numbers).into())?;
            numbers = gather_within((&numbers).into(), (&moved).into())?;
            order = gather_within((&order).into(), (&moved).into())?;
        }
    }
    Ok(order)
}

/// The indices of a device's elements: first those for which the kernel's result is not zero, then the
/// others, each in order. Also returns the number of the first kind.
#[cfg(feature = "device")]
fn partition<K, const ROWS: usize, const N: usize>(
    gpu: &Gpu,
    kernel: &K,
    view: View<'_, N>,
) -> Result<(DeviceVec<1>, usize), Error>
where
    K: Bundle<ROWS, N, 1>,
{
    check(kernel)?;
    let mut sides = DeviceVec::<3>::with_room(view.place, view.len)?;
    let from = sides.span();
    let Store::Device(memory) = &mut sides.store else { return Err(Error::Place) };
    transform_on::<_, ROWS, N, 3>(gpu, &Hit(kernel), view, memory, from)?;
    let [hits, _] = scan_from(&Sum, &mut sides, 1)?;
    let mut order = DeviceVec::with_room(view.place, view.len)?;
    let to = order.span();
    let Store::Device(goal) = &mut order.store else { return Err(Error::Place) };
    let target = Target { hits };
    let program = Program::<_, 1, 3, 1>::new(gpu, &target, Reads::Source, Sink::Place);
    program.run(gpu, view.len, (View::from(&sides).memory(), from), (goal, to))?;
    Ok((order, hits as usize))
}

/// Selects the elements with these indices, which must be in range.
fn gather_within<const N: usize>(elements: View<'_, N>, indices: View<'_, 1>) -> Result<DeviceVec<N>, Error> {
    let mut goal = DeviceVec::with_room(elements.place, indices.len)?;
    let span = goal.span();
    match elements.place.kind() {
        &Kind::Host { is_parallel, .. } => {
            #[cfg_attr(
                not(feature = "device"),
                expect(irrefutable_let_patterns, reason = "devices store elsewhere")
            )]
            let Store::Host(bytes) = &mut goal.store else { return Err(Error::Place) };
            let (elements, indices, len) = (elements.source()?, indices.source()?, indices.len);
            let copy = |first: usize, mut goal: [&mut [u8]; N]| {
                for at in 0..goal[0].len() / 4 {
                    let [index] = indices.read::<u32>(Portable, first + at);
                    let element = elements.read::<u32>(Portable, index as usize);
                    for (word, number) in element.iter().zip(&mut goal) {
                        word.store(&mut number[4 * at..4 * at + 4]);
                    }
                }
            };
            in_pieces(bytes, span, (len, PIECE), is_parallel, &copy);
        }
        #[cfg(feature = "device")]
        Kind::Device(gpu) => {
            let stored;
            let elements = match elements.stored {
                Some(_) => elements,
                None => {
                    stored = transform(&Same, elements)?;
                    View::from(&stored)
                }
            };
            // The goal first holds the indices. Each thread reads an index before it overwrites it with the
            // element.
            transform_at(&Same, indices, &mut goal, 0)?;
            let Store::Device(memory) = &mut goal.store else { return Err(Error::Place) };
            let program = Program::<_, 1, N, N>::new(gpu, &Same, Reads::Indexed, Sink::Write);
            program.run(gpu, indices.len, (elements.memory(), elements.span()), (memory, span))?;
        }
    }
    Ok(goal)
}
