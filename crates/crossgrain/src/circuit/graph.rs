//! Circuits as graphs: gates of up to three inputs in order of computation.
//!
//! Nodes are numbered: the inputs first, then the gates. A gate reads only earlier nodes. It can be any
//! Boolean function of its inputs, so complements are absorbed by the gates that read them. A complement is a
//! gate only if it is an output and the complemented gate is another output. A CPU may need more
//! instructions: SSE2 has no complement. A word may also be a 32-bit lane, which is rotated, shifted and
//! added; these operations are nodes too. A 64-bit number is one node for two words. Only operations on
//! 64-bit numbers read it.
//! Invariants: no gate ignores an input, no two gates are equal, and every gate reaches an output.

use std::collections::HashMap;

pub use super::operation::Operation;

/// The greatest number of inputs of a gate, as in `vpternlog` and `lop3`.
pub const GATE_INPUTS: usize = 3;

/// A gate, or an operation on 32-bit lanes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    /// The nodes that it reads, in ascending order if it is a Boolean function.
    pub inputs: Vec<usize>,
    /// The operation on them.
    pub operation: Operation,
}

impl Gate {
    /// The gate as a Boolean function, if it is one.
    pub(super) fn function(&self) -> Option<Function> {
        match self.operation {
            Operation::Table(table) => {
                Some(Function { inputs: self.inputs.clone(), table: u32::from(table) })
            }
            _ => None,
        }
    }

    /// The node whose complement this is, if it is one.
    fn complemented(&self) -> Option<usize> {
        match (&self.operation, &self.inputs[..]) {
            // The check for one input matters: with two inputs, this table would be NOR.
            (Operation::Table(0b01), &[node]) => Some(node),
            _ => None,
        }
    }
}

/// A function of a few nodes, before it becomes a gate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Function {
    /// Up to five nodes, in ascending order.
    pub(super) inputs: Vec<usize>,
    /// As in [`Operation::Table`].
    pub(super) table: u32,
}

/// A Boolean function of the values of nodes, which it asks for by their numbers.
type OfNodes<'a> = dyn Fn(&dyn Fn(usize) -> bool) -> bool + 'a;

impl Function {
    /// The function of these nodes that `value` computes from their values.
    pub(super) fn new(mut inputs: Vec<usize>, value: &OfNodes<'_>) -> Self {
        inputs.sort_unstable();
        inputs.dedup();
        let top = inputs.len();
        let bit = |index: usize| {
            let bit_of = |node| {
                inputs
                    .iter()
                    .position(|&input| input == node)
                    .is_some_and(|at| index >> (top - 1 - at) & 1 == 1)
            };
            u32::from(value(&bit_of)) << index
        };
        let table = (0..1 << top).map(bit).sum();
        Self { inputs, table }.reduced()
    }

    /// Removes the nodes on which the function does not depend.
    fn reduced(mut self) -> Self {
        let mut at = 0;
        while at < self.inputs.len() {
            let weight = 1 << (self.inputs.len() - 1 - at);
            let half = |with: usize| {
                let rest = (0..1 << self.inputs.len()).filter(|index| index & weight == with);
                rest.enumerate().map(|(to, from)| (self.table >> from & 1) << to).sum::<u32>()
            };
            let (zero, one) = (half(0), half(weight));
            if zero == one {
                self.inputs.remove(at);
                self.table = zero;
            } else {
                at += 1;
            }
        }
        self
    }

    /// The node that this function is equal to, if it is the identity.
    pub(super) fn identity(&self) -> Option<usize> {
        (self.inputs.len() == 1 && self.table == 0b10).then(|| self.inputs[0])
    }

    /// The complement of this function.
    fn complement(mut self) -> Self {
        self.table ^= (1 << (1 << self.inputs.len())) - 1;
        self
    }

    /// Converts a function of up to three nodes to a gate.
    fn into_gate(self) -> Gate {
        Gate { inputs: self.inputs, operation: Operation::Table(self.table as u8) }
    }

    /// The function that gives the same result if one of its nodes is replaced by its complement.
    fn of_complement(&self, node: usize) -> Self {
        Self::new(self.inputs.clone(), &|bit| self.value(&|input| bit(input) != (input == node)))
    }

    /// The function's value for these values of its nodes.
    pub(super) fn value(&self, bit: &dyn Fn(usize) -> bool) -> bool {
        let index = self.inputs.iter().fold(0, |index, &input| 2 * index + usize::from(bit(input)));
        self.table >> index & 1 == 1
    }
}

/// Spills for a given number of registers, with the optimal choice of evictions (Belady).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spills {
    /// Values written to memory because they are read again. Inputs are in memory already.
    pub stores: usize,
    /// Values read from memory again.
    pub reloads: usize,
}

