//! Kernels: a user's function of one element, written once and generic over words.
//!
//! An element is a few 32-bit numbers. Two layouts exist:
//!
//! * A [`Map`] gets each number as a word with one 32-bit lane per element: 16 elements in a 512-bit
//!   register, one in a GPU thread.
//! * A [`BitMap`] in [`Bits`] gets each number as 32 words with one bit per element: 512 elements in
//!   512-bit registers, 32 in a GPU thread.
//!
//! [`Bundle`] is the algorithms' interface to both.
//!
//! `map` and `combine` must be `#[inline(always)]`, together with everything they call, and must use no
//! closures on words. Otherwise results stay correct, but each gate on a CPU becomes a function call.

#[cfg(doc)]
use crossgrain::engine::arch::Word;
use crossgrain::engine::arch::{Lanes, Shift};
use crossgrain::engine::layout::convert::transpose_square;
use crossgrain::engine::wiping_deep_stack;

/// A function from elements of `IN` numbers to elements of `OUT` numbers.
///
/// Fields hold values that are the same for all elements. [`Lanes::filled`] turns a field into a constant
/// of the GPU program, whose text is stored on disk. [`Lanes::uniform`] turns it into program state. State
/// is written when the program runs and overwritten afterwards, so a new value needs no new program, and
/// keys are not stored in any text.
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Lanes, Map, Policy, transform};
///
/// struct Masked {
///     key: u32,
/// }
///
/// impl Map<1, 1> for Masked {
///     #[inline(always)]
///     fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
///         [x ^ x.uniform(self.key)]
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// let numbers = DeviceVec::from_slice(&place, &[[1], [2]])?;
/// assert_eq!(transform(&Masked { key: 3 }, &numbers)?.to_vec()?, [[2], [1]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub trait Map<const IN: usize, const OUT: usize>: Sync {
    /// The function, on 32-bit lanes.
    fn map<W: Lanes>(&self, x: [W; IN]) -> [W; OUT];
}

/// A function from elements to elements, on their bits.
pub trait BitMap<const IN: usize, const OUT: usize>: Sync {
    /// The function. Each number is 32 words, the least significant bit first. Pure gate logic needs only
    /// [`Word`].
    fn map<W: Lanes>(&self, x: [[W; 32]; IN]) -> [[W; 32]; OUT];
}

/// A [`BitMap`] as a kernel. Elements are transposed to bits before it and back after it.
#[derive(Clone, Copy, Debug)]
pub struct Bits<K>(pub K);

/// A [`BitMap`] with a loop, which remains a loop in programs for devices. A loop inside `map` would be
/// unrolled there.
///
/// On a CPU the state is in memory. Each function reads the state that the previous one wrote, and must
/// write all words of its results. Otherwise every algorithm returns an
/// [`Error::Kernel`](crate::Error::Kernel). Functions that process a few words at a time, from state to
/// state, keep those words in registers.
pub trait BitLoop<const IN: usize, const OUT: usize>: Sync {
    /// Number of rounds.
    fn rounds(&self) -> usize;

    /// The computation before the loop.
    fn first<W: Lanes>(&self, x: &[[W; 32]; IN], y: &mut [[W; 32]; OUT]);

    /// Round `number`, counted from 0. Rounds may differ only in their [`Lanes::uniform`] values, which
    /// `number` selects.
    fn round<W: Lanes>(&self, number: usize, y: &[[W; 32]; OUT], next: &mut [[W; 32]; OUT]);

    /// The computation after the loop.
    fn last<W: Lanes>(&self, y: &[[W; 32]; OUT], made: &mut [[W; 32]; OUT]);
}

/// A [`Map`] with a loop of identical rounds, which remains a loop in programs for devices. The number of
/// rounds is program state: any number is allowed, and a new number needs no new program.
///
/// ```
/// use crossgrain_gpu::parallel::{Lanes, Loop, MapLoop, Policy, generate};
///
/// struct Power {
///     exponent: u32,
/// }
///
/// impl MapLoop<1, 2> for Power {
///     fn rounds(&self) -> u32 {
///         self.exponent
///     }
///
///     #[inline(always)]
///     fn first<W: Lanes>(&self, [x]: [W; 1]) -> [W; 2] {
///         [x.filled(1), x]
///     }
///
///     #[inline(always)]
///     fn round<W: Lanes>(&self, [power, x]: [W; 2]) -> [W; 2] {
///         [power.multiply_lanes(x), x]
///     }
/// }
///
/// let place = Policy::Auto.open()?;
/// assert_eq!(
///     generate(&Loop(Power { exponent: 5 }), &place, 4)?.to_vec()?,
///     [[0, 0], [1, 1], [32, 2], [243, 3]]
/// );
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub trait MapLoop<const IN: usize, const OUT: usize>: Sync {
    /// Number of rounds.
    fn rounds(&self) -> u32;

    /// The computation before the loop.
    fn first<W: Lanes>(&self, x: [W; IN]) -> [W; OUT];

    /// One round. It gets the same [`Lanes::uniform`] values each time.
    fn round<W: Lanes>(&self, y: [W; OUT]) -> [W; OUT];

    /// The computation after the loop. The default returns the state.
    #[inline(always)]
    fn last<W: Lanes>(&self, y: [W; OUT]) -> [W; OUT] {
        y
    }
}

