//! `cargo xtask reproduce NAME`: measures a table of the literature on this machine, and writes our figures next to
//! the published ones in `docs/reproduction.md`.
//!
//! Every figure of a table comes from one run on one machine. The run is kept in `bench/record`, and the page names
//! it, the machine, its load, and how far the samples spread. The published figures are in this module; the page
//! cites their sources.

mod both_ways;
mod composition;
mod loops;
mod mix;
mod plans;
mod productivity;
mod record;
mod source;
mod threads;

use std::fmt::Write as _;

use clap::ValueEnum;

use self::record::Record;
use crate::{Result, bench, pages};

const PAGE: &str = "docs/reproduction.md";

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    /// What parts of AES cost along and across the grain, and the best mix
    Parts,
    /// The planner's choices next to the fastest paths, which takes half of the time of all tables
    Plans,
    /// 64 blocks bit-sliced, against table look-ups
    Bundle,
    /// Serpent and AES, many blocks at a time
    Batching,
    /// Speed-up over threads, with files read and written
    Threads,
    /// Speed-up of programs that are emitted from the text of loops
    Loops,
    /// What one source for all words costs, and how long it is
    Source,
}

/// Measures one table or all tables, and writes them to the page.
///
/// # Errors
/// If a program cannot be built or run, or a figure is missing.
pub(crate) fn run(table: Option<Table>) -> Result<()> {
    let tables = table.map_or_else(|| Table::value_variants().to_vec(), |table| vec![table]);
    for table in tables {
        pages::expect(PAGE, &table.task())?;
        let record = table.measured()?;
        record.keep(&table.name())?;
        let text = table.text(&record)?;
        print!("{text}");
        pages::put(PAGE, &table.task(), &text)?;
    }
    Ok(())
}

impl Table {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The task that writes the table, as the page names it.
    fn task(self) -> String {
        format!("reproduce {}", self.name())
    }

    /// Times everything that the table shows.
    fn measured(self) -> Result<Record> {
        match self {
            Self::Parts => Record::new(bench::own_rows(&mix::ids())?),
            Self::Plans => plans::measured(),
            Self::Bundle => {
                let sliced: Vec<_> = mix::WIDTHS.iter().flat_map(sliced_ids).collect();
                let mut record = Record::new(bench::own_rows(&sliced)?)?;
                record.add(bench::peer_rows(&["aes-128-ecb/again/"])?)?;
                Ok(record)
            }
            Self::Batching => Record::new(bench::own_rows(&["batch/".to_owned()])?),
            Self::Threads => {
                let mut record = Record::new(bench::own_rows(&[threads::IN_MEMORY.to_owned()])?)?;
                threads::measure(&mut record)?;
                Ok(record)
            }
            Self::Loops => loops::measured(),
            Self::Source => source::measured(),
        }
    }

    /// The table, and a line that says where its figures come from.
    fn text(self, record: &Record) -> Result<String> {
        let mut text = match self {
            Self::Parts => mix::table(record)?,
            Self::Plans => plans::tables(record)?,
            Self::Bundle => bundle(record)?,
            Self::Batching => batching(record)?,
            Self::Threads => threads::table(record)?,
            Self::Loops => loops::tables(record)?,
            Self::Source => source::table(record)?,
        };
        let _ = writeln!(text, "\n{}", record.origin(&self.name())?);
        Ok(text)
    }
}

/// Blocks and bytes of a bundle.
const BUNDLE_BYTES: usize = 64 * 16;

/// The rows of a bit-sliced cipher with both conversions.
fn sliced_ids(width: &mix::Width) -> [String; 3] {
    let mix::Width { bits, isa, shuffle, .. } = width;
    [
        format!("blocks-to-bitsliced{bits}/{isa}{shuffle}"),
        format!("aes-encrypt/bitsliced{bits}/{isa}"),
        format!("bitsliced{bits}-to-blocks/{isa}{shuffle}"),
    ]
}

/// Time of 64 blocks of AES-128 bit-sliced, and by OpenSSL without AES instructions.
fn bundle(record: &Record) -> Result<String> {
    let mut text = "| AES-128, 64 blocks | bit-sliced | OpenSSL by tables | bit-sliced over tables \
                    | OpenSSL by byte shuffles | bit-sliced over shuffles |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, sliced, openssl) in [
        ("theirs, clock ticks, one bundle", 370.0, 304.0),
        ("theirs, clock ticks, 128 bundles", 47400.0, 39000.0),
        ("another bit-sliced implementation, one bundle", 302.0, 304.0),
    ] {
        let _ = writeln!(text, "| {name} | {sliced} | {openssl} | {:.2} | | |", sliced / openssl);
    }
    let job = |bundles: usize, who: &str| {
        let bytes = bundles * BUNDLE_BYTES;
        Ok::<_, String>(bytes as f64 * record.cycles_per_byte(&format!("aes-128-ecb/again/{bytes}/{who}"))?)
    };
    let mut line = |name: &str, bundles: usize, cycles: f64| {
        let [tables, shuffles] = ["openssl-tables", "openssl-masked"].map(|who| {
            job(bundles, who).map_or_else(
                |_| "– | –".to_owned(),
                |openssl| format!("{openssl:.0} | {:.2}", cycles / openssl),
            )
        });
        let _ = writeln!(text, "| {name} | {cycles:.0} | {tables} | {shuffles} |");
    };
    line("ours on u64, cycles, one bundle a call", 1, job(1, "crossgrain-portable")?);
    line("ours on u64, cycles, 128 bundles a call", 128, job(128, "crossgrain-portable")?);
    for width in &mix::WIDTHS {
        let parts: Result<Vec<f64>> = sliced_ids(width).iter().map(|id| record.cycles_per_byte(id)).collect();
        // A machine without these registers has no such rows.
        if let Ok(parts) = parts {
            let name = format!("ours, cipher and conversions on {} bits, cycles, one bundle", width.bits);
            line(&name, 1, BUNDLE_BYTES as f64 * parts.iter().sum::<f64>());
        }
    }
    Ok(text)
}

