//! An algorithm with a user's kernel as a program for a device.
//!
//! A thread takes a bundle after another, of `ROWS` elements that lie a group apart, so that neighbouring threads read
//! neighbouring words. The kernel's gates are traced and become a function; what stands here is how elements reach it and what is
//! done with its results. A job's words are how many elements there are, how many threads, and for source and goal where the
//! first number of the first element stands and how many words lie between the numbers of one.

use std::any::type_name;

use crossgrain::internal::circuit::emit::{Field, Language};
use crossgrain::internal::circuit::trace::{Sym, Width, trace_given};
use crossgrain::internal::convert::transpose_square;
use crossgrain::internal::device::{KEY_WORDS_MAX, Listing};
use crossgrain::internal::word::Lanes as _;
use zeroize::Zeroizing;

use super::functions::{Functions, Head, Traced};
use super::grid::{Grid, Memory};
use super::kernel::{Bundle, Combine, Rounds};
use crate::{Error, Job};

/// Threads in a group.
const GROUP_THREADS: u32 = 64;

/// Neighbours that a thread takes in order, if there are not so many elements that it has to take more.
pub(super) const RUN: usize = 32;

/// Most threads: more than any device keeps busy at a time.
const THREADS_MAX: u32 = 1 << 17;

/// Where a program's elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Memory of its own.
    Source,
    /// Where its results go.
    Goal,
    /// They are the numbers of a range.
    Indices,
    /// Memory of its own, at the index that the first number says which stands where the result goes.
    Indexed,
}

/// What a program does with a kernel's results.
pub(crate) enum Sink {
    /// Writes them.
    Write,
    /// Writes the index of the first element of each thread whose result is not zero, or [`NO_HIT`].
    Find,
    /// Writes what those of each thread are when combined: by this function, from this element on.
    Combine(Traced, Vec<u32>),
    /// The same where each thread has taken a run of neighbours, in order.
    Totals(Traced, Vec<u32>),
    /// Writes what each is when combined with all before it in its thread's run, which begins with the thread's element of the source.
    Scan(Traced),
    /// Writes the index of each element where the kernel's result says.
    Place,
}

/// Threads for so many elements, of which each takes so many at a time.
pub(super) fn threads(bundle: usize, count: usize) -> u32 {
    let bundles = u32::try_from(count.div_ceil(bundle)).unwrap_or(THREADS_MAX);
    bundles.min(THREADS_MAX).next_multiple_of(GROUP_THREADS)
}

/// What a thread that found nothing writes.
pub(super) const NO_HIT: u32 = u32::MAX;

/// How two elements are combined, traced.
pub(super) fn combined<C: Combine<N>, const N: usize>(combine: &C) -> Traced {
    trace_given(Width::Three, 2 * N, |words| {
        let (mut a, mut b) = ([words[0]; N], [words[0]; N]);
        a.copy_from_slice(&words[..N]);
        b.copy_from_slice(&words[N..]);
        combine.combine(a, b).to_vec()
    })
}

/// A program as a device takes it.
pub(crate) struct Written {
    listing: Listing,
    /// What it is given when it runs: first how many rounds its loop has, if they are alike.
    pub(crate) state: Zeroizing<Vec<u32>>,
    bundle: usize,
}

impl Written {
    /// Runs it on so many elements.
    pub(crate) fn run(
        &self,
        grid: &dyn Grid,
        count: usize,
        (source, from): (Option<&Memory>, Span),
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        let job = job(self.bundle, count, from, to);
        // SAFETY: spans lie within their memories, and the text is this program's.
        unsafe { grid.run(&self.listing.text, &|| self.listing.clone(), &job, &self.state, source, goal) }
    }
}

/// What a program is told of so many elements.
fn job(bundle: usize, count: usize, from: Span, to: Span) -> Job {
    let threads = threads(bundle, count);
    let [count, first, stride, goal_first, goal_stride] =
        [count, from.first, from.stride, to.first, to.stride].map(|words| words as u32);
    Job { words: [count, threads, first, stride, goal_first, goal_stride], threads }
}

