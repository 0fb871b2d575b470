//! Runs a program: serially, or with the iterations of parallel loops in random order.
//!
//! The random order relies on the analysis. Private variables hold random values at the start of an
//! iteration, induction variables get their closed form, and reads of overwritten elements use a copy. If
//! the analysis allows too much, the result differs from the serial one.

use std::collections::HashMap;
use std::rc::Rc;

use super::memory::Memory;
use super::program::{Expr, Node, Op, Program, Reference};
use super::source::{At, Fault, quoted};
use super::verdict::Treatment;

/// Runs a program. Loops with a treatment run in a random order that `seed` determines. Operations and
/// iterations are deducted from `steps`; the run fails if it exceeds them.
pub(super) fn run(
    program: &Program,
    treatments: &HashMap<usize, &Treatment>,
    seed: u64,
    memory: &mut Memory,
    steps: &mut u64,
) -> Result<(), Fault> {
    Runner::new(program, treatments, seed, memory, steps).body(&program.body)
}

/// Runs a program serially, and counts the work of each loop and of the whole program.
pub(super) fn count(program: &Program, steps: &mut u64) -> Result<(Vec<Work>, u64), Fault> {
    let (none, mut memory) = (HashMap::new(), Memory::new(program));
    let mut runner = Runner::new(program, &none, 0, &mut memory, steps);
    runner.body(&program.body)?;
    Ok((runner.work, runner.operations))
}

/// The work of a loop.
#[derive(Clone, Copy, Default)]
pub(super) struct Work {
    pub(super) entered: u64,
    pub(super) iterations: u64,
    pub(super) operations: u64,
}

struct Runner<'a> {
    program: &'a Program,
    treatments: &'a HashMap<usize, &'a Treatment>,
    random: Random,
    memory: &'a mut Memory,
    /// For each read that uses a copy, the copy.
    copies: HashMap<usize, Rc<Vec<u32>>>,
    /// Statements that only the last iteration executes, during earlier iterations.
    skipped: Vec<usize>,
    /// The remaining steps.
    steps: &'a mut u64,
    /// The work of each loop so far.
    work: Vec<Work>,
    /// The number of operations so far.
    operations: u64,
}

/// A value: a number or a word.
#[derive(Clone, Copy)]
enum Value {
    Int(i64),
    Word(u32),
}

impl Value {
    const fn word(self) -> u32 {
        match self {
            Self::Int(int) => int as u32,
            Self::Word(word) => word,
        }
    }

    const fn int(self) -> i64 {
        match self {
            Self::Int(int) => int,
            Self::Word(word) => word as i64,
        }
    }
}

/// The first counter of a loop, its step, and its number of iterations.
struct Trips {
    from: i64,
    step: i64,
    count: u64,
}

impl<'a> Runner<'a> {
    fn new(
        program: &'a Program,
        treatments: &'a HashMap<usize, &'a Treatment>,
        seed: u64,
        memory: &'a mut Memory,
        steps: &'a mut u64,
    ) -> Self {
        let (copies, skipped, random) = (HashMap::new(), Vec::new(), Random(seed | 1));
        let work = vec![Work::default(); program.loops.len()];
        Self { program, treatments, random, memory, copies, skipped, steps, work, operations: 0 }
    }

    fn body(&mut self, body: &[Node]) -> Result<(), Fault> {
        for &node in body {
            match node {
                Node::Statement(number) if self.skipped.contains(&number) => {}
                Node::Statement(number) => self.statement(number)?,
                Node::Loop(number) => self.looped(number)?,
                Node::If(number) => self.branch(number)?,
            }
        }
        Ok(())
    }

    fn branch(&mut self, number: usize) -> Result<(), Fault> {
        let condition = &self.program.ifs[number];
        self.operate(condition.cost, condition.at)?;
        let value = |side: &Expr| self.value(side, (condition.at, "if"));
        let order = match (value(&condition.left)?, value(&condition.right)?) {
            (Value::Int(left), Value::Int(right)) => left.cmp(&right),
            (left, right) => left.word().cmp(&right.word()),
        };
        self.body(if condition.is.holds(order) { &condition.then } else { &condition.otherwise })
    }

