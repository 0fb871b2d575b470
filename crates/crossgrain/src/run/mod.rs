//! Runs plans: binds them to a key, cuts data into bundles and distributes them over threads.
//!
//! * `bound` binds the variants of a plan to a CPU's instructions and to round keys.
//! * `depth` has the depths to which the stack is wiped.
//! * `program` holds the bound plans of one job and cuts its data. Modes call [`Program::run`] and know no
//!   variant and no instruction set.
//! * `tiles` runs a bound plan on one thread, tile by tile. `frame` adds the XORs of a mode around the
//!   cipher.
//! * `threads` cuts a job into pieces. `many` queues serial messages of different lengths.
//! * `serial` runs work of modes on single blocks.
//! * `own_keys` runs records under a key each. `search` binds plans of key search.

mod bound;
mod depth;
mod frame;
mod many;
#[cfg(feature = "own-keys")]
mod own_keys;
mod program;
mod search;
mod serial;
mod threads;
mod tiles;

#[cfg(feature = "own-keys")]
pub use own_keys::OwnKeys;
pub use program::Program;
pub use search::search;
pub use threads::Threads;
