//! Runs steps and test programs in parallel, one per core. The output of each is printed at its end, in one
//! piece.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader, PipeReader};
use std::num::NonZero;
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Outcome, Output, Run, Step};
use crate::workspace::TestProgram;
use crate::{Result, root};

/// A step or test program that takes longer hangs. The longest takes a third of this on a slow machine.
const LONGEST: Duration = Duration::from_secs(40 * 60);

/// Without a line for this long, we look whether the command has ended.
const PAUSE: Duration = Duration::from_secs(10);

/// The work of one core.
#[derive(Debug)]
pub(crate) enum Job {
    /// Steps, one after another.
    Steps(&'static [Step]),
    Tests(TestProgram),
}

impl Job {
    /// The name of its first step, or of the program.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Steps(steps) => steps[0].name.to_owned(),
            Self::Tests(program) => program.name.clone(),
        }
    }

    fn run(self) -> Vec<Run> {
        match self {
            Self::Steps(steps) => steps.iter().map(Step::run).collect(),
            Self::Tests(program) => vec![watch(&program.name, Ok(program.command()))],
        }
    }
}

/// Runs all jobs in order, each on the first free core.
pub(crate) fn run(jobs: impl Iterator<Item = Job> + Send) -> Vec<Run> {
    let (jobs, runs) = (Mutex::new(jobs), Mutex::new(Vec::new()));
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let done = job.run();
                    runs.lock().unwrap_or_else(PoisonError::into_inner).extend(done);
                }
            });
        }
    });
    runs.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a command, prints its output, and returns its outcome. A command that cannot be started has failed.
pub(super) fn watch(name: &str, command: Result<Command>) -> Run {
    let start = Instant::now();
    let mut shown = String::new();
    let watched =
        command.and_then(|command| read(command, &mut shown).map_err(|error| format!("{name}: {error}")));
    let (output, succeeded) = watched.unwrap_or_else(|error| {
        shown += &error;
        shown.push('\n');
        (Output::default(), false)
    });
    let this_step = format!("{name} (");
    let outcome = match succeeded {
        false => Outcome::Failed,
        true if output.skipped.iter().any(|what| what.starts_with(&this_step)) => Outcome::Skipped,
        true => Outcome::Passed,
    };
    let seconds = start.elapsed().as_secs_f64();
    // A single call, so that the output of other jobs is not mixed in.
    println!("== {name}: {seconds:.1} s\n{shown}");
    Run { name: name.to_owned(), outcome, seconds, output }
}

/// Reads both output streams of a command, in order. Returns also whether it succeeded. A command that takes
/// too long is killed and has failed.
fn read(mut command: Command, shown: &mut String) -> io::Result<(Output, bool)> {
    let (reader, writer) = io::pipe()?;
    if command.get_current_dir().is_none() {
        command.current_dir(root());
    }
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // The command holds the writing ends of the pipe. If they stayed open here, reading would not end.
    drop(command);
    let lines = lines(reader);
    let deadline = Instant::now() + LONGEST;
    let mut output = Output::default();
    loop {
        let line = match lines.recv_timeout(PAUSE) {
            Ok(line) => line?,
            Err(RecvTimeoutError::Disconnected) => return Ok((output, child.wait()?.success())),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait()? {
                    shown.push_str("It left a process behind, which keeps its output open.\n");
                    return Ok((output, status.success()));
                }
                if Instant::now() > deadline {
                    child.kill()?;
                    let _ =
                        writeln!(shown, "It did not end within {} minutes: killed.", LONGEST.as_secs() / 60);
                    return Ok((output, false));
                }
                continue;
            }
        };
        if output.read(&line) {
            shown.push_str(&line);
            shown.push('\n');
        }
    }
}

/// The lines of an output, read by a thread of their own: a process that never ends holds back this thread only.
fn lines(reader: PipeReader) -> Receiver<io::Result<String>> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            let line = line.map(|line| String::from_utf8_lossy(&line).into_owned());
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
