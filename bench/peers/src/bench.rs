//! Compares workers: first their results, then their times, in turns.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use crossgrain::plan::measure::{Measured, Sampling, Subject, measure_beside};
use serde_json::json;

use crate::job::{self, Job};
use crate::{clock, worker};

/// Jobs, workers and samples.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only jobs with one of these in their ids, such as `aes-256-gcm/apart`
    filters: Vec<String>,
    /// A worker to start
    #[arg(long = "worker", value_name = "COMMAND")]
    workers: Vec<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
    /// Turns that count
    #[arg(long, value_name = "N", default_value_t = 11)]
    turns: usize,
    /// On a busy machine, take up to N times the turns
    #[arg(long, value_name = "N", default_value_t = 4)]
    patience: usize,
    /// The least time of a sample, in microseconds
    #[arg(long, value_name = "N", default_value_t = 2000)]
    sample: u64,
}

/// Times every job that passes the filters.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let workers = args.workers.iter().filter_map(|command| Peer::start(command).transpose());
    let workers = workers.collect::<Result<Vec<_>, _>>()?;
    print_head(args, &workers);
    let mut wrong = 0;
    let is_wanted = |job: &Job| {
        let id = job.to_string();
        args.filters.is_empty() || args.filters.iter().any(|filter| id.contains(filter))
    };
    for job in job::all().filter(is_wanted) {
        match comparable(&job, &workers) {
            Ok(subjects) => time(args, &job, subjects),
            Err(reason) => {
                eprintln!("{job} is not timed: {reason}");
                wrong += 1;
            }
        }
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} jobs were not timed: workers disagree")) }
}

/// Workers that have a job and compute the same.
fn comparable(job: &Job, workers: &[Peer]) -> Result<Vec<Asked>, String> {
    let mut found: Option<(String, &str)> = None;
    let mut subjects = Vec::new();
    for worker in workers.iter().filter(|worker| job.is_bulk() || !worker.is_reduced()) {
        let answer = worker.ask(&format!("check {job}"));
        if answer.starts_with("none") {
            continue;
        }
        if answer.parse::<u64>().is_err() {
            eprintln!("{job}/{}: {answer}", worker.label);
            continue;
        }
        match &found {
            Some((first, who)) if *first != answer => {
                return Err(format!("{who} and {} compute different bytes", worker.label));
            }
            Some(_) => {}
            None => found = Some((answer, &worker.label)),
        }
        subjects.push(Asked {
            request: format!("time {job}"),
            label: worker.label.clone(),
            line: Rc::clone(&worker.line),
        });
    }
    Ok(subjects)
}

fn time(args: &Args, job: &Job, mut workers: Vec<Asked>) {
    let sampling = Sampling { turns: args.turns, sample_ns: 1000 * args.sample };
    let mut subjects: Vec<_> = workers.iter_mut().map(|worker| worker as &mut dyn Subject).collect();
    let (mut witness, mut clock) = (Timed(clock::witness), Timed(clock::chain));
    let measured = measure_beside(&mut witness, &mut clock, args.patience, &mut subjects, sampling);
    for (worker, measured) in workers.iter().zip(measured) {
        print_row(args.json, job, &worker.label, &measured);
    }
}

/// Machine, load, CPUs that this may run on, compilers, and workers.
fn print_head(args: &Args, workers: &[Peer]) {
    let machine = clock::machine();
    let (load, cpus) = (clock::load_average(), clock::allowed_cpus());
    let names: Vec<_> = workers.iter().map(|worker| worker.name.as_str()).collect();
    let ghz = clock::core_ghz();
    let features = crossgrain::Features::from_environment().map(|features| features.to_string());
    let features = features.unwrap_or_default();
    let (crossgrain, cc) = (env!("CARGO_PKG_VERSION"), env!("C_COMPILER"));
    if args.json {
        println!(
            "{}",
            json!({
                "machine": machine, "features": features, "core_ghz": ghz, "load_average": load, "cpus": cpus,
                "crossgrain": crossgrain, "cc": cc, "peers": names,
            })
        );
        return;
    }
    println!("{machine}; {features}; load average {load}; CPUs {cpus}; {cc}");
    names.iter().for_each(|name| println!("worker {name}"));
    println!("{:44} {:>10} {:>10} {:>8} {:>8} {:>7}", "id", "ns", "best", "GB/s", "best", "spread");
}

