//! The graph of a job: positions between the steps of its cipher, representations, and the variant table.
//!
//! A node is a position and a representation; an edge is a variant that computes one or more steps, or a
//! conversion. Built from the table and nothing else: a new row is a new edge.

use super::compose::{Cost, Edge, Flow, Node, Path, Step};
use super::costs::Costs;
use super::{Birth, Job, Limits, Plan, Stage, is_usable};
use crate::block::{BLOCK_BYTES, Error};
use crate::part::{Part, steps};
use crate::repr::Repr;
use crate::variant::{Action, Variant, find, table};

/// The flow of a job over all variants that may be used and whose cost is known.
///
/// # Errors
/// [`Error::NoPlan`] if a cost is unsound.
pub fn flow(job: Job, limits: &Limits, costs: &Costs) -> Result<Flow, Error> {
    let usable: Vec<_> = table().iter().filter(|variant| is_usable(variant, job, limits)).collect();
    // Conversions lead by way of `blocks`, whether or not the cipher has parts there.
    let mut shapes = vec![Repr::Blocks.to_string()];
    shapes.extend(usable.iter().map(|variant| variant.repr.to_string()));
    shapes.sort();
    shapes.dedup();
    let parts: Vec<_> = names(steps(job.cipher, job.direction).into_iter().map(|(step, _)| step), job);
    let mut flow = Flow::new(&parts, &shapes)?;
    for variant in usable {
        if let Some(cost) = costs.get(variant) {
            add(&mut flow, job, variant, cost)?;
        }
    }
    Ok(flow)
}

fn names(parts: impl IntoIterator<Item = Part>, job: Job) -> Vec<&'static str> {
    parts.into_iter().map(|part| part.name(job.direction)).collect()
}

/// Adds a variant that the job takes, wherever it has a place.
fn add(flow: &mut Flow, job: Job, variant: &Variant, cost: Cost) -> Result<(), super::compose::Error> {
    let name = variant.name.as_str();
    let repr = variant.repr.to_string();
    let blocks = Repr::Blocks.to_string();
    let last = flow.parts().len();
    match variant.action {
        Action::Load(_) => {
            if job.birth == Birth::Bytes {
                flow.source(name, &repr, cost)?;
            }
            if variant.repr != Repr::Blocks {
                flow.conversion(name, &blocks, &repr, cost)?;
            }
        }
        Action::Store(_) => {
            flow.sink(name, &repr, cost)?;
            if variant.repr != Repr::Blocks {
                flow.conversion(name, &repr, &blocks, cost)?;
            }
        }
        Action::Count(_) => flow.source(name, &repr, cost)?,
        Action::CountEncrypted(_) => {
            let (from, to) = (Node::Source, Node::between(last, &repr));
            flow.edge(Edge { name: name.to_owned(), from, to, cost })?;
        }
        Action::Tile(part, ..) => {
            flow.variant(name, &names(part.span(job.cipher, job.direction), job), &repr, cost)?;
        }
        Action::Whole(..) | Action::WholeCounter(_) => {
            flow.edge(Edge { name: name.to_owned(), from: Node::Source, to: Node::Sink, cost })?;
        }
        Action::Search(_) => {}
    }
    Ok(())
}

/// A path of the job's flow as a plan.
///
/// # Errors
/// [`Error::UnknownVariant`] if the path is of another flow.
pub fn plan(job: Job, flow: &Flow, path: &Path) -> Result<Plan, Error> {
    let rounds = steps(job.cipher, job.direction);
    let stage = |step: &Step| {
        let round = match &step.from {
            Node::Between { position, .. } => rounds.get(*position).map_or(0, |(_, round)| *round),
            Node::Source | Node::Sink => 0,
        };
        find(&step.name).map(|variant| Stage { variant, round })
    };
    let stages = path.steps.iter().map(stage).collect::<Result<_, _>>()?;
    let costs = path.steps.iter().map(|step| flow.edges()[step.edge].cost);
    Ok(Plan { stages, cost: costs.fold(Cost::FREE, Cost::plus) })
}

/// The size, in bytes, that a job's first plan is made for.
pub const BULK_BYTES: u64 = 1 << 20;

/// Sizes that the further plans are made for: what the plan for one of them leaves over is a job of a
/// smaller one.
const REST_BYTES: [u64; 4] = [4096, 1024, 256, BLOCK_BYTES as u64];

/// The cheapest plans of a job: for bulk, and for what narrower bundles leave over.
///
/// # Errors
/// [`Error::NoPlan`] if no path leads from source to sink.
pub fn cheapest(job: Job, limits: &Limits, costs: &Costs) -> Result<Vec<Plan>, Error> {
    let flow = flow(job, limits, costs)?;
    with_rest(job, &flow, plan(job, &flow, &best(&flow, BULK_BYTES)?)?)
}

/// A plan for bulk, and the cheapest ones for what its bundles leave over.
///
/// # Errors
/// [`Error::NoPlan`] if no path leads from source to sink.
pub fn with_rest(job: Job, flow: &Flow, bulk: Plan) -> Result<Vec<Plan>, Error> {
    let mut narrowest = bulk.bundle_blocks();
    let mut plans = vec![bulk];
    for size_bytes in REST_BYTES {
        let next = plan(job, flow, &best(flow, size_bytes)?)?;
        if next.bundle_blocks() < narrowest {
            narrowest = next.bundle_blocks();
            plans.push(next);
        }
    }
    Ok(plans)
}

fn best(flow: &Flow, len_bytes: u64) -> Result<Path, Error> {
    Ok(flow.at(len_bytes).best()?)
}
