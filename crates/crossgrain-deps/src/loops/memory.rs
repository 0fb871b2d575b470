//! The values of variables: initial values, results and digests.

use super::program::{Kind, Program, Variable};

/// The values of a program's variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// For each variable, its words. Empty for numbers.
    pub(super) words: Vec<Vec<u32>>,
    /// For each variable, its number. 0 for words.
    pub(super) ints: Vec<i64>,
}

impl Memory {
    /// The state before the loops. Numbers have their declared values, and words are pseudorandom.
    pub fn new(program: &Program) -> Self {
        let words = |variable: &Variable| match &variable.kind {
            Kind::Table(_, values) => values.clone(),
            _ if variable.is_int() => Vec::new(),
            _ => (0..variable.cells()).map(|cell| painted(&variable.name, cell)).collect(),
        };
        let int = |kind: &Kind| match kind {
            Kind::Int(first) => *first,
            Kind::Param { run, .. } => *run,
            _ => 0,
        };
        Self {
            words: program.variables.iter().map(words).collect(),
            ints: program.variables.iter().map(|variable| int(&variable.kind)).collect(),
        }
    }

    /// The words of an array or word variable, in row-major order. `None` if no such variable exists.
    pub fn words_mut(&mut self, program: &Program, name: &str) -> Option<&mut [u32]> {
        let is = |variable: &Variable| variable.name == name && !variable.is_int();
        let number = program.variables.iter().position(is)?;
        Some(&mut self.words[number])
    }

    /// A digest of all variables that are used after the loops. Emitted programs compute the same digest.
    pub fn digest(&self, program: &Program) -> u64 {
        let mut digest = Digest::default();
        for number in lasting(program) {
            match program.variables[number].is_int() {
                true => {
                    digest.add(self.ints[number] as u32);
                    digest.add((self.ints[number] >> 32) as u32);
                }
                false => self.words[number].iter().for_each(|&word| digest.add(word)),
            }
        }
        digest.0
    }

    /// Whether all variables that are used after the loops are equal.
    pub(super) fn is_like(&self, other: &Self, program: &Program) -> bool {
        let alike = |number: usize| {
            self.ints[number] == other.ints[number] && self.words[number] == other.words[number]
        };
        lasting(program).all(alike)
    }
}

/// The variables that are used after the loops.
fn lasting(program: &Program) -> impl Iterator<Item = usize> {
    let lasts = |variable: &Variable| {
        !variable.is_local && !matches!(variable.kind, Kind::Table(..) | Kind::Param { .. })
    };
    (0..program.variables.len()).filter(move |&number| lasts(&program.variables[number]))
}

/// The initial value of a cell.
fn painted(name: &str, cell: usize) -> u32 {
    let word = seed(name).wrapping_add((cell as u32).wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    word ^ word >> 15
}

/// A seed that makes the initial values of variables differ.
pub(super) fn seed(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |seed, byte| (seed ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn add(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3);
    }
}
