//! The planner's choices next to the fastest of all paths that were run, by `crossgrain bench --planner`.

use std::fmt::Write as _;

use serde_json::Value;

use super::Record;
use crate::{Result, bench};

/// The ciphers, as in ids and in the tables: one key size of each family.
const CIPHERS: [(&str, &str); 6] = [
    ("aes-128", "AES-128"),
    ("serpent-128", "Serpent-128"),
    ("sm4", "SM4"),
    ("camellia-128", "Camellia-128"),
    ("aria-128", "ARIA-128"),
    ("kuznyechik", "Kuznyechik"),
];

/// The jobs, as in ids and in the tables.
const JOBS: [(&str, &str); 5] = [
    ("ecb", "ECB"),
    ("ecb-decrypt", "ECB decryption"),
    ("ctr", "CTR"),
    ("search", "search by mask"),
    ("search-list", "search by list"),
];

/// The cipher, the jobs and the caps that are also judged with table lookups allowed.
const LOOKUPS: (&str, &str) = CIPHERS[0];
const LOOKUP_JOBS: [&str; 4] = ["ecb", "ctr", "search", "search-list"];
const LOOKUP_CAPS: [&str; 2] = ["portable", "sse2"];

/// The ciphers whose searches have a table of their own.
const SEARCHED: [(&str, &str); 2] = [CIPHERS[0], CIPHERS[1]];

/// The leaks that plans may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    ConstantTime,
    Any,
}

impl Policy {
    /// The ending of ids.
    const fn suffix(self) -> &'static str {
        match self {
            Self::ConstantTime => "",
            Self::Any => "-any",
        }
    }
}

/// Bytes of a key in the speed of a search.
const KEY_BYTES: f64 = 16.0;

/// Limits in percent for a loss and for a forecast.
const LOSS_MAX: f64 = 5.0;
const FORECAST_MAX: f64 = 10.0;

/// Judges every job under every cap. The few jobs with table lookups come first.
pub(super) fn measured() -> Result<Record> {
    let lookups = LOOKUP_JOBS
        .iter()
        .flat_map(|job| LOOKUP_CAPS.map(|cap| format!("{}-{job}/{cap}{}", LOOKUPS.0, Policy::Any.suffix())));
    let lookups: Vec<_> = lookups.collect();
    let mut record = Record::new(with_ids(bench::planner_rows(&lookups, "any")?))?;
    let others = CIPHERS.map(|(cipher, _)| format!("{cipher}-"));
    record.add(with_ids(bench::planner_rows(&others, "constant-time")?))?;
    Ok(record)
}

/// Moves the name of each job to where a record has names.
fn with_ids(mut rows: Vec<Value>) -> Vec<Value> {
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(id) = row.remove("plan") {
            row.insert("id".to_owned(), id);
        }
    }
    rows
}

/// The result for one job under one cap.
struct Judged {
    cap: String,
    /// How many were run.
    paths: u64,
    /// The fastest.
    best: String,
    gb_per_s: f64,
    /// The loss of each effort's choice against the fastest path, in percent.
    behind: [f64; 3],
    /// The largest error of a forecast among the ten fastest paths, in percent.
    ten: f64,
    /// The time of the fastest path with several representations, as a multiple of the fastest with one.
    mix: Option<f64>,
}

impl Judged {
    fn of(row: &Value, cap: &str) -> Option<Self> {
        let number = |key: &str| row[key].as_f64();
        Some(Self {
            cap: cap.to_owned(),
            paths: row["paths"].as_u64()?,
            best: row["best"].as_str()?.to_owned(),
            gb_per_s: number("gb_per_s")?,
            behind: [
                number("estimate_behind_percent")?,
                number("measure_behind_percent")?,
                number("exhaustive_behind_percent")?,
            ],
            ten: number("prediction_off_of_ten_best_percent")?,
            mix: number("mixed_to_pure"),
        })
    }

    fn mix(&self) -> String {
        self.mix.map_or_else(|| "–".to_owned(), |mix| format!("{mix:.2}"))
    }
}

/// The results for a job, in the order of the caps.
fn judged(record: &Record, cipher: &str, job: &str, policy: Policy) -> Vec<Judged> {
    let of = |row: &Value| {
        let cap = row["id"].as_str()?.strip_prefix(&format!("{cipher}-{job}/"))?;
        let has_lookups = cap.ends_with(Policy::Any.suffix());
        let cap = cap.strip_suffix(policy.suffix()).filter(|_| has_lookups == (policy == Policy::Any))?;
        Judged::of(row, cap)
    };
    record.rows().filter_map(of).collect()
}

