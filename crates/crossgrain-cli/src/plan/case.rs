//! The case that `crossgrain plan` shows: a flow with its costs, the planner's report on it, and the origin
//! of both.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::thread;

use crossgrain::engine::text::{grouped, size};
use crossgrain::engine::tune::{Effort, Field, contend, end_to_end};
use crossgrain::engine::variant::{Policy, find};
use crossgrain::plan::compose::{self, Cost, Edge, Flow, Node, Path, Pure, Report, Step};
use crossgrain::plan::graph::{BULK_BYTES, BYTES, JobFlow};
use crossgrain::plan::measure::{Measured, Sampling};
use crossgrain::plan::{Costs, Fused, Job, JobSource, Leaks, Limits, Place, Plans};
use crossgrain::wide::{self, Rijndael};
use crossgrain::{BLOCK_BYTES, Direction, Features};

use super::args::JobName;
use super::mixes::Mixes;
use crate::error::Error;

/// Runners-up that are shown.
const RUNNERS_UP: usize = 5;

/// The largest job in bytes whose paths are timed.
const RUN_BYTES_MAX: u64 = 1 << 26;

/// A planned flow.
#[derive(Debug)]
pub(super) struct Case {
    /// A title that names the job.
    pub(super) title: String,
    /// The job; `None` for costs from a file.
    pub(super) facts: Option<Facts>,
    /// The job's flow over variants.
    job_flow: Option<JobFlow>,
    /// The same with devices added; or the flow of a cost file.
    pub(super) flow: Flow,
    /// Devices, each with the sizes in bytes from which it is faster than one thread and than all threads.
    pub(super) places: Vec<(Place, [Option<u64>; 2])>,
    /// The path shown first, other paths, and the pure forms for comparison.
    pub(super) report: Report,
    /// A description of the path shown first.
    pub(super) first: String,
    /// Measured end-to-end times of the first path and the runners-up, if costs were measured.
    pub(super) measured: Vec<Measured>,
    /// Pure forms and mixes that were run, if the user asked for them.
    pub(super) mixes: Option<Mixes>,
    /// The spread of the samples of each variant's cost, as a fraction of the median.
    pub(super) spreads: BTreeMap<String, f64>,
}

/// An edge that the policy refuses.
pub(super) struct Refused {
    pub(super) edge: Edge,
    /// The reason in few words, for a picture.
    pub(super) reason: &'static str,
}

/// The requested job of this library.
#[derive(Debug)]
pub(super) struct Facts {
    /// The name of the cipher.
    pub(super) cipher: &'static str,
    /// `None` for a cipher with wide blocks.
    pub(super) job: Option<Job>,
    /// The name of the job, such as `ctr` or `cbc-decrypt`.
    pub(super) mode: String,
    pub(super) basis: Basis,
    pub(super) policy: Policy,
    pub(super) features: Features,
    pub(super) len_bytes: u64,
    /// Whether the mode's counters are secret, so that plans may not use tables in the counter's order.
    pub(super) secret_counter: bool,
    pub(super) is_search: bool,
    /// Whether each message is serial, so that the plan is for many messages side by side.
    pub(super) is_of_many: bool,
}

/// The origin of a job's costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// Wisdom stored on this machine.
    Wisdom,
    /// The effort given as an argument, or estimates if there is no wisdom.
    Effort(Effort),
}

impl Basis {
    /// `wisdom`, or the effort's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Wisdom => "wisdom",
            Self::Effort(effort) => effort.name(),
        }
    }
}

impl Facts {
    /// The number of keys that a search tries.
    pub(super) const fn keys(&self) -> Option<u64> {
        if self.is_search { Some(self.len_bytes / BLOCK_BYTES as u64) } else { None }
    }

