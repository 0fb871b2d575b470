//! Costs of variants: shipped estimates, or measurements from this machine.
//!
//! Estimates have one line per variant: those of a machine's registers in its folder under `arch`, those of
//! integers in `estimates.txt`. Rows of described ciphers without a line get an estimate derived
//! from their number of instructions. [`Costs::filled`] scales estimates for variants that were not measured
//! here.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::LazyLock;

use super::compose::Cost;
use crate::arch::ESTIMATES as REGISTER_ESTIMATES;
use crate::block::{BLOCK_BYTES, Cipher, Direction};
use crate::variant::{Action, Variant, table};

/// Costs in nanoseconds, by variant name. Parts on tiles and whole ciphers use the same form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    by_name: BTreeMap<String, Known>,
}

/// The cost of a variant, and its reliability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The cost.
    pub cost: Cost,
    /// The distance between the quartiles of the measurements, as a fraction of the median; `None` for an
    /// estimate.
    pub spread: Option<f64>,
}

/// A cost without measurements.
impl From<Cost> for Known {
    fn from(cost: Cost) -> Self {
        Self { cost, spread: None }
    }
}

/// The lines of the shipped estimates.
fn shipped() -> impl Iterator<Item = &'static str> {
    include_str!("estimates.txt").lines().chain(REGISTER_ESTIMATES.lines())
}

static ESTIMATES: LazyLock<Costs> = LazyLock::new(|| {
    // A test checks the format of the shipped text. A malformed line is skipped and loses only its own cost.
    let mut costs: Costs = shipped().filter_map(parse_line).collect();
    for row in table().iter().filter(|row| !costs.by_name.contains_key(&row.name)).collect::<Vec<_>>() {
        costs.by_name.extend(Costs::derived(row).map(|cost| (row.name.clone(), cost.into())));
    }
    costs
});

/// The estimated time per instruction, in nanoseconds, on the core of the shipped estimates. That core starts
/// two or three instructions per cycle.
const INSTRUCTION_NS: f64 = 0.11;

impl Costs {
    /// The shipped estimates, plus derived ones for rows without a shipped line. Reads no clock. The shipped
    /// costs are for the first cipher of each family. Costs of rows that span all rounds are scaled by the
    /// number of rounds, those of modes' kernels in part.
    pub fn estimates(cipher: Cipher) -> Self {
        let family = cipher.family();
        let rounds = cipher.rounds() as f64 / family.first().rounds() as f64;
        let grow: HashMap<_, _> =
            table().iter().map(|row| (&row.name, row.share_of_rounds(family))).collect();
        let scaled = |(name, known): (&String, &Known)| {
            let share = grow.get(name).copied().unwrap_or_default();
            (name.clone(), known.cost.scaled(1.0 + share * (rounds - 1.0)))
        };
        ESTIMATES.by_name.iter().map(scaled).collect()
    }

    /// Estimates a row of a described cipher from its number of instructions, for rows without a shipped
    /// line. On rows that were measured, the result is between half and twice the measured cost.
    #[doc(hidden)]
    pub fn derived(row: &Variant) -> Option<Cost> {
        let direction = match row.action {
            Action::Tile(_, direction, _)
            | Action::Search(direction, ..)
            | Action::SearchStep(_, direction, _) => direction,
            _ => Direction::Encrypt,
        };
        let bundle_ns = row.instructions?(direction) * INSTRUCTION_NS;
        // `blocks` has no fixed bundle size, so one block is assumed.
        let bundle_bytes = BLOCK_BYTES * row.repr.bundle_blocks().unwrap_or(1);
        Some(Cost { fixed_ns: bundle_ns, per_byte_ns: bundle_ns / bundle_bytes as f64 })
    }

    /// These costs, plus estimates for the variants they lack. The estimates are scaled by the median ratio
    /// between the known costs and their estimates.
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

    /// The cost of a variant, if known.
    #[doc(hidden)]
    pub fn get(&self, variant: &Variant) -> Option<Cost> {
        self.by_name(&variant.name)
    }

    /// The cost of the entry with this name, if known.
    pub fn by_name(&self, name: &str) -> Option<Cost> {
        self.by_name.get(name).map(|known| known.cost)
    }

    /// The spread of the measurements under this name; `None` for an estimate.
    pub fn spread(&self, name: &str) -> Option<f64> {
        self.by_name.get(name)?.spread
    }

    /// Names and costs, in order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Known)> {
        self.by_name.iter().map(|(name, &known)| (name.as_str(), known))
    }
}

impl<K: Into<Known>> FromIterator<(String, K)> for Costs {
    fn from_iter<I: IntoIterator<Item = (String, K)>>(costs: I) -> Self {
        // Insert one by one. `collect` would sort first, with code that nothing else uses.
        let mut by_name = BTreeMap::new();
        by_name.extend(costs.into_iter().map(|(name, known)| (name, known.into())));
        Self { by_name }
    }
}

/// Prints one line per variant: fixed nanoseconds, nanoseconds per byte, name.
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
