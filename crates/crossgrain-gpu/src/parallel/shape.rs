//! The part of a program that does not depend on its kernel's type: the text around the kernel's functions.
//!
//! A thread takes one bundle after another. A bundle has `rows` elements that are one group apart, so that
//! neighbouring threads read neighbouring words. In pseudo-code:
//!
//! ```text
//! for each bundle of this thread
//!     read row 0..rows of each number, transpose them if there are 32
//!     made = last(round(… round(kernel(given))))
//!     transpose, then write, search, combine or scan row 0..rows
//! ```
//!
//! A job has six words: the number of elements, the number of threads, and two each for source and goal.
//! Those two are the position of the first element's first number, and the distance in words between the
//! numbers of an element.

use crossgrain::engine::arch::Lanes as _;
use crossgrain::engine::circuit::emit::{Field, Language};
use crossgrain::engine::circuit::trace::{Sym, Width, trace_given};
use crossgrain::engine::device::Listing;
use crossgrain::engine::layout::convert::transpose_square;

use super::functions::{Functions, Head, Texts, Traced};
use super::kernel::Rounds;
use super::launch::{Launch, RUN};
use super::text::{Part, Reads};
use crate::gpu::STATE_WORDS_MAX;

/// How a program's text uses the kernel's results.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Form {
    Write,
    Find,
    /// The identity of the combining function. `Totals` has the same.
    Combine(Vec<u32>),
    Totals(Vec<u32>),
    Scan,
    Place,
}

impl Form {
    /// Whether a thread takes a run of neighbours, instead of elements that are one group apart.
    pub(super) const fn takes_runs(&self) -> bool {
        matches!(self, Self::Totals(_) | Self::Scan)
    }
}

/// A program without its kernel's type. The code here is compiled once for all kernels.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) kernel: &'static str,
    pub(super) sink: Form,
    pub(super) reads: Reads,
    pub(super) part: Part,
    pub(super) launch: Launch,
    pub(super) kind: Rounds,
    /// Number of rounds of the kernel's loop.
    pub(super) rounds: usize,
    pub(super) rows: usize,
    /// Numbers per element that are read, numbers per result, and numbers per result that are written.
    pub(super) numbers: [usize; 3],
}

/// Everything on which a program's text depends in a device's language. It identifies a program: programs
/// with different texts have different wordings. It does not include words of state.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Wording {
    shape: Shape,
    texts: Texts,
}

impl Wording {
    pub(super) fn new(mut shape: Shape, texts: Texts) -> Self {
        // The text contains the number of rounds only if it has the loop and the number is not in the
        // state. Otherwise the number is normalised, so that equal texts have equal wordings.
        if texts.are_alike || matches!(shape.part, Part::First | Part::Last) {
            shape.rounds = 1;
        }
        Self { shape, texts }
    }

    /// The program's text and group size.
    pub(crate) fn listing(&self, language: Language) -> Listing {
        self.shape.listing(language, &self.texts)
    }
}

impl Shape {
    /// Elements that a thread takes at a time.
    pub(super) const fn bundle(&self) -> usize {
        if self.sink.takes_runs() { RUN } else { self.rows }
    }

    /// Whether the computation before the kernel's loop belongs to this program.
    pub(super) const fn has_first(&self) -> bool {
        matches!(self.part, Part::All | Part::First)
    }

    /// Whether the kernel has a loop, and the computation after it belongs to this program.
    pub(super) fn has_last(&self) -> bool {
        self.kind != Rounds::None && matches!(self.part, Part::All | Part::Last)
    }

    /// Numbers per element at the start of this program.
    const fn given(&self) -> usize {
        if self.has_first() { self.numbers[0] } else { self.made() }
    }

    /// Numbers per result.
    const fn made(&self) -> usize {
        self.numbers[1]
    }

    /// The head of a function of `count` numbers.
    pub(super) fn head(&self, name: &'static str, parameter: &'static str, count: usize) -> Head {
        Head {
            name,
            parameters: vec![("x", parameter)],
            inputs: rows_of("x", count, self.rows),
            result: "Made",
            outputs: rows_of("", self.made(), self.rows),
        }
    }

