//! Ratios of interest, each between two rows of the same run.

use super::Row;

/// A ratio of speeds.
pub(crate) struct Ratio {
    pub(crate) what: String,
    /// The ratio of the medians.
    pub(crate) value: f64,
    /// The ratio of the fastest samples.
    pub(crate) best: f64,
}

/// The name of each ratio, its numerator and its denominator.
const RATIOS: &[(&str, &str, &str)] = &[
    ("AES-128-CTR, two rounds by table / all ten", "aes-128-ctr/best", "aes-128-ctr/ten-rounds"),
    ("256 MiB AES-128-CTR / memcpy", "out-of-cache/aes-128-ctr/best", "out-of-cache/memcpy"),
    ("256 MiB of keystream / memset", "out-of-cache/aes-128-keystream/best", "out-of-cache/memset"),
    ("two threads / one, in cache", "threads/aes-128-ctr/without-aes/2", "threads/aes-128-ctr/without-aes/1"),
    ("Serpent-256-ECB decrypt / encrypt", "serpent-256-ecb-decrypt/best", "serpent-256-ecb/best"),
    ("AES-256-XTS, 512-byte sectors / ECB", "modes/aes-256/xts-512", "modes/aes-256/ecb"),
    ("AES-256-XTS, 4 KiB sectors / ECB", "modes/aes-256/xts-4096", "modes/aes-256/ecb"),
    ("AES-256-OCB / ECB", "modes/aes-256/ocb", "modes/aes-256/ecb"),
    ("Serpent-256-OCB / ECB", "modes/serpent-256/ocb", "modes/serpent-256/ecb"),
    ("AES-256-CBC decrypt / ECB decrypt", "modes/aes-256/cbc-decrypt", "modes/aes-256/ecb-decrypt"),
    ("AES-256-EAX / CTR, many messages", "modes/aes-256/eax-many", "modes/aes-256/ctr-many"),
    ("Serpent-256-XTS, 512-byte sectors / ECB", "modes/serpent-256/xts-512", "modes/serpent-256/ecb"),
    ("Serpent-256-XTS, 4 KiB sectors / ECB", "modes/serpent-256/xts-4096", "modes/serpent-256/ecb"),
    (
        "Serpent-256-CBC decrypt / ECB decrypt",
        "modes/serpent-256/cbc-decrypt",
        "modes/serpent-256/ecb-decrypt",
    ),
    ("Serpent-256-EAX / CTR, many messages", "modes/serpent-256/eax-many", "modes/serpent-256/ctr-many"),
];

/// The ratios for which both rows were measured.
pub(crate) fn found(rows: &[Row]) -> Vec<Ratio> {
    let row = |id: &str| rows.iter().find(|row| row.id == id);
    let ratios = RATIOS.iter();
    ratios
        .filter_map(|&(what, ours, other)| Some(between(what.to_owned(), row(ours)?, row(other)?)))
        .collect()
}

fn between(what: String, ours: &Row, other: &Row) -> Ratio {
    let best = ours.best_gb_per_s() / other.best_gb_per_s();
    Ratio { what, value: ours.gb_per_s() / other.gb_per_s(), best }
}
