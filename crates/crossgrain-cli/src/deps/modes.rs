//! Dependences between the iterations of a mode, and which iterations may run in parallel.

use std::io::{self, Write};

use crossgrain::Direction;
use crossgrain::mode::Mode;
use crossgrain_deps::modes::{Analysis, BLOCKS, Carried, Growth, Loop, Touched};
use serde_json::{Value, json};

use super::Args;
use crate::error::Error;

/// Runs the command.
pub(super) fn run(args: &Args) -> Result<(), Error> {
    let directions: &[Direction] = match (args.decrypt, args.mode) {
        (true, _) => &[Direction::Decrypt],
        (false, Some(_)) => &[Direction::Encrypt],
        (false, None) => &Direction::ALL,
    };
    let modes = Mode::ALL.into_iter().filter(|&mode| args.mode.is_none_or(|wanted| wanted == mode));
    let analyses = modes.flat_map(|mode| {
        directions.iter().map(move |&direction| Analysis::new(mode, direction, args.in_place))
    });
    let analyses: Vec<_> = analyses.collect();
    let mut output = io::BufWriter::new(io::stdout().lock());
    let printed = match (&analyses[..], args.json) {
        (_, true) => print_json(&mut output, &analyses),
        ([analysis], false) => print_one(&mut output, analysis),
        (_, false) => analyses.iter().try_for_each(|analysis| writeln!(output, "{}", summary(analysis))),
    };
    printed.and_then(|()| output.flush()).map_err(|error| Error::print(&error))
}

/// One line: first the loop over the message, then the loops that only compute a tag.
fn summary(analysis: &Analysis) -> String {
    let place = if analysis.in_place { ", in place" } else { "" };
    let mode = analysis.mode.name().to_uppercase();
    let mut line = format!("{mode} {}{place}: ", analysis.direction.name());
    let (blocks, others): (Vec<_>, Vec<_>) = analysis.loops.iter().partition(|found| found.name == BLOCKS);
    line.extend(blocks.first().map(|blocks| verdict(blocks)));
    if let Some(first) = others.first() {
        let names: Vec<_> = others.iter().map(|other| other.name).collect();
        line += &format!("; {}: {}", names.join(", "), verdict(first));
    }
    line
}

/// The verdict on a loop, with the dependence that decides it.
fn verdict(found: &Loop) -> String {
    let verdict = found.verdict();
    let decides = found
        .dependences
        .iter()
        .find(|dependence| dependence.carried != Carried::Private && dependence.carried.verdict() == verdict);
    let Some(decides) = decides else { return format!("none, {}", verdict.name()) };
    let kind = format!("{} dependence, distance {}", decides.kind.name(), distances(&decides.distances));
    match decides.carried {
        Carried::Induction(op) => {
            format!("{kind}, but {} is {}: {}", decides.variable, op.closed_form(), verdict.name())
        }
        _ => format!("{kind}, {}", verdict.name()),
    }
}

fn distances(distances: &[isize]) -> String {
    distances.iter().map(isize::to_string).collect::<Vec<_>>().join(", ")
}

/// `input[i-1]`, or the name of a variable.
fn element(touched: &Touched) -> String {
    match touched.offset {
        None => touched.variable.to_owned(),
        Some(0) => format!("{}[i]", touched.variable),
        Some(offset) => format!("{}[i{offset:+}]", touched.variable),
    }
}

fn elements(touched: &[Touched]) -> Vec<String> {
    touched.iter().map(element).collect()
}

/// The whole table of one mode.
fn print_one(output: &mut dyn Write, analysis: &Analysis) -> io::Result<()> {
    writeln!(output, "{}", summary(analysis))?;
    for found in &analysis.loops {
        writeln!(output, "\nloop {}: {}", found.name, found.verdict().name())?;
        writeln!(output, "  reads    {}", elements(&found.reads).join(", "))?;
        writeln!(output, "  writes   {}", elements(&found.writes).join(", "))?;
        if !found.private().is_empty() {
            writeln!(output, "  private  {}", found.private().join(", "))?;
        }
        if found.dependences.is_empty() {
            writeln!(output, "  no dependence between iterations")?;
            continue;
        }
        writeln!(output, "  dependence  variable   distance  what it carries")?;
        for dependence in &found.dependences {
            let (kind, carried) = (dependence.kind.name(), dependence.carried.describe());
            let distances = distances(&dependence.distances);
            writeln!(output, "  {kind:<10}  {:<9}  {distances:>8}  {carried}", dependence.variable)?;
        }
    }
    writeln!(output, "\ncipher calls for n blocks  {}", analysis.cipher_calls)?;
    writeln!(output, "that wait for one another  {}", analysis.critical_path)?;
    writeln!(output, "(fitted to traces of n = 1 to {})", analysis.cipher_calls.counts.len())?;
    if !analysis.right_as_written {
        writeln!(output, "as written, one iteration after another, it is wrong in place")?;
    }
    Ok(())
}

fn print_json(output: &mut dyn Write, analyses: &[Analysis]) -> io::Result<()> {
    let objects: Vec<_> = analyses.iter().map(object).collect();
    serde_json::to_writer_pretty(&mut *output, &objects)?;
    writeln!(output)
}

fn object(analysis: &Analysis) -> Value {
    json!({
        "mode": analysis.mode.name(),
        "direction": analysis.direction.name(),
        "in_place": analysis.in_place,
        "summary": summary(analysis),
        "loops": analysis.loops.iter().map(loop_object).collect::<Vec<_>>(),
        "cipher_calls": growth_object(&analysis.cipher_calls),
        "critical_path": growth_object(&analysis.critical_path),
        "right_as_written": analysis.right_as_written,
    })
}

fn loop_object(found: &Loop) -> Value {
    let dependences: Vec<_> = found
        .dependences
        .iter()
        .map(|dependence| {
            json!({
                "kind": dependence.kind.name(),
                "variable": dependence.variable,
                "distances": dependence.distances,
                "carries": dependence.carried.describe(),
            })
        })
        .collect();
    json!({
        "name": found.name,
        "verdict": found.verdict().name(),
        "reads": elements(&found.reads),
        "writes": elements(&found.writes),
        "private": found.private(),
        "dependences": dependences,
    })
}

/// The counts for n = 1, 2, … and the affine form fitted to them.
fn growth_object(growth: &Growth) -> Value {
    let affine = growth.affine().map(|affine| {
        json!({ "per_block": affine.per_block, "fixed": affine.fixed, "from_blocks": affine.from_blocks })
    });
    json!({ "counts": growth.counts, "affine": affine })
}
