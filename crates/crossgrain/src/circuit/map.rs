//! Technology mapping: covers a circuit with few three-input gates.
//!
//! For every node, all 3-feasible cuts are enumerated: sets of up to three nodes that determine it (Cong and
//! Ding, "FlowMap", 1994). A cover chooses one cut for each node that an output or another chosen cut needs.
//! Several cuts may contain the same gate. Operations on lanes remain between the gates. The first cover
//! minimises area flow (Manohararajah, Brown and Vranesic, "Heuristics for area minimization in LUT-based
//! FPGA technology mapping", 2006). Simulated annealing then improves it, with a fixed seed, so the same
//! circuit always gives the same cover.

use std::collections::HashSet;

use super::graph::{Function, GATE_INPUTS, Graph};

/// Steps of annealing. The AES S-box has about a hundred nodes of ten cuts each.
const TRIES: u32 = 400_000;

/// The initial probability, in units of 2⁻³², of keeping a cover with one more gate. It decreases linearly to
/// 0.
const WORSE: u64 = (1 << 32) / 20;

/// The smallest cover found with three-input gates, or the circuit unchanged if that is not larger.
pub fn map(graph: &Graph) -> Graph {
    let cover = Cover::new(graph).annealed();
    let needed = (graph.inputs()..cover.readers.len()).filter(|&node| cover.readers[node] > 0);
    let mapped = graph.chosen(needed.map(|node| (node, cover.function(node).cloned())));
    if mapped.gates().len() < graph.gates().len() { mapped } else { graph.clone() }
}

/// The cuts of each node. Inputs and operations on lanes have none.
fn cuts(graph: &Graph) -> Vec<Vec<Function>> {
    let mut cuts: Vec<Vec<Function>> = vec![Vec::new(); graph.inputs()];
    for gate in graph.gates() {
        let found = gate.function().map(|function| cuts_of(function, &cuts));
        cuts.push(found.unwrap_or_default());
    }
    cuts
}

/// A gate's cuts: all combinations of its inputs with their cuts. The gate itself comes first.
fn cuts_of(whole: Function, cuts: &[Vec<Function>]) -> Vec<Function> {
    let mut known: HashSet<_> = [whole.clone()].into();
    let mut found = vec![whole.clone()];
    let ways = whole.inputs.iter().map(|&input| cuts[input].len() + 1);
    for mut way in 0..ways.product() {
        let replaced: Vec<_> =
            whole.inputs.iter().map(|&input| (input, replacement(input, cuts, &mut way))).collect();
        if let Some(cut) = with_cuts(&whole, &replaced).filter(|cut| cut.identity().is_none())
            && known.insert(cut.clone())
        {
            found.push(cut);
        }
    }
    found
}

/// Removes the lowest digit of `way`. Digit 0 keeps the node, and digit i replaces it by its cut i − 1.
fn replacement<'a>(node: usize, cuts: &'a [Vec<Function>], way: &mut usize) -> Option<&'a Function> {
    let base = cuts[node].len() + 1;
    let digit = *way % base;
    *way /= base;
    digit.checked_sub(1).map(|at| &cuts[node][at])
}

/// A function with nodes replaced by their cuts, if the result depends on at most three nodes.
fn with_cuts(function: &Function, replaced: &[(usize, Option<&Function>)]) -> Option<Function> {
    let mut leaves = Vec::new();
    for (node, cut) in replaced {
        leaves.extend_from_slice(cut.map_or(std::slice::from_ref(node), |cut| &cut.inputs));
    }
    leaves.sort_unstable();
    leaves.dedup();
    let value = |bit: &dyn Fn(usize) -> bool| {
        function.value(&|node| {
            let cut = replaced.iter().find(|(input, _)| *input == node).and_then(|(_, cut)| *cut);
            cut.map_or_else(|| bit(node), |cut| cut.value(bit))
        })
    };
    (leaves.len() <= GATE_INPUTS).then(|| Function::new(leaves, &value))
}

/// A choice of cuts.
struct Cover<'graph> {
    graph: &'graph Graph,
    cuts: Vec<Vec<Function>>,
    /// The index of the chosen cut of each node.
    chosen: Vec<usize>,
    /// For each node, the number of outputs and of chosen cuts of needed nodes that read it. A node with 0 is
    /// not needed.
    readers: Vec<usize>,
    /// The number of needed gates.
    count: usize,
}

impl<'graph> Cover<'graph> {
    fn new(graph: &'graph Graph) -> Self {
        let cuts = cuts(graph);
        let chosen = by_area_flow(graph, &cuts);
        let mut cover = Self { graph, readers: vec![0; cuts.len()], cuts, chosen, count: 0 };
        for &output in graph.outputs() {
            cover.read(output);
        }
        cover
    }

    fn function(&self, node: usize) -> Option<&Function> {
        self.cuts[node].get(self.chosen[node])
    }

    /// The nodes that a node reads.
    fn inputs(&self, node: usize) -> &[usize] {
        let gate = || self.graph.gate(node).map_or(&[][..], |gate| &gate.inputs);
        self.function(node).map_or_else(gate, |function| &function.inputs)
    }

    /// Adds a reader to a node. With the first reader, the node starts to read its own inputs.
    fn read(&mut self, node: usize) {
        self.readers[node] += 1;
        if self.readers[node] == 1 && node >= self.graph.inputs() {
            self.count += 1;
            self.each_input(node, Self::read);
        }
    }

    /// Removes a reader.
    fn release(&mut self, node: usize) {
        self.readers[node] -= 1;
        if self.readers[node] == 0 && node >= self.graph.inputs() {
            self.count -= 1;
            self.each_input(node, Self::release);
        }
    }

    fn each_input(&mut self, node: usize, change: impl Fn(&mut Self, usize)) {
        for at in 0..self.inputs(node).len() {
            change(self, self.inputs(node)[at]);
        }
    }

    /// Gives a node another cut.
    fn choose(&mut self, node: usize, cut: usize) {
        let needed = self.readers[node] > 0;
        if needed {
            self.each_input(node, Self::release);
        }
        self.chosen[node] = cut;
        if needed {
            self.each_input(node, Self::read);
        }
    }

    /// Changes one cut at a time, and returns the smallest cover seen.
    fn annealed(mut self) -> Self {
        let mut random = XorShift(0x9e37_79b9_7f4a_7c15);
        let several: Vec<_> = (0..self.cuts.len()).filter(|&node| self.cuts[node].len() > 1).collect();
        let mut best = (self.count, self.chosen.clone());
        let tries = if several.is_empty() { 0 } else { TRIES };
        for at in 0..tries {
            let node = several[random.below(several.len())];
            let (before, count) = (self.chosen[node], self.count);
            self.choose(node, random.below(self.cuts[node].len()));
            let worse = WORSE * u64::from(tries - at) / u64::from(tries);
            if self.count > count && (self.count > count + 1 || random.next() >> 32 >= worse) {
                self.choose(node, before);
            }
            if self.count < best.0 {
                best = (self.count, self.chosen.clone());
            }
        }
        for (node, cut) in best.1.into_iter().enumerate().skip(self.graph.inputs()) {
            self.choose(node, cut);
        }
        self
    }
}

/// For each node, the cut with the least area flow: gates, each divided by the number of its readers.
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

/// A random generator with a fixed seed (Marsaglia, "Xorshift RNGs", 2003), so results are reproducible.
pub(super) struct XorShift(pub(super) u64);

impl XorShift {
    pub(super) const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) const fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }
}
