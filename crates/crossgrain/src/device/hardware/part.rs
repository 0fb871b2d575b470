//! Parts as Verilog modules, with their gates and depth.
//!
//! S-boxes and linear maps are functions of traced or synthesised gates. A part is one block of assignments, which
//! simulators compute once for each change of the inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::chain::Part;
use crate::cipher::sbox::Sbox;
use crate::circuit::graph::Graph;
use crate::circuit::named;
use crate::circuit::netlist::function;
use crate::circuit::synthesize::{Table, synthesize};
use crate::circuit::trace::{Width, trace};
use crate::device::recorded::{Operation, Recorded, Step, Value};

/// An S-box or a linear map, which has a function of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cell {
    /// An S-box of bytes.
    Box(usize),
    /// An S-box of Serpent, by number, and whether it is the inverse.
    Slice(usize, bool),
    /// A linear map.
    Map(usize),
}

impl Cell {
    const fn of(operation: Operation) -> Option<Self> {
        match operation {
            Operation::Substitute(number) | Operation::SubstituteAlone(number) => Some(Self::Box(number)),
            Operation::Slice { index, is_inverse, .. } => Some(Self::Slice(index, is_inverse)),
            Operation::Linear(number) => Some(Self::Map(number)),
            _ => None,
        }
    }

    /// The name of its function.
    fn name(self) -> String {
        match self {
            Self::Box(number) => format!("box{number}"),
            Self::Slice(index, false) => format!("s{index}"),
            Self::Slice(index, true) => format!("s{index}_inverse"),
            Self::Map(number) => format!("map{number}"),
        }
    }

    /// Its circuit.
    fn graph(self, recorded: &Recorded) -> Graph {
        match self {
            Self::Box(number) => synthesized(&recorded.boxes[number]),
            Self::Slice(index, is_inverse) => {
                let name = format!("serpent-s{index}{}", if is_inverse { "-inverse" } else { "" });
                named::find(&name).expect("every S-box of Serpent has a name").graph(Width::Two)
            }
            Self::Map(number) => trace(Width::Two, |x| recorded.maps[number].gates(x)),
        }
    }
}

/// The circuits of the S-boxes and linear maps that parts use.
#[derive(Debug, Default)]
pub(super) struct Cells(BTreeMap<Cell, Graph>);

impl Cells {
    /// Adds the circuits that these parts use.
    pub(super) fn add(&mut self, parts: &[Part], recorded: &Recorded) {
        for cell in parts.iter().flat_map(|part| &part.body.steps).filter_map(|step| Cell::of(step.operation))
        {
            self.0.entry(cell).or_insert_with(|| cell.graph(recorded));
        }
    }

    fn gates(&self, cell: Cell) -> usize {
        self.0[&cell].gates().len()
    }

    /// The number of two-input gates of a step.
    fn gates_of(&self, step: &Step) -> usize {
        let cell = Cell::of(step.operation).map_or(0, |cell| self.gates(cell));
        match step.operation {
            Operation::Add | Operation::AddKey | Operation::AndKey | Operation::OrKey => 8,
            Operation::Substitute(_) => cell + 8,
            // Eight copies give four bytes.
            Operation::Slice { .. } => 2 * cell,
            _ => cell,
        }
    }

    fn depth_of(&self, step: &Step) -> usize {
        let cell = Cell::of(step.operation).map_or(0, |cell| self.0[&cell].depth());
        match step.operation {
            Operation::Add | Operation::AddKey | Operation::AndKey | Operation::OrKey => 1,
            Operation::Substitute(_) => cell + 1,
            _ => cell,
        }
    }

    /// The number of two-input gates of a part.
    pub(super) fn gates_of_part(&self, part: &Part) -> usize {
        part.body.steps.iter().map(|step| self.gates_of(step)).sum()
    }

    /// The most gates on a path through a part. Every path through a byte counts as its longest one.
    pub(super) fn depth_of_part(&self, part: &Part) -> usize {
        let mut depths = Vec::new();
        for step in &part.body.steps {
            let depth = |input: &Value| match *input {
                Value::Given(_) => 0,
                Value::Made(at) => depths[at],
            };
            let below = step.inputs.iter().map(depth).max().unwrap_or(0);
            depths.push(below + self.depth_of(step));
        }
        depths.into_iter().max().unwrap_or(0)
    }
}

/// Byte number `at` of a bus.
pub(super) fn slice(bus: &str, at: usize) -> String {
    format!("{bus}[{}:{}]", 8 * at + 7, 8 * at)
}

