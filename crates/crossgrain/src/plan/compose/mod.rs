//! The cheapest composition of parts. It knows nothing about ciphers and can be used for any kind of part.
//!
//! A [`Flow`] is a sequence of parts that data must pass, the representations that data can have between
//! them, and edges with costs. Variants compute parts; conversions change the representation; sources and
//! sinks are the two ends. [`Flow::at`] computes the edge costs for one size and returns a [`Graph`]. The
//! graph finds the best [`Path`], the next best ones, the pure forms, the greedy path and, for tests, all
//! paths. A [`CostFile`] is a flow as JSON.
//!
//! ```
//! use crossgrain::plan::compose::{Cost, Flow};
//!
//! let mut flow = Flow::new(&["mix", "add"], &["word", "bit"])?;
//! flow.variant("mix/word", &["mix"], "word", Cost::fixed(50.0))?;
//! flow.variant("mix/bit", &["mix"], "bit", Cost::fixed(4.0))?;
//! flow.variant("add/word", &["add"], "word", Cost::fixed(5.0))?;
//! flow.conversion("word>bit", "word", "bit", Cost::fixed(10.0))?;
//! flow.conversion("bit>word", "bit", "word", Cost::fixed(10.0))?;
//! flow.start("word")?;
//! flow.end("word")?;
//! let best = flow.at(4096).best()?;
//! assert_eq!(best.names().collect::<Vec<_>>(), ["word>bit", "mix/bit", "bit>word", "add/word"]);
//! assert_eq!(best.total_ns, 29.0);
//! # Ok::<(), crossgrain::plan::compose::Error>(())
//! ```
//!
//! Invariants: paths are compared by the sums of their edges' costs, which are added without rounding. Among
//! equal sums the path with fewer edges wins, then the path whose names come first. The result therefore does
//! not depend on the order in which edges were added. Apart from helpers for the text of errors, this module
//! uses nothing else of the crate.

mod error;
mod every;
#[cfg(feature = "wisdom")]
mod file;
mod flow;
mod graph;
mod greedy;
mod kbest;
mod length;
mod mixed;
mod path;
mod report;

pub use error::Error;
#[cfg(feature = "wisdom")]
pub use file::{Answer, CostFile, Route};
pub use flow::{Cost, Edge, Flow, Node};
pub use graph::Graph;
pub use path::{Path, Step};
pub use report::{Pure, Report};
