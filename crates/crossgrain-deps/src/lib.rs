//! Data-dependence analysis: which loops may run in parallel, and why.
//!
//! [`modes`] analyses the modes of operation. [`loops`] analyses loops that you write in a small language.

#![forbid(unsafe_code)]

pub mod loops;
pub mod modes;

/// The kinds of dependence between two accesses to the same place, at least one of which is a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A write, then a read of the written value. In [`loops`], other writes may lie in between.
    Flow,
    /// A read, then a write.
    Anti,
    /// A write, then another write.
    Output,
}

impl Kind {
    /// `flow`, `anti` or `output`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Anti => "anti",
            Self::Output => "output",
        }
    }
}
