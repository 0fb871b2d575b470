//! The ratios that matter, each between two rows of the same run.

use super::Row;

/// A ratio of speeds.
pub(crate) struct Ratio {
    pub(crate) what: String,
    /// Of the medians.
    pub(crate) value: f64,
    /// Of the fastest samples of both sides.
    pub(crate) best: f64,
}

/// What is compared: the one above the line, and the one below.
const RATIOS: &[(&str, &str, &str)] = &[
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
    ("AES-256-XTS, 512-byte sectors / OpenSSL", "modes/aes-256/xts-512", "modes/aes-256/xts-512/openssl"),
    ("AES-256-XTS, 512-byte sectors / libgcrypt", "modes/aes-256/xts-512", "modes/aes-256/xts-512/libgcrypt"),
    ("AES-256-XTS, 4 KiB sectors / OpenSSL", "modes/aes-256/xts-4096", "modes/aes-256/xts-4096/openssl"),
    ("AES-256-XTS, 4 KiB sectors / libgcrypt", "modes/aes-256/xts-4096", "modes/aes-256/xts-4096/libgcrypt"),
    (
        "AES-256-XTS, 1 MiB sectors / OpenSSL",
        "modes/aes-256/xts-1048576",
        "modes/aes-256/xts-1048576/openssl",
    ),
    (
        "AES-256-XTS, 1 MiB sectors / libgcrypt",
        "modes/aes-256/xts-1048576",
        "modes/aes-256/xts-1048576/libgcrypt",
    ),
    ("AES-256-OCB / ECB", "modes/aes-256/ocb", "modes/aes-256/ecb"),
    ("AES-256-OCB / libgcrypt", "modes/aes-256/ocb", "modes/aes-256/ocb/libgcrypt"),
    ("AES-256-OCB / OpenSSL", "modes/aes-256/ocb", "modes/aes-256/ocb/openssl"),
    ("AES-256-CBC, many messages / ipsec-mb", "modes/aes-256/cbc-many", "modes/aes-256/cbc-many/ipsec-mb"),
    ("AES-256-CMAC, many messages / ipsec-mb", "modes/aes-256/cmac-many", "modes/aes-256/cmac-many/ipsec-mb"),
    ("AES-256-CCM, many messages / OpenSSL", "modes/aes-256/ccm-many", "modes/aes-256/ccm-many/openssl"),
    ("AES-256-GCM, 64 bytes / ring", "lengths/aes-256-gcm/seal/64", "lengths/aes-256-gcm/ring/64"),
    ("AES-256-GCM, 64 bytes / aws-lc-rs", "lengths/aes-256-gcm/seal/64", "lengths/aes-256-gcm/aws-lc-rs/64"),
    ("AES-256-GCM, 256 bytes / ring", "lengths/aes-256-gcm/seal/256", "lengths/aes-256-gcm/ring/256"),
    (
        "AES-256-GCM, 256 bytes / aws-lc-rs",
        "lengths/aes-256-gcm/seal/256",
        "lengths/aes-256-gcm/aws-lc-rs/256",
    ),
    (
        "AES-256-GCM, many of 64 bytes / ipsec-mb",
        "lengths/aes-256-gcm/seal-many/64",
        "lengths/aes-256-gcm/ipsec-mb-many/64",
    ),
    ("Serpent-256-OCB / ECB", "modes/serpent-256/ocb", "modes/serpent-256/ecb"),
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
    ("SM4-XTS, 4 KiB sectors / libgcrypt", "modes/sm4/xts-4096", "modes/sm4/xts-4096/libgcrypt"),
    (
        "Camellia-128-XTS, 4 KiB sectors / libgcrypt",
        "modes/camellia-128/xts-4096",
        "modes/camellia-128/xts-4096/libgcrypt",
    ),
    (
        "ARIA-128-XTS, 4 KiB sectors / libgcrypt",
        "modes/aria-128/xts-4096",
        "modes/aria-128/xts-4096/libgcrypt",
    ),
    ("Kuznyechik-CTR / RustCrypto", "kuznyechik-ctr/best", "kuznyechik-ctr/rustcrypto"),
];

/// Those ratios whose both sides were measured.
pub(crate) fn found(rows: &[Row]) -> Vec<Ratio> {
    let row = |id: &str| rows.iter().find(|row| row.id == id);
    let named = RATIOS
        .iter()
        .filter_map(|&(what, ours, theirs)| Some(between(what.to_owned(), row(ours)?, row(theirs)?)));
    named.chain(rows.iter().filter_map(|row| sealing(rows, row))).collect()
}

/// Sealing of one length beside the fastest peer.
fn sealing(rows: &[Row], ours: &Row) -> Option<Ratio> {
    let bytes = ours.id.strip_prefix("lengths/aes-256-gcm/seal/")?;
    let is_other = |label: &str| ["seal", "seal-apart", "open"].contains(&label) || label.ends_with("-many");
    let peers = rows.iter().filter_map(|row| {
        let (label, length) = row.id.strip_prefix("lengths/aes-256-gcm/")?.split_once('/')?;
        (length == bytes && !is_other(label)).then_some((label, row))
    });
    let (label, fastest) = peers.max_by(|a, b| a.1.gb_per_s().total_cmp(&b.1.gb_per_s()))?;
    Some(between(format!("AES-256-GCM, {bytes} bytes / fastest peer ({label})"), ours, fastest))
}

fn between(what: String, ours: &Row, theirs: &Row) -> Ratio {
    let best = ours.best_gb_per_s() / theirs.best_gb_per_s();
    Ratio { what, value: ours.gb_per_s() / theirs.gb_per_s(), best }
}
