//! Finds a small circuit for any table of up to 8 inputs and 8 outputs.
//!
//! An S-box that is inversion between two affine maps gets AES's circuit with other linear layers
//! (`inversion`). A table of a named S-box gets that circuit, if it is smaller. For all other tables, the
//! smallest result of three constructions is taken:
//!
//! * Expansion by some inputs, in a few random orders of the inputs, with the remaining functions made
//!   jointly (`expansion`).
//! * Shannon's expansion with shared subfunctions, which is a reduced decision diagram (Bryant, 1986), in
//!   each rotation of the inputs' order: f = f₀ ⊕ (t ∧ (f₀ ⊕ f₁)). It gives the smallest circuits for adders.
//! * The Reed–Muller form, a sum of products for each output. The products share factors, and the sums share
//!   pairs by Paar's greedy method ("Optimized arithmetic for Reed–Solomon encoders", 1997).
//!
//! Invariants: every result is compared with the table on all inputs before it is returned. The same table
//! always gives the same circuit.

use std::collections::HashMap;

use super::affine::Inversion;
use super::graph::{Builder, Function, Graph};
use super::map::XorShift;
use super::trace::Width;
use super::{expansion, inversion, named};

/// The greatest number of inputs and of outputs.
pub const TABLE_BITS: usize = 8;

/// For each number of inputs that expansions keep: a budget of table bits in total, and a limit. The number
/// of input orders is the budget divided by the table's bits, at least two and at most the limit.
const KEPT: [(usize, usize, usize); 2] = [(4, 1 << 14, 128), (5, 1 << 13, 4)];

/// A look-up table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    inputs: usize,
    values: Vec<u8>,
}

/// A reason why a list of numbers is not a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableError {
    /// The number of entries is not a power of two from 2 to 256.
    Entries(usize),
    /// This entry does not fit into 8 bits.
    Value {
        /// The index of the entry, from 0.
        index: usize,
        /// The entry.
        value: u64,
    },
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Entries(count) => {
                write!(f, "a table has 2, 4, 8, … or 256 entries, not {count}: add or remove some")
            }
            Self::Value { index, value } => {
                write!(f, "entry {index} is {value}, but an entry has at most 8 bits: give 0 to 255")
            }
        }
    }
}

impl std::error::Error for TableError {}

impl Table {
    /// A table with these entries. Entry x is the output for the input whose bit i is input i.
    ///
    /// # Errors
    /// If the number of entries is not 2, 4, 8, … or 256, or an entry exceeds 8 bits.
    pub fn new(values: &[u64]) -> Result<Self, TableError> {
        let inputs = values.len().checked_ilog2().unwrap_or(0) as usize;
        if !values.len().is_power_of_two() || !(1..=TABLE_BITS).contains(&inputs) {
            return Err(TableError::Entries(values.len()));
        }
        let byte = |(index, &value)| u8::try_from(value).map_err(|_| TableError::Value { index, value });
        Ok(Self { inputs, values: values.iter().enumerate().map(byte).collect::<Result<_, _>>()? })
    }

    /// The number of outputs: bits of the largest entry, at least one.
    pub fn outputs(&self) -> usize {
        let all = self.values.iter().fold(0, |all, value| all | value);
        (u8::BITS - all.leading_zeros()).max(1) as usize
    }

    pub(super) const fn inputs(&self) -> usize {
        self.inputs
    }

    pub(super) fn value(&self, input: usize) -> u8 {
        self.values[input]
    }

    /// The affine maps, if the table is inversion in GF(2⁸) between them.
    pub fn structure(&self) -> Option<Inversion> {
        self.values.first_chunk().filter(|_| self.inputs == TABLE_BITS).and_then(Inversion::of)
    }

    /// One output for all inputs.
    fn output(&self, bit: usize) -> Vec<bool> {
        self.values.iter().map(|value| value >> bit & 1 == 1).collect()
    }

    /// Whether a circuit computes this table, checked on all inputs.
    pub fn is_computed_by(&self, graph: &Graph) -> bool {
        graph.inputs() == self.inputs
            && graph.outputs().len() == self.outputs()
            && (0..self.values.len()).step_by(32).all(|first| self.agrees_from(graph, first))
    }

    /// The same check for the 32 inputs from `first` on, one per lane.
    fn agrees_from(&self, graph: &Graph, first: usize) -> bool {
        let lanes = first..self.values.len().min(first + 32);
        let pack = |bit: &dyn Fn(usize) -> bool| {
            lanes.clone().rev().fold(0_u32, |word, index| word << 1 | u32::from(bit(index)))
        };
        let inputs: Vec<_> = (0..self.inputs).map(|at| pack(&|index| index >> at & 1 == 1)).collect();
        let outputs = graph.evaluate(&inputs);
        let unused = u32::MAX.checked_shl(lanes.len() as u32).unwrap_or(0);
        let wanted = (0..self.outputs()).map(|at| pack(&|index| self.values[index] >> at & 1 == 1));
        outputs.iter().zip(wanted).all(|(&output, wanted)| (output ^ wanted) & !unused == 0)
    }
}

/// A circuit for a table, with two-input gates. Named circuits may also have three-input gates.
///
/// `None` if the circuit found is wrong. No known table causes this.
pub fn synthesize(table: &Table, width: Width) -> Option<Graph> {
    let mut known = named::ALL.into_iter().map(|circuit| circuit.graph(width));
    let known = known.find(|graph| table.is_computed_by(graph));
    let found = table.structure().map(|structure| inversion::circuit(&structure, width));
    let structured = known.into_iter().chain(found).min_by_key(|graph| graph.gates().len());
    structured.or_else(|| made(table)).filter(|graph| table.is_computed_by(graph))
}

