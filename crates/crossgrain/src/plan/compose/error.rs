//! What can be wrong with a flow, its costs, or the file they come from.

use std::fmt;

use super::flow::Cost;
use crate::text::{quoted, reason as reason_of};

/// Why a flow cannot be had or planned. Each prints as one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A flow of no parts.
    NoParts,
    /// Two representations of one name.
    Twice(String),
    /// A representation that the flow does not have.
    UnknownRepresentation(String),
    /// A variant whose parts do not stand one after another anywhere in the flow.
    NoSuchParts {
        /// The variant's name.
        edge: String,
        /// Its parts, with commas between them.
        parts: String,
    },
    /// A cost that is negative, not a number, or larger than [`Cost::MOST`].
    BadCost {
        /// The edge's name.
        edge: String,
        /// What it was said to cost.
        cost: Cost,
    },
    /// An edge that cannot be part of any path.
    BadEdge {
        /// The edge's name.
        edge: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No path leads from a source to a sink.
    NoPath {
        /// Where every path breaks off.
        reason: String,
    },
    /// There is more to enumerate than the caller's limit allows.
    TooManyPaths {
        /// Beginnings of paths that could be looked at.
        limit: usize,
    },
    /// A cost file that cannot be understood.
    BadFile(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoParts => write!(f, "a flow needs at least one part"),
            Self::Twice(name) => write!(f, "two representations are called '{}'", quoted(name)),
            Self::UnknownRepresentation(name) => {
                write!(f, "the flow has no representation '{}'", quoted(name))
            }
            Self::NoSuchParts { edge, parts } => {
                let (edge, parts) = (quoted(edge), quoted(parts));
                write!(f, "'{edge}' computes '{parts}', which the flow does not contain")
            }
            Self::BadCost { edge, cost: Cost { fixed_ns, per_byte_ns } } => write!(
                f,
                "the cost of '{}' must be from 0 to {:e}: it is {fixed_ns:e}, and {per_byte_ns:e} a byte",
                quoted(edge),
                Cost::MOST
            ),
            Self::BadEdge { edge, reason } => write!(f, "'{}' {reason}", quoted(edge)),
            Self::NoPath { reason } => write!(f, "no path leads from start to end: {reason}"),
            Self::TooManyPaths { limit } => {
                write!(f, "more than {limit} beginnings of paths: too many to enumerate")
            }
            Self::BadFile(reason) => write!(f, "the cost file cannot be used: {}", reason_of(reason)),
        }
    }
}

impl std::error::Error for Error {}
