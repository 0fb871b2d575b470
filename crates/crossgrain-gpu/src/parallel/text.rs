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

use super::functions::{Functions, Head, Traced};
use super::kernel::{Bundle, Combine, Rounds};
use super::launch::{Launch, RUN};
use crate::{Error, Gpu};

/// Which part of a kernel a program is. All but the first two begin with what the one before left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The kernel as it is.
    All,
    /// What comes before its loop.
    First,
    /// The rounds of its loop, all alike.
    Rounds,
    /// What comes after it.
    Last,
}

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
#[derive(Clone)]
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

impl Sink {
    /// Whether a thread takes a run of neighbours and not elements that lie a group apart.
    const fn takes_runs(&self) -> bool {
        matches!(self, Self::Totals(..) | Self::Scan(_))
    }
}

/// A program before it is written.
pub(crate) struct Program<'a, K, const ROWS: usize, const IN: usize, const OUT: usize> {
    pub(crate) kernel: &'a K,
    pub(crate) reads: Reads,
    pub(crate) sink: Sink,
    pub(crate) part: Part,
    pub(crate) launch: Launch,
}

impl<'a, K, const ROWS: usize, const IN: usize, const OUT: usize> Program<'a, K, ROWS, IN, OUT>
where
    K: Bundle<ROWS, IN, OUT>,
{
    /// All of a kernel, started as the device's programs are. Where results say where they go, or lie in runs, it is started as ever: then no run is cut.
    pub(super) fn new(gpu: &Gpu, kernel: &'a K, reads: Reads, sink: Sink) -> Self {
        let is_whole = sink.takes_runs() || matches!(sink, Sink::Place) || reads == Reads::Indexed;
        let launch = if is_whole { Launch::USUAL } else { gpu.launch() };
        Self { kernel, reads, sink, part: Part::All, launch }
    }

    /// Elements that a thread takes at a time.
    pub(super) const fn bundle(&self) -> usize {
        if self.sink.takes_runs() { RUN } else { ROWS }
    }

    /// Numbers of an element that it begins with.
    fn numbers(&self) -> usize {
        if self.has_first() { self.kernel.reads() } else { OUT }
    }

    /// How many rounds its kernel's loop has.
    pub(super) fn rounds(&self) -> usize {
        if K::LOOP == Rounds::None { 0 } else { self.kernel.rounds() }
    }

    const fn has_first(&self) -> bool {
        matches!(self.part, Part::All | Part::First)
    }

    /// The program around these functions. If they are not mapped it is soon written, and as good as a name.
    pub(super) fn listing(&self, language: Language, functions: &Functions, is_mapped: bool) -> Listing {
        let group_threads = self.launch.group_threads;
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
        for (structure, count) in [("Given", self.numbers()), ("Made", OUT)] {
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
        text += &language.entry(entry, group_threads, ["u32", "u32"], false, &self.body(functions));
        let is_read = matches!(self.reads, Reads::Source | Reads::Indexed);
        let reads_source = is_read || matches!(self.sink, Sink::Scan(_));
        Listing { entry: entry.to_owned(), text, group_threads, dynamic_bytes: 0, reads_source, reads_keys }
    }

    /// The kernel and what it needs, as functions.
    pub(super) fn functions(&self) -> Result<Functions, Error> {
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
        if self.has_first() {
            functions.add(head("kernel", "Given", IN), traced(|x| self.kernel.inner(x)));
        }
        if matches!(self.part, Part::All | Part::Rounds) {
            self.add_rounds(&mut functions, head("round", "Made", OUT))?;
        }
        if K::LOOP != Rounds::None && matches!(self.part, Part::All | Part::Last) {
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

    /// The function of its loop.
    fn add_rounds(&self, functions: &mut Functions, head: Head) -> Result<(), Error> {
        let (rounds, round) = (self.rounds(), |number| traced(|y| self.kernel.round(number, y)));
        match K::LOOP {
            Rounds::None => {}
            Rounds::Each if self.part == Part::All => functions.add_round(head, (0..rounds).map(round))?,
            Rounds::Each => {
                // More than there is room for state of, so without any they are alike.
                let mut each = Functions::default();
                each.add_round(head.clone(), (0..rounds).map(round))?;
                each.state()?;
                functions.add_alike(head, round(0), rounds as u32);
            }
            Rounds::Alike => functions.add_alike(head, round(0), rounds as u32),
        }
        Ok(())
    }

    /// What a thread does, in the common syntax.
    fn body(&self, functions: &Functions) -> String {
        let transposed = |name, count| match ROWS {
            1 => String::new(),
            _ => (0..count).map(|p| format!("        {name}.p{p} = transposed({name}.p{p});\n")).collect(),
        };
        format!(
            "{}    for ({}) {{
        var given: {};
{rows}
            let at = base + i * {group}u;
            if (at < job.count) {{
{}            }}
        }}
{}{}{}{rows}
            let at = base + i * {group}u;
            if (at < job.count) {{
{}            }}
        }}
    }}
{}",
            self.before(),
            self.bundles(),
            if self.has_first() { "Given" } else { "Made" },
            self.with_given(),
            transposed("given", self.numbers()),
            self.with_rounds(functions),
            transposed("made", OUT),
            self.with_made(functions),
            self.after(),
            group = self.launch.group_threads,
            // One turn is none: how many a thread makes is counted.
            rows = match ROWS {
                1 => "        {\n            let i = 0u;".to_owned(),
                _ => format!("        for (var i = 0u; i < {ROWS}u; i = i + 1u) {{"),
            },
        )
    }

    /// What makes `made` of `given`.
    fn with_rounds(&self, functions: &Functions) -> String {
        let given = if self.has_first() { functions.call("kernel", "given") } else { "given".to_owned() };
        let mut made = format!("        var made = {given};\n");
        let [round, last] = ["round", "last"].map(|name| functions.call(name, "made"));
        let rounds = self.rounds();
        let is_turned = K::LOOP == Rounds::Alike || rounds > 0;
        if is_turned && matches!(self.part, Part::All | Part::Rounds) {
            made += &format!(
                "        for (var number = 0u; number < {}; number = number + 1u) {{
            made = {round};
        }}
",
                functions.rounds(rounds)
            );
        }
        if K::LOOP != Rounds::None && matches!(self.part, Part::All | Part::Last) {
            made += &format!("        made = {last};\n");
        }
        made
    }

    /// The head of a loop over a thread's bundles: where one begins, how long there are some, and which is next.
    fn bundles(&self) -> String {
        if self.sink.takes_runs() {
            return "var base = thread * run; base < job.count && base - thread * run < run; base = base + 1u".to_owned();
        }
        let threads = self.launch.group_threads;
        let group = threads as usize * ROWS;
        let more = if matches!(self.sink, Sink::Find) { " && hit == 0xffffffffu" } else { "" };
        format!(
            "var base = (thread / {threads}u) * {group}u + thread % {threads}u; base < job.count{more}; \
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
        (0..self.numbers()).map(|p| format!("                given.p{p}.x[i] = {};\n", value(p))).collect()
    }

    /// What comes before the loop.
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

    /// What comes after the loop.
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
