//! What is charted: which ids of a record, in which panel, under which name.

use super::record::Record;

/// The ciphers, and how their ids begin. The first has the broad bars.
pub(super) const CIPHERS: [(&str, &str); 2] = [("AES-128", "aes-128-ctr"), ("AES-256", "aes-256-ctr")];

/// The end of an id, and how people call it.
struct Series {
    id: &'static str,
    /// A feature without which the row repeats another one, or belongs to another panel.
    needs: Option<&'static str>,
    name: &'static str,
    note: &'static str,
}

const fn series(
    id: &'static str,
    needs: Option<&'static str>,
    name: &'static str,
    note: &'static str,
) -> Series {
    Series { id, needs, name, note }
}

const OURS: &str = "crossgrain";

/// Two panels, since one scale would leave nothing to see of the second.
const PANELS: [(&str, &[Series]); 2] = [
    (
        "With the CPU’s AES instructions",
        &[
            series("best", Some("aes"), OURS, "default"),
            series("ten-rounds", Some("aes"), OURS, "every round computed"),
            series("rustcrypto", Some("aes"), "RustCrypto", "aes and ctr crates"),
            series("openssl", Some("aes"), "OpenSSL", "libcrypto"),
        ],
    ),
    (
        "Without AES instructions, constant-time",
        &[
            series("without-aes", None, OURS, "all else allowed"),
            series("avx2-without-aes", Some("avx512"), OURS, "AVX2 at most"),
            series("u64", None, OURS, "64-bit words"),
            series("rustcrypto-software", None, "RustCrypto", "software backend"),
            series("openssl-masked", None, "OpenSSL", "AES instructions off"),
        ],
    ),
];

/// Bars of one scale, the fastest first.
pub(super) struct Panel {
    pub(super) heading: &'static str,
    pub(super) rows: Vec<Row>,
}

/// What one implementation does.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) note: &'static str,
    /// In GB/s, for each of the ciphers.
    pub(super) speeds: [Option<f64>; CIPHERS.len()],
}

impl Row {
    pub(super) fn is_ours(&self) -> bool {
        self.name == OURS
    }

    /// The first speed there is: rows are sorted by it.
    fn rank(&self) -> f64 {
        self.speeds.into_iter().flatten().next().unwrap_or_default()
    }
}

/// The panels of a record; none that would be empty.
pub(super) fn panels(record: &Record) -> Vec<Panel> {
    let panels = PANELS.iter().map(|(heading, series)| {
        let mut rows: Vec<_> = series.iter().filter_map(|series| row(record, series)).collect();
        rows.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
        Panel { heading, rows }
    });
    panels.filter(|panel| !panel.rows.is_empty()).collect()
}

fn row(record: &Record, series: &Series) -> Option<Row> {
    let speeds = CIPHERS.map(|(_, mode)| record.speed(&format!("{mode}/{}", series.id)));
    let is_there = speeds.iter().any(Option::is_some);
    let says_something = series.needs.is_none_or(|feature| record.has(feature));
    (is_there && says_something).then_some(Row { name: series.name, note: series.note, speeds })
}