    /// Deducts steps.
    fn step(&mut self, steps: usize, at: At) -> Result<(), Fault> {
        let left = self.steps.checked_sub(steps as u64);
        *self.steps = left.ok_or_else(|| Fault::new(at, "too many steps to run: make the loops shorter"))?;
        Ok(())
    }

    /// Counts operations, and deducts them as steps.
    fn operate(&mut self, operations: usize, at: At) -> Result<(), Fault> {
        self.operations += operations as u64;
        self.step(operations, at)
    }

    fn statement(&mut self, number: usize) -> Result<(), Fault> {
        let statement = &self.program.statements[number];
        self.operate(statement.cost, statement.target.at)?;
        let (value, target) = (self.value(&statement.value, statement.target.place())?, &statement.target);
        if self.program.variables[target.variable].is_int() {
            self.memory.ints[target.variable] = value.int();
        } else {
            let cell = self.cell(target)?;
            self.memory.words[target.variable][cell] = value.word();
        }
        Ok(())
    }

    /// The index of an element in its array.
    fn cell(&self, of: &Reference) -> Result<usize, Fault> {
        let mut cell = 0;
        for (subscript, &(from, to)) in of.subscripts.iter().zip(self.program.variables[of.variable].dims()) {
            let at = self.value(subscript, of.place())?.int();
            if at < from || at > to {
                let name = self.program.name(of.variable);
                let message =
                    format!("`{}`: subscript {at} where `{name}` has {from} to {to}", quoted(&of.text));
                return Err(Fault::new(of.at, message));
            }
            cell = cell * (to - from + 1) as usize + (at - from) as usize;
        }
        Ok(cell)
    }

    /// The value of an expression. Faults are those of the text at a place.
    fn value(&self, value: &Expr, of: (At, &str)) -> Result<Value, Fault> {
        let too_large = || Fault::new(of.0, format!("`{}`: a number does not fit 64 bits", quoted(of.1)));
        Ok(match value {
            Expr::Number(number) => Value::Int(*number),
            Expr::Symbol(variable) => Value::Int(self.memory.ints[*variable]),
            Expr::Read(read) if self.program.variables[read.variable].is_int() => {
                Value::Int(self.memory.ints[read.variable])
            }
            Expr::Read(read) => {
                let words =
                    self.copies.get(&read.number).map_or(&self.memory.words[read.variable], |copy| copy);
                Value::Word(words[self.cell(read)?])
            }
            Expr::Negative(inner) => match self.value(inner, of)? {
                Value::Int(int) => Value::Int(int.checked_neg().ok_or_else(too_large)?),
                Value::Word(word) => Value::Word(word.wrapping_neg()),
            },
            Expr::Not(inner) => Value::Word(!self.value(inner, of)?.word()),
            Expr::Binary(op, a, b) => match (self.value(a, of)?, self.value(b, of)?) {
                (Value::Int(a), Value::Int(b)) if op.is_of_ints() => {
                    Value::Int(op.of_ints(a, b).ok_or_else(too_large)?)
                }
                (a, b) => Value::Word(of_words(*op, a.word(), b.word())),
            },
        })
    }

    fn looped(&mut self, number: usize) -> Result<(), Fault> {
        let (trips, before) = (self.trips(number)?, self.operations);
        match self.treatments.get(&number) {
            Some(treatment) => self.scattered(number, &trips, treatment)?,
            None => (0..trips.count).try_for_each(|k| self.iteration(number, &trips, k))?,
        }
        let work = &mut self.work[number];
        work.entered += 1;
        work.iterations += trips.count;
        work.operations += self.operations - before;
        Ok(())
    }

