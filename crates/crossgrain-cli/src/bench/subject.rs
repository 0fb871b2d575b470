//! The subjects of the benchmark, in groups whose members are compared with one another.

use std::sync::Arc;

use crossgrain::engine::arch::BENCHMARKED_CAPS;
use crossgrain::engine::block::{BLOCK_BYTES, Family};
use crossgrain::engine::check;
use crossgrain::engine::variant::{Policy, Variant, table};
use crossgrain::mode::{Ctr, Ecb, Options};
use crossgrain::plan::measure::Subject;
use crossgrain::plan::{Job, JobSource, Plans, Trial, Workspace};
use crossgrain::{Cipher, Direction, Features, Key};

use super::{Filter, Timed, wrong};
use crate::error::Error;
use crate::wisdom;

pub(super) const MODE_BYTES: usize = 1 << 20;
/// Large enough to share between two threads, small enough for the last-level cache.
const SHARED_BYTES: usize = 8 << 20;

/// A subject to time.
pub(crate) struct Candidate {
    pub(crate) id: String,
    pub(crate) bytes: usize,
    pub(crate) threads: usize,
    pub(crate) work: Box<dyn Subject>,
}

pub(super) type Group = Result<Vec<Candidate>, Error>;

/// All groups with members that match the filter. They are created one at a time, because some are large.
pub(crate) fn groups<'a>(
    plans: Option<&'a Arc<Plans>>,
    policy: Policy,
    filter: Filter<'a>,
) -> Result<impl Iterator<Item = Group> + 'a, Error> {
    let features = Features::from_environment()?;
    let kinds: [Box<dyn Fn() -> Group + 'a>; 12] = [
        Box::new(move || variants(features, filter)),
        Box::new(move || ciphers(features, plans, policy, filter)),
        Box::new(move || super::modes::group(Cipher::Aes256, features, filter)),
        Box::new(move || super::modes::group(Cipher::Serpent256, features, filter)),
        Box::new(move || super::modes::sectors(features, filter)),
        Box::new(move || super::modes::wide(features, filter)),
        Box::new(move || lengths(features, filter)),
        Box::new(move || super::calls::group(features, filter)),
        Box::new(move || super::calls::batches(features, filter)),
        Box::new(move || super::search::group(features, filter)),
        Box::new(move || threads(features, filter)),
        Box::new(move || super::memory::group(features, filter)),
    ];
    Ok(kinds.into_iter().map(|kind| kind()))
}

/// Every available variant as a single stage.
fn variants(features: Features, filter: Filter<'_>) -> Group {
    let wanted = |variant: &&Variant| variant.is_available(features) && filter.passes(&variant.name);
    table().iter().filter(wanted).filter_map(|variant| one_variant(variant, features).transpose()).collect()
}

fn one_variant(variant: &Variant, features: Features) -> Result<Option<Candidate>, Error> {
    let Some(cipher) = Cipher::ALL.into_iter().find(|cipher| variant.serves(cipher.family())) else {
        return Ok(None);
    };
    if !check::agrees(variant, cipher, features)? {
        return Err(wrong(&variant.name));
    }
    let trial = Trial::new(variant, cipher, features, MODE_BYTES);
    let mut workspace = Workspace::default();
    Ok(trial.map(|mut trial| Candidate {
        id: variant.name.clone(),
        bytes: trial.len_bytes(),
        threads: 1,
        work: Box::new(Timed(move || trial.run(&mut workspace))),
    }))
}

/// The suffix of a plan's id under a policy.
pub(super) const fn suffix(policy: Policy) -> &'static str {
    match policy {
        Policy::ConstantTime => "",
        Policy::Any => "-any",
    }
}

/// A named set of options for a mode.
struct Kind {
    name: &'static str,
    options: Options,
}

