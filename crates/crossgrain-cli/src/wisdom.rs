//! `crossgrain wisdom`: costs measured on this machine and stored for the commands that plan.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use clap::Subcommand;
use crossgrain::engine::device::Kernel;
use crossgrain::engine::text::{escaped, grouped};
use crossgrain::engine::tune::{Confirmed, Contradiction, Scope, confirm, measure_costs};
use crossgrain::engine::variant::{Policy, Variant, find, table};
use crossgrain::plan::graph::BULK_BYTES;
use crossgrain::plan::{Costs, Job, JobSource, Limits, Place, TableReuse};
#[cfg(feature = "gpu")]
use crossgrain::wisdom::DeviceCosts;
use crossgrain::wisdom::{Fingerprint, PATH_VARIABLE, Refused, Wisdom, default_path, forget};
use crossgrain::{Cipher, Direction, Features};
use serde_json::{Value, json};

use crate::error::{self, Error, Exit};
use crate::input::shown;
use crate::output::{Content, Output};
use crate::progress::Countdown;
use crate::typed::{self, ciphers, clock_ns};

/// Measure the costs of all variants on this machine, and store them for the commands that plan
#[derive(clap::Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show which costs are stored, and for which machine
    Show {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Time every variant, and store the costs with those of other ciphers
    Measure {
        /// A cipher to measure, all unless given; may be repeated
        #[arg(long = "cipher", value_name = "NAME", value_parser = ciphers())]
        ciphers: Vec<Cipher>,
        /// About how long to measure each cipher, in milliseconds; 20 for each variant unless given
        #[arg(long, value_name = "N")]
        budget_ms: Option<u64>,
    },
    /// Write the stored costs to a file
    Export {
        /// The file to write; `-` for standard output
        file: PathBuf,
        /// Replace the file if it exists
        #[arg(long)]
        force: bool,
    },
    /// Store the costs from a file that was exported on a machine with this CPU
    Import {
        /// The file to read
        file: PathBuf,
    },
    /// Delete the stored costs
    Forget,
}

/// Runs the subcommand on the wisdom file.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let path = default_path().ok_or_else(nowhere)?;
    match &args.action {
        Action::Show { json } => show(&path, *json),
        Action::Measure { ciphers, budget_ms } => {
            measure(&path, if ciphers.is_empty() { &Cipher::ALL } else { ciphers }, *budget_ms)
        }
        Action::Export { file, force } => export(&path, file, *force),
        Action::Import { file } => import(&path, file),
        Action::Forget => forgotten(&path),
    }
}

/// The stored costs of a cipher's variants, if any.
pub(crate) fn costs(cipher: Cipher) -> Option<Arc<Costs>> {
    read()?.costs(cipher).cloned().map(Arc::new)
}

/// The devices with stored costs for this kernel and cipher.
pub(crate) fn places(cipher: Cipher, kernel: Kernel) -> Vec<Place> {
    read().map(|wisdom| wisdom.places(cipher, kernel)).unwrap_or_default()
}

/// The stored costs of the device with this name.
#[cfg(feature = "gpu")]
pub(crate) fn device(id: &str) -> Option<&'static DeviceCosts> {
    read()?.devices().find(|(known, _)| *known == id).map(|(_, device)| device)
}

/// Merges these costs into the stored wisdom.
pub(crate) fn keep(wisdom: &Wisdom) -> Result<(), Error> {
    let path = default_path().ok_or_else(nowhere)?;
    wisdom.merge(&path).map_err(|refused| failed(&path, &refused)).map(drop)
}

/// The stored wisdom, which is read once. A refused file causes a message, as do costs that are not used. A
/// missing file does not.
fn read() -> Option<&'static Wisdom> {
    static KEPT: OnceLock<Option<Wisdom>> = OnceLock::new();
    let kept = KEPT.get_or_init(|| {
        let path = default_path()?;
        match Wisdom::load(&path) {
            Ok(wisdom) => {
                tell_unknown(&path, &wisdom);
                Some(wisdom)
            }
            Err(Refused::Missing) => None,
            Err(refused) => {
                error::tell(&format!("wisdom ignored: {}: {refused}", shown(&path)));
                None
            }
        }
    });
    kept.as_ref()
}

