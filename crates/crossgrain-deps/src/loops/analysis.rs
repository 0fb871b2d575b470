//! The results for a program: its dependences, the treatment that makes each loop parallel, and a check of
//! both by runs.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use super::dependence::{Decided, Direction, Distance, Found};
use super::emit::{self, Language};
use super::memory::Memory;
use super::parse::parse;
use super::program::{If, Op, Program, Reference};
use super::run::run;
use super::solve::Budget;
use super::source::{At, Fault};
use super::transform::{Step, transform};
use super::verdict::{Facts, Judged, Treatment};
use crate::Kind;

/// Budget of the exact test for one program, in rows: some seconds.
const ROWS: u64 = 20_000_000;
/// Maximum number of steps in one run.
const STEPS: u64 = 1 << 23;
/// Maximum number of steps in all runs of one comparison.
const ALL_STEPS: u64 = 1 << 25;

impl Program {
    /// Parses a program.
    ///
    /// # Errors
    /// If the text is not a program. The fault gives the place.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        parse(text)
    }

    /// Runs the program serially.
    ///
    /// # Errors
    /// If a subscript is out of range, a number overflows, or the run takes too many steps.
    pub fn run(&self, memory: &mut Memory) -> Result<(), Fault> {
        run(self, &HashMap::new(), 0, memory, &mut STEPS.clone())
    }
}

/// The place of a read or write in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Line and column.
    pub at: At,
    /// The reference as in the text, without blanks.
    pub text: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.text)
    }
}

/// A dependence between two accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Flow, anti or output.
    pub kind: Kind,
    /// The variable.
    pub variable: String,
    /// The earlier access.
    pub source: Site,
    /// The later access.
    pub sink: Site,
    /// For each loop that contains both accesses, outermost first.
    pub directions: Vec<Direction>,
    /// For the same loops, in iterations.
    pub distances: Vec<Distance>,
    /// The loop that carries the dependence, as an index into [`Analysis::loops`]. `None` if the dependence
    /// lies within one iteration of all loops.
    pub carrier: Option<usize>,
    /// Whether the dependence is certain. If not, the exact test reached its limit before it could exclude
    /// it.
    pub is_certain: bool,
}

/// Formats distances as `(1, -1)`. Several distances are `1..5`, and `1..` is unbounded.
fn vector(distances: &[Distance]) -> String {
    let end = |end: Option<i64>| end.map(|end| end.to_string()).unwrap_or_default();
    let one = |distance: &Distance| match distance.only() {
        Some(only) => only.to_string(),
        None => format!("{}..{}", end(distance.least), end(distance.most)),
    };
    format!("({})", distances.iter().map(one).collect::<Vec<_>>().join(", "))
}

impl Dependence {
    /// The distances, for example `(1, 0..)`.
    pub fn distance_vector(&self) -> String {
        vector(&self.distances)
    }

    /// The directions, for example `(<, =)`.
    pub fn direction_vector(&self) -> String {
        let signs: Vec<_> = self.directions.iter().map(|direction| direction.sign()).collect();
        format!("({})", signs.join(", "))
    }
}

impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, variable, source, sink, .. } = self;
        let (distance, direction) = (self.distance_vector(), self.direction_vector());
        let doubt = if self.is_certain { "" } else { ", unknown: not ruled out" };
        write!(
            f,
            "{} on {variable} from {source} to {sink}, distance {distance}, direction {direction}{doubt}",
            kind.name()
        )
    }
}

/// A loop and the treatment that makes it parallel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looped {
    /// The name of its counter.
    pub counter: String,
    /// The place of its head.
    pub at: At,
    /// The loops that contain it, outermost first, as indices.
    pub around: Vec<usize>,
    /// The dependences that make it serial, as indices. Empty if it is parallel.
    pub hindrances: Vec<usize>,
    /// Variables that could be private if they were `local`. The last iteration may not write everything
    /// that earlier iterations wrote.
    pub live: Vec<String>,
    /// Variables that are private to each iteration: the counters of this loop and of loops in it, then
    /// others.
    pub private: Vec<String>,
    /// Variables with a closed form, and their change per iteration.
    pub inductions: Vec<(String, i64)>,
    /// Variables that iterations combine with values, by operations that may be reordered.
    pub reductions: Vec<(String, Op)>,
    /// Arrays that are copied before the loop, and the reads that use the copy.
    pub copied: Vec<(String, Vec<Site>)>,
    /// Writes that only the last iteration performs.
    pub last_only: Vec<Site>,
    /// Whether the last iteration runs separately, after all others.
    pub peels: bool,
}