/// Concatenates bytes or bits, the first one lowest.
pub(super) fn concatenated(names: impl IntoIterator<Item = String>) -> String {
    let mut names: Vec<_> = names.into_iter().collect();
    names.reverse();
    format!("{{{}}}", names.join(", "))
}

/// The inputs of a part: their names, and their numbers of bytes.
pub(super) fn ports(part: &Part) -> impl Iterator<Item = (&'static str, usize)> {
    let all = [("x", part.body.given), ("k", part.keys), ("c", part.constants)];
    all.into_iter().filter(|(_, bytes)| *bytes > 0)
}

/// Bits `low` to `high` of a byte.
fn bits(value: Value, high: u32, low: u32) -> String {
    match value {
        Value::Given(at) => format!("x[{}:{}]", 8 * at + high as usize, 8 * at + low as usize),
        Value::Made(at) if (high, low) == (7, 0) => format!("t{at}"),
        Value::Made(at) => format!("t{at}[{high}:{low}]"),
    }
}

fn name(value: Value) -> String {
    bits(value, 7, 0)
}

impl Cells {
    /// The module of a part.
    pub(super) fn module(&self, part: &Part, module: &str) -> String {
        let (steps, results) = (&part.body.steps, &part.body.results);
        let list = ports(part).map(|(port, bytes)| format!("input wire [{}:0] {port}, ", 8 * bytes - 1));
        let list: String = list.collect();
        let mut text = format!("module {module}({list}output reg [{}:0] y);\n", 8 * results.len() - 1);
        let used: BTreeSet<_> = steps.iter().filter_map(|step| Cell::of(step.operation)).collect();
        for cell in used {
            text += &function(&self.0[&cell], &cell.name(), if let Cell::Slice(..) = cell { 8 } else { 1 });
        }
        let wires: Vec<_> = (0..steps.len()).map(|at| format!("t{at}")).collect();
        text += &format!("  reg [7:0] {};\n", wires.join(", "));
        if steps.iter().any(|step| matches!(step.operation, Operation::Slice { .. })) {
            text += "  reg [31:0] words;\n";
        }
        text += "  always @* begin\n";
        for (at, step) in steps.iter().enumerate() {
            text += &assignment(at, step);
        }
        let outputs = concatenated(results.iter().map(|&result| name(result)));
        text + &format!("    y = {outputs};\n  end\nendmodule\n\n")
    }
}

/// The assignment of a step.
fn assignment(at: usize, step: &Step) -> String {
    let names: Vec<_> = step.inputs.iter().map(|&input| name(input)).collect();
    let number = step.number.unwrap_or(0);
    let key = slice("k", number);
    let function = Cell::of(step.operation).map(Cell::name).unwrap_or_default();
    let value = match step.operation {
        Operation::Add => format!("{} ^ {}", names[0], names[1]),
        Operation::AddKey => format!("{} ^ {key}", names[0]),
        Operation::AndKey => format!("{} & {key}", names[0]),
        Operation::OrKey => format!("{} | {key}", names[0]),
        Operation::Between(count) => {
            let [high, low] = [step.inputs[0], step.inputs[1]];
            format!("{{{}, {}}}", bits(high, 7 - count, 0), bits(low, 7, 8 - count))
        }
        Operation::ShiftUp(count) => format!("{{{}, {count}'b0}}", bits(step.inputs[0], 7 - count, 0)),
        Operation::Substitute(_) => format!("{function}({} ^ {key})", names[0]),
        Operation::SubstituteAlone(_) | Operation::Linear(_) => format!("{function}({})", names[0]),
        // The four steps with the same inputs follow each other.
        Operation::Slice { word: 0, .. } => {
            return format!("    words = {function}({});\n    t{at} = words[7:0];\n", concatenated(names));
        }
        Operation::Slice { word, .. } => slice("words", word),
        Operation::Constant | Operation::Keep => slice("c", number),
    };
    format!("    t{at} = {value};\n")
}

/// The smallest known circuit of an S-box. It is searched once, because that may take seconds.
fn synthesized(sbox: &Sbox) -> Graph {
    static KNOWN: Mutex<BTreeMap<[u8; 256], Graph>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let graph = known.entry(sbox.table).or_insert_with(|| {
        let table = Table::new(&sbox.table.map(u64::from)).ok();
        let found = table.and_then(|table| synthesize(&table, Width::Two));
        found.unwrap_or_else(|| trace(Width::Two, |x| sbox.gates(x)))
    });
    graph.clone()
}
