//! The data of charts: the ids of a record, with their panels and names.

use super::record::Record;

/// Bars per row. The first bars are the broad ones.
pub(super) const SERIES: usize = 2;

/// The ciphers of [`speed`], and the beginnings of their ids.
const CIPHERS: [(&str, &str); SERIES] = [("AES-128", "aes-128-ctr"), ("AES-256", "aes-256-ctr")];

/// Bytes on which modes are timed.
const MODE_BYTES: u64 = 1 << 20;

/// Panels of bars, stacked vertically.
pub(super) struct Chart {
    pub(super) title: &'static str,
    /// The meaning of a row's bars. Empty if each row has only one bar.
    pub(super) series: [&'static str; SERIES],
    pub(super) panels: Vec<Panel>,
}

/// Bars with a common scale.
pub(super) struct Panel {
    pub(super) heading: String,
    pub(super) rows: Vec<Row>,
}

/// The result of one implementation.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) note: String,
    pub(super) is_ours: bool,
    /// In GB/s.
    pub(super) speeds: [Option<f64>; SERIES],
}

impl Row {
    fn ours(name: impl Into<String>, note: impl Into<String>, speeds: [Option<f64>; SERIES]) -> Self {
        Self { name: name.into(), note: note.into(), is_ours: true, speeds }
    }

    /// The first speed, by which rows are sorted.
    fn rank(&self) -> f64 {
        self.speeds.into_iter().flatten().next().unwrap_or_default()
    }
}

impl Chart {
    /// A chart without its empty panels.
    fn new(title: &'static str, series: [&'static str; SERIES], panels: impl Iterator<Item = Panel>) -> Self {
        Self { title, series, panels: panels.filter(|panel| !panel.rows.is_empty()).collect() }
    }

    /// The names of the other implementations.
    pub(super) fn peers(&self) -> Vec<&str> {
        let rows = self.panels.iter().flat_map(|panel| &panel.rows);
        rows.filter(|row| !row.is_ours).map(|row| &*row.name).collect()
    }
}

/// Sorts rows, the fastest first.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
    rows
}

/// The end of an id, and its display name.
struct Series {
    id: &'static str,
    /// A feature without which the row repeats another one, or belongs to another panel.
    needs: Option<&'static str>,
    name: &'static str,
    note: &'static str,
}

const fn series(
    id: &'static str,
    needs: Option<&'static str>,
    name: &'static str,
    note: &'static str,
) -> Series {
    Series { id, needs, name, note }
}

const OURS: &str = "crossgrain";

/// Two panels, because on a common scale the bars of the second would be invisible.
const PANELS: [(&str, &[Series]); 2] = [
    (
        "With the CPU’s AES instructions",
        &[
            series("crossgrain", Some("aes"), OURS, "default"),
            series("rustcrypto", Some("aes"), "RustCrypto", "aes and ctr crates"),
            series("openssl", Some("aes"), "OpenSSL", "libcrypto"),
            series("libgcrypt", Some("aes"), "libgcrypt", ""),
            series("ipsec-mb", Some("aes"), "ipsec-mb", "bursts"),
            series("nettle", Some("aes"), "nettle", ""),
            series("botan", Some("aes"), "Botan", "C interface"),
        ],
    ),
    (
        "Without AES instructions, constant-time",
        &[
            series("crossgrain-avx512-aes", None, OURS, "all else allowed"),
            series("crossgrain-avx2-aes-gfni", Some("avx512"), OURS, "AVX2 at most"),
            series("crossgrain-portable", None, OURS, "64-bit words"),
            series("rustcrypto-software", None, "RustCrypto", "software backend"),
            series("openssl-masked", None, "OpenSSL", "AES instructions off"),
        ],
    ),
];

/// crossgrain and its peers.
pub(super) fn speed(record: &Record) -> Chart {
    let panels = PANELS.iter().map(|(heading, series)| Panel {
        heading: (*heading).to_owned(),
        rows: sorted(series.iter().filter_map(|series| row(record, series)).collect()),
    });
    Chart::new("AES in counter mode, 1 MiB at a time, one thread", CIPHERS.map(|(name, _)| name), panels)
}

/// The id of a mebibyte that is encrypted in place repeatedly, for example `aes-128-ctr` by `openssl`.
pub(super) fn bulk(mode: &str, label: &str) -> String {
    format!("{mode}/again/{MODE_BYTES}/{label}")
}

fn row(record: &Record, series: &Series) -> Option<Row> {
    let speeds = CIPHERS.map(|(_, mode)| record.speed(&bulk(mode, series.id), MODE_BYTES));
    let is_there = speeds.iter().any(Option::is_some);
    let says_something = series.needs.is_none_or(|feature| record.has(feature));
    let row = Row { is_ours: series.name == OURS, ..Row::ours(series.name, series.note, speeds) };
    (is_there && says_something).then_some(row)
}

