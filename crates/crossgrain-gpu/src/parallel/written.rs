//! Runs of compiled programs, and splitting of long loops into several runs.
//!
//! ```text
//! many elements:  several runs of one program
//! many rounds:    first ─► state in device memory ─► rounds, in several runs ─► last
//! ```
//!
//! Two limits apply to a run. Vulkan in software (llvmpipe) silently ends all loops of a thread once they
//! have made 65,535 turns in total. A GPU's driver may treat a run of several seconds as a hang. So no
//! thread makes more than [`TURNS_MAX`] turns per run, on any device.
//!
//! A loop with more than [`ROUNDS_MAX`] rounds becomes three programs, as sketched. Their intermediate
//! state is overwritten afterwards, if the device still responds.

use zeroize::Zeroizing;

use super::functions::Functions;
use super::kernel::Bundle;
use super::launch::{Launch, Span};
use super::shape::{Shape, Wording};
use super::text::{Part, Program, Reads, Sink};
use crate::gpu::Loaded;
use crate::{Error, Gpu, Info, Job, Memory};

/// Maximum number of turns that a thread's loops make in total per run. With the default number of threads,
/// a kernel without a loop stays below it even for the longest vector.
const TURNS_MAX: usize = 3 << 14;

/// Maximum number of rounds of a loop per run.
const ROUNDS_MAX: usize = 1 << 15;

impl Launch {
    /// Maximum for `run_threads`.
    const RUN_THREADS_MAX: u32 = 1 << 20;

    /// Checks that a device accepts this configuration.
    ///
    /// # Errors
    /// [`Error::Group`] if it does not.
    pub fn check(self, info: &Info) -> Result<(), Error> {
        let Self { group_threads: group, run_threads: run } = self;
        if group == 0 || !group.is_multiple_of(64) || group > info.max_group_threads {
            return Err(Error::Group { threads: group });
        }
        let is_run = run > 0 && run.is_multiple_of(group) && run <= Self::RUN_THREADS_MAX;
        if !is_run || (run / group) as usize > info.max_groups {
            return Err(Error::Group { threads: run });
        }
        Ok(())
    }

    /// The job of a program for `count` elements.
    fn job(self, bundle: usize, count: usize, from: Span, to: Span) -> Job {
        let threads = self.threads(bundle, count);
        let [count, first, stride, goal_first, goal_stride] =
            [count, from.first, from.stride, to.first, to.stride].map(|words| words as u32);
        Job { words: [count, threads, first, stride, goal_first, goal_stride], threads }
    }

    /// Maximum number of elements per run, for a kernel with this number of rounds.
    pub(super) fn at_once(self, rows: usize, rounds: usize) -> usize {
        let rounds = if rounds > 0 { rounds.min(ROUNDS_MAX) + 1 } else { 0 };
        self.run_threads as usize * rows * (TURNS_MAX / (rounds + turns_beside(rows)))
    }
}

/// Turns per bundle that are not rounds of the kernel's loop: one turn of the loop over bundles, and the
/// turns of the loops that read and write rows. llvmpipe counts one more turn at the end of each loop.
const fn turns_beside(rows: usize) -> usize {
    if rows > 1 { 1 + 2 * (rows + 1) } else { 1 }
}

/// A compiled program that may run several times.
pub(crate) struct Written {
    program: Loaded,
    /// Its state. If rounds are identical, the first word is their number.
    state: Zeroizing<Vec<u32>>,
    bundle: usize,
    launch: Launch,
}

impl Written {
    /// Overwrites the first words of the state, in the order in which the kernel requests them.
    pub(crate) fn give(&mut self, words: &[u32]) {
        self.state[..words.len()].copy_from_slice(words);
    }

    /// Runs the program on `count` elements. They must fit one run.
    pub(crate) fn run(
        &self,
        gpu: &Gpu,
        count: usize,
        (source, from): (Option<&Memory>, Span),
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        let job = self.launch.job(self.bundle, count, from, to);
        // SAFETY: the spans lie within their memories, and the text is this program's own.
        unsafe { gpu.run(&self.program, &job, &self.state, source, goal) }.map(drop)
    }

