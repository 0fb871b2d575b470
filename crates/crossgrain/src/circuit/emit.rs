//! A graph as a function in CUDA C or WGSL, one gate a line, on 32 lanes of one bit in a `u32`.
//!
//! Gates of three inputs are written as expressions: both languages' compilers make the GPU's own gates of
//! them.

use super::graph::{Gate, Graph};

/// A language to emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// CUDA C: `__device__ void name(const unsigned x[n], unsigned y[m])`, which must not overlap.
    Cuda,
    /// WGSL: `fn name(x: array<u32, n>) -> array<u32, m>`.
    Wgsl,
}

/// The circuit as a function of this name, in which `-` becomes `_`.
pub fn function(graph: &Graph, name: &str, language: Language) -> String {
    let name = name.replace('-', "_");
    let (inputs, outputs) = (graph.inputs(), graph.outputs().len());
    let (head, value) = match language {
        Language::Cuda => (
            format!(
                "__device__ __forceinline__ void {name}(const unsigned int x[{inputs}], unsigned int y[{outputs}]) {{\n"
            ),
            "const unsigned int",
        ),
        Language::Wgsl => {
            (format!("fn {name}(x: array<u32, {inputs}>) -> array<u32, {outputs}> {{\n"), "let")
        }
    };
    let node_name = |node: usize| match node.checked_sub(inputs) {
        None => format!("x[{node}]"),
        Some(gate) => format!("t{gate}"),
    };
    let mut text = head;
    for (at, gate) in graph.gates().iter().enumerate() {
        let names: Vec<_> = gate.inputs.iter().map(|&input| node_name(input)).collect();
        text += &format!("    {value} t{at} = {};\n", expression(gate, &names));
    }
    let results = graph.outputs().iter().map(|&output| node_name(output));
    match language {
        Language::Cuda => {
            for (at, result) in results.enumerate() {
                text += &format!("    y[{at}] = {result};\n");
            }
        }
        Language::Wgsl => {
            let results: Vec<_> = results.collect();
            text += &format!("    return array<u32, {outputs}>({});\n", results.join(", "));
        }
    }
    text + "}\n"
}

/// A gate in terms of its inputs' names, in the syntax that C and WGSL share.
pub(super) fn expression(gate: &Gate, names: &[String]) -> String {
    let text = sum_of(u32::from(gate.table), &names[..gate.inputs.len()]);
    text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).map_or_else(|| text.clone(), str::to_owned)
}

/// An expression for a table: a name, a complement, or something in parentheses. The first name is split
/// off as an input t, which leaves f₀ for t = 0 and f₁ for t = 1; of all orders, the shortest.
fn sum_of(table: u32, names: &[String]) -> String {
    let ones = (1 << (1 << names.len())) - 1;
    if table == 0 {
        return "0u".to_owned();
    } else if table == ones {
        return "0xffffffffu".to_owned();
    }
    let ways = (0..names.len()).map(|at| {
        let weight = 1 << (names.len() - 1 - at);
        let half = |with: usize| {
            let rest = (0..1 << names.len()).filter(|index| index & weight == with);
            rest.enumerate().map(|(to, from)| (table >> from & 1) << to).sum::<u32>()
        };
        let mut others = names.to_vec();
        let t = others.remove(at);
        split(&t, half(0), half(weight), &others)
    });
    ways.min_by_key(String::len).unwrap_or_default()
}

/// The function that is `zero` of the other names where t is 0, else `one`.
fn split(t: &str, zero: u32, one: u32, others: &[String]) -> String {
    let ones = (1 << (1 << others.len())) - 1;
    let of = |table| sum_of(table, others);
    match (zero, one) {
        (0, one) if one == ones => t.to_owned(),
        (zero, 0) if zero == ones => format!("~{t}"),
        (zero, one) if zero == one => of(zero),
        (0, one) => format!("({t} & {})", of(one)),
        (zero, 0) => format!("(~{t} & {})", of(zero)),
        (zero, one) if one == ones => format!("({t} | {})", of(zero)),
        (zero, one) if zero == ones => format!("(~{t} | {})", of(one)),
        (zero, one) if zero ^ one == ones => format!("({t} ^ {})", of(zero)),
        (zero, one) => format!("(({t} & {}) | (~{t} & {}))", of(one), of(zero)),
    }
}
