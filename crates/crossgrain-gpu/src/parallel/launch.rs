//! Launch configurations. CPUs combine elements in the order that follows from the default configuration.

/// Number of neighbours that a thread takes in order. It is larger if there are more elements than threads
/// × 32.
pub(super) const RUN: usize = 32;

/// Launch configuration of a device's programs. It does not affect results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Threads per group: a multiple of 64.
    pub group_threads: u32,
    /// Maximum number of threads per run, a multiple of `group_threads`. Each thread takes one element
    /// after another, or 32 elements after another in bit-sliced kernels.
    pub run_threads: u32,
}

/// Position of elements in a memory, in words: the first number of the first element, and the distance
/// between the numbers of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) stride: usize,
}

impl Span {
    /// The same span, `count` elements later.
    #[cfg(feature = "device")]
    pub(super) fn after(self, count: usize) -> Self {
        Self { first: self.first + count, ..self }
    }
}

impl Launch {
    /// The default: more threads than most devices can keep busy.
    pub(super) const USUAL: Self = Self { group_threads: 64, run_threads: 1 << 17 };

    /// Number of threads for `count` elements in bundles of `bundle`.
    pub(super) fn threads(self, bundle: usize, count: usize) -> u32 {
        let bundles = u32::try_from(count.div_ceil(bundle)).unwrap_or(self.run_threads);
        bundles.min(self.run_threads).next_multiple_of(self.group_threads)
    }
}

impl Default for Launch {
    fn default() -> Self {
        Self::USUAL
    }
}
