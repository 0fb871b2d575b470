//! Errors of the program: one line that says how to fix the problem, and an exit code for scripts.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use crossgrain::engine::text::{escaped, quoted};

/// The exit codes, as `--help` shows them.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 done, 1 input or output failed, 2 wrong usage, key or \
     passphrase, 3 corrupt input, 4 truncated input, 5 would overwrite a file";

/// The reason why the program ends, as its exit code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Exit {
    /// Reading or writing failed.
    InputOutput = 1,
    /// The arguments or the key are invalid.
    Usage = 2,
    /// The input is damaged.
    Corrupt = 3,
    /// The input ends too early.
    Truncated = 4,
    /// A file would be overwritten.
    WouldOverwrite = 5,
    /// Success: the reader of the output closed it early.
    ReaderGone = 0,
}

impl Exit {
    /// The rank among the failures of several files. The worst one is the exit code of the run.
    pub(crate) const fn severity(self) -> u8 {
        match self {
            Self::Corrupt => 5,
            Self::Truncated => 4,
            Self::InputOutput => 3,
            Self::Usage => 2,
            Self::WouldOverwrite => 1,
            Self::ReaderGone => 0,
        }
    }
}

/// A failure of the program.
#[derive(Debug)]
pub(crate) struct Error {
    exit: Exit,
    message: String,
}

impl Error {
    /// An error with this complete message.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: without_identities(message.into()) }
    }

    /// Invalid arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// `what` could not be read.
    pub(crate) fn read(what: impl Display, error: &io::Error) -> Self {
        Self::new(Exit::InputOutput, format!("cannot read {what}: {}", reason(error)))
    }

    /// `what` could not be written.
    pub(crate) fn write(what: impl Display, error: &io::Error) -> Self {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "its directory does not exist, make it or choose another".to_owned(),
            _ => reason(error),
        };
        Self::new(Exit::InputOutput, format!("cannot write {what}: {reason}"))
    }

    /// Text or JSON lines could not be printed.
    pub(crate) fn print(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::ReaderGone, ""),
            _ => Self::write("standard output", error),
        }
    }

    /// The exit code.
    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints the message and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if !matches!(self.exit, Exit::ReaderGone) {
            tell(&self.message);
        }
        ExitCode::from(self.exit as u8)
    }
}

impl From<crossgrain::Error> for Error {
    fn from(error: crossgrain::Error) -> Self {
        Self::new(exit_of(&error), error.to_string())
    }
}

/// The exit code for an error of the library.
pub(crate) fn exit_of(refusal: &crossgrain::Error) -> Exit {
    match refusal {
        crossgrain::Error::NoRandom(_) => Exit::InputOutput,
        _ => Exit::Usage,
    }
}

impl From<clap::Error> for Error {
    /// Clap's message on one line, without the usage text.
    fn from(mut error: clap::Error) -> Self {
        if let Some(mend) = foreign_option(&error) {
            return Self::usage(mend);
        }
        cut_values(&mut error);
        let text = error.render().to_string();
        let end = ["Usage:", "For more information"].iter().filter_map(|mark| text.find(mark)).min();
        let paragraphs = text[..end.unwrap_or(text.len())].trim_end().split("\n\n");
        let paragraphs: Vec<_> =
            paragraphs.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let line = paragraphs.join("; ");
        Self::usage(format!("{} (see --help)", line.strip_prefix("error: ").unwrap_or(&line)))
    }
}

/// The message for an option that other programs have and this one does not.
fn foreign_option(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let is_bare = std::env::args_os().nth(1).is_none_or(|first| first.to_string_lossy().starts_with('-'));
    Some(match option.as_str() {
        "-k" => "there is no -k: give --key-file FILE".to_owned(),
        "-p" => "there is no -p: give --passphrase, or --passphrase-file FILE".to_owned(),
        "-v" if is_bare => "there is no -v: give --version".to_owned(),
        "-v" | "--verbose" => format!("there is no {option}: give --profile, or --progress json"),
        "-a" | "--armor" => {
            format!("there is no {option}, and encrypted files are binary: pipe them through base64")
        }
        _ => return None,
    })
}

/// Truncates the values that clap shows, and hides passphrases.
fn cut_values(error: &mut clap::Error) {
    let is_passphrase = matches!(
        error.get(ContextKind::InvalidArg),
        Some(ContextValue::String(option)) if option.contains("passphrase")
    );
    if is_passphrase {
        error.insert(ContextKind::InvalidValue, ContextValue::String("…".to_owned()));
    }
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidSubcommand, ContextKind::InvalidValue] {
        let Some(ContextValue::String(value)) = error.get(kind) else { continue };
        let cut = quoted(value);
        if cut != *value {
            error.insert(kind, ContextValue::String(cut));
            // Suggestions repeat the value.
            error.remove(ContextKind::Suggested);
        }
    }
}

/// Prints one line on standard error, with special characters escaped.
pub(crate) fn tell(message: &str) {
    // A closed standard error is not a failure.
    let _ = writeln!(io::stderr(), "crossgrain: {}", escaped(&without_identities(message.to_owned())));
}

/// A message without the identities that a user may have given in place of a file's name or of a recipient.
/// Part of one would be enough to compute the rest.
fn without_identities(mut message: String) -> String {
    const BEGINNING: &str = "AGE-SECRET-KEY-";
    let mut from = 0;
    while let Some(at) = message[from..].to_ascii_uppercase().find(BEGINNING) {
        from += at + BEGINNING.len();
        let is_part = |character: char| character.is_ascii_alphanumeric() || "….".contains(character);
        let rest = &message[from..];
        let len_bytes = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        message.replace_range(from..from + len_bytes, "…");
    }
    message
}

/// An input or output error explained for the user.
fn reason(error: &io::Error) -> String {
    let told = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory, check the path",
        io::ErrorKind::PermissionDenied => "permission denied, check the access rights",
        io::ErrorKind::IsADirectory => "it is a directory, name a file",
        io::ErrorKind::NotADirectory => "part of the path is no directory, check the path",
        io::ErrorKind::FileTooLarge => "the limit for a file's size is reached, raise it (ulimit -f)",
        io::ErrorKind::StorageFull => "no space is left there, free some or write elsewhere",
        io::ErrorKind::QuotaExceeded => "the disk quota is used up, free some space or write elsewhere",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only, write elsewhere",
        io::ErrorKind::BrokenPipe => "its reader has gone, let it read to the end",
        io::ErrorKind::OutOfMemory => "there is no memory for it, free some",
        _ => return without_number(&error.to_string()).to_owned(),
    };
    told.to_owned()
}

/// The system's message without its `(os error 5)`.
fn without_number(text: &str) -> &str {
    text.split_once(" (os error").map_or(text, |(words, _)| words)
}
