//! Algorithms on a CPU: a kernel on the widest registers, bundle by bundle, and what is left over on lanes of one number.

use crossgrain::Features;
use crossgrain::internal::wipe_deep_stack;
use crossgrain::internal::word::{
    Avx2, Avx512, Isa, Kernel, Lane32, Portable, Register as _, Sse2, Word128, Word256, Word512,
};

use super::kernel::{Bundle, Combine};

/// Something to be done in whatever registers there are.
pub(super) trait Work: Sized {
    /// What comes of it.
    type Output;

    /// As [`Kernel::run`], and `#[inline(always)]` like it.
    fn run<W: Lane32>(self, isa: W::Isa) -> Self::Output;
}

/// Does it in the widest registers that are allowed and there, and leaves nothing of a kernel's state on the stack.
pub(super) fn on_widest<J: Work>(features: Features, work: J) -> J::Output {
    let done = entered(features, work);
    wipe_deep_stack();
    done
}

fn entered<J: Work>(features: Features, work: J) -> J::Output {
    if let Some(isa) = Avx512::detect(features) {
        return isa.enter(Entered::<Word512, J> { isa, work });
    }
    if let Some(isa) = Avx2::detect(features) {
        return isa.enter(Entered::<Word256, J> { isa, work });
    }
    if let Some(isa) = Sse2::detect(features) {
        return isa.enter(Entered::<Word128, J> { isa, work });
    }
    Portable.enter(Entered::<u32, J> { isa: Portable, work })
}

struct Entered<W: Lane32, J> {
    isa: W::Isa,
    work: J,
}

impl<W: Lane32, J: Work> Kernel for Entered<W, J> {
    type Output = J::Output;

    #[inline(always)]
    fn run(self) -> J::Output {
        self.work.run::<W>(self.isa)
    }
}

/// Where elements come from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a, const N: usize> {
    /// The bytes of each of their numbers.
    Stored([&'a [u8]; N]),
    /// Their number in a range: this is the first.
    Indices(u32),
}

impl<const N: usize> Source<'_, N> {
    /// What comes after so many elements.
    pub(super) fn after(self, count: usize) -> Self {
        match self {
            Self::Stored(numbers) => Self::Stored(numbers.map(|bytes| &bytes[4 * count..])),
            Self::Indices(first) => Self::Indices(first + count as u32),
        }
    }

    /// An element of each lane, from this one on.
    #[inline(always)]
    pub(super) fn read<W: Lane32>(&self, isa: W::Isa, at: usize) -> [W; N] {
        let mut words = [W::splat_lanes(isa, 0); N];
        for (p, word) in words.iter_mut().enumerate() {
            *word = match self {
                Self::Stored(numbers) => W::load(isa, &numbers[p][4 * at..4 * at + W::BYTES]),
                Self::Indices(first) => {
                    W::load(isa, &COUNTS[..W::BYTES]).add_lanes(W::splat_lanes(isa, first + at as u32))
                }
            };
        }
        words
    }
}

/// The numbers from 0 on, as many as the widest register has lanes.
const COUNTS: [u8; 64] = {
    let (mut bytes, mut at) = ([0; 64], 0);
    while at < 16 {
        bytes[4 * at] = at as u8;
        at += 1;
    }
    bytes
};

/// What is done with a kernel's results, which come with the index of the first; it says whether to go on.
trait Sink<W, const ROWS: usize, const OUT: usize> {
    /// Row r is that of the elements from `at` + r · lanes on.
    fn take(&mut self, at: usize, y: &[[W; ROWS]; OUT]) -> bool;

    /// Of one lane the first `count` rows.
    fn take_some(&mut self, at: usize, y: &[[u32; ROWS]; OUT], count: usize) -> bool;
}

