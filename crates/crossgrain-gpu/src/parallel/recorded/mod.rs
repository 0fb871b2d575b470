//! Kernels that are recorded while a program runs, not compiled with it: a list of steps, of which each computes a value from earlier ones.
//!
//! Other languages make their kernels so: their numbers are symbols whose operators record what is done to them. On a CPU an interpreter takes a few
//! hundred elements through a step at a time, in the widest registers; it is compiled once for each kind of register, whatever is recorded. On a
//! device the steps become a program's text as those of any kernel.
//! Holds: constants are state, as by [`Lanes::uniform`]: no text says them, other constants take no other program, and they are wiped. Whatever is
//! recorded gives the same bits at every place.

mod column;
mod operation;
mod run;

use std::fmt;

use crossgrain::internal::word::Lanes;
use zeroize::Zeroizing;

use super::kernel::Bundle;
use crate::Error;
use operation::Operation;

pub use column::Column;

/// Most words that the inputs of a kernel have together, and its results.
const WORDS_MAX: usize = 16;

/// Most steps: more would take a device's compiler minutes.
const STEPS_MAX: usize = 1 << 14;

/// A step.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An input: the number of its first word.
    Input(usize),
    /// A number that is the same for all elements, by its place among these.
    Constant(usize),
    /// An operation on earlier values, with a count where it shifts.
    Computed(Operation, [usize; 3], u32),
}

/// A kernel that was recorded.
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
    /// Words of each input.
    inputs: Vec<usize>,
    /// Each makes the value of its number.
    steps: Vec<Step>,
    /// Words of each value.
    words: Vec<usize>,
    constants: Zeroizing<Vec<u64>>,
    /// The values that are its results.
    results: Vec<usize>,
}

impl Recorded {
    /// A kernel of elements that have so many words each, one or two. Its inputs are its first values; of no input, there is one of one word, the
    /// number of an element.
    ///
    /// # Errors
    /// If they have more words than a kernel may have.
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
        // So many that they never move, which would leave a copy behind.
        let constants = Zeroizing::new(Vec::with_capacity(STEPS_MAX));
        Ok(Self { inputs: inputs.to_vec(), steps, words, constants, results: Vec::new() })
    }

    /// Records a number that is the same for all elements. It is state, and no program's text says it.
    ///
    /// # Errors
    /// If there are too many steps.
    pub fn constant(&mut self, bits: u64, words: usize) -> Result<usize, Error> {
        if !(1..=2).contains(&words) {
            return Err(refused(format!("a number has one word or two, and not {words}")));
        }
        let value = self.push(Step::Constant(self.constants.len()), words)?;
        self.constants.push(bits);
        Ok(value)
    }

    /// Records an operation on values, and gives the number of its result. `AddU32`, `LessF64` and so on: the source has a table of all.
    ///
    /// # Errors
    /// If there is no such operation, or it does not take these values.
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

    /// Makes a value a result, after those that are.
    ///
    /// # Errors
    /// If there is no such value, or the results have more words than a kernel may have.
    pub fn give(&mut self, value: usize) -> Result<(), Error> {
        let words = *self.words.get(value).ok_or_else(|| refused(format!("there is no value {value}")))?;
        if self.result_words() + words > WORDS_MAX {
            return Err(refused(format!("a kernel gives {WORDS_MAX} words of an element at most")));
        }
        self.results.push(value);
        Ok(())
    }

    /// Words of all results.
    fn result_words(&self) -> usize {
        self.results.iter().map(|&value| self.words[value]).sum()
    }

    /// Words of all inputs.
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

/// A recorded kernel as a device's program has it: of the words that there may be, those that there are are read and written.
struct Traced<'a>(&'a Recorded);

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