    /// Adds the function that transposes rows and bits, if there are 32 rows.
    pub(super) fn add_transposed(&self, functions: &mut Functions) {
        if self.rows > 1 {
            let names = |name: &str| (0..32).map(|row| format!("{name}.x[{row}]")).collect();
            let (parameters, inputs, outputs) = (vec![("x", "Rows")], names("x"), names(""));
            let head = Head { name: "transposed", parameters, inputs, result: "Rows", outputs };
            functions.add(head, trace_given(Width::Three, 32, transposed));
        }
    }

    /// Adds the function that combines results, if there is one.
    pub(super) fn add_combined(&self, functions: &mut Functions, combined: Option<&Traced>) {
        if let Some(combined) = combined {
            let names = |name: &str| (0..self.made()).map(|p| format!("{name}.x[{p}]")).collect::<Vec<_>>();
            let head = Head {
                name: "combined",
                parameters: vec![("a", "Total"), ("b", "Total")],
                inputs: [names("a"), names("b")].concat(),
                result: "Total",
                outputs: names(""),
            };
            functions.add(head, combined.clone());
        }
    }

    /// The program around these functions.
    fn listing(&self, language: Language, functions: &Texts) -> Listing {
        let group_threads = self.launch.group_threads;
        let entry = match self.sink {
            Form::Write => "transform",
            Form::Find => "find",
            Form::Combine(_) => "reduce",
            Form::Totals(_) => "totals",
            Form::Scan => "scan",
            Form::Place => "place",
        };
        let mut text = format!("// {entry} by {}, written by crossgrain.\n", self.kernel);
        text += language.prelude();
        let job = ["count", "threads", "source_first", "source_stride", "goal_first", "goal_stride"];
        text += &language.structure("Job", &job.map(|name| (name, Field::Word)));
        text += &language.bindings(["u32", "u32"]);
        text += &language.structure("Rows", &[("x", Field::Words(self.rows))]);
        for (structure, count) in [("Given", self.given()), ("Made", self.made())] {
            let names: Vec<_> = (0..count).map(|p| format!("p{p}")).collect();
            let fields: Vec<_> = names.iter().map(|name| (&name[..], Field::Structure("Rows"))).collect();
            text += &language.structure(structure, &fields);
        }
        text += &language.structure("Total", &[("x", Field::Words(self.made()))]);
        let (texts, reads_keys) = functions.text(language);
        if functions.have_state() {
            text += &language.constants(2, "keys", STATE_WORDS_MAX / 4);
        }
        text += &texts;
        text += &language.entry(entry, group_threads, ["u32", "u32"], false, &self.body(functions));
        let is_read = matches!(self.reads, Reads::Source | Reads::Indexed);
        let reads_source = is_read || self.sink == Form::Scan;
        Listing { entry: entry.to_owned(), text, group_threads, dynamic_bytes: 0, reads_source, reads_keys }
    }

    /// The body of the entry function, in the common syntax.
    fn body(&self, functions: &Texts) -> String {
        let transposed = |name, count| match self.rows {
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
            transposed("given", self.given()),
            self.with_rounds(functions),
            transposed("made", self.made()),
            self.with_made(functions),
            self.after(),
            group = self.launch.group_threads,
            // A loop of one turn is omitted, because it would count towards the thread's turns.
            rows = match self.rows {
                1 => "        {\n            let i = 0u;".to_owned(),
                count => format!("        for (var i = 0u; i < {count}u; i = i + 1u) {{"),
            },
        )
    }