    /// Makes `rounds` rounds in place, in several runs if necessary. The program must contain only rounds
    /// ([`Part::Rounds`]).
    pub(crate) fn make_rounds(
        &mut self,
        gpu: &Gpu,
        rounds: u32,
        count: usize,
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        let bundles = count.div_ceil(self.launch.run_threads as usize * self.bundle).max(1);
        let most = (TURNS_MAX / bundles).saturating_sub(turns_beside(self.bundle) + 1).clamp(1, ROUNDS_MAX);
        let mut left = rounds;
        while left > 0 {
            let now = left.min(most as u32);
            self.state[0] = now;
            self.run(gpu, count, (None, to), (goal, to))?;
            left -= now;
        }
        Ok(())
    }
}

impl Shape {
    /// Number of threads for `count` elements. Each thread writes one result of a search or a sum.
    pub(super) fn threads(&self, count: usize) -> u32 {
        self.launch.threads(self.bundle(), count)
    }

    /// Maximum number of elements per run. Callers whose program does not simply write its results must not
    /// exceed it.
    pub(super) fn at_once(&self) -> usize {
        self.launch.at_once(self.rows, self.rounds)
    }

    /// Compiles the program with these functions and runs it on `count` elements, in several runs if
    /// necessary.
    fn run(
        self,
        gpu: &Gpu,
        functions: Functions,
        count: usize,
        (source, from): (Option<&Memory>, Span),
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        let at_once = self.at_once();
        let written = self.written(gpu, functions)?;
        for (first, count) in parts(count, at_once) {
            written.run(gpu, count, (source, from.after(first)), (goal, to.after(first)))?;
        }
        Ok(())
    }

    /// Compiles the program for repeated use.
    fn written(self, gpu: &Gpu, functions: Functions) -> Result<Written, Error> {
        let (state, bundle, launch) = (functions.state()?, self.bundle(), self.launch);
        let program = gpu.program(Wording::new(self, functions.texts))?;
        Ok(Written { program, state, bundle, launch })
    }
}

/// Splits `count` elements into parts of at most `most`: the first index and the length of each.
fn parts(count: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).step_by(most).map(move |first| (first, most.min(count - first)))
}

impl<K, const ROWS: usize, const IN: usize, const OUT: usize> Program<'_, K, ROWS, IN, OUT>
where
    K: Bundle<ROWS, IN, OUT>,
{
    /// Runs the program on `count` elements.
    pub(super) fn run(
        &self,
        gpu: &Gpu,
        count: usize,
        (source, from): (Option<&Memory>, Span),
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        let shape = self.shape();
        if count > 0 && shape.rounds <= ROUNDS_MAX {
            return shape.run(gpu, self.functions()?, count, (source, from), (goal, to));
        }
        for (first, count) in parts(count, shape.at_once()) {
            self.run_in_parts(gpu, count, (source, from.after(first)), (goal, to.after(first)))?;
        }
        Ok(())
    }

    /// Runs the three programs of a long loop in turn, with the state in between in device memory.
    fn run_in_parts(
        &self,
        gpu: &Gpu,
        count: usize,
        (source, from): (Option<&Memory>, Span),
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        let (len_bytes, span) = (4 * OUT * count, Span { first: 0, stride: count });
        let (reads, begin) = match self.reads {
            Reads::Goal => (Reads::Source, (Some(&*goal), to)),
            reads => (reads, (source, from)),
        };
        let first = self.part(Part::First, reads, Sink::Write);
        let mut rounds = self.part(Part::Rounds, Reads::Goal, Sink::Write).written(gpu)?;
        let last = self.part(Part::Last, Reads::Source, self.sink.clone());
        let (before, after) = (first.functions()?, last.functions()?);
        let mut kept = gpu.allocate(len_bytes)?;
        let done = first.shape().run(gpu, before, count, begin, (&mut kept, span));
        let all = self.kernel.rounds() as u32;
        let done = done.and_then(|()| rounds.make_rounds(gpu, all, count, (&mut kept, span)));
        let end = (Some(&kept), span);
        let done = done.and_then(|()| last.shape().run(gpu, after, count, end, (goal, to)));
        gpu.wipe(&mut kept, len_bytes);
        done
    }

    fn part(&self, part: Part, reads: Reads, sink: Sink) -> Self {
        Self { reads, sink, part, ..*self }
    }

    /// Compiles the program for repeated use.
    pub(crate) fn written(&self, gpu: &Gpu) -> Result<Written, Error> {
        self.shape().written(gpu, self.functions()?)
    }
}