impl Looped {
    /// Whether its iterations may run in any order, after the treatment described here.
    pub fn is_parallel(&self) -> bool {
        self.hindrances.is_empty()
    }

    /// The treatment in words. Empty if the loop needs none.
    pub fn steps(&self) -> Vec<String> {
        let mut steps = Vec::new();
        for (name, step) in &self.inductions {
            steps.push(format!("{name} in closed form, {step} an iteration"));
        }
        let own: Vec<_> = self.private.iter().map(String::as_str).collect();
        if !own.is_empty() {
            steps.push(format!("private {}", own.join(", ")));
        }
        for (name, op) in &self.reductions {
            steps.push(format!("reduce {name} by {}", op.sign()));
        }
        for (name, reads) in &self.copied {
            let reads: Vec<_> = reads.iter().map(Site::to_string).collect();
            steps.push(format!("copy {name} for {}", reads.join(", ")));
        }
        for site in &self.last_only {
            steps.push(format!("write {site} in the last iteration alone"));
        }
        if self.peels {
            steps.push("run the last iteration after all others".to_owned());
        }
        steps
    }
}

/// The analysis of a program.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// All dependences.
    pub dependences: Vec<Dependence>,
    /// All loops, in text order.
    pub loops: Vec<Looped>,
    /// Statistics of the tests that decided the pairs of accesses.
    pub decided: Decided,
    program: Program,
    facts: Facts,
}

impl Analysis {
    /// Analyses a program.
    ///
    /// # Errors
    /// If a subscript or a bound is not affine. The fault gives the place.
    pub fn of(program: &Program) -> Result<Self, Fault> {
        Ok(Self::new(program.clone(), Facts::of(program, &mut Budget { rows: ROWS })?))
    }

    fn new(program: Program, facts: Facts) -> Self {
        let references = references(&program);
        let access = |access: usize| &facts.walk.accesses[access];
        let site_of = |number: usize| site(references[&access(number).number]);
        let shown = |found: &Found| Dependence {
            kind: found.kind,
            variable: program.name(access(found.source).variable).to_owned(),
            source: site_of(found.source),
            sink: site_of(found.sink),
            directions: found.directions.clone(),
            distances: found.distances.clone(),
            carrier: found.carrier,
            is_certain: found.is_certain,
        };
        let judged = facts.judged.iter().enumerate();
        let loops = judged.map(|(number, judged)| looped(&program, number, judged, &references)).collect();
        let (dependences, decided) = (facts.found.iter().map(shown).collect(), facts.decided);
        Self { dependences, loops, decided, program, facts }
    }

    /// The dependences that a loop carries, between its iterations.
    pub fn carried(&self, number: usize) -> impl Iterator<Item = &Dependence> {
        self.dependences.iter().filter(move |dependence| dependence.carrier == Some(number))
    }

    /// The loops that the parallel program runs in parallel: the outermost parallel ones.
    pub fn chosen(&self) -> BTreeSet<usize> {
        let may = |number: &usize| self.treatment(*number).is_some();
        let is_outermost = |number: &usize| !self.loops[*number].around.iter().any(may);
        (0..self.loops.len()).filter(may).filter(is_outermost).collect()
    }

