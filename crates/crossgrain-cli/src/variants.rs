//! `crossgrain variants`: the table of variants as text or JSON.

use std::io::{self, Write};

use crossgrain::Features;
use crossgrain::engine::layout::repr::Repr;
use crossgrain::engine::variant::{Leaks, table};
use crossgrain::wide;
use serde_json::json;

use crate::error::Error;

/// List every variant: name, representation, instructions, leaks, and whether it can run here.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print one JSON array of objects
    #[arg(long)]
    json: bool,
}

/// A row of the list, from the library's table or from the table for wide blocks.
struct Row {
    name: String,
    repr: Repr,
    isa: &'static str,
    needs: Features,
    leaks: Leaks,
}

fn rows() -> Vec<Row> {
    let usual = table().iter().map(|variant| Row {
        name: variant.name.clone(),
        repr: variant.repr,
        isa: variant.isa,
        needs: variant.needs,
        leaks: variant.leaks,
    });
    let wide = wide::variants().into_iter().map(|variant| Row {
        name: variant.name,
        repr: variant.repr,
        isa: variant.isa,
        needs: variant.needs,
        leaks: Leaks::Nothing,
    });
    usual.chain(wide).collect()
}

/// Prints the table.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let features = Features::from_environment()?;
    let print = if args.json { print_json } else { print_text };
    let mut output = io::BufWriter::new(io::stdout().lock());
    let printed = print(&mut output, features).and_then(|()| output.flush());
    printed.map_err(|error| Error::print(&error))
}

fn print_json(output: &mut dyn Write, features: Features) -> io::Result<()> {
    let rows: Vec<_> = rows()
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "representation": row.repr.to_string(),
                "isa": row.isa,
                "leaks": row.leaks.name(),
                "available": features.contains(row.needs),
            })
        })
        .collect();
    serde_json::to_writer_pretty(&mut *output, &rows)?;
    writeln!(output)
}

fn print_text(output: &mut dyn Write, features: Features) -> io::Result<()> {
    let head = ["name", "representation", "isa", "leaks", "available"].map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(rows().into_iter().map(|row| cells(row, features))).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    for row in &rows {
        let padded: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        writeln!(output, "{}", padded.join("  ").trim_end())?;
    }
    Ok(())
}

fn cells(row: Row, features: Features) -> [String; 5] {
    let available = if features.contains(row.needs) { "yes" } else { "no" };
    let (repr, leaks) = (row.repr.to_string(), row.leaks.name().to_owned());
    [row.name, repr, row.isa.to_owned(), leaks, available.to_owned()]
}
