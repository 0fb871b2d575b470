//! Random nests of loops: what the analysis says of their dependences is what running through all iterations shows, and every loop that
//! it calls parallel leaves the same in another order.
//!
//! The nests are made, and run through, by this file alone: the library sees only their text.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use crossgrain_deps::loops::{Analysis, Direction, Distance, Kind, Program};

/// How many nests.
const CASES: u64 = 10_000;

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number within these bounds.
    fn from(&mut self, least: i64, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        least + ((self.0 >> 11) % (most - least + 1) as u64) as i64
    }

    fn one_in(&mut self, count: i64) -> bool {
        self.from(1, count) == 1
    }
}

/// A constant, and a factor for each loop around.
#[derive(Clone, Debug)]
struct Sum {
    constant: i64,
    factors: Vec<i64>,
}

impl Sum {
    fn random(random: &mut Random, depth: usize, largest: i64) -> Self {
        let mut factor = || if random.one_in(2) { 0 } else { random.from(-largest, largest) };
        let factors = (0..depth).map(|_| factor()).collect();
        Self { constant: random.from(-3, 6), factors }
    }

    fn value(&self, counters: &[i64]) -> i64 {
        self.constant
            + self.factors.iter().zip(counters).map(|(factor, counter)| factor * counter).sum::<i64>()
    }

    fn text(&self, names: &[String]) -> String {
        let mut text = self.constant.to_string();
        for (factor, name) in self.factors.iter().zip(names).filter(|(factor, _)| **factor != 0) {
            write!(text, " + {factor}*{name}").unwrap();
        }
        text
    }
}

/// A read or a write: which variable, by which subscripts, and where it is in the text.
#[derive(Clone, Debug)]
struct Access {
    variable: &'static str,
    subscripts: Vec<Sum>,
    at: (u32, u32),
}

#[derive(Debug)]
enum Node {
    /// Its number, bounds and step.
    Loop(usize, Sum, Sum, i64, Vec<Node>),
    /// What is read, in order, and then what is written.
    Statement(Vec<Access>, Access),
}

/// Arrays with their numbers of subscripts, and words.
const VARIABLES: [(&str, usize); 5] = [("a", 1), ("b", 2), ("s", 0), ("t", 0), ("c", 1)];

/// Makes a nest, and its text along with it.
struct Maker {
    random: Random,
    text: String,
    line: u32,
    loops: usize,
    names: Vec<String>,
}

impl Maker {
    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
        self.line += 1;
    }

    fn nodes(&mut self, deepest: usize) -> Vec<Node> {
        let count = self.random.from(1, 2);
        (0..count).map(|_| self.node(deepest)).collect()
    }

    fn node(&mut self, deepest: usize) -> Node {
        let depth = self.names.len();
        if depth == 0 || (depth < deepest && !self.random.one_in(3)) {
            self.looped(deepest)
        } else {
            self.statement()
        }
    }

    fn looped(&mut self, deepest: usize) -> Node {
        let depth = self.names.len();
        let step = [1, 1, 1, -1, 2, -2, 3][self.random.from(0, 6) as usize];
        let mut from = Sum { constant: self.random.from(-2, 3), factors: vec![0; depth] };
        let extent = self.random.from(0, 4) * i64::signum(step) * if i64::abs(step) > 1 { 2 } else { 1 };
        let mut to = Sum { constant: from.constant + extent, factors: vec![0; depth] };
        // Triangles, and parallelograms.
        if depth > 0 && self.random.one_in(3) {
            let around = self.random.from(0, depth as i64 - 1) as usize;
            from.factors[around] = self.random.from(0, 1);
            to.factors[around] = self.random.from(0, 1);
        }
        let (number, name) = (self.loops, format!("i{}", self.loops));
        self.loops += 1;
        let head = format!("for {name} = {} to {} step {step}", from.text(&self.names), to.text(&self.names));
        self.line(&head);
        self.names.push(name);
        let body = self.nodes(deepest);
        self.names.pop();
        self.line("end");
        Node::Loop(number, from, to, step, body)
    }

    fn access(&mut self, line: &mut String) -> Access {
        let (variable, subscripts) = VARIABLES[self.random.from(0, 9).min(4) as usize % 5];
        let depth = self.names.len();
        let subscripts: Vec<_> = (0..subscripts).map(|_| Sum::random(&mut self.random, depth, 3)).collect();
        let at = (self.line, line.chars().count() as u32 + 1);
        *line += variable;
        for subscript in &subscripts {
            write!(line, "[{}]", subscript.text(&self.names)).unwrap();
        }
        Access { variable, subscripts, at }
    }

    fn statement(&mut self) -> Node {
        let mut line = String::new();
        let target = self.access(&mut line);
        line += " = ";
        let mut reads = Vec::new();
        // Now and then a step of a reduction.
        if self.random.one_in(6) {
            let at = (self.line, line.chars().count() as u32 + 1);
            let own = line.trim_end_matches(" = ").to_owned();
            line += &own;
            line += " + ";
            reads.push(Access { at, ..target.clone() });
        }
        for _ in 0..self.random.from(0, 2) {
            reads.push(self.access(&mut line));
            line += " + ";
        }
        line += "5";
        self.line(&line);
        Node::Statement(reads, target)
    }
}

/// What happened: in which iterations of which loops, where, and whether it was a write.
struct Event {
    loops: Vec<usize>,
    iterations: Vec<i64>,
    at: (u32, u32),
    is_write: bool,
}

