//! Combining in one fixed order at all places, for functions whose result depends on the order, for example
//! sums of rounded numbers.
//!
//! ```text
//! reduce: thread t of T combines elements t, t + T, t + 2T, …; then the totals are combined in order of t
//! scan:   each thread scans a run of neighbours, starting from the total of all earlier runs
//! ```
//!
//! T depends only on the number of elements. A device uses this order by construction. A CPU follows it
//! here, with the totals of several threads side by side in registers.

use crossgrain::Features;
use crossgrain::engine::arch::{Lane32, Portable, Register as _};

use super::algorithm::{PIECE, in_pieces, of_pieces};
use super::host::{self, Work, on_widest};
use super::kernel::{Bundle, Combine};
use super::launch::{Launch, RUN, Span};
use super::room::Source;
use super::scan::before_each;

/// Number of totals that a CPU thread takes at a time. They fit the second-level cache, and wiping the
/// stack afterwards takes less time than the work.
const COLUMNS: usize = 1 << 12;

/// Combines the kernel's results for `len` elements.
pub(super) fn reduce<K, C, const ROWS: usize, const IN: usize, const OUT: usize>(
    (features, is_parallel): (Features, bool),
    kernel: &K,
    combine: &C,
    source: Source<'_, IN>,
    len: usize,
) -> [u32; OUT]
where
    K: Bundle<ROWS, IN, OUT>,
    C: Combine<OUT>,
{
    let threads = (Launch::USUAL.threads(1, len) as usize).max(1);
    let columns = |first: usize, count: usize| {
        let mut totals = C::IDENTITY.map(|number| number.to_le_bytes().repeat(count));
        let mut made = [(); OUT].map(|()| vec![0; 4 * count]);
        for at in (first..len).step_by(threads) {
            let end = 4 * count.min(len - at);
            host::transform(
                features,
                kernel,
                source.after(at),
                made.each_mut().map(|bytes| &mut bytes[..end]),
            );
            let next = made.each_ref().map(|bytes| &bytes[..end]);
            combine_each(features, combine, totals.each_mut().map(|bytes| &mut bytes[..end]), next);
        }
        let source = Source::Stored(totals.each_ref().map(|bytes| &bytes[..]));
        (0..count).map(|at| source.read::<u32>(Portable, at)).collect::<Vec<_>>()
    };
    let totals = if is_parallel {
        of_pieces(threads, COLUMNS, true, &columns)
    } else {
        let pieces = (0..threads).step_by(COLUMNS);
        pieces.map(|first| columns(first, COLUMNS.min(threads - first))).collect()
    };
    totals.into_iter().flatten().fold(C::IDENTITY, |a, b| combine.combine::<u32>(a, b))
}

/// Combines each total with the next element.
fn combine_each<C: Combine<N>, const N: usize>(
    features: Features,
    combine: &C,
    mut totals: [&mut [u8]; N],
    next: [&[u8]; N],
) {
    let done =
        on_widest(features, Each { combine, totals: totals.each_mut().map(|bytes| &mut **bytes), next });
    let totals = totals.map(|bytes| &mut bytes[done..]);
    on_widest(Features::NONE, Each { combine, totals, next: next.map(|bytes| &bytes[done..]) });
}

struct Each<'a, C, const N: usize> {
    combine: &'a C,
    totals: [&'a mut [u8]; N],
    next: [&'a [u8]; N],
}

impl<C: Combine<N>, const N: usize> Work for Each<'_, C, N> {
    /// Number of bytes of each number that were done.
    type Output = usize;

    #[inline(always)]
    fn run<W: Lane32>(mut self, isa: W::Isa) -> usize {
        let mut at = 0;
        while at + W::BYTES <= self.next[0].len() {
            let (mut a, mut b) = ([W::splat_lanes(isa, 0); N], [W::splat_lanes(isa, 0); N]);
            for p in 0..N {
                a[p] = W::load(isa, &self.totals[p][at..at + W::BYTES]);
                b[p] = W::load(isa, &self.next[p][at..at + W::BYTES]);
            }
            let total = self.combine.combine(a, b);
            for (word, number) in total.iter().zip(&mut self.totals) {
                word.store(&mut number[at..at + W::BYTES]);
            }
            at += W::BYTES;
        }
        at
    }
}

/// Scans elements in place. Returns the total of all.
pub(super) fn scan<C: Combine<N>, const N: usize>(
    combine: &C,
    bytes: &mut [u8],
    span: Span,
    len: usize,
    is_parallel: bool,
) -> [u32; N] {
    if len == 0 {
        return C::IDENTITY;
    }
    let run = len.div_ceil(Launch::USUAL.threads(RUN, len) as usize);
    let piece = run * (PIECE / run).max(1);
    let totals = in_pieces(bytes, span, (len, piece), is_parallel, &|_, mut numbers: [&mut [u8]; N]| {
        let ends = (0..numbers[0].len() / 4).step_by(run);
        ends.map(|first| through(combine, C::IDENTITY, &mut numbers, (first, run), false)).collect::<Vec<_>>()
    });
    let (before, total) = before_each(combine, &totals.concat());
    in_pieces(bytes, span, (len, piece), is_parallel, &|at, mut numbers: [&mut [u8]; N]| {
        for first in (0..numbers[0].len() / 4).step_by(run) {
            through(combine, before[(at + first) / run], &mut numbers, (first, run), true);
        }
    });
    total
}

/// Combines a run of elements and returns the total. If `is_written`, each element is replaced by the total
/// up to it.
pub(super) fn through<C: Combine<N>, const N: usize>(
    combine: &C,
    mut total: [u32; N],
    numbers: &mut [&mut [u8]; N],
    (first, run): (usize, usize),
    is_written: bool,
) -> [u32; N] {
    for at in first..(first + run).min(numbers[0].len() / 4) {
        let next = numbers.each_ref().map(|number| u32::load(Portable, &number[4 * at..4 * at + 4]));
        total = combine.combine(total, next);
        if is_written {
            for (word, number) in total.iter().zip(numbers.iter_mut()) {
                word.store(&mut number[4 * at..4 * at + 4]);
            }
        }
    }
    total
}