/// The best plan, and a few for comparison.
fn kinds(features: Features, family: Family, source: JobSource) -> Vec<Kind> {
    match family {
        Family::Aes => aes_kinds(features, source),
        _ => [("best", features), ("portable", Features::NONE)]
            .into_iter()
            .chain(benchmarked(features).filter(|(name, _)| !name.contains("-aes")))
            .map(|(name, features)| Kind { name, options: options(features) })
            .collect(),
    }
}

/// The features that the machine's caps for benchmarks leave, and the names of these caps.
fn benchmarked(features: Features) -> impl Iterator<Item = (&'static str, Features)> {
    let left = move |cap: &str| cap.parse::<Features>().ok().map(|cap| cap & features);
    BENCHMARKED_CAPS.into_iter().filter_map(move |(name, cap)| Some((name, left(cap)?)))
}

/// A free choice under this cap, on one thread.
pub(super) fn options(features: Features) -> Options {
    Options { features: Some(features), threads: 1, ..Options::default() }
}

/// The same, with the costs measured on this machine.
pub(super) fn measured(cipher: Cipher, features: Features) -> Options {
    Options { costs: wisdom::costs(cipher), ..options(features) }
}

/// Bit slices in the widest registers, with the best transposition for them.
fn bitsliced(features: Features, source: JobSource) -> Options {
    let is_it = |name: &str| match source {
        JobSource::Counter => name.starts_with("aes-ctr-cached/bitsliced"),
        _ => name.starts_with("bitsliced") && name.contains("-to-blocks/"),
    };
    let mut found = table().iter().filter(|row| is_it(&row.name) && row.is_available(features));
    let variants = found.next_back().map(|row| row.name.clone()).into_iter().collect();
    Options { variants, ..options(features) }
}

/// The best plan, the best without AES instructions, and others without further instructions.
fn aes_kinds(features: Features, source: JobSource) -> Vec<Kind> {
    let without_aes = features.without(Features::AES);
    let mut kinds = vec![
        Kind { name: "best", options: options(features) },
        Kind { name: "without-aes", options: options(without_aes) },
        Kind { name: "bitsliced", options: bitsliced(without_aes, source) },
        Kind { name: "u64", options: options(Features::NONE) },
    ];
    let capped = benchmarked(features).filter(|(name, _)| name.contains("-aes"));
    kinds.extend(capped.map(|(name, features)| Kind { name, options: options(features) }));
    if source == JobSource::Counter
        && let Some(plain) = table()
            .iter()
            .rev()
            .find(|variant| variant.name.starts_with("aes-ctr/blocks/") && variant.is_available(features))
    {
        let forced = Options { variants: vec![plain.name.clone()], policy: Policy::Any, ..options(features) };
        kinds.push(Kind { name: "ten-rounds", options: forced });
    }
    kinds
}

/// The jobs whose plans are timed, with their names in ids.
const JOBS: [(&str, Direction, JobSource); 3] = [
    ("ecb", Direction::Encrypt, JobSource::Bytes),
    ("ecb-decrypt", Direction::Decrypt, JobSource::Bytes),
    ("ctr", Direction::Encrypt, JobSource::Counter),
];

/// The common part of the ids of a job's plans.
pub(super) fn ids_of(Job { cipher, direction, source }: Job) -> Result<String, Error> {
    let job = JOBS.into_iter().find(|&(_, of_job, from)| (of_job, from) == (direction, source));
    let told = || {
        Error::usage("`bench --plan` times plans of ECB and CTR: give it one of `plan --job ecb` or `ctr`")
    };
    job.map(|(mode, ..)| format!("{cipher}-{mode}/")).ok_or_else(told)
}

