//! The `crossgrain` program: parses arguments, calls the library, and prints text or bytes.
//!
//! Each command is a module with clap's `Args` and a `run`, which first validates the arguments. Every
//! failure is an [`Error`]: one line on standard error and a documented exit code.

#![cfg_attr(
    crossgrain_fuzz,
    no_main,
    allow(dead_code, unexpected_cfgs, unused_imports, reason = "the fuzz target calls parsers alone")
)]

mod bench;
mod circuit;
mod container;
mod demo;
mod deps;
mod device;
mod devices;
mod error;
mod input;
mod interrupt;
mod manual;
mod output;
mod pipeline;
mod plan;
mod profile;
mod progress;
mod random;
mod raw;
mod search;
mod secret;
mod system;
mod typed;
mod variants;
mod version;
mod wisdom;

/// A fuzz target for the parsers of this program: `cargo xtask fuzz command_line`.
#[cfg(crossgrain_fuzz)]
#[path = "../../../fuzz/fuzz_targets/command_line.rs"]
mod fuzz;

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{FromArgMatches as _, Parser, Subcommand};

use error::Error;

/// Encrypt files, streams and disk images in bulk, draw random numbers, and search for lost keys, by block ciphers
#[derive(Parser)]
#[command(name = "crossgrain", version, arg_required_else_help = true, after_help = error::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Encrypt(container::EncryptArgs),
    Decrypt(container::DecryptArgs),
    Verify(container::VerifyArgs),
    Inspect(container::InspectArgs),
    Rekey(Box<container::RekeyArgs>),
    Keygen(container::KeygenArgs),
    Random(random::Args),
    Raw(raw::Args),
    Search(Box<search::Args>),
    Variants(variants::Args),
    Bench(bench::Args),
    Circuit(circuit::Args),
    Wisdom(wisdom::Args),
    Plan(plan::Args),
    Deps(deps::Args),
    Devices(devices::Args),
    Complete(manual::CompleteArgs),
    Man(manual::ManArgs),
}

impl Command {
    /// Whether the command prints its result. Other commands open standard output only if they need it.
    const fn prints(&self) -> bool {
        match self {
            Self::Encrypt(args) => args.json,
            Self::Decrypt(_) | Self::Keygen(_) | Self::Random(_) | Self::Raw(_) | Self::Rekey(_) => false,
            _ => true,
        }
    }

    /// Runs the command.
    fn run(self) -> ExitCode {
        let done = match self {
            Self::Search(args) => return search::run(*args),
            Self::Demo(args) => demo::run(&args),
            Self::Bench(args) => bench::run(&args),
            Self::Circuit(args) => circuit::run(&args),
            Self::Complete(args) => manual::complete(&args),
            Self::Decrypt(args) => container::decrypt(&args),
            Self::Deps(args) => deps::run(&args),
            Self::Devices(args) => devices::run(&args),
            Self::Encrypt(args) => container::encrypt(&args),
            Self::Inspect(args) => container::inspect(&args),
            Self::Keygen(args) => container::keygen(&args),
            Self::Man(args) => manual::man(&args),
            Self::Plan(args) => plan::run(&args),
            Self::Random(args) => random::run(&args),
            Self::Raw(args) => raw::run(args),
            Self::Rekey(args) => container::rekey(&args),
            Self::Variants(args) => variants::run(&args),
            Self::Verify(args) => container::verify(&args),
            Self::Wisdom(args) => wisdom::run(&args),
        };
        ended(done)
    }
}

fn ended(done: Result<(), Error>) -> ExitCode {
    done.map_or_else(|error| error.report(), |()| ExitCode::SUCCESS)
}

/// Reports an error from before the command starts, by the command's own exit codes.
fn not_started(error: &Error) -> ExitCode {
    let is_search = std::env::args_os().nth(1).is_some_and(|command| command == "search");
    if is_search { search::failed(error) } else { error.report() }
}

/// Fails if standard output was closed when the program began.
fn open_output() -> Result<(), Error> {
    match system::began_closed(io::stdout()) {
        true => Err(Error::write("standard output", &output::closed())),
        false => Ok(()),
    }
}

fn main() -> ExitCode {
    system::no_core_dumps();
    device::quiet_drivers();
    interrupt::fail_beyond_file_size();
    let version: &'static str = version::long().leak();
    let typed = manual::command().long_version(version).try_get_matches();
    let ready = match typed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(Arguments { command }) if !command.prints() => Ok(command),
        Ok(Arguments { command }) => open_output().map(|()| command),
        Err(answer) if answer.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A closed standard error is no failure.
            let _ = answer.print();
            return ExitCode::from(error::Exit::Usage as u8);
        }
        Err(answer) if answer.use_stderr() => Err(Error::from(answer)),
        Err(answer) => {
            let printed = open_output().and_then(|()| answer.print().map_err(|error| Error::print(&error)));
            match printed {
                Ok(()) => return ExitCode::SUCCESS,
                Err(error) => Err(error),
            }
        }
    };
    ready.map_or_else(|error| not_started(&error), Command::run)
}