/// A [`BitLoop`] as a kernel, with elements transposed as in [`Bits`], or a [`MapLoop`] as a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Loop<K>(pub K);

/// An associative function that combines two elements.
///
/// [`reduce`](super::reduce) also needs it to be commutative. [`inclusive_scan`](super::inclusive_scan)
/// keeps the order of the elements. A function that lacks either property, for example a sum of rounded
/// numbers, must set `IS_ORDERED`.
pub trait Combine<const N: usize>: Sync {
    /// The identity element.
    const IDENTITY: [u32; N];

    /// Whether the order of combination affects the result. If so, a CPU combines in the order of a device,
    /// which can be slower.
    const IS_ORDERED: bool = false;

    /// The function, on 32-bit lanes.
    fn combine<W: Lanes>(&self, a: [W; N], b: [W; N]) -> [W; N];
}

/// Sums modulo 2³², number by number.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

impl<const N: usize> Combine<N> for Sum {
    const IDENTITY: [u32; N] = [0; N];

    #[inline(always)]
    fn combine<W: Lanes>(&self, mut a: [W; N], b: [W; N]) -> [W; N] {
        for (sum, b) in a.iter_mut().zip(&b) {
            *sum = sum.add_lanes(*b);
        }
        a
    }
}

/// The minimum of each number.
#[derive(Clone, Copy, Debug)]
pub struct Min;

impl<const N: usize> Combine<N> for Min {
    const IDENTITY: [u32; N] = [u32::MAX; N];

    #[inline(always)]
    fn combine<W: Lanes>(&self, mut a: [W; N], b: [W; N]) -> [W; N] {
        for (least, b) in a.iter_mut().zip(&b) {
            *least = least.min_lanes(*b);
        }
        a
    }
}

/// The maximum of each number.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl<const N: usize> Combine<N> for Max {
    const IDENTITY: [u32; N] = [0; N];

    #[inline(always)]
    fn combine<W: Lanes>(&self, mut a: [W; N], b: [W; N]) -> [W; N] {
        for (greatest, b) in a.iter_mut().zip(&b) {
            *greatest = greatest.max_lanes(*b);
        }
        a
    }
}

/// The kind of a kernel's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounds {
    /// The kernel has no loop.
    None,
    /// Rounds differ in their state.
    Each,
    /// All rounds are identical.
    Alike,
}

/// A kernel as the algorithms run it, on `ROWS` elements per 32-bit lane. All [`Map`]s implement it, and so
/// do [`Bits`] of a [`BitMap`] and [`Loop`] of a [`BitLoop`] or [`MapLoop`].
pub trait Bundle<const ROWS: usize, const IN: usize, const OUT: usize>: Sync {
    /// The kind of the kernel's loop.
    const LOOP: Rounds = Rounds::None;

    /// Number of an element's numbers that a device reads, from the first.
    #[doc(hidden)]
    fn reads(&self) -> usize {
        IN
    }

    /// Number of a result's numbers that a device writes, from the first.
    #[doc(hidden)]
    fn writes(&self) -> usize {
        OUT
    }

    /// Whether each of its functions writes all words of its results.
    #[doc(hidden)]
    fn is_whole(&self) -> bool {
        true
    }

    /// The user's function up to its loop, on transposed rows. It must write all of `y`, as `round` and
    /// `last` must write all of their results.
    fn inner<W: Lanes>(&self, x: &[[W; ROWS]; IN], y: &mut [[W; ROWS]; OUT]);

    /// Number of rounds.
    #[inline(always)]
    fn rounds(&self) -> usize {
        0
    }

    /// One round.
    #[inline(always)]
    fn round<W: Lanes>(&self, _number: usize, y: &[[W; ROWS]; OUT], next: &mut [[W; ROWS]; OUT]) {
        *next = *y;
    }

