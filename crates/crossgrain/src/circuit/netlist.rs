//! Prints a graph as a hardware netlist: a Verilog module, or a model in BLIF (Berkeley Logic Interchange
//! Format).
//!
//! Inputs are the bits `x[0]`, `x[1]`, … and outputs `y[0]`, `y[1]`, …, in the order of the graph; in BLIF
//! they are `x0` and `y0`. A gate is a wire with an expression in Verilog, and in BLIF the rows of its table
//! that are 1. Only graphs of Boolean gates have a netlist; operations on 32-bit lanes do not.

use super::emit::expression;
use super::graph::{Gate, Graph, Operation};

/// A netlist language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Verilog 2001.
    Verilog,
    /// BLIF.
    Blif,
}

/// The netlist of a circuit, under its name with `_` for `-`; none if it has operations on lanes.
///
/// ```
/// use crossgrain::engine::circuit::{named, netlist, trace::Width};
///
/// let graph = named::find("serpent-s0").unwrap().graph(Width::Two);
/// let text = netlist::netlist(&graph, "serpent-s0", netlist::Format::Verilog).unwrap();
/// assert!(text.contains("module serpent_s0(input wire [3:0] x, output wire [3:0] y);"));
/// ```
pub fn netlist(graph: &Graph, name: &str, format: Format) -> Option<String> {
    let is_bits = |gate: &Gate| matches!(gate.operation, Operation::Table(_));
    graph.gates().iter().all(is_bits).then(|| match format {
        Format::Verilog => verilog(graph, &model(name)),
        Format::Blif => blif(graph, &model(name)),
    })
}

/// The module's name. `table` is a keyword of Verilog.
fn model(name: &str) -> String {
    if name == "table" { "of_table".to_owned() } else { name.replace('-', "_") }
}

fn verilog(graph: &Graph, name: &str) -> String {
    let (inputs, outputs) = (graph.inputs(), graph.outputs().len());
    let node_name = |node: usize| match node.checked_sub(inputs) {
        None => format!("x[{node}]"),
        Some(gate) => format!("t{gate}"),
    };
    let mut text =
        format!("module {name}(input wire [{}:0] x, output wire [{}:0] y);\n", inputs - 1, outputs - 1);
    for (at, gate) in graph.gates().iter().enumerate() {
        let names: Vec<_> = gate.inputs.iter().map(|&input| node_name(input)).collect();
        let value = match gate.operation {
            Operation::Table(table) if names.is_empty() => format!("1'b{}", table & 1),
            _ => expression(gate, &names),
        };
        text += &format!("  wire t{at} = {value};\n");
    }
    for (at, &output) in graph.outputs().iter().enumerate() {
        text += &format!("  assign y[{at}] = {};\n", node_name(output));
    }
    text + "endmodule\n"
}

/// A Verilog function that computes a circuit of bits on `lanes` copies side by side. Input `i` of all copies is
/// part `i` of its argument, and output `i` is part `i` of its result.
pub(crate) fn function(graph: &Graph, name: &str, lanes: usize) -> String {
    let inputs = graph.inputs();
    let node_name = |node: usize| match node.checked_sub(inputs) {
        None if lanes == 1 => format!("x[{node}]"),
        None => format!("x[{}:{}]", lanes * (node + 1) - 1, lanes * node),
        Some(gate) => format!("t{gate}"),
    };
    let wires: Vec<_> = (0..graph.gates().len()).map(|at| format!("t{at}")).collect();
    let mut text = format!(
        "  function [{}:0] {name}(input [{}:0] x);\n    reg [{}:0] {};\n    begin\n",
        lanes * graph.outputs().len() - 1,
        lanes * inputs - 1,
        lanes - 1,
        wires.join(", ")
    );
    for (at, gate) in graph.gates().iter().enumerate() {
        let names: Vec<_> = gate.inputs.iter().map(|&input| node_name(input)).collect();
        let value = match gate.operation {
            Operation::Table(table) if names.is_empty() => format!("{{{lanes}{{1'b{}}}}}", table & 1),
            _ => expression(gate, &names),
        };
        text += &format!("      t{at} = {value};\n");
    }
    let outputs: Vec<_> = graph.outputs().iter().rev().map(|&output| node_name(output)).collect();
    text + &format!("      {name} = {{{}}};\n    end\n  endfunction\n", outputs.join(", "))
}

fn blif(graph: &Graph, name: &str) -> String {
    let node_name = |node: usize| match node.checked_sub(graph.inputs()) {
        None => format!("x{node}"),
        Some(gate) => format!("t{gate}"),
    };
    let listed =
        |letter: char, count: usize| (0..count).map(|at| format!(" {letter}{at}")).collect::<String>();
    let (inputs, outputs) = (listed('x', graph.inputs()), listed('y', graph.outputs().len()));
    let mut text = format!(".model {name}\n.inputs{inputs}\n.outputs{outputs}\n");
    for (at, gate) in graph.gates().iter().enumerate() {
        let names: String = gate.inputs.iter().map(|&input| format!("{} ", node_name(input))).collect();
        text += &format!(".names {names}t{at}\n");
        text += &rows(gate);
    }
    for (at, &output) in graph.outputs().iter().enumerate() {
        text += &format!(".names {} y{at}\n1 1\n", node_name(output));
    }
    text + ".end\n"
}

/// The rows of a gate's table that are 1, the first input first.
fn rows(gate: &Gate) -> String {
    let Operation::Table(table) = gate.operation else { return String::new() };
    let inputs = gate.inputs.len();
    let row = |index: usize| match inputs {
        0 => "1\n".to_owned(),
        _ => format!("{index:0inputs$b} 1\n"),
    };
    (0..1 << inputs).filter(|index| table >> index & 1 == 1).map(row).collect()
}