/// Reports costs of ciphers and variants that this program does not have.
fn tell_unknown(path: &Path, wisdom: &Wisdom) {
    let unknown = wisdom.unknown();
    if unknown > 0 {
        error::tell(&format!(
            "wisdom used in part: {}: {} of its costs are of kernels that this program does not have: measure again, \
             or use the program that measured them",
            shown(path),
            grouped(unknown)
        ));
    }
}

fn show(path: &Path, json: bool) -> Result<(), Error> {
    let wisdom = kept(path)?;
    tell_unknown(path, &wisdom);
    let age_s = age_s(path);
    let Fingerprint { version, cpu, features, .. } = wisdom.signature();
    let counts: Vec<_> =
        Cipher::ALL.iter().filter_map(|&cipher| Some(Kept::of(cipher, wisdom.costs(cipher)?))).collect();
    if json {
        let by_cipher = |figure: fn(&Kept) -> Value| -> Value {
            let figures = counts.iter().map(|kept| (kept.cipher.to_string(), figure(kept)));
            figures.collect::<serde_json::Map<_, _>>().into()
        };
        return say(json!({
            "path": path.display().to_string(), "age_s": age_s, "crossgrain": version, "machine": cpu,
            "features": features, "costs": by_cipher(|kept| json!(kept.count)),
            "devices": wisdom.devices().map(|(id, device)| (id.to_owned(), json!(device.model))).collect::<serde_json::Map<_, _>>(),
            "filled": by_cipher(|kept| json!(kept.missing)), "spread": by_cipher(|kept| json!(kept.spread)),
        }));
    }
    let age = age_s.map_or_else(|| "at an unknown time".to_owned(), |age_s| format!("{} ago", rough(age_s)));
    say(format_args!("{}, written {age}", path.display()))?;
    say(format_args!("crossgrain {version} on {cpu}: {features}"))?;
    for (id, device) in wisdom.devices() {
        say(format_args!("{id}: {} costs, of {}", grouped(device.costs.iter().count()), device.model))?;
    }
    counts.iter().try_for_each(|Kept { cipher, count, missing, spread }| {
        let spread = spread.map_or_else(String::new, |spread| {
            format!(", half of them with a spread of at most {:.1} %", 100.0 * spread)
        });
        let filled = match missing {
            0 => String::new(),
            missing => format!(", and {} filled from scaled estimates", grouped(missing)),
        };
        say(format_args!("{cipher}: {} costs{spread}{filled}", grouped(count)))
    })
}

/// The figures that `show` prints for a cipher.
struct Kept {
    cipher: Cipher,
    count: usize,
    /// Variants that run here and have no cost.
    missing: usize,
    /// The median of the costs' spreads.
    spread: Option<f64>,
}

impl Kept {
    fn of(cipher: Cipher, costs: &Costs) -> Self {
        let known = |variant: &Variant| costs.get(variant).is_some();
        let runs =
            |variant: &&Variant| variant.is_available(Features::of_cpu()) && variant.serves(cipher.family());
        let missing = table().iter().filter(runs).filter(|variant| !known(variant)).count();
        let own: Vec<_> = costs.iter().filter(|(name, _)| find(name).is_ok()).collect();
        let mut spreads: Vec<_> = own.iter().filter_map(|(_, known)| known.spread).collect();
        spreads.sort_by(f64::total_cmp);
        Self { cipher, count: own.len(), missing, spread: spreads.get(spreads.len() / 2).copied() }
    }
}

/// A measured cost with a larger spread of its samples is worse than a scaled estimate.
const WILD: f64 = 0.5;