/// A circuit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Graph {
    inputs: usize,
    gates: Vec<Gate>,
    outputs: Vec<usize>,
    /// The look-up tables, by number.
    tables: Vec<Vec<u32>>,
}

impl Graph {
    /// The number of inputs. They are the first nodes, from 0.
    pub const fn inputs(&self) -> usize {
        self.inputs
    }

    /// The gates. The first gate is the node after the last input.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The node of each output.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// The look-up tables, by number.
    pub fn tables(&self) -> &[Vec<u32>] {
        &self.tables
    }

    /// The gate of a node, or `None` for an input.
    pub fn gate(&self, node: usize) -> Option<&Gate> {
        node.checked_sub(self.inputs).map(|at| &self.gates[at])
    }

    /// The number of gates on the longest path from an input to an output.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.inputs];
        for gate in &self.gates {
            let below = gate.inputs.iter().map(|&input| depths[input]).max();
            depths.push(below.map_or(0, |depth| depth + 1));
        }
        self.outputs.iter().map(|&output| depths[output]).max().unwrap_or(0)
    }

    /// The number of registers for this order of the gates: the maximum of live values. All inputs are live
    /// at the start and all outputs at the end. A result may replace an operand after its last use.
    pub fn live(&self) -> usize {
        let last = self.last_uses();
        let mut alive = last[..self.inputs].iter().filter(|last| last.is_some()).count();
        let mut most = alive;
        for (at, gate) in self.gates.iter().enumerate() {
            alive -= gate.inputs.iter().filter(|&&input| last[input] == Some(at)).count();
            alive += 1;
            most = most.max(alive);
        }
        most
    }

    /// For each node, the gate that reads it last, or the number of gates for an output.
    fn last_uses(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.inputs + self.gates.len()];
        for (at, gate) in self.gates.iter().enumerate() {
            for &input in &gate.inputs {
                last[input] = Some(at);
            }
        }
        for &output in &self.outputs {
            last[output] = Some(self.gates.len());
        }
        last
    }

    /// The spills on a machine with this many registers, for this order of the gates.
    ///
    /// The machine has at least four registers: three operands and a result.
    pub fn spills(&self, registers: usize) -> Spills {
        let mut machine = Registers {
            graph: self,
            count: registers.max(GATE_INPUTS + 1),
            held: Vec::new(),
            seen: vec![false; self.inputs + self.gates.len()],
            in_memory: (0..self.inputs + self.gates.len()).map(|node| node < self.inputs).collect(),
            spills: Spills::default(),
        };
        for at in 0..self.gates.len() {
            machine.compute(at);
        }
        machine.spills
    }

    /// The first gate from `from` on that reads a node, or the number of gates.
    fn next_use(&self, node: usize, from: usize) -> usize {
        let reads = |gate: &Gate| gate.inputs.contains(&node);
        self.gates[from..].iter().position(reads).map_or(self.gates.len(), |at| from + at)
    }

    /// Reorders the gates greedily to reduce the number of live values. The next gate is always the one that
    /// ends most lifetimes, the first among equals. Returns the present order if the new one is no better.
    #[must_use]
    pub fn scheduled(&self) -> Self {
        let order = self.greedy_order();
        let scheduled = self.chosen(order.into_iter().map(|node| (node, None)));
        if scheduled.live() < self.live() { scheduled } else { self.clone() }
    }

    fn greedy_order(&self) -> Vec<usize> {
        let mut uses = vec![0_usize; self.inputs + self.gates.len()];
        for &node in self.gates.iter().flat_map(|gate| &gate.inputs).chain(&self.outputs) {
            uses[node] += 1;
        }
        let mut made: Vec<bool> = (0..uses.len()).map(|node| node < self.inputs).collect();
        let mut waiting: Vec<_> = (self.inputs..uses.len()).collect();
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let inputs = |place: usize| self.gates[waiting[place] - self.inputs].inputs.iter();
            let ready = |place: &usize| inputs(*place).all(|&input| made[input]);
            let ends = |place: &usize| inputs(*place).filter(|&&input| uses[input] == 1).count();
            // A gate reads only earlier nodes, so the first waiting gate is ready.
            let next = (0..waiting.len()).rev().filter(ready).max_by_key(ends).unwrap_or(0);
            let node = waiting.remove(next);
            made[node] = true;
            for &input in &self.gates[node - self.inputs].inputs {
                uses[input] -= 1;
            }
            order.push(node);
        }
        order
    }

    /// A circuit of these nodes with the same outputs. Each node is the given function, or its present gate.
    pub(super) fn chosen(&self, nodes: impl Iterator<Item = (usize, Option<Function>)>) -> Self {
        let mut builder = Builder { tables: self.tables.clone(), ..Builder::new(self.inputs) };
        let mut place: HashMap<usize, usize> = (0..self.inputs).map(|node| (node, node)).collect();
        for (node, function) in nodes {
            let gate = &self.gates[node - self.inputs];
            let placed = |inputs: &[usize]| inputs.iter().map(|input| place[input]).collect();
            let new = match function.or_else(|| gate.function()) {
                None => builder.gate(Gate { inputs: placed(&gate.inputs), operation: gate.operation }),
                Some(function) => builder.add(Function::new(placed(&function.inputs), &|bit| {
                    function.value(&|input| bit(place[&input]))
                })),
            };
            place.insert(node, new);
        }
        builder.finish(self.outputs.iter().map(|output| place[output]).collect())
    }

    /// The outputs for these inputs. A word is 32 one-bit lanes or one 32-bit lane. Words given at run time
    /// count as zeros.
    ///
    /// # Panics
    /// If there are fewer inputs than the circuit has.
    pub fn evaluate(&self, inputs: &[u32]) -> Vec<u32> {
        let mut values: Vec<_> = inputs[..self.inputs].iter().map(|&word| u64::from(word)).collect();
        for gate in &self.gates {
            let operands: Vec<_> = gate.inputs.iter().map(|&input| values[input]).collect();
            values.push(match gate.operation {
                Operation::LookUp(number) => u64::from(self.tables[number as usize][operands[0] as usize]),
                operation => operation.evaluate(&operands),
            });
        }
        self.outputs.iter().map(|&output| values[output] as u32).collect()
    }

    /// The graph in Graphviz's language.
    pub fn dot(&self, name: &str) -> String {
        let mut text = format!("digraph \"{name}\" {{\n");
        for node in 0..self.inputs {
            text += &format!("  n{node} [label=\"x{node}\", shape=box];\n");
        }
        for (at, gate) in self.gates.iter().enumerate() {
            let node = self.inputs + at;
            text += &format!(
                "  n{node} [label=\"{}\"];\n",
                super::emit::expression(gate, &["a", "b", "c"].map(str::to_owned))
            );
            for (input, label) in gate.inputs.iter().zip(["a", "b", "c"]) {
                text += &format!("  n{input} -> n{node} [label=\"{label}\"];\n");
            }
        }
        for (at, output) in self.outputs.iter().enumerate() {
            text += &format!("  y{at} [shape=box];\n  n{output} -> y{at};\n");
        }
        text + "}\n"
    }
}

