//! Speeds as a table, with a one-sentence conclusion.

use std::fmt::Write as _;

/// Speeds within this ratio count as a tie, because the machine may have been busy.
const TIE: f64 = 1.1;

/// The speeds at one width, in values per nanosecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    bits: usize,
    along: f64,
    across: f64,
    converted: f64,
}

impl Row {
    /// Speeds in the order of `Form::ALL`.
    pub(crate) const fn new(bits: usize, [along, across, converted]: [f64; 3]) -> Self {
        Self { bits, along, across, converted }
    }

    fn show(&self) -> String {
        let Self { bits, along, across, converted } = *self;
        format!(
            "  {bits:>4} {} {} {}    {:>8} {:>10}\n",
            number(along),
            number(across),
            number(converted),
            format!("{:.2}x", across / along),
            format!("{:.2}x", converted / along),
        )
    }
}

/// Three significant figures where two decimals suffice for that.
fn number(speed: f64) -> String {
    let decimals = if speed >= 100.0 { 0 } else { 2 };
    format!("{speed:>12.decimals$}")
}

/// The table and the conclusion.
pub(crate) fn show(rows: &[Row]) -> String {
    let mut text = format!(
        "  {:>4} {:>12} {:>12} {:>12}    {:>8} {:>10}\n",
        "bits", "along", "across", "converted", "across", "converted"
    );
    let _ = writeln!(text, "  {:>4} {:>12} {:>12} {:>12}    {:>19}", "", "", "", "", "against along");
    rows.iter().for_each(|row| text += &row.show());
    text + &outcome(rows)
}

/// The conclusion as one sentence.
fn outcome(rows: &[Row]) -> String {
    let across: Vec<_> = rows.iter().map(|row| (row.bits, row.across / row.along)).collect();
    let converted: Vec<_> = rows.iter().map(|row| (row.bits, row.converted / row.along)).collect();
    format!(
        "\n  On data that lies across, {}; converted in and out, {}.",
        verdict(&across),
        verdict(&converted)
    )
}

/// The winner at each width, from the ratio of the speed across to the speed along.
fn verdict(ratios: &[(usize, f64)]) -> String {
    let won = |wins: fn(f64) -> bool| -> Vec<_> { ratios.iter().filter(|(_, ratio)| wins(*ratio)).collect() };
    let bits = won(|ratio| ratio > TIE);
    let words = won(|ratio| ratio < 1.0 / TIE);
    let neither = won(|ratio| (1.0 / TIE..=TIE).contains(&ratio));
    for (who, won, by) in [("bits", &bits, 1.0), ("words", &words, -1.0)] {
        if won.len() == ratios.len() {
            let factors = ratios.iter().map(|(_, ratio)| ratio.powf(by));
            let (least, most) = (factors.clone().fold(f64::INFINITY, f64::min), factors.fold(0.0, f64::max));
            return format!("{who} win at every width, by {least:.1} to {most:.1} times");
        }
    }
    let told = [("bits win", bits), ("words win", words), ("neither wins", neither)]
        .into_iter()
        .filter(|(_, won)| !won.is_empty())
        .map(|(who, won)| format!("{who} at {}", list(&won)));
    format!("it depends: {}", told.collect::<Vec<_>>().join(", "))
}

fn list(won: &[&(usize, f64)]) -> String {
    let widths: Vec<_> = won.iter().map(|(bits, _)| bits.to_string()).collect();
    match widths.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last} bits", rest.join(", ")),
        _ => format!("{} bits", widths.concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, show, verdict};

    #[test]
    fn the_sentence_says_who_wins_where() {
        assert_eq!(verdict(&[(16, 2.0), (32, 8.0)]), "bits win at every width, by 2.0 to 8.0 times");
        assert_eq!(verdict(&[(16, 0.5), (32, 0.1)]), "words win at every width, by 2.0 to 10.0 times");
        let mixed = [(16, 0.5), (32, 0.8), (64, 1.05), (128, 2.0)];
        assert_eq!(
            verdict(&mixed),
            "it depends: bits win at 128 bits, words win at 16 and 32 bits, neither wins at 64 bits"
        );
    }

    #[test]
    fn columns_stand_below_their_names() {
        let text = show(&[Row::new(16, [2.0, 16.0, 1.0]), Row::new(512, [20.0, 1600.0, 10.0])]);
        let ends: Vec<_> = text.lines().filter(|line| line.contains("   ")).map(str::len).collect();
        assert_eq!(ends, [ends[0]; 4], "{text}");
    }
}