/// The tables of a record, and a conclusion.
pub(super) fn tables(record: &Record) -> Result<String> {
    let mut text =
        "| cipher | job | caps | paths | `estimate` behind | `measure` behind | `exhaustive` behind \
                    | ten | worst forecast | nearest mix |\n|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    let mut all = Vec::new();
    for (cipher, cipher_name) in CIPHERS {
        for policy in [Policy::ConstantTime, Policy::Any] {
            for (job, job_name) in JOBS {
                let of_caps = judged(record, cipher, job, policy);
                let name = match policy {
                    Policy::ConstantTime => job_name.to_owned(),
                    Policy::Any => format!("{job_name}, policy `any`"),
                };
                line(&mut text, cipher_name, &name, &of_caps);
                all.extend(of_caps);
            }
        }
    }
    searches(record, &mut text);
    lookups(record, &mut text);
    conclusion(&all, &mut text)?;
    Ok(text)
}

/// The worst results of a job under any cap.
fn line(text: &mut String, cipher: &str, job: &str, of_caps: &[Judged]) {
    let paths = || of_caps.iter().map(|one| one.paths);
    let (Some(fewest), Some(most)) = (paths().min(), paths().max()) else { return };
    let paths = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
    let worst = |of: &dyn Fn(&Judged) -> f64| of_caps.iter().map(of).fold(0.0, f64::max);
    let behind = [0, 1, 2].map(|effort| format!("{:.1} %", worst(&|one| one.behind[effort])));
    let mix = of_caps.iter().filter_map(|one| one.mix).reduce(f64::min);
    let _ = writeln!(
        text,
        "| {cipher} | {job} | {} | {paths} | {} | {} | {:.1} % | {} |",
        of_caps.len(),
        behind.join(" | "),
        of_caps.iter().filter(|one| one.ten <= FORECAST_MAX).count(),
        worst(&|one| one.ten),
        mix.map_or_else(|| "–".to_owned(), |mix| format!("{mix:.2}")),
    );
}

