//! Repetitions in a row of things, told once: ten rounds alike fit a screen, and a picture.

use std::ops::Range;

/// The longest repetition looked for; a round has four parts, and perhaps conversions between all.
const PERIOD_MAX: usize = 12;

/// Some of the things in a row, which come `count` times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// Their first coming.
    pub(super) once: Range<usize>,
    pub(super) count: usize,
}

/// The row as folds, in order; what does not repeat is a fold of one thing.
pub(super) fn folded<T: PartialEq>(row: &[T]) -> Vec<Fold> {
    let mut folds = Vec::new();
    let mut at = 0;
    while at < row.len() {
        let mut fold = longest(row, at);
        // What comes before the rounds ends them too, and is easier to follow on its own.
        if at == 0 && fold.saved() <= longest(row, 1).saved() {
            fold = Fold { once: 0..1, count: 1 };
        }
        at += fold.once.len() * fold.count;
        folds.push(fold);
    }
    folds
}

/// The repetition from here on that saves most.
fn longest<T: PartialEq>(row: &[T], at: usize) -> Fold {
    let rest = &row[at..];
    let candidates =
        (1..=PERIOD_MAX).map(|period| Fold { once: at..at + period, count: repeats(rest, period) });
    let best = candidates.rev().max_by_key(Fold::saved).filter(|fold| fold.count > 1);
    best.unwrap_or(Fold { once: at..at + 1, count: 1 })
}

impl Fold {
    /// Things that need not be told.
    fn saved(&self) -> usize {
        self.once.len() * (self.count - 1)
    }
}

/// How often the first `period` things come one after another.
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
