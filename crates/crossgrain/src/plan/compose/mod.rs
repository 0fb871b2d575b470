//! The cheapest composition of parts, for anyone's parts.
//!
//! A [`Flow`] is a row of parts that data must pass, the representations it may have between them, and
//! edges with costs: variants compute parts, conversions change the representation, sources and sinks
//! are the two ends. [`Flow::at`] prices the edges for one size; the [`Graph`] that it gives answers with
//! the best [`Path`], the runners-up, the pure forms, what a greedy choice would have been, and, for
//! tests, every path there is. A [`CostFile`] is the same as JSON.
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
//! Holds: costs add, for paths are compared by the sums of their edges' costs, without rounding. Of equal
//! sums the path of fewer edges is the better one, then the one whose names come first: the same flow
//! gives the same answer, whatever order its edges were added in. This module names nothing else of the crate.

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
