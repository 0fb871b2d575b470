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
        let candidates = (1..=PERIOD_MAX).map(|period| (period, repeats(&row[at..], period)));
        let worth = |(period, count): &(usize, usize)| (period * (count - 1), usize::MAX - period);
        let (period, count) = candidates.max_by_key(worth).filter(|found| found.1 > 1).unwrap_or((1, 1));
        folds.push(Fold { once: at..at + period, count });
        at += period * count;
    }
    folds
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
        assert_eq!(told("kbrmkbrmkbrmkbrk"), "3kbrm 1k 1b 1r 1k");
        assert_eq!(told("cabxabxabxd"), "1c 3abx 1d");
    }
}
