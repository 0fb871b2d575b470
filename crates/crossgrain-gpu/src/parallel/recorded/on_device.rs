//! Execution of recorded kernels on a device, as a program. Several inputs are first copied into one buffer,
//! and several results are copied out of one.

use std::ops::Range;

use super::super::launch::Span;
use super::super::own::Same;
use super::super::text::{Program, Reads, Sink};
use super::column::Column;
use super::run::words_of;
use super::{Recorded, Traced, WORDS_MAX};
use crate::{Error, Gpu, Memory};

impl Recorded {
    pub(super) fn on_device(
        &self,
        gpu: &Gpu,
        sources: &[&Column],
        range: Range<usize>,
        made: &mut [Column],
    ) -> Result<(), Error> {
        let (len, joined);
        len = range.len();
        let (memory, from, reads) = match sources {
            [] => (None, Span { first: range.start, stride: 0 }, Reads::Indices),
            [source] => (source.memory(), source.span(), Reads::Source),
            _ => {
                joined = join(gpu, sources, len)?;
                (Some(&joined), Span { first: 0, stride: len }, Reads::Source)
            }
        };
        let kernel = &Traced(self);
        let program = Program::<_, 1, WORDS_MAX, WORDS_MAX>::new(gpu, kernel, reads, Sink::Write);
        if let [one] = made {
            let to = one.span();
            return program.run(gpu, len, (memory, from), (one.memory_mut().ok_or(Error::Place)?, to));
        }
        let mut all = room(gpu, self.result_words(), len)?;
        program.run(gpu, len, (memory, from), (&mut all, Span { first: 0, stride: len }))?;
        let mut first = 0;
        for column in made {
            let (words, to) = (column.words(), column.span());
            let goal = column.memory_mut().ok_or(Error::Place)?;
            copy(gpu, words, len, (&all, Span { first, stride: len }), (goal, to))?;
            first += words * len;
        }
        Ok(())
    }
}

/// Allocates device memory for `len` numbers of `words` words.
fn room(gpu: &Gpu, words: usize, len: usize) -> Result<Memory, Error> {
    let len_bytes = 4 * words * len;
    // Devices count words in 32 bits.
    if words * len > u32::MAX as usize {
        return Err(Error::Memory { len_bytes });
    }
    gpu.allocate(len_bytes)
}

/// Concatenates the words of several vectors.
fn join(gpu: &Gpu, sources: &[&Column], len: usize) -> Result<Memory, Error> {
    let mut all = room(gpu, words_of(sources).iter().sum(), len)?;
    let mut first = 0;
    for source in sources {
        let memory = source.memory().ok_or(Error::Place)?;
        copy(gpu, source.words(), len, (memory, source.span()), (&mut all, Span { first, stride: len }))?;
        first += source.words() * len;
    }
    Ok(all)
}

/// Copies numbers of one or two words within a device.
fn copy(
    gpu: &Gpu,
    words: usize,
    len: usize,
    (from, source): (&Memory, Span),
    (to, goal): (&mut Memory, Span),
) -> Result<(), Error> {
    let (reads, sink) = (Reads::Source, Sink::Write);
    match words {
        1 => Program::<_, 1, 1, 1>::new(gpu, &Same, reads, sink).run(
            gpu,
            len,
            (Some(from), source),
            (to, goal),
        ),
        _ => Program::<_, 1, 2, 2>::new(gpu, &Same, reads, sink).run(
            gpu,
            len,
            (Some(from), source),
            (to, goal),
        ),
    }
}
