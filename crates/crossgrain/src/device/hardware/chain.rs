//! Cuts recorded steps into cycles.
//!
//! A cycle has at most one layer of S-boxes, with other steps before and after it. It ends where the fewest
//! bytes are needed later, as late as possible: for rounds that is where only the sixteen bytes of the state
//! are. A cycle adds at most one round key, so key additions after the last round have a cycle of their own.
//!
//! The bytes of a state are ordered by their first use in the next cycle, and the S-boxes of a layer by their
//! number. Rounds that differ only in the places of bytes, such as those of a Feistel network, therefore have
//! equal parts. Each part exists once, however many cycles use it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::device::recorded::{Operation, Section, Step, Value};

/// The places of parts within a cycle: before the S-boxes, the S-boxes, and after them.
pub(super) const PLACES: usize = 3;

/// The origin of a byte within a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// A byte of the state before the cycle.
    State(usize),
    /// A result of the part at this place.
    Made {
        /// The place.
        place: usize,
        /// The number of the result.
        output: usize,
    },
}

/// A function of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    /// Its place in a cycle.
    pub(super) place: usize,
    /// Its steps. The numbers in them are those of its own key bytes and constants.
    pub(super) body: Section,
    /// The number of its key bytes.
    pub(super) keys: usize,
    /// The number of its constants.
    pub(super) constants: usize,
}

/// A part in a cycle, and the bytes that it reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Use {
    /// The number of the part.
    pub(super) part: usize,
    /// Its inputs.
    pub(super) inputs: Vec<Source>,
    /// Its key bytes, numbered from the first one of the cycle.
    pub(super) keys: Vec<usize>,
}

/// A kind of cycle. Cycles of one kind differ in their round keys, constants and places of kept bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The parts by place.
    pub(super) uses: [Option<Use>; PLACES],
    /// The state after the cycle.
    pub(super) next: Vec<Source>,
    /// Bytes to keep as round keys.
    pub(super) kept: Vec<Source>,
}

/// A cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// The number of its kind.
    pub(super) shape: usize,
    /// The bytes of the round keys that it reads.
    pub(super) keys: Range<usize>,
    /// The constants of the part at each place.
    pub(super) constants: [Vec<u8>; PLACES],
    /// The bytes of the round keys that it computes.
    pub(super) places: Vec<usize>,
}

/// Recorded steps as cycles.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    /// The parts, without repetition.
    pub(super) parts: Vec<Part>,
    /// The kinds of cycles.
    pub(super) shapes: Vec<Shape>,
    /// The cycles in order.
    pub(super) cycles: Vec<Cycle>,
    /// The bytes of the largest state.
    pub(super) width: usize,
    /// The first state, as numbers of bytes of the input.
    pub(super) start: Vec<usize>,
}

impl Chain {
    /// Cuts a section. `constants` are the values of its constants.
    pub(super) fn of(section: &Section, constants: &[u8]) -> Self {
        let lives = Lives::of(section);
        let cuts = lives.cuts();
        let ranges: Vec<_> = cuts.windows(2).map(|pair| lives.lists(pair[0]..pair[1])).collect();
        let mut state = lives.order(0, ranges.first());
        let mut chain = Self { width: state.len(), start: state.clone(), ..Self::default() };
        for (at, lists) in ranges.iter().enumerate() {
            let next = lives.order(cuts[at + 1], ranges.get(at + 1));
            chain.push(&lives, constants, lists, &state, &next);
            chain.width = chain.width.max(next.len());
            state = next;
        }
        chain
    }

    /// The most bytes of round keys that a cycle reads.
    pub(super) fn keys(&self) -> usize {
        self.cycles.iter().map(|cycle| cycle.keys.len()).max().unwrap_or(0)
    }

    /// The most bytes that a cycle keeps.
    pub(super) fn kept(&self) -> usize {
        self.cycles.iter().map(|cycle| cycle.places.len()).max().unwrap_or(0)
    }

