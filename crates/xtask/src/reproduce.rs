//! `cargo xtask reproduce NAME`: repeats a table of the literature, with our figures next to the published
//! ones, in `docs/reproduction.md`.
//!
//! The published figures are in this module; the page cites their sources. Ours come from the newest record.
//! Those that involve files come from runs made now (`reproduce/threads.rs`).

mod composition;
mod mix;
mod threads;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use serde_json::Value;

use crate::{Result, chart, pages, root};

const PAGE: &str = "docs/reproduction.md";

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// What parts of AES cost along and across the grain, and the best mix
    Parts,
    /// 64 blocks bit-sliced, against table look-ups
    Bundle,
    /// Serpent and AES, many blocks at a time
    Batching,
    /// Speed-up over threads, with files read and written
    Threads,
    /// What one source for all words costs, and how long it is
    Source,
}

/// Generates one table or all tables, and writes them to the page.
///
/// # Errors
/// If the record lacks a figure, or a program cannot be run.
pub(crate) fn run(table: Option<Table>) -> Result<()> {
    let tables = table.map_or_else(|| Table::value_variants().to_vec(), |table| vec![table]);
    for table in tables {
        let name = table.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let record = Record::newest()?;
        let mut text = match table {
            Table::Parts => mix::table(&record)?,
            Table::Bundle => bundle(&record)?,
            Table::Batching => batching(&record)?,
            Table::Threads => threads::table(&record)?,
            Table::Source => source(&record)?,
        };
        let _ = writeln!(text, "\nOurs from `{}`.", record.name);
        print!("{text}");
        pages::put(PAGE, &format!("reproduce {name}"), &text)?;
    }
    Ok(())
}

/// The single-thread figures of the newest record, and its name.
struct Record {
    name: String,
    cycles_per_byte: BTreeMap<String, f64>,
    gb_per_s: BTreeMap<String, f64>,
}

impl Record {
    fn newest() -> Result<Self> {
        Self::read(&chart::newest_record()?)
    }

    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let of = |what: &str| {
            let row = |row: &Value| Some((row["id"].as_str()?.to_owned(), row[what].as_f64()?));
            rows.iter().filter_map(row).collect()
        };
        let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
        Ok(Self { name, cycles_per_byte: of("cycles_per_byte"), gb_per_s: of("gb_per_s") })
    }

    fn cycles_per_byte(&self, id: &str) -> Result<f64> {
        let found = self.cycles_per_byte.get(id).copied();
        found.ok_or_else(|| format!("{} has no cycles of {id}: `cargo xtask bench --record`", self.name))
    }

    fn gb_per_s(&self, id: &str) -> Result<f64> {
        let found = self.gb_per_s.get(id).copied();
        found.ok_or_else(|| format!("{} has no speed of {id}: `cargo xtask bench --record`", self.name))
    }
}

/// Cycles for 64 blocks of AES-128 in 64-bit registers, bit-sliced, and by tables.
fn bundle(record: &Record) -> Result<String> {
    const BUNDLE_BYTES: f64 = 64.0 * 16.0;
    let mut text =
        "| AES-128, 64 blocks | bit-sliced | by tables | bit-sliced over tables |\n|---|---|---|---|\n"
            .to_owned();
    let _ = writeln!(text, "| theirs, clock ticks | 370 | 304 (OpenSSL) | {:.2} |", 370.0 / 304.0);
    let tables = BUNDLE_BYTES * record.cycles_per_byte("aes-encrypt/blocks/portable-table")?;
    for (word, id) in [
        ("u64", "u64"),
        ("128 bits (SSE2)", "bitsliced-128"),
        ("256 bits (AVX2)", "bitsliced-256"),
        ("512 bits (AVX-512)", "bitsliced"),
    ] {
        // The whole job if the record has it; otherwise the cipher with both conversions.
        let job = record.cycles_per_byte(&format!("aes-128-ecb/{id}"));
        let cycles = BUNDLE_BYTES * job.or_else(|_| sliced(record, id))?;
        let _ = writeln!(text, "| {word}, cycles | {cycles:.0} | {tables:.0} | {:.2} |", cycles / tables);
    }
    Ok(text)
}

/// The cost of the bit-sliced cipher with both conversions.
fn sliced(record: &Record, width: &str) -> Result<f64> {
    let (bits, isa) = match width {
        "bitsliced-128" => (128, "sse2"),
        _ => (256, "avx2"),
    };
    let parts = [
        format!("blocks-to-bitsliced{bits}/{isa}-interleave"),
        format!("aes-encrypt/bitsliced{bits}/{isa}"),
        format!("bitsliced{bits}-to-blocks/{isa}-interleave"),
    ];
    parts.iter().map(|id| record.cycles_per_byte(id)).sum()
}

