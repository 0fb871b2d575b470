//! The ratios that matter, each between two rows of the same run.

use super::Row;

/// A ratio of speeds.
pub(crate) struct Ratio {
    pub(crate) what: &'static str,
    /// Of the medians.
    pub(crate) value: f64,
    /// Of the fastest samples of both sides.
    pub(crate) best: f64,
}

/// What is compared: the one above the line, and the one below.
const RATIOS: [(&str, &str, &str); 43] = [
    ("AES-128-CTR / RustCrypto", "aes-128-ctr/best", "aes-128-ctr/rustcrypto"),
    ("AES-128-CTR / OpenSSL", "aes-128-ctr/best", "aes-128-ctr/openssl"),
    ("AES-128-CTR, two rounds by table / all ten", "aes-128-ctr/best", "aes-128-ctr/ten-rounds"),
    ("AES-128-CTR, all ten rounds / written by hand", "aes-128-ctr/ten-rounds", "aes-128-ctr/hand-written"),
    ("AES-128-ECB / written by hand", "aes-128-ecb/best", "aes-128-ecb/hand-written"),
    ("AES-128-ECB / RustCrypto", "aes-128-ecb/best", "aes-128-ecb/rustcrypto"),
    (
        "AES-128-CTR bit-sliced / RustCrypto software",
        "aes-128-ctr/bitsliced",
        "aes-128-ctr/rustcrypto-software",
    ),
    ("AES-128-CTR bit-sliced / OpenSSL without AES", "aes-128-ctr/bitsliced", "aes-128-ctr/openssl-masked"),
    (
        "AES-128-CTR without AES, GFNI / RustCrypto software",
        "aes-128-ctr/without-aes-gfni",
        "aes-128-ctr/rustcrypto-software",
    ),
    ("AES-128-CTR on u64 / RustCrypto software", "aes-128-ctr/u64", "aes-128-ctr/rustcrypto-software"),
    ("AES-128 key search / RustCrypto", "search/aes-128/mask", "search/aes-128/rustcrypto"),
    ("AES-192 key search / RustCrypto", "search/aes-192/mask", "search/aes-192/rustcrypto"),
    ("AES-256 key search / RustCrypto", "search/aes-256/mask", "search/aes-256/rustcrypto"),
    ("Serpent-256 key search / RustCrypto", "search/serpent-256/mask", "search/serpent-256/rustcrypto"),
    ("256 MiB AES-128-CTR / memcpy", "out-of-cache/aes-128-ctr/best", "out-of-cache/memcpy"),
    ("256 MiB of keystream / memset", "out-of-cache/aes-128-keystream/best", "out-of-cache/memset"),
    ("two threads / one, in cache", "threads/aes-128-ctr/without-aes/2", "threads/aes-128-ctr/without-aes/1"),
    ("Serpent-256-ECB / libgcrypt", "serpent-256-ecb/best", "serpent-256-ecb/libgcrypt"),
    ("Serpent-256-CTR / libgcrypt", "serpent-256-ctr/best", "serpent-256-ctr/libgcrypt"),
    ("Serpent-256-ECB with AVX2 / Botan", "serpent-256-ecb/avx2", "serpent-256-ecb/botan"),
    ("Serpent-256-ECB / RustCrypto", "serpent-256-ecb/best", "serpent-256-ecb/rustcrypto"),
    ("Serpent-256-ECB decrypt / encrypt", "serpent-256-ecb-decrypt/best", "serpent-256-ecb/best"),
    ("AES-256-XTS, 512-byte sectors / ECB", "modes/aes-256/xts-512", "modes/aes-256/ecb"),
    ("AES-256-XTS, 4 KiB sectors / ECB", "modes/aes-256/xts-4096", "modes/aes-256/ecb"),
    ("AES-256-XTS / RustCrypto", "modes/aes-256/xts-4096", "modes/aes-256/xts-4096/rustcrypto"),
    ("AES-256-XTS / OpenSSL", "modes/aes-256/xts-4096", "modes/aes-256/xts-4096/openssl"),
    ("AES-256-CBC decrypt / ECB decrypt", "modes/aes-256/cbc-decrypt", "modes/aes-256/ecb-decrypt"),
    ("AES-256-EAX / CTR, many messages", "modes/aes-256/eax-many", "modes/aes-256/ctr-many"),
    ("Serpent-256-XTS, 512-byte sectors / ECB", "modes/serpent-256/xts-512", "modes/serpent-256/ecb"),
    ("Serpent-256-XTS, 4 KiB sectors / ECB", "modes/serpent-256/xts-4096", "modes/serpent-256/ecb"),
    ("Serpent-256-XTS / libgcrypt", "modes/serpent-256/xts-4096", "modes/serpent-256/xts-4096/libgcrypt"),
    (
        "Serpent-256-CBC decrypt / ECB decrypt",
        "modes/serpent-256/cbc-decrypt",
        "modes/serpent-256/ecb-decrypt",
    ),
    ("Serpent-256-EAX / CTR, many messages", "modes/serpent-256/eax-many", "modes/serpent-256/ctr-many"),
    ("SM4-CTR / OpenSSL", "sm4-ctr/best", "sm4-ctr/openssl"),
    ("SM4-CTR on AVX2 / OpenSSL", "sm4-ctr/avx2", "sm4-ctr/openssl"),
    ("Camellia-128-CTR / OpenSSL", "camellia-128-ctr/best", "camellia-128-ctr/openssl"),
    ("Camellia-128-CTR on AVX2 / OpenSSL", "camellia-128-ctr/avx2", "camellia-128-ctr/openssl"),
    ("ARIA-128-CTR / OpenSSL", "aria-128-ctr/best", "aria-128-ctr/openssl"),
    ("ARIA-128-CTR on AVX2 / OpenSSL", "aria-128-ctr/avx2", "aria-128-ctr/openssl"),
    ("SM4-CTR / libgcrypt", "sm4-ctr/best", "sm4-ctr/libgcrypt"),
    ("Camellia-128-CTR / libgcrypt", "camellia-128-ctr/best", "camellia-128-ctr/libgcrypt"),
    ("ARIA-128-CTR / libgcrypt", "aria-128-ctr/best", "aria-128-ctr/libgcrypt"),
    ("Kuznyechik-CTR / RustCrypto", "kuznyechik-ctr/best", "kuznyechik-ctr/rustcrypto"),
];

/// Those ratios whose both sides were measured.
pub(crate) fn found(rows: &[Row]) -> Vec<Ratio> {
    let row = |id: &str| rows.iter().find(|row| row.id == id);
    let ratio = |&(what, ours, theirs): &(&'static str, &str, &str)| {
        let (ours, theirs) = (row(ours)?, row(theirs)?);
        let best = ours.best_gb_per_s() / theirs.best_gb_per_s();
        Some(Ratio { what, value: ours.gb_per_s() / theirs.gb_per_s(), best })
    };
    RATIOS.iter().filter_map(ratio).collect()
}
