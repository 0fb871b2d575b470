//! Execution of recorded kernels.
//!
//! On a CPU an interpreter uses a frame: memory with one row of `ELEMENTS` words for each word of each
//! value. `layout` assigns rows to values and reuses a row after its last read. On a device the kernel
//! becomes a program (`on_device`).

use std::ops::Range;

use crossgrain::Features;
use crossgrain::engine::arch::Lane32;
use crossgrain::engine::wiping_deep_stack;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::super::algorithm::{PIECE, has_threads};
use super::super::host::{Work, on_widest};
use super::super::policy::{Kind, Place};
use super::column::Column;
use super::operation::{ELEMENTS, Operation, Row, on_frame};
use super::{Recorded, Step, refused};
use crate::Error;

impl Recorded {
    /// Applies the kernel to its inputs, which must have equal lengths.
    ///
    /// # Errors
    /// As [`transform`](super::super::transform), and if the inputs do not match the kernel.
    pub fn transform(&self, sources: &[&Column]) -> Result<Vec<Column>, Error> {
        let Some(one) = sources.first().filter(|_| self.inputs.iter().eq(&words_of(sources))) else {
            return Err(refused(format!("it takes numbers of {:?} words, and not these", self.inputs)));
        };
        if let Some(other) = sources.iter().find(|source| source.len() != one.len()) {
            return Err(Error::Range { start: 0, end: other.len(), len: one.len() });
        }
        if !sources.iter().all(|source| source.place().is(one.place())) {
            return Err(Error::Place);
        }
        self.run(one.place(), sources, 0..one.len())
    }

    /// Applies the kernel to the numbers of a range.
    ///
    /// # Errors
    /// As [`generate`](super::super::generate), and if the kernel has inputs.
    pub fn generate(&self, place: &Place, range: Range<usize>) -> Result<Vec<Column>, Error> {
        if !self.inputs.is_empty() {
            return Err(refused(format!("it takes numbers of {:?} words", self.inputs)));
        }
        place.indices(range.clone())?;
        self.run(place, &[], range)
    }

    fn run(&self, place: &Place, sources: &[&Column], range: Range<usize>) -> Result<Vec<Column>, Error> {
        let room = |&value: &usize| Column::with_room(place, self.words[value], range.len());
        let mut made = self.results.iter().map(room).collect::<Result<Vec<_>, _>>()?;
        match place.kind() {
            _ if range.is_empty() || made.is_empty() => {}
            &Kind::Host { features, is_parallel } => {
                self.on_host((features, is_parallel), sources, range, &mut made)?;
            }
            #[cfg(feature = "device")]
            Kind::Device(gpu) => self.on_device(gpu, sources, range, &mut made)?,
        }
        Ok(made)
    }

    fn on_host(
        &self,
        (features, is_parallel): (Features, bool),
        sources: &[&Column],
        range: Range<usize>,
        made: &mut [Column],
    ) -> Result<(), Error> {
        let rows = sources.iter().map(|source| source.rows()).collect::<Result<Vec<_>, _>>()?.concat();
        let mut goals: Vec<_> = made.iter_mut().flat_map(Column::rows_mut).collect();
        let (layout, len) = (self.layout(), range.len());
        let mut part = |at: usize| {
            let count = PIECE.min(len - at);
            let goals = goals.iter_mut().map(|row| row.split_off_mut(..4 * count).unwrap_or_default());
            let sources = rows.iter().map(|row| &row[4 * at..4 * (at + count)]).collect();
            Piece { layout: &layout, sources, first: (range.start + at) as u32, goals: goals.collect() }
        };
        let pieces: Vec<_> = (0..len).step_by(PIECE).map(&mut part).collect();
        let work = |piece| wiping_deep_stack(|| on_widest(features, piece));
        match is_parallel && has_threads() {
            true => pieces.into_par_iter().for_each(work),
            false => pieces.into_iter().for_each(work),
        }
        Ok(())
    }

