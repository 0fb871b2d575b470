//! Several files in one run. Each is encrypted, decrypted or verified on its own. A failure is reported, and
//! the other files go on.
//!
//! Outputs are completed in groups, because syncing a group takes about as long as syncing one small file.

use std::collections::HashSet;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{FileArgs, InputArgs};
use super::print;
use crate::error::{self, Error, Exit};
use crate::input::{Name, shown};
use crate::output::{self, Content, Output, with_suffix, without_suffix};
use crate::profile;

/// The most files that are synced together.
const GROUP_FILES: usize = 64;

/// A group ends once its inputs have this many bytes.
const GROUP_BYTES: u64 = 64 << 20;

/// One file of a run.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) input: PathBuf,
    /// Its path in the output directory.
    relative: PathBuf,
}

/// The result of a job.
pub(super) struct Done {
    /// The output to complete, if there is one.
    pub(super) output: Option<Output>,
    /// The line to print when it is complete.
    pub(super) told: Option<String>,
    pub(super) len_bytes: u64,
}

impl Done {
    /// Completes the only output of a run.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.output.map_or(Ok(()), Output::finish)?;
        profile::report();
        self.told.map_or(Ok(()), print)
    }
}

/// Which files below directories are taken.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Taken {
    /// Those with the suffix, to be decrypted or verified.
    Encrypted,
    /// Those without it, to be encrypted.
    Others,
}

/// The files to work on, in order. An input that cannot be read is an error in its place.
pub(super) fn jobs(args: &InputArgs, taken: Taken) -> Result<Vec<Result<Job, Error>>, Error> {
    let mut jobs = Vec::new();
    for input in &args.inputs {
        if input.as_os_str() == "-" {
            let why = "'-' is standard input, which has no name for its output: give it alone";
            jobs.push(Err(Error::usage(why)));
        } else if args.recursive && input.is_dir() {
            below(input, args.suffix(), taken, &mut jobs);
        } else {
            let relative = input.file_name().map(PathBuf::from).unwrap_or_default();
            jobs.push(Ok(Job { input: input.clone(), relative }));
        }
    }
    if jobs.is_empty() {
        return Err(Error::usage("there are no files to work on: name files, or directories that have some"));
    }
    Ok(jobs)
}

/// Adds the files of a directory and of those below it, sorted by name.
fn below(directory: &Path, suffix: &str, taken: Taken, jobs: &mut Vec<Result<Job, Error>>) {
    let name = directory.file_name().map(PathBuf::from).unwrap_or_default();
    // The next path is the last.
    let mut pending = vec![(directory.to_owned(), name)];
    while let Some((path, relative)) = pending.pop() {
        let failed = |error| Error::read(Name::File(path.clone()), &error);
        let is_encrypted = || without_suffix(&path, suffix).is_some();
        match fs::symlink_metadata(&path) {
            Err(error) => jobs.push(Err(failed(error))),
            Ok(found) if found.is_dir() || path == directory => {
                match fs::read_dir(&path).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
                    Err(error) => jobs.push(Err(failed(error))),
                    Ok(entries) => {
                        let mut names: Vec<_> = entries.into_iter().map(|entry| entry.file_name()).collect();
                        names.sort_unstable_by(|one, other| other.cmp(one));
                        pending.extend(names.iter().map(|name| (path.join(name), relative.join(name))));
                    }
                }
            }
            Ok(found) if !found.is_file() => {
                error::tell(&format!("'{}' is no regular file, and is left out", shown(&path)));
            }
            Ok(_) if is_encrypted() == (taken == Taken::Encrypted) => {
                jobs.push(Ok(Job { input: path, relative }));
            }
            Ok(_) => {}
        }
    }
}

/// The names of outputs.
pub(super) struct Outputs<'a> {
    files: &'a FileArgs,
    content: Content,
    /// The outputs of this run. None may replace another.
    given: HashSet<PathBuf>,
    /// The directory that was created last.
    directory: PathBuf,
}

impl<'a> Outputs<'a> {
    /// Encrypted files get the suffix, and plaintext loses it.
    pub(super) fn new(files: &'a FileArgs, content: Content) -> Self {
        Self { files, content, given: HashSet::new(), directory: PathBuf::new() }
    }

