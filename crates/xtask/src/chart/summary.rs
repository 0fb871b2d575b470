//! Tables by message length: a short one for the README (AES-256-CTR and AES-256-GCM of crossgrain and the strongest peers), and one of
//! AES-256-GCM with all peers for the page on measuring.

use std::fmt::Write as _;

use super::record::Record;
use super::series::length;

/// The label of each column's rows in `lengths/aes-256-gcm`, and of its row in `aes-256-ctr`.
const COLUMNS: [(&str, &str); 6] = [
    ("seal", "best"),
    ("ipsec-mb", "ipsec-mb"),
    ("aws-lc-rs", "aws-lc-rs"),
    ("openssl", "openssl"),
    ("libgcrypt", "libgcrypt"),
    ("rustcrypto", "rustcrypto"),
];

/// Message lengths, in bytes.
const LENGTHS: [u64; 7] = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 1 << 20];

/// The length of the message that AES-CTR is timed on.
const CTR_BYTES: u64 = 1 << 20;

/// GB/s on one thread; a dash where the record has no figure.
pub(super) fn table(record: &Record, day: &str) -> String {
    let name = |(label, _): &(&str, &str)| match *label {
        "seal" => "crossgrain".to_owned(),
        "rustcrypto" => "RustCrypto".to_owned(),
        peer => record.named(peer).unwrap_or_else(|| peer.to_owned()),
    };
    let headings: Vec<_> = COLUMNS.iter().map(name).collect();
    let mut text =
        format!("| GB/s, one thread | {} |\n|---|{}\n", headings.join(" | "), "---|".repeat(COLUMNS.len()));
    let mut row = |name: &str, speeds: [Option<f64>; COLUMNS.len()]| {
        let cells = speeds.map(|speed| speed.map_or("–".to_owned(), |speed| format!("{speed:.1}")));
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    let ctr = COLUMNS.map(|(_, label)| record.speed(&format!("aes-256-ctr/{label}"), CTR_BYTES));
    row("AES-256-CTR, 1 MiB", ctr);
    for bytes in LENGTHS {
        let id = |label| format!("lengths/aes-256-gcm/{label}/{bytes}");
        let gcm = COLUMNS.map(|(label, _)| record.speed(&id(label), bytes));
        row(&format!("AES-256-GCM, {}", length(bytes)), gcm);
    }
    let _ = writeln!(text, "\nMachine: {}, {day}.", record.machine());
    text
}

/// The label of many messages in one call, and their number.
const MANY: &str = "seal-many";
const MANY_MESSAGES: u64 = 64;

/// The rows of `lengths/aes-256-gcm` that the page on measuring shows: a label, and a heading unless the record names the peer.
const GCM_COLUMNS: [(&str, Option<&str>); 10] = [
    ("seal", Some("seal in place")),
    ("seal-apart", Some("seal apart")),
    ("open", Some("open apart")),
    (MANY, Some("seal many")),
    ("ipsec-mb", None),
    ("aws-lc-rs", None),
    ("openssl", None),
    ("libgcrypt", None),
    ("graviola", None),
    ("ring", None),
];

/// GB/s of AES-256-GCM on one thread.
pub(super) fn gcm(record: &Record, day: &str) -> String {
    let headings = GCM_COLUMNS.map(|(label, heading)| {
        heading.map(str::to_owned).or_else(|| record.named(label)).unwrap_or_else(|| label.to_owned())
    });
    let mut text =
        format!("| GB/s | {} |\n|---|{}\n", headings.join(" | "), "---|".repeat(GCM_COLUMNS.len()));
    for bytes in LENGTHS {
        let cell = |(label, _): (&str, Option<&str>)| {
            let messages = if label == MANY { MANY_MESSAGES } else { 1 };
            let speed = record.speed(&format!("lengths/aes-256-gcm/{label}/{bytes}"), messages * bytes);
            speed.map_or("–".to_owned(), |speed| format!("{speed:.2}"))
        };
        let _ = writeln!(text, "| {} | {} |", length(bytes), GCM_COLUMNS.map(cell).join(" | "));
    }
    let _ = writeln!(text, "\nMachine: {}, {day}.", record.machine());
    text
}
