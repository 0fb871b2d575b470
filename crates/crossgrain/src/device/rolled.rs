//! The loops in the steps of a described cipher.
//!
//! What a description says by a loop is, by the time that it is recorded, a list in which a stretch comes again and again, by other keys and
//! constants and on what the stretch before has left. [`Rolled::of`] finds the stretch: [`Section`]s before, in and after a loop. What it finds is
//! unrolled again and compared with the list, so a loop that is found is right; without one, a program is the list as it is.

use super::recorded::{Section, Step, Value};

/// How far the bytes that steps take move from turn to turn, by their row ([`Operation::row`](super::recorded::Operation::row)). Numbers wrap: a row may be taken backwards.
pub(super) type Strides = [usize; 2];

impl Section {
    /// How many results are values given in another place.
    fn places_changed(&self) -> usize {
        let changed = |(place, result): &(usize, &Value)| matches!(result, Value::Given(at) if at != place);
        self.results.iter().enumerate().filter(changed).count()
    }
}

/// Steps with a loop among them.
#[derive(Clone, Debug)]
pub(super) struct Rolled {
    /// From the block to what the loop begins with.
    pub(super) before: Section,
    /// From what one turn begins with to what the next one does.
    pub(super) turn: Section,
    /// From what the loop ends with to the block.
    pub(super) after: Section,
    /// What `turn` takes is the first one's, what `after` takes is what it would be after no turn.
    pub(super) strides: Strides,
}

/// A stretch that comes again and again.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    period: usize,
    turns: usize,
    strides: Strides,
    /// By how many steps it may begin later.
    slack: usize,
}

impl Rolled {
    /// A section with the loop in it that makes it shortest, and how often that turns.
    pub(super) fn of(section: &Section) -> (Self, usize) {
        let mut stretches: Vec<_> =
            (1..=section.steps.len() / 2).filter_map(|period| longest(&section.steps, period)).collect();
        stretches.sort_by_key(|stretch| (usize::MAX - (stretch.turns - 1) * stretch.period, stretch.period));
        for stretch in stretches {
            let starts = stretch.start..=stretch.start + stretch.slack;
            let rolled = starts.filter_map(|start| Slots::rolled(section, Stretch { start, ..stretch }));
            // Where much would only change places beside few steps, a longer loop, or none, is better.
            let right = rolled.filter(|rolled| {
                16 * rolled.turn.places_changed() <= stretch.period
                    && rolled.unrolled(stretch.turns) == *section
            });
            if let Some(rolled) = right.min_by_key(|rolled| rolled.turn.results.len()) {
                return (rolled, stretch.turns);
            }
        }
        let given = section.results.len();
        let after = Section { given, steps: Vec::new(), results: (0..given).map(Value::Given).collect() };
        (Self { before: section.clone(), turn: Section::default(), after, strides: [0; 2] }, 0)
    }

    /// All steps, where the loop turns so often.
    pub(super) fn unrolled(&self, turns: usize) -> Section {
        let mut steps = Vec::new();
        let mut state = append(&mut steps, &self.before, None, [0; 2]);
        for turn in 0..turns {
            state = append(&mut steps, &self.turn, Some(&state), self.moved(turn));
        }
        let results = append(&mut steps, &self.after, Some(&state), self.moved(turns));
        Section { given: self.before.given, steps, results }
    }

    /// How far the bytes taken have moved after so many turns.
    pub(super) fn moved(&self, turns: usize) -> Strides {
        self.strides.map(|stride| stride.wrapping_mul(turns))
    }
}

/// Appends a section that is given values, what all of it is given unless others are named, and takes its bytes from these numbers on.
fn append(
    steps: &mut Vec<Step>,
    section: &Section,
    given: Option<&[Value]>,
    first_numbers: Strides,
) -> Vec<Value> {
    let first = steps.len();
    let value = |value: &Value| match (*value, given) {
        (Value::Given(at), Some(given)) => given[at],
        (Value::Given(at), None) => Value::Given(at),
        (Value::Made(at), _) => Value::Made(first + at),
    };
    for Step { operation, inputs, number } in &section.steps {
        let inputs = inputs.iter().map(value).collect();
        let number = number.map(|number| number.wrapping_add(first_numbers[operation.row()]));
        steps.push(Step { operation: *operation, inputs, number });
    }
    section.results.iter().map(value).collect()
}

/// The longest stretch of a period, by operations and the bytes that they take alone.
fn longest(steps: &[Step], period: usize) -> Option<Stretch> {
    let (mut best, mut start, mut strides) = (None::<(usize, usize, [Option<usize>; 2])>, 0, [None; 2]);
    for at in 0..steps.len() - period {
        let (one, next) = (&steps[at], &steps[at + period]);
        let moved = one.number.zip(next.number).map(|(one, next)| next.wrapping_sub(one));
        let row = one.operation.row();
        if one.operation != next.operation {
            (start, strides) = (at + 1, [None; 2]);
        } else if moved.is_some() && strides[row].is_some() && moved != strides[row] {
            (start, strides) = (at, [None; 2]);
            strides[row] = moved;
        } else {
            strides[row] = strides[row].or(moved);
        }
        let run = (at + 1).saturating_sub(start);
        if best.is_none_or(|(_, most, _)| run > most) {
            best = Some((start, run, strides));
        }
    }
    let (start, run, strides) = best.filter(|(_, run, _)| *run >= period)?;
    let strides = strides.map(|stride| stride.unwrap_or(0));
    Some(Stretch { start, period, turns: run / period + 1, strides, slack: run % period })
}

