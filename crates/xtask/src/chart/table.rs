//! The speeds of a record as a table: what a reader can compare at a glance.

use std::fmt::Write as _;

use super::record::Record;

/// Bytes on which modes are timed.
const MODE_BYTES: u64 = 1 << 20;

/// Who is compared, and how their ids end; a row that is about something else says so.
const COLUMNS: [&str; 4] = ["crossgrain", "OpenSSL", "libgcrypt", "RustCrypto"];

/// A row's name, and for each column the id.
const ROWS: [(&str, [&str; COLUMNS.len()]); 5] = [
    (
        "AES-128-CTR",
        ["aes-128-ctr/best", "aes-128-ctr/openssl", "aes-128-ctr/libgcrypt", "aes-128-ctr/rustcrypto"],
    ),
    (
        "AES-256-CTR",
        ["aes-256-ctr/best", "aes-256-ctr/openssl", "aes-256-ctr/libgcrypt", "aes-256-ctr/rustcrypto"],
    ),
    (
        "AES-128-CTR without AES instructions",
        ["aes-128-ctr/without-aes", "aes-128-ctr/openssl-masked", "", "aes-128-ctr/rustcrypto-software"],
    ),
    ("AES-128-CTR on AVX2 alone", ["aes-128-ctr/avx2-without-aes", "", "", ""]),
    (
        "Serpent-256-CTR",
        ["serpent-256-ctr/best", "", "serpent-256-ctr/libgcrypt", "serpent-256-ctr/rustcrypto"],
    ),
];

/// GB/s on one thread, and what was measured where.
pub(super) fn speeds(record: &Record, day: &str) -> String {
    let headings = COLUMNS.map(|column| record.heading(column)).join(" | ");
    let mut text = format!("| GB/s, one thread | {headings} |\n|---|{}\n", "---|".repeat(COLUMNS.len()));
    for (name, ids) in ROWS {
        let cell =
            |id: &str| record.speed(id, MODE_BYTES).map_or("–".to_owned(), |speed| format!("{speed:.2}"));
        let _ = writeln!(text, "| {name} | {} |", ids.map(cell).join(" | "));
    }
    let _ = writeln!(text, "\n{}.", record.caption(day).join(" · "));
    text
}