fn print_row(json: bool, job: &Job, label: &str, measured: &Measured) {
    let (messages, bytes) = (job.bytes.len() as f64, job.mean_bytes());
    let (ns, best_ns) = (measured.run_ns / messages, measured.fastest_ns / messages);
    let (gb_per_s, best_gb_per_s, spread) = (bytes / ns, bytes / best_ns, measured.spread);
    if json {
        let cycles = measured.clock_ns.and_then(clock::ghz).filter(|_| bytes > 0.0).map(|ghz| ghz / gb_per_s);
        println!(
            "{}",
            json!({
                "id": format!("{job}/{label}"), "bytes": bytes.round() as u64, "threads": 1, "ns": digits(ns), "best_ns": digits(best_ns),
                "gb_per_s": digits(gb_per_s), "best_gb_per_s": digits(best_gb_per_s),
                "cycles_per_byte": cycles.map(digits), "spread": digits(spread),
            })
        );
        return;
    }
    let id = format!("{job}/{label}");
    println!(
        "{id:44} {ns:>10.1} {best_ns:>10.1} {gb_per_s:>8.3} {best_gb_per_s:>8.3} {:>6.1}%",
        100.0 * spread
    );
}

/// A figure's first five digits: no more of it is reproducible.
fn digits(figure: f64) -> f64 {
    format!("{figure:.4e}").parse().unwrap_or(figure)
}

/// A worker that was started.
struct Peer {
    name: String,
    /// The name in short, for ids.
    label: String,
    line: Rc<RefCell<Line>>,
}

/// The conversation with a worker.
struct Line {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a command, split at spaces. A worker without its library is left out, and a line says so.
    fn start(command: &str) -> Result<Option<Self>, String> {
        let lost = |error: &dyn std::fmt::Display| format!("worker '{command}' does not answer: {error}");
        let mut words = command.split_whitespace();
        let mut started = Command::new(words.next().unwrap_or_default());
        let started = started.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| lost(&error))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(lost(&"no pipes"));
        };
        let mut line = Line { child, requests, answers: BufReader::new(answers) };
        let name = line.ask("name").map_err(|error| lost(&error))?;
        if let Some(reason) = name.strip_prefix("error ") {
            eprintln!("left out: '{command}': {reason}");
            return Ok(None);
        }
        Ok(Some(Self { label: label(&name), name, line: Rc::new(RefCell::new(line)) }))
    }

    fn ask(&self, request: &str) -> String {
        self.line.borrow_mut().ask(request).unwrap_or_else(|error| format!("error {error}"))
    }

    /// Whether instructions were taken away from it.
    fn is_reduced(&self) -> bool {
        self.name.contains('(') && self.name.contains('=') || self.name.contains("software")
    }
}

impl Line {
    fn ask(&mut self, request: &str) -> std::io::Result<String> {
        writeln!(self.requests, "{request}")?;
        self.requests.flush()?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer)? == 0 {
            return Err(std::io::Error::other("the worker died"));
        }
        Ok(answer.trim_end().to_owned())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // A worker ends when its input closes, unless it is stuck.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The mask that hides AES instructions, carry-less multiplication and byte shuffles from OpenSSL. It then looks up
/// tables.
const TABLES: &str = "OPENSSL_ia32cap=~0x200020200000000";

/// The first word in lower case, and any restriction: `openssl-masked`, `openssl-tables`, `rustcrypto-software`,
/// `crossgrain-avx2`.
fn label(name: &str) -> String {
    let first = name.split_whitespace().next().unwrap_or("worker").to_lowercase();
    let cap = name.split_once("(CROSSGRAIN_ISA=").map(|(_, cap)| cap.trim_end_matches(')'));
    match cap {
        Some(cap) => format!("{first}-{cap}"),
        None if name.contains("software") => format!("{first}-software"),
        None if name.contains(TABLES) => format!("{first}-tables"),
        None if name.contains("OPENSSL_ia32cap") => format!("{first}-masked"),
        None => first,
    }
}

/// A job of a worker, which keeps the time itself.
struct Asked {
    request: String,
    label: String,
    line: Rc<RefCell<Line>>,
}

impl Subject for Asked {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let answer = self.line.borrow_mut().ask(&format!("{} {repeats}", self.request));
        // A worker that dies makes its own figure infinite and stops calibration.
        answer.ok().and_then(|answer| answer.parse().ok()).unwrap_or(u64::MAX)
    }
}

/// Work on this machine, timed by its monotonic clock.
struct Timed<F>(F);

impl<F: FnMut()> Subject for Timed<F> {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let start = std::time::Instant::now();
        (0..repeats).for_each(|_| (self.0)());
        worker::nanoseconds(start)
    }
}
