//! Searches for functions of up to five variables as few two-input gates over existing nodes.
//!
//! A function is its truth table of up to 32 bits. A function and its complement count as one, because gates
//! absorb complements. The one whose lowest bit is 0 is the name of both. The store holds the functions that
//! have a gate (nodes) and all functions that need only one more gate (pairs). With n nodes there are about
//! 2n² pairs. A wanted function f is found from them as follows:
//!
//! * 1 gate: f is a pair.
//! * 2 gates: f is a pair XOR a node, or a gate of a pair and a node.
//! * 3 gates: f is the XOR of two pairs, or a node XOR (a node AND a pair).
//! * 4 gates: f is the XOR of a node and two pairs, or a pair XOR (a node AND a pair).
//!
//! With 200 nodes this gives 3 gates for most of the 2³¹ functions. Intermediate functions become nodes too.
//! Each wanted function records its search so far, and later searches cover only newer nodes and pairs.

use std::collections::HashMap;

use super::graph::{Builder, Function};
use super::map::XorShift;

/// The greatest number of variables.
pub(super) const VARIABLES: usize = 5;

/// Log₂ of the filter's size in bits. 100,000 pairs set a twentieth of the bits.
const FILTER_BITS: u32 = 21;

/// A remainder of at most this many ones is compared with every node that could contain it. Few nodes contain
/// a larger one.
const SPARSE: u32 = 11;

/// [`Functions::grow`] chooses among this many random pairs.
const CHOICES: usize = 8;

/// Functions to add before a wanted one. None is 0, and each is a pair once the earlier ones are nodes.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Gates in total.
    pub(super) gates: usize,
    before: Vec<u32>,
}

/// A wanted function.
#[derive(Debug)]
pub(super) struct Wanted {
    function: u32,
    /// The best known way of at most three gates.
    pub(super) way: Option<Way>,
    covers: Vec<Cover>,
    /// The numbers of nodes and pairs already searched.
    searched: (usize, usize),
}

/// A remainder of a wanted function, after the XOR with a node or with nothing, and a node that contains the
/// remainder.
#[derive(Debug)]
struct Cover {
    rest: u32,
    within: u32,
    gates: usize,
}

impl Cover {
    /// Whether the remainder is the AND of the containing node and this pair or its complement.
    const fn is_met(&self, pair: u32) -> bool {
        pair & self.within == self.rest || !pair & self.within == self.rest
    }
}

/// The store of nodes and pairs.
#[derive(Debug)]
pub(super) struct Functions {
    mask: u32,
    variables: usize,
    /// Functions and the two nodes that each is a gate of, the variables first.
    nodes: Vec<(u32, [usize; 2])>,
    node_of: HashMap<u32, usize>,
    pairs: Vec<u32>,
    nodes_of_pair: HashMap<u32, [usize; 2]>,
    /// A Bloom filter with one hash. It shows quickly that most functions are not pairs.
    filter: Vec<u64>,
}

impl Functions {
    /// Only the variables.
    pub(super) fn new(variables: usize) -> Self {
        let mut functions = Self {
            mask: u32::MAX >> (32 - (1 << variables)),
            variables,
            nodes: Vec::new(),
            node_of: HashMap::new(),
            pairs: Vec::new(),
            nodes_of_pair: HashMap::new(),
            filter: vec![0; 1 << (FILTER_BITS - 6)],
        };
        for variable in 0..variables {
            let values = (0..1 << variables).map(|at: u32| (at >> variable & 1) << at).sum();
            functions.add(values, [variable; 2]);
        }
        functions
    }

    /// The name of the function with this table or the complementary table.
    pub(super) const fn normal(&self, table: u32) -> u32 {
        (if table & 1 == 1 { !table } else { table }) & self.mask
    }

    /// Starts a search for the function of this table.
    pub(super) fn want(&self, table: u32) -> Wanted {
        Wanted { function: self.normal(table), way: None, covers: Vec::new(), searched: (0, 0) }
    }

    fn is_made(&self, function: u32) -> bool {
        function == 0 || self.node_of.contains_key(&function)
    }

    fn is_pair(&self, function: u32) -> bool {
        let (word, bit) = place(function);
        self.filter[word] >> bit & 1 == 1 && self.nodes_of_pair.contains_key(&function)
    }

