//! Circuits for tables without structure, by expansion in some inputs and joint synthesis of the remaining
//! functions.
//!
//! For an input t, a function f is f₀ ⊕ t·d or f₁ ⊕ t̄·d with d = f₀ ⊕ f₁ (Davio's expansion). Both forms
//! take two gates and need d, but only one of f₀ and f₁. Expanding 8 outputs of 8 inputs by three inputs
//! takes 2 · 7 gates per output. It leaves 64 functions of five inputs to make, with a choice among 216.
//! [`Functions`] makes them one after the other from all existing nodes: most take three gates, the others
//! four. The cheapest comes first. Among equally cheap functions, the one that keeps most choices open comes
//! first. If no function is near, an intermediate function is added that brings most new functions near.
//!
//! Results: 20 random tables of 8 inputs and 8 outputs took 330 to 338 gates, 334 on average, in the best of
//! four orders of the inputs, and 20 random permutations 330 to 339. Shannon's expansion takes 561. A table
//! has 2048 bits, and below about 190 gates there are fewer circuits than tables, so most tables need more.
//! (The count follows Shannon, "The synthesis of two-terminal switching circuits", 1949, for gates of any two
//! nodes with free complements.) Lupanov's representation (1958) reaches this bound for many inputs; it also
//! makes functions of few inputs once and shares them. Kwan's search ("Reducing the gate count of bitslice
//! DES", 2000), which `sboxgates` and others extend, also combines all existing nodes, but searches for whole
//! outputs. We found no published figures for random tables of this size.
//! Invariant: nothing here is checked; [`synthesize`](super::synthesize) compares the circuit with the table.

use super::functions::{Functions, VARIABLES, Wanted};
use super::graph::{Builder, Function, Graph};
use super::map::XorShift;
use super::synthesize::Table;

/// A cofactor of a function with respect to a variable: f₀, f₁ or d.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Zero,
    One,
    Difference,
}

const PARTS: [Part; 3] = [Part::Zero, Part::One, Part::Difference];

/// A function of the remaining inputs, after expansion of an output.
struct Leaf {
    output: usize,
    /// The part taken for each variable, outermost first.
    path: Vec<Part>,
    table: u32,
    wanted: Wanted,
    made: bool,
}

impl Leaf {
    /// Whether both leaves may be used together. They may not if their paths first differ by `Zero` and
    /// `One`.
    fn goes_with(&self, other: &Self) -> bool {
        let parting = self.path.iter().zip(&other.path).find(|(part, other)| part != other);
        self.output != other.output
            || parting.is_none_or(|(&part, &other)| part == Part::Difference || other == Part::Difference)
    }

    /// The loss of choices if this leaf is made: a binary number with a one for each decision between `Zero`
    /// and `One`, outermost first.
    fn decided(&self) -> usize {
        self.path.iter().fold(0, |decided, &part| 2 * decided + usize::from(part != Part::Difference))
    }
}

/// A circuit that expands a table by all inputs but `kept`, in a random order. `None` if no function can be
/// added; this is not known to happen.
pub(super) fn circuit(table: &Table, kept: usize, random: &mut XorShift) -> Option<Graph> {
    let mut inputs: Vec<_> = (0..table.inputs()).collect();
    for at in (1..inputs.len()).rev() {
        inputs.swap(at, random.below(at + 1));
    }
    let (inner, outer) = inputs.split_at(kept.min(VARIABLES).min(inputs.len()));
    let mut functions = Functions::new(inner.len());
    let mut leaves = leaves(table, outer, inner, &functions);
    for _ in 0..table.outputs() << outer.len() {
        make_one(&mut functions, &mut leaves, random)?;
        let made: Vec<_> = (0..leaves.len()).filter(|&at| leaves[at].made).collect();
        let usable: Vec<_> =
            leaves.iter().map(|leaf| made.iter().all(|&at| leaf.goes_with(&leaves[at]))).collect();
        let mut usable = usable.into_iter();
        leaves.retain(|_| usable.next() == Some(true));
    }
    let mut builder = Builder::new(table.inputs());
    let places = functions.build(&mut builder, inner);
    let mut joined = Joined { builder, functions, places, leaves, outer };
    let outputs = (0..table.outputs()).map(|output| joined.join(output, &mut Vec::new())).collect();
    Some(joined.builder.finish(outputs))
}

