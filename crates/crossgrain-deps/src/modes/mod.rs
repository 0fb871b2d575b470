//! Data dependences of the modes of operation: which loops may run in parallel, and why.
//!
//! Every mode is written once more, in a few lines over a block algebra ([`Algebra`], [`run`]). Run on
//! symbols it leaves a trace, from which [`Analysis`] reads the dependences between iterations; run on
//! real blocks ([`on_blocks`]) it is the mode, slow and judged by published answers. So what is analysed is
//! what encrypts.
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