    /// The non-degenerate functions of two, up to complements.
    fn functions_of(&self, a: u32, b: u32) -> [u32; 5] {
        [a ^ b, a & b, a & !b, b & !a, a | b].map(|table| self.normal(table))
    }

    /// Makes a pair a node. Does nothing if the function is already a node, or is not a pair.
    fn make(&mut self, function: u32) {
        if let Some(&nodes) = self.nodes_of_pair.get(&function).filter(|_| !self.is_made(function)) {
            self.add(function, nodes);
        }
    }

    fn add(&mut self, function: u32, nodes: [usize; 2]) {
        self.node_of.insert(function, self.nodes.len());
        self.nodes.push((function, nodes));
        for other in 0..self.nodes.len() - 1 {
            for pair in self.functions_of(self.nodes[other].0, function) {
                if !self.is_made(pair) && !self.is_pair(pair) {
                    let (word, bit) = place(pair);
                    self.filter[word] |= 1 << bit;
                    self.nodes_of_pair.insert(pair, [other, self.nodes.len() - 1]);
                    self.pairs.push(pair);
                }
            }
        }
    }

    /// Makes a wanted function a node, by this way.
    pub(super) fn follow(&mut self, wanted: &Wanted, way: &Way) {
        way.before.iter().chain([&wanted.function]).for_each(|&function| self.make(function));
    }

    /// Makes one pair a node: of a few random pairs, the one that adds most new pairs. `None` if every pair
    /// is a node already.
    pub(super) fn grow(&mut self, random: &mut XorShift) -> Option<()> {
        let choices = (0..CHOICES).filter_map(|_| {
            let pair = *self.pairs.get(random.below(self.pairs.len().max(1)))?;
            (!self.is_made(pair)).then_some(pair)
        });
        let choices: Vec<_> = choices.collect();
        let fresh = |&pair: &u32| {
            let of = self.nodes.iter().flat_map(|&(node, _)| self.functions_of(node, pair));
            let mut fresh: Vec<_> =
                of.filter(|&other| other != pair && !self.is_made(other) && !self.is_pair(other)).collect();
            fresh.sort_unstable();
            fresh.dedup();
            fresh.len()
        };
        let best = choices.into_iter().max_by_key(fresh);
        best.or_else(|| self.pairs.iter().copied().find(|&pair| !self.is_made(pair)))
            .map(|pair| self.make(pair))
    }

    /// Searches for ways of up to three gates among the nodes and pairs added since the last search.
    pub(super) fn search(&self, wanted: &mut Wanted) {
        let (nodes, pairs) = wanted.searched;
        wanted.searched = (self.nodes.len(), self.pairs.len());
        let (nodes, pairs) = (&self.nodes[nodes..], &self.pairs[pairs..]);
        let function = wanted.function;
        let way = |gates, before: Vec<u32>| {
            let before = before.into_iter().map(|table| self.normal(table)).collect();
            Some(Way { gates, before })
        };
        let least = wanted.way.as_ref().map_or(usize::MAX, |way| way.gates);
        if self.is_made(function) {
            wanted.way = way(0, Vec::new());
        } else if self.is_pair(function) {
            wanted.way = way(1, Vec::new());
        } else if least > 2 {
            let pair = nodes.iter().map(|&(node, _)| node ^ function).find(|&pair| self.is_pair(pair));
            let pair = pair.or_else(|| pairs.iter().copied().find(|pair| self.is_made(pair ^ function)));
            if let Some(pair) = pair {
                wanted.way = way(2, vec![pair]);
                return;
            }
            let new = self.covers(function, self.nodes.len() - nodes.len());
            let met = |covers: &[Cover], pairs: &[u32], gates: usize| {
                covers.iter().filter(|cover| cover.gates == gates).find_map(|cover| {
                    let pair = *pairs.iter().find(|&&pair| cover.is_met(pair))?;
                    way(gates, if gates == 2 { vec![pair] } else { vec![pair, cover.rest] })
                })
            };
            let both = |gates| met(&new, &self.pairs, gates).or_else(|| met(&wanted.covers, pairs, gates));
            let found = both(2).or_else(|| if least > 3 { both(3) } else { None });
            let sum = || pairs.iter().find(|&pair| self.is_pair(pair ^ function));
            let found = found.or_else(|| {
                let pair = if least > 3 { *sum()? } else { return None };
                way(3, vec![pair, pair ^ function])
            });
            wanted.way = found.or_else(|| wanted.way.take());
            wanted.covers.extend(new);
        }
    }