    /// The statements that compute `made` from `given`.
    fn with_rounds(&self, functions: &Texts) -> String {
        let given = if self.has_first() { functions.call("kernel", "given") } else { "given".to_owned() };
        let mut made = format!("        var made = {given};\n");
        let [round, last] = ["round", "last"].map(|name| functions.call(name, "made"));
        let rounds = self.rounds;
        let is_turned = self.kind == Rounds::Alike || rounds > 0;
        if is_turned && matches!(self.part, Part::All | Part::Rounds) {
            made += &format!(
                "        for (var number = 0u; number < {}; number = number + 1u) {{
            made = {round};
        }}
",
                functions.rounds(rounds)
            );
        }
        if self.has_last() {
            made += &format!("        made = {last};\n");
        }
        made
    }

    /// The head of the loop over a thread's bundles.
    fn bundles(&self) -> String {
        if self.sink.takes_runs() {
            return "var base = thread * run; base < job.count && base - thread * run < run; base = base + 1u".to_owned();
        }
        let threads = self.launch.group_threads;
        let (rows, group) = (self.rows, threads as usize * self.rows);
        let more = if self.sink == Form::Find { " && hit == 0xffffffffu" } else { "" };
        format!(
            "var base = (thread / {threads}u) * {group}u + thread % {threads}u; base < job.count{more}; \
             base = base + job.threads * {rows}u"
        )
    }

    /// The statements that read row i of each number.
    fn with_given(&self) -> String {
        let value = |p| match self.reads {
            Reads::Source => format!("source[job.source_first + {p}u * job.source_stride + at]"),
            Reads::Goal => goal(p),
            Reads::Indices => "job.source_first + at".to_owned(),
            Reads::Indexed => format!("source[job.source_first + {p}u * job.source_stride + {}]", goal(0)),
        };
        (0..self.given()).map(|p| format!("                given.p{p}.x[i] = {};\n", value(p))).collect()
    }

    /// The statements before the loop.
    fn before(&self) -> String {
        let total = |value: &dyn Fn(usize) -> String| {
            let words = (0..self.made()).map(|p| format!("    total.x[{p}] = {};\n", value(p)));
            "    var total: Total;\n".to_owned() + &words.collect::<String>()
        };
        let run = "    let run = (job.count + job.threads - 1u) / job.threads;\n";
        match &self.sink {
            Form::Write | Form::Place => String::new(),
            Form::Find => "    var hit = 0xffffffffu;\n".to_owned(),
            Form::Combine(identity) => total(&|p| format!("{:#x}u", identity[p])),
            Form::Totals(identity) => run.to_owned() + &total(&|p| format!("{:#x}u", identity[p])),
            Form::Scan => {
                let before = |p| format!("source[job.source_first + {p}u * job.source_stride + thread]");
                run.to_owned() + &total(&before)
            }
        }
    }

    /// The statements that use row i of each number.
    fn with_made(&self, functions: &Texts) -> String {
        let each = |line: &dyn Fn(usize) -> String| (0..self.made()).map(line).collect::<String>();
        let combined = || {
            "                var next: Total;\n".to_owned()
                + &each(&|p| format!("                next.x[{p}] = made.p{p}.x[i];\n"))
                + &format!("                total = {};\n", functions.call("combined", "total, next"))
        };
        match self.sink {
            Form::Write => {
                let writes = 0..self.numbers[2];
                writes.map(|p| format!("                {} = made.p{p}.x[i];\n", goal(p))).collect()
            }
            Form::Find => "                if (made.p0.x[i] != 0u && at < hit) {
                    hit = at;
                }\n"
            .to_owned(),
            Form::Combine(_) | Form::Totals(_) => combined(),
            Form::Scan => combined() + &each(&|p| format!("                {} = total.x[{p}];\n", goal(p))),
            Form::Place => "                goal[job.goal_first + made.p0.x[i]] = at;\n".to_owned(),
        }
    }

    /// The statements after the loop.
    fn after(&self) -> String {
        match self.sink {
            Form::Write | Form::Scan | Form::Place => String::new(),
            Form::Find => "    goal[thread] = hit;\n".to_owned(),
            Form::Combine(_) | Form::Totals(_) => (0..self.made())
                .map(|p| format!("    goal[{p}u * job.goal_stride + thread] = total.x[{p}];\n"))
                .collect(),
        }
    }
}

/// Number `p` of element `at` in the goal.
fn goal(p: usize) -> String {
    format!("goal[job.goal_first + {p}u * job.goal_stride + at]")
}

/// All rows of all numbers of a structure.
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
