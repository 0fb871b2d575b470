//! The table of ratios: the speed of crossgrain over that of the fastest peer, by mode and message length.

use std::fmt::Write as _;

use super::record::Record;
use super::series::length;

/// Columns: message lengths in bytes. Each mode is timed on some of them.
const LENGTHS: [u64; 9] = [16, 64, 256, 512, 1 << 10, 4 << 10, 16 << 10, 1 << 20, 64 << 20];

/// The peers, by their labels in ids, and the letter that stands for each in the table.
const PEERS: [(&str, &str, char); 9] = [
    ("aws-lc-rs", "aws-lc-rs", 'a'),
    ("botan", "Botan", 'b'),
    ("graviola", "graviola", 'g'),
    ("ipsec-mb", "ipsec-mb", 'i'),
    ("libgcrypt", "libgcrypt", 'l'),
    ("nettle", "nettle", 'n'),
    ("openssl", "OpenSSL", 'o'),
    ("ring", "ring", 'r'),
    ("rustcrypto", "RustCrypto", 'u'),
];

/// One message at a time, in both directions.
const BOTH_WAYS: &[&str] = &["apart", "open"];

/// The same, in place, many messages in one call, and each message under a new key.
const ALL: &[&str] = &["in-place", "apart", "open", "many", "new-key"];

/// Modes with their situations, as in ids.
#[rustfmt::skip] // a table: one line a row
const ROWS: [(&str, &[&str]); 22] = [
    ("aes-128-ecb",      &["apart", "open", "new-key"]),
    ("aes-128-ctr",      &["in-place", "apart", "many", "new-key"]),
    ("aes-128-cbc",      &["apart", "open", "many"]),
    ("aes-128-cmac",     &["apart", "many"]),
    ("aes-128-xts",      BOTH_WAYS),
    ("aes-256-gcm",      ALL),
    ("aes-256-ocb",      ALL),
    ("aes-256-ccm",      ALL),
    ("aes-256-eax",      ALL),
    ("aes-256-siv",      ALL),
    ("aes-256-gcm-siv",  ALL),
    ("serpent-256-ecb",  &["new-key"]),
    ("serpent-256-ctr",  &["apart"]),
    ("serpent-256-xts",  &["apart"]),
    ("sm4-ecb",          &["new-key"]),
    ("sm4-ctr",          &["apart"]),
    ("camellia-128-ecb", &["new-key"]),
    ("camellia-128-ctr", &["apart"]),
    ("aria-128-ecb",     &["new-key"]),
    ("aria-128-ctr",     &["apart"]),
    ("kuznyechik-ecb",   &["new-key"]),
    ("kuznyechik-ctr",   &["apart"]),
];

/// A situation in words.
fn words(situation: &str) -> &str {
    match situation {
        "apart" => "to another buffer",
        "in-place" => "in place, just written",
        "open" => "decrypted",
        "many" => "many in one call",
        "new-key" => "each under a new key",
        other => other,
    }
}

/// Our speed over that of the fastest peer, and the peer's letter.
fn ratio(record: &Record, job: &str, situation: &str, bytes: u64) -> Option<(f64, char)> {
    let speed = |label: &str| record.speed(&format!("{job}/{situation}/{bytes}/{label}"), bytes);
    let peers = PEERS.iter().filter_map(|(label, _, letter)| Some((speed(label)?, *letter)));
    let (fastest, letter) = peers.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((speed("crossgrain")? / fastest, letter))
}

/// The table and its legend. `None` if the record has no messages by length.
pub(super) fn table(record: &Record, day: &str) -> Option<String> {
    let heads: Vec<_> = LENGTHS.map(length).into();
    let mut text = format!("| | {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(LENGTHS.len()));
    let mut has_any = false;
    for (job, situations) in ROWS {
        for situation in situations {
            let ratios = LENGTHS.map(|bytes| ratio(record, job, situation, bytes));
            if ratios.iter().all(Option::is_none) {
                continue;
            }
            has_any = true;
            let cells = ratios.map(|ratio| match ratio {
                Some((ratio, letter)) => format!("{ratio:.2} {letter}"),
                None => String::new(),
            });
            let _ = writeln!(text, "| {}, {} | {} |", title(job), words(situation), cells.join(" | "));
        }
    }
    let mut legend = String::new();
    for (label, name, letter) in PEERS {
        // RustCrypto is several crates, each with a version of its own.
        let named = record.named(label).filter(|_| label != "rustcrypto");
        let _ = write!(legend, "{letter} {}, ", named.unwrap_or_else(|| name.to_owned()));
    }
    let (machine, version) = (record.machine(), record.version());
    let _ = writeln!(text, "\n{legend}crossgrain {version}. Machine: {machine}, {day}.");
    has_any.then_some(text)
}

/// A job's name as documents write it: `AES-256-GCM`, `Serpent-256-CTR`.
fn title(job: &str) -> String {
    let words = job.split('-').map(|word| match word {
        "serpent" | "camellia" | "kuznyechik" => word[..1].to_uppercase() + &word[1..],
        word => word.to_uppercase(),
    });
    words.collect::<Vec<_>>().join("-")
}
