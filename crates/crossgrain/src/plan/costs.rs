//! Costs of variants: shipped estimates, or measurements from this machine.
//!
//! Estimates have one line per variant: those of a machine's registers in its folder under `arch`, those of
//! integers in `estimates.txt`. Rows of described ciphers without a line get an estimate derived
//! from their number of instructions. [`Costs::filled`] scales estimates for variants that were not measured
//! here.

use std::borrow::Cow;
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
    /// Names of variants are static, so that estimates need no copies of them.
    by_name: BTreeMap<Cow<'static, str>, Known>,
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

/// The shipped estimates by name. They are for the first cipher of each family.
static SHIPPED: LazyLock<HashMap<&str, Cost>> = LazyLock::new(|| {
    // A test checks the format of the shipped text. A malformed line is skipped and loses only its own cost.
    shipped().filter_map(parse_line).collect()
});

/// The estimated time per instruction, in nanoseconds, on the core of the shipped estimates. That core starts
/// two or three instructions per cycle.
const INSTRUCTION_NS: f64 = 0.11;

impl Costs {
    /// The estimates of all variants. Reads no clock.
    pub fn estimates(cipher: Cipher) -> Self {
        let estimate = |row: &'static Variant| Some((row.name.as_str(), Self::estimate(cipher, row)?));
        table().iter().filter_map(estimate).collect()
    }

    /// The shipped estimate of a variant, or a derived one if it has no shipped line. The cost of a row that spans
    /// all rounds is scaled by the number of rounds, that of a mode's kernel in part.
    pub(crate) fn estimate(cipher: Cipher, row: &Variant) -> Option<Cost> {
        let cost = SHIPPED.get(row.name.as_str()).copied().or_else(|| Self::derived(row))?;
        let family = cipher.family();
        let rounds = cipher.rounds() as f64 / family.first().rounds() as f64;
        Some(cost.scaled(1.0 + row.share_of_rounds(family) * (rounds - 1.0)))
    }

    /// Estimates a row of a described cipher from its number of instructions, for rows without a shipped
    /// line. On rows that were measured, the result is between half and twice the measured cost.
    #[doc(hidden)]
    pub fn derived(row: &Variant) -> Option<Cost> {
        let direction = match row.action {
            Action::Tile(_, direction, _)
            | Action::Search(direction, ..)
            | Action::SearchStep(_, Some(direction), _) => direction,
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
        let ratio = |(name, known): (&Cow<'_, str>, &Known)| {
            Some(known.cost.per_byte_ns / estimates.by_name(name)?.per_byte_ns)
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
        self.by_name.iter().map(|(name, &known)| (&**name, known))
    }
}

impl<N: Into<Cow<'static, str>>, K: Into<Known>> FromIterator<(N, K)> for Costs {
    fn from_iter<I: IntoIterator<Item = (N, K)>>(costs: I) -> Self {
        // Insert one by one. `collect` would sort first, with code that nothing else uses.
        let mut by_name = BTreeMap::new();
        by_name.extend(costs.into_iter().map(|(name, known)| (name.into(), known.into())));
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

fn parse_line(line: &'static str) -> Option<(&'static str, Cost)> {
    let mut words = line.split_whitespace();
    let mut number = || words.next()?.parse::<f64>().ok();
    let (fixed_ns, per_byte_ns) = (number()?, number()?);
    Some((words.next()?, Cost { fixed_ns, per_byte_ns }))
}
