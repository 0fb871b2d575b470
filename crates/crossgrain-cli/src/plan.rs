//! `crossgrain plan`: the cheapest path of a job, and the alternatives to it.
//!
//! The arguments become a [`case::Case`]: a flow with costs, and the planner's report on it. Text, JSON and
//! pictures are generated from this case only, so they cannot contradict each other.

mod args;
mod case;
mod fold;
mod json;
mod mixes;
mod page;
mod picture;
mod text;

pub(crate) use args::Args;
pub(crate) use text::summary;

use std::io::{self, Write};
use std::path::Path;

use crossgrain::Features;
use crossgrain::plan::{Costs, Job};

use crate::error::Error;
use crate::output::{apart, write_file};
use case::Case;

/// Plans a job, draws it if requested, and prints the result.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let [save, svg, html] = [("--save", &args.save), ("--svg", &args.svg), ("--html", &args.html)]
        .map(|(name, path)| (name, path.as_deref()));
    for (one, other) in [(save, svg), (save, html), (svg, html)] {
        apart(one, other)?;
    }
    let case = args.case()?;
    let told = if args.json { json::told(&case)? } else { text::told(&case) };
    if let Some(path) = &args.save {
        write_file(path, args.force, &case.plans()?.to_json())?;
    }
    if let Some(path) = &args.svg {
        write_file(path, args.force, &picture::document(&case))?;
    }
    if let Some(path) = &args.html {
        write_file(path, args.force, &page::document(&case))?;
    }
    io::stdout().write_all(told.as_bytes()).map_err(|error| Error::print(&error))
}

/// Draws the plan that these costs, or estimates, choose for a job.
pub(crate) fn draw(
    job: Job,
    features: Features,
    costs: Option<&Costs>,
    path: &Path,
    replace: bool,
) -> Result<(), Error> {
    let case = Case::for_picture(job, features, costs)?;
    write_file(path, replace, &picture::document(&case))
}