fn measure(path: &Path, ciphers: &[Cipher], budget_ms: Option<u64>) -> Result<(), Error> {
    match Wisdom::load(path) {
        Ok(_) | Err(Refused::Missing) => {}
        Err(refused @ (Refused::NotRegular | Refused::Future { .. })) => return Err(failed(path, &refused)),
        Err(refused) => error::tell(&format!("wisdom is replaced: {}: {refused}", shown(path))),
    }
    // An ISA cap limits plans but not measurements, because the costs must serve plans under any cap.
    let (features, policy) = (Features::of_cpu(), Policy::Any);
    let scopes = ciphers.iter().map(|&cipher| Scope { cipher, features, policy, budget_ms });
    let countdown = Countdown::new(scopes.clone().map(|scope| scope.takes_ms()).sum());
    // Measuring goes on if standard output is closed. The error is reported at the end.
    let mut told = Ok(());
    for scope in scopes {
        let start = Instant::now();
        countdown.begin(scope.cipher.name(), scope.takes_ms());
        let (found, wild) = measure_one(scope, &countdown)?;
        let mut wisdom = Wisdom::new(Fingerprint::here());
        wisdom.insert(scope.cipher, &found.costs);
        // Each cipher's costs are stored at once, so a later failure does not lose them.
        wisdom.merge(path).map_err(|refused| failed(path, &refused))?;
        let printed = countdown.aside(|| {
            tell_dropped(scope.cipher, &found.contradictions, wild);
            let (count, seconds) = (grouped(found.costs.iter().count()), start.elapsed().as_secs_f64());
            say(format_args!("{}: {count} costs measured in {seconds:.1} s", scope.cipher))
        });
        told = told.and(printed);
    }
    told
}

/// A cipher's costs that are worth storing, and the number of costs whose spread is too large.
fn measure_one(scope: Scope, countdown: &Countdown) -> Result<(Confirmed, usize), Error> {
    let clock_ns = clock_ns();
    let measured = measure_costs(scope, &clock_ns, &|| countdown.tick())?;
    let calm = measured.iter().filter(|(_, known)| known.spread.is_none_or(|spread| spread <= WILD));
    let costs: Costs = calm.map(|(name, known)| (name.to_owned(), known)).collect();
    let wild = measured.iter().count() - costs.iter().count();
    let keys = |usage| JobSource::Keys { usage, known_bits: JobSource::WHOLE_BLOCK };
    let jobs = [
        (Direction::Encrypt, JobSource::Counter),
        (Direction::Encrypt, JobSource::Bytes),
        (Direction::Decrypt, JobSource::Bytes),
        (Direction::Encrypt, keys(TableReuse::Often)),
        (Direction::Encrypt, keys(TableReuse::Once)),
    ];
    let jobs = jobs.map(|(direction, source)| Job { cipher: scope.cipher, direction, source });
    let jobs: Vec<_> = jobs.into_iter().chain(Job::of_modes(scope.cipher)).collect();
    // The limits of plans under default options.
    let limits = Limits::of(scope.features, Policy::ConstantTime);
    let confirmed = confirm(&jobs, &limits, &costs, BULK_BYTES, scope.takes_ms(), &clock_ns)?;
    Ok((confirmed, wild))
}

/// Reports why measured costs are not stored.
fn tell_dropped(cipher: Cipher, contradictions: &[Contradiction], wild: usize) {
    tell_contradictions(contradictions);
    if wild > 0 {
        error::tell(&wild_spreads(cipher, wild));
    }
}

/// The message for costs that are dropped because of their spread.
fn wild_spreads(cipher: Cipher, wild: usize) -> String {
    format!(
        "{cipher}: {} costs spread by more than {:.0} % and are not kept: the machine is busy, measure again when it \
         is not",
        grouped(wild),
        100.0 * WILD
    )
}

/// Reports that plans by measured costs were slower than the shipped plans.
pub(crate) fn tell_contradictions(contradictions: &[Contradiction]) {
    for line in contradicted(contradictions) {
        error::tell(&line);
    }
}

/// The messages for costs that are dropped because they contradict the shipped plans. A job has one message,
/// for its first contradiction.
fn contradicted(contradictions: &[Contradiction]) -> impl Iterator<Item = String> {
    let is_first = |(at, found): &(usize, &Contradiction)| {
        contradictions[..*at].iter().all(|before| before.job != found.job)
    };
    contradictions.iter().enumerate().filter(is_first).map(|(_, Contradiction { job, slower })| {
        format!(
            "{job}: the plan by measured costs was {:.0} % slower end to end than the shipped plan, and the measured \
             costs of both are not kept",
            100.0 * slower
        )
    })
}

