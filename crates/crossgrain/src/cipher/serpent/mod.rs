//! Serpent: its description, key schedule, kernels in every representation, rows, key search and GPU programs.
//!
//! The code follows the bit-slice description of the submission. The state is four words of 32 bits, and bit
//! j of the four words enters S-box j. Bytes are in NESSIE order: word i is bytes 4i to 4i + 3,
//! little-endian.
//!
//! * `description`: the cipher in terms of the registry, from which the reference runs too; `schedule` is its
//!   key schedule
//! * `steps` names its steps for the planner; `key` has the round keys in the form of the kernels
//! * `bitsliced`, `vsliced`: parts on tiles; `whole`: the cipher from blocks to blocks; `chains`: serial modes
//! * `own_keys`, `search`, `search_steps`: one key per lane
//! * `sbox_circuit`, `linear_circuit`: the S-boxes and the linear transformation as gates
//! * `rows`, `search_rows`: the variants of all these kernels
//! * `gpu`: programs for GPUs
//!
//! Source: Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption Standard" (1998).

pub mod bitsliced;
mod chains;
pub mod description;
#[cfg(feature = "device")]
pub(crate) mod gpu;
pub mod key;
pub mod linear_circuit;
#[cfg(feature = "own-keys")]
pub mod own_keys;
pub(crate) mod rows;
pub mod sbox_circuit;
pub mod schedule;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "search")]
pub(crate) mod search_rows;
#[cfg(feature = "search-steps")]
pub mod search_steps;
pub mod steps;
pub mod vsliced;
pub mod whole;

pub use self::description::Serpent;
pub(crate) use self::steps::PARTS;