    /// Runs the program with the iterations of these loops in a random order that `seed` determines, as a
    /// parallel machine might. Serial loops in the set run in order.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run(&self, loops: &BTreeSet<usize>, seed: u64, memory: &mut Memory) -> Result<(), Fault> {
        run(&self.program, &self.treated(loops), seed, memory, &mut STEPS.clone())
    }

    /// The treatments of those of these loops that are parallel.
    fn treated(&self, loops: &BTreeSet<usize>) -> HashMap<usize, &Treatment> {
        loops.iter().filter_map(|&number| Some((number, self.treatment(number)?))).collect()
    }

    /// The treatment of a loop, if it is parallel.
    fn treatment(&self, number: usize) -> Option<&Treatment> {
        match self.facts.judged.get(number)? {
            Judged::Parallel(treatment) => Some(treatment),
            Judged::Serial { .. } => None,
        }
    }

    /// Compares runs with the serial program. The [chosen](Self::chosen) loops run in some random orders,
    /// and each parallel loop also runs separately. Returns whether all results agree.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn agrees(&self) -> Result<bool, Fault> {
        self.agrees_with(&self.program)
    }

    /// Compares runs with another program, which has the same variables before new ones.
    fn agrees_with(&self, other: &Program) -> Result<bool, Fault> {
        let before = Memory::new(&self.program);
        let mut serial = before.clone();
        let mut steps = ALL_STEPS;
        run(other, &HashMap::new(), 0, &mut serial, &mut steps)?;
        let alone = (0..self.loops.len()).filter(|&number| self.treatment(number).is_some());
        let orders =
            [self.chosen(), self.chosen()].into_iter().chain(alone.map(|number| BTreeSet::from([number])));
        let is_other = !std::ptr::eq(other, &self.program);
        for (seed, loops) in orders.enumerate().filter(|(_, loops)| is_other || !loops.is_empty()) {
            let mut memory = before.clone();
            run(
                &self.program,
                &self.treated(&loops),
                0x9e37_79b9 + 2 * seed as u64,
                &mut memory,
                &mut steps,
            )?;
            if !memory.is_like(&serial, other) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The program as source text, in a serial and a parallel version. It takes parameters as arguments.
    /// Its `main` compares the two versions, prints the [digest](Memory::digest) of their results, and times
    /// both with 1 to N threads.
    pub fn emit(&self, language: Language) -> String {
        emit::emit(&self.program, &self.program, &self.treated(&self.chosen()), language)
    }

    /// Looks for transformations that make serial loops parallel. `None` if it finds none.
    pub fn transformed(&self) -> Option<Transformed> {
        let (program, facts, steps) = transform(&self.program, &self.facts, &mut Budget { rows: ROWS })?;
        Some(Transformed { steps, analysis: Self::new(program, facts), original: self.program.clone() })
    }
}

/// A program with transformed loops. Loops that are parallel as written stay as they are.
#[derive(Clone, Debug)]
pub struct Transformed {
    /// The transformations, in order.
    pub steps: Vec<Step>,
    /// The analysis of the transformed program. Places are those of the original.
    pub analysis: Analysis,
    original: Program,
}

impl Transformed {
    /// Compares random orders of the transformed program with the serial original, as [`Analysis::agrees`]
    /// does.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn agrees(&self) -> Result<bool, Fault> {
        self.analysis.agrees_with(&self.original)
    }

    /// The program as source text: the serial original, and the transformed loops in parallel.
    pub fn emit(&self, language: Language) -> String {
        let Analysis { program, .. } = &self.analysis;
        emit::emit(&self.original, program, &self.analysis.treated(&self.analysis.chosen()), language)
    }
}

/// All references, by number.
fn references(program: &Program) -> HashMap<usize, &Reference> {
    let all =
        program.statements.iter().flat_map(|statement| [statement.reads(), vec![&statement.target]].concat());
    all.chain(program.ifs.iter().flat_map(If::reads)).map(|reference| (reference.number, reference)).collect()
}

fn site(reference: &Reference) -> Site {
    Site { at: reference.at, text: reference.text.clone() }
}

fn looped(
    program: &Program,
    number: usize,
    judged: &Judged,
    references: &HashMap<usize, &Reference>,
) -> Looped {
    let this = &program.loops[number];
    let (treatment, hindrances, live) = match judged.clone() {
        Judged::Parallel(treatment) => (treatment, Vec::new(), BTreeSet::new()),
        Judged::Serial { hindrances, live } => (Treatment::default(), hindrances, live),
    };
    let name = |variable: usize| program.name(variable).to_owned();
    let inner = program
        .loops
        .iter()
        .enumerate()
        .filter(|(at, inner)| *at == number || inner.around.contains(&number));
    let mut private = Vec::new();
    for variable in inner.map(|(_, inner)| inner.counter).chain(treatment.private.iter().copied()) {
        if hindrances.is_empty() && !private.contains(&name(variable)) {
            private.push(name(variable));
        }
    }
    let sites = |reads: &BTreeSet<usize>| reads.iter().map(|read| site(references[read])).collect();
    Looped {
        counter: name(this.counter),
        at: this.at,
        around: this.around.clone(),
        hindrances,
        live: live.into_iter().map(name).collect(),
        private,
        inductions: treatment.inductions.iter().map(|(&variable, &step)| (name(variable), step)).collect(),
        reductions: treatment.reductions.iter().map(|(&variable, &op)| (name(variable), op)).collect(),
        copied: treatment.copied.iter().map(|(&variable, reads)| (name(variable), sites(reads))).collect(),
        last_only: treatment.last_only.iter().map(|&at| site(&program.statements[at].target)).collect(),
        peels: treatment.peels,
    }
}