/// A machine that computes a circuit gate by gate.
struct Registers<'graph> {
    graph: &'graph Graph,
    count: usize,
    /// Nodes in registers.
    held: Vec<usize>,
    /// Nodes that were in a register before.
    seen: Vec<bool>,
    in_memory: Vec<bool>,
    spills: Spills,
}

impl Registers<'_> {
    fn compute(&mut self, at: usize) {
        for &input in &self.graph.gates[at].inputs {
            if !self.held.contains(&input) {
                self.make_room(at, &self.graph.gates[at].inputs);
                self.spills.reloads += usize::from(self.seen[input]);
                self.hold(input);
            }
        }
        self.make_room(at + 1, &[]);
        self.hold(self.graph.inputs + at);
    }

    fn hold(&mut self, node: usize) {
        self.seen[node] = true;
        self.held.push(node);
    }

    /// Frees a register. Drops values that no gate from `from` on reads. If that is not enough, evicts the
    /// value outside `needed` with the latest next use.
    fn make_room(&mut self, from: usize, needed: &[usize]) {
        self.held.retain(|&node| self.graph.next_use(node, from) < self.graph.gates.len());
        if self.held.len() < self.count {
            return;
        }
        let others = (0..self.held.len()).filter(|&place| !needed.contains(&self.held[place]));
        if let Some(place) = others.max_by_key(|&place| self.graph.next_use(self.held[place], from)) {
            let node = self.held.swap_remove(place);
            self.spills.stores += usize::from(!self.in_memory[node]);
            self.in_memory[node] = true;
        }
    }
}

/// A graph under construction. It merges equal gates and folds constants. If a gate and one that it reads are
/// together a function of fewer nodes, it replaces the gate by this function.
#[derive(Debug, Default)]
pub(super) struct Builder {
    inputs: usize,
    gates: Vec<Gate>,
    known: HashMap<Gate, usize>,
    tables: Vec<Vec<u32>>,
}

impl Builder {
    pub(super) fn new(inputs: usize) -> Self {
        Self { inputs, ..Self::default() }
    }

    /// The number of a table; equal tables share one.
    pub(super) fn table(&mut self, table: &[u32]) -> u32 {
        let known = self.tables.iter().position(|known| known == table);
        let number = known.unwrap_or_else(|| {
            self.tables.push(table.to_vec());
            self.tables.len() - 1
        });
        number as u32
    }

