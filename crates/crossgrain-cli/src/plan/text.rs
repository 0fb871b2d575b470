//! A case as text that fits a terminal.

use crossgrain::engine::text::{escaped, grouped};
use crossgrain::plan::Place;
use crossgrain::plan::compose::{Path, Step};

use super::case::{Case, number, threads};
use super::fold::{Fold, folded};

/// The complete text.
pub(super) fn told(case: &Case) -> String {
    let mut page = Page { case, text: String::new() };
    page.head();
    page.path();
    page.places();
    page.runners_up();
    page.pure_forms();
    page.greedy();
    page.mixes();
    page.blank();
    page.line(TERMS);
    page.text
}

/// Where readers find the words of a plan explained.
pub(super) const TERMS: &str = "terms: docs/glossary.md";

/// Longer lines are broken.
const COLUMNS: usize = 80;

/// Columns of figures before the words of a line.
const FIGURE_COLUMNS: usize = 26;

/// A line, broken between words where it is too long. Words that follow figures stay in their column.
fn wrapped(line: &str) -> String {
    let front: String = line.chars().take(FIGURE_COLUMNS).collect();
    let indent = front.rfind("  ").map_or(2, |blanks| blanks + 2);
    let (mut text, mut rest) = (String::new(), line.to_owned());
    while let Some((limit, _)) = rest.char_indices().nth(COLUMNS) {
        let end = limit + usize::from(rest[limit..].starts_with(' '));
        let before = rest[..end].rfind(' ').filter(|&blank| blank > indent);
        let Some(blank) = before.or_else(|| Some(limit + rest[limit..].find(' ')?)) else { break };
        text += rest[..blank].trim_end();
        text.push('\n');
        rest = format!("{:indent$}{}", "", rest[blank..].trim_start());
    }
    text + rest.trim_end() + "\n"
}

struct Page<'a> {
    case: &'a Case,
    text: String,
}

impl Page<'_> {
    /// Adds a line, escaped, because names in a cost file may contain any characters.
    fn line(&mut self, line: impl std::fmt::Display) {
        self.text += &wrapped(&escaped(&line.to_string()));
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn head(&mut self) {
        let case = self.case;
        let Some(facts) = &case.facts else {
            return self.line(format_args!("costs of {}, in their own unit", case.title));
        };
        self.line(facts.basis());
        self.line(format_args!("{} with {}", case.title, facts.features));
    }

    /// The path shown first, with repeated rounds folded.
    fn path(&mut self) {
        let best = &self.case.report.best;
        let unit = self.unit();
        self.blank();
        self.line(format_args!("{unit:>12}  {}", self.case.first));
        let steps: Vec<_> = best.steps.iter().filter(|step| !step.name.is_empty()).collect();
        let names: Vec<_> = steps.iter().map(|step| &step.name).collect();
        for fold in folded(&names) {
            self.fold(&steps[fold.once], fold.count);
        }
        let total = self.total(best);
        self.line(format_args!("{:>12}  total{total}", number(best.total_ns)));
        if let Some(&measured) = self.case.measured.first() {
            let off = percent(measured.fastest_ns, best.total_ns);
            self.line(format_args!(
                "{:>12}  measured end to end, {off} against the prediction{}",
                number(measured.fastest_ns),
                spread(Some(measured.spread))
            ));
        }
    }

    /// The costs of each device, and the sizes from which it is faster.
    fn places(&mut self) {
        let case = self.case;
        for (place, break_evens) in &case.places {
            let Place { name, open, upload, run, download, .. } = place;
            self.blank();
            self.line(format_args!("{:>12}  {name}, for any size and a byte", "ns"));
            let parts =
                [("open", open), ("upload", upload), (&place.kernel[..], run), ("download", download)];
            for (what, cost) in parts {
                self.line(format_args!("{:>12}  {:>9.4}  {what}", number(cost.fixed_ns), cost.per_byte_ns));
            }
            let [one, all] = break_evens.map(|size| match size {
                Some(len_bytes) => format!("from {} bytes on", grouped(len_bytes)),
                None => "never".to_owned(),
            });
            self.line(format_args!("faster than one thread {one}, than {} threads {all}", threads()));
        }
    }

    /// A fold. Its cost is that of all repetitions together.
    fn fold(&mut self, steps: &[&Step], count: usize) {
        let cost = |step: &Step| number(step.cost_ns * count as f64);
        let spreads = &self.case.spreads;
        let name = |step: &Step| format!("{}{}", step.name, spread(spreads.get(&step.name).copied()));
        match steps {
            [step] if count == 1 => self.line(format_args!("{:>12}  {}", cost(step), name(step))),
            [step] => self.line(format_args!("{:>12}  {count} x {}", cost(step), name(step))),
            steps => {
                for (at, step) in steps.iter().enumerate() {
                    let open = if at == 0 { format!("{count} x [ ") } else { String::new() };
                    let close = if at + 1 == steps.len() { " ]" } else { "" };
                    let width = format!("{count} x [ ").len();
                    self.line(format_args!("{:>12}  {open:width$}{}{close}", cost(step), name(step)));
                }
            }
        }
    }

    fn runners_up(&mut self) {
        let report = &self.case.report;
        if report.runners_up.is_empty() {
            self.blank();
            return self.line("there is no other path");
        }
        self.blank();
        self.line(format_args!("{:>12}  runners-up", self.unit()));
        for (at, path) in report.runners_up.iter().enumerate() {
            let dearer = percent(path.total_ns, report.best.total_ns);
            let measured = self.case.measured.get(at + 1);
            let measured = measured
                .map_or_else(String::new, |found| format!("  (measured {})", number(found.fastest_ns)));
            let differs = other(path, &report.best);
            self.line(format_args!("{:>12}  {dearer:>9}  {differs}{measured}", number(path.total_ns)));
        }
    }

    fn pure_forms(&mut self) {
        let case = self.case;
        self.blank();
        self.line(format_args!("{:>12}  all in one representation, ends included", self.unit()));
        let mut forms: Vec<_> =
            case.representations().into_iter().map(|name| (name, case.pure(name))).collect();
        forms.sort_by(|a, b| cost_of(a.1).total_cmp(&cost_of(b.1)));
        for (name, path) in forms {
            let Some(path) = path else {
                self.line(format_args!("{:>12}  {:>9}  {name}", "-", ""));
                continue;
            };
            let dearer = percent(path.total_ns, case.report.best.total_ns);
            self.line(format_args!("{:>12}  {dearer:>9}  {name}", number(path.total_ns)));
        }
        self.line(verdict(case));
    }

    fn greedy(&mut self) {
        let report = &self.case.report;
        let dearer = percent(report.greedy.total_ns, report.best.total_ns);
        let total = number(report.greedy.total_ns);
        self.line(format_args!("without looking ahead: {total} ({dearer})"));
    }

    /// The paths that were run to compare pure forms with mixes.
    fn mixes(&mut self) {
        let Some(mixes) = &self.case.mixes else { return };
        self.blank();
        self.line(format_args!("{:>12}  {:>9}  pure forms and mixes, run end to end", "ns", "predicted"));
        for run in &mixes.runs {
            let (measured, off) = (number(run.measured_ns), percent(run.path.total_ns, run.measured_ns));
            let free = percent(run.free_ns, run.measured_ns);
            let path = summary(&run.path.names().collect::<Vec<_>>());
            let name = run.name();
            self.line(format_args!("{measured:>12}  {off:>9}  {name} ({free} without conversions): {path}"));
        }
        self.line(mixes.verdict());
        let (total, path) = (number(mixes.free.total_ns), summary(&mixes.free.names().collect::<Vec<_>>()));
        self.line(format_args!("if conversions cost nothing, the cheapest path would take {total}: {path}"));
    }

    /// The heading of a column of costs.
    fn unit(&self) -> &'static str {
        if self.case.facts.is_some() { "ns" } else { "cost" }
    }

    /// The speed for a total.
    fn total(&self, path: &Path) -> String {
        match &self.case.facts {
            Some(facts) => format!(", {}", facts.speed(path.total_ns)),
            None => String::new(),
        }
    }
}

