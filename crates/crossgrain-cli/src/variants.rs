//! `crossgrain variants`: the library's table, for people or for programs.

use std::io::{self, Write};

use crossgrain::Features;
use crossgrain::variant::{Variant, table};
use serde_json::json;

use crate::error::Error;

/// List every variant: what it computes and how, what it leaks, and whether it can run here.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print one JSON array of objects
    #[arg(long)]
    json: bool,
}

/// Prints the table.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let features = Features::from_environment()?;
    let print = if args.json { print_json } else { print_text };
    let mut output = io::BufWriter::new(io::stdout().lock());
    let printed = print(&mut output, features).and_then(|()| output.flush());
    printed.map_err(|error| Error::write("standard output", &error))
}

fn print_json(output: &mut dyn Write, features: Features) -> io::Result<()> {
    let rows: Vec<_> = table()
        .iter()
        .map(|variant| {
            json!({
                "name": variant.name,
                "representation": variant.repr.to_string(),
                "isa": variant.isa,
                "leaks": variant.leaks.name(),
                "available": variant.is_available(features),
            })
        })
        .collect();
    serde_json::to_writer_pretty(&mut *output, &rows)?;
    writeln!(output)
}

fn print_text(output: &mut dyn Write, features: Features) -> io::Result<()> {
    let head = ["name", "representation", "isa", "leaks", "available"].map(str::to_owned);
    let rows: Vec<_> =
        [head].into_iter().chain(table().iter().map(|variant| cells(variant, features))).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    for row in &rows {
        let padded: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        writeln!(output, "{}", padded.join("  ").trim_end())?;
    }
    Ok(())
}

fn cells(variant: &Variant, features: Features) -> [String; 5] {
    let available = if variant.is_available(features) { "yes" } else { "no" };
    [
        variant.name.clone(),
        variant.repr.to_string(),
        variant.isa.to_owned(),
        variant.leaks.name().to_owned(),
        available.to_owned(),
    ]
}
