//! The graph of a job: its nodes are positions between the cipher's steps, its edges come from the variant
//! table.
//!
//! A node is a pair of a position and a representation. Each usable row of the table adds edges:
//!
//! * A load is a source for jobs on bytes, and a conversion from `blocks`.
//! * A store is a sink, and a conversion to `blocks`.
//! * A counter is a source; an encrypting counter leads from the source to the last position.
//! * A part on a tile leads over the steps that it computes, at every position where they occur.
//! * A whole cipher leads from the source to the sink.
//!
//! The job of a mode has two more nodes: bytes before and after the cipher. Whole ciphers and stores lead to
//! the latter, and the mode's pass leads from it to the sink. If the mode has a frame, it leads from the source
//! to the former, where whole ciphers and loads begin. A fused kernel leads from the source to the sink.
//!
//! Edges are built only from the table, so a new row adds new edges. A key search has the smallest steps of
//! `kernel::search` as parts: schedule, first rounds, last rounds, comparison. Its source provides keys; its sink
//! receives the keys that may be right. A conversion between two steps moves all blocks that later steps
//! need: the keys, or the round keys, or the state and the last round keys, or the result.

use super::compose::{Cost, Edge, Flow, Graph, Node, Path, Step};
use super::costs::Costs;
use super::{Job, JobSource, Limits, Plan, Stage, corrupt, is_usable};
use crate::block::{BLOCK_BYTES, Direction, Error};
use crate::kernel::{Part, search, search_sizes, steps};
use crate::layout::repr::Repr;
use crate::variant::{Action, Variant, table};

/// The job size, in bytes, that the first plan is optimised for.
pub const BULK_BYTES: u64 = 1 << 20;

/// The job sizes, in bytes, that the further plans are optimised for. Each of these plans processes the
/// remainder of the one before it, or short messages if it is a mode's fused kernel.
const REST_BYTES: [u64; 4] = [4096, 1024, 256, BLOCK_BYTES as u64];

/// The flow of a job over variants. Paths refer to edges by index, so converting a path to a plan needs no
/// look-up by name.
#[derive(Clone, Debug)]
pub struct JobFlow {
    job: Job,
    flow: Flow,
    /// The variant of each edge of the flow, by edge index.
    variants: Vec<&'static Variant>,
}

impl JobFlow {
    /// The flow over all usable variants whose costs are known.
    ///
    /// # Errors
    /// [`Error::NoPlan`] if a cost is unsound.
    pub fn new(job: Job, limits: &Limits, costs: &Costs) -> Result<Self, Error> {
        Self::by(job, limits, &|variant| costs.get(variant))
    }

    /// [`JobFlow::new`] with the costs that a function returns.
    ///
    /// # Errors
    /// As [`JobFlow::new`].
    pub(super) fn by(
        job: Job,
        limits: &Limits,
        cost: &dyn Fn(&Variant) -> Option<Cost>,
    ) -> Result<Self, Error> {
        let usable: Vec<_> = table().iter().filter(|variant| is_usable(variant, job, limits)).collect();
        let flow = if job.source.is_search() { search_flow(&usable)? } else { data_flow(job, &usable)? };
        // Computed once: it takes a key schedule.
        let sizes = job.source.is_search().then(|| search_sizes(job.cipher));
        let mut made = Self { job, flow, variants: Vec::new() };
        for variant in usable {
            if let Some(cost) = cost(variant) {
                match (variant.action, sizes) {
                    (Action::Load(_) | Action::Store(_), Some(sizes)) => {
                        add_search_conversion(&mut made.flow, sizes, variant, cost)?;
                    }
                    _ => add(&mut made.flow, job, variant, cost)?,
                }
                made.variants.resize(made.flow.edges().len(), variant);
            }
        }
        Ok(made)
    }

    /// Parts, representations and edges.
    pub const fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The cheapest plans: the first for bulk data, the others for remainders, with narrower bundles, or for
    /// shorter messages of a mode.
    ///
    /// # Errors
    /// [`Error::NoPlan`] if no path leads from source to sink.
    pub fn cheapest(&self) -> Result<Vec<Plan>, Error> {
        let graph = self.flow.at(BULK_BYTES);
        let bulk = self.plan(&graph.best()?)?;
        self.with_rest_of(graph, bulk)
    }

    /// A given plan for bulk data, followed by the cheapest plans for its remainders. A search has no
    /// remainder.
    ///
    /// # Errors
    /// [`Error::NoPlan`] if no path leads from source to sink.
    pub fn with_rest(&self, bulk: Plan) -> Result<Vec<Plan>, Error> {
        self.with_rest_of(self.flow.at(BULK_BYTES), bulk)
    }

