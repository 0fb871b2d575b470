//! Reads a benchmark record: JSON lines, the first about the machine, the others one figure each.

use serde_json::Value;

use crate::Result;

/// What is charted was measured on buffers of this size.
const BYTES: u64 = 1 << 20;
/// In GB/s. A peer that died in the middle has next to no speed; what would read 0.00 says nothing.
const LEAST_SPEED: f64 = 0.005;

/// The part of a record that a chart needs.
#[derive(Debug)]
pub(super) struct Record {
    machine: String,
    features: String,
    ghz: Option<f64>,
    version: String,
    peers: Vec<String>,
    /// Ids and GB/s, for 1 MiB on one thread.
    speeds: Vec<(String, f64)>,
}

impl Record {
    /// Reads the lines of a record. Those that are no speeds, such as ratios, are passed over.
    ///
    /// # Errors
    /// If a line is no JSON, or the first lacks what every record says about itself.
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
            peers: head["peers"].as_array().into_iter().flatten().filter_map(peer).collect(),
            speeds: rows.iter().filter_map(speed).collect(),
        })
    }

    /// The speed of an id in GB/s.
    pub(super) fn speed(&self, id: &str) -> Option<f64> {
        self.speeds.iter().find(|(name, _)| name == id).map(|&(_, speed)| speed)
    }

    /// Whether the machine had this feature and was allowed to use it.
    pub(super) fn has(&self, feature: &str) -> bool {
        self.features.split_whitespace().any(|name| name == feature)
    }

    /// Where, when and with what it was measured. The day is the name of the record's file.
    pub(super) fn caption(&self, name: &str) -> [String; 2] {
        let ghz = self.ghz.map(|ghz| format!("about {ghz:.2} GHz"));
        let machine = [Some(self.machine.clone()), ghz, Some(self.features.clone())];
        let day = is_day(name).then(|| name.to_owned());
        let mut versions = vec![format!("crossgrain {}", self.version)];
        for peer in &self.peers {
            // One library may be there twice, with and without AES instructions.
            if !versions.contains(peer) {
                versions.push(peer.clone());
            }
        }
        let versions = [Some(versions.join(", ")), day];
        [joined(&machine), joined(&versions)]
    }
}

/// The parts that are there and not empty, with a dot between them.
fn joined(parts: &[Option<String>]) -> String {
    let parts = parts.iter().flatten().filter(|part| !part.is_empty());
    parts.map(String::as_str).collect::<Vec<_>>().join(" · ")
}

/// Name and version of a peer, without the rest of what it says about itself.
fn peer(value: &Value) -> Option<String> {
    let name = value.as_str()?;
    let end = name.find([',', '(']).unwrap_or(name.len());
    Some(name[..end].trim_end().to_owned())
}

fn speed(row: &Value) -> Option<(String, f64)> {
    let charted = row["bytes"].as_u64() == Some(BYTES) && row["threads"].as_u64() == Some(1);
    let speed = row["gb_per_s"].as_f64().filter(|&speed| charted && speed >= LEAST_SPEED)?;
    Some((row["id"].as_str()?.to_owned(), speed))
}

/// Whether this is written like 2026-11-30.
fn is_day(name: &str) -> bool {
    let is_like = |(c, like): (u8, u8)| if like == b'0' { c.is_ascii_digit() } else { c == like };
    name.len() == 10 && name.bytes().zip(*b"0000-00-00").all(is_like)
}