    /// Adds a cycle between two states, which are lists of values.
    fn push(&mut self, lives: &Lives<'_>, constants: &[u8], lists: &Lists, state: &[usize], next: &[usize]) {
        let mut sources: HashMap<usize, Source> =
            state.iter().enumerate().map(|(at, &value)| (value, Source::State(at))).collect();
        let mut uses = [const { None }; PLACES];
        let (mut numbers, mut of_parts) = (Vec::new(), [const { Vec::new() }; PLACES]);
        for (place, steps) in lists.steps.iter().enumerate().filter(|(_, steps)| !steps.is_empty()) {
            let taken = lives.taken(place, steps, constants);
            let inputs = taken.inputs.iter().map(|value| sources[value]).collect();
            for (output, &value) in taken.outputs.iter().enumerate() {
                sources.insert(value, Source::Made { place, output });
            }
            numbers.extend(&taken.keys);
            of_parts[place] = taken.constants;
            uses[place] = Some(Use { part: number(&mut self.parts, taken.part), inputs, keys: taken.keys });
        }
        let first = numbers.iter().min().copied().unwrap_or(0);
        let end = numbers.iter().max().map_or(first, |last| last + 1);
        for key in uses.iter_mut().flatten().flat_map(|part| &mut part.keys) {
            *key -= first;
        }
        let next = next.iter().map(|value| sources[value]).collect();
        let kept = lists.kept.iter().map(|(_, value)| sources[value]).collect();
        self.cycles.push(Cycle {
            shape: number(&mut self.shapes, Shape { uses, next, kept }),
            keys: first..end,
            constants: of_parts,
            places: lists.kept.iter().map(|&(place, _)| place).collect(),
        });
    }
}

/// The number of a thing in a list without repetition.
fn number<T: PartialEq>(list: &mut Vec<T>, thing: T) -> usize {
    list.iter().position(|known| *known == thing).unwrap_or_else(|| {
        list.push(thing);
        list.len() - 1
    })
}

/// The steps of a cycle.
struct Lists {
    /// The numbers of the steps at each place.
    steps: [Vec<usize>; PLACES],
    /// The kept bytes in ascending order: the number of the byte, and the value.
    kept: Vec<(usize, usize)>,
}

/// The steps of a part, with the values that it takes and gives.
struct Taken {
    part: Part,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    keys: Vec<usize>,
    constants: Vec<u8>,
}

/// A section, and where its values are used. Values are numbered: first its inputs, then the results of its
/// steps.
struct Lives<'a> {
    section: &'a Section,
    /// The steps that read each value. The number of steps stands for the results of the section.
    users: Vec<Vec<usize>>,
    /// The number of values before each step that are needed then or later, and at the end.
    live: Vec<usize>,
}

impl<'a> Lives<'a> {
    fn of(section: &'a Section) -> Self {
        let end = section.steps.len();
        let mut lives =
            Self { section, users: vec![Vec::new(); section.given + end], live: vec![0; end + 1] };
        let inputs = section
            .steps
            .iter()
            .enumerate()
            .flat_map(|(at, step)| step.inputs.iter().map(move |&input| (at, input)));
        for (at, value) in inputs.chain(section.results.iter().map(|&result| (end, result))) {
            let value = lives.value(value);
            lives.users[value].push(at);
        }
        for value in (0..section.given + end).filter(|&value| !lives.is_constant(value)).collect::<Vec<_>>() {
            let first = (value + 1).saturating_sub(section.given);
            if let Some(&last) = lives.users[value].last() {
                lives.live[first..=last].iter_mut().for_each(|live| *live += 1);
            }
        }
        lives
    }

    const fn value(&self, value: Value) -> usize {
        match value {
            Value::Given(at) => at,
            Value::Made(at) => self.section.given + at,
        }
    }

    /// The step that makes a value.
    fn step(&self, value: usize) -> Option<&Step> {
        value.checked_sub(self.section.given).map(|at| &self.section.steps[at])
    }

    /// Whether a value is a constant. Those are made where they are used.
    fn is_constant(&self, value: usize) -> bool {
        self.step(value).is_some_and(|step| step.operation == Operation::Constant)
    }

    /// The layers of S-boxes: stretches of steps that substitute.
    fn layers(&self) -> Vec<Range<usize>> {
        let mut layers = Vec::<Range<usize>>::new();
        for (at, _) in self.section.steps.iter().enumerate().filter(|(_, step)| step.operation.substitutes())
        {
            match layers.last_mut().filter(|layer| layer.end == at) {
                Some(layer) => layer.end += 1,
                None => layers.push(at..at + 1),
            }
        }
        layers
    }