/// Runs a kernel on `len` elements.
#[inline(always)]
fn sweep<W, K, S, const ROWS: usize, const IN: usize, const OUT: usize>(
    isa: W::Isa,
    kernel: &K,
    source: Source<'_, IN>,
    len: usize,
    sink: &mut S,
) where
    W: Lane32,
    K: Bundle<ROWS, IN, OUT>,
    S: Sink<W, ROWS, OUT>,
{
    let (lanes, mut at) = (W::BYTES / 4, 0);
    while at + ROWS * lanes <= len {
        let mut x = [[W::splat_lanes(isa, 0); ROWS]; IN];
        for row in 0..ROWS {
            let words = source.read::<W>(isa, at + row * lanes);
            for (number, word) in x.iter_mut().zip(&words) {
                number[row] = *word;
            }
        }
        if !sink.take(at, &kernel.run(x)) {
            return;
        }
        at += ROWS * lanes;
    }
    while at < len {
        let (mut x, count) = ([[0_u32; ROWS]; IN], ROWS.min(len - at));
        for row in 0..count {
            let words = source.read::<u32>(Portable, at + row);
            for (number, word) in x.iter_mut().zip(&words) {
                number[row] = *word;
            }
        }
        if !sink.take_some(at, &kernel.run(x), count) {
            return;
        }
        at += count;
    }
}

/// Results written down.
struct Written<'a, 'goal, const N: usize>(&'a mut [&'goal mut [u8]; N]);

impl<W: Lane32, const ROWS: usize, const N: usize> Sink<W, ROWS, N> for Written<'_, '_, N> {
    #[inline(always)]
    fn take(&mut self, at: usize, y: &[[W; ROWS]; N]) -> bool {
        for (rows, goal) in y.iter().zip(self.0.iter_mut()) {
            for (row, word) in rows.iter().enumerate() {
                word.store(&mut goal[4 * at + row * W::BYTES..][..W::BYTES]);
            }
        }
        true
    }

    #[inline(always)]
    fn take_some(&mut self, at: usize, y: &[[u32; ROWS]; N], count: usize) -> bool {
        for (rows, goal) in y.iter().zip(self.0.iter_mut()) {
            for (row, word) in rows[..count].iter().enumerate() {
                word.store(&mut goal[4 * (at + row)..][..4]);
            }
        }
        true
    }
}

/// A kernel's results in a goal of as many elements.
pub(super) struct Transform<'a, 'goal, K, const ROWS: usize, const IN: usize, const OUT: usize> {
    pub(super) kernel: &'a K,
    pub(super) source: Source<'a, IN>,
    pub(super) goal: [&'goal mut [u8]; OUT],
}

impl<K: Bundle<ROWS, IN, OUT>, const ROWS: usize, const IN: usize, const OUT: usize> Work
    for Transform<'_, '_, K, ROWS, IN, OUT>
{
    type Output = ();

    #[inline(always)]
    fn run<W: Lane32>(mut self, isa: W::Isa) {
        let len = self.goal[0].len() / 4;
        sweep::<W, K, _, ROWS, IN, OUT>(isa, self.kernel, self.source, len, &mut Written(&mut self.goal));
    }
}

/// Elements replaced by a kernel's results for them.
pub(super) struct InPlace<'a, 'goal, K, const ROWS: usize, const N: usize> {
    pub(super) kernel: &'a K,
    pub(super) elements: [&'goal mut [u8]; N],
}

/// Elements of a copy: as many as the widest registers' largest bundle.
const COPY: usize = 512;

impl<K: Bundle<ROWS, N, N>, const ROWS: usize, const N: usize> Work for InPlace<'_, '_, K, ROWS, N> {
    type Output = ();

    #[inline(always)]
    fn run<W: Lane32>(mut self, isa: W::Isa) {
        let (len, mut copies) = (self.elements[0].len() / 4, [[0; 4 * COPY]; N]);
        let mut at = 0;
        while at < len {
            let count = COPY.min(len - at);
            let mut source: [&[u8]; N] = [&[]; N];
            for ((copy, elements), source) in copies.iter_mut().zip(&self.elements).zip(&mut source) {
                copy[..4 * count].copy_from_slice(&elements[4 * at..4 * (at + count)]);
                *source = &copy[..4 * count];
            }
            let mut goal = Shifted { goal: Written(&mut self.elements), by: at };
            sweep::<W, K, _, ROWS, N, N>(isa, self.kernel, Source::Stored(source), count, &mut goal);
            at += count;
        }
    }
}

/// A sink that begins later.
struct Shifted<S> {
    goal: S,
    by: usize,
}

impl<W, S: Sink<W, ROWS, OUT>, const ROWS: usize, const OUT: usize> Sink<W, ROWS, OUT> for Shifted<S> {
    #[inline(always)]
    fn take(&mut self, at: usize, y: &[[W; ROWS]; OUT]) -> bool {
        self.goal.take(self.by + at, y)
    }

