//! Data dependences: which loops may run in parallel, and why.
//!
//! [`modes`] analyses the modes of operation.

#![forbid(unsafe_code)]

pub mod modes;