    fn with_rest_of(&self, mut graph: Graph<'_>, bulk: Plan) -> Result<Vec<Plan>, Error> {
        let mut plans = vec![bulk];
        if self.job.source.is_search() {
            return Ok(plans);
        }
        for size_bytes in REST_BYTES {
            graph = graph.resized(size_bytes);
            let next = self.plan(&graph.best()?)?;
            if plans.last().is_some_and(|last| next.follows(last)) {
                plans.push(next);
            }
        }
        Ok(plans)
    }

    /// Converts a path to a plan.
    ///
    /// # Errors
    /// [`Error::CorruptPlan`] if the path belongs to another flow.
    pub fn plan(&self, path: &Path) -> Result<Plan, Error> {
        let Job { cipher, direction, source } = self.job;
        let rounds = if source.is_search() { Vec::new() } else { steps(cipher, direction) };
        let stage = |step: &Step| {
            let round = match &step.from {
                Node::Between { position, .. } => rounds.get(*position).map_or(0, |(_, round)| *round),
                Node::Source | Node::Sink => 0,
            };
            Some(Stage { variant: self.variants.get(step.edge)?, round })
        };
        let stages = path.steps.iter().map(stage).collect::<Option<_>>();
        let costs = path.steps.iter().filter_map(|step| Some(self.flow.edges().get(step.edge)?.cost));
        let cost = costs.fold(Cost::FREE, Cost::plus);
        stages.map(|stages| Plan { stages, cost }).ok_or_else(|| corrupt("its path is of another job"))
    }

    /// Converts a plan to a path from source to sink, with its costs for `len_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::CorruptPlan`] at the first stage that does not continue from the end of the stage before it.
    pub fn follow(&self, plan: &Plan, len_bytes: u64) -> Result<Path, Error> {
        let (mut here, mut steps) = (&Node::Source, Vec::new());
        let is_on_side = self.side_of(plan);
        for (at, Stage { variant, .. }) in plan.stages.iter().enumerate() {
            let is_last = at + 1 == plan.stages.len();
            let mut edges = self.flow.edges().iter().zip(&self.variants).enumerate();
            let next = edges.find(|(_, (edge, known))| {
                std::ptr::eq(**known, *variant)
                    && edge.from == *here
                    && (edge.to == Node::Sink) == is_last
                    && is_on_side(&edge.to)
            });
            let Some((edge, (Edge { name, from, to, cost }, _))) = next else {
                return Err(corrupt(format!("its stage {}, {}, has no place there", at + 1, variant.name)));
            };
            let (name, from, cost_ns) = (name.clone(), from.clone(), cost.at(len_bytes));
            steps.push(Step { edge, name, from, to: to.clone(), cost_ns });
            here = to;
        }
        let total_ns = steps.iter().map(|step| step.cost_ns).sum();
        if *here == Node::Sink { Ok(Path { steps, total_ns }) } else { Err(corrupt("it ends too early")) }
    }
}

impl JobFlow {
    /// Whether a node is on a plan's side. In a search, variants that serve both directions have edges on two
    /// sides.
    fn side_of(&self, plan: &Plan) -> impl Fn(&Node) -> bool {
        let direction = |stage: &Stage| match stage.variant.action {
            Action::SearchStep(_, direction, _) => direction,
            _ => None,
        };
        let direction = plan.stages.iter().find_map(direction).unwrap_or(Direction::Encrypt);
        let (is_search, is_back) = (self.job.source.is_search(), direction == Direction::Decrypt);
        move |node| !is_search || node.representation().is_none_or(|repr| repr.ends_with(BACK) == is_back)
    }
}

/// The parts of a cipher and the representations of the usable variants, still without edges.
fn data_flow(job: Job, usable: &[&Variant]) -> Result<Flow, super::compose::Error> {
    // Conversions pass through `blocks` even if the cipher has no parts in that representation.
    let mut shapes = vec![Repr::Blocks.to_string()];
    shapes.extend(usable.iter().map(|variant| variant.repr.to_string()));
    shapes.sort();
    shapes.dedup();
    if let JobSource::Mode(_) = job.source {
        shapes.push(BYTES.to_owned());
    }
    Flow::new(&names(steps(job.cipher, job.direction).into_iter().map(|(step, _)| step), job), &shapes)
}

/// The representation of blocks in the job's buffers, between the cipher and the pass of a mode.
pub const BYTES: &str = "bytes";

/// The node from which bytes enter the cipher.
fn input(job: Job) -> Node {
    match job.source {
        JobSource::Mode(fused) if fused.frame().is_some() => Node::between(0, BYTES),
        _ => Node::Source,
    }
}

/// The node to which the cipher's output leads.
fn output(flow: &Flow, job: Job) -> Node {
    match job.source {
        JobSource::Mode(_) => Node::between(flow.parts().len(), BYTES),
        _ => Node::Sink,
    }
}