/// Key search under each cap: the kind of the fastest path, ns per key, and the fastest mix.
fn searches(record: &Record, text: &mut String) {
    let columns = SEARCHED.map(|cipher| [JOBS[3], JOBS[4]].map(|job| (cipher, job)));
    let columns = columns.as_flattened();
    let heads: Vec<_> = columns.iter().map(|((_, cipher), (_, job))| format!("{cipher}, {job}")).collect();
    let _ = writeln!(
        text,
        "\n| cap: fastest path, ns per key, mix | {} |\n|---|{}",
        heads.join(" | "),
        "---|".repeat(columns.len())
    );
    let of =
        |&((cipher, _), (job, _)): &((&str, _), (&str, _))| judged(record, cipher, job, Policy::ConstantTime);
    let columns: Vec<_> = columns.iter().map(of).collect();
    for cap in columns.first().into_iter().flatten().map(|one| &one.cap) {
        let cells = columns.iter().map(|column| {
            let found = column.iter().find(|one| one.cap == *cap);
            found.map_or_else(
                || "–".to_owned(),
                |one| format!("{}, {:.2}, {}", kind(&one.best), KEY_BYTES / one.gb_per_s, one.mix()),
            )
        });
        let _ = writeln!(text, "| `{cap}` | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

/// The fastest paths if tables may be looked up.
fn lookups(record: &Record, text: &mut String) {
    let _ = writeln!(
        text,
        "\n| {}, policy `any` | cap | GB/s | fastest path | mix |\n|---|---|---|---|---|",
        LOOKUPS.1
    );
    for (job, name) in JOBS {
        for one in judged(record, LOOKUPS.0, job, Policy::Any) {
            let _ = writeln!(
                text,
                "| {name} | `{}` | {:.3} | `{}` | {} |",
                one.cap,
                one.gb_per_s,
                one.best,
                one.mix()
            );
        }
    }
}

/// How many jobs were within the limits, and what mixes gained.
fn conclusion(all: &[Judged], text: &mut String) -> Result<()> {
    if all.is_empty() {
        return Err("the run has judged no job".to_owned());
    }
    let count = |holds: &dyn Fn(&Judged) -> bool| all.iter().filter(|one| holds(one)).count();
    let gains = all.iter().filter_map(|one| one.mix).filter(|mix| *mix < 1.0);
    let gains: Vec<_> = gains.map(|mix| 100.0 * (1.0 - mix)).collect();
    let most = gains.iter().copied().reduce(f64::max);
    let mixes = most.map_or_else(
        || "In none was a mix of representations the fastest path".to_owned(),
        |most| {
            let count = gains.len();
            format!("In {count}, a mix of representations was the fastest path, by {most:.1} % at most")
        },
    );
    let _ = writeln!(
        text,
        "\nThe table has {} jobs (each cap counts). In {}, `measure` chose a path within {LOSS_MAX} % of the fastest. In {}, \
         the forecasts of all of the ten fastest paths were within {FORECAST_MAX} %. {mixes}.",
        all.len(),
        count(&|one| one.behind[1] <= LOSS_MAX),
        count(&|one| one.ten <= FORECAST_MAX),
    );
    Ok(())
}

/// The representations of a search's steps, or `complete` for one kernel that computes the whole search.
fn kind(path: &str) -> String {
    let steps = path.split([' ', '>', '[', ']']).filter_map(|step| step.split_once('/'));
    let steps: Vec<_> = steps.filter(|(part, _)| !part.contains("-to-")).collect();
    if steps.iter().any(|(part, _)| part.contains("-search")) {
        return "complete".to_owned();
    }
    let mut on: Vec<&str> = Vec::new();
    for (_, rest) in steps {
        let representation = rest.split('/').next().unwrap_or(rest);
        let name = match representation.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "bitsliced" => "bits",
            "bytesliced" => "bytes",
            "vsliced" => "words",
            other => other,
        };
        if !on.contains(&name) {
            on.push(name);
        }
    }
    format!("steps on {}", on.join(" and "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Record, kind, tables, with_ids};

    #[test]
    fn a_path_is_complete_or_of_steps() {
        assert_eq!(kind("aes-search/bytesliced256/gfni256"), "complete");
        assert_eq!(kind("camellia-search-back/bytesliced256/avx2"), "complete");
        let path = "blocks-to-bitsliced64/portable > serpent-schedule/bitsliced64/portable > \
                    serpent-first-rounds/bitsliced64/portable > \
                    2 x [serpent-last-rounds/bitsliced64/portable] > comparison/bitsliced64/portable";
        assert_eq!(kind(path), "steps on bits");
        let path = "blocks-to-bytesliced256/avx2 > aes-schedule/bytesliced256/gfni256 > \
                    bytesliced256-to-blocks/avx2 > comparison/blocks/portable";
        assert_eq!(kind(path), "steps on bytes and blocks");
    }

    fn row(plan: &str, measure: f64, ten: f64, mix: Option<f64>) -> Value {
        json!({
            "plan": plan, "paths": 7, "best": "aes-search/blocks/aesni", "gb_per_s": 8.0,
            "estimate_behind_percent": -0.25, "measure_behind_percent": measure,
            "exhaustive_behind_percent": 0.0, "prediction_off_percent": 1.0,
            "prediction_off_of_ten_best_percent": ten, "mixed": null, "mixed_to_pure": mix, "search_ms": 0.5,
        })
    }

    #[test]
    fn jobs_are_judged_by_their_worst_caps() {
        let lines = vec![
            json!({ "machine": "M, 2 threads", "load_average": "0.10" }),
            row("aes-128-search/portable", 6.0, 12.0, Some(0.99)),
            row("aes-128-search/sse2", 1.0, 9.0, Some(1.5)),
            row("aes-128-search/sse2-any", 0.0, 1.0, None),
            row("aes-128-search-list/sse2", 2.0, 3.0, None),
            json!({ "jobs": 4 }),
        ];
        let text = tables(&Record::new(with_ids(lines)).unwrap()).unwrap();
        for line in [
            "| AES-128 | search by mask | 2 | 7 | 0.0 % | 6.0 % | 0.0 % | 1 | 12.0 % | 0.99 |",
            "| AES-128 | search by mask, policy `any` | 1 | 7 | 0.0 % | 0.0 % | 0.0 % | 1 | 1.0 % | – |",
            "| `sse2` | complete, 2.00, 1.50 | complete, 2.00, – | – | – |",
            "| search by mask | `sse2` | 8.000 | `aes-search/blocks/aesni` | – |",
            "The table has 4 jobs (each cap counts). In 3, `measure` chose a path within 5 % of the fastest. In 3, the \
             forecasts of all of the ten fastest paths were within 10 %. In 1, a mix of representations was the \
             fastest path, by 1.0 % at most.",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
