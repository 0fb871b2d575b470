//! Running a plan: bound to a key, over bundles, over threads.
//!
//! Modes call [`Program::run`] and know no variant and no ISA.

mod bound;
mod frame;
mod many;
#[cfg(feature = "own-keys")]
mod own_keys;
mod program;
mod search;
mod threads;
mod tiles;

#[cfg(feature = "own-keys")]
pub use own_keys::OwnKeys;
pub use program::{Program, Schedule};
pub use search::search;
pub use threads::Threads;
