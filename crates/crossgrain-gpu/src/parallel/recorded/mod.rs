//! Kernels that are recorded at run time instead of compiled: a list of steps, each of which computes a
//! value from earlier values.
//!
//! This is the interface for other languages. Their numbers are symbols whose operators record steps. On a
//! CPU an interpreter executes one step at a time for 256 elements, in the widest registers. The
//! interpreter is compiled once for each register type and serves all recorded kernels. On a device the
//! steps become a program's text, like those of any kernel.
//!
//! Constants are program state, as with [`Lanes::uniform`]. They are in no program's text, a new constant
//! needs no new program, and they are wiped. A recorded kernel gives the same bits at every place.

mod column;
#[cfg(feature = "device")]
mod on_device;
mod operation;
mod run;

use std::fmt;

#[cfg(feature = "device")]
use crossgrain::engine::arch::Lanes;
use zeroize::Zeroizing;

#[cfg(feature = "device")]
use super::kernel::Bundle;
use crate::Error;
use operation::Operation;

pub use column::Column;

/// Maximum total of the inputs' words, and of the results' words.
const WORDS_MAX: usize = 16;

/// Maximum number of steps. A device's compiler would need minutes for more.
const STEPS_MAX: usize = 1 << 14;

/// A step of a kernel.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An input, by the index of its first word.
    Input(usize),
    /// A constant for all elements, by its index.
    Constant(usize),
    /// An operation on earlier values. The last field is the count of a shift.
    Computed(Operation, [usize; 3], u32),
}

/// A recorded kernel.
///
/// ```
/// use crossgrain_gpu::parallel::{Column, Policy, Recorded};
///
/// // 3x + y.
/// let mut kernel = Recorded::new(&[2, 2])?;
/// let three = kernel.constant(3_f64.to_bits(), 2)?;
/// let product = kernel.step("MulF64", &[three, 0], 0)?;
/// let sum = kernel.step("AddF64", &[product, 1], 0)?;
/// kernel.give(sum)?;
///
/// let place = Policy::Auto.open()?;
/// let x = Column::from_bytes(&place, [1_f64, 2.0].map(f64::to_ne_bytes).as_flattened(), 8)?;
/// let y = Column::from_bytes(&place, [0.5_f64, 0.25].map(f64::to_ne_bytes).as_flattened(), 8)?;
/// let made = kernel.transform(&[&x, &y])?;
/// assert_eq!(f64::from_bits(made[0].reduce("SumF64")?), 3.5 + 6.25);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub struct Recorded {
    /// Words per input.
    inputs: Vec<usize>,
    /// Step i computes value i.
    steps: Vec<Step>,
    /// Words per value.
    words: Vec<usize>,
    constants: Zeroizing<Vec<u64>>,
    /// The values that are results.
    results: Vec<usize>,
}

impl Recorded {
    /// Starts a kernel with inputs of one or two words each. The inputs are its first values. A kernel
    /// without inputs has one value of one word instead: the element's number.
    ///
    /// # Errors
    /// If the inputs exceed the maximum number of words.
    pub fn new(inputs: &[usize]) -> Result<Self, Error> {
        let (mut steps, mut first) = (Vec::new(), 0);
        for words in inputs {
            if !(1..=2).contains(words) {
                return Err(refused(format!("a number has one word or two, and not {words}")));
            }
            steps.push(Step::Input(first));
            first += words;
        }
        let mut words = inputs.to_vec();
        if inputs.is_empty() {
            (steps, words) = (vec![Step::Input(0)], vec![1]);
        }
        if first > WORDS_MAX {
            let told = "give less arrays: uint64 and float64 take two words, others one";
            return Err(refused(format!(
                "a kernel takes {WORDS_MAX} words of an element, and not {first} ({told})"
            )));
        }
        // The capacity suffices for all constants. The vector is never reallocated, which would leave
        // copies in memory.
        let constants = Zeroizing::new(Vec::with_capacity(STEPS_MAX));
        Ok(Self { inputs: inputs.to_vec(), steps, words, constants, results: Vec::new() })
    }