    /// Assigns rows of a frame to values, and collects the steps.
    fn layout(&self) -> Layout {
        let last = self.last_readers();
        let (mut layout, mut free) = (Layout::default(), Free::default());
        // The capacity suffices for all constants. The vector is never reallocated, which would leave
        // copies in memory.
        layout.constants.reserve_exact(2 * self.constants.len());
        let mut places = vec![0; self.steps.len()];
        for (at, step) in self.steps.iter().enumerate().filter(|(at, _)| last[*at].is_some()) {
            let words = self.words[at];
            self.free_read(at, &last, &places, &mut free);
            // A constant is written once per frame, so its row is never shared with other values.
            let known = if matches!(step, Step::Constant(_)) { None } else { free.take(words) };
            let to = known.unwrap_or_else(|| {
                layout.words += words;
                layout.words - words
            });
            places[at] = to;
            match *step {
                Step::Input(first) => layout.inputs.extend((0..words).map(|p| (first + p, to + p))),
                Step::Constant(constant) => {
                    let bits = self.constants[constant];
                    let both = [(to, bits as u32), (to + 1, (bits >> 32) as u32)];
                    layout.constants.extend_from_slice(&both[..words]);
                }
                Step::Computed(operation, of, count) => {
                    layout.steps.push((operation, count, (of.map(|value| places[value]), to)));
                }
            }
        }
        let words = |&value: &usize| places[value]..places[value] + self.words[value];
        layout.results = self.results.iter().flat_map(words).collect();
        layout
    }

    /// Frees the rows of values whose last read is this step.
    fn free_read(&self, at: usize, last: &[Option<usize>], places: &[usize], free: &mut Free) {
        let Step::Computed(operation, of, _) = self.steps[at] else { return };
        let of = &of[..operation.operands().len()];
        for (number, &value) in of.iter().enumerate() {
            let is_kept = matches!(self.steps[value], Step::Constant(_)) || of[..number].contains(&value);
            if last[value] == Some(at) && !is_kept {
                free.add(places[value], self.words[value]);
            }
        }
    }

    /// The last step that reads each value. It is the number of steps for a result, and `None` if no result
    /// depends on the value.
    fn last_readers(&self) -> Vec<Option<usize>> {
        let mut last = vec![None; self.steps.len()];
        for &value in &self.results {
            last[value] = Some(self.steps.len());
        }
        for (at, step) in self.steps.iter().enumerate().rev() {
            if let (Step::Computed(operation, of, _), Some(_)) = (step, last[at]) {
                for &value in &of[..operation.operands().len()] {
                    last[value].get_or_insert(at);
                }
            }
        }
        last
    }
}

pub(super) fn words_of(columns: &[&Column]) -> Vec<usize> {
    columns.iter().map(|column| column.words()).collect()
}

/// Unused words of a frame: single words, and pairs.
#[derive(Default)]
struct Free([Vec<usize>; 2]);

impl Free {
    fn add(&mut self, place: usize, words: usize) {
        self.0[words - 1].push(place);
    }

    fn take(&mut self, words: usize) -> Option<usize> {
        self.0[words - 1].pop()
    }
}

/// The interpreter's program: the steps, and the rows of values in a frame.
#[derive(Default)]
struct Layout {
    /// Words per frame.
    words: usize,
    /// The input's word, and its row.
    inputs: Vec<(usize, usize)>,
    /// The row, and the constant that it holds.
    constants: Vec<(usize, u32)>,
    steps: Vec<(Operation, u32, ([usize; 3], usize))>,
    /// The rows of the results.
    results: Vec<usize>,
}

impl Drop for Layout {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.constants);
    }
}

/// A recorded kernel on a piece of the elements.
struct Piece<'a> {
    layout: &'a Layout,
    /// Words of the inputs. Without inputs, the elements are the numbers from `first`.
    sources: Vec<&'a [u8]>,
    first: u32,
    goals: Vec<&'a mut [u8]>,
}

impl Piece<'_> {
    /// Copies `len` elements, from element `at`, to a frame.
    fn fill(&self, frame: &mut [Row], at: usize, len: usize) {
        for &(word, to) in &self.layout.inputs {
            let row = &mut frame[to][..4 * len];
            match self.sources.get(word) {
                Some(source) => row.copy_from_slice(&source[4 * at..4 * (at + len)]),
                None => {
                    for (index, number) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                        *number = self.first.wrapping_add((at + index) as u32).to_le_bytes();
                    }
                }
            }
        }
    }
}

impl Work for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Lane32>(mut self, isa: W::Isa) {
        let layout = self.layout;
        let mut frame = Zeroizing::new(vec![[0; 4 * ELEMENTS]; layout.words + 1]);
        for &(word, value) in &layout.constants {
            for number in frame[word].as_chunks_mut::<4>().0 {
                *number = value.to_le_bytes();
            }
        }
        let all = self.goals[0].len() / 4;
        for at in (0..all).step_by(ELEMENTS) {
            let len = ELEMENTS.min(all - at);
            self.fill(&mut frame, at, len);
            for &(operation, count, values) in &layout.steps {
                on_frame::<W>(isa, (operation, count), &mut frame, values);
            }
            for (goal, &word) in self.goals.iter_mut().zip(&layout.results) {
                goal[4 * at..4 * (at + len)].copy_from_slice(&frame[word][..4 * len]);
            }
        }
    }
}