impl Sink {
    /// Whether a thread takes a run of neighbours and not elements that lie a group apart.
    const fn takes_runs(&self) -> bool {
        matches!(self, Self::Totals(..) | Self::Scan(_))
    }
}

/// Where elements lie in a memory: where the first number of the first is, and how far the numbers of each are apart, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) first: usize,
    pub(crate) stride: usize,
}

/// A program before it is written.
pub(crate) struct Program<'a, K, const ROWS: usize, const IN: usize, const OUT: usize> {
    pub(crate) kernel: &'a K,
    pub(crate) reads: Reads,
    pub(crate) sink: Sink,
}

impl<K, const ROWS: usize, const IN: usize, const OUT: usize> Program<'_, K, ROWS, IN, OUT>
where
    K: Bundle<ROWS, IN, OUT>,
{
    /// Threads for so many elements: each of them writes one result of a search or a sum.
    pub(super) fn threads(&self, count: usize) -> u32 {
        threads(self.bundle(), count)
    }

    /// Elements that a thread takes at a time.
    const fn bundle(&self) -> usize {
        if self.sink.takes_runs() { RUN } else { ROWS }
    }

    /// Runs it on so many elements.
    pub(super) fn run(
        &self,
        grid: &dyn Grid,
        count: usize,
        (source, from): (Option<&Memory>, Span),
        (goal, to): (&mut Memory, Span),
    ) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let (language, job) = (grid.language(), job(self.bundle(), count, from, to));
        let functions = self.functions()?;
        let state = functions.state()?;
        let name = self.listing(language, &functions, false).text;
        let listing = || self.listing(language, &functions, true);
        // SAFETY: spans lie within their memories, and the text is this program's.
        unsafe { grid.run(&name, &listing, &job, &state, source, goal) }
    }

    /// Written down, to be run more than once.
    pub(crate) fn written(&self, language: Language) -> Result<Written, Error> {
        let functions = self.functions()?;
        let state = functions.state()?;
        Ok(Written { listing: self.listing(language, &functions, true), state, bundle: self.bundle() })
    }

    /// The program around these functions. If they are not mapped it is soon written, and as good as a name.
    fn listing(&self, language: Language, functions: &Functions, is_mapped: bool) -> Listing {
        let entry = match self.sink {
            Sink::Write => "transform",
            Sink::Find => "find",
            Sink::Combine(..) => "reduce",
            Sink::Totals(..) => "totals",
            Sink::Scan(_) => "scan",
            Sink::Place => "place",
        };
        let mut text = format!("// {entry} by {}, written by crossgrain.\n", type_name::<K>());
        text += language.prelude();
        let job = ["count", "threads", "source_first", "source_stride", "goal_first", "goal_stride"];
        text += &language.structure("Job", &job.map(|name| (name, Field::Word)));
        text += &language.bindings(["u32", "u32"]);
        text += &language.structure("Rows", &[("x", Field::Words(ROWS))]);
        for (structure, count) in [("Given", IN), ("Made", OUT)] {
            let names: Vec<_> = (0..count).map(|p| format!("p{p}")).collect();
            let fields: Vec<_> = names.iter().map(|name| (&name[..], Field::Structure("Rows"))).collect();
            text += &language.structure(structure, &fields);
        }
        text += &language.structure("Total", &[("x", Field::Words(OUT))]);
        let (texts, reads_keys) = functions.text(language, is_mapped);
        if functions.have_state() {
            text += &language.constants(2, "keys", KEY_WORDS_MAX / 4);
        }
        text += &texts;
        text += &language.entry(entry, GROUP_THREADS, ["u32", "u32"], false, &self.body(functions));
        let is_read = matches!(self.reads, Reads::Source | Reads::Indexed);
        let reads_source = is_read || matches!(self.sink, Sink::Scan(_));
        Listing {
            entry: entry.to_owned(),
            text,
            group_threads: GROUP_THREADS,
            dynamic_bytes: 0,
            reads_source,
            reads_keys,
        }
    }

    /// The kernel and what it needs, as functions.
    fn functions(&self) -> Result<Functions, Error> {
        let mut functions = Functions::default();
        if ROWS > 1 {
            let names = |name: &str| (0..32).map(|row| format!("{name}.x[{row}]")).collect();
            let (parameters, inputs, outputs) = (vec![("x", "Rows")], names("x"), names(""));
            let head = Head { name: "transposed", parameters, inputs, result: "Rows", outputs };
            functions.add(head, trace_given(Width::Three, 32, transposed));
        }
        let head = |name, parameter, count| Head {
            name,
            parameters: vec![("x", parameter)],
            inputs: rows_of("x", count, ROWS),
            result: "Made",
            outputs: rows_of("", OUT, ROWS),
        };
        functions.add(head("kernel", "Given", IN), traced(|x| self.kernel.inner(x)));
        let (rounds, round) = (self.kernel.rounds(), |number| traced(|y| self.kernel.round(number, y)));
        match K::LOOP {
            Rounds::None => {}
            Rounds::Each => functions.add_round(head("round", "Made", OUT), (0..rounds).map(round))?,
            Rounds::Alike => functions.add_alike(head("round", "Made", OUT), round(0), rounds as u32),
        }
        if K::LOOP != Rounds::None {
            functions.add(head("last", "Made", OUT), traced(|y| self.kernel.last(y)));
        }
        if let Sink::Combine(combined, _) | Sink::Totals(combined, _) | Sink::Scan(combined) = &self.sink {
            let names = |name: &str| (0..OUT).map(|p| format!("{name}.x[{p}]")).collect::<Vec<_>>();
            let head = Head {
                name: "combined",
                parameters: vec![("a", "Total"), ("b", "Total")],
                inputs: [names("a"), names("b")].concat(),
                result: "Total",
                outputs: names(""),
            };
            functions.add(head, combined.clone());
        }
        Ok(functions)
    }

    /// What a thread does, in the common syntax.
    fn body(&self, functions: &Functions) -> String {
        let transposed = |name, count| match ROWS {
            1 => String::new(),
            _ => (0..count).map(|p| format!("        {name}.p{p} = transposed({name}.p{p});\n")).collect(),
        };
        format!(
            "{}    for ({}) {{
        var given: Given;
        for (var i = 0u; i < {ROWS}u; i = i + 1u) {{
            let at = base + i * {GROUP_THREADS}u;
            if (at < job.count) {{
{}            }}
        }}
{}{}{}        for (var i = 0u; i < {ROWS}u; i = i + 1u) {{
            let at = base + i * {GROUP_THREADS}u;
            if (at < job.count) {{
{}            }}
        }}
    }}
{}",
            self.before(),
            self.bundles(),
            self.with_given(),
            transposed("given", IN),
            self.with_rounds(functions),
            transposed("made", OUT),
            self.with_made(functions),
            self.after(),
        )
    }

    /// What makes `made` of `given`.
    fn with_rounds(&self, functions: &Functions) -> String {
        let made = format!("        var made = {};\n", functions.call("kernel", "given"));
        let [round, last] = ["round", "last"].map(|name| functions.call(name, "made"));
        let rounds = self.kernel.rounds();
        let turns = match K::LOOP {
            Rounds::None => return made,
            Rounds::Each if rounds == 0 => String::new(),
            Rounds::Each | Rounds::Alike => format!(
                "        for (var number = 0u; number < {}; number = number + 1u) {{
            made = {round};
        }}
",
                functions.rounds(rounds)
            ),
        };
        format!("{made}{turns}        made = {last};\n")
    }

    /// The head of a loop over a thread's bundles: where one begins, how long there are some, and which is next.
    fn bundles(&self) -> String {
        if self.sink.takes_runs() {
            return "var base = thread * run; base < job.count && base - thread * run < run; base = base + 1u".to_owned();
        }
        let group = GROUP_THREADS as usize * ROWS;
        let more = if matches!(self.sink, Sink::Find) { " && hit == 0xffffffffu" } else { "" };
        format!(
            "var base = (thread / {GROUP_THREADS}u) * {group}u + thread % {GROUP_THREADS}u; base < job.count{more}; \
             base = base + job.threads * {ROWS}u"
        )
    }

    /// How row i of each number is read.
    fn with_given(&self) -> String {
        let value = |p| match self.reads {
            Reads::Source => format!("source[job.source_first + {p}u * job.source_stride + at]"),
            Reads::Goal => goal(p),
            Reads::Indices => "job.source_first + at".to_owned(),
            Reads::Indexed => format!("source[job.source_first + {p}u * job.source_stride + {}]", goal(0)),
        };
        let reads = 0..self.kernel.reads();
        reads.map(|p| format!("                given.p{p}.x[i] = {};\n", value(p))).collect()
    }

    /// What stands before the loop.
    fn before(&self) -> String {
        let total = |value: &dyn Fn(usize) -> String| {
            let words = (0..OUT).map(|p| format!("    total.x[{p}] = {};\n", value(p)));
            "    var total: Total;\n".to_owned() + &words.collect::<String>()
        };
        let run = "    let run = (job.count + job.threads - 1u) / job.threads;\n";
        match &self.sink {
            Sink::Write | Sink::Place => String::new(),
            Sink::Find => "    var hit = 0xffffffffu;\n".to_owned(),
            Sink::Combine(_, identity) => total(&|p| format!("{:#x}u", identity[p])),
            Sink::Totals(_, identity) => run.to_owned() + &total(&|p| format!("{:#x}u", identity[p])),
            Sink::Scan(_) => {
                let before = |p| format!("source[job.source_first + {p}u * job.source_stride + thread]");
                run.to_owned() + &total(&before)
            }
        }
    }

    /// What is done with row i of each number.
    fn with_made(&self, functions: &Functions) -> String {
        let each = |line: &dyn Fn(usize) -> String| (0..OUT).map(line).collect::<String>();
        let combined = || {
            "                var next: Total;\n".to_owned()
                + &each(&|p| format!("                next.x[{p}] = made.p{p}.x[i];\n"))
                + &format!("                total = {};\n", functions.call("combined", "total, next"))
        };
        match &self.sink {
            Sink::Write => {
                let writes = 0..self.kernel.writes();
                writes.map(|p| format!("                {} = made.p{p}.x[i];\n", goal(p))).collect()
            }
            Sink::Find => "                if (made.p0.x[i] != 0u && at < hit) {
                    hit = at;
                }\n"
            .to_owned(),
            Sink::Combine(..) | Sink::Totals(..) => combined(),
            Sink::Scan(_) => {
                combined() + &each(&|p| format!("                {} = total.x[{p}];\n", goal(p)))
            }
            Sink::Place => "                goal[job.goal_first + made.p0.x[i]] = at;\n".to_owned(),
        }
    }

    /// What stands after the loop.
    fn after(&self) -> String {
        match &self.sink {
            Sink::Write | Sink::Scan(_) | Sink::Place => String::new(),
            Sink::Find => "    goal[thread] = hit;\n".to_owned(),
            Sink::Combine(..) | Sink::Totals(..) => (0..OUT)
                .map(|p| format!("    goal[{p}u * job.goal_stride + thread] = total.x[{p}];\n"))
                .collect(),
        }
    }
}

/// A number of the element `at` in the goal.
fn goal(p: usize) -> String {
    format!("goal[job.goal_first + {p}u * job.goal_stride + at]")
}

/// A function of the rows of numbers, traced.
fn traced<const ROWS: usize, const IN: usize, const OUT: usize>(
    circuit: impl FnOnce([[Sym; ROWS]; IN]) -> [[Sym; ROWS]; OUT],
) -> Traced {
    trace_given(Width::Three, IN * ROWS, |words| {
        let mut x = [[words[0]; ROWS]; IN];
        x.as_flattened_mut().copy_from_slice(words);
        circuit(x).as_flattened().to_vec()
    })
}

/// Every row of every number of a structure.
fn rows_of(name: &str, count: usize, rows: usize) -> Vec<String> {
    let number = |p| (0..rows).map(move |row| format!("{name}.p{p}.x[{row}]"));
    (0..count).flat_map(number).collect()
}

fn transposed(words: &[Sym]) -> Vec<Sym> {
    let mut square = [words[0].filled(0); 32];
    square.copy_from_slice(words);
    transpose_square(&mut square);
    square.to_vec()
}