/// One block at a time, compared with the number that a kernel takes.
fn batching(record: &Record) -> Result<String> {
    let mut text =
        "| GB/s, one thread | block by block | many at a time | gain |\n|---|---|---|---|\n".to_owned();
    let _ = writeln!(text, "| theirs, Serpent in SIMD registers | | | 2.7 |");
    for (name, single, many) in [
        ("Serpent-128 ECB, SSE2", "serpent-128-ecb/portable", "serpent-128-ecb/sse2"),
        ("Serpent-128 CTR, SSE2", "serpent-128-ctr/portable", "serpent-128-ctr/sse2"),
        ("Serpent-128 ECB, AVX2", "serpent-128-ecb/portable", "serpent-128-ecb/avx2"),
        ("Serpent-128 CTR, AVX2", "serpent-128-ctr/portable", "serpent-128-ctr/avx2"),
        ("Serpent-128 ECB, AVX-512", "serpent-128-ecb/portable", "serpent-128-ecb/best"),
        ("Serpent-128 CTR, AVX-512", "serpent-128-ctr/portable", "serpent-128-ctr/best"),
        ("AES-128 ECB, tables and AVX2", "aes-encrypt/blocks/portable-table", "aes-128-ecb/avx2-without-aes"),
        ("AES-128 CTR, tables and AVX2", "aes-ctr/blocks/portable-table", "aes-128-ctr/avx2-without-aes"),
    ] {
        let (single, many) = (record.gb_per_s(single)?, record.gb_per_s(many)?);
        let _ = writeln!(text, "| {name} | {single:.3} | {many:.3} | {:.1} |", many / single);
    }
    Ok(text)
}

/// One source compared with implementations for one instruction set each, and the length of the source.
fn source(record: &Record) -> Result<String> {
    let mut text = "| one source, one CPU thread | ours over theirs, in cycles |\n|---|---|\n".to_owned();
    let _ = writeln!(text, "| theirs, over sequential C++ | under 1.05 |");
    for (name, ours, theirs) in [
        (
            "AES-128 ECB by VAES, over the same written by hand",
            "aes-128-ecb/best",
            "aes-128-ecb/hand-written",
        ),
        ("AES-128 CTR by VAES, all rounds, the same", "aes-128-ctr/ten-rounds", "aes-128-ctr/hand-written"),
        ("AES-128 ECB by VAES, over RustCrypto's", "aes-128-ecb/best", "aes-128-ecb/rustcrypto"),
        ("AES-256 ECB by VAES, over RustCrypto's", "aes-256-ecb/best", "aes-256-ecb/rustcrypto"),
        (
            "AES-128 CTR by VAES, all rounds, over libgcrypt's",
            "aes-128-ctr/ten-rounds",
            "aes-128-ctr/libgcrypt",
        ),
        ("Serpent-256 CTR by AVX2, over libgcrypt's", "serpent-256-ctr/avx2", "serpent-256-ctr/libgcrypt"),
    ] {
        let ratio = record.cycles_per_byte(ours)? / record.cycles_per_byte(theirs)?;
        let _ = writeln!(text, "| {name} | {ratio:.2} |");
    }
    let _ = writeln!(text, "\n| text | lines of code | serves |\n|---|---|---|");
    for (name, files, serves) in [
        (
            "AES, bit-sliced",
            &["circuit/aes_sbox.rs", "cipher/aes/linear_circuit.rs", "cipher/aes/bitsliced.rs"][..],
            "words of 64, 128, 256 and 512 bits, two directions, three key sizes, CUDA, WGSL",
        ),
        ("AES by AES instructions", &["cipher/aes/instructions.rs"], "128, 256 and 512 bits, the same"),
        (
            "Serpent on words",
            &[
                "cipher/serpent/sbox_circuit/mod.rs",
                "cipher/serpent/sbox_circuit/three.rs",
                "cipher/serpent/sbox_circuit/two.rs",
                "cipher/serpent/vsliced.rs",
                "cipher/serpent/whole.rs",
            ],
            "32, 128, 256 and 512 bits, the same, CUDA, WGSL",
        ),
    ] {
        let lines = files.iter().map(|file| lines_of_code(&root().join("crates/crossgrain/src").join(file)));
        let lines: usize = lines.collect::<Result<Vec<_>>>()?.into_iter().sum();
        let _ = writeln!(text, "| {name} | {lines} | {serves} |");
    }
    Ok(text)
}

/// Lines that are neither empty nor comments, up to the tests.
fn lines_of_code(file: &Path) -> Result<usize> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let lines = text.lines().map(str::trim).take_while(|line| *line != "#[cfg(test)]");
    Ok(lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count())
}

#[cfg(test)]
mod tests {
    use super::{PAGE, Record, batching, bundle, mix};
    use crate::{Result, pages, root};

    type Table = fn(&Record) -> Result<String>;

    /// Each table must equal the task's output for the record that it names. `threads` measures, and `source`
    /// counts lines, so they are left out.
    #[test]
    fn the_page_matches_the_records_it_names() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        let tables: [(&str, Table); 3] = [("parts", mix::table), ("bundle", bundle), ("batching", batching)];
        for (name, table) in tables {
            let part = pages::between(&page, &format!("reproduce {name}")).unwrap();
            let (found, rest) = part.split_once("\nOurs from `").unwrap();
            let record = Record::read(&root().join(rest.split('`').next().unwrap())).unwrap();
            assert_eq!(found.trim(), table(&record).unwrap().trim(), "run `cargo xtask reproduce {name}`");
        }
    }
}
