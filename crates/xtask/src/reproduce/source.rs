//! One source for all targets: its speed next to implementations for one instruction set each, and its size.

use std::fmt::Write as _;

use super::{Record, productivity, threads};
use crate::{Result, bench};

/// Ciphers without conversions: our row, and Usuba's published cycles per byte, on another CPU.
const SLICED: [(&str, &str, &str); 5] = [
    ("AES-128 `bitsliced`, AVX-512", "aes-encrypt/bitsliced512/avx512", "1.52"),
    ("AES-128 `hsliced`, AVX-512", "aes-encrypt/hsliced512/avx512", "1.37"),
    ("AES-128 `bitsliced`, AVX2", "aes-encrypt/bitsliced256/avx2", "–"),
    ("AES-128 `hsliced`, AVX2; theirs is a whole CTR", "aes-encrypt/hsliced256/avx2", "3.25"),
    ("Serpent on words, AVX-512; theirs with three bundles", "serpent-encrypt/vsliced512/avx512-x4", "1.79"),
];

/// Counter mode with all rounds, which the implementations of others compute.
const TEN_ROUNDS: &str = "aes-128-ctr/ten-rounds";

/// A row of the first table.
struct Pair {
    name: &'static str,
    /// The job of both, or of theirs if ours is [`TEN_ROUNDS`].
    job: &'static str,
    /// Our worker in the comparison with peers.
    ours: Option<&'static str>,
    theirs: &'static str,
}

#[rustfmt::skip] // a table: one line a row
const PAIRS: [Pair; 10] = [
    Pair { name: "AES-128 ECB, bit-sliced on u64, over RustCrypto's fixslice64", job: "aes-128-ecb", ours: Some("crossgrain-portable"), theirs: "rustcrypto-software" },
    Pair { name: "AES-256 ECB, bit-sliced on u64, over RustCrypto's fixslice64", job: "aes-256-ecb", ours: Some("crossgrain-portable"), theirs: "rustcrypto-software" },
    Pair { name: "AES-128 CTR, bit-sliced on u64, over RustCrypto's fixslice64", job: "aes-128-ctr", ours: Some("crossgrain-portable"), theirs: "rustcrypto-software" },
    Pair { name: "AES-128 CTR, bit-sliced on 128 bits, over OpenSSL's bsaes", job: "aes-128-ctr", ours: Some("crossgrain-sse2-aes-gfni"), theirs: "openssl-masked" },
    Pair { name: "AES-128 ECB, over the same written by hand for VAES", job: "aes-128-ecb", ours: Some("crossgrain"), theirs: "hand-written" },
    Pair { name: "AES-128 CTR, all rounds, the same", job: "aes-128-ctr", ours: None, theirs: "hand-written" },
    Pair { name: "AES-128 ECB, over RustCrypto's", job: "aes-128-ecb", ours: Some("crossgrain"), theirs: "rustcrypto" },
    Pair { name: "AES-256 ECB, over RustCrypto's", job: "aes-256-ecb", ours: Some("crossgrain"), theirs: "rustcrypto" },
    Pair { name: "AES-128 CTR, all rounds, over libgcrypt's", job: "aes-128-ctr", ours: None, theirs: "libgcrypt" },
    Pair { name: "Serpent-256 CTR by AVX2, over libgcrypt's", job: "serpent-256-ctr", ours: Some("crossgrain-avx2-aes-gfni"), theirs: "libgcrypt" },
];

/// Counts source lines, then times everything.
pub(super) fn measured() -> Result<Record> {
    let counted = productivity::count()?;
    let own = [TEN_ROUNDS, threads::IN_MEMORY].into_iter().chain(SLICED.map(|(_, id, _)| id));
    let mut record = Record::new(bench::own_rows(&own.map(str::to_owned).collect::<Vec<_>>())?)?;
    record.add(bench::peer_rows(&[
        "aes-128-ecb/again/1048576",
        "aes-256-ecb/again/1048576",
        "aes-128-ctr/again/1048576",
        "serpent-256-ctr/again/1048576",
    ])?)?;
    counted.into_iter().for_each(|(id, figure)| record.put(id, figure));
    Ok(record)
}

/// The tables of a record.
pub(super) fn table(record: &Record) -> Result<String> {
    let mut text = pairs(record);
    sliced(record, &mut text);
    generators(record, &mut text)?;
    Ok(text + &productivity::tables(record))
}

/// Our cycles over those of code for one instruction set.
fn pairs(record: &Record) -> String {
    let mut text = "| one source, one CPU thread | ours over theirs, in cycles |\n|---|---|\n".to_owned();
    let _ = writeln!(text, "| theirs, over sequential C++ | under 1.05 |");
    for Pair { name, job, ours, theirs } in &PAIRS {
        let peer = |who: &str| record.cycles_per_byte(&format!("{job}/again/1048576/{who}"));
        let ours = ours.map_or_else(|| record.cycles_per_byte(TEN_ROUNDS), peer);
        // A CPU or a system may lack one of the two.
        match (ours, peer(theirs)) {
            (Ok(ours), Ok(theirs)) => drop(writeln!(text, "| {name} | {:.2} |", ours / theirs)),
            _ => drop(writeln!(text, "| {name} | not on this machine |")),
        }
    }
    text
}

/// Ciphers without conversions next to Usuba's.
fn sliced(record: &Record, text: &mut String) {
    let _ = writeln!(
        text,
        "\n| cipher without conversions, cycles/B | ours | Usuba's, published |\n|---|---|---|"
    );
    for (name, id, theirs) in SLICED {
        let ours = record.cycles_per_byte(id);
        let ours = ours.map_or_else(|_| "not on this machine".to_owned(), |cycles| format!("{cycles:.2}"));
        let _ = writeln!(text, "| {name} | {ours} | {theirs} |");
    }
}

/// The speed-up of a generator by threads.
fn generators(record: &Record, text: &mut String) -> Result<()> {
    let _ = writeln!(text, "\n| CTR generator, speed-up over one thread | threads | ours |\n|---|---|---|");
    let _ = writeln!(text, "| theirs: near-linear over cores | | |");
    for (name, id) in threads::GENERATORS {
        let speeds = record.threads(&format!("{}{id}/", threads::IN_MEMORY));
        let one = speeds.get(&1).ok_or("the run has no speed of one thread")?;
        for (threads, many) in speeds.iter().filter(|(threads, _)| **threads > 1) {
            let _ = writeln!(text, "| AES-128, {name} | {threads} | {:.2} |", many / one);
        }
    }
    Ok(())
}
