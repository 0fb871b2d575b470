//! `crossgrain bench`: times every variant, conversion and mode in one run.
//!
//! Results are checked against the reference before anything is timed. Subjects that are compared are sampled
//! in turns (`plan::measure`), not one after the other. `bench/peers` times other implementations.

mod calls;
mod clock;
#[cfg(feature = "gpu")]
mod gpu;
mod memory;
mod modes;
#[cfg(not(feature = "gpu"))]
mod no_gpu;
mod planner;
mod ratio;
mod search;
mod subject;

use std::io::{self, Write};
use std::path::PathBuf;

use crossgrain::Policy;
use crossgrain::engine::text::{grouped, quoted};
use crossgrain::plan::measure::{Measured, Sampling, Subject, measure_beside};
use serde_json::json;

use crate::error::{self, Error, Exit};
use crate::typed;
pub(crate) use clock::machine;
#[cfg(not(feature = "gpu"))]
use no_gpu as gpu;
use subject::Candidate;

/// The most bytes on which GPU programs are timed.
const GPU_BYTES_MAX: u64 = 4 << 30;

/// Time every variant and mode
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Time only subjects whose id contains one of these; with `gpu` in front the programs of a GPU, as
    /// `gpu/aes-128`
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// The GPU, by its name in `crossgrain devices`; the first unless given
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// How many bytes GPU programs are timed on; 4 GiB unless given, or less if the GPU cannot hold them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=GPU_BYTES_MAX))]
    bytes: Option<u64>,
    /// A program for the GPU, in CUDA C (.cu) or WGSL (.wgsl), to compare with `aes-ctr`: it takes the same
    /// job and keys, and its entry point has the name of the file without its ending
    #[arg(long, value_name = "FILE")]
    beside: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    /// The number of turns that count; more turns give steadier medians
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    turns: u16,
    /// Run up to N times as many turns if other processes use the machine. A reference loop runs in each
    /// turn, and the turns in which it was disturbed least count
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000))]
    patience: u16,
    /// Judge the planner instead: run the best paths of every job under every ISA cap end to end
    #[arg(long, conflicts_with_all = ["turns", "patience", "plan"])]
    planner: bool,
    /// The leaks that plans may have. With `any`, each plan of a mode is compared with one that may use
    /// table lookups; with `--planner`, only such plans are judged
    #[arg(long, value_name = "POLICY", default_value = "constant-time", value_parser = typed::policies())]
    policy: Policy,
    /// A plan of ECB or CTR to time with the others of its job, as written by `crossgrain plan --save`. No
    /// other job is timed unless FILTERS select it
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
}

/// Selects subjects by their ids.
#[derive(Clone, Copy)]
pub(crate) struct Filter<'a>(&'a [String]);

impl Filter<'_> {
    /// Whether the id contains one of the texts, or there are none.
    fn passes(self, id: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|text| id.contains(text))
    }
}

impl Args {
    fn filter(&self) -> Filter<'_> {
        Filter(&self.filters)
    }
}

/// One line of the result.
struct Row {
    id: String,
    bytes: usize,
    threads: usize,
    measured: Measured,
}

impl Row {
    fn gb_per_s(&self) -> f64 {
        self.bytes as f64 / self.measured.run_ns
    }

    /// The speed of the fastest counted sample.
    fn best_gb_per_s(&self) -> f64 {
        self.bytes as f64 / self.measured.fastest_ns
    }

    /// By the clock measured right after the subject. One thread only, because cores can have different
    /// clocks.
    fn cycles_per_byte(&self) -> Option<f64> {
        let ghz = self.measured.clock_ns.filter(|_| self.threads == 1).and_then(clock::ghz)?;
        Some(ghz / self.gb_per_s())
    }
}

