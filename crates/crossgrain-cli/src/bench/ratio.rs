//! The ratios that matter: what crossgrain is held to, each between two rows of the same run.

use super::Row;

/// A ratio of speeds.
pub(crate) struct Ratio {
    pub(crate) what: &'static str,
    pub(crate) value: f64,
    pub(crate) bar: f64,
}

/// What is compared: the faster-to-be, the yardstick, and the least their ratio should be on a CPU
/// with AVX-512 and VAES.
const RATIOS: [(&str, &str, &str, f64); 33] = [
    ("AES-128-CTR / RustCrypto", "aes-128-ctr/best", "aes-128-ctr/rustcrypto", 3.0),
    ("AES-128-CTR / OpenSSL", "aes-128-ctr/best", "aes-128-ctr/openssl", 1.0),
    ("AES-128-CTR, two rounds by table / all ten", "aes-128-ctr/best", "aes-128-ctr/ten-rounds", 1.15),
    (
        "AES-128-CTR, all ten rounds / written by hand",
        "aes-128-ctr/ten-rounds",
        "aes-128-ctr/hand-written",
        0.98,
    ),
    ("AES-128-ECB / written by hand", "aes-128-ecb/best", "aes-128-ecb/hand-written", 0.98),
    ("AES-128-ECB / RustCrypto", "aes-128-ecb/best", "aes-128-ecb/rustcrypto", 0.95),
    (
        "AES-128-CTR bit-sliced / RustCrypto software",
        "aes-128-ctr/bitsliced",
        "aes-128-ctr/rustcrypto-software",
        8.0,
    ),
    (
        "AES-128-CTR bit-sliced / OpenSSL without AES",
        "aes-128-ctr/bitsliced",
        "aes-128-ctr/openssl-masked",
        3.5,
    ),
    (
        "AES-128-CTR without AES, GFNI / RustCrypto software",
        "aes-128-ctr/without-aes-gfni",
        "aes-128-ctr/rustcrypto-software",
        11.0,
    ),
    ("AES-128-CTR on u64 / RustCrypto software", "aes-128-ctr/u64", "aes-128-ctr/rustcrypto-software", 1.3),
    ("AES-128 key search / RustCrypto", "search/aes-128/mask", "search/aes-128/rustcrypto", 8.0),
    ("AES-192 key search / RustCrypto", "search/aes-192/mask", "search/aes-192/rustcrypto", 8.0),
    ("AES-256 key search / RustCrypto", "search/aes-256/mask", "search/aes-256/rustcrypto", 8.0),
    ("Serpent-256 key search / RustCrypto", "search/serpent-256/mask", "search/serpent-256/rustcrypto", 8.0),
    ("256 MiB AES-128-CTR / memcpy", "out-of-cache/aes-128-ctr/best", "out-of-cache/memcpy", 0.9),
    ("256 MiB of keystream / memset", "out-of-cache/aes-128-keystream/best", "out-of-cache/memset", 0.9),
    (
        "two threads / one, in cache",
        "threads/aes-128-ctr/without-aes/2",
        "threads/aes-128-ctr/without-aes/1",
        1.9,
    ),
    ("Serpent-256-ECB / libgcrypt", "serpent-256-ecb/best", "serpent-256-ecb/libgcrypt", 1.2),
    ("Serpent-256-CTR / libgcrypt", "serpent-256-ctr/best", "serpent-256-ctr/libgcrypt", 1.3),
    ("Serpent-256-ECB with AVX2 / Botan", "serpent-256-ecb/avx2", "serpent-256-ecb/botan", 1.5),
    ("Serpent-256-ECB / RustCrypto", "serpent-256-ecb/best", "serpent-256-ecb/rustcrypto", 1.0),
    ("Serpent-256-ECB decrypt / encrypt", "serpent-256-ecb-decrypt/best", "serpent-256-ecb/best", 0.9),
    ("AES-256-XTS, 512-byte sectors / ECB", "modes/aes-256/xts-512", "modes/aes-256/ecb", 0.85),
    ("AES-256-XTS, 4 KiB sectors / ECB", "modes/aes-256/xts-4096", "modes/aes-256/ecb", 0.85),
    ("AES-256-XTS / RustCrypto", "modes/aes-256/xts-4096", "modes/aes-256/xts-4096/rustcrypto", 1.0),
    ("AES-256-XTS / OpenSSL", "modes/aes-256/xts-4096", "modes/aes-256/xts-4096/openssl", 1.0),
    ("AES-256-CBC decrypt / ECB decrypt", "modes/aes-256/cbc-decrypt", "modes/aes-256/ecb-decrypt", 0.9),
    ("AES-256-EAX / CTR, many messages", "modes/aes-256/eax-many", "modes/aes-256/ctr-many", 0.45),
    ("Serpent-256-XTS, 512-byte sectors / ECB", "modes/serpent-256/xts-512", "modes/serpent-256/ecb", 0.85),
    ("Serpent-256-XTS, 4 KiB sectors / ECB", "modes/serpent-256/xts-4096", "modes/serpent-256/ecb", 0.85),
    (
        "Serpent-256-XTS / libgcrypt",
        "modes/serpent-256/xts-4096",
        "modes/serpent-256/xts-4096/libgcrypt",
        1.0,
    ),
    (
        "Serpent-256-CBC decrypt / ECB decrypt",
        "modes/serpent-256/cbc-decrypt",
        "modes/serpent-256/ecb-decrypt",
        0.9,
    ),
    (
        "Serpent-256-EAX / CTR, many messages",
        "modes/serpent-256/eax-many",
        "modes/serpent-256/ctr-many",
        0.45,
    ),
];

/// Those ratios whose both sides were measured.
pub(crate) fn found(rows: &[Row]) -> Vec<Ratio> {
    let speed = |id: &str| rows.iter().find(|row| row.id == id).map(Row::gb_per_s);
    let ratio = |&(what, ours, theirs, bar): &(&'static str, &str, &str, f64)| {
        Some(Ratio { what, value: speed(ours)? / speed(theirs)?, bar })
    };
    RATIOS.iter().filter_map(ratio).collect()
}
