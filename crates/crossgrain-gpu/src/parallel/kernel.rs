//! What a user writes: a function of an element, once, over whatever words stand for it.
//!
//! An element is a few numbers of 32 bits. A [`Map`] sees each of them as a word with a lane of 32 bits for every element at
//! hand: 16 of them in a register of 512 bits, one in a GPU's thread. [`Bits`] of a [`BitMap`] sees each number as 32 words with
//! a lane of one bit for every element: 512 in such registers, 32 in a thread. [`Bundle`] is what the algorithms ask of both.
//! Holds: `map` and `combine` are `#[inline(always)]`, with all that they call, and use no closures on words; otherwise answers
//! stay right, and each gate on a CPU becomes a call.

use crossgrain::internal::convert::transpose_square;
#[cfg(doc)]
use crossgrain::internal::word::Word;
use crossgrain::internal::word::{Lanes, Shift};

use super::host::wiped;

/// A function of elements of `IN` numbers that gives elements of `OUT`.
///
/// What is the same for all elements lies in fields. A word that is made of a field by [`Lanes::filled`] is a constant of the
/// program for a GPU, whose text is kept on disk. By [`Lanes::uniform`] it is state: it is given to the program when that runs and
/// overwritten after, so that other values take no other program, and a key is in none.
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
    /// The function on lanes of 32 bits.
    fn map<W: Lanes>(&self, x: [W; IN]) -> [W; OUT];
}

/// The same on lanes of one bit.
pub trait BitMap<const IN: usize, const OUT: usize>: Sync {
    /// The function on the bits of each number, the least significant first. Gates alone need no more than [`Word`].
    fn map<W: Lanes>(&self, x: [[W; 32]; IN]) -> [[W; 32]; OUT];
}

/// A [`BitMap`] as a kernel: its elements are transposed on the way in and out.
#[derive(Clone, Copy, Debug)]
pub struct Bits<K>(pub K);

/// A [`BitMap`] with a loop, which stays one in programs for devices: a loop within `map` is written out there.
///
/// On a CPU the state is in memory. A part reads what the one before wrote, and writes all of its own results: one that leaves any as they were is
/// an [`Error::Kernel`](crate::Error::Kernel) of whatever runs it. A part that takes a few words at a time from state to state keeps those in registers.
pub trait BitLoop<const IN: usize, const OUT: usize>: Sync {
    /// How many rounds the loop has.
    fn rounds(&self) -> usize;

    /// What comes before the loop.
    fn first<W: Lanes>(&self, x: &[[W; 32]; IN], y: &mut [[W; 32]; OUT]);

    /// A round by its number, from 0 on. Of rounds only what [`Lanes::uniform`] gives may differ: the number is there to choose it.
    fn round<W: Lanes>(&self, number: usize, y: &[[W; 32]; OUT], next: &mut [[W; 32]; OUT]);

    /// What comes after the loop.
    fn last<W: Lanes>(&self, y: &[[W; 32]; OUT], made: &mut [[W; 32]; OUT]);
}

/// A [`Map`] with a loop of rounds that are all alike, which stays one in programs for devices. How many there are is told to a
/// program when it runs, so that their number may be any and takes no other program.
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
/// assert_eq!(generate(&Loop(Power { exponent: 5 }), &place, 4)?.to_vec()?, [[0, 0], [1, 1], [32, 2], [243, 3]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub trait MapLoop<const IN: usize, const OUT: usize>: Sync {
    /// How many rounds the loop has.
    fn rounds(&self) -> u32;

    /// What comes before the loop.
    fn first<W: Lanes>(&self, x: [W; IN]) -> [W; OUT];

    /// A round, which is given the same by [`Lanes::uniform`] each time.
    fn round<W: Lanes>(&self, y: [W; OUT]) -> [W; OUT];

    /// What comes after the loop; nothing unless told.
    #[inline(always)]
    fn last<W: Lanes>(&self, y: [W; OUT]) -> [W; OUT] {
        y
    }
}

