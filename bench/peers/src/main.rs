//! crossgrain compared with other implementations.
//!
//! `crossgrain-peers worker NAME` is one implementation, which answers lines (`worker`). `crossgrain-peers bench` starts workers,
//! compares their results, and times them in turns (`bench`). Every implementation, ours too, has a process of its own,
//! because how it was compiled and which instructions it may use hold for a whole process.
//!
//! Libraries in C are called in a loop in C, and crates in a loop in Rust. Both loops do the same (`c/peer.h`, `worker::each`).

mod bench;
mod both_ways;
#[path = "../../../crates/crossgrain-cli/src/bench/clock.rs"]
mod clock;
mod hand_written;
mod in_c;
mod job;
mod messages;
mod ours;
mod rust;
mod rustcrypto;
#[cfg(test)]
mod tests;
mod worker;

use std::io;
use std::process::ExitCode;

use clap::Parser as _;
use worker::Worker;

#[derive(clap::Parser)]
enum Command {
    /// Answer requests for one implementation
    Worker {
        /// Which
        name: String,
    },
    /// Compare implementations
    Bench(bench::Args),
    /// Read, encrypt, decrypt and write a file, and print the seconds of each
    BothWays(both_ways::Args),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Worker { name } => serve(&name),
        Command::Bench(args) => bench::run(&args),
        Command::BothWays(args) => both_ways::run(&args),
    };
    done.map_or_else(
        |reason| {
            eprintln!("crossgrain-peers: {reason}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn serve(name: &str) -> Result<(), String> {
    let worker = named(name).ok_or_else(|| format!("no implementation {name:?}"))?;
    worker::serve(worker.as_ref(), io::stdin().lock(), io::stdout().lock()).map_err(|error| error.to_string())
}

/// An implementation by its name.
fn named(name: &str) -> Option<Box<dyn Worker>> {
    let library = in_c::LIBRARIES.into_iter().find(|(known, _)| *known == name);
    Some(match name {
        "crossgrain" => Box::new(ours::Ours),
        "rustcrypto" => Box::new(rustcrypto::RustCrypto),
        "ring" => Box::new(rust::Ring),
        #[cfg(feature = "crates")]
        "aws-lc-rs" => Box::new(rust::AwsLc),
        #[cfg(feature = "crates")]
        "graviola" => Box::new(rust::Graviola),
        "hand-written" => Box::new(hand_written::HandWritten),
        _ => Box::new(library?.1),
    })
}