/// ECB and CTR of every key size.
fn ciphers(features: Features, plans: Option<&Arc<Plans>>, policy: Policy, filter: Filter<'_>) -> Group {
    let mut group = Vec::new();
    for cipher in Cipher::ALL {
        for (mode, direction, source) in JOBS {
            let stored =
                plans.filter(|plans| plans.job() == Job { cipher, direction, source }).map(|plans| {
                    let plans = vec![Arc::clone(plans)];
                    // A plan of the policy `any` may look up secrets.
                    let options = Options { plans, policy, ..options(features) };
                    Kind { name: "plan", options }
                });
            for Kind { name, options } in kinds(features, cipher.family(), source).into_iter().chain(stored) {
                let id = format!("{cipher}-{mode}/{name}");
                // Each plan is followed by the plan for the policy that allows more leaks.
                let looser = (options.policy == Policy::ConstantTime && policy == Policy::Any)
                    .then(|| (id.clone() + suffix(policy), Options { policy, ..options.clone() }));
                for (id, options) in [(id, options)].into_iter().chain(looser) {
                    if filter.passes(&id) {
                        group.push(candidate(id, cipher, direction, source, options, MODE_BYTES)?);
                    }
                }
            }
        }
    }
    Ok(group)
}

/// Lengths of messages, from a block to [`MODE_BYTES`].
fn message_lengths() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(BLOCK_BYTES), |bytes| Some(bytes * 4)).take_while(|&bytes| bytes <= MODE_BYTES)
}

/// Messages of every length, each started anew, to show the effect of batching.
fn lengths(features: Features, filter: Filter<'_>) -> Group {
    let mut group = Vec::new();
    let kinds = aes_kinds(features, JobSource::Counter);
    for Kind { name, options } in
        kinds.iter().filter(|kind| ["best", "without-aes", "u64"].contains(&kind.name))
    {
        for bytes in message_lengths() {
            let id = format!("lengths/aes-128-ctr/{name}/{bytes}");
            if filter.passes(&id) {
                let (direction, source) = (Direction::Encrypt, JobSource::Counter);
                group.push(candidate(id, Cipher::Aes128, direction, source, options.clone(), bytes)?);
            }
        }
    }
    Ok(group)
}

/// The same work on one thread and on several.
fn threads(features: Features, filter: Filter<'_>) -> Group {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let mut group = Vec::new();
    for Kind { name, options } in aes_kinds(features, JobSource::Counter).into_iter().take(2) {
        for threads in std::iter::successors(Some(1), |threads| Some(threads * 2)).take_while(|&t| t <= most)
        {
            let id = format!("threads/aes-128-ctr/{name}/{threads}");
            if filter.passes(&id) {
                let options = Options { threads, ..options.clone() };
                let (direction, source) = (Direction::Encrypt, JobSource::Counter);
                group.push(candidate(id, Cipher::Aes128, direction, source, options, SHARED_BYTES)?);
            }
        }
    }
    Ok(group)
}

pub(super) fn arbitrary_key(cipher: Cipher) -> Result<Key, Error> {
    Ok(Key::new(cipher, &[0x5a; 32][..cipher.key_bytes()])?)
}

/// A mode in place on a page-aligned buffer.
fn candidate(
    id: String,
    cipher: Cipher,
    direction: Direction,
    source: JobSource,
    options: Options,
    bytes: usize,
) -> Result<Candidate, Error> {
    const PAGE: usize = 4096;
    let options = Options { costs: wisdom::costs(cipher), ..options };
    if !check::job_agrees(cipher, direction, source, &options)? {
        return Err(wrong(&id));
    }
    let key = arbitrary_key(cipher)?;
    let mut memory = vec![1_u8; bytes + PAGE];
    let page = memory.as_ptr().align_offset(PAGE).min(PAGE);
    let threads = options.threads;
    let work: Box<dyn Subject> = match source {
        JobSource::Counter => {
            let ctr = Ctr::with_options(&key, &[1; 16], &options)?;
            Box::new(Timed(move || ctr.apply_at(0, &mut memory[page..][..bytes])))
        }
        // Modes and searches have separate candidates.
        JobSource::Bytes | JobSource::Mode(_) | JobSource::Keys { .. } => {
            let ecb = Ecb::with_options(&key, direction, &options)?;
            Box::new(Timed(move || {
                // The length is a multiple of the block, so this cannot fail.
                let _ = ecb.apply(&mut memory[page..][..bytes]);
            }))
        }
    };
    Ok(Candidate { id, bytes, threads, work })
}
