//! A path through a flow, as data that prints.

use std::fmt;

use super::flow::Node;

/// One edge on a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Which of the flow's edges it is.
    pub edge: usize,
    /// The edge's name.
    pub name: String,
    /// Where it begins.
    pub from: Node,
    /// Where it leads.
    pub to: Node,
    /// What it costs at the size that was planned for.
    pub cost_ns: f64,
}

/// Edges from one place to another, with what they cost.
///
/// Prints one edge a line, cost first, and the total last; `{:.3}` asks for three decimals instead of
/// one. Edges without a name are not printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The edges, in order.
    pub steps: Vec<Step>,
    /// What they cost together.
    pub total_ns: f64,
}

impl Path {
    /// The names of the edges, in order, nameless ones left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str()).filter(|name| !name.is_empty())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(1);
        let total = format!("{:.decimals$}", self.total_ns);
        // No edge costs more than all of them.
        let width = total.len();
        for step in self.steps.iter().filter(|step| !step.name.is_empty()) {
            writeln!(f, "{:width$.decimals$}  {}", step.cost_ns, step.name)?;
        }
        write!(f, "{total}  total")
    }
}