    /// The computation after the loop.
    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; ROWS]; OUT], made: &mut [[W; ROWS]; OUT]) {
        *made = *y;
    }

    /// Runs the whole function in two state buffers. Returns the one that holds the results.
    #[inline(always)]
    fn all<'a, W: Lanes>(
        &self,
        x: &[[W; ROWS]; IN],
        room: [&'a mut [[W; ROWS]; OUT]; 2],
    ) -> &'a mut [[W; ROWS]; OUT] {
        let [mut y, mut next] = room;
        self.inner(x, y);
        if Self::LOOP == Rounds::None {
            return y;
        }
        for number in 0..self.rounds() {
            self.round(number, y, next);
            // A single row is copied, because it stays in registers only if no reference selects between
            // the buffers.
            if ROWS == 1 {
                *y = *next;
            } else {
                (y, next) = (next, y);
            }
        }
        self.last(y, next);
        next
    }

    /// As `all`, on elements: row r of number p holds number p of element r of each lane.
    #[inline(always)]
    fn run<'a, W: Lanes + Shift>(
        &self,
        x: &mut [[W; ROWS]; IN],
        room: [&'a mut [[W; ROWS]; OUT]; 2],
    ) -> &'a mut [[W; ROWS]; OUT] {
        for number in &mut *x {
            turn(number);
        }
        let y = self.all(x, room);
        for number in &mut *y {
            turn(number);
        }
        y
    }
}

/// Transposes the rows of a number and the bits of its lanes, if there are 32 rows.
#[inline(always)]
fn turn<W: Lanes + Shift, const ROWS: usize>(rows: &mut [W; ROWS]) {
    // The constant is tested first, so that the transposition is not compiled for other row counts.
    if ROWS == 32
        && let Ok(square) = <&mut [W; 32]>::try_from(&mut rows[..])
    {
        transpose_square(square);
    }
}

/// The single row of each number.
#[inline(always)]
fn out_of_rows<W: Lanes, const N: usize>(x: &[[W; 1]; N]) -> [W; N] {
    let mut numbers = [x[0][0]; N];
    for (number, [row]) in numbers.iter_mut().zip(x) {
        *number = *row;
    }
    numbers
}

/// Numbers as single rows.
#[inline(always)]
fn in_rows<W: Lanes, const N: usize>(y: [W; N]) -> [[W; 1]; N] {
    let mut rows = [[y[0]]; N];
    for ([row], number) in rows.iter_mut().zip(&y) {
        *row = *number;
    }
    rows
}

impl<K: Map<IN, OUT>, const IN: usize, const OUT: usize> Bundle<1, IN, OUT> for K {
    #[inline(always)]
    fn inner<W: Lanes>(&self, x: &[[W; 1]; IN], y: &mut [[W; 1]; OUT]) {
        *y = in_rows(self.map(out_of_rows(x)));
    }
}

impl<K: BitMap<IN, OUT>, const IN: usize, const OUT: usize> Bundle<32, IN, OUT> for Bits<K> {
    #[inline(always)]
    fn inner<W: Lanes>(&self, x: &[[W; 32]; IN], y: &mut [[W; 32]; OUT]) {
        *y = self.0.map(*x);
    }
}

impl<K: MapLoop<IN, OUT>, const IN: usize, const OUT: usize> Bundle<1, IN, OUT> for Loop<K> {
    const LOOP: Rounds = Rounds::Alike;

    #[inline(always)]
    fn inner<W: Lanes>(&self, x: &[[W; 1]; IN], y: &mut [[W; 1]; OUT]) {
        *y = in_rows(self.0.first(out_of_rows(x)));
    }

    #[inline(always)]
    fn rounds(&self) -> usize {
        self.0.rounds() as usize
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, _number: usize, y: &[[W; 1]; OUT], next: &mut [[W; 1]; OUT]) {
        *next = in_rows(self.0.round(out_of_rows(y)));
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; 1]; OUT], made: &mut [[W; 1]; OUT]) {
        *made = in_rows(self.0.last(out_of_rows(y)));
    }
}

/// The results of a kernel function for 32 elements, or `None` if they depend on the previous contents of
/// its goal.
fn written<const OUT: usize>(part: impl Fn(&mut [[u32; 32]; OUT])) -> Option<[[u32; 32]; OUT]> {
    let [mut made, mut other] = [0, u32::MAX].map(|before| [[before; 32]; OUT]);
    part(&mut made);
    part(&mut other);
    (made == other).then_some(made)
}

impl<K: BitLoop<IN, OUT>, const IN: usize, const OUT: usize> Bundle<32, IN, OUT> for Loop<K> {
    const LOOP: Rounds = Rounds::Each;

    fn is_whole(&self) -> bool {
        let made = || {
            let mut y = written(|y| self.0.first(&[[0; 32]; IN], y))?;
            if self.0.rounds() > 0 {
                y = written(|next| self.0.round(0, &y, next))?;
            }
            written(|made| self.0.last(&y, made))
        };
        wiping_deep_stack(|| made().is_some())
    }

    #[inline(always)]
    fn inner<W: Lanes>(&self, x: &[[W; 32]; IN], y: &mut [[W; 32]; OUT]) {
        self.0.first(x, y);
    }

    #[inline(always)]
    fn rounds(&self) -> usize {
        self.0.rounds()
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, number: usize, y: &[[W; 32]; OUT], next: &mut [[W; 32]; OUT]) {
        self.0.round(number, y, next);
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; 32]; OUT], made: &mut [[W; 32]; OUT]) {
        self.0.last(y, made);
    }
}
