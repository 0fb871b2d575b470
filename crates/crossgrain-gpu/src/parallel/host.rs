//! Algorithms on a CPU: a kernel on the widest registers, whole bundles of it.
//!
//! A kernel is compiled once for each kind of register, and once more for each way to combine its results: writing, searching and
//! counting are branches of one loop. Elements that fill no bundle are copied into one that is longer, which takes no second kernel.

use crossgrain::Features;
use crossgrain::internal::wipe_deep_stack;
use crossgrain::internal::word::{Lane32, Portable, prefetch_to_write};
pub(super) use crossgrain::internal::word::{Work, on_widest};

use super::algorithm::PIECE;
use super::kernel::{Bundle, Combine};
use super::room::{Room, Source};

/// Leaves nothing of a kernel's state on the stack.
pub(super) fn wiped<T>(work: impl FnOnce() -> T) -> T {
    #[inline(never)]
    fn deeper<T>(work: impl FnOnce() -> T) -> T {
        work()
    }
    let done = deeper(work);
    wipe_deep_stack();
    done
}

/// Elements of the largest bundle in the widest registers.
const BUNDLE_MAX: usize = 512;

/// Numbers of so many elements, each as bytes.
type Copied<const N: usize> = [[u8; 4 * BUNDLE_MAX]; N];

/// Bytes of a cache's line.
const LINE_BYTES: usize = 64;

/// Bytes of each number of a goal that no longer fits the second cache: a piece has as many, or all that one thread takes.
const LONG_BYTES: usize = 4 * PIECE;

/// What is done with a kernel's results.
enum To<'a, 'goal, const N: usize> {
    /// They are written down.
    Goal(&'a mut [&'goal mut [u8]; N]),
    /// The first that is not zero ends it.
    First,
    /// Those that are not zero are counted.
    Count,
}

impl<const N: usize> To<'_, '_, N> {
    /// Asks for the lines of a long goal that the next bundle's results, of which so many bytes begin at a byte, are written to.
    #[inline(always)]
    fn expect(&mut self, at: usize, len_bytes: usize) {
        let Self::Goal(goal) = self else { return };
        // What is written a register at a time the CPU expects by itself.
        if len_bytes > LINE_BYTES && goal[0].len() >= LONG_BYTES {
            for bytes in goal.iter_mut() {
                for line in (at..at + len_bytes).step_by(LINE_BYTES) {
                    prefetch_to_write(bytes, line);
                }
            }
        }
    }
}

/// A kernel on as many whole bundles as there is room for, until `len` elements are done.
struct Bundles<'a, 'goal, K, const ROWS: usize, const IN: usize, const OUT: usize> {
    kernel: &'a K,
    source: Source<'a, IN>,
    to: To<'a, 'goal, OUT>,
    /// Elements that the source has at least, and the goal.
    room: usize,
    len: usize,
}

/// How many elements were done, or stand before one that ended it, and of how many the result was counted and zero.
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
        // In each lane minus how many results are zero.
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

/// A kernel's results for `len` elements, no more than the largest bundle has. What stands after them means nothing.
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

/// Puts results in their place.
fn put<const N: usize>(made: &Copied<N>, goal: &mut [&mut [u8]; N], at: usize, len: usize) {
    for (made, goal) in made.iter().zip(goal) {
        goal[4 * at..4 * (at + len)].copy_from_slice(&made[..4 * len]);
    }
}

/// A kernel's results in a goal of as many elements.
pub(super) fn transform<K: Bundle<ROWS, IN, OUT>, const ROWS: usize, const IN: usize, const OUT: usize>(
    features: Features,
    kernel: &K,
    source: Source<'_, IN>,
    mut goal: [&mut [u8]; OUT],
) {
    wiped(|| {
        let (len, to) = (goal[0].len() / 4, To::Goal(&mut goal));
        let whole = Bundles::<K, ROWS, IN, OUT> { kernel, source, to, room: len, len };
        let done = on_widest(features, whole).len;
        let rest = some(features, kernel, source.after(done), len - done);
        put(&rest, &mut goal, done, len - done);
    });
}

/// Elements replaced by a kernel's results for them.
pub(super) fn in_place<K: Bundle<ROWS, N, N>, const ROWS: usize, const N: usize>(
    features: Features,
    kernel: &K,
    mut elements: [&mut [u8]; N],
) {
    wiped(|| {
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
    wiped(|| {
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

/// For how many elements a kernel's result is not zero.
pub(super) fn count<K: Bundle<ROWS, IN, 1>, const ROWS: usize, const IN: usize>(
    features: Features,
    kernel: &K,
    source: Source<'_, IN>,
    len: usize,
) -> usize {
    wiped(|| {
        let whole = Bundles::<K, ROWS, IN, 1> { kernel, source, to: To::Count, room: len, len };
        let done = on_widest(features, whole);
        let [made] = some(features, kernel, source.after(done.len), len - done.len);
        done.len - done.zeros + words(&made, len - done.len).filter(|&word| word != 0).count()
    })
}

/// The first `len` of words.
fn words(bytes: &[u8], len: usize) -> impl Iterator<Item = u32> {
    bytes.as_chunks::<4>().0.iter().take(len).map(|&word| u32::from_le_bytes(word))
}

/// A kernel's results combined.
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
    wiped(|| {
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

/// A kernel's results combined in lanes: of as many whole bundles as there are.
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
    /// How many elements, and in how many lanes.
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
