//! Data-dependence analysis of the modes of operation: which loops may run in parallel, and why.
//!
//! Each mode is written a second time, in a few lines over a block algebra ([`Algebra`], [`run`]). This
//! specification runs in two ways:
//!
//! * On symbols it records a trace. [`Analysis`] reads the dependences between iterations from the trace.
//! * On real blocks ([`on_blocks`]) it encrypts slowly, and published test vectors check it.
//!
//! So the analysed text is the text that encrypts.
//!
//! ```
//! use crossgrain::Direction;
//! use crossgrain::mode::Mode;
//! use crossgrain_deps::modes::{Analysis, BLOCKS, Verdict};
//!
//! let verdict = |direction, in_place| {
//!     Analysis::new(Mode::Cbc, direction, in_place).find(BLOCKS).map(|blocks| blocks.verdict())
//! };
//! assert_eq!(verdict(Direction::Encrypt, false), Some(Verdict::Serial));
//! assert_eq!(verdict(Direction::Decrypt, false), Some(Verdict::Parallel));
//! assert_eq!(verdict(Direction::Decrypt, true), Some(Verdict::ParallelSaved));
//! ```

mod algebra;
mod analysis;
mod blocks;
mod growth;
mod specification;
mod trace;

pub use algebra::{Algebra, GIVEN, IV, Op, Place, TAG};
pub use analysis::{Analysis, Carried, Dependence, Loop, Touched, Verdict};
pub use blocks::{Answer, Ciphers, Message, Order, on_blocks};
pub use growth::{Affine, Growth};
pub use specification::{BLOCKS, Lengths, run};
