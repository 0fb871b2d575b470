//! Random loop nests. The analysis finds the same dependences as an enumeration of all iterations. Every
//! loop that it calls parallel gives the same result in another order.
//!
//! Only this file generates and enumerates the nests. The library sees only their text.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod nests;

use std::collections::{BTreeMap, HashMap};

use crossgrain_deps::Kind;
use crossgrain_deps::loops::{Analysis, Direction, Distance, Program};
use nests::{Access, Condition, Node, made, made_with_numbers};

/// Number of nests. Nightly runs use ten times more.
const CASES: u64 = 1000;

/// An access: the iterations of its loops, its place in the text, and whether it writes.
struct Event {
    loops: Vec<usize>,
    iterations: Vec<i64>,
    at: (u32, u32),
    is_write: bool,
    branches: Vec<Branch>,
}

/// A branch of a condition on words: the condition, the iterations of all loops around it, and the side. The
/// enumeration runs both branches.
type Branch = (usize, Vec<i64>, bool);

/// The accesses to each element, in order.
type History = HashMap<(&'static str, Vec<i64>), Vec<Event>>;

/// Enumerates all iterations.
#[derive(Default)]
struct Through {
    history: History,
    loops: Vec<usize>,
    counters: Vec<i64>,
    iterations: Vec<i64>,
    branches: Vec<Branch>,
}

impl Through {
    fn body(&mut self, body: &[Node]) {
        for node in body {
            match node {
                Node::Statement(reads, target) => {
                    reads.iter().for_each(|read| self.happened(read, false));
                    self.happened(target, true);
                }
                Node::If(number, condition, then, otherwise) => match condition.holds(&self.counters) {
                    Some(holds) => self.body(if holds { then } else { otherwise }),
                    None => {
                        let Condition::OfWords(read) = condition else { unreachable!() };
                        self.happened(read, false);
                        for (side, body) in [(true, then), (false, otherwise)] {
                            self.branches.push((*number, self.iterations.clone(), side));
                            self.body(body);
                            self.branches.pop();
                        }
                    }
                },
                Node::Loop(number, from, to, step, body) => {
                    let (mut counter, to) = (from.value(&self.counters), to.value(&self.counters));
                    self.loops.push(*number);
                    let mut iteration = 0;
                    while if *step > 0 { counter <= to } else { counter >= to } {
                        self.counters.push(counter);
                        // For steps of 1 and -1, distances are differences of counters.
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
        let branches = self.branches.clone();
        let event = Event { loops, iterations, at: access.at, is_write, branches };
        self.history.entry((access.variable, element)).or_default().push(event);
    }
}

/// A kind, source, sink and directions.
type Key = (Kind, (u32, u32), (u32, u32), Vec<Direction>);
/// Dependences, with the minimum and maximum distance in each loop.
type Dependences = BTreeMap<Key, Vec<(i64, i64)>>;

fn dependences_seen(history: &History) -> Dependences {
    let mut seen = Dependences::new();
    for events in history.values() {
        for (late, sink) in events.iter().enumerate() {
            let conflicts = |source: &&Event| {
                let opposite = |(number, iterations, side): &Branch| {
                    sink.branches.contains(&(*number, iterations.clone(), !side))
                };
                (source.is_write || sink.is_write) && !source.branches.iter().any(opposite)
            };
            for source in events[..late].iter().filter(conflicts) {
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

#[test]
fn random_nests_depend_as_running_through_them_shows() {
    check_on_two_threads(CASES);
}

#[test]
#[ignore = "takes half a minute"]
fn ten_thousand_random_nests_depend_as_running_through_them_shows() {
    check_on_two_threads(10 * CASES);
}

fn check_on_two_threads(cases: u64) {
    std::thread::scope(|scope| {
        scope.spawn(|| check(1..=cases / 2));
        scope.spawn(|| check(cases / 2 + 1..=cases));
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
    let cases = seeds.count();
    println!("counted: {cases} random nests whose dependences are those of an enumeration");
    assert!(dependences > 2 * cases && 5 * parallel > cases && 5 * with_steps > cases && 5 * serial > cases);
}

/// Nests with changing numbers in subscripts and with unknown bounds. If the numbers have a closed form,
/// runs in another order agree.
#[test]
fn random_nests_with_numbers_agree_in_any_order() {
    let (mut refused, mut outside, mut inductions, mut parallel) = (0, 0, 0, 0);
    for seed in 1..=4 * CASES {
        let text = made_with_numbers(seed);
        let program = Program::parse(&text).unwrap_or_else(|fault| panic!("{seed}: {fault}\n{text}"));
        let Ok(analysis) = Analysis::of(&program) else {
            refused += 1;
            continue;
        };
        match analysis.agrees() {
            Ok(agrees) => assert!(agrees, "{seed}\n{text}\n{:#?}", analysis.loops),
            Err(_) => outside += 1,
        }
        let loops = || analysis.loops.iter().filter(|looped| looped.is_parallel());
        inductions += loops().filter(|looped| !looped.inductions.is_empty()).count();
        parallel += loops().count();
    }
    println!("{refused} nests without a closed form, {outside} outside an array");
    println!("{parallel} loops parallel, {inductions} with induction variables");
    assert!(inductions > 300 && parallel > 1000);
}
