//! Tables by message length: a short one for the README (AES-256-CTR and AES-256-GCM of crossgrain and the strongest peers), and one of
//! AES-256-GCM with all peers for the page on measuring.

use std::fmt::Write as _;

use super::record::Record;
use super::series::{bulk, length};

/// Labels of the columns.
const COLUMNS: [&str; 6] = [OURS, "ipsec-mb", "aws-lc-rs", "openssl", "libgcrypt", "rustcrypto"];

const OURS: &str = "crossgrain";

/// Message lengths, in bytes.
const LENGTHS: [u64; 7] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 1 << 20];

/// The length of the message that AES-CTR is timed on.
const CTR_BYTES: u64 = 1 << 20;

/// The speed of AES-256-GCM in a situation of `bench/peers`.
fn sealed(record: &Record, situation: &str, bytes: u64, label: &str) -> Option<f64> {
    record.speed(&format!("aes-256-gcm/{situation}/{bytes}/{label}"), bytes)
}

/// Whether a record has messages by length. Older records do not.
fn has_lengths(record: &Record) -> bool {
    LENGTHS.iter().all(|&bytes| sealed(record, "apart", bytes, OURS).is_some())
}

/// The name of a column.
fn heading(record: &Record, label: &str) -> String {
    match label {
        OURS => OURS.to_owned(),
        "rustcrypto" => "RustCrypto".to_owned(),
        peer => record.named(peer).unwrap_or_else(|| peer.to_owned()),
    }
}

/// GB/s on one thread; a dash where the record has no figure. `None` if the record has no messages by length.
pub(super) fn table(record: &Record, day: &str) -> Option<String> {
    let headings = COLUMNS.map(|label| heading(record, label)).join(" | ");
    let mut text = format!("| GB/s, one thread | {headings} |\n|---|{}\n", "---|".repeat(COLUMNS.len()));
    let mut row = |name: &str, speeds: [Option<f64>; COLUMNS.len()]| {
        let cells = speeds.map(|speed| speed.map_or("–".to_owned(), |speed| format!("{speed:.1}")));
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    row("AES-256-CTR, 1 MiB", COLUMNS.map(|label| record.speed(&bulk("aes-256-ctr", label), CTR_BYTES)));
    for bytes in LENGTHS {
        let speeds = COLUMNS.map(|label| sealed(record, "apart", bytes, label));
        row(&format!("AES-256-GCM, {}", length(bytes)), speeds);
    }
    let _ = writeln!(text, "\nMachine: {}, {day}.", record.machine());
    has_lengths(record).then_some(text)
}

/// The columns of AES-256-GCM that the page on measuring shows: a situation, a label, and a heading unless it is the peer's name.
const GCM_COLUMNS: [(&str, &str, Option<&str>); 10] = [
    ("in-place", OURS, Some("written, sealed in place")),
    ("apart", OURS, Some("sealed apart")),
    ("open", OURS, Some("opened apart")),
    ("many", OURS, Some("many in one call")),
    ("apart", "ipsec-mb", None),
    ("apart", "aws-lc-rs", None),
    ("apart", "openssl", None),
    ("apart", "libgcrypt", None),
    ("apart", "nettle", None),
    ("apart", "ring", None),
];

/// GB/s of AES-256-GCM on one thread. `None` if the record has no messages by length.
pub(super) fn gcm(record: &Record, day: &str) -> Option<String> {
    let headings =
        GCM_COLUMNS.map(|(_, label, name)| name.map_or_else(|| heading(record, label), str::to_owned));
    let mut text =
        format!("| GB/s | {} |\n|---|{}\n", headings.join(" | "), "---|".repeat(GCM_COLUMNS.len()));
    for bytes in LENGTHS {
        let cells = GCM_COLUMNS.map(|(situation, label, _)| {
            let speed = sealed(record, situation, bytes, label);
            speed.map_or("–".to_owned(), |speed| format!("{speed:.2}"))
        });
        let _ = writeln!(text, "| {} | {} |", length(bytes), cells.join(" | "));
    }
    let _ = writeln!(text, "\nMachine: {}, {day}.", record.machine());
    has_lengths(record).then_some(text)
}