/// A [`BitLoop`] as a kernel, with elements transposed as by [`Bits`]; or a [`MapLoop`].
#[derive(Clone, Copy, Debug)]
pub struct Loop<K>(pub K);

/// Two elements made one. The function is associative: of three it does not matter which two are combined first. For
/// [`reduce`](super::reduce) their order must not matter either; [`inclusive_scan`](super::inclusive_scan) keeps it. One that is neither,
/// such as a sum of rounded numbers, says so.
pub trait Combine<const N: usize>: Sync {
    /// The element that changes no other.
    const IDENTITY: [u32; N];

    /// Whether it matters which elements are combined first. Then a CPU combines them as a device does, which for some takes longer.
    const IS_ORDERED: bool = false;

    /// The function on lanes of 32 bits.
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

/// The least of each number.
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

/// The greatest of each number.
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

/// The loop of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounds {
    /// There is none.
    None,
    /// Each round has state of its own.
    Each,
    /// All are alike.
    Alike,
}

/// A kernel as the algorithms run it: on `ROWS` elements a lane of 32 bits. Every [`Map`] is one, and so are [`Bits`] of every
/// [`BitMap`] and [`Loop`] of every [`BitLoop`] and [`MapLoop`].
pub trait Bundle<const ROWS: usize, const IN: usize, const OUT: usize>: Sync {
    /// Whether it has a loop, and of what kind.
    const LOOP: Rounds = Rounds::None;

    /// How many of an element's numbers a device reads, from the first on.
    #[doc(hidden)]
    fn reads(&self) -> usize {
        IN
    }

    /// How many of a result's numbers a device writes, from the first on.
    #[doc(hidden)]
    fn writes(&self) -> usize {
        OUT
    }

    /// Whether each part of it, from state to state, writes all of its results.
    #[doc(hidden)]
    fn is_whole(&self) -> bool {
        true
    }

    /// The user's function, on 32 rows transposed, as far as a loop in it. Like the others it writes all of the second.
    fn inner<W: Lanes>(&self, x: &[[W; ROWS]; IN], y: &mut [[W; ROWS]; OUT]);

    /// How many rounds that loop has.
    #[inline(always)]
    fn rounds(&self) -> usize {
        0
    }

    /// A round of it.
    #[inline(always)]
    fn round<W: Lanes>(&self, _number: usize, y: &[[W; ROWS]; OUT], next: &mut [[W; ROWS]; OUT]) {
        *next = *y;
    }

    /// What comes after it.
    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; ROWS]; OUT], made: &mut [[W; ROWS]; OUT]) {
        *made = *y;
    }

    /// All of the user's function, in room for two states, and in which of them its results are.
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
            // One row stays in registers, which no reference chooses among.
            if ROWS == 1 {
                *y = *next;
            } else {
                (y, next) = (next, y);
            }
        }
        self.last(y, next);
        next
    }

    /// The same of elements: row r of number p is that of element r of each lane.
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

/// Exchanges the rows of a number and the bits of its lanes where there are as many of both.
#[inline(always)]
fn turn<W: Lanes + Shift, const ROWS: usize>(rows: &mut [W; ROWS]) {
    // First the constant: with other numbers of rows the compiler does not look at a transposition.
    if ROWS == 32
        && let Ok(square) = <&mut [W; 32]>::try_from(&mut rows[..])
    {
        transpose_square(square);
    }
}

/// The one row of each number.
#[inline(always)]
fn out_of_rows<W: Lanes, const N: usize>(x: &[[W; 1]; N]) -> [W; N] {
    let mut numbers = [x[0][0]; N];
    for (number, [row]) in numbers.iter_mut().zip(x) {
        *number = *row;
    }
    numbers
}

/// Numbers of one row each.
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

/// What a part makes of 32 elements, if it is the same whatever stood there before.
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
        wiped(|| made().is_some())
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
