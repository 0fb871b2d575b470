//! The named circuits, each as a graph traced from the generic source of its gates.

use super::graph::Graph;
use super::pi_sbox::{self, Permutation};
use super::trace::{Sym, Width, trace};
use super::{Bits, aes_sbox};
use crate::arch::each;
use crate::cipher::aes::linear_circuit as aes_linear;
use crate::cipher::serpent::sbox_circuit as serpent_sbox;

/// A circuit of the library.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its name: lower case with dashes.
    pub name: &'static str,
    /// Its function and the order of its inputs.
    pub computes: &'static str,
    record: fn(Width) -> Graph,
}

impl Named {
    /// A circuit that `record` traces.
    pub(crate) const fn new(name: &'static str, computes: &'static str, record: fn(Width) -> Graph) -> Self {
        Self { name, computes, record }
    }

    /// Its graph.
    pub fn graph(&self, width: Width) -> Graph {
        (self.record)(width)
    }
}

macro_rules! serpent {
    ($name:literal, $direction:ident, $index:literal) => {
        Named {
            name: $name,
            computes: "four bits, least significant first",
            record: |width| trace(width, |x| serpent_sbox::$direction($index, x)),
        }
    };
}

/// All named circuits.
pub const ALL: [Named; 23] = [
    Named {
        name: "aes-sbox",
        computes: "SubBytes of a byte, least significant bit first",
        record: |width| trace(width, |x| add_constant(aes_sbox::forward(x))),
    },
    Named {
        name: "aes-inverse-sbox",
        computes: "InvSubBytes of a byte, least significant bit first",
        record: |width| trace(width, |x| aes_sbox::inverse(add_constant(x))),
    },
    Named {
        name: "kuznyechik-sbox",
        computes: "π of a byte, least significant bit first",
        record: |width| trace(width, |x| pi_sbox::gates(Permutation::Pi, x)),
    },
    Named {
        name: "kuznyechik-inverse-sbox",
        computes: "the inverse of π of a byte, least significant bit first",
        record: |width| trace(width, |x| pi_sbox::gates(Permutation::Inverse, x)),
    },
    Named {
        name: "mix-columns",
        computes: "MixColumns of a column, four bytes, least significant bits first",
        record: |width| trace(width, |x| flat(aes_linear::mix_column(bytes(x)))),
    },
    Named {
        name: "mix-columns-with-key",
        computes: "MixColumns of a column and then AddRoundKey; the key is inputs 32 to 63",
        record: |width| trace(width, mix_column_and_add),
    },
    Named {
        name: "inverse-mix-columns",
        computes: "InvMixColumns of a column, four bytes, least significant bits first",
        record: |width| trace(width, |x| flat(aes_linear::inv_mix_column(bytes(x)))),
    },
    serpent!("serpent-s0", forward, 0),
    serpent!("serpent-s1", forward, 1),
    serpent!("serpent-s2", forward, 2),
    serpent!("serpent-s3", forward, 3),
    serpent!("serpent-s4", forward, 4),
    serpent!("serpent-s5", forward, 5),
    serpent!("serpent-s6", forward, 6),
    serpent!("serpent-s7", forward, 7),
    serpent!("serpent-s0-inverse", inverse, 0),
    serpent!("serpent-s1-inverse", inverse, 1),
    serpent!("serpent-s2-inverse", inverse, 2),
    serpent!("serpent-s3-inverse", inverse, 3),
    serpent!("serpent-s4-inverse", inverse, 4),
    serpent!("serpent-s5-inverse", inverse, 5),
    serpent!("serpent-s6-inverse", inverse, 6),
    serpent!("serpent-s7-inverse", inverse, 7),
];

/// The circuit of this name.
pub fn find(name: &str) -> Option<Named> {
    ALL.into_iter().find(|circuit| circuit.name == name)
}

/// Adds the constant that [`aes_sbox`] omits.
pub(crate) fn add_constant(x: Bits<Sym>) -> Bits<Sym> {
    each!(bit < 8 => if aes_sbox::CONSTANT >> bit & 1 == 1 { !x[bit] } else { x[bit] })
}

fn bytes(x: [Sym; 32]) -> [Bits<Sym>; 4] {
    each!(row < 4 => each!(bit < 8 => x[8 * row + bit]))
}

fn flat(x: [Bits<Sym>; 4]) -> [Sym; 32] {
    each!(at < 32 => x[at / 8][at % 8])
}

fn mix_column_and_add(x: [Sym; 64]) -> [Sym; 32] {
    let mixed = flat(aes_linear::mix_column(bytes(each!(at < 32 => x[at]))));
    each!(at < 32 => mixed[at] ^ x[32 + at])
}