/// A cipher and mode, called block by block and with many blocks.
struct Batch {
    name: &'static str,
    /// The cipher and the kind of code, as in the ids.
    cipher: &'static str,
    mode: &'static str,
    /// As published, in MiB/s: block by block, and eight blocks a call.
    theirs: Option<[f64; 2]>,
}

#[rustfmt::skip] // a table: one line a row
const BATCHES: [Batch; 10] = [
    Batch { name: "Serpent ECB",                          cipher: "serpent-256/best",    mode: "ecb", theirs: Some([42.1, 113.5]) },
    Batch { name: "Serpent CTR",                          cipher: "serpent-256/best",    mode: "ctr", theirs: Some([39.7, 100.8]) },
    Batch { name: "AES-128 ECB, scalar",                  cipher: "aes-128/scalar",      mode: "ecb", theirs: Some([112.7, 134.4]) },
    Batch { name: "AES-128 CTR, scalar",                  cipher: "aes-128/scalar",      mode: "ctr", theirs: Some([99.1, 114.1]) },
    Batch { name: "Serpent ECB, scalar",                  cipher: "serpent-256/scalar",  mode: "ecb", theirs: None },
    Batch { name: "Serpent CTR, scalar",                  cipher: "serpent-256/scalar",  mode: "ctr", theirs: None },
    Batch { name: "AES-128 ECB without AES instructions", cipher: "aes-128/without-aes", mode: "ecb", theirs: None },
    Batch { name: "AES-128 CTR without AES instructions", cipher: "aes-128/without-aes", mode: "ctr", theirs: None },
    Batch { name: "AES-128 ECB",                          cipher: "aes-128/best",        mode: "ecb", theirs: None },
    Batch { name: "AES-128 CTR",                          cipher: "aes-128/best",        mode: "ctr", theirs: None },
];

impl Batch {
    /// Our speeds in MiB/s with one block, eight blocks, and all blocks a call.
    fn ours(&self, record: &Record) -> Result<[f64; 3]> {
        const MIB: f64 = (1 << 20) as f64;
        let Self { cipher, mode, .. } = self;
        let [one, eight, all] = [1, 8, 4096].map(|blocks| {
            record.gb_per_s(&format!("batch/{cipher}/{mode}/{blocks}")).map(|speed| 1e9 * speed / MIB)
        });
        Ok([one?, eight?, all?])
    }
}

/// Calls with one block, with eight, and with many, of the same programs.
fn batching(record: &Record) -> Result<String> {
    let mut text = "| MiB/s, one thread | theirs: block by block | 8 blocks a call | gain | ours: block by block \
                    | 8 blocks a call | gain | 4096 blocks a call | gain |\n|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for batch in &BATCHES {
        let theirs = batch.theirs.map_or_else(
            || " | | ".to_owned(),
            |[single, eight]| format!("{single} | {eight} | {:.2}", eight / single),
        );
        let [single, eight, all] = batch.ours(record)?;
        let _ = writeln!(
            text,
            "| {} | {theirs} | {single:.1} | {eight:.1} | {:.2} | {all:.1} | {:.2} |",
            batch.name,
            eight / single,
            all / single
        );
    }
    let _ = writeln!(
        text,
        "\n| Serpent's speed over that of scalar AES | theirs: block by block | 8 blocks a call \
         | ours: block by block | 8 blocks a call | 4096 blocks a call |\n|---|---|---|---|---|---|"
    );
    let [serpent_ecb, serpent_ctr, aes_ecb, aes_ctr, ..] = &BATCHES;
    for (name, serpent, aes) in [("ECB", serpent_ecb, aes_ecb), ("CTR", serpent_ctr, aes_ctr)] {
        let theirs = serpent.theirs.iter().flatten().zip(aes.theirs.iter().flatten());
        let ours = serpent.ours(record)?.into_iter().zip(aes.ours(record)?);
        let ratios = theirs.map(|(a, b)| a / b).chain(ours.map(|(a, b)| a / b));
        let cells: Vec<_> = ratios.map(|ratio| format!("{ratio:.2}")).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::{PAGE, Record, Table};
    use crate::{pages, root};

    /// Each table must equal the task's output for the run that it names. A table that was never measured is empty.
    #[test]
    fn the_page_matches_the_runs_it_names() {
        let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
        for &table in Table::value_variants() {
            let found = pages::between(&page, &table.task()).unwrap().trim();
            if found.is_empty() {
                continue;
            }
            let Some((_, named)) = found.rsplit_once("kept in `") else {
                panic!("the table of `{}` names no run", table.task())
            };
            let record = Record::read(&root().join(named.split('`').next().unwrap())).unwrap();
            let text = table.text(&record).unwrap();
            assert_eq!(found, text.trim(), "run `cargo xtask {}`", table.task());
        }
    }
}