    /// The job in words.
    fn title(&self) -> String {
        let Self { cipher, mode, len_bytes, .. } = self;
        match (self.job.map(|job| job.source), self.keys().map(grouped)) {
            (Some(JobSource::Keys { usage, known_bits }), Some(keys)) => {
                let usage = usage.name();
                format!("{cipher} {mode} of {keys} keys of a {usage} by {known_bits} known bits")
            }
            (_, Some(keys)) => format!("{cipher} {mode} of {keys} keys"),
            _ if self.is_of_many => {
                format!("{cipher} {mode} of {} in many messages", size(*len_bytes))
            }
            _ => format!("{cipher} {mode} of {}", size(*len_bytes)),
        }
    }

    /// The speed that corresponds to this time.
    pub(super) fn speed(&self, total_ns: f64) -> String {
        match self.keys() {
            Some(keys) => {
                let key_ns = total_ns / keys as f64;
                format!("{key_ns:.2} ns a key, {:.3} million keys/s", 1e3 / key_ns)
            }
            None => format!("{:.2} GB/s", self.len_bytes as f64 / total_ns),
        }
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { secret_counter: self.secret_counter, ..Limits::of(self.features, self.policy) }
    }

    /// The length of a job that is run as a whole.
    pub(super) fn runs_bytes(&self) -> Result<usize, Error> {
        if self.len_bytes > RUN_BYTES_MAX {
            let most = size(RUN_BYTES_MAX);
            return Err(Error::usage(format!("whole jobs are run for this: give --bytes up to {most}")));
        }
        Ok(self.len_bytes as usize)
    }

    /// The origin of the costs, and the policy, in words.
    pub(super) fn basis(&self) -> String {
        let costs = match self.basis {
            Basis::Wisdom => "costs measured on this machine, as wisdom keeps them",
            Basis::Effort(Effort::Estimate) => "estimated costs, as shipped: nothing was timed here",
            Basis::Effort(Effort::Measure) => "costs measured on this machine",
            Basis::Effort(Effort::Exhaustive) => {
                "costs measured on this machine, and of the best paths the fastest taken"
            }
        };
        match self.policy {
            Policy::Any => format!("policy any, a plan may leak through the cache; {costs}"),
            Policy::ConstantTime => format!("policy constant-time; {costs}"),
        }
    }
}

impl Case {
    /// A job of this library with these costs, on the CPU and on these devices.
    pub(super) fn of_job(facts: Facts, job: Job, costs: &Costs, places: Vec<Place>) -> Result<Self, Error> {
        let job_flow = JobFlow::new(job, &facts.limits(), costs)?;
        let mut flow = job_flow.flow().clone();
        let places = places.into_iter().map(|place| (break_evens(&place, &flow), place));
        let places: Vec<_> = places.map(|(sizes, place)| (place, sizes)).collect();
        for (place, _) in &places {
            place.join(&mut flow).map_err(|error| Error::usage(error.to_string()))?;
        }
        let report = flow.at(facts.len_bytes).report(RUNNERS_UP);
        let mut report = report.map_err(|error| Error::usage(error.to_string()))?;
        for edge in flow.edges().iter().enumerate().filter(|(_, edge)| is_whole(&flow, edge)) {
            add_whole(&mut report.pure, &flow, edge, facts.len_bytes);
        }
        let title = facts.title();
        let spreads = costs.iter().filter_map(|(name, known)| Some((name.to_owned(), known.spread?)));
        let spreads = spreads.collect();
        let (facts, job_flow) = (Some(facts), Some(job_flow));
        let (first, measured, mixes) = (cheapest(), Vec::new(), None);
        Ok(Self { title, facts, job_flow, flow, places, report, first, measured, mixes, spreads })
    }

