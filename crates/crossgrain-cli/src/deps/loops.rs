//! The dependences in a file of loops.

mod profile;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crossgrain::engine::text::reason;
use crossgrain_deps::loops::{Analysis, Dependence, Fault, Looped, Program, Step, Transformed};
use serde_json::{Value, json};

use super::Args;
use crate::error::{Error, Exit};
use crate::input::shown;
use crate::output::{apart, write_file};

/// The maximum length of a file in bytes, which is more than any accepted program has.
const FILE_BYTES: u64 = 1 << 17;

/// Analyses a file.
pub(super) fn run(path: &Path, args: &Args) -> Result<(), Error> {
    apart(("--output", args.output.as_deref()), ("--loop", Some(path)))?;
    let shown = if path == Path::new("-") { "standard input".to_owned() } else { shown(path) };
    let text = read(path, &shown)?;
    let at = |fault: Fault| Error::usage(format!("{shown}:{}", reason(&fault.to_string())));
    let mut program = Program::parse(&text).map_err(at)?;
    args.sizes.iter().try_for_each(|size| resize(&mut program, size))?;
    if args.profile {
        return print(&profile::shown(&program.profile().map_err(at)?, args.json));
    }
    let analysis = Analysis::of(&program).map_err(at)?;
    let mut agrees = analysis.agrees().map_err(at)?;
    let mut transformed = if args.as_written { None } else { analysis.transformed() };
    match transformed.as_ref().map(Transformed::agrees) {
        Some(Ok(alike)) => agrees &= alike,
        // A transformation that takes too many steps to verify is not used.
        Some(Err(_)) => transformed = None,
        None => {}
    }
    if !agrees {
        let message = format!(
            "{shown}: the loops called parallel leave something else in another order: the analysis is mistaken, please report it"
        );
        return Err(Error::new(Exit::InputOutput, message));
    }
    let text = match args.emit {
        Some(target) => match &transformed {
            Some(transformed) => transformed.emit(target.into()),
            None => analysis.emit(target.into()),
        },
        None if args.json => format!("{:#}\n", object(&analysis, transformed.as_ref())),
        None => report(&analysis, transformed.as_ref()),
    };
    match &args.output {
        Some(path) => write_file(path, args.force, &text),
        None => print(&text),
    }
}

/// Applies `--size NAME=VALUE`.
fn resize(program: &mut Program, size: &str) -> Result<(), Error> {
    let refused = |why: &str| Error::usage(reason(&format!("--size `{size}`: {why}")));
    let parts = size.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?)));
    let (name, value) = parts.ok_or_else(|| refused("NAME=VALUE is wanted, as in `n=1000`"))?;
    program.resize(name, value).map_err(|why| refused(&why))
}

fn read(path: &Path, shown: &str) -> Result<String, Error> {
    let failed = |error| Error::read(shown, &error);
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path).map_err(failed)?),
    };
    source.take(FILE_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_| Error::usage(format!("{shown}: this is no text in UTF-8")))
}

fn print(text: &str) -> Result<(), Error> {
    let mut output = io::stdout().lock();
    let printed = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    printed.map_err(|error| Error::print(&error))
}

/// Every loop, the transformed loops, and then every dependence.
fn report(analysis: &Analysis, transformed: Option<&Transformed>) -> String {
    let mut text = loops(analysis);
    if let Some(Transformed { steps, analysis, .. }) = transformed {
        text += "\ntransformed\n";
        for step in steps {
            text += &format!("  loop at {}: {step}\n", step.at);
        }
        text += &loops(analysis);
    }
    text += "\ndependences\n";
    for dependence in &analysis.dependences {
        text += &format!("  {dependence}, {}\n", carrier(analysis, dependence));
    }
    if analysis.dependences.is_empty() {
        text += "  none\n";
    }
    let decided = analysis.decided;
    text += &format!(
        "\n{} pairs of accesses: {} independent by the GCD test, {} by Banerjee's, {} decided exactly, {} unknown\n",
        decided.pairs, decided.by_gcd, decided.by_banerjee, decided.exactly, decided.unknown
    );
    text + "in other orders the parallel loops leave the same\n"
}

