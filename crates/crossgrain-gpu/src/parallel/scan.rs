//! Scans: each element is replaced by the combination of all elements up to and including it.
//!
//! On a device, threads take runs of neighbours. A first program computes the total of each run, the host
//! combines the totals of earlier runs, and a second program scans each run from there. A CPU scans its
//! pieces first, and then combines each piece with the total of the earlier ones.

use super::algorithm::{PIECE, in_pieces, transform};
use super::host;
use super::kernel::{Bundle, Combine};
use super::launch::Span;
use super::ordered::{self, through};
use super::own::{After, Same};
use super::policy::Kind;
#[cfg(feature = "device")]
use super::text::{Program, Reads, Sink, combined};
use super::vector::{DeviceVec, Store, View};
use crate::Error;
#[cfg(feature = "device")]
use crate::Gpu;

/// Replaces each element by the combination of all elements up to and including it.
///
/// # Errors
/// As [`transform`].
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Policy, Sum, inclusive_scan};
///
/// let place = Policy::Auto.open()?;
/// let numbers = DeviceVec::from_slice(&place, &[[3], [4], [5]])?;
/// assert_eq!(inclusive_scan(&Sum, &numbers)?.to_vec()?, [[3], [7], [12]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn inclusive_scan<'a, C, const N: usize>(
    combine: &C,
    elements: impl Into<View<'a, N>>,
) -> Result<DeviceVec<N>, Error>
where
    C: Combine<N>,
{
    transform_scan::<_, _, 1, N, N>(&Same, combine, elements)
}

/// As [`inclusive_scan`], for the kernel's results.
///
/// # Errors
/// As [`transform`].
pub fn transform_scan<'a, K, C, const ROWS: usize, const IN: usize, const OUT: usize>(
    kernel: &K,
    combine: &C,
    elements: impl Into<View<'a, IN>>,
) -> Result<DeviceVec<OUT>, Error>
where
    K: Bundle<ROWS, IN, OUT>,
    C: Combine<OUT>,
{
    let mut made = transform(kernel, elements)?;
    scan_from(combine, &mut made, 0)?;
    Ok(made)
}

/// Scans `N` numbers of all elements in place, from number `first`. Returns the total of all.
pub(super) fn scan_from<C, const N: usize, const ALL: usize>(
    combine: &C,
    elements: &mut DeviceVec<ALL>,
    first: usize,
) -> Result<[u32; N], Error>
where
    C: Combine<N>,
{
    let (place, len) = (elements.place.clone(), elements.len);
    let span = Span { first: first * elements.stride, stride: elements.stride };
    match (&mut elements.store, place.kind()) {
        (Store::Host(bytes), &Kind::Host { is_parallel, .. }) if C::IS_ORDERED => {
            Ok(ordered::scan(combine, bytes, span, len, is_parallel))
        }
        (Store::Host(bytes), &Kind::Host { features, is_parallel }) => {
            let scan = |_, mut numbers: [&mut [u8]; N]| {
                let len = numbers[0].len() / 4;
                through(combine, C::IDENTITY, &mut numbers, (0, len), true)
            };
            let totals = in_pieces(bytes, span, (len, PIECE), is_parallel, &scan);
            let (before, total) = before_each(combine, &totals);
            let add = |at: usize, elements| {
                let Some(&before) = before.get(at / PIECE).filter(|_| at > 0) else { return };
                host::in_place(features, &After { combine, before }, elements);
            };
            in_pieces(bytes, span, (len, PIECE), is_parallel, &add);
            Ok(total)
        }
        #[cfg(feature = "device")]
        (Store::Device(_), Kind::Device(gpu)) => on_device(gpu, combine, elements, span),
        #[cfg(feature = "device")]
        _ => Err(Error::Place),
    }
}

/// The total before each of these, and the total of all.
pub(super) fn before_each<C: Combine<N>, const N: usize>(
    combine: &C,
    totals: &[[u32; N]],
) -> (Vec<[u32; N]>, [u32; N]) {
    let mut total = C::IDENTITY;
    let next = |&next| {
        let before = total;
        total = combine.combine(total, next);
        before
    };
    let before = totals.iter().map(next).collect();
    (before, total)
}

#[cfg(feature = "device")]
fn on_device<C, const N: usize, const ALL: usize>(
    gpu: &Gpu,
    combine: &C,
    elements: &mut DeviceVec<ALL>,
    span: Span,
) -> Result<[u32; N], Error>
where
    C: Combine<N>,
{
    let sink = Sink::Totals(combined(combine), C::IDENTITY.to_vec());
    let program = Program::<_, 1, N, N>::new(gpu, &Same, Reads::Source, sink);
    let mut totals =
        DeviceVec::<N>::with_room(&elements.place, program.shape().threads(elements.len) as usize)?;
    let to = totals.span();
    let (Store::Device(memory), Store::Device(goal)) = (&mut elements.store, &mut totals.store) else {
        return Err(Error::Place);
    };
    program.run(gpu, elements.len, (Some(memory), span), (goal, to))?;
    let (before, total) = before_each(combine, &totals.to_vec()?);
    let before = DeviceVec::from_slice(&elements.place, &before)?;
    let (before, from) = (View::from(&before).memory(), before.span());
    let sink = Sink::Scan(combined(combine));
    let program = Program::<_, 1, N, N>::new(gpu, &Same, Reads::Goal, sink);
    program.run(gpu, elements.len, (before, from), (memory, span))?;
    Ok(total)
}