    /// A job of a cipher with wide blocks: the variants that these features allow. Modes that are serial in this
    /// direction compute one block at a time.
    pub(super) fn of_wide(facts: Facts, cipher: Rijndael, name: JobName) -> Result<Self, Error> {
        let block_bytes = cipher.block_bytes();
        let (work, is_serial) = match name {
            JobName::Mode(mode, direction) => {
                (mode.cipher_direction(direction).name(), !mode.is_parallel(direction))
            }
            JobName::Search(Direction::Encrypt) => ("search", false),
            _ => ("search-decrypt", false),
        };
        let part = format!("rijndael{}-{work}", 8 * block_bytes);
        let mut variants = wide::variants();
        variants.retain(|variant| {
            let is_its = variant.name.split('/').next() == Some(&part);
            is_its && facts.features.contains(variant.needs)
        });
        let reprs: BTreeSet<_> = variants.iter().map(|variant| variant.repr.to_string()).collect();
        let reprs: Vec<_> = reprs.into_iter().collect();
        let flow = || -> Result<Flow, compose::Error> {
            let mut flow = Flow::new(&[&part], &reprs)?;
            for variant in &variants {
                // In a search, a key counts as a block of 16 bytes.
                let unit_bytes = if facts.is_search { BLOCK_BYTES } else { block_bytes };
                let units = if is_serial { 1 } else { variant.bundle_blocks };
                let per_byte_ns = variant.bundle_ns / (units * unit_bytes) as f64;
                let fixed_ns = variant.bundle_ns - per_byte_ns * unit_bytes as f64;
                let cost = Cost { fixed_ns, per_byte_ns };
                flow.variant(&variant.name, &[&part], &variant.repr.to_string(), cost)?;
            }
            for repr in &reprs {
                flow.start(repr)?;
                flow.end(repr)?;
            }
            Ok(flow)
        };
        let refused = |error: compose::Error| Error::usage(error.to_string());
        let flow = flow().map_err(refused)?;
        let report = flow.at(facts.len_bytes).report(RUNNERS_UP).map_err(refused)?;
        let (title, first, facts) = (facts.title(), cheapest(), Some(facts));
        let (job_flow, places, measured, mixes) = (None, Vec::new(), Vec::new(), None);
        let spreads = BTreeMap::new();
        Ok(Self { title, facts, job_flow, flow, places, report, first, measured, mixes, spreads })
    }

    /// A long job, with measured costs or estimates.
    pub(super) fn for_picture(job: Job, features: Features, costs: Option<&Costs>) -> Result<Self, Error> {
        let (basis, costs) = Self::kept(job, costs);
        let (mode, policy) = (JobName::of(job).to_string(), Policy::ConstantTime);
        let facts = Facts {
            cipher: job.cipher.name(),
            job: Some(job),
            mode,
            basis,
            policy,
            features,
            len_bytes: BULK_BYTES,
            secret_counter: false,
            is_search: job.source.is_search(),
            is_of_many: job.source == JobSource::Mode(Fused::Chains),
        };
        Self::of_job(facts, job, &costs, Vec::new())
    }

    /// The costs in wisdom, completed by estimates; or only estimates.
    pub(super) fn kept(job: Job, costs: Option<&Costs>) -> (Basis, Costs) {
        match costs {
            Some(costs) => (Basis::Wisdom, costs.filled(job.cipher)),
            None => (Basis::Effort(Effort::Estimate), Costs::estimates(job.cipher)),
        }
    }

    /// Costs from the user, in any unit.
    pub(super) fn of_costs(title: String, flow: Flow) -> Result<Self, compose::Error> {
        let report = flow.at(0).report(RUNNERS_UP)?;
        let (first, measured, spreads) = (cheapest(), Vec::new(), BTreeMap::new());
        let (facts, job_flow, places, mixes) = (None, None, Vec::new(), None);
        Ok(Self { title, facts, job_flow, flow, places, report, first, measured, mixes, spreads })
    }

    pub(super) fn facts(&self) -> Result<&Facts, Error> {
        self.facts.as_ref().ok_or_else(not_a_job)
    }

    pub(super) fn job(&self) -> Result<Job, Error> {
        self.facts()?.job.ok_or_else(not_a_job)
    }

    pub(super) fn job_flow(&self) -> Result<&JobFlow, Error> {
        self.job_flow.as_ref().ok_or_else(not_a_job)
    }

