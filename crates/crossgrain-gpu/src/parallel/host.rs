//! Algorithms on a CPU: a kernel on whole bundles, in the widest registers available.
//!
//! A kernel is compiled once for each register type, and once more for each combining function. Writing,
//! searching and counting are branches of one loop. The tail, which fills no bundle, is copied into a
//! full-size buffer, so it needs no second kernel.

use crossgrain::Features;
use crossgrain::engine::arch::{Lane32, Portable, prefetch_to_write};
pub(super) use crossgrain::engine::arch::{Work, on_widest};
use crossgrain::engine::wiping_deep_stack;

use super::algorithm::PIECE;
use super::kernel::{Bundle, Combine};
use super::room::{Room, Source};

/// Number of elements in the largest bundle: 32 rows of 16 lanes.
const BUNDLE_MAX: usize = 512;

/// The numbers of one largest bundle, each as bytes.
type Copied<const N: usize> = [[u8; 4 * BUNDLE_MAX]; N];

/// Size of a cache line in bytes.
const LINE_BYTES: usize = 64;

/// Goals with at least this size per number exceed the second-level cache. A piece has this size, and so
/// may the whole goal of a single thread.
const LONG_BYTES: usize = 4 * PIECE;

/// The use of a kernel's results.
enum To<'a, 'goal, const N: usize> {
    /// Write them.
    Goal(&'a mut [&'goal mut [u8]; N]),
    /// Stop at the first that is not zero.
    First,
    /// Count those that are not zero.
    Count,
}

impl<const N: usize> To<'_, '_, N> {
    /// Prefetches the cache lines of a long goal that the next bundle writes. They start at byte `at` and
    /// have `len_bytes` bytes per number.
    #[inline(always)]
    fn expect(&mut self, at: usize, len_bytes: usize) {
        let Self::Goal(goal) = self else { return };
        // If a bundle writes only one register, the hardware prefetcher recognises the stream.
        if len_bytes > LINE_BYTES && goal[0].len() >= LONG_BYTES {
            for bytes in goal.iter_mut() {
                for line in (at..at + len_bytes).step_by(LINE_BYTES) {
                    prefetch_to_write(bytes, line);
                }
            }
        }
    }
}

/// A kernel on whole bundles, until `len` elements are done or the next bundle would exceed `room`.
struct Bundles<'a, 'goal, K, const ROWS: usize, const IN: usize, const OUT: usize> {
    kernel: &'a K,
    source: Source<'a, IN>,
    to: To<'a, 'goal, OUT>,
    /// Minimum number of elements in the source and the goal.
    room: usize,
    len: usize,
}

/// Number of elements that were done, or the index of the hit. `zeros` is the number of counted results
/// that were zero.
struct Done {
    len: usize,
    is_found: bool,
    zeros: usize,
}

impl<K: Bundle<ROWS, IN, OUT>, const ROWS: usize, const IN: usize, const OUT: usize> Work
    for Bundles<'_, '_, K, ROWS, IN, OUT>
{
    type Output = Done;

    #[inline(always)]
    fn run<W: Lane32>(mut self, isa: W::Isa) -> Done {
        const { assert!(ROWS <= 32, "a bundle has 32 rows or fewer") };
        let (lanes, mut at) = (W::BYTES / 4, 0);
        // Each lane holds minus the number of its results that are zero.
        let mut zeros = W::splat_lanes(isa, 0);
        let mut room = Room::<W, ROWS, IN, OUT>::new(isa);
        while at < self.len && at + ROWS * lanes <= self.room {
            self.to.expect(4 * at, ROWS * W::BYTES);
            let y = room.run(isa, self.kernel, &self.source, at);
            match &mut self.to {
                To::Goal(goal) => {
                    for (rows, goal) in y.iter().zip(goal.iter_mut()) {
                        let goal = goal[4 * at..][..ROWS * W::BYTES].chunks_exact_mut(W::BYTES);
                        for (word, bytes) in rows.iter().zip(goal) {
                            word.store(bytes);
                        }
                    }
                }
                To::First => {
                    for (row, word) in y[0].iter().enumerate() {
                        let zeros = word.zero_lanes().trailing_ones() as usize;
                        if zeros < lanes {
                            return Done { len: at + row * lanes + zeros, is_found: true, zeros: 0 };
                        }
                    }
                }
                To::Count => {
                    for word in &y[0] {
                        zeros = zeros.add_lanes(word.equal_lanes(word.zero()));
                    }
                }
            }
            at += ROWS * lanes;
        }
        let mut bytes = [0; 64];
        zeros.store(&mut bytes[..W::BYTES]);
        let zeros = words(&bytes, lanes).map(|lane| lane.wrapping_neg() as usize).sum();
        Done { len: at, is_found: false, zeros }
    }
}

