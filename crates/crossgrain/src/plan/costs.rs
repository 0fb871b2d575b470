//! What variants cost: shipped estimates, or what was measured here.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::LazyLock;

use super::compose::Cost;
use crate::block::{BLOCK_BYTES, Cipher, Direction};
use crate::variant::{Action, Variant, table};

/// Costs by variant name, in nanoseconds; for parts in tiles and for whole ciphers alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    by_name: BTreeMap<String, Known>,
}

/// What a variant costs, and how far to believe it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The cost.
    pub cost: Cost,
    /// Distance between the quartiles of what was measured, as a fraction of the median; nothing for an estimate.
    pub spread: Option<f64>,
}

/// A cost that nothing was measured for.
impl From<Cost> for Known {
    fn from(cost: Cost) -> Self {
        Self { cost, spread: None }
    }
}

static ESTIMATES: LazyLock<Costs> = LazyLock::new(|| {
    // A test holds the shipped text to this format; a line that is not in it costs nothing but itself.
    let mut costs: Costs = include_str!("estimates.txt").lines().filter_map(parse_line).collect();
    for row in table().iter().filter(|row| !costs.by_name.contains_key(&row.name)).collect::<Vec<_>>() {
        costs.by_name.extend(Costs::derived(row).map(|cost| (row.name.clone(), cost.into())));
    }
    costs
});

/// How long an instruction takes on the core that the shipped estimates are from: it begins two or three in a cycle.
const INSTRUCTION_NS: f64 = 0.11;

impl Costs {
    /// The costs shipped with the library, and those derived for rows that it has no cost of: no clock is read. They are for the first cipher of each family; those of rows that
    /// span all rounds grow with these.
    pub fn estimates(cipher: Cipher) -> Self {
        let family = cipher.family();
        let rounds = cipher.rounds() as f64 / family.first().rounds() as f64;
        let grow: HashSet<_> =
            table().iter().filter(|row| row.grows_with_rounds(family)).map(|row| &row.name).collect();
        let scaled = |(name, known): (&String, &Known)| {
            let factor = if grow.contains(name) { rounds } else { 1.0 };
            (name.clone(), known.cost.scaled(factor))
        };
        ESTIMATES.by_name.iter().map(scaled).collect()
    }

    /// The estimate of a row of a described cipher by its instructions, where no line of those shipped is its. Of the rows that were
    /// measured it is between half and twice the cost.
    #[doc(hidden)]
    pub fn derived(row: &Variant) -> Option<Cost> {
        let direction = match row.action {
            Action::Tile(_, direction, _)
            | Action::Search(direction, ..)
            | Action::SearchStep(_, direction, _) => direction,
            _ => Direction::Encrypt,
        };
        let bundle_ns = row.instructions?(direction) * INSTRUCTION_NS;
        // Along the grain any number of blocks will do.
        let bundle_bytes = BLOCK_BYTES * row.repr.bundle_blocks().unwrap_or(1);
        Some(Cost { fixed_ns: bundle_ns, per_byte_ns: bundle_ns / bundle_bytes as f64 })
    }

    /// These costs, and estimates for variants that they do not know, scaled by how far the known ones
    /// are from their estimates: the median of the ratios.
    #[must_use]
    pub fn filled(&self, cipher: Cipher) -> Self {
        let estimates = Self::estimates(cipher);
        let ratio = |(name, known): (&String, &Known)| {
            Some(known.cost.per_byte_ns / estimates.by_name.get(name)?.cost.per_byte_ns)
        };
        let mut ratios: Vec<_> = self.by_name.iter().filter_map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let factor = ratios.get(ratios.len() / 2).copied().filter(|factor| factor.is_normal()).unwrap_or(1.0);
        let mut filled = self.clone();
        for (name, estimate) in estimates.by_name {
            filled.by_name.entry(name).or_insert(estimate.cost.scaled(factor).into());
        }
        filled
    }

    /// The cost of a variant, if it is known.
    #[doc(hidden)]
    pub fn get(&self, variant: &Variant) -> Option<Cost> {
        self.by_name(&variant.name)
    }

    /// The cost of whatever has this name, if it is known.
    pub fn by_name(&self, name: &str) -> Option<Cost> {
        self.by_name.get(name).map(|known| known.cost)
    }

    /// How far what was measured for a variant of this name spread; nothing for estimates.
    pub fn spread(&self, name: &str) -> Option<f64> {
        self.by_name.get(name)?.spread
    }

    /// Names and costs, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Known)> {
        self.by_name.iter().map(|(name, &known)| (name.as_str(), known))
    }
}

impl<K: Into<Known>> FromIterator<(String, K)> for Costs {
    fn from_iter<I: IntoIterator<Item = (String, K)>>(costs: I) -> Self {
        // One by one: collected into a map, they would be sorted before, by code that nothing else needs.
        let mut by_name = BTreeMap::new();
        by_name.extend(costs.into_iter().map(|(name, known)| (name, known.into())));
        Self { by_name }
    }
}

/// One variant a line: nanoseconds for any size, nanoseconds a byte, name.
impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|(name, Known { cost: Cost { fixed_ns, per_byte_ns }, .. })| {
            writeln!(f, "{fixed_ns:10.1} {per_byte_ns:10.5} {name}")
        })
    }
}

fn parse_line(line: &str) -> Option<(String, Cost)> {
    let mut words = line.split_whitespace();
    let mut number = || words.next()?.parse::<f64>().ok();
    let (fixed_ns, per_byte_ns) = (number()?, number()?);
    Some((words.next()?.to_owned(), Cost { fixed_ns, per_byte_ns }))
}