    /// Times the first path and the runners-up, unless the job is so large that memory would dominate the
    /// time.
    pub(super) fn run_paths(&mut self, clock_ns: &dyn Fn() -> u64) -> Result<(), Error> {
        let facts = self.facts()?;
        if facts.len_bytes > RUN_BYTES_MAX {
            return Ok(());
        }
        let paths = std::iter::once(&self.report.best).chain(&self.report.runners_up);
        let job_flow = self.job_flow()?;
        let plans = paths.map(|path| job_flow.plan(path)).collect::<Result<Vec<_>, _>>()?;
        let sampling = Sampling { turns: 15, sample_ns: 300_000 };
        let len_bytes = facts.len_bytes as usize;
        self.measured = end_to_end(self.job()?, &facts.limits(), &plans, len_bytes, sampling, clock_ns)?;
        Ok(())
    }

    /// Times the best paths, and shows the fastest first.
    pub(super) fn contend(
        &mut self,
        costs: &Costs,
        budget_ms: u64,
        clock_ns: &dyn Fn() -> u64,
    ) -> Result<(), Error> {
        let facts = self.facts()?;
        let field = Field { len_bytes: facts.runs_bytes()?, budget_ms, ..Field::default() };
        let mut contenders = contend(self.job()?, &facts.limits(), costs, field, clock_ns)?;
        contenders.truncate(RUNNERS_UP + 1);
        self.measured = contenders.iter().map(|one| one.measured).collect();
        let mut paths = contenders.into_iter().map(|one| one.path);
        if let Some(fastest) = paths.next() {
            self.report.best = fastest;
            self.report.runners_up = paths.collect();
        }
        self.first = "fastest path".to_owned();
        Ok(())
    }

    /// Shows the path of a stored plan first, followed by the path that would have been chosen.
    pub(super) fn put_first(&mut self, plans: &Plans) -> Result<(), Error> {
        let facts = self.facts()?;
        let [bulk, ..] = plans.within(self.job()?, &facts.limits())? else {
            return Err(Error::usage("the plan is empty"));
        };
        let path = self.job_flow()?.follow(bulk, facts.len_bytes)?;
        let Report { best, runners_up, .. } = &mut self.report;
        runners_up.insert(0, std::mem::replace(best, path));
        runners_up.retain(|other| other != best);
        runners_up.truncate(RUNNERS_UP);
        Ok(())
    }

    /// The first path as a plan, with plans for the blocks that its bundles leave over.
    pub(super) fn plans(&self) -> Result<Plans, Error> {
        let job_flow = self.job_flow()?;
        let bulk = job_flow.plan(&self.report.best)?;
        Ok(Plans::new(self.job()?, job_flow.with_rest(bulk)?)?)
    }

    /// The edges that the job would have under policy any, and that this policy refuses.
    pub(super) fn refused(&self) -> Vec<Refused> {
        let Some((facts, job)) = self.facts.as_ref().and_then(|facts| Some((facts, facts.job?))) else {
            return Vec::new();
        };
        let limits = Limits { policy: Policy::Any, ..facts.limits() };
        let all = JobFlow::new(job, &limits, &Costs::estimates(job.cipher));
        let edges = all.map_or_else(|_| Vec::new(), |all| all.flow().edges().to_vec());
        let refused = edges.into_iter().filter_map(|edge| {
            let leaks = find(&edge.name).ok()?.leaks;
            let reason = match leaks {
                Leaks::Nothing => return None,
                Leaks::TableIndices => "table look-ups refused",
            };
            (!facts.policy.admits(leaks)).then_some(Refused { edge, reason })
        });
        refused.collect()
    }

    /// The cheapest path in one representation, if there is one.
    pub(super) fn pure(&self, representation: &str) -> Option<&Path> {
        let form = self.report.pure.iter().find(|form| form.representation == representation)?;
        form.whole.as_ref()
    }

    /// Representations, from along the grain to across it and from narrow to wide. Those of a file keep their
    /// order.
    pub(super) fn representations(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.flow.representations().iter().map(String::as_str).collect();
        if self.facts.is_some() {
            names.retain(|name| *name != BYTES);
            names.sort_by_key(|name| grain(name));
        }
        names
    }
}

