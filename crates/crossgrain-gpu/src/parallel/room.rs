//! A bundle in a CPU's memory: the source of its elements, and the buffers of a kernel.

use crossgrain::engine::arch::Lane32;

use super::kernel::Bundle;

/// The source of elements.
#[derive(Clone, Copy)]
pub(super) enum Source<'a, const N: usize> {
    /// Stored elements: the bytes of each of their numbers.
    Stored([&'a [u8]; N]),
    /// The numbers of a range, which starts here.
    Indices(u32),
}

impl<const N: usize> Source<'_, N> {
    /// The source without its first `count` elements.
    pub(super) fn after(self, count: usize) -> Self {
        match self {
            Self::Stored(numbers) => Self::Stored(numbers.map(|bytes| &bytes[4 * count..])),
            Self::Indices(first) => Self::Indices(first.wrapping_add(count as u32)),
        }
    }

    /// One element per lane, from element `at`.
    #[inline(always)]
    pub(super) fn read<W: Lane32>(&self, isa: W::Isa, at: usize) -> [W; N] {
        let mut words = [W::splat_lanes(isa, 0); N];
        for (p, word) in words.iter_mut().enumerate() {
            *word = match self {
                Self::Stored(numbers) => W::load(isa, &numbers[p][4 * at..4 * at + W::BYTES]),
                Self::Indices(first) => {
                    let first = first.wrapping_add(at as u32);
                    W::load(isa, &COUNTS[..W::BYTES]).add_lanes(W::splat_lanes(isa, first))
                }
            };
        }
        words
    }
}

/// The numbers 0 to 15, for the lanes of the widest register.
const COUNTS: [u8; 64] = {
    let (mut bytes, mut at) = ([0; 64], 0);
    while at < 16 {
        bytes[4 * at] = at as u8;
        at += 1;
    }
    bytes
};

/// A bundle's elements and a kernel's state. Bit-sliced words do not fit the registers, so they stay in
/// this memory and are not copied.
pub(super) struct Room<W, const ROWS: usize, const IN: usize, const OUT: usize> {
    x: [[W; ROWS]; IN],
    y: [[[W; ROWS]; OUT]; 2],
}

impl<W: Lane32, const ROWS: usize, const IN: usize, const OUT: usize> Room<W, ROWS, IN, OUT> {
    #[inline(always)]
    pub(super) fn new(isa: W::Isa) -> Self {
        let zero = W::splat_lanes(isa, 0);
        Self { x: [[zero; ROWS]; IN], y: [[[zero; ROWS]; OUT]; 2] }
    }

    /// A kernel's results for the elements from `at`, as lanes of a bundle.
    #[inline(always)]
    pub(super) fn run<K: Bundle<ROWS, IN, OUT>>(
        &mut self,
        isa: W::Isa,
        kernel: &K,
        source: &Source<'_, IN>,
        at: usize,
    ) -> &mut [[W; ROWS]; OUT] {
        for row in 0..ROWS {
            let words = source.read::<W>(isa, at + row * (W::BYTES / 4));
            for (number, word) in self.x.iter_mut().zip(&words) {
                number[row] = *word;
            }
        }
        let [y, next] = &mut self.y;
        kernel.run(&mut self.x, [y, next])
    }
}
