//! AES: its description, key schedule, kernels in every representation, rows, key search and GPU programs.
//!
//! `description` is the cipher's text in terms of the registry, from which the reference and Rijndael's wide
//! blocks run too. `steps` names its steps for the planner. `key` expands a key once; each representation
//! derives its own form of the round keys from that.
//!
//! * `table`: table lookups on bytes
//! * `instructions`: AES instructions, whole blocks in registers. Modes are in `frames` (ECB, CBC and CFB
//!   decryption, CTR, OCB without its checksum), `tweaked` (XTS), `masked` (OCB), `cached_counter` (CTR with
//!   a table), `chains` and `gcm`. `rounds` has the middle rounds, `serial` single blocks, `gcm_siv` short messages
//! * `bytesliced`, `hsliced`, `bitsliced`: sliced forms; `head` shares the first two rounds of CTR between
//!   blocks
//! * `own_keys`, `lane_schedule`, `search`: one key per lane
//! * `scalar`, `linear_circuit`: the linear maps on four bytes in an integer, and as gates. The S-box is
//!   `circuit::aes_sbox`, because circuits of other S-boxes are derived from its inversion.
//! * `rows`, `search_rows`: the variants of all these kernels
//! * `gpu`: programs for GPUs

pub mod bitsliced;
pub mod bytesliced;
pub mod cached_counter;
mod chains;
pub mod description;
mod frames;
mod gcm;
mod gcm_siv;
#[cfg(feature = "device")]
pub(crate) mod gpu;
pub mod head;
pub mod hsliced;
pub mod instructions;
pub mod key;
#[cfg(any(feature = "own-keys", feature = "search"))]
pub(crate) mod lane_schedule;
pub mod linear_circuit;
mod masked;
#[cfg(feature = "own-keys")]
pub mod own_keys;
mod rounds;
pub(crate) mod rows;
pub mod scalar;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "search")]
pub(crate) mod search_rows;
mod serial;
pub mod steps;
pub mod table;
mod tweaked;

pub use self::description::Aes;
pub(crate) use self::steps::PARTS;