/// Measures and prints.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    if args.filters.iter().any(|filter| filter == "gpu" || filter.starts_with("gpu/")) {
        return gpu::run(args);
    }
    if args.device.is_some() || args.bytes.is_some() || args.beside.is_some() {
        let told = "--device, --bytes and --beside are for `crossgrain bench gpu`: leave them out";
        return Err(Error::usage(told));
    }
    let mut printer = Printer { json: args.json, ghz: clock::core_ghz(), output: io::stdout() };
    printer.head()?;
    if args.planner {
        return planner::run(args.filter(), args.policy, &mut printer);
    }
    printer.columns()?;
    let mut rows = Vec::new();
    let plans = args.plan.as_deref().map(typed::plans).transpose()?;
    let of_plan = plans.as_ref().map(|plans| subject::ids_of(plans.job())).transpose()?;
    let filter = Filter(if args.filters.is_empty() { of_plan.as_slice() } else { &args.filters });
    for group in subject::groups(plans.as_ref(), args.policy, filter)? {
        let mut group = group?;
        let sampling = Sampling { turns: args.turns.into(), ..Sampling::default() };
        let mut subjects: Vec<_> = group.iter_mut().map(|candidate| &mut *candidate.work as _).collect();
        let (mut witness, mut clock) = (Timed(clock::witness), Timed(clock::chain));
        let patience = args.patience.into();
        let measured = measure_beside(&mut witness, &mut clock, patience, &mut subjects, sampling);
        for (candidate, measured) in group.into_iter().zip(measured) {
            let Candidate { id, bytes, threads, .. } = candidate;
            let row = Row { id, bytes, threads, measured };
            printer.row(&row)?;
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return Err(Error::usage(format!(
            "nothing that is timed has '{}' in its id: `crossgrain bench` alone times all",
            quoted(&args.filters.join("' or '"))
        )));
    }
    for ratio in ratio::found(&rows) {
        printer.ratio(&ratio)?;
    }
    warn_of_noise(&rows);
    Ok(())
}

/// The relative spread of samples from which a figure reflects other load on the machine more than the row
/// itself.
const NOISY: f64 = 0.1;

/// Warns if many figures are unreliable.
fn warn_of_noise(rows: &[Row]) {
    let noisy = rows.iter().filter(|row| row.measured.spread > NOISY).count();
    if 4 * noisy > rows.len() {
        error::tell(&format!(
            "{noisy} of {} figures spread by more than {:.0} %: the machine is busy, measure again when it is not",
            rows.len(),
            100.0 * NOISY
        ));
    }
}

/// Prints results as text or as JSON lines.
struct Printer {
    json: bool,
    ghz: Option<f64>,
    output: io::Stdout,
}

impl Printer {
    fn line(&mut self, text: impl std::fmt::Display) -> Result<(), Error> {
        writeln!(self.output, "{text}").map_err(|error| Error::print(&error))
    }

    fn head(&mut self) -> Result<(), Error> {
        let machine = machine();
        let features = crossgrain::Features::from_environment()?.to_string();
        if self.json {
            let version = env!("CARGO_PKG_VERSION");
            let head = json!({
                "machine": machine, "features": features, "core_ghz": self.ghz, "crossgrain": version,
                "load_average": clock::load_average(), "cpus": clock::allowed_cpus(),
            });
            return self.line(head);
        }
        self.line(format_args!("{machine}; {features}"))?;
        if let Some(ghz) = self.ghz {
            self.line(format_args!("about {ghz:.2} GHz at first"))?;
        }
        Ok(())
    }

    fn columns(&mut self) -> Result<(), Error> {
        if self.json {
            return Ok(());
        }
        self.line(format_args!(
            "{:54} {:>11} {:>7} {:>8} {:>8} {:>8} {:>7}",
            "id", "bytes", "threads", "GB/s", "best", "cycles/B", "spread"
        ))
    }

    fn row(&mut self, row: &Row) -> Result<(), Error> {
        let (gb_per_s, best) = (row.gb_per_s(), row.best_gb_per_s());
        let cycles_per_byte = row.cycles_per_byte();
        let Row { id, bytes, threads, measured: Measured { spread, .. } } = row;
        if self.json {
            return self.line(json!({
                "id": id, "bytes": bytes, "threads": threads, "gb_per_s": gb_per_s,
                "best_gb_per_s": best, "cycles_per_byte": cycles_per_byte, "spread": spread,
            }));
        }
        let bytes = grouped(bytes);
        let cycles = cycles_per_byte.map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.3}"));
        self.line(format_args!(
            "{id:54} {bytes:>11} {threads:>7} {gb_per_s:>8.3} {best:>8.3} {cycles:>8} {:>6.1}%",
            100.0 * spread
        ))
    }

    fn ratio(&mut self, ratio: &ratio::Ratio) -> Result<(), Error> {
        let ratio::Ratio { what, value, best } = ratio;
        if self.json {
            return self.line(json!({ "ratio": what, "value": value, "best": best }));
        }
        self.line(format_args!("ratio {value:>7.2}, of the best {best:>7.2}  {what}"))
    }
}

/// The error for a variant that gives a wrong result. It is a bug, so the variant is not timed.
fn wrong(id: &str) -> Error {
    Error::new(Exit::InputOutput, format!("{id} disagrees with the reference: please report this"))
}

/// Work on this machine, timed by its monotonic clock.
struct Timed<F>(F);

impl<F: FnMut()> Subject for Timed<F> {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let start = std::time::Instant::now();
        for _ in 0..repeats {
            (self.0)();
        }
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