/// What goes from turn to turn: of each slot the value before every turn and after the last, as a number, as far as it is known.
/// Numbers are those of what the section is given and then of steps.
struct Slots<'a> {
    section: &'a Section,
    stretch: Stretch,
    given: usize,
    values: Vec<Vec<Option<usize>>>,
    /// Where each comes from within a turn.
    next: Vec<Value>,
}

impl Slots<'_> {
    /// The section with this stretch as a loop, unless its turns differ in what they take.
    fn rolled(section: &Section, stretch: Stretch) -> Option<Rolled> {
        let (given, values, next) = (section.given, Vec::new(), Vec::new());
        let mut slots = Slots { section, stretch, given, values, next };
        let Stretch { start, period, turns, strides, .. } = stretch;
        let steps = (0..period).map(|at| slots.of_turn(at)).collect::<Option<Vec<_>>>()?;
        slots.trace_back()?;
        let end = start + turns * period;
        let mut after = Section::default();
        for step in &section.steps[end..] {
            let inputs = step.inputs.iter().map(|&input| slots.of_end(input)).collect::<Option<_>>()?;
            let moved = strides[step.operation.row()].wrapping_mul(turns);
            let number = step.number.map(|number| number.wrapping_sub(moved));
            after.steps.push(Step { inputs, number, ..step.clone() });
        }
        after.results = section.results.iter().map(|&result| slots.of_end(result)).collect::<Option<_>>()?;
        let begins = |values: &Vec<Option<usize>>| slots.value(values[0].unwrap_or(0));
        let results = slots.values.iter().map(begins).collect();
        let before = Section { given, steps: section.steps[..start].to_vec(), results };
        after.given = slots.values.len();
        let turn = Section { given: after.given, steps, results: slots.next.clone() };
        Some(Rolled { before, turn, after, strides })
    }

    const fn number(&self, value: Value) -> usize {
        match value {
            Value::Given(at) => at,
            Value::Made(at) => self.given + at,
        }
    }

    const fn value(&self, number: usize) -> Value {
        match number.checked_sub(self.given) {
            None => Value::Given(number),
            Some(at) => Value::Made(at),
        }
    }

    /// The number of what the first step of a turn makes.
    const fn first_of(&self, turn: usize) -> usize {
        self.given + self.stretch.start + turn * self.stretch.period
    }

    /// A slot that may have these values.
    fn slot(&mut self, wanted: Vec<Option<usize>>) -> usize {
        let may_be = |values: &Vec<Option<usize>>| {
            values.iter().zip(&wanted).all(|(a, b)| a.is_none() || b.is_none() || a == b)
        };
        let Some(found) = self.values.iter().position(may_be) else {
            self.values.push(wanted);
            return self.values.len() - 1;
        };
        for (value, wanted) in self.values[found].iter_mut().zip(wanted) {
            *value = value.or(wanted);
        }
        found
    }

    /// A step of a turn, as all turns have it.
    fn of_turn(&mut self, at: usize) -> Option<Step> {
        let Stretch { start, period, turns, .. } = self.stretch;
        let (section, first) = (self.section, &self.section.steps[start + at]);
        let mut inputs = Vec::new();
        for input in 0..first.inputs.len() {
            let number = |turn: usize| self.number(section.steps[start + turn * period + at].inputs[input]);
            let own: Vec<_> = (0..turns).map(|turn| number(turn).checked_sub(self.first_of(turn))).collect();
            if own.iter().any(|one| *one != own[0]) {
                return None;
            }
            inputs.push(match own[0] {
                Some(own) => Value::Made(own),
                None => {
                    let values = (0..turns).map(|turn| Some(number(turn))).chain([None]).collect();
                    Value::Given(self.slot(values))
                }
            });
        }
        Some(Step { inputs, ..first.clone() })
    }

    /// Finds for every slot what the turn before leaves there: a step's value, or another slot's.
    fn trace_back(&mut self) -> Option<()> {
        let turns = self.stretch.turns;
        while let Some(values) = self.values.get(self.next.len()).cloned() {
            let known: Vec<_> = (0..turns).filter_map(|turn| Some((turn, values[turn + 1]?))).collect();
            let own: Vec<_> =
                known.iter().map(|&(turn, value)| value.checked_sub(self.first_of(turn))).collect();
            if own.iter().any(|one| *one != own[0]) {
                return None;
            }
            let next = match own.first().copied().flatten() {
                Some(own) => Value::Made(own),
                None => {
                    let mut wanted = vec![None; turns + 1];
                    for (turn, value) in known {
                        wanted[turn] = Some(value);
                    }
                    Value::Given(self.slot(wanted))
                }
            };
            self.next.push(next);
        }
        for at in 0..self.next.len() {
            self.values[at][turns] = match self.next[at] {
                Value::Made(own) => Some(self.first_of(turns - 1) + own),
                Value::Given(slot) => self.values[slot][turns - 1],
            };
        }
        Some(())
    }

    /// A value after the loop: a step's there, or a slot's. One that the loop itself needs no more gets a slot.
    fn of_end(&mut self, value: Value) -> Option<Value> {
        let (number, turns) = (self.number(value), self.stretch.turns);
        if let Some(own) = number.checked_sub(self.first_of(turns)) {
            return Some(Value::Made(own));
        }
        let ends_so = |values: &Vec<Option<usize>>, turn: usize| values[turn] == Some(number);
        if let Some(slot) = self.values.iter().position(|values| ends_so(values, turns)) {
            return Some(Value::Given(slot));
        }
        let next = match number.checked_sub(self.first_of(turns - 1)) {
            Some(own) => Value::Made(own),
            None => Value::Given(self.values.iter().position(|values| ends_so(values, turns - 1))?),
        };
        let mut values = vec![None; turns + 1];
        values[turns] = Some(number);
        self.values.push(values);
        self.next.push(next);
        Some(Value::Given(self.next.len() - 1))
    }
}