    fn trips(&mut self, number: usize) -> Result<Trips, Fault> {
        let looped = &self.program.loops[number];
        let fault = |message: String| Fault::new(looped.at, message);
        let bounds = |bounds: &[Expr], largest: bool| {
            let of_symbol = |variable: usize| Some(self.memory.ints[variable]);
            let values = bounds.iter().map(|bound| bound.known(&of_symbol));
            let values = values
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| fault("a bound does not fit 64 bits".into()))?;
            Ok(if largest { values.into_iter().max() } else { values.into_iter().min() }.unwrap_or(0))
        };
        let is_up = looped.step > 0;
        let (from, to) = (bounds(&looped.from, is_up)?, bounds(&looped.to, !is_up)?);
        let room = (i128::from(to) - i128::from(from)) * i128::from(looped.step.signum());
        let count = if room < 0 { 0 } else { room / i128::from(looped.step.abs()) + 1 };
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if count > *self.steps {
            return Err(fault(format!("this loop has {count} iterations, too many to run: make it shorter")));
        }
        Ok(Trips { from, step: looped.step, count })
    }

    fn iteration(&mut self, number: usize, trips: &Trips, k: u64) -> Result<(), Fault> {
        let looped = &self.program.loops[number];
        self.step(1, looped.at)?;
        self.memory.ints[looped.counter] = trips.from.wrapping_add(trips.step.wrapping_mul(k as i64));
        self.body(&looped.body)
    }

    /// Runs a loop in random order, as a parallel machine might.
    fn scattered(&mut self, number: usize, trips: &Trips, treatment: &Treatment) -> Result<(), Fault> {
        let at = self.program.loops[number].at;
        let cells = |variables: &mut dyn Iterator<Item = usize>| {
            variables.map(|own| self.memory.words[own].len()).sum()
        };
        let own_cells: usize = cells(&mut treatment.private.iter().copied());
        let all_cells: usize = cells(&mut treatment.private.iter().chain(treatment.copied.keys()).copied());
        self.step(all_cells, at)?;
        let firsts: Vec<_> =
            treatment.inductions.iter().map(|(&int, &step)| (int, step, self.memory.ints[int])).collect();
        for (&variable, reads) in &treatment.copied {
            let copy = Rc::new(self.memory.words[variable].clone());
            self.copies.extend(reads.iter().map(|&read| (read, Rc::clone(&copy))));
        }
        let set = |runner: &mut Self, k: u64| {
            for &(int, step, first) in &firsts {
                runner.memory.ints[int] = first.wrapping_add(step.wrapping_mul(k as i64));
            }
        };
        let scattered = if treatment.peels { trips.count.saturating_sub(1) } else { trips.count };
        let kept: Vec<_> = treatment
            .private
            .iter()
            .map(|&own| (own, self.memory.words[own].clone(), self.memory.ints[own]))
            .collect();
        let skipped = self.skipped.len();
        self.skipped.extend(&treatment.last_only);
        for k in self.random.order(scattered) {
            for (own, words, _) in &kept {
                self.memory.words[*own] = words.iter().map(|_| self.random.next() as u32).collect();
                self.memory.ints[*own] = (self.random.next() >> 32) as i64;
            }
            set(self, k);
            self.step(own_cells, at)?;
            self.iteration(number, trips, k)?;
        }
        self.skipped.truncate(skipped);
        for (own, words, int) in kept {
            self.memory.words[own] = words;
            self.memory.ints[own] = int;
        }
        for k in scattered..trips.count {
            set(self, k);
            self.iteration(number, trips, k)?;
        }
        set(self, trips.count);
        for reads in treatment.copied.values() {
            self.copies.retain(|read, _| !reads.contains(read));
        }
        Ok(())
    }
}

fn of_words(op: Op, a: u32, b: u32) -> u32 {
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Subtract => a.wrapping_sub(b),
        Op::Multiply => a.wrapping_mul(b),
        Op::Xor => a ^ b,
        Op::And => a & b,
        Op::Or => a | b,
        Op::ShiftLeft => a << (b & 31),
        Op::ShiftRight => a >> (b & 31),
        Op::RotateLeft => a.rotate_left(b),
    }
}

/// A small pseudorandom generator (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The numbers below `count`, in random order.
    fn order(&mut self, count: u64) -> Vec<u64> {
        let mut order: Vec<u64> = (0..count).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, (self.next() % (last as u64 + 1)) as usize);
        }
        order
    }
}