    /// The node for a function of up to three nodes.
    pub(super) fn add(&mut self, mut function: Function) -> usize {
        while let Some(simpler) = function.inputs.iter().find_map(|&input| self.absorbed(&function, input)) {
            function = simpler;
        }
        if let Some(node) = function.identity() {
            return node;
        }
        // For a function and its complement, one is stored as a gate and the other as the complement of this
        // gate.
        if function.table & 1 == 0 || function.inputs.len() == 1 {
            return self.gate(function.into_gate());
        }
        let complement = self.gate(function.complement().into_gate());
        self.gate(Function { inputs: vec![complement], table: 0b01 }.into_gate())
    }

    /// The node for exactly this gate, or an equal existing node.
    pub(super) fn gate(&mut self, gate: Gate) -> usize {
        if let Some(same) = self.unpaired(&gate) {
            return same;
        }
        *self.known.entry(gate).or_insert_with_key(|gate| {
            self.gates.push(gate.clone());
            self.inputs + self.gates.len() - 1
        })
    }

    /// Simplifies a half of a pair, and a pair of both halves of one number.
    fn unpaired(&self, gate: &Gate) -> Option<usize> {
        let part = |at: usize| self.gate_of(gate.inputs[at]);
        let pair =
            |at: usize| part(0).filter(|pair| pair.operation == Operation::Pair).map(|pair| pair.inputs[at]);
        match gate.operation {
            Operation::Low => pair(0),
            Operation::High => pair(1),
            Operation::Pair => {
                let (low, high) = (part(0)?, part(1)?);
                let is_whole = low.operation == Operation::Low && high.operation == Operation::High;
                (is_whole && low.inputs == high.inputs).then(|| low.inputs[0])
            }
            _ => None,
        }
    }

    /// The function with the gate at `node` inlined, if the result is simpler.
    fn absorbed(&self, function: &Function, node: usize) -> Option<Function> {
        let inner = self.gate_of(node)?.function()?;
        let others = function.inputs.iter().filter(|&&input| input != node);
        let leaves = others.chain(&inner.inputs).copied().collect();
        let whole = Function::new(leaves, &|bit| {
            function.value(&|input| if input == node { inner.value(bit) } else { bit(input) })
        });
        let complement = inner.inputs.len() == 1 && whole.inputs.len() == function.inputs.len();
        (complement || whole.inputs.len() < function.inputs.len()).then_some(whole)
    }

    /// If an output is the complement of a gate that is not an output, replaces the gate by its complement.
    fn absorb_complements(&mut self, outputs: &mut [usize]) {
        for at in 0..outputs.len() {
            let output = outputs[at];
            let Some(node) = self.gate_of(output).and_then(Gate::complemented) else { continue };
            let concerned: Vec<_> = (0..self.gates.len())
                .filter(|&gate| self.inputs + gate == node || self.gates[gate].inputs.contains(&node))
                .filter(|&gate| self.inputs + gate != output)
                .collect();
            let functions: Option<Vec<_>> =
                concerned.iter().map(|&gate| self.gates[gate].function()).collect();
            let Some(functions) = functions.filter(|_| node >= self.inputs && !outputs.contains(&node))
            else {
                continue;
            };
            for (gate, function) in concerned.into_iter().zip(functions) {
                let is_node = self.inputs + gate == node;
                let changed = if is_node { function.complement() } else { function.of_complement(node) };
                self.gates[gate] = changed.into_gate();
            }
            outputs.iter_mut().filter(|other| **other == output).for_each(|other| *other = node);
        }
    }

    fn gate_of(&self, node: usize) -> Option<&Gate> {
        node.checked_sub(self.inputs).map(|at| &self.gates[at])
    }

    /// The circuit with these outputs, without unused gates.
    pub(super) fn finish(mut self, mut outputs: Vec<usize>) -> Graph {
        self.absorb_complements(&mut outputs);
        let mut needed = vec![false; self.inputs + self.gates.len()];
        outputs.iter().for_each(|&output| needed[output] = true);
        for (at, gate) in self.gates.iter().enumerate().rev() {
            if needed[self.inputs + at] {
                gate.inputs.iter().for_each(|&input| needed[input] = true);
            }
        }
        let mut place: Vec<_> = (0..self.inputs).collect();
        let mut gates = Vec::new();
        for (at, mut gate) in self.gates.into_iter().enumerate() {
            place.push(self.inputs + gates.len());
            if needed[self.inputs + at] {
                gate.inputs.iter_mut().for_each(|input| *input = place[*input]);
                gates.push(gate);
            }
        }
        let outputs = outputs.into_iter().map(|output| place[output]).collect();
        Graph { inputs: self.inputs, gates, outputs, tables: self.tables }
    }
}
