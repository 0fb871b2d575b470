//! Whole ciphers as Verilog-2001 designs: key schedule, rounds and handshakes.
//!
//! The logic comes from the same source as all other forms of a cipher. Its description is recorded as
//! operations on bytes (`device::recorded`). The record is cut into cycles (`chain`), whose parts become modules
//! of gates (`part`), and the cycles become the logic of a design (`step`, `design`).
//!
//! # Interface
//!
//! | port | meaning |
//! |---|---|
//! | `clk`, `rst` | all registers change at the rising edge; `rst` is synchronous and removes the key |
//! | `key_valid`, `key_ready`, `key` | a key; the schedule then runs for [`Area::key_cycles`] cycles |
//! | `in_valid`, `in_ready`, `in_block` | a block to encrypt or decrypt under this key |
//! | `out_valid`, `out_ready`, `out_block` | the result, in the order of the inputs |
//!
//! A transfer happens at each edge with `valid` and `ready`. Bit 8·i + j of a block or key is bit j of its byte
//! i, and bit 0 is the least significant. A key is accepted when no block is in the design, and a waiting key
//! goes before waiting blocks. All round keys are in registers, so one key serves many blocks.
//!
//! * [`Architecture::Iterated`]: the logic of one cycle. A block takes [`Area::cycles`] cycles, and one more to
//!   enter and to leave.
//! * [`Architecture::Pipelined`]: registers after each cycle of logic. A block enters at each edge unless a
//!   result waits; then all stages wait.
//!
//! The designs are not protected against side channels such as power consumption. Their timing does not depend
//! on keys or data.

mod area;
mod chain;
mod design;
mod part;
mod published;
mod step;

pub use self::area::Area;
use self::design::Chains;
pub use self::published::{Figure, figures};
use crate::block::{Cipher, Direction};

/// The structure of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// One cycle of logic, used for all rounds.
    Iterated,
    /// The logic of all cycles, with registers between them.
    Pipelined,
}

impl Architecture {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Iterated, Self::Pipelined];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iterated => "iterated",
            Self::Pipelined => "pipelined",
        }
    }
}

/// A cipher in one direction as hardware.
///
/// ```
/// use crossgrain::engine::device::hardware::{Architecture, Design};
/// use crossgrain::{Cipher, Direction};
///
/// let (direction, architecture) = (Direction::Encrypt, Architecture::Iterated);
/// let design = Design { cipher: Cipher::Aes128, direction, architecture };
/// assert!(design.verilog().contains("module aes_128_encrypt_iterated("));
/// assert_eq!(design.area().cycles, 11);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// The cipher.
    pub cipher: Cipher,
    /// The direction.
    pub direction: Direction,
    /// The structure.
    pub architecture: Architecture,
}

impl Design {
    /// The name of its module.
    pub fn module(self) -> String {
        let direction = match self.direction {
            Direction::Encrypt => "encrypt",
            Direction::Decrypt => "decrypt",
        };
        format!("{}_{direction}_{}", self.cipher.name().replace('-', "_"), self.architecture.name())
    }

    /// Its text. The names of all modules begin with [`Design::module`].
    pub fn verilog(self) -> String {
        Chains::of(self).text(self)
    }

    /// Its size and speed.
    pub fn area(self) -> Area {
        Area::of(self.architecture, &Chains::of(self))
    }

    /// A cycle of each kind of cycle, in the order of the kinds.
    pub fn cycles_of_kinds(self) -> Vec<usize> {
        let rounds = Chains::of(self).rounds;
        let first = |kind: usize| rounds.cycles.iter().position(|cycle| cycle.shape == kind).unwrap_or(0);
        (0..rounds.shapes.len()).map(first).collect()
    }
}
