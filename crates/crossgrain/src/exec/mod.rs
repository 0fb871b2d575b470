//! Running a plan: bound to a key, over bundles, over threads.
//!
//! Modes call [`Program::run`] and know no variant and no ISA.

mod frame;
mod many;
mod program;
mod threads;

pub use program::{Program, Schedule};
pub use threads::Threads;