/// The smallest circuit of all constructions.
fn made(table: &Table) -> Option<Graph> {
    let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
    let bits = table.values.len() * table.outputs();
    let kept = KEPT.iter().flat_map(|&(kept, all, most)| vec![kept; (all / bits).clamp(2, most)]);
    let expansions = kept.filter_map(|kept| expansion::circuit(table, kept, &mut random));
    let decided = (0..table.inputs).map(|first| decisions(table, first));
    expansions.chain(decided).chain([sums_of_products(table)]).min_by_key(|graph| graph.gates().len())
}

/// The node for the XOR of two nodes.
fn xor(builder: &mut Builder, a: usize, b: usize) -> usize {
    builder.add(Function::new(vec![a, b], &|bit| bit(a) ^ bit(b)))
}

fn and(builder: &mut Builder, a: usize, b: usize) -> usize {
    builder.add(Function::new(vec![a, b], &|bit| bit(a) & bit(b)))
}

/// Shannon's expansion, by input `first`, then by the inputs below it cyclically.
fn decisions(table: &Table, first: usize) -> Graph {
    let mut builder = Builder::new(table.inputs);
    let order: Vec<_> = (0..table.inputs).map(|step| (first + table.inputs - step) % table.inputs).collect();
    let mut known = HashMap::new();
    let outputs = (0..table.outputs()).map(|bit| {
        let output = table.output(bit);
        // The table's index for an index whose highest bit is the first input of the order.
        let index = |at: usize| {
            order
                .iter()
                .enumerate()
                .map(|(step, &input)| (at >> (table.inputs - 1 - step) & 1) << input)
                .sum::<usize>()
        };
        let sorted: Vec<_> = (0..output.len()).map(|at| output[index(at)]).collect();
        decide(&mut builder, &mut known, &order, &sorted)
    });
    let outputs = outputs.collect();
    builder.finish(outputs)
}

/// The node for a function of the inputs in `order`. The first input is the highest bit of its index.
fn decide(
    builder: &mut Builder,
    known: &mut HashMap<Vec<bool>, usize>,
    order: &[usize],
    values: &[bool],
) -> usize {
    let Some((&input, rest)) = order.split_first() else {
        return builder.add(Function::new(Vec::new(), &|_| values[0]));
    };
    let (zero, one) = values.split_at(values.len() / 2);
    if zero == one {
        return decide(builder, known, rest, zero);
    }
    if let Some(&node) = known.get(values) {
        return node;
    }
    let difference: Vec<_> = zero.iter().zip(one).map(|(zero, one)| zero ^ one).collect();
    let zero = decide(builder, known, rest, zero);
    let difference = decide(builder, known, rest, &difference);
    let product = and(builder, input, difference);
    let node = xor(builder, zero, product);
    known.insert(values.to_vec(), node);
    node
}

/// The Reed–Muller form with shared factors and terms.
fn sums_of_products(table: &Table) -> Graph {
    let mut builder = Builder::new(table.inputs);
    let one = builder.add(Function::new(Vec::new(), &|_| true));
    let mut sums: Vec<Vec<usize>> = Vec::new();
    let mut nodes = vec![one];
    for product in 1..table.values.len() {
        let lowest = product.trailing_zeros() as usize;
        let rest = nodes[product & (product - 1)];
        nodes.push(and(&mut builder, lowest, rest));
    }
    for bit in 0..table.outputs() {
        let terms = (0..nodes.len()).zip(reed_muller(table.output(bit))).filter(|(_, present)| *present);
        sums.push(terms.map(|(product, _)| nodes[product]).collect());
    }
    let outputs = shared_sums(&mut builder, sums);
    builder.finish(outputs)
}

/// The products in a function's Reed–Muller form. Bit i of the index is set if input i is a factor.
fn reed_muller(mut values: Vec<bool>) -> Vec<bool> {
    let mut weight = 1;
    while weight < values.len() {
        for index in (0..values.len()).filter(|index| index & weight != 0) {
            values[index] ^= values[index ^ weight];
        }
        weight *= 2;
    }
    values
}

/// The nodes of these sums. Repeatedly makes a node of the pair that occurs in most sums.
fn shared_sums(builder: &mut Builder, mut sums: Vec<Vec<usize>>) -> Vec<usize> {
    loop {
        let mut count: HashMap<(usize, usize), usize> = HashMap::new();
        for sum in &sums {
            for (at, &a) in sum.iter().enumerate() {
                for &b in &sum[at + 1..] {
                    *count.entry((a.min(b), a.max(b))).or_default() += 1;
                }
            }
        }
        // The first among equals, so that a table always gives the same circuit.
        let best = count.into_iter().max_by_key(|&(pair, count)| (count, std::cmp::Reverse(pair)));
        let Some(((a, b), _)) = best else { break };
        let node = xor(builder, a, b);
        for sum in sums.iter_mut().filter(|sum| sum.contains(&a) && sum.contains(&b)) {
            sum.retain(|&term| term != a && term != b);
            match sum.iter().position(|&term| term == node) {
                // Equal terms cancel.
                Some(same) => drop(sum.swap_remove(same)),
                None => sum.push(node),
            }
        }
    }
    let of = |sum: &Vec<usize>| sum.first().copied();
    sums.iter()
        .map(|sum| of(sum).unwrap_or_else(|| builder.add(Function::new(Vec::new(), &|_| false))))
        .collect()
}