/// The steps of a key search, still without edges. Each representation has a node for each direction of the
/// cipher in which the search can run.
fn search_flow(usable: &[&Variant]) -> Result<Flow, super::compose::Error> {
    // Conversions pass through `blocks`, even if no step works there.
    let reprs = usable.iter().map(|variant| variant.repr).chain([Repr::Blocks]);
    let mut shapes: Vec<_> =
        reprs.flat_map(|repr| Direction::ALL.map(|direction| side(repr, direction))).collect();
    shapes.sort();
    shapes.dedup();
    Flow::new(&search::Step::SMALLEST.map(search::Step::name), &shapes)
}

/// The name of a search's representation in one direction. It differs by direction so that no step can
/// continue from the results of a step in the other direction.
fn side(repr: Repr, direction: Direction) -> String {
    match direction {
        Direction::Encrypt => repr.to_string(),
        Direction::Decrypt => format!("{repr}{BACK}"),
    }
}

/// The end of names of representations in searches by decryption.
const BACK: &str = "-back";

fn names(parts: impl IntoIterator<Item = Part>, job: Job) -> Vec<&'static str> {
    parts.into_iter().map(|part| part.name(job.direction)).collect()
}

/// Adds the edges of a variant that the job can use, at every position where it fits.
fn add(flow: &mut Flow, job: Job, variant: &Variant, cost: Cost) -> Result<(), super::compose::Error> {
    let name = variant.name.as_str();
    let repr = variant.repr.to_string();
    let blocks = Repr::Blocks.to_string();
    let output = output(flow, job);
    let last = flow.parts().len();
    let edge = |from: Node, to: Node| Edge { name: name.to_owned(), from, to, cost };
    match variant.action {
        Action::Load(_) => {
            if !job.source.counts() {
                flow.edge(edge(input(job), Node::between(0, &repr)))?;
            }
            if variant.repr != Repr::Blocks {
                flow.conversion(name, &blocks, &repr, cost)?;
            }
        }
        Action::Store(_) => {
            flow.edge(edge(Node::between(last, &repr), output))?;
            if variant.repr != Repr::Blocks {
                flow.conversion(name, &repr, &blocks, cost)?;
            }
        }
        Action::Count(_) => flow.source(name, &repr, cost)?,
        Action::CountEncrypted(_) => {
            flow.edge(edge(Node::Source, Node::between(last, &repr)))?;
        }
        Action::Tile(part, ..) => {
            flow.variant(name, &names(part.span(job.cipher, job.direction), job), &repr, cost)?;
        }
        Action::Whole(..) | Action::WholeCounter(_) => flow.edge(edge(input(job), output))?,
        Action::Fused(..) | Action::Search(..) => flow.edge(edge(Node::Source, Node::Sink))?,
        Action::Frame(_) => flow.edge(edge(Node::Source, Node::between(0, BYTES)))?,
        Action::Pass(_) => flow.edge(edge(output, Node::Sink))?,
        Action::SearchStep(step, direction, _) => add_step(flow, variant, (step, direction), cost)?,
    }
    Ok(())
}

/// Adds the edges of one search step.
fn add_step(
    flow: &mut Flow,
    variant: &Variant,
    (step, direction): (search::Step, Option<Direction>),
    cost: Cost,
) -> Result<(), super::compose::Error> {
    let place = |step| search::Step::SMALLEST.iter().position(|small| *small == step);
    let (Some(first), count) = (place(step.span()[0]), step.span().len()) else { return Ok(()) };
    for direction in Direction::ALL.into_iter().filter(|way| direction.is_none_or(|own| own == *way)) {
        let repr = side(variant.repr, direction);
        let from = Node::between(first, &repr);
        let to = match step {
            search::Step::Comparison => Node::Sink,
            _ => Node::between(first + count, &repr),
        };
        flow.edge(Edge { name: variant.name.clone(), from, to, cost })?;
    }
    Ok(())
}

/// Adds the edges of a conversion between the steps of a search. Its cost is that of the blocks that it moves for
/// each key. A load also brings the keys into its representation.
fn add_search_conversion(
    flow: &mut Flow,
    sizes: search::Sizes,
    variant: &Variant,
    cost: Cost,
) -> Result<(), super::compose::Error> {
    let loads = matches!(variant.action, Action::Load(_));
    for direction in Direction::ALL {
        let [blocks, other] = [Repr::Blocks, variant.repr].map(|repr| side(repr, direction));
        let [from, to] = if loads { [blocks, other] } else { [other, blocks] };
        for place in 0..search::Step::SMALLEST.len() {
            let cost = cost.scaled(sizes.live(place) as f64);
            let edge = |from, to| Edge { name: variant.name.clone(), from, to, cost };
            if place == 0 && loads {
                flow.edge(edge(Node::Source, Node::between(0, &to)))?;
            } else if variant.repr != Repr::Blocks {
                flow.edge(edge(Node::between(place, &from), Node::between(place, &to)))?;
            }
        }
    }
    Ok(())
}