/// Every loop with its verdict and the reasons for it.
fn loops(analysis: &Analysis) -> String {
    let mut text = String::new();
    for (number, looped) in analysis.loops.iter().enumerate() {
        let indent = "  ".repeat(looped.around.len());
        text += &format!("{indent}loop {} at {}: {}\n", looped.counter, looped.at, verdict(looped));
        for line in reasons(analysis, number) {
            text += &format!("{indent}    {line}\n");
        }
    }
    text
}

fn verdict(looped: &Looped) -> &'static str {
    if looped.is_parallel() { "parallel" } else { "serial" }
}

/// The steps that make a loop parallel, or the dependences that make it serial.
fn reasons(analysis: &Analysis, number: usize) -> Vec<String> {
    let looped = &analysis.loops[number];
    if looped.is_parallel() {
        return looped.steps();
    }
    let because = looped.hindrances.iter().map(|&number| analysis.dependences[number].to_string());
    let live = looped.live.iter().map(|name| {
        format!("{name} would be private, were it declared local: the last iteration may not write all of it")
    });
    because.chain(live).collect()
}

fn carrier(analysis: &Analysis, dependence: &Dependence) -> String {
    match dependence.carrier {
        Some(number) => {
            let Looped { counter, at, .. } = &analysis.loops[number];
            format!("carried by {counter} at {at}")
        }
        None => "loop-independent".to_owned(),
    }
}

fn object(analysis: &Analysis, transformed: Option<&Transformed>) -> Value {
    let decided = analysis.decided;
    json!({
        "loops": loop_objects(analysis),
        "dependences": analysis.dependences.iter().map(dependence_object).collect::<Vec<_>>(),
        "pairs": {
            "all": decided.pairs,
            "gcd": decided.by_gcd,
            "banerjee": decided.by_banerjee,
            "exact": decided.exactly,
            "unknown": decided.unknown,
        },
        "parallel": analysis.chosen(),
        "transformed": transformed.map(transformed_object),
    })
}

fn loop_objects(analysis: &Analysis) -> Vec<Value> {
    let loops = analysis.loops.iter().enumerate();
    loops.map(|(number, looped)| loop_object(analysis, number, looped)).collect()
}

fn transformed_object(transformed: &Transformed) -> Value {
    let step = |step: &Step| json!({ "kind": step.kind.name(), "line": step.at.line, "text": step.text });
    json!({
        "steps": transformed.steps.iter().map(step).collect::<Vec<_>>(),
        "loops": loop_objects(&transformed.analysis),
        "parallel": transformed.analysis.chosen(),
    })
}

fn loop_object(analysis: &Analysis, number: usize, looped: &Looped) -> Value {
    let inductions = looped.inductions.iter().map(|(name, step)| json!({ "name": name, "step": step }));
    let reductions =
        looped.reductions.iter().map(|(name, op)| json!({ "name": name, "operation": op.sign() }));
    let copied: Vec<_> = looped.copied.iter().map(|(name, _)| name).collect();
    let last_only: Vec<_> = looped.last_only.iter().map(ToString::to_string).collect();
    json!({
        "counter": looped.counter,
        "line": looped.at.line,
        "around": looped.around,
        "verdict": verdict(looped),
        "hindrances": looped.hindrances,
        "private_if_local": looped.live,
        "private": looped.private,
        "inductions": inductions.collect::<Vec<_>>(),
        "reductions": reductions.collect::<Vec<_>>(),
        "copied": copied,
        "last_iteration_only": last_only,
        "last_iteration_after": looped.peels,
        "reasons": reasons(analysis, number),
    })
}

fn dependence_object(dependence: &Dependence) -> Value {
    let distances = dependence.distances.iter().map(|distance| json!([distance.least, distance.most]));
    json!({
        "kind": dependence.kind.name(),
        "variable": dependence.variable,
        "source": dependence.source.to_string(),
        "sink": dependence.sink.to_string(),
        "directions": dependence.directions.iter().map(|direction| direction.sign()).collect::<Vec<_>>(),
        "distances": distances.collect::<Vec<_>>(),
        "carrier": dependence.carrier,
        "certain": dependence.is_certain,
    })
}