/// The whole cipher in every representation and width.
pub(super) fn representations(record: &Record) -> Chart {
    let panels = [("AES-128", "aes"), ("Serpent", "serpent")].into_iter().flat_map(|(name, part)| {
        let [encrypt, decrypt] = ["encrypt", "decrypt"].map(|direction| format!("{part}-{direction}/"));
        let (whole, sliced): (Vec<_>, Vec<_>) = record
            .below(&encrypt)
            .map(|(variant, encrypted)| {
                let decrypted = record.speed(&format!("{decrypt}{variant}"), encrypted.bytes);
                let (representation, isa) = variant.split_once('/').unwrap_or((variant, ""));
                Row::ours(representation, isa, [Some(encrypted.gb_per_s), decrypted])
            })
            .partition(|row| row.name == "blocks");
        [
            Panel { heading: format!("{name}, whole blocks in order"), rows: sorted(whole) },
            Panel { heading: format!("{name}, sliced, without the conversions"), rows: sorted(sliced) },
        ]
    });
    let title = "Whole ciphers by representation and width, one thread";
    Chart::new(title, ["encryption", "decryption"], panels)
}

/// Messages of every length.
pub(super) fn lengths(record: &Record) -> Chart {
    by_last(record, "Short and long messages, one thread", "lengths/", |bytes, _| length(bytes))
}

/// The cost of calls of few blocks, in one call and block by block.
pub(super) fn calls(record: &Record) -> Chart {
    let mut panels: Vec<Panel> = Vec::new();
    for (id, speed) in record.below("calls/") {
        let Some((kind, blocks)) = id.split_once("/at-once/") else { continue };
        let one_by_one = record.speed(&format!("calls/{kind}/block-by-block/{blocks}"), speed.bytes);
        let name = if blocks == "1" { "1 block".to_owned() } else { format!("{blocks} blocks") };
        let row = Row::ours(name, "", [Some(speed.gb_per_s), one_by_one]);
        push(&mut panels, heading(kind), row);
    }
    Chart::new("Calls of few blocks, one thread", ["at once", "block by block"], panels.into_iter())
}

/// The same work on more and more threads.
pub(super) fn threads(record: &Record) -> Chart {
    by_last(record, "AES by number of threads, 8 MiB at a time", "threads/", |_, threads| match threads {
        1 => "1 thread".to_owned(),
        _ => format!("{threads} threads"),
    })
}

/// One panel for all ids that differ only in their last part, in the order of the record.
fn by_last(record: &Record, title: &'static str, start: &str, name: fn(u64, u64) -> String) -> Chart {
    let mut panels: Vec<Panel> = Vec::new();
    for (id, speed) in record.below(start) {
        let heading = heading(id.rsplit_once('/').map_or(id, |(kind, _)| kind));
        let row = Row::ours(name(speed.bytes, speed.threads), "", [Some(speed.gb_per_s), None]);
        push(&mut panels, heading, row);
    }
    Chart::new(title, [""; SERIES], panels.into_iter())
}

/// Variants as named in records, and their display names.
const CHOICES: [(&str, &str); 3] =
    [("best", "the default plan"), ("without-aes", "without AES instructions"), ("u64", "64-bit words")];

/// The heading of a panel, from an id like `aes-128-ctr/without-aes`.
fn heading(id: &str) -> String {
    let (subject, choice) =
        id.split_once('/').map_or((id, None), |(subject, choice)| (subject, Some(choice)));
    let words = subject.split('-').map(|word| match word {
        "aes" | "ecb" | "cbc" | "ctr" | "xts" | "gcm" | "ocb" | "sm4" => word.to_uppercase(),
        "decrypt" => "decryption".to_owned(),
        _ => word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect(),
    });
    let subject = words.collect::<Vec<_>>().join("-").replace("-decryption", " decryption");
    let known = |choice| CHOICES.iter().find(|(id, _)| *id == choice).map_or(choice, |(_, name)| *name);
    choice.map_or_else(|| subject.clone(), |choice| format!("{subject}, {}", known(choice)))
}

/// Appends a row to the panel of its heading.
fn push(panels: &mut Vec<Panel>, heading: String, row: Row) {
    match panels.iter_mut().find(|panel| panel.heading == heading) {
        Some(panel) => panel.rows.push(row),
        None => panels.push(Panel { heading, rows: vec![row] }),
    }
}

/// The best plan for every job and cap, and the best plan that mixes representations.
pub(super) fn plans(record: &Record) -> Chart {
    let mut panels: Vec<Panel> = Vec::new();
    for planned in record.plans() {
        let mixed = planned.gb_per_s / planned.mixed_to_pure.max(1.0);
        // If the whole cipher is one step, it is more informative than the conversions around it.
        let steps = || planned.best.split(" > ");
        let step =
            steps().find(|step| step.contains("crypt/") || step.contains("-cached/")).or(steps().nth(1));
        let representation = step.and_then(|step| step.split('/').nth(1)).unwrap_or_default();
        let row = Row::ours(&planned.cap, representation, [Some(planned.gb_per_s), Some(mixed)]);
        push(&mut panels, heading(&planned.job), row);
    }
    panels.iter_mut().for_each(|panel| panel.rows = sorted(std::mem::take(&mut panel.rows)));
    let title = "The best plan under each limit on instructions, one thread";
    Chart::new(title, ["best plan", "best that mixes representations"], panels.into_iter())
}

/// A number of bytes in the largest unit that divides it.
pub(super) fn length(bytes: u64) -> String {
    match bytes {
        _ if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes > 0 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}
