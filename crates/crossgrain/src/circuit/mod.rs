//! Gate circuits of the S-boxes and linear layers, written once over [`Word`](crate::arch::Word).
//!
//! A byte is eight words, least significant bit first; each lane of the words holds another byte. [`affine`]
//! finds the structure of S-boxes. [`trace`] records a circuit as a [`graph`], and [`map`] covers the graph
//! with three-input gates. [`emit`] prints it for a GPU, and [`netlist`] for hardware.

pub mod aes_sbox;
pub mod affine;
#[cfg(feature = "device")]
mod arithmetic;
#[cfg(feature = "device")]
pub mod emit;
#[cfg(feature = "device")]
mod expansion;
#[cfg(feature = "device")]
mod functions;
#[cfg(feature = "device")]
pub mod graph;
#[cfg(feature = "device")]
mod inversion;
#[cfg(feature = "device")]
mod linear;
#[cfg(feature = "device")]
pub mod map;
#[cfg(feature = "device")]
pub mod named;
#[cfg(feature = "device")]
pub mod netlist;
#[cfg(feature = "device")]
mod operation;
pub mod pi_sbox;
#[cfg(feature = "device")]
pub mod synthesize;
#[cfg(feature = "device")]
pub mod trace;

/// One bit of many bytes in each word, least significant bit first.
pub type Bits<W> = [W; 8];
