//! Data dependences: which loops may run in parallel, and why.
//!
//! [`modes`] analyses the modes of operation, [`loops`] loops of your own.

#![forbid(unsafe_code)]

pub mod loops;
pub mod modes;
