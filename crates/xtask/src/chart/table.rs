//! The speeds of a record as a table for quick comparison.

use std::fmt::Write as _;

use super::record::Record;
use super::series::bulk;

/// Bytes on which modes are timed.
const MODE_BYTES: u64 = 1 << 20;

/// Columns: a name, and the label in ids.
const COLUMNS: [(&str, &str); 4] = [
    ("crossgrain", "crossgrain"),
    ("OpenSSL", "openssl"),
    ("libgcrypt", "libgcrypt"),
    ("RustCrypto", "rustcrypto"),
];

/// Rows: a name, a mode, and for each column the end of the label. `None` means that the column has no such
/// figure.
const ROWS: [(&str, &str, [Option<&str>; COLUMNS.len()]); 5] = [
    ("AES-128-CTR", "aes-128-ctr", [Some(""); COLUMNS.len()]),
    ("AES-256-CTR", "aes-256-ctr", [Some(""); COLUMNS.len()]),
    (
        "AES-128-CTR without AES instructions",
        "aes-128-ctr",
        [Some("-avx512-aes"), Some("-masked"), None, Some("-software")],
    ),
    ("AES-128-CTR on AVX2 alone", "aes-128-ctr", [Some("-avx2-aes-gfni"), None, None, None]),
    ("Serpent-256-CTR", "serpent-256-ctr", [Some(""), None, Some(""), Some("")]),
];

/// GB/s on one thread, and a caption with the machine and the versions.
pub(super) fn speeds(record: &Record, day: &str) -> String {
    let headings = COLUMNS.map(|(name, _)| record.heading(name)).join(" | ");
    let mut text = format!("| GB/s, one thread | {headings} |\n|---|{}\n", "---|".repeat(COLUMNS.len()));
    for (name, mode, ends) in ROWS {
        let cells = COLUMNS.iter().zip(ends).map(|((_, label), end)| {
            let speed = end.and_then(|end| record.speed(&bulk(mode, &format!("{label}{end}")), MODE_BYTES));
            speed.map_or("–".to_owned(), |speed| format!("{speed:.2}"))
        });
        let _ = writeln!(text, "| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    let _ = writeln!(text, "\n{}.", record.caption(day, &COLUMNS.map(|(name, _)| name)).join(" · "));
    text
}
