//! The summary in `docs/limits.md`: for each machine, the percentages of their limits that groups of variants
//! reach.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::{Result, root};

/// The ending of a file's name, after the day.
const FILE_END: &str = "-limits.csv";

/// The heading of a column, and a test whether a variant belongs to it.
type Group = (&'static str, fn(&str) -> bool);

const GROUPS: [Group; 5] = [
    ("all variants", |_| true),
    ("AES instructions", |name| {
        name.starts_with("aes-") && (name.contains("/vaes") || name.contains("/aesni"))
    }),
    ("bit-sliced AES", |name| name.starts_with("aes-") && name.contains("/bitsliced")),
    ("Serpent on words", |name| name.starts_with("serpent-") && name.contains("/vsliced")),
    ("key search", |name| name.contains("-search")),
];

/// One row per machine: the middle half of each group's percentages.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn table() -> Result<String> {
    let headings = GROUPS.map(|(name, _)| name).join(" | ");
    let mut text = format!(
        "| middle half, % of the limit | variants | {headings} |\n|---|---|{}\n",
        "---|".repeat(GROUPS.len())
    );
    for file in files(&root().join("bench/record")) {
        let rows = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let shares: Vec<_> = rows.lines().filter_map(share).collect();
        let cells = GROUPS.map(|(_, has)| {
            middle_half(shares.iter().filter(|(name, _)| has(name)).map(|(_, share)| *share).collect())
        });
        let path = file.strip_prefix(root()).unwrap_or(&file).display();
        let _ = writeln!(text, "| `{path}` | {} | {} |", shares.len(), cells.join(" | "));
    }
    Ok(text)
}

/// The newest file of each machine, in the order of their folders.
fn files(records: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| {
        let mut paths: Vec<_> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let is_wanted = |file: &PathBuf| file.to_string_lossy().ends_with(FILE_END);
    entries(records).iter().filter_map(|machine| entries(machine).into_iter().rfind(is_wanted)).collect()
}

/// The name of a variant and its percentage of the limit. `None` for a heading, and for a variant without a
/// measured time.
fn share(line: &str) -> Option<(&str, f64)> {
    let mut cells = line.split(',');
    let (name, limit, cycles) = (cells.next()?, cells.nth(1)?, cells.nth(1)?);
    Some((name, 100.0 * limit.parse::<f64>().ok()? / cycles.parse::<f64>().ok()?))
}

/// The quartiles of some percentages, for example `60 to 74`.
fn middle_half(mut shares: Vec<f64>) -> String {
    shares.sort_by(f64::total_cmp);
    let at = |quarter: usize| shares.get(quarter * shares.len().saturating_sub(1) / 4);
    match (at(1), at(3)) {
        (Some(first), Some(third)) => format!("{first:.0} to {third:.0}"),
        _ => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{middle_half, share};

    #[test]
    fn a_line_is_a_share() {
        assert_eq!(share("a/b,10.0,2.0,memory,4.0"), Some(("a/b", 50.0)));
        assert_eq!(share("a/b,10.0,2.0,memory,"), None);
        assert_eq!(share("variant,instructions_per_block,limit,by,cycles"), None);
    }

    #[test]
    fn the_middle_half_leaves_out_both_ends() {
        assert_eq!(middle_half(vec![1.0, 50.0, 60.0, 70.0, 200.0]), "50 to 70");
        assert_eq!(middle_half(Vec::new()), "–");
    }
}