fn cost_of(path: Option<&Path>) -> f64 {
    path.map_or(f64::INFINITY, |path| path.total_ns)
}

/// A gain below this is due to rounding.
const GAIN_LEAST_PERCENT: f64 = 0.005;

/// A sentence on whether mixing representations gains anything.
pub(super) fn verdict(case: &Case) -> String {
    let report = &case.report;
    match (report.best_pure(), report.gain_percent()) {
        (Some(_), Some(gain)) if gain >= GAIN_LEAST_PERCENT => {
            format!("the {} gains {gain:.2} % over the best of these", case.first)
        }
        (Some(_), Some(gain)) if gain <= -GAIN_LEAST_PERCENT => {
            format!("the best of these is predicted {:.2} % below it", -gain)
        }
        (Some(_), _) => {
            format!("the {} is one of these: mixing representations gains nothing here", case.first)
        }
        (None, _) => "nothing but a mix of representations will do".into(),
    }
}

/// The spread of a measured cost, written after its name.
fn spread(spread: Option<f64>) -> String {
    spread.map_or_else(String::new, |spread| format!("  (spread {:.1} %)", 100.0 * spread))
}

/// The additional cost over the best, in percent.
pub(super) fn percent(total: f64, best: f64) -> String {
    if best > 0.0 { format!("{:+.2} %", 100.0 * (total - best) / best) } else { "-".to_owned() }
}

/// A path on one line, with the stretches that equal the best path as dots.
pub(super) fn other(path: &Path, best: &Path) -> String {
    let (names, like): (Vec<_>, Vec<_>) = (path.names().collect(), best.names().collect());
    let alike = |(a, b): &(&&str, &&str)| a == b;
    let before = names.iter().zip(&like).take_while(alike).count();
    let (rest, rest_like) = (&names[before..], &like[before..]);
    let after = rest.iter().rev().zip(rest_like.iter().rev()).take_while(alike).count();
    let mut words = vec![summary(&rest[..rest.len() - after])];
    if before > 0 {
        words.insert(0, "..".to_owned());
    }
    if after > 0 {
        words.push("..".to_owned());
    }
    words.retain(|word| !word.is_empty());
    words.join(" > ")
}

/// Names on one line, with repetitions folded.
pub(crate) fn summary(names: &[&str]) -> String {
    let fold = |fold: Fold| {
        let once = names[fold.once].join(" > ");
        match fold.count {
            1 => once,
            count => format!("{count} x [{once}]"),
        }
    };
    folded(names).into_iter().map(fold).collect::<Vec<_>>().join(" > ")
}