    /// Records a constant for all elements, which is program state and in no program's text.
    ///
    /// # Errors
    /// If the kernel has too many steps.
    pub fn constant(&mut self, bits: u64, words: usize) -> Result<usize, Error> {
        if !(1..=2).contains(&words) {
            return Err(refused(format!("a number has one word or two, and not {words}")));
        }
        let value = self.push(Step::Constant(self.constants.len()), words)?;
        self.constants.push(bits);
        Ok(value)
    }

    /// Records an operation on values and returns the number of its result. Names are for example `AddU32`
    /// and `LessF64`; the table in the source lists all.
    ///
    /// # Errors
    /// If the operation does not exist, or does not accept these values.
    pub fn step(&mut self, name: &str, values: &[usize], count: u32) -> Result<usize, Error> {
        let told = || refused(format!("there is no step {name} of values {values:?} and a count {count}"));
        let operation = Operation::of_name(name).ok_or_else(told)?;
        let has = values.iter().map(|&value| self.words.get(value).copied());
        if !has.eq(operation.operands().iter().copied().map(Some)) {
            return Err(told());
        }
        if count as usize >= 32 * operation.words() {
            return Err(told());
        }
        let mut of = [0; 3];
        of[..values.len()].copy_from_slice(values);
        self.push(Step::Computed(operation, of, count), operation.words())
    }

    fn push(&mut self, step: Step, words: usize) -> Result<usize, Error> {
        if self.steps.len() >= STEPS_MAX {
            return Err(refused(format!("a kernel has {STEPS_MAX} steps at most: make several of it")));
        }
        self.steps.push(step);
        self.words.push(words);
        Ok(self.steps.len() - 1)
    }

    /// Appends a value to the results.
    ///
    /// # Errors
    /// If the value does not exist, or the results exceed the maximum number of words.
    pub fn give(&mut self, value: usize) -> Result<(), Error> {
        let words = *self.words.get(value).ok_or_else(|| refused(format!("there is no value {value}")))?;
        if self.result_words() + words > WORDS_MAX {
            return Err(refused(format!("a kernel gives {WORDS_MAX} words of an element at most")));
        }
        self.results.push(value);
        Ok(())
    }

    /// Total words of the results.
    fn result_words(&self) -> usize {
        self.results.iter().map(|&value| self.words[value]).sum()
    }

    /// Total words of the inputs.
    #[cfg(feature = "device")]
    fn input_words(&self) -> usize {
        self.inputs.iter().sum::<usize>().max(1)
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({} steps)", self.steps.len())
    }
}

fn refused(why: String) -> Error {
    Error::Kernel(why)
}

/// A recorded kernel for a device's program. Only the words that the kernel actually has are read and
/// written.
#[cfg(feature = "device")]
struct Traced<'a>(&'a Recorded);

#[cfg(feature = "device")]
impl Bundle<1, WORDS_MAX, WORDS_MAX> for Traced<'_> {
    fn reads(&self) -> usize {
        self.0.input_words()
    }

    fn writes(&self) -> usize {
        self.0.result_words()
    }

    fn inner<W: Lanes>(&self, x: &[[W; 1]; WORDS_MAX], y: &mut [[W; 1]; WORDS_MAX]) {
        let (kernel, like) = (self.0, x[0][0]);
        let mut values: Vec<[W; 2]> = Vec::with_capacity(kernel.steps.len());
        for (step, &words) in kernel.steps.iter().zip(&kernel.words) {
            values.push(match *step {
                Step::Input(first) => [x[first][0], x[first + words - 1][0]],
                Step::Constant(at) => {
                    let bits = kernel.constants[at];
                    let low = like.uniform(bits as u32);
                    [low, if words == 2 { like.uniform((bits >> 32) as u32) } else { low }]
                }
                Step::Computed(operation, of, count) => operation.of(count, of.map(|value| values[value])),
            });
        }
        let results = kernel.results.iter().flat_map(|&value| &values[value][..kernel.words[value]]);
        *y = [[like.zero()]; WORDS_MAX];
        for (row, word) in y.iter_mut().zip(results) {
            *row = [*word];
        }
    }
}
