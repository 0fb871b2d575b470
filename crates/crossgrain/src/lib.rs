//! crossgrain
pub mod block;
pub mod reference;
pub mod word;
pub mod circuit;
pub mod repr;
pub mod convert;
