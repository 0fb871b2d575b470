//! Data dependences: which loops may run in parallel, and why.
//!
//! [`modes`] analyses the modes of operation, [`loops`] loops of your own.

#![forbid(unsafe_code)]

pub mod loops;
pub mod modes;

/// The kinds of dependence between two accesses to one place, of which at least one writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A write, then a read of what it wrote; of [`loops`], also of what was written since.
    Flow,
    /// A read, then a write.
    Anti,
    /// A write, then another.
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
