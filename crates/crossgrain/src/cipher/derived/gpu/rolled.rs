//! Detects loops in the recorded steps of a described cipher.
//!
//! Recording unrolls the loops of a description. They show up as a stretch of steps that repeats, with other
//! key and constant indices, on the results of the preceding repetition. [`Rolled::of`] finds the stretch and
//! splits the steps into [`Section`]s before, in and after the loop. The result is unrolled again and
//! compared with the recording, so a detected loop is always correct. If none is found, the program is the
//! plain sequence of steps.

use crate::device::recorded::{Section, Step, Value};

/// The increment of byte indices per turn, for each array
/// ([`Operation::row`](crate::device::recorded::Operation::row)). Arithmetic wraps, so indices may also decrease.
pub(super) type Strides = [usize; 2];

impl Section {
    /// The number of results that are inputs moved to another position.
    fn places_changed(&self) -> usize {
        let changed = |(place, result): &(usize, &Value)| matches!(result, Value::Given(at) if at != place);
        self.results.iter().enumerate().filter(changed).count()
    }
}

/// A sequence of steps with one loop.
#[derive(Clone, Debug)]
pub(super) struct Rolled {
    /// From the block to the loop's initial values.
    pub(super) before: Section,
    /// From the values before a turn to the values after it.
    pub(super) turn: Section,
    /// From the loop's final values to the block.
    pub(super) after: Section,
    /// The increments. Indices in `turn` are those of the first turn. Indices in `after` are those after zero
    /// turns.
    pub(super) strides: Strides,
}

/// A repeating stretch of steps.
#[derive(Clone, Copy)]
struct Stretch {
    start: usize,
    period: usize,
    turns: usize,
    strides: Strides,
    /// The number of steps by which the start may be delayed.
    slack: usize,
}

impl Rolled {
    /// Finds the loop that makes the section shortest. Returns the section with it, and the number of turns.
    pub(super) fn of(section: &Section) -> (Self, usize) {
        let mut stretches: Vec<_> =
            (1..=section.steps.len() / 2).filter_map(|period| longest(&section.steps, period)).collect();
        stretches.sort_by_key(|stretch| (usize::MAX - (stretch.turns - 1) * stretch.period, stretch.period));
        for stretch in stretches {
            let starts = stretch.start..=stretch.start + stretch.slack;
            let rolled = starts.filter_map(|start| Slots::rolled(section, Stretch { start, ..stretch }));
            // If a turn has few steps and mostly moves values between slots, a longer loop or no loop is
            // better.
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

    /// All steps, with the given number of turns.
    pub(super) fn unrolled(&self, turns: usize) -> Section {
        let mut steps = Vec::new();
        let mut state = append(&mut steps, &self.before, None, [0; 2]);
        for turn in 0..turns {
            state = append(&mut steps, &self.turn, Some(&state), self.moved(turn));
        }
        let results = append(&mut steps, &self.after, Some(&state), self.moved(turns));
        Section { given: self.before.given, steps, results }
    }

    /// The total index increments after the given number of turns.
    pub(super) fn moved(&self, turns: usize) -> Strides {
        self.strides.map(|stride| stride.wrapping_mul(turns))
    }
}

/// Appends a section. `given` replaces its inputs unless it is `None`; `first_numbers` is added to its
/// indices. Returns the section's results.
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

/// The longest stretch with this period, comparing only operations and index increments.
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

/// The values carried from turn to turn. For each slot: its value before every turn and after the last one,
/// as a number, if known. Inputs of the section are numbered first, then its steps.
struct Slots<'a> {
    section: &'a Section,
    stretch: Stretch,
    given: usize,
    values: Vec<Vec<Option<usize>>>,
    /// The origin of each slot's next value within a turn.
    next: Vec<Value>,
}

impl Slots<'_> {
    /// The section with this stretch as a loop; `None` if the turns differ in their inputs.
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

    /// The number of the first step's result in a turn.
    const fn first_of(&self, turn: usize) -> usize {
        self.given + self.stretch.start + turn * self.stretch.period
    }

    /// A slot with these values. Reuses a slot whose known values are compatible.
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

    /// A step of the turn; `None` if it is not the same in all turns.
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

    /// Finds the origin of each slot's next value: a step of the preceding turn, or another slot.
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

    /// A value used after the loop: a step's result there, or a slot's final value. A value that the loop
    /// itself no longer needs gets a new slot.
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
