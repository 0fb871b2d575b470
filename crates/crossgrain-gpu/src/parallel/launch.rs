//! How programs are started: so many threads, and a loop cut where a device would break it off.
//!
//! Vulkan in software (llvmpipe) leaves all loops of a thread when together they have made 65,535 turns, and says nothing. A GPU's
//! driver may take a run that lasts seconds for a device that hangs. So no thread makes more than [`TURNS_MAX`] turns in a run, at any
//! device. Many elements are taken in several runs. A loop of more rounds is three programs: what comes before it leaves
//! its results in memory on the device, where rounds are made in as many runs as they take, and what comes after it reads them there.
//! Holds: that memory is overwritten after, as far as the device still listens.

use zeroize::Zeroizing;

use super::functions::Functions;
use super::kernel::Bundle;
use super::shape::{Shape, Wording};
use super::text::{Part, Program, Reads, Sink};
use crate::gpu::Loaded;
use crate::{Error, Gpu, Info, Job, Memory};

/// Neighbours that a thread takes in order, if there are not so many elements that it has to take more.
pub(super) const RUN: usize = 32;

/// How a device's programs are started. Answers do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// Threads of a group: 64, or some more of these.
    pub group_threads: u32,
    /// Most threads of a run, in whole groups. Each takes one element after another, or 32 bits of as many.
    pub run_threads: u32,
}

/// Most turns that a thread's loops make together in a run. By as many threads as are usual, a kernel without a loop makes fewer on a vector of the most elements.
const TURNS_MAX: usize = 3 << 14;

/// Most rounds of a loop in a run.
const ROUNDS_MAX: usize = 1 << 15;

/// Where elements lie in a memory: where the first number of the first is, and how far the numbers of each are apart, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) stride: usize,
}

impl Span {
    /// The same without so many elements.
    fn after(self, count: usize) -> Self {
        Self { first: self.first + count, ..self }
    }
}

impl Launch {
    /// Unless others are known to be better: more threads than most devices keep busy at a time.
    pub(super) const USUAL: Self = Self { group_threads: 64, run_threads: 1 << 17 };

    /// Most threads of a run that may be asked for.
    const RUN_THREADS_MAX: u32 = 1 << 20;

    /// Whether programs can be started so on a device.
    ///
    /// # Errors
    /// [`Error::Group`] if not.
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

    /// Threads for so many elements, of which each takes so many at a time.
    pub(super) fn threads(self, bundle: usize, count: usize) -> u32 {
        let bundles = u32::try_from(count.div_ceil(bundle)).unwrap_or(self.run_threads);
        bundles.min(self.run_threads).next_multiple_of(self.group_threads)
    }

    /// What a program is told of so many elements.
    fn job(self, bundle: usize, count: usize, from: Span, to: Span) -> Job {
        let threads = self.threads(bundle, count);
        let [count, first, stride, goal_first, goal_stride] =
            [count, from.first, from.stride, to.first, to.stride].map(|words| words as u32);
        Job { words: [count, threads, first, stride, goal_first, goal_stride], threads }
    }

    /// Most elements that a run takes, of a kernel whose loop has so many rounds.
    pub(super) fn at_once(self, rows: usize, rounds: usize) -> usize {
        let rounds = if rounds > 0 { rounds.min(ROUNDS_MAX) + 1 } else { 0 };
        self.run_threads as usize * rows * (TURNS_MAX / (rounds + turns_beside(rows)))
    }
}

impl Default for Launch {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Turns beside those of a kernel's loop for each bundle that a thread takes: one of the loop over bundles, and where rows are read and written in loops
/// theirs. Where a loop ends llvmpipe counts one more.
const fn turns_beside(rows: usize) -> usize {
    if rows > 1 { 1 + 2 * (rows + 1) } else { 1 }
}

/// A program that is compiled, to be run more than once.
pub(crate) struct Written {
    program: Loaded,
    /// What it is given when it runs: first how many rounds its loop has, if they are alike.
    state: Zeroizing<Vec<u32>>,
    bundle: usize,
    launch: Launch,
}

impl Written {
    /// Gives it other words in place of the first, as its kernel asks for them.
    pub(crate) fn give(&mut self, words: &[u32]) {
        self.state[..words.len()].copy_from_slice(words);
    }

    /// Runs it on so many elements, no more than are taken in a run.
    pub(crate) fn run(
        &self,
        gpu: &Gpu,
        count: usize,
        (source, from): (Option<&Memory>, Span),
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        let job = self.launch.job(self.bundle, count, from, to);
        // SAFETY: spans lie within their memories, and the text is this program's.
        unsafe { gpu.run(&self.program, &job, &self.state, source, goal) }.map(drop)
    }

    /// Makes so many rounds where the elements are, of a program that has nothing else ([`Part::Rounds`]), in as many runs as they take.
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
    /// Threads for so many elements: each of them writes one result of a search or a sum.
    pub(super) fn threads(&self, count: usize) -> u32 {
        self.launch.threads(self.bundle(), count)
    }

    /// Most elements of a run. A caller that makes anything else of results than to write them must not ask for more.
    pub(super) fn at_once(&self) -> usize {
        self.launch.at_once(self.rows, self.rounds)
    }

    /// Runs it with these functions on so many elements, in as many runs as they take.
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

    /// Compiled, to be run more than once.
    fn written(self, gpu: &Gpu, functions: Functions) -> Result<Written, Error> {
        let (state, bundle, launch) = (functions.state()?, self.bundle(), self.launch);
        let program = gpu.program(Wording::new(self, functions.texts))?;
        Ok(Written { program, state, bundle, launch })
    }
}

/// So many elements in parts of `most` or fewer: the first of each, and how many they are.
fn parts(count: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).step_by(most).map(move |first| (first, most.min(count - first)))
}

impl<K, const ROWS: usize, const IN: usize, const OUT: usize> Program<'_, K, ROWS, IN, OUT>
where
    K: Bundle<ROWS, IN, OUT>,
{
    /// Runs it on so many elements.
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

    /// What comes before its loop, the rounds, and what comes after.
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

    /// Compiled, to be run more than once.
    pub(crate) fn written(&self, gpu: &Gpu) -> Result<Written, Error> {
        self.shape().written(gpu, self.functions()?)
    }
}
