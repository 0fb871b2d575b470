//! Functions of up to five variables, made of those that are there already by few gates of two inputs.
//!
//! A function is its table of up to 32 bits. It and its complement count as one, named by the table whose lowest bit is
//! 0, because gates absorb complements. Known are the functions that are made (nodes) and all that one more gate
//! makes (pairs). In a store of n nodes some 2n² pairs meet a wanted function f half-way:
//!
//! * 1 gate: f is a pair.
//! * 2 gates: f is a pair plus a node, or of a pair and a node.
//! * 3 gates: f is a sum of two pairs, or a node plus the product of a node and a pair.
//! * 4 gates: f is a node plus two pairs, or a pair plus the product of a node and a pair.
//!
//! With 200 nodes that is 3 gates for most of the 2³¹ functions. What is made on the way becomes a node as well.
//! Each wanted function keeps what was found for it, and later searches go only through what is new.

use std::collections::HashMap;

use super::graph::{Builder, Function};
use super::map::XorShift;

/// Most variables.
pub(super) const VARIABLES: usize = 5;

/// Log₂ of the filter's bits: 100,000 pairs set a twentieth of them.
const FILTER_BITS: u32 = 21;

/// Ones up to which a sum is compared with every node that could contain it; more are contained in few.
const SPARSE: u32 = 11;

/// Pairs from among which a node is taken that no function asked for.
const CHOICES: usize = 8;

/// Functions to make before one that is wanted, none of them 0, each a pair once the ones before are nodes.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Gates that it takes.
    pub(super) gates: usize,
    before: Vec<u32>,
}

/// A wanted function.
#[derive(Debug)]
pub(super) struct Wanted {
    function: u32,
    /// The best way that is known to make it, of up to three gates.
    pub(super) way: Option<Way>,
    covers: Vec<Cover>,
    /// How many nodes and pairs were searched.
    searched: (usize, usize),
}

/// What is left of a wanted function when a node or none is added to it, and a node that contains it.
#[derive(Debug)]
struct Cover {
    rest: u32,
    within: u32,
    gates: usize,
}

impl Cover {
    /// Whether the rest is the product of the containing node and this pair or its complement.
    const fn is_met(&self, pair: u32) -> bool {
        pair & self.within == self.rest || !pair & self.within == self.rest
    }
}

/// Functions that are made, or by one gate from being so.
#[derive(Debug)]
pub(super) struct Functions {
    mask: u32,
    variables: usize,
    /// Functions with the nodes that they are made of, the variables first.
    nodes: Vec<(u32, [usize; 2])>,
    node_of: HashMap<u32, usize>,
    pairs: Vec<u32>,
    nodes_of_pair: HashMap<u32, [usize; 2]>,
    /// A bit for each hash of a pair: most functions are told from pairs by it.
    filter: Vec<u64>,
}

impl Functions {
    /// The variables alone.
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

    /// The function of this table, which a complement names as well.
    pub(super) const fn normal(&self, table: u32) -> u32 {
        (if table & 1 == 1 { !table } else { table }) & self.mask
    }

    /// Wants the function of this table.
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

    /// The functions of two, but for those of one and for complements.
    fn functions_of(&self, a: u32, b: u32) -> [u32; 5] {
        [a ^ b, a & b, a & !b, b & !a, a | b].map(|table| self.normal(table))
    }

    /// Makes a pair a node. What is made already, or is no pair, changes nothing.
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

    /// Makes a wanted function.
    pub(super) fn follow(&mut self, wanted: &Wanted, way: &Way) {
        way.before.iter().chain([&wanted.function]).for_each(|&function| self.make(function));
    }

    /// Makes some pair a node, of a few that adds most pairs. Nothing if there is none.
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

    /// Looks for ways of up to three gates through what is new since the last time.
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

    /// The covers of a function in which a node takes part that is not among the first ones.
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

    /// The nodes from one on, but for one, and their complements, that contain a function.
    fn within(&self, rest: u32, from: usize, without: usize) -> impl Iterator<Item = u32> {
        let nodes =
            (from..self.nodes.len()).filter(move |&node| node != without).map(|node| self.nodes[node].0);
        nodes.flat_map(|node| [node, !node & self.mask]).filter(move |within| rest & !within == 0)
    }

    /// A way of four gates.
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

    /// The nodes as gates of these variables.
    pub(super) fn build(&self, builder: &mut Builder, variables: &[usize]) -> Vec<usize> {
        let mut places = variables.to_vec();
        for &(function, [a, b]) in &self.nodes[self.variables..] {
            let tables = [self.nodes[a].0, self.nodes[b].0];
            let value = |bit: &dyn Fn(usize) -> bool| {
                let values = [bit(places[a]), bit(places[b])];
                // Where the two have these values the function has one; if nowhere, it may be any.
                let at = (0..1 << self.variables)
                    .find(|at| (0..2).all(|operand| (tables[operand] >> at & 1 == 1) == values[operand]));
                at.is_some_and(|at: u32| function >> at & 1 == 1)
            };
            let place = builder.add(Function::new(vec![places[a], places[b]], value));
            places.push(place);
        }
        places
    }

    /// The wanted function of this table as a node of the circuit in which these are the places of the nodes.
    pub(super) fn place(&self, builder: &mut Builder, places: &[usize], table: u32) -> usize {
        let function = self.normal(table);
        let complement = function != table & self.mask;
        let inputs = self.node_of.get(&function).map(|&node| places[node]);
        builder.add(Function::new(inputs.into_iter().collect(), |bit| inputs.is_some_and(bit) != complement))
    }
}

/// A function's bit of the filter.
const fn place(function: u32) -> (usize, u32) {
    let hash = function.wrapping_mul(0x9e37_79b1) >> (32 - FILTER_BITS);
    ((hash / 64) as usize, hash % 64)
}
