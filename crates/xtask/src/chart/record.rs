//! Parses a benchmark record: JSON lines. The first describes the machine, each other line has one figure.

use serde_json::Value;

use crate::{Result, limits};

/// In GB/s. A peer that dies during a measurement has almost no speed, and would be shown as 0.00.
const LEAST_SPEED: f64 = 0.0005;

/// The part of a record that a chart needs.
#[derive(Debug)]
pub(super) struct Record {
    machine: String,
    features: String,
    ghz: Option<f64>,
    version: String,
    rustc: Option<String>,
    /// The libraries that the peers used, `newest` or `installed`. Records from before this choice used those
    /// installed.
    libraries: String,
    peers: Vec<String>,
    speeds: Vec<Speed>,
    plans: Vec<Planned>,
}

/// A speed.
#[derive(Debug)]
pub(super) struct Speed {
    pub(super) id: String,
    pub(super) bytes: u64,
    pub(super) threads: u64,
    pub(super) gb_per_s: f64,
}

/// The planner's result for a job under a cap, for example `aes-128-ecb/avx2-aes`.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) job: String,
    pub(super) cap: String,
    /// The steps of the best plan, in order.
    pub(super) best: String,
    pub(super) gb_per_s: f64,
    /// The cost of the best mix of representations, relative to the best pure form.
    pub(super) mixed_to_pure: f64,
}

impl Record {
    /// Parses the lines of a record. Lines that are not speeds, for example ratios, are skipped.
    ///
    /// # Errors
    /// If a line is not JSON, or the first one lacks a required field.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let values = lines.map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| format!("line {} is no JSON: {error}", index + 1))
        });
        let values = values.collect::<Result<Vec<Value>>>()?;
        let (head, rows) = values.split_first().ok_or("an empty record")?;
        let text = |key: &str| {
            let text = head[key].as_str().map(str::to_owned);
            text.ok_or_else(|| format!("no record: its first line has no \"{key}\""))
        };
        Ok(Self {
            machine: text("machine")?,
            features: text("features")?,
            ghz: head["core_ghz"].as_f64(),
            version: text("crossgrain")?,
            rustc: head["rustc"].as_str().map(str::to_owned),
            libraries: head["libraries"].as_str().unwrap_or("installed").to_owned(),
            peers: head["peers"].as_array().into_iter().flatten().filter_map(peer).collect(),
            speeds: rows.iter().filter_map(speed).collect(),
            plans: rows.iter().filter_map(planned).collect(),
        })
    }

    /// The speed of an id in GB/s, for `bytes` bytes on one thread.
    pub(super) fn speed(&self, id: &str, bytes: u64) -> Option<f64> {
        let is_it = |speed: &&Speed| speed.id == id && speed.bytes == bytes && speed.threads == 1;
        self.speeds.iter().find(is_it).map(|speed| speed.gb_per_s)
    }

    /// All speeds whose ids begin with `start`, in the order of the record, each with the rest of its id.
    pub(super) fn below<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a str, &'a Speed)> {
        self.speeds.iter().filter_map(move |speed| Some((speed.id.strip_prefix(start)?, speed)))
    }

    /// The planner's results, in the order of the record.
    pub(super) fn plans(&self) -> &[Planned] {
        &self.plans
    }

    /// The name of the CPU, with family and model, and the number of threads.
    pub(super) fn machine(&self) -> &str {
        &self.machine
    }

    /// The version of crossgrain.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Whether the machine had this feature and was allowed to use it.
    pub(super) fn has(&self, feature: &str) -> bool {
        self.features.split_whitespace().any(|name| name == feature)
    }

    /// The name of a peer in a table: a library with its version, and whether that was the newest or the
    /// installed one, which may be old.
    pub(super) fn heading(&self, peer: &str) -> String {
        let mut names = self.peers.iter().filter_map(|name| name.strip_prefix(peer)?.strip_prefix(' '));
        match names.find(|version| version.starts_with(|first: char| first.is_ascii_digit())) {
            Some(version) => format!("{peer} {version} ({})", self.libraries),
            None => peer.to_owned(),
        }
    }

    /// The name and version of the peer in an id's label. `None` for a peer that was limited on purpose, and
    /// for other labels.
    pub(super) fn named(&self, label: &str) -> Option<String> {
        let is_it =
            |peer: &&String| peer.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(label));
        let words = self.peers.iter().find(is_it)?.split(' ').take(2);
        Some(words.collect::<Vec<_>>().join(" "))
    }

    /// The place, time and versions of the measurements: the machine, the versions of crossgrain and of the
    /// peers `shown`, and the day, which is the name of the record's file.
    pub(super) fn caption(&self, name: &str, shown: &[&str]) -> [String; 2] {
        let ghz = self.ghz.map(|ghz| format!("about {ghz:.2} GHz"));
        let core = limits::core(&self.machine).map(str::to_owned);
        let machine = [Some(self.machine.clone()), core, ghz, Some(self.features.clone())];
        let day = is_day(name).then(|| name.to_owned());
        let rustc = self.rustc.as_ref().map(|version| format!(" by rustc {version}"));
        let mut versions = vec![format!("crossgrain {}{}", self.version, rustc.unwrap_or_default())];
        let first_word = |name: &str| name.split(' ').next().unwrap_or_default().to_ascii_lowercase();
        let is_shown = |peer: &&String| shown.iter().any(|name| first_word(name) == first_word(peer));
        for peer in self.peers.iter().filter(is_shown) {
            // The record may list one library twice, with and without AES instructions.
            if !versions.contains(peer) {
                versions.push(peer.clone());
            }
        }
        let versions = [Some(versions.join(", ")), day];
        [joined(&machine), joined(&versions)]
    }
}

/// The non-empty parts, separated by dots.
fn joined(parts: &[Option<String>]) -> String {
    let parts = parts.iter().flatten().filter(|part| !part.is_empty());
    parts.map(String::as_str).collect::<Vec<_>>().join(" · ")
}

/// The name and version of a peer, without the rest of its description.
fn peer(value: &Value) -> Option<String> {
    let name = value.as_str()?;
    let end = name.find([',', '(']).unwrap_or(name.len());
    Some(name[..end].trim_end().to_owned())
}

fn speed(row: &Value) -> Option<Speed> {
    let text = |key: &str| row[key].as_str().map(str::to_owned);
    // A comparison's rows have times, and its fastest turn is compared: on a noisy machine medians vary by a fifth.
    let key = if row["ns"].is_number() { "best_gb_per_s" } else { "gb_per_s" };
    let gb_per_s = row[key].as_f64().filter(|&speed| speed >= LEAST_SPEED)?;
    Some(Speed {
        id: text("id")?,
        bytes: row["bytes"].as_u64()?,
        threads: row["threads"].as_u64()?,
        gb_per_s,
    })
}

fn planned(row: &Value) -> Option<Planned> {
    let (job, cap) = row["plan"].as_str()?.split_once('/')?;
    Some(Planned {
        job: job.to_owned(),
        cap: cap.to_owned(),
        best: row["best"].as_str()?.to_owned(),
        gb_per_s: row["gb_per_s"].as_f64()?,
        mixed_to_pure: row["mixed_to_pure"].as_f64()?,
    })
}

/// Whether this has the form 2026-11-30.
pub(super) fn is_day(name: &str) -> bool {
    let is_like = |(c, like): (u8, u8)| if like == b'0' { c.is_ascii_digit() } else { c == like };
    name.len() == 10 && name.bytes().zip(*b"0000-00-00").all(is_like)
}
