//! Folds repetitions in a sequence, so that ten equal rounds fit a terminal or a picture.

use std::ops::Range;

/// The longest period that is searched for. A round has four parts, possibly with conversions between all of
/// them.
const PERIOD_MAX: usize = 12;

/// A run of items that occurs `count` times in sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// The first occurrence.
    pub(super) once: Range<usize>,
    pub(super) count: usize,
}

/// The sequence as folds, in order. An item that does not repeat is a fold of one.
pub(super) fn folded<T: PartialEq>(row: &[T]) -> Vec<Fold> {
    let mut folds = Vec::new();
    let mut at = 0;
    while at < row.len() {
        let mut fold = longest(row, at);
        // The first item often also ends the rounds. Shown separately, it leaves the repetition easier to
        // read.
        if at == 0 && fold.saved() <= longest(row, 1).saved() {
            fold = Fold { once: 0..1, count: 1 };
        }
        at += fold.once.len() * fold.count;
        folds.push(fold);
    }
    folds
}

/// The repetition from this index on that saves the most items.
fn longest<T: PartialEq>(row: &[T], at: usize) -> Fold {
    let rest = &row[at..];
    let candidates =
        (1..=PERIOD_MAX).map(|period| Fold { once: at..at + period, count: repeats(rest, period) });
    let best = candidates.rev().max_by_key(Fold::saved).filter(|fold| fold.count > 1);
    best.unwrap_or(Fold { once: at..at + 1, count: 1 })
}

impl Fold {
    /// The number of items that need not be shown.
    fn saved(&self) -> usize {
        self.once.len() * (self.count - 1)
    }
}

/// The number of times that the first `period` items occur in sequence.
fn repeats<T: PartialEq>(row: &[T], period: usize) -> usize {
    let first = row.get(..period);
    row.chunks_exact(period).take_while(|chunk| Some(*chunk) == first).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn rounds_are_told_once() {
        let told = |row: &str| {
            let row: Vec<_> = row.chars().collect();
            let fold =
                |fold: super::Fold| format!("{}{}", fold.count, row[fold.once].iter().collect::<String>());
            folded(&row).into_iter().map(fold).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told(""), "");
        assert_eq!(told("aaa"), "3a");
        assert_eq!(told("kbrmkbrmkbrmkbrk"), "1k 3brmk 1b 1r 1k");
        assert_eq!(told("cabxabxabxd"), "1c 3abx 1d");
    }
}
