//! The size and speed of designs.

use super::Architecture;
use super::chain::{Chain, Part};
use super::design::Chains;
use super::part::Cells;

/// The size and speed of a design. Gates have two inputs, and complements are part of the gates that read them.
/// Counters, handshakes and constants are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Gates of the rounds.
    pub round_gates: usize,
    /// Gates of the key schedule.
    pub key_gates: usize,
    /// Multiplexers with two inputs, in bits.
    pub multiplexers: usize,
    /// Bits of registers, including the round keys.
    pub registers: usize,
    /// The most gates on a path through a cycle of the rounds, without multiplexers.
    pub depth: usize,
    /// The same for the key schedule.
    pub key_depth: usize,
    /// Cycles per block.
    pub cycles: usize,
    /// Cycles per key.
    pub key_cycles: usize,
}

impl Area {
    /// All gates, with three for each bit of a multiplexer.
    pub const fn gates(&self) -> usize {
        self.round_gates + self.key_gates + 3 * self.multiplexers
    }

    pub(super) fn of(architecture: Architecture, chains: &Chains) -> Self {
        let Chains { rounds, schedule, cells, round_key_bytes } = chains;
        let cycles = rounds.cycles.len();
        let (round_gates, of_rounds, states) = match architecture {
            Architecture::Iterated => {
                // Each cycle selects its round keys from all.
                let of_keys = 8 * rounds.keys() * (cycles - 1);
                (rounds.gates(cells), rounds.multiplexers() + of_keys, 1)
            }
            Architecture::Pipelined => (rounds.gates_of_cycles(cells), 0, cycles),
        };
        Self {
            round_gates,
            key_gates: schedule.gates(cells),
            multiplexers: of_rounds + schedule.multiplexers(),
            registers: 8 * (round_key_bytes + schedule.width + rounds.width * states),
            depth: rounds.depth(cells),
            key_depth: schedule.depth(cells),
            cycles,
            key_cycles: schedule.cycles.len(),
        }
    }
}

impl Chain {
    /// The gates of all parts.
    fn gates(&self, cells: &Cells) -> usize {
        self.parts.iter().map(|part| cells.gates_of_part(part)).sum()
    }

    /// The gates of all cycles, each with its own copies of its parts.
    fn gates_of_cycles(&self, cells: &Cells) -> usize {
        self.cycles.iter().map(|cycle| self.sum(cycle.shape, |part| cells.gates_of_part(part))).sum()
    }

    fn depth(&self, cells: &Cells) -> usize {
        let depth = |shape| self.sum(shape, |part| cells.depth_of_part(part));
        (0..self.shapes.len()).map(depth).max().unwrap_or(0)
    }

    /// The sum of a property over the parts of a kind of cycle.
    fn sum(&self, shape: usize, property: impl Fn(&Part) -> usize) -> usize {
        self.shapes[shape].uses.iter().flatten().map(|known| property(&self.parts[known.part])).sum()
    }
}
