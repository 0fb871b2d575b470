//! What is known of a program: its dependences, what each of its loops needs to be parallel, and whether that is true of a run.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use super::dependence::{Decided, Direction, Distance, Found, dependences};
use super::emit::{self, Language};
use super::parse::parse;
use super::program::{Op, Program, Reference};
use super::run::{Memory, run};
use super::solve::Budget;
use super::source::{At, Fault};
use super::verdict::{Judged, Treatment, judge};
use super::walk::walk;
use crate::Kind;

/// Rows that the exact test may look at for one program: some seconds.
const ROWS: u64 = 20_000_000;
/// Most steps of one run.
const STEPS: u64 = 1 << 23;
/// Most steps of all runs that are compared.
const ALL_STEPS: u64 = 1 << 25;

impl Program {
    /// Reads a program.
    ///
    /// # Errors
    /// If it is none, with the place.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        parse(text)
    }

    /// Runs it one iteration after another.
    ///
    /// # Errors
    /// If a subscript is outside its array, a number does not fit, or it takes too many steps.
    pub fn run(&self, memory: &mut Memory) -> Result<(), Fault> {
        run(self, &HashMap::new(), 0, memory, &mut STEPS.clone())
    }
}

/// A place where a variable is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where.
    pub at: At,
    /// As in the text, without blanks.
    pub text: String,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.text)
    }
}

/// A dependence of one access on another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// Flow, anti or output.
    pub kind: Kind,
    /// The variable.
    pub variable: String,
    /// What comes first.
    pub source: Site,
    /// What comes after it.
    pub sink: Site,
    /// For each loop around both, outermost first.
    pub directions: Vec<Direction>,
    /// Likewise, in iterations.
    pub distances: Vec<Distance>,
    /// The loop that carries it, by its number in [`Analysis::loops`]; none if it is within one iteration of all loops.
    pub carrier: Option<usize>,
    /// Whether it is certain. Otherwise it could not be ruled out within the limits of the exact test.
    pub is_certain: bool,
}

/// `(1, -1)`; several distances are `1..5`, and `1..` has no end.
fn vector(distances: &[Distance]) -> String {
    let end = |end: Option<i64>| end.map(|end| end.to_string()).unwrap_or_default();
    let one = |distance: &Distance| match distance.only() {
        Some(only) => only.to_string(),
        None => format!("{}..{}", end(distance.least), end(distance.most)),
    };
    format!("({})", distances.iter().map(one).collect::<Vec<_>>().join(", "))
}

impl Dependence {
    /// The distances, as in `(1, 0..)`.
    pub fn distance_vector(&self) -> String {
        vector(&self.distances)
    }

    /// The directions, as in `(<, =)`.
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

/// A loop, and what it needs to be parallel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looped {
    /// The name of its counter.
    pub counter: String,
    /// Where it begins.
    pub at: At,
    /// The loops around it, outermost first, by their numbers.
    pub around: Vec<usize>,
    /// Dependences that make it serial, by their numbers; none if it is parallel.
    pub hindrances: Vec<usize>,
    /// Variables that would be private if they were `local`: the last iteration may not write all that iterations before it wrote.
    pub live: Vec<String>,
    /// Variables of which every iteration has its own: the counters of this loop and of those in it, and then others.
    pub private: Vec<String>,
    /// Variables that have a closed form, and by how much an iteration changes them.
    pub inductions: Vec<(String, i64)>,
    /// Variables that iterations combine something with, by operations that may be done in any order.
    pub reductions: Vec<(String, Op)>,
    /// Arrays of which a copy is made before the loop, and what is read from it.
    pub copied: Vec<(String, Vec<Site>)>,
    /// What the last iteration alone writes.
    pub last_only: Vec<Site>,
    /// Whether the last iteration runs by itself, after all others.
    pub peels: bool,
}

impl Looped {
    /// Whether its iterations may run in any order, with what is said here done.
    pub fn is_parallel(&self) -> bool {
        self.hindrances.is_empty()
    }

    /// What has to be done, in words; none if nothing has.
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

/// What is known of a program.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// All dependences.
    pub dependences: Vec<Dependence>,
    /// All loops, in the order of the text.
    pub loops: Vec<Looped>,
    /// How the pairs of accesses were decided.
    pub decided: Decided,
    program: Program,
    treatments: Vec<Option<Treatment>>,
}