/// What happened to each element, in order.
type History = HashMap<(&'static str, Vec<i64>), Vec<Event>>;

/// Runs through all iterations.
#[derive(Default)]
struct Through {
    history: History,
    loops: Vec<usize>,
    counters: Vec<i64>,
    iterations: Vec<i64>,
}

impl Through {
    fn body(&mut self, body: &[Node]) {
        for node in body {
            match node {
                Node::Statement(reads, target) => {
                    reads.iter().for_each(|read| self.happened(read, false));
                    self.happened(target, true);
                }
                Node::Loop(number, from, to, step, body) => {
                    let (mut counter, to) = (from.value(&self.counters), to.value(&self.counters));
                    self.loops.push(*number);
                    let mut iteration = 0;
                    while if *step > 0 { counter <= to } else { counter >= to } {
                        self.counters.push(counter);
                        // With steps of 1 and -1, distances are between counters.
                        self.iterations.push(if step.abs() == 1 { counter * step } else { iteration });
                        self.body(body);
                        self.counters.pop();
                        self.iterations.pop();
                        counter += step;
                        iteration += 1;
                    }
                    self.loops.pop();
                }
            }
        }
    }

    fn happened(&mut self, access: &Access, is_write: bool) {
        let element = access.subscripts.iter().map(|subscript| subscript.value(&self.counters)).collect();
        let (loops, iterations) = (self.loops.clone(), self.iterations.clone());
        let event = Event { loops, iterations, at: access.at, is_write };
        self.history.entry((access.variable, element)).or_default().push(event);
    }
}

/// A kind, source, sink and directions.
type Key = (Kind, (u32, u32), (u32, u32), Vec<Direction>);
/// With the distances in each loop, from and to.
type Dependences = BTreeMap<Key, Vec<(i64, i64)>>;

fn dependences_seen(history: &History) -> Dependences {
    let mut seen = Dependences::new();
    for events in history.values() {
        for (late, sink) in events.iter().enumerate() {
            for source in events[..late].iter().filter(|source| source.is_write || sink.is_write) {
                let kind = match (source.is_write, sink.is_write) {
                    (true, false) => Kind::Flow,
                    (true, true) => Kind::Output,
                    _ => Kind::Anti,
                };
                let common = source.loops.iter().zip(&sink.loops).take_while(|(a, b)| a == b).count();
                let distances = source.iterations.iter().zip(&sink.iterations).map(|(from, to)| to - from);
                let distances: Vec<_> = distances.take(common).collect();
                let direction = |&distance: &i64| match distance {
                    1.. => Direction::Later,
                    0 => Direction::Same,
                    _ => Direction::Earlier,
                };
                let key = (kind, source.at, sink.at, distances.iter().map(direction).collect());
                let new: Vec<_> = distances.iter().map(|&distance| (distance, distance)).collect();
                let widen = |old: &mut Vec<(i64, i64)>| {
                    for (old, new) in old.iter_mut().zip(&new) {
                        *old = (old.0.min(new.0), old.1.max(new.1));
                    }
                };
                seen.entry(key).and_modify(widen).or_insert_with(|| new.clone());
            }
        }
    }
    seen
}

fn dependences_found(analysis: &Analysis) -> Dependences {
    let place = |at: crossgrain_deps::loops::At| (at.line, at.column);
    let range = |distance: &Distance| (distance.least.unwrap(), distance.most.unwrap());
    let found = analysis.dependences.iter().map(|found| {
        assert!(found.is_certain, "{found}");
        let key = (found.kind, place(found.source.at), place(found.sink.at), found.directions.clone());
        (key, found.distances.iter().map(range).collect())
    });
    found.collect()
}

fn made(seed: u64) -> (String, Vec<Node>) {
    let head = "array a[-120..120], b[-120..120][-120..120], c[-120..120]\nword s\nlocal word t\n";
    let mut maker =
        Maker { random: Random::new(seed), text: head.to_owned(), line: 4, loops: 0, names: Vec::new() };
    // The first few numbers of this generator look alike for seeds that do.
    let deepest = (0..9).map(|_| maker.random.from(1, 3) as usize).last().unwrap();
    let nodes = maker.nodes(deepest);
    (maker.text, nodes)
}

#[test]
fn random_nests_depend_as_running_through_them_shows() {
    // Two threads.
    std::thread::scope(|scope| {
        scope.spawn(|| check(1..=CASES / 2));
        scope.spawn(|| check(CASES / 2 + 1..=CASES));
    });
}

fn check(seeds: std::ops::RangeInclusive<u64>) {
    let (mut dependences, mut parallel, mut with_steps, mut serial, mut pairs) = (0, 0, 0, 0, [0; 3]);
    for seed in seeds.clone() {
        let (text, nodes) = made(seed);
        let program = Program::parse(&text).unwrap_or_else(|fault| panic!("{seed}: {fault}\n{text}"));
        let analysis = Analysis::of(&program).unwrap_or_else(|fault| panic!("{seed}: {fault}\n{text}"));
        let mut through = Through::default();
        through.body(&nodes);
        let (seen, found) = (dependences_seen(&through.history), dependences_found(&analysis));
        assert_eq!(found, seen, "{seed}\n{text}");
        assert_eq!(analysis.agrees(), Ok(true), "{seed}\n{text}\n{:#?}", analysis.loops);
        dependences += found.len();
        for looped in &analysis.loops {
            *if !looped.is_parallel() {
                &mut serial
            } else if looped.steps().len() > 1 {
                &mut with_steps
            } else {
                &mut parallel
            } += 1;
        }
        let decided = analysis.decided;
        pairs = [pairs[0] + decided.by_gcd, pairs[1] + decided.by_banerjee, pairs[2] + decided.exactly];
    }
    println!("nests {seeds:?}: {dependences} dependences; pairs by GCD, by Banerjee, exactly: {pairs:?}");
    println!(
        "loops: {parallel} parallel, {with_steps} parallel after more than private counters, {serial} serial"
    );
    assert!(dependences > 10_000 && parallel > 1000 && with_steps > 1000 && serial > 1000);
}
