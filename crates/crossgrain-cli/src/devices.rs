//! `crossgrain devices`: the CPU, and the GPUs for which programs can be emitted and run.

use std::fmt::Write as _;
use std::io::{self, Write};

use crossgrain::Cipher;
use crossgrain::engine::arch::cpu_model;
use crossgrain::engine::text::grouped;
use crossgrain::plan::Known;
use crossgrain::wisdom::{Fingerprint, Wisdom};
use serde_json::{Value, json};

use crate::device::costs;
use crate::error::Error;
use crate::typed::ciphers;
use crate::wisdom;

/// List the CPU and the GPUs of this machine
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Measure the costs of copies and programs on the GPUs, and the best number of threads for them, and
    /// store both for the commands that plan
    #[arg(long, conflicts_with = "json")]
    measure: bool,

    /// A cipher to measure, all unless given; may be repeated
    #[arg(long = "cipher", value_name = "NAME", value_parser = ciphers(), requires = "measure")]
    ciphers: Vec<Cipher>,

    /// Print one JSON object: `devices`, and `missing` with the reason for each kind of device that is
    /// missing
    #[arg(long)]
    json: bool,
}

/// A device as it is listed.
struct Told {
    id: String,
    name: String,
    driver: Option<String>,
    is_software: bool,
}

/// A kind of device that this machine lacks, and the reason.
struct Missing {
    kind: &'static str,
    why: String,
}

/// Lists the devices, and the reasons for missing kinds.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mut devices =
        vec![Told { id: "cpu".to_owned(), name: cpu_model(), driver: None, is_software: false }];
    let mut missing = Vec::new();
    gpus(&mut devices, &mut missing);
    let text =
        if args.json { format!("{:#}\n", object(&devices, &missing)) } else { lines(&devices, &missing) };
    print(&text)?;
    if args.measure {
        let ciphers = if args.ciphers.is_empty() { &Cipher::ALL[..] } else { &args.ciphers };
        return devices.iter().skip(1).try_for_each(|told| measure(&told.id, ciphers));
    }
    Ok(())
}

/// Measures a device, and adds the costs to the wisdom.
fn measure(id: &str, ciphers: &[Cipher]) -> Result<(), Error> {
    let found = costs(id, ciphers)?;
    let mut text = String::new();
    for (name, Known { cost, .. }) in found.costs.iter() {
        let fixed_ns = grouped(format_args!("{:.0}", cost.fixed_ns));
        let _ = writeln!(text, "{fixed_ns:>14} ns + {:8.4} ns a byte  {id} {name}", cost.per_byte_ns);
    }
    for (name, count) in &found.threads {
        let _ = writeln!(text, "{:>14} threads                  {id} {name}", grouped(count));
    }
    let mut wisdom = Wisdom::new(Fingerprint::here());
    wisdom.insert_device(id, &found);
    wisdom::keep(&wisdom)?;
    print(&text)
}

fn print(text: &str) -> Result<(), Error> {
    let mut output = io::stdout().lock();
    let printed = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    printed.map_err(|error| Error::write("standard output", &error))
}

#[cfg(feature = "gpu")]
fn gpus(devices: &mut Vec<Told>, missing: &mut Vec<Missing>) {
    for found in crossgrain_gpu::devices() {
        match found.devices {
            Ok(found) => devices.extend(found.into_iter().map(|info| Told {
                id: info.id,
                name: info.name,
                driver: Some(info.driver),
                is_software: info.is_software,
            })),
            Err(error) => missing.push(Missing { kind: found.backend, why: error.to_string() }),
        }
    }
}

#[cfg(not(feature = "gpu"))]
fn gpus(_devices: &mut Vec<Told>, missing: &mut Vec<Missing>) {
    let why = "this program was built without GPUs: build it with `--features gpu`".to_owned();
    missing.push(Missing { kind: "gpu", why });
}

fn lines(devices: &[Told], missing: &[Missing]) -> String {
    let device = |told: &Told| {
        let driver = told.driver.as_ref().map(|driver| format!(" ({driver})")).unwrap_or_default();
        let software = if told.is_software { ", in software" } else { "" };
        format!("{:<7} {}{driver}{software}\n", told.id, told.name)
    };
    let none = |missing: &Missing| format!("{:<7} none: {}\n", missing.kind, missing.why);
    devices.iter().map(device).chain(missing.iter().map(none)).collect()
}

fn object(devices: &[Told], missing: &[Missing]) -> Value {
    let device = |told: &Told| json!({ "id": told.id, "name": told.name, "driver": told.driver, "software": told.is_software });
    let none = |missing: &Missing| json!({ "kind": missing.kind, "why": missing.why });
    json!({
        "devices": devices.iter().map(device).collect::<Vec<_>>(),
        "missing": missing.iter().map(none).collect::<Vec<_>>(),
    })
}