/// All leaves that an expansion could use.
fn leaves(table: &Table, outer: &[usize], inner: &[usize], functions: &Functions) -> Vec<Leaf> {
    let spread = |at: usize, inputs: &[usize]| {
        inputs.iter().enumerate().map(|(bit, input)| (at >> bit & 1) << input).sum::<usize>()
    };
    let paths = 0..PARTS.len().pow(outer.len() as u32);
    let path = |at: usize| -> Vec<_> {
        (0..outer.len() as u32).map(|step| PARTS[at / PARTS.len().pow(step) % PARTS.len()]).collect()
    };
    let leaf = |output: usize, path: Vec<Part>| {
        let takes = |at: &usize| {
            path.iter()
                .enumerate()
                .all(|(step, &part)| part == Part::Difference || (part == Part::One) == (at >> step & 1 == 1))
        };
        let taken: Vec<_> = (0..1 << outer.len()).filter(takes).map(|at| spread(at, outer)).collect();
        let value = |at: usize| {
            let at = spread(at, inner);
            taken.iter().fold(0, |sum, outer| sum ^ u32::from(table.value(at | outer) >> output & 1))
        };
        let table = (0..1 << inner.len()).map(|at| value(at) << at).sum();
        Leaf { output, path, table, wanted: functions.want(table), made: false }
    };
    let outputs = 0..table.outputs();
    outputs
        .flat_map(|output| paths.clone().map(move |at| (output, at)))
        .map(|(output, at)| leaf(output, path(at)))
        .collect()
}

/// Makes the cheapest leaf.
fn make_one(functions: &mut Functions, leaves: &mut [Leaf], random: &mut XorShift) -> Option<()> {
    loop {
        let open = || (0..leaves.len()).filter(|&at| !leaves[at].made);
        let mut open: Vec<_> = open().collect();
        for &at in &open {
            functions.search(&mut leaves[at].wanted);
        }
        let near = open.iter().filter_map(|&at| {
            let way = leaves[at].wanted.way.as_ref()?;
            Some((way.gates, leaves[at].decided(), random.next(), at))
        });
        let near = near.min().and_then(|(.., at)| Some((at, leaves[at].wanted.way.clone()?)));
        let next = near.or_else(|| {
            open.sort_by_cached_key(|&at| (leaves[at].decided(), random.next()));
            open.iter().find_map(|&at| Some((at, functions.far(&leaves[at].wanted)?)))
        });
        if let Some((at, way)) = next {
            functions.follow(&leaves[at].wanted, &way);
            leaves[at].made = true;
            return Some(());
        }
        functions.grow(random)?;
    }
}

/// Joins leaves to outputs.
struct Joined<'outer> {
    builder: Builder,
    functions: Functions,
    places: Vec<usize>,
    leaves: Vec<Leaf>,
    outer: &'outer [usize],
}

impl Joined<'_> {
    /// The node for an output's function after the parts in `path`.
    fn join(&mut self, output: usize, path: &mut Vec<Part>) -> usize {
        let mut on_path =
            self.leaves.iter().filter(|leaf| leaf.output == output && leaf.path.starts_with(path));
        let Some(&input) = self.outer.get(path.len()) else {
            let table = on_path.next().map_or(0, |leaf| leaf.table);
            return self.functions.place(&mut self.builder, &self.places, table);
        };
        let one = on_path.any(|leaf| leaf.path[path.len()] == Part::One);
        let mut part = |part| {
            path.push(part);
            let node = self.join(output, path);
            path.pop();
            node
        };
        let (rest, difference) = (part(if one { Part::One } else { Part::Zero }), part(Part::Difference));
        let product = Function::new(vec![input, difference], &|bit| bit(input) != one && bit(difference));
        let product = self.builder.add(product);
        self.builder.add(Function::new(vec![rest, product], &|bit| bit(rest) ^ bit(product)))
    }
}
