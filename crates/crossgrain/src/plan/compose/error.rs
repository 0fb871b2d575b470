//! Errors of flows, costs and cost files.

use std::fmt;

use super::flow::Cost;
use crate::text::{quoted, reason as reason_of};

/// The reason why a flow cannot be built or planned. Each prints as one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The flow has no parts.
    NoParts,
    /// Two representations have the same name.
    Twice(String),
    /// The flow does not have this representation.
    UnknownRepresentation(String),
    /// The variant's parts do not occur in sequence anywhere in the flow.
    NoSuchParts {
        /// The variant's name.
        edge: String,
        /// Its parts, separated by commas.
        parts: String,
    },
    /// The cost is negative, not a number, or larger than [`Cost::MOST`].
    BadCost {
        /// The edge's name.
        edge: String,
        /// The invalid cost.
        cost: Cost,
    },
    /// The edge cannot be part of any path.
    BadEdge {
        /// The edge's name.
        edge: String,
        /// The reason.
        reason: &'static str,
    },
    /// No path leads from a source to a sink.
    NoPath {
        /// The position where every path ends.
        reason: String,
    },
    /// An enumeration exceeded the caller's limit.
    TooManyPaths {
        /// The maximum number of path prefixes.
        limit: usize,
    },
    /// The cost file cannot be parsed.
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