    /// The covers of a function that use at least one node with index `first` or higher.
    fn covers(&self, function: u32, first: usize) -> Vec<Cover> {
        let mut covers = Vec::new();
        let none = self.nodes.len();
        for added in 0..=none {
            let (node, gates) = if added == none { (0, 2) } else { (self.nodes[added].0, 3) };
            let from = if (first..none).contains(&added) { 0 } else { first };
            for rest in [node ^ function, !(node ^ function) & self.mask] {
                let within = self.within(rest, from, added);
                covers.extend(within.map(|within| Cover { rest, within, gates }));
            }
        }
        covers
    }

    /// The nodes from index `from` on, except `without`, and their complements, that contain a function.
    fn within(&self, rest: u32, from: usize, without: usize) -> impl Iterator<Item = u32> {
        let nodes =
            (from..self.nodes.len()).filter(move |&node| node != without).map(|node| self.nodes[node].0);
        nodes.flat_map(|node| [node, !node & self.mask]).filter(move |within| rest & !within == 0)
    }

    /// Searches for a way of four gates.
    pub(super) fn far(&self, wanted: &Wanted) -> Option<Way> {
        let way =
            |before: [u32; 3]| Way { gates: 4, before: before.map(|table| self.normal(table)).to_vec() };
        let sums = self.nodes.iter().find_map(|(node, _)| {
            let rest = node ^ wanted.function;
            let pair = self.pairs.iter().find(|&pair| self.is_pair(pair ^ rest))?;
            Some(way([*pair, pair ^ rest, pair ^ node]))
        });
        sums.or_else(|| {
            let rests = self.pairs.iter().flat_map(|pair| {
                let rest = pair ^ wanted.function;
                [(pair, rest), (pair, !rest & self.mask)]
            });
            rests.filter(|(_, rest)| rest.count_ones() <= SPARSE).find_map(|(pair, rest)| {
                self.within(rest, 0, usize::MAX).find_map(|within| {
                    let cover = Cover { rest, within, gates: 4 };
                    let other = self.pairs.iter().find(|&&other| cover.is_met(other))?;
                    Some(way([*pair, *other, rest]))
                })
            })
        })
    }

    /// Adds the nodes to a circuit as gates of these variables. Returns the node of each.
    pub(super) fn build(&self, builder: &mut Builder, variables: &[usize]) -> Vec<usize> {
        let mut places = variables.to_vec();
        for &(function, [a, b]) in &self.nodes[self.variables..] {
            let tables = [self.nodes[a].0, self.nodes[b].0];
            let value = |bit: &dyn Fn(usize) -> bool| {
                let values = [bit(places[a]), bit(places[b])];
                // Takes the function's value at a point where both operands have these values. Without such a
                // point any value is correct.
                let at = (0..1 << self.variables)
                    .find(|at| (0..2).all(|operand| (tables[operand] >> at & 1 == 1) == values[operand]));
                at.is_some_and(|at: u32| function >> at & 1 == 1)
            };
            let place = builder.add(Function::new(vec![places[a], places[b]], &value));
            places.push(place);
        }
        places
    }

    /// The node for the wanted function of this table. `places` is the result of [`Functions::build`].
    pub(super) fn place(&self, builder: &mut Builder, places: &[usize], table: u32) -> usize {
        let function = self.normal(table);
        let complement = function != table & self.mask;
        let inputs = self.node_of.get(&function).map(|&node| places[node]);
        builder.add(Function::new(inputs.into_iter().collect(), &|bit| inputs.is_some_and(bit) != complement))
    }
}

/// The position of a function in the filter.
const fn place(function: u32) -> (usize, u32) {
    let hash = function.wrapping_mul(0x9e37_79b1) >> (32 - FILTER_BITS);
    ((hash / 64) as usize, hash % 64)
}
