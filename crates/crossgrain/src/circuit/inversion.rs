//! Circuits for S-boxes with structure: AES's circuit for inversion between other linear layers.
//!
//! The inversion of [`aes_sbox`] takes 22 linear forms of a byte and returns 18 products; sums of the
//! products are the inverse. An affine map before the inversion changes the forms, and one after it changes
//! the sums. Constants are complements, which gates absorb. Because (c·x^(2ⁱ))⁻¹ = c⁻¹·(x⁻¹)^(2ⁱ), one S-box
//! has 255 · 8 pairs of maps, each with its own linear layers. The search for the pair with the fewest XORs
//! starts with one program per layer of every pair. In each round it keeps the best pairs and tries more
//! programs for them. 200 random S-boxes with structure took 107 to 111 gates, 109.6 on average, of which 62
//! are the inversion.
//!
//! Source: the inversion is Boyar and Peralta's (see [`aes_sbox`]), the pairs are the self-equivalences of
//! Biryukov et al. (see [`affine`](super::affine)), the search for layers is that of
//! [`linear`](linear::program).
//! Invariant: nothing here is checked; [`synthesize`](super::synthesize) compares the circuit with the table.

use std::collections::HashMap;

use super::Bits;
use super::aes_sbox::{self, FORMS, PRODUCTS};
use super::affine::{Affine, Inversion, multiply};
use super::graph::Graph;
use super::linear::{self, Program};
use super::map::XorShift;
use super::trace::{Sym, Width, trace};
use crate::arch::each;

/// For each round, the number of pairs kept and the programs tried for each of their layers.
const ROUNDS: [(usize, usize); 4] = [(256, 8), (64, 32), (16, 128), (4, 512)];

/// A circuit for an S-box with this structure.
pub(super) fn circuit(structure: &Inversion, width: Width) -> Graph {
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    let mut all: Vec<_> = equivalents(structure).map(|one| Layers::new(one, &mut random)).collect();
    for (kept, tries) in ROUNDS {
        all.sort_by_key(Layers::additions);
        all.truncate(kept);
        for layers in &mut all {
            (0..tries).for_each(|_| layers.improve(&mut random));
        }
    }
    let best = all.into_iter().min_by_key(Layers::additions);
    best.map(|layers| trace(width, |x| layers.apply(x))).unwrap_or_default()
}

/// All structures of the same S-box.
fn equivalents(of: &Inversion) -> impl Iterator<Item = Inversion> {
    let power = |x: u8, doublings: usize| (0..doublings).fold(x, |x, _| multiply(x, x));
    (0..8).flat_map(move |doublings| {
        (1..=255).map(move |factor| {
            // x → c·x^(2ⁱ), and the inverse of y → c⁻¹·y^(2ⁱ).
            let before = |x| multiply(factor, power(x, doublings));
            let behind = |y| power(multiply(factor, y), 8 - doublings);
            let input = Affine { matrix: of.input.matrix.map(before), constant: before(of.input.constant) };
            let matrix = Affine::IDENTITY.matrix.map(|bit| linear(&of.output, behind(bit)));
            Inversion { input, output: Affine { matrix, constant: of.output.constant } }
        })
    })
}

/// The linear part of a map.
const fn linear(map: &Affine, x: u8) -> u8 {
    map.apply(x) ^ map.constant
}

/// The linear layers for one pair of maps.
struct Layers {
    /// The inputs of the inversion: XORs of input bits, and whether each is complemented.
    forms: [(u8, bool); FORMS],
    /// For each product, the output bits to which it is added.
    products: [u8; PRODUCTS],
    /// Programs for both layers. The one for the products is transposed.
    before: Program,
    behind: Program,
    /// The constant added to the output.
    constant: u8,
}

impl Layers {
    fn new(structure: Inversion, random: &mut XorShift) -> Self {
        let Inversion { input, output } = structure;
        // Determines AES's layers by applying them to single bits.
        let forms = aes_sbox::forward_input::<u64>(each!(bit < 8 => 1 << bit)).map(|form| {
            let form = form as u8;
            let odd = |x: u8| (x & form).count_ones() % 2;
            let sum = (0..8).map(|bit| odd(input.matrix[bit]) << bit).sum::<u32>() as u8;
            (sum, odd(input.constant) == 1)
        });
        let sums = aes_sbox::forward_output::<u64>(each!(product < PRODUCTS => 1 << product));
        let undone = Inversion::AES.output.inverse().unwrap_or(Affine::IDENTITY);
        let products = std::array::from_fn(|product| {
            let bits = (0..8).map(|bit| (sums[bit] >> product & 1) << bit).sum::<u64>() as u8;
            linear(&output, linear(&undone, bits))
        });
        let mut layers =
            Self { forms, products, before: Vec::new(), behind: Vec::new(), constant: output.constant };
        layers.before = linear::program(&layers.sums(), usize::MAX, random).unwrap_or_default();
        layers.behind = linear::program(&products, usize::MAX, random).unwrap_or_default();
        layers
    }

    fn sums(&self) -> [u8; FORMS] {
        self.forms.map(|(sum, _)| sum)
    }

    /// The steps of both programs. The number of XORs is this plus a constant.
    fn additions(&self) -> usize {
        self.before.len() + self.behind.len()
    }

    /// Tries one more program for each layer, and keeps it if it is shorter.
    fn improve(&mut self, random: &mut XorShift) {
        let shorter = |targets: &[u8], program: &mut Program, random: &mut XorShift| {
            let found =
                program.len().checked_sub(1).and_then(|limit| linear::program(targets, limit, random));
            found.into_iter().for_each(|found| *program = found);
        };
        shorter(&self.sums(), &mut self.before, random);
        shorter(&self.products, &mut self.behind, random);
    }

    fn apply(&self, x: Bits<Sym>) -> Bits<Sym> {
        let mut sums: HashMap<u8, Sym> = (0..8).map(|bit| (1 << bit, x[bit])).collect();
        for (a, b) in &self.before {
            sums.insert(a ^ b, sums[a] ^ sums[b]);
        }
        let forms = self.forms.map(|(sum, odd)| if odd { !sums[&sum] } else { sums[&sum] });
        let mut sums = HashMap::new();
        let add = |sums: &mut HashMap<u8, Sym>, to, value| {
            sums.entry(to).and_modify(|sum| *sum = *sum ^ value).or_insert(value);
        };
        for (&to, value) in self.products.iter().zip(aes_sbox::invert(forms)) {
            add(&mut sums, to, value);
        }
        for (a, b) in self.behind.iter().rev() {
            let value = sums[&(a ^ b)];
            add(&mut sums, *a, value);
            add(&mut sums, *b, value);
        }
        each!(bit < 8 => {
            let sum = sums[&(1 << bit)];
            if self.constant >> bit & 1 == 1 { !sum } else { sum }
        })
    }
}