    /// The output of a job. Its directory exists.
    pub(super) fn path(&mut self, job: &Job) -> Result<PathBuf, Error> {
        let suffix = self.files.inputs.suffix();
        let (base, directory) = match &self.files.output_dir {
            Some(directory) => (directory.join(&job.relative), Some(directory)),
            None => (job.input.clone(), None),
        };
        let path = match self.content {
            Content::Plaintext => without_suffix(&base, suffix).ok_or_else(|| {
                let why = format!("'{}' does not end in {suffix}: give -o, or --suffix", shown(&job.input));
                Error::usage(why)
            })?,
            _ => with_suffix(&base, suffix),
        };
        if let (Some(_), Some(parent)) = (directory, path.parent())
            && *parent != self.directory
        {
            create(parent, self.content)
                .map_err(|error| Error::write(Name::File(parent.to_owned()), &error))?;
            parent.clone_into(&mut self.directory);
        }
        if !self.given.insert(resolved(&path)) {
            let why = format!(
                "'{}' would get the name '{}', as another input: encrypt it apart",
                shown(&job.input),
                shown(&path)
            );
            return Err(Error::new(Exit::WouldOverwrite, why));
        }
        Ok(path)
    }
}

/// The path without links, as far as it exists. Two names of one file give the same.
fn resolved(path: &Path) -> PathBuf {
    let of_parent = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(of_parent).unwrap_or_else(|| path.to_owned())
}

/// Creates a directory and those above it. Directories of plaintext are accessible only to their owner.
fn create(directory: &Path, content: Content) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if content == Content::Plaintext {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = content;
    builder.create(directory).map_err(|error| match error.kind() {
        // Something else has this name.
        io::ErrorKind::AlreadyExists => io::ErrorKind::NotADirectory.into(),
        _ => error,
    })
}

/// Runs all jobs. The error of the run has the exit code of the worst failure.
pub(super) fn run(
    jobs: Vec<Result<Job, Error>>,
    is_json: bool,
    mut work: impl FnMut(&Job) -> Result<Done, Error>,
) -> Result<(), Error> {
    let total = jobs.len();
    let mut batch = Batch {
        is_json,
        group: Vec::new(),
        group_bytes: 0,
        failed: 0,
        worst: Exit::ReaderGone,
        has_reader: true,
    };
    for job in jobs {
        let (file, done) = match job {
            Ok(job) => (Some(job.input.clone()), work(&job)),
            Err(error) => (None, Err(error)),
        };
        match done {
            Ok(done) => batch.take(file, done)?,
            Err(error) => batch.fail(file.as_deref(), &error)?,
        }
    }
    batch.complete()?;
    profile::report();
    match batch.failed {
        0 => Ok(()),
        failed => Err(Error::new(batch.worst, format!("{failed} of {total} files failed"))),
    }
}

struct Batch {
    is_json: bool,
    /// Files whose outputs are to be completed.
    group: Vec<(Option<PathBuf>, Done)>,
    group_bytes: u64,
    failed: usize,
    worst: Exit,
    /// Whether standard output still has a reader. The work goes on without one.
    has_reader: bool,
}

impl Batch {
    fn take(&mut self, file: Option<PathBuf>, done: Done) -> Result<(), Error> {
        self.group_bytes += done.len_bytes;
        let waits = done.output.is_some();
        self.group.push((file, done));
        if waits && self.group.len() < GROUP_FILES && self.group_bytes < GROUP_BYTES {
            return Ok(());
        }
        self.complete()
    }

    /// Completes the outputs of the group, and prints the lines about them.
    fn complete(&mut self) -> Result<(), Error> {
        self.group_bytes = 0;
        let mut outputs = Vec::new();
        let mut told = Vec::new();
        for (file, done) in std::mem::take(&mut self.group) {
            told.push((file, done.told, done.output.is_some()));
            outputs.extend(done.output);
        }
        let mut finished = output::finish_all(outputs).into_iter();
        for (file, line, has_output) in told {
            let done = if has_output { finished.next().unwrap_or(Ok(())) } else { Ok(()) };
            match (done, line) {
                (Ok(()), Some(line)) => self.print(line)?,
                (Ok(()), None) => {}
                (Err(error), _) => self.fail(file.as_deref(), &error)?,
            }
        }
        Ok(())
    }

    /// Prints a line, unless the reader has gone.
    fn print(&mut self, line: impl Display) -> Result<(), Error> {
        match if self.has_reader { print(line) } else { Ok(()) } {
            Err(error) if error.exit() == Exit::ReaderGone => self.has_reader = false,
            printed => printed?,
        }
        Ok(())
    }

    /// Reports a failure.
    fn fail(&mut self, file: Option<&Path>, error: &Error) -> Result<(), Error> {
        self.failed += 1;
        if error.exit().severity() > self.worst.severity() {
            self.worst = error.exit();
        }
        error::tell(error.message());
        if self.is_json {
            let file = file.map_or(Value::Null, |file| file.to_string_lossy().into());
            self.print(json!({ "file": file, "error": error.message(), "exit_code": error.exit() as u8 }))?;
        }
        Ok(())
    }
}