impl Analysis {
    /// Analyses a program.
    ///
    /// # Errors
    /// If a subscript or a bound is not affine, with the place.
    pub fn of(program: &Program) -> Result<Self, Fault> {
        let mut budget = Budget { rows: ROWS };
        let walk = walk(program, &mut budget)?;
        let (found, decided) = dependences(program, &walk, &mut budget)?;
        let judged = judge(program, &walk, &found, &mut budget);
        let references = references(program);
        let site = |access: usize| site(references[&walk.accesses[access].number]);
        let shown = |found: &Found| Dependence {
            kind: found.kind,
            variable: program.name(walk.accesses[found.source].variable).to_owned(),
            source: site(found.source),
            sink: site(found.sink),
            directions: found.directions.clone(),
            distances: found.distances.clone(),
            carrier: found.carrier,
            is_certain: found.is_certain,
        };
        let loops =
            judged.iter().enumerate().map(|(number, judged)| looped(program, number, judged, &references));
        let treatment = |judged: &Judged| match judged {
            Judged::Parallel(treatment) => Some(treatment.clone()),
            Judged::Serial { .. } => None,
        };
        Ok(Self {
            dependences: found.iter().map(shown).collect(),
            loops: loops.collect(),
            decided,
            program: program.clone(),
            treatments: judged.iter().map(treatment).collect(),
        })
    }

    /// What the loop carries: dependences between its iterations.
    pub fn carried(&self, number: usize) -> impl Iterator<Item = &Dependence> {
        self.dependences.iter().filter(move |dependence| dependence.carrier == Some(number))
    }

    /// The loops that the parallel program runs in parallel: those that may be, and are in none that is.
    pub fn chosen(&self) -> BTreeSet<usize> {
        let may = |number: &usize| self.treatments[*number].is_some();
        let is_outermost = |number: &usize| !self.loops[*number].around.iter().any(may);
        (0..self.loops.len()).filter(may).filter(is_outermost).collect()
    }

    /// Runs the program with the iterations of these loops in an order that the seed decides, as a parallel machine might; those that are serial
    /// run as they are.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run(&self, loops: &BTreeSet<usize>, seed: u64, memory: &mut Memory) -> Result<(), Fault> {
        run(&self.program, &self.treated(loops), seed, memory, &mut STEPS.clone())
    }

    /// What is to be done for those of these loops that are parallel.
    fn treated(&self, loops: &BTreeSet<usize>) -> HashMap<usize, &Treatment> {
        let treated =
            loops.iter().filter_map(|&number| Some((number, self.treatments.get(number)?.as_ref()?)));
        treated.collect()
    }

    /// Whether the [chosen](Self::chosen) loops in some random orders, and each parallel loop by itself, leave what the serial program leaves.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn agrees(&self) -> Result<bool, Fault> {
        let before = Memory::new(&self.program);
        let mut serial = before.clone();
        let mut steps = ALL_STEPS;
        run(&self.program, &HashMap::new(), 0, &mut serial, &mut steps)?;
        let alone = (0..self.loops.len()).filter(|&number| self.treatments[number].is_some());
        let orders =
            [self.chosen(), self.chosen()].into_iter().chain(alone.map(|number| BTreeSet::from([number])));
        for (seed, loops) in orders.enumerate().filter(|(_, loops)| !loops.is_empty()) {
            let mut memory = before.clone();
            run(
                &self.program,
                &self.treated(&loops),
                0x9e37_79b9 + 2 * seed as u64,
                &mut memory,
                &mut steps,
            )?;
            if !memory.is_like(&serial, &self.program) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The serial and the parallel program written out, with a `main` that compares them and prints the [digest](Memory::digest) of what they leave.
    pub fn emit(&self, language: Language) -> String {
        emit::emit(&self.program, &self.treated(&self.chosen()), language)
    }
}

/// All references by their numbers.
fn references(program: &Program) -> HashMap<usize, &Reference> {
    let all =
        program.statements.iter().flat_map(|statement| [statement.reads(), vec![&statement.target]].concat());
    all.map(|reference| (reference.number, reference)).collect()
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