fn export(path: &Path, file: &Path, force: bool) -> Result<(), Error> {
    let wisdom = kept(path)?;
    let mut output =
        if file.as_os_str() == "-" { Output::standard()? } else { Output::file(file, force, Content::Open)? };
    let written = output.write_all(wisdom.to_json().as_bytes());
    written.map_err(|error| Error::write(output.name(), &error))?;
    output.finish()
}

fn import(path: &Path, file: &Path) -> Result<(), Error> {
    let wisdom = Wisdom::load(file).map_err(|refused| match refused {
        Refused::Corrupt(_) | Refused::Past { .. } if typed::plans(file).is_ok() => {
            Error::usage(format!("{} is a plan, not wisdom: give it to --plan", shown(file)))
        }
        refused => failed(file, &refused),
    })?;
    tell_unknown(file, &wisdom);
    wisdom.merge(path).map_err(|refused| failed(path, &refused)).map(drop)
}

fn forgotten(path: &Path) -> Result<(), Error> {
    match forget(path) {
        Ok(()) => Ok(()),
        Err(Refused::Missing) => say(format_args!("there was no wisdom at {}", shown(path))),
        Err(refused) => Err(failed(path, &refused)),
    }
}

/// The stored wisdom. Unlike in [`read`], a missing file is an error.
fn kept(path: &Path) -> Result<Wisdom, Error> {
    Wisdom::load(path).map_err(|refused| match refused {
        Refused::Missing => {
            let hint = "measure it by `crossgrain wisdom measure`";
            Error::new(Exit::InputOutput, format!("there is no wisdom at {}: {hint}", shown(path)))
        }
        refused => failed(path, &refused),
    })
}

fn failed(path: &Path, refused: &Refused) -> Error {
    let exit = match refused {
        Refused::Missing => return Error::read(shown(path), &io::ErrorKind::NotFound.into()),
        Refused::Unreadable(kind) => return Error::read(shown(path), &(*kind).into()),
        Refused::Unwritable(kind) => return Error::write(shown(path), &(*kind).into()),
        Refused::NotRegular => Exit::InputOutput,
        Refused::Corrupt(_) => Exit::Corrupt,
        _ => Exit::Usage,
    };
    Error::new(exit, format!("wisdom refused: {}: {refused}", shown(path)))
}

fn nowhere() -> Error {
    let reason = format!("there is no place for wisdom: set {PATH_VARIABLE} to a file, or HOME");
    Error::new(Exit::InputOutput, reason)
}

/// Seconds since the file was written, if the system records that.
fn age_s(path: &Path) -> Option<u64> {
    let written = fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default().as_secs())
}

fn rough(age_s: u64) -> String {
    let (count, unit) = match age_s {
        0..120 => (age_s, "second"),
        120..7200 => (age_s / 60, "minute"),
        7200..172_800 => (age_s / 3600, "hour"),
        _ => (age_s / 86400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn say(text: impl std::fmt::Display) -> Result<(), Error> {
    writeln!(io::stdout(), "{}", escaped(&text.to_string())).map_err(|error| Error::print(&error))
}

#[cfg(test)]
mod tests {
    use crossgrain::engine::tune::Contradiction;
    use crossgrain::plan::{Job, JobSource};
    use crossgrain::{Cipher, Direction};

    use super::{contradicted, wild_spreads};

    /// The other messages are tested in `tests/messages.rs`. These depend on measured times.
    #[test]
    fn dropped_costs_are_explained() {
        let contradiction = |source, slower| {
            let job = Job { cipher: Cipher::Aes128, direction: Direction::Encrypt, source };
            Contradiction { job, slower }
        };
        let found = [
            contradiction(JobSource::Counter, 0.123),
            contradiction(JobSource::Bytes, 1.0),
            contradiction(JobSource::Counter, 0.5),
        ];
        let slower = |source, percent| {
            format!(
                "aes-128, encrypt, from {source}: the plan by measured costs was {percent} % slower end to end than \
                 the shipped plan, and the measured costs of both are not kept"
            )
        };
        assert_eq!(contradicted(&found).collect::<Vec<_>>(), [slower("a counter", 12), slower("bytes", 100)]);
        assert_eq!(
            wild_spreads(Cipher::Serpent256, 1234),
            "serpent-256: 1,234 costs spread by more than 50 % and are not kept: the machine is busy, measure again \
             when it is not"
        );
    }
}
