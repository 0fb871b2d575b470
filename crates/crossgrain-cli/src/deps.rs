//! `crossgrain deps`: the data dependences of loops, and which loops may run in parallel.

mod loops;
mod modes;

use std::path::PathBuf;

use clap::ValueEnum;
use crossgrain::mode::Mode;
use crossgrain_deps::loops::Language;

use crate::error::Error;
use crate::typed;

/// Show the data dependences of loops, and which loops may run in parallel
///
/// Each mode of operation is written as a few lines of specification. The specification is run on symbols,
/// and the dependences are read from that trace. Messages are whole blocks; modes with a tag have one block
/// of header.
///
/// Your own loops, given by --loop, are nests of counted loops in a small language, which docs/loops.md
/// describes. Their dependences are decided exactly. Serial loops are transformed where this makes loops
/// parallel. Parallel loops are run in random order, and the results are compared.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The mode of operation; without it, one line for each mode
    #[arg(long, value_parser = typed::modes())]
    mode: Option<Mode>,

    /// Decrypt instead of encrypting
    #[arg(short, long)]
    decrypt: bool,

    /// Analyse the mode in place: the output overwrites the input
    #[arg(long)]
    in_place: bool,

    /// Analyse the loops in a file; `-` is standard input
    #[arg(long = "loop", value_name = "FILE", conflicts_with_all = ["mode", "decrypt", "in_place"])]
    loops: Option<PathBuf>,

    /// Give a parameter of the loops another value for test runs
    #[arg(long = "size", value_name = "NAME=VALUE", requires = "loops", conflicts_with = "mode")]
    sizes: Vec<String>,

    /// Run the loops and print the iterations and operations of each, without an analysis
    #[arg(long, requires = "loops", conflicts_with_all = ["emit", "mode"])]
    profile: bool,

    /// Keep the loops as they are written: no distribution, interchange or skewing
    #[arg(long, requires = "loops", conflicts_with_all = ["profile", "mode"])]
    as_written: bool,

    /// Print the loops as a program instead: serial, parallel, a comparison and times of both
    #[arg(long, value_enum, requires = "loops", conflicts_with_all = ["json", "mode"])]
    emit: Option<Target>,

    /// Write the program to a file
    #[arg(short, long, value_name = "FILE", requires = "emit")]
    output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    force: bool,

    /// Print JSON: an array of modes, or one object for a file of loops or its profile
    #[arg(long)]
    json: bool,
}

/// A language to write loops in.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    /// C with OpenMP
    C,
    /// Rust with rayon
    Rust,
}

impl From<Target> for Language {
    fn from(target: Target) -> Self {
        match target {
            Target::C => Self::C,
            Target::Rust => Self::Rust,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    match &args.loops {
        Some(path) => loops::run(path, args),
        None => modes::run(args),
    }
}
