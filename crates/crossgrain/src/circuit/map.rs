//! Technology mapping: a circuit in as few gates of three inputs as are found.
//!
//! Every node is given all its 3-feasible cuts: sets of up to three nodes that it is a function of (Cong and
//! Ding, "FlowMap", 1994). A cover chooses a cut for each node that the outputs or other chosen cuts need; gates
//! may be computed within several cuts. The first cover follows the area flow (Manohararajah, Brown and
//! Vranesic, "Heuristics for area minimization in LUT-based FPGA technology mapping", 2006), and simulated
//! annealing with a fixed seed goes on from there: the same circuit always gives the same cover.

use std::collections::HashSet;

use super::graph::{Function, GATE_INPUTS, Gate, Graph};

/// Changes tried. The AES S-box has about a hundred nodes of ten cuts each.
const TRIES: u32 = 400_000;

/// Chance, in 2⁻³², that a cover of one more gate is kept at the start; it sinks evenly to none.
const WORSE: u64 = (1 << 32) / 20;

/// The smallest cover found by gates of three inputs; the circuit as it is where that is no larger.
pub fn map(graph: &Graph) -> Graph {
    let mut cover = Cover::new(graph);
    cover.anneal();
    let needed = (graph.inputs()..cover.needed.len()).filter(|&node| cover.needed[node]);
    let mapped = graph.chosen(needed.map(|node| (node, cover.function(node).clone())));
    if mapped.gates().len() < graph.gates().len() { mapped } else { graph.clone() }
}

/// For each node the cuts to choose from; inputs have none.
fn cuts(graph: &Graph) -> Vec<Vec<Function>> {
    let mut cuts: Vec<Vec<Function>> = vec![Vec::new(); graph.inputs()];
    for gate in graph.gates() {
        let found = cuts_of(gate, &cuts);
        cuts.push(found);
    }
    cuts
}

/// A gate's cuts, from all ways to replace its inputs by cuts of theirs; the gate itself comes first.
fn cuts_of(gate: &Gate, cuts: &[Vec<Function>]) -> Vec<Function> {
    let mut found = vec![Function::from(gate)];
    let mut known: HashSet<_> = found.iter().cloned().collect();
    let ways = gate.inputs.iter().map(|&input| cuts[input].len() + 1);
    for mut way in 0..ways.product() {
        // Digit 0 leaves an input as it is, digit i puts cut i − 1 in its place.
        let replaced: Vec<_> = gate
            .inputs
            .iter()
            .map(|&input| {
                let base = cuts[input].len() + 1;
                let digit = way % base;
                way /= base;
                (input, digit.checked_sub(1).map(|at| &cuts[input][at]))
            })
            .collect();
        let mut leaves = Vec::new();
        for (input, cut) in &replaced {
            leaves.extend_from_slice(cut.map_or(std::slice::from_ref(input), |cut| &cut.inputs));
        }
        leaves.sort_unstable();
        leaves.dedup();
        if leaves.len() > GATE_INPUTS {
            continue;
        }
        let gate = Function::from(gate);
        let cut = Function::new(leaves, |bit| {
            gate.value(&|node| {
                let cut = replaced.iter().find(|(input, _)| *input == node).and_then(|(_, cut)| *cut);
                cut.map_or_else(|| bit(node), |cut| cut.value(bit))
            })
        });
        if cut.identity().is_none() && known.insert(cut.clone()) {
            found.push(cut);
        }
    }
    found
}

/// A choice of cuts.
struct Cover<'graph> {
    graph: &'graph Graph,
    cuts: Vec<Vec<Function>>,
    /// For each node, which of its cuts.
    chosen: Vec<usize>,
    /// Whether a node is an output or in a chosen cut of a needed node.
    needed: Vec<bool>,
}

impl<'graph> Cover<'graph> {
    fn new(graph: &'graph Graph) -> Self {
        let cuts = cuts(graph);
        let chosen = by_area_flow(graph, &cuts);
        let mut cover = Self { graph, needed: vec![false; cuts.len()], cuts, chosen };
        cover.count();
        cover
    }

    fn function(&self, node: usize) -> &Function {
        &self.cuts[node][self.chosen[node]]
    }

    /// Finds out which nodes are needed, and counts the gates among them.
    fn count(&mut self) -> usize {
        self.needed.fill(false);
        self.graph.outputs().iter().for_each(|&output| self.needed[output] = true);
        let mut count = 0;
        for node in (self.graph.inputs()..self.cuts.len()).rev().filter(|&node| self.cuts[node].len() > 0) {
            if self.needed[node] {
                count += 1;
                for &input in &self.cuts[node][self.chosen[node]].inputs {
                    self.needed[input] = true;
                }
            }
        }
        count
    }

    /// Changes one cut at a time; keeps the best cover seen.
    fn anneal(&mut self) {
        let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
        let several: Vec<_> = (0..self.cuts.len()).filter(|&node| self.cuts[node].len() > 1).collect();
        if several.is_empty() {
            return;
        }
        let mut count = self.count();
        let mut best = (count, self.chosen.clone());
        for tries in 0..TRIES {
            let node = several[random.below(several.len())];
            let before = self.chosen[node];
            self.chosen[node] = random.below(self.cuts[node].len());
            let changed = self.count();
            let worse = WORSE * u64::from(TRIES - tries) / u64::from(TRIES);
            if changed <= count || changed == count + 1 && random.next() >> 32 < worse {
                count = changed;
            } else {
                self.chosen[node] = before;
            }
            if count < best.0 {
                best = (count, self.chosen.clone());
            }
        }
        self.chosen = best.1;
        self.count();
    }
}

/// The cut of each node whose gates, shared evenly among their readers, are fewest.
fn by_area_flow(graph: &Graph, cuts: &[Vec<Function>]) -> Vec<usize> {
    let mut readers = vec![0_f64; cuts.len()];
    for &node in graph.gates().iter().flat_map(|gate| &gate.inputs).chain(graph.outputs()) {
        readers[node] += 1.0;
    }
    let mut flows = vec![0.0; cuts.len()];
    let mut chosen = vec![0; cuts.len()];
    for node in graph.inputs()..cuts.len() {
        let flow = |cut: &Function| 1.0 + cut.inputs.iter().map(|&input| flows[input]).sum::<f64>();
        let flow_of = cuts[node].iter().map(flow).enumerate();
        let (at, flow) = flow_of.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((0, 1.0));
        chosen[node] = at;
        flows[node] = flow / readers[node].max(1.0);
    }
    chosen
}

/// Marsaglia, "Xorshift RNGs" (2003): the same numbers each time.
struct XorShift(u64);

impl XorShift {
    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    const fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }
}