/// A kernel's results for `len` elements, at most one largest bundle. The results after them are
/// unspecified.
fn some<K: Bundle<ROWS, IN, OUT>, const ROWS: usize, const IN: usize, const OUT: usize>(
    features: Features,
    kernel: &K,
    source: Source<'_, IN>,
    len: usize,
) -> Copied<OUT> {
    let (mut copy, mut made) = ([[0; 4 * BUNDLE_MAX]; IN], [[0; 4 * BUNDLE_MAX]; OUT]);
    if len == 0 {
        return made;
    }
    let source = match source {
        Source::Stored(numbers) => {
            for (copy, bytes) in copy.iter_mut().zip(numbers) {
                copy[..4 * len].copy_from_slice(&bytes[..4 * len]);
            }
            Source::Stored(copy.each_ref().map(|bytes| &bytes[..]))
        }
        Source::Indices(first) => Source::Indices(first),
    };
    let mut goal = made.each_mut().map(|bytes| &mut bytes[..]);
    let to = To::Goal(&mut goal);
    on_widest(features, Bundles::<K, ROWS, IN, OUT> { kernel, source, to, room: BUNDLE_MAX, len });
    made
}

/// Copies `len` results to the goal, from element `at`.
fn put<const N: usize>(made: &Copied<N>, goal: &mut [&mut [u8]; N], at: usize, len: usize) {
    for (made, goal) in made.iter().zip(goal) {
        goal[4 * at..4 * (at + len)].copy_from_slice(&made[..4 * len]);
    }
}

/// Writes a kernel's results to a goal. The goal's length is the number of elements.
pub(super) fn transform<K: Bundle<ROWS, IN, OUT>, const ROWS: usize, const IN: usize, const OUT: usize>(
    features: Features,
    kernel: &K,
    source: Source<'_, IN>,
    mut goal: [&mut [u8]; OUT],
) {
    wiping_deep_stack(|| {
        let (len, to) = (goal[0].len() / 4, To::Goal(&mut goal));
        let whole = Bundles::<K, ROWS, IN, OUT> { kernel, source, to, room: len, len };
        let done = on_widest(features, whole).len;
        let rest = some(features, kernel, source.after(done), len - done);
        put(&rest, &mut goal, done, len - done);
    });
}

/// Replaces elements by a kernel's results for them.
pub(super) fn in_place<K: Bundle<ROWS, N, N>, const ROWS: usize, const N: usize>(
    features: Features,
    kernel: &K,
    mut elements: [&mut [u8]; N],
) {
    wiping_deep_stack(|| {
        let (len, mut copy) = (elements[0].len() / 4, [[0; 4 * BUNDLE_MAX]; N]);
        let mut at = 0;
        while at + BUNDLE_MAX <= len {
            let mut goal = elements.each_mut().map(|bytes| &mut bytes[4 * at..4 * (at + BUNDLE_MAX)]);
            for (copy, bytes) in copy.iter_mut().zip(&goal) {
                copy.copy_from_slice(bytes);
            }
            let source = Source::Stored(copy.each_ref().map(|bytes| &bytes[..]));
            let (to, len) = (To::Goal(&mut goal), BUNDLE_MAX);
            on_widest(features, Bundles::<K, ROWS, N, N> { kernel, source, to, room: len, len });
            at += BUNDLE_MAX;
        }
        let source = Source::Stored(elements.each_ref().map(|bytes| &bytes[4 * at..]));
        put(&some(features, kernel, source, len - at), &mut elements, at, len - at);
    });
}