    /// The steps before which cycles begin, and the number of steps.
    fn cuts(&self) -> Vec<usize> {
        let (layers, end) = (self.layers(), self.section.steps.len());
        let between = layers.windows(2).map(|pair| pair[0].end..pair[1].start + 1);
        let fewest = between.clone().filter_map(|place| self.live[place].iter().min());
        let limit = fewest.max().copied().unwrap_or(self.section.given);
        let fits = |at: &usize| self.live[*at] <= limit;
        let before = layers.first().map_or(0..1, |layer| 0..layer.start + 1);
        let mut cuts: Vec<_> =
            [before].into_iter().chain(between).filter_map(|place| place.rev().find(fits)).collect();
        cuts.extend([0, end]);
        cuts.sort_unstable();
        let keyed = |at: &usize| self.section.steps[*at].operation.reads_key();
        for mut layer in layers {
            let after = layer.end;
            let next = cuts.iter().copied().find(|&cut| cut >= after).unwrap_or(end);
            if let Some(second) = (after..next).find(keyed).filter(|_| layer.any(|at| keyed(&at))) {
                cuts.extend((after..=second).rev().find(fits));
            }
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    /// The steps of a cycle.
    fn lists(&self, range: Range<usize>) -> Lists {
        let mut lists = Lists { steps: [const { Vec::new() }; PLACES], kept: Vec::new() };
        let steps = &self.section.steps;
        let first = range.clone().find(|&at| steps[at].operation.substitutes());
        for at in range {
            let place = match (steps[at].operation, first) {
                (Operation::Constant, _) => continue,
                (Operation::Keep, _) => {
                    lists.kept.push((steps[at].number.unwrap_or(0), self.value(steps[at].inputs[0])));
                    continue;
                }
                (operation, Some(_)) if operation.substitutes() => 1,
                (_, Some(first)) if at < first => 0,
                _ => 2,
            };
            lists.steps[place].push(at);
        }
        lists.steps[1].sort_by_key(|&at| match steps[at].operation {
            Operation::Substitute(number) | Operation::SubstituteAlone(number) => number,
            _ => 0,
        });
        lists.kept.sort_unstable();
        lists
    }

    /// The values that are needed from step `cut` on, in the order in which the next cycle reads them. At the
    /// end these are the results of the section.
    fn order(&self, cut: usize, next: Option<&Lists>) -> Vec<usize> {
        let Some(next) = next else {
            return self.section.results.iter().map(|&result| self.value(result)).collect();
        };
        let is_live = |value: &usize| {
            let is_made = *value < self.section.given + cut;
            is_made && !self.is_constant(*value) && self.users[*value].last().is_some_and(|&last| last >= cut)
        };
        let steps = next.steps.iter().flatten().flat_map(|&at| &self.section.steps[at].inputs);
        let read = steps.map(|&input| self.value(input)).chain(next.kept.iter().map(|&(_, value)| value));
        let mut seen = HashSet::new();
        read.chain(0..self.section.given + cut).filter(is_live).filter(|&value| seen.insert(value)).collect()
    }

    /// The part that consists of these steps.
    fn taken(&self, place: usize, list: &[usize], constants: &[u8]) -> Taken {
        let part = Part { place, body: Section::default(), keys: 0, constants: 0 };
        let mut taken =
            Taken { part, inputs: Vec::new(), outputs: Vec::new(), keys: Vec::new(), constants: Vec::new() };
        let mut local = HashMap::new();
        for &at in list {
            let Step { operation, inputs, number } = &self.section.steps[at];
            let inputs =
                inputs.iter().map(|&input| self.local(input, &mut taken, &mut local, constants)).collect();
            let number = number.filter(|_| operation.reads_key()).map(|number| {
                taken.keys.push(number);
                taken.keys.len() - 1
            });
            let steps = &mut taken.part.body.steps;
            steps.push(Step { operation: *operation, inputs, number });
            let value = self.section.given + at;
            local.insert(value, Value::Made(steps.len() - 1));
            if self.users[value].iter().any(|user| !list.contains(user)) {
                taken.outputs.push(value);
                taken.part.body.results.push(Value::Made(steps.len() - 1));
            }
        }
        taken.part.body.given = taken.inputs.len();
        (taken.part.keys, taken.part.constants) = (taken.keys.len(), taken.constants.len());
        taken
    }

    /// A value within a part: a result of its steps, a constant, or an input.
    fn local(
        &self,
        value: Value,
        taken: &mut Taken,
        local: &mut HashMap<usize, Value>,
        constants: &[u8],
    ) -> Value {
        let value = self.value(value);
        *local.entry(value).or_insert_with(|| {
            if !self.is_constant(value) {
                taken.inputs.push(value);
                return Value::Given(taken.inputs.len() - 1);
            }
            let number = self.step(value).and_then(|step| step.number).unwrap_or(0);
            taken.constants.push(constants[number]);
            let number = Some(taken.constants.len() - 1);
            let steps = &mut taken.part.body.steps;
            steps.push(Step { operation: Operation::Constant, inputs: Vec::new(), number });
            Value::Made(steps.len() - 1)
        })
    }
}
