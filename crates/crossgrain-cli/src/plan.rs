//! `crossgrain plan`: the cheapest path of a job, and what it was chosen over.
//!
//! What was typed becomes a [`case::Case`]: a flow with costs, and the planner's report on it. Text,
//! JSON and pictures are drawn from the case alone, so that they cannot tell different stories.

mod args;
mod case;
mod fold;
mod json;
mod text;

pub(crate) use args::Args;

use std::io::{self, Write};

use crate::error::Error;

/// Plans, and prints.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let case = args.case()?;
    let told = if args.json { json::told(&case)? } else { text::told(&case) };
    io::stdout().write_all(told.as_bytes()).map_err(|error| Error::write("standard output", &error))
}
