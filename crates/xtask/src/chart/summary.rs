//! Tables by message length: a short one for the README (AES-256-CTR and AES-256-GCM of crossgrain and the strongest peers), and one of
//! AES-256-GCM with all peers for the page on measuring.

use std::fmt::Write as _;

use super::record::Record;
use super::series::{bulk, length};

/// The label of crossgrain's rows.
const OURS: &str = "crossgrain";

/// The labels of the columns of the short table.
const LABELS: [&str; 7] = [OURS, "ipsec-mb", "aws-lc-rs", "openssl", "libgcrypt", "botan", "rustcrypto"];

/// Message lengths, in bytes.
const LENGTHS: [u64; 8] = [16, 64, 256, 1 << 10, 1400, 4 << 10, 16 << 10, 1 << 20];

/// The length of the message that AES-CTR is timed on.
const CTR_BYTES: u64 = 1 << 20;

fn heading(record: &Record, label: &str) -> String {
    match label {
        "rustcrypto" => "RustCrypto".to_owned(),
        label => record.named(label).unwrap_or_else(|| label.to_owned()),
    }
}

/// The speed of AES-256-GCM in one situation.
fn gcm_speed(record: &Record, situation: &str, bytes: u64, label: &str) -> Option<f64> {
    record.speed(&format!("aes-256-gcm/{situation}/{bytes}/{label}"), bytes)
}

/// A table of speeds: a heading for each column, and a name and figures for each row. A dash means that the record has no figure.
fn written(
    record: &Record,
    day: &str,
    headings: &[String],
    rows: impl Iterator<Item = (String, Vec<Option<f64>>)>,
) -> String {
    let mut text =
        format!("| GB/s, one thread | {} |\n|---|{}\n", headings.join(" | "), "---|".repeat(headings.len()));
    for (name, speeds) in rows {
        let cells =
            speeds.into_iter().map(|speed| speed.map_or("–".to_owned(), |speed| format!("{speed:.2}")));
        let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let _ = writeln!(text, "\nMachine: {}, {day}.", record.machine());
    text
}

/// The short table: messages encrypted from one buffer to another.
pub(super) fn table(record: &Record, day: &str) -> String {
    let headings = LABELS.map(|label| heading(record, label));
    let ctr = LABELS.map(|label| record.speed(&bulk("aes-256-ctr", label), CTR_BYTES)).to_vec();
    let gcm = LENGTHS.map(|bytes| {
        let speeds = LABELS.map(|label| gcm_speed(record, "apart", bytes, label)).to_vec();
        (format!("AES-256-GCM, {}", length(bytes)), speeds)
    });
    let rows = [("AES-256-CTR, 1 MiB".to_owned(), ctr)].into_iter().chain(gcm);
    written(record, day, &headings, rows)
}

/// The columns of the table of AES-256-GCM: a label, and the situation.
const COLUMNS: [(&str, &str); 11] = [
    (OURS, "in-place"),
    (OURS, "apart"),
    (OURS, "open"),
    (OURS, "many"),
    ("ipsec-mb", "apart"),
    ("aws-lc-rs", "apart"),
    ("openssl", "apart"),
    ("libgcrypt", "apart"),
    ("botan", "apart"),
    ("graviola", "apart"),
    ("ring", "apart"),
];

/// GB/s of AES-256-GCM.
pub(super) fn gcm(record: &Record, day: &str) -> String {
    let headings = COLUMNS.map(|(label, situation)| match label {
        OURS => situation.to_owned(),
        label => heading(record, label),
    });
    let rows = LENGTHS.map(|bytes| {
        let speeds = COLUMNS.map(|(label, situation)| gcm_speed(record, situation, bytes, label));
        (length(bytes), speeds.to_vec())
    });
    written(record, day, &headings, rows.into_iter())
}