/// The sizes from which a device is faster than one thread of the CPU, and than all threads.
fn break_evens(place: &Place, cpu: &Flow) -> [Option<u64>; 2] {
    // A job without a plan is reported elsewhere.
    let cpu_ns = |len_bytes| cpu.at(len_bytes).best().map_or(f64::INFINITY, |path| path.total_ns);
    [1, threads()].map(|count| place.break_even(count, cpu_ns))
}

/// The number of CPU threads.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn not_a_job() -> Error {
    Error::usage("costs from a file are no job that can be run")
}

fn cheapest() -> String {
    "cheapest path".to_owned()
}

/// Whether an edge is a kernel from bytes to bytes. The pass of a mode may follow.
fn is_whole(flow: &Flow, edge: &Edge) -> bool {
    let is_end = |node: &Node| node.representation().is_none_or(|name| name == BYTES);
    [&edge.from, &edge.to].into_iter().all(is_end) && flow.parts_of(edge).len() == flow.parts().len()
}

/// The representation of a node. Bytes in the buffers of a mode's job have none.
pub(super) fn sliced(node: &Node) -> Option<&str> {
    node.representation().filter(|name| *name != BYTES)
}

/// The representation of an edge that computes parts: that of its end points, or of its variant.
pub(super) fn home(edge: &Edge) -> Option<String> {
    let ends = sliced(&edge.to).or_else(|| sliced(&edge.from));
    ends.map(str::to_owned).or_else(|| Some(find(&edge.name).ok()?.repr.to_string()))
}

/// Adds a kernel from source to sink as a pure form of the representation it works in.
fn add_whole(pure: &mut Vec<Pure>, flow: &Flow, (index, edge): (usize, &Edge), len_bytes: u64) {
    let Some(representation) = find(&edge.name).map(|variant| variant.repr.to_string()).ok() else { return };
    let step = |(edge, Edge { name, from, to, cost }): (usize, &Edge)| {
        let cost_ns = cost.at(len_bytes);
        Step { edge, name: name.clone(), from: from.clone(), to: to.clone(), cost_ns }
    };
    let cheapest = |fits: &dyn Fn(&Edge) -> bool| {
        let fit = flow.edges().iter().enumerate().filter(|(_, edge)| fits(edge));
        fit.map(step).min_by(|a, b| a.cost_ns.total_cmp(&b.cost_ns))
    };
    // The frame and the pass of a mode.
    let mut steps = Vec::new();
    if edge.from != Node::Source {
        steps.extend(cheapest(&|frame| frame.to == edge.from));
    }
    steps.push(step((index, edge)));
    if edge.to != Node::Sink {
        steps.extend(cheapest(&|pass| pass.from == edge.to));
    }
    let total_ns = steps.iter().map(|step| step.cost_ns).sum();
    let path = Path { steps, total_ns };
    match pure.iter_mut().find(|form| form.representation == representation) {
        None => pure.push(Pure { representation, parts: None, whole: Some(path) }),
        Some(form) if form.whole.as_ref().is_none_or(|whole| total_ns < whole.total_ns) => {
            form.whole = Some(path);
        }
        Some(_) => {}
    }
}

/// Sort key of a representation of this library: its kind, from along the grain to across it, and its width.
fn grain(name: &str) -> (usize, usize) {
    const KINDS: [&str; 4] = ["blocks", "bytesliced", "hsliced", "bitsliced"];
    let kind = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let place = KINDS.iter().position(|known| *known == kind).unwrap_or(KINDS.len());
    (place, name[kind.len()..].parse().unwrap_or(0))
}

/// A cost, without decimals if it is an integer or at least 1000.
pub(super) fn number(cost: f64) -> String {
    let decimals = usize::from(cost.fract() != 0.0 && cost < 1000.0);
    grouped(format_args!("{cost:.decimals$}"))
}
