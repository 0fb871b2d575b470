//! A path through a flow, as printable data.

use std::fmt;

use super::flow::Node;

/// One edge of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The index of the edge in its flow.
    pub edge: usize,
    /// The edge's name.
    pub name: String,
    /// The node where it begins.
    pub from: Node,
    /// The node where it ends.
    pub to: Node,
    /// Its cost at the planned size.
    pub cost_ns: f64,
}

/// A sequence of edges with their costs.
///
/// Prints one edge per line, cost first, and the total last. `{:.3}` prints three decimals; the default is
/// one. Edges without a name are not printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The edges, in order.
    pub steps: Vec<Step>,
    /// The total cost.
    pub total_ns: f64,
}

impl Path {
    /// The names of the edges in order, without empty names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str()).filter(|name| !name.is_empty())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(1);
        let total = format!("{:.decimals$}", self.total_ns);
        // The total has the most digits.
        let width = total.len();
        for step in self.steps.iter().filter(|step| !step.name.is_empty()) {
            writeln!(f, "{:width$.decimals$}  {}", step.cost_ns, step.name)?;
        }
        write!(f, "{total}  total")
    }
}