    #[inline(always)]
    fn take_some(&mut self, at: usize, y: &[[u32; ROWS]; OUT], count: usize) -> bool {
        self.goal.take_some(self.by + at, y, count)
    }
}

/// Results combined: in every lane, and of those that come last.
struct Combined<'a, C, W, const N: usize> {
    combine: &'a C,
    lanes: [W; N],
    last: [u32; N],
}

impl<W: Lane32, C: Combine<N>, const ROWS: usize, const N: usize> Sink<W, ROWS, N> for Combined<'_, C, W, N> {
    #[inline(always)]
    fn take(&mut self, _at: usize, y: &[[W; ROWS]; N]) -> bool {
        for row in 0..ROWS {
            self.lanes = self.combine.combine(self.lanes, row_of(y, row));
        }
        true
    }

    #[inline(always)]
    fn take_some(&mut self, _at: usize, y: &[[u32; ROWS]; N], count: usize) -> bool {
        for row in 0..count {
            self.last = self.combine.combine(self.last, row_of(y, row));
        }
        true
    }
}

/// A row of each number.
#[inline(always)]
fn row_of<W: Copy, const ROWS: usize, const N: usize>(y: &[[W; ROWS]; N], row: usize) -> [W; N] {
    let mut words = [y[0][row]; N];
    for (word, number) in words.iter_mut().zip(y) {
        *word = number[row];
    }
    words
}

/// What a kernel's results are when combined.
pub(super) struct Reduce<'a, K, C, const ROWS: usize, const IN: usize, const OUT: usize> {
    pub(super) kernel: &'a K,
    pub(super) combine: &'a C,
    pub(super) source: Source<'a, IN>,
    pub(super) len: usize,
}

impl<K, C, const ROWS: usize, const IN: usize, const OUT: usize> Work for Reduce<'_, K, C, ROWS, IN, OUT>
where
    K: Bundle<ROWS, IN, OUT>,
    C: Combine<OUT>,
{
    type Output = [u32; OUT];

    #[inline(always)]
    fn run<W: Lane32>(self, isa: W::Isa) -> [u32; OUT] {
        let mut lanes = [W::splat_lanes(isa, 0); OUT];
        for (lane, value) in lanes.iter_mut().zip(C::IDENTITY) {
            *lane = W::splat_lanes(isa, value);
        }
        let mut all = Combined { combine: self.combine, lanes, last: C::IDENTITY };
        sweep::<W, K, _, ROWS, IN, OUT>(isa, self.kernel, self.source, self.len, &mut all);
        let mut bytes = [[0; 64]; OUT];
        for (bytes, lanes) in bytes.iter_mut().zip(all.lanes) {
            lanes.store(&mut bytes[..W::BYTES]);
        }
        for lane in 0..W::BYTES / 4 {
            let mut one = C::IDENTITY;
            for (number, bytes) in one.iter_mut().zip(&bytes) {
                *number = u32::load(Portable, &bytes[4 * lane..4 * lane + 4]);
            }
            all.last = self.combine.combine(all.last, one);
        }
        all.last
    }
}

/// The first result that is not zero.
struct First(Option<usize>);

impl<W: Lane32, const ROWS: usize> Sink<W, ROWS, 1> for First {
    #[inline(always)]
    fn take(&mut self, at: usize, y: &[[W; ROWS]; 1]) -> bool {
        let lanes = W::BYTES / 4;
        for (row, word) in y[0].iter().enumerate() {
            let zeros = word.zero_lanes().trailing_ones() as usize;
            if zeros < lanes {
                self.0 = Some(at + row * lanes + zeros);
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn take_some(&mut self, at: usize, y: &[[u32; ROWS]; 1], count: usize) -> bool {
        self.0 = y[0][..count].iter().position(|&word| word != 0).map(|row| at + row);
        self.0.is_none()
    }
}

/// The index of the first element for which a kernel's result is not zero.
pub(super) struct Find<'a, K, const ROWS: usize, const IN: usize> {
    pub(super) kernel: &'a K,
    pub(super) source: Source<'a, IN>,
    pub(super) len: usize,
}

impl<K: Bundle<ROWS, IN, 1>, const ROWS: usize, const IN: usize> Work for Find<'_, K, ROWS, IN> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<W: Lane32>(self, isa: W::Isa) -> Option<usize> {
        let mut first = First(None);
        sweep::<W, K, _, ROWS, IN, 1>(isa, self.kernel, self.source, self.len, &mut first);
        first.0
    }
}
