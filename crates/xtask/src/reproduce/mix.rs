//! The steps of AES word-parallel (`word`) and bit-sliced (`bit`), and the cheapest combination for a round.

use std::fmt::Write as _;

use super::Record;
use crate::Result;

/// The steps of a round, with their names in variants.
const STEPS: [(&str, &str); 4] = [
    ("SubBytes", "sub-bytes"),
    ("ShiftRows", "shift-rows"),
    ("MixColumns", "mix-columns"),
    ("AddRoundKey", "add-round-key"),
];

/// The costs of each step, word-parallel and bit-sliced, and of the conversions in both directions.
struct Costs {
    steps: [[f64; 2]; STEPS.len()],
    convert: [f64; 2],
}

/// The published costs, in the authors' unit.
const THEIRS: Costs = Costs {
    steps: [[14337.0, 38563.0], [5788.0, 0.0], [27908.0, 5991.0], [6427.0, 10062.0]],
    convert: [11856.0, 11856.0],
};

/// Registers for bit-sliced steps.
pub(super) struct Width {
    pub(super) bits: usize,
    /// The instruction set, as in the names of variants.
    pub(super) isa: &'static str,
    /// The ending of the fastest conversion's name.
    pub(super) shuffle: &'static str,
}

#[rustfmt::skip] // a table: one line a row
pub(super) const WIDTHS: [Width; 5] = [
    Width { bits: 32,  isa: "portable", shuffle: "" },
    Width { bits: 64,  isa: "portable", shuffle: "" },
    Width { bits: 128, isa: "sse2",     shuffle: "-interleave" },
    Width { bits: 256, isa: "avx2",     shuffle: "-interleave" },
    Width { bits: 512, isa: "avx512",   shuffle: "-interleave" },
];

/// For each step, whether it is bit-sliced.
type Choice = [bool; STEPS.len()];

impl Costs {
    /// Cycles per block, for steps on blocks (SubBytes by tables) and for steps bit-sliced in registers.
    fn ours(record: &Record, width: &Width) -> Result<Self> {
        let cycles = |id: String| record.cycles_per_byte(&id).map(|cycles| 16.0 * cycles);
        let mut steps = [[0.0; 2]; STEPS.len()];
        for (costs, (_, step)) in steps.iter_mut().zip(STEPS) {
            let [word, bit] = step_ids(step, width).map(cycles);
            *costs = [word?, bit?];
        }
        let [there, back] = conversion_ids(width).map(cycles);
        Ok(Self { steps, convert: [there?, back?] })
    }

    /// The cost of a round that begins and ends in the same representation, so that the next round can
    /// follow.
    fn round(&self, choice: Choice) -> f64 {
        let steps: f64 = choice.iter().zip(self.steps).map(|(&bit, costs)| costs[usize::from(bit)]).sum();
        let before = choice.iter().cycle().skip(STEPS.len() - 1);
        let turns = before.zip(&choice).filter(|(before, now)| before != now);
        steps + turns.map(|(_, &now)| self.convert[usize::from(!now)]).sum::<f64>()
    }

    /// The cheapest of all sixteen choices.
    fn best(&self) -> (Choice, f64) {
        let choices = (0..1 << STEPS.len()).map(|set: usize| {
            let mut choice = [false; STEPS.len()];
            choice.iter_mut().enumerate().for_each(|(step, bit)| *bit = set >> step & 1 == 1);
            (choice, self.round(choice))
        });
        choices.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    }
}

/// The rows of a step on blocks, and bit-sliced.
fn step_ids(step: &str, width: &Width) -> [String; 2] {
    let way = if step == "sub-bytes" { "-table" } else { "" };
    let Width { bits, isa, .. } = width;
    [format!("{step}/blocks/portable{way}"), format!("{step}/bitsliced{bits}/{isa}")]
}

/// The rows of the conversions there and back.
fn conversion_ids(width: &Width) -> [String; 2] {
    let Width { bits, isa, shuffle } = width;
    [format!("blocks-to-bitsliced{bits}/{isa}{shuffle}"), format!("bitsliced{bits}-to-blocks/{isa}{shuffle}")]
}

/// The rows that the table needs.
pub(super) fn ids() -> Vec<String> {
    let of =
        |width| STEPS.iter().flat_map(move |(_, step)| step_ids(step, width)).chain(conversion_ids(width));
    WIDTHS.iter().flat_map(of).collect()
}

pub(super) fn table(record: &Record) -> Result<String> {
    let names = STEPS.map(|(name, _)| name).join(" | ");
    let mut text = format!(
        "| word, bit | {names} | conversion | all by word | all by bit | best | it takes by bit | it gains | best with free conversions |\n|---|{}\n",
        "---|".repeat(STEPS.len() + 7)
    );
    line(&mut text, "theirs", &THEIRS, 0);
    for width in &WIDTHS {
        // A machine without these registers has no such rows.
        if let Ok(costs) = Costs::ours(record, width) {
            line(&mut text, &format!("ours, {} bits", width.bits), &costs, 2);
        }
    }
    Ok(text)
}

fn line(text: &mut String, name: &str, costs: &Costs, digits: usize) {
    let pair = |[a, b]: [f64; 2]| format!("{a:.digits$}, {b:.digits$}");
    let (pure, (choice, best)) = ([false, true].map(|bit| costs.round([bit; STEPS.len()])), costs.best());
    let across = STEPS.iter().zip(choice).filter(|(_, bit)| *bit).map(|((name, _), _)| *name);
    let across = across.collect::<Vec<_>>().join(", ");
    let gain = 100.0 * (1.0 - best / pure[0].min(pure[1]));
    let free: f64 = costs.steps.iter().map(|[word, bit]| word.min(*bit)).sum();
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {:.digits$} | {:.digits$} | {best:.digits$} | {} | {gain:.1} % | {free:.digits$} |",
        costs.steps.map(pair).join(" | "),
        pair(costs.convert),
        pure[0],
        pure[1],
        if across.is_empty() { "nothing" } else { &across },
    );
}

#[cfg(test)]
mod tests {
    use super::THEIRS;

    #[test]
    fn the_published_costs_have_the_published_best() {
        let (choice, best) = THEIRS.best();
        assert_eq!(best, 50467.0);
        assert_eq!(choice, [false, true, true, false]);
        let pure = [false, true].map(|bit| THEIRS.round([bit; 4]));
        assert_eq!(pure, [54460.0, 54616.0]);
    }
}