/// The index of the first element for which a kernel's result is not zero.
pub(super) fn find<K: Bundle<ROWS, IN, 1>, const ROWS: usize, const IN: usize>(
    features: Features,
    kernel: &K,
    source: Source<'_, IN>,
    len: usize,
) -> Option<usize> {
    wiping_deep_stack(|| {
        let whole = Bundles::<K, ROWS, IN, 1> { kernel, source, to: To::First, room: len, len };
        let done = on_widest(features, whole);
        if done.is_found {
            return Some(done.len);
        }
        let [made] = some(features, kernel, source.after(done.len), len - done.len);
        let first = words(&made, len - done.len).position(|word| word != 0);
        first.map(|at| done.len + at)
    })
}

/// Counts the elements for which a kernel's result is not zero.
pub(super) fn count<K: Bundle<ROWS, IN, 1>, const ROWS: usize, const IN: usize>(
    features: Features,
    kernel: &K,
    source: Source<'_, IN>,
    len: usize,
) -> usize {
    wiping_deep_stack(|| {
        let whole = Bundles::<K, ROWS, IN, 1> { kernel, source, to: To::Count, room: len, len };
        let done = on_widest(features, whole);
        let [made] = some(features, kernel, source.after(done.len), len - done.len);
        done.len - done.zeros + words(&made, len - done.len).filter(|&word| word != 0).count()
    })
}

/// The first `len` words.
fn words(bytes: &[u8], len: usize) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().take(len).map(|&word| u32::from_le_bytes(word))
}

/// Combines a kernel's results.
pub(super) fn reduce<K, C, const ROWS: usize, const IN: usize, const OUT: usize>(
    features: Features,
    kernel: &K,
    combine: &C,
    source: Source<'_, IN>,
    len: usize,
) -> [u32; OUT]
where
    K: Bundle<ROWS, IN, OUT>,
    C: Combine<OUT>,
{
    wiping_deep_stack(|| {
        let mut lanes = [[0; 64]; OUT];
        let whole = Combined::<K, C, ROWS, IN, OUT> { kernel, combine, source, len, lanes: &mut lanes };
        let (done, count) = on_widest(features, whole);
        let made = some(features, kernel, source.after(done), len - done);
        let lanes = Source::Stored(lanes.each_ref().map(|bytes| &bytes[..]));
        let made = Source::Stored(made.each_ref().map(|bytes| &bytes[..]));
        let all = (0..count).map(|at| (lanes, at)).chain((0..len - done).map(|at| (made, at)));
        all.fold(C::IDENTITY, |total, (from, at)| combine.combine(total, from.read::<u32>(Portable, at)))
    })
}

/// Combines a kernel's results lane by lane, for all whole bundles.
struct Combined<'a, K, C, const ROWS: usize, const IN: usize, const OUT: usize> {
    kernel: &'a K,
    combine: &'a C,
    source: Source<'a, IN>,
    len: usize,
    lanes: &'a mut [[u8; 64]; OUT],
}

impl<K, C, const ROWS: usize, const IN: usize, const OUT: usize> Work for Combined<'_, K, C, ROWS, IN, OUT>
where
    K: Bundle<ROWS, IN, OUT>,
    C: Combine<OUT>,
{
    /// Number of elements, and number of lanes.
    type Output = (usize, usize);

    #[inline(always)]
    fn run<W: Lane32>(self, isa: W::Isa) -> (usize, usize) {
        let (lanes, mut at) = (W::BYTES / 4, 0);
        let mut total = [W::splat_lanes(isa, 0); OUT];
        for (word, value) in total.iter_mut().zip(C::IDENTITY) {
            *word = W::splat_lanes(isa, value);
        }
        let mut room = Room::<W, ROWS, IN, OUT>::new(isa);
        while at + ROWS * lanes <= self.len {
            let y = room.run(isa, self.kernel, &self.source, at);
            for row in 0..ROWS {
                let mut next = total;
                for (word, number) in next.iter_mut().zip(&*y) {
                    *word = number[row];
                }
                total = self.combine.combine(total, next);
            }
            at += ROWS * lanes;
        }
        for (word, bytes) in total.iter().zip(self.lanes.iter_mut()) {
            word.store(&mut bytes[..W::BYTES]);
        }
        (at, lanes)
    }
}
