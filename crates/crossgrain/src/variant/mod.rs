//! The record of a variant, and the one table that names them all.
//!
//! A variant computes a part, a conversion or a source by certain instructions in a certain
//! representation, and says what it leaks. Its name, `part/representation/isa`, is stable.

mod described_rows;
#[cfg(feature = "own-keys")]
mod keyed_rows;
#[cfg(feature = "search")]
mod search_rows;
#[cfg(feature = "serpent")]
mod serpent_rows;
mod table;

#[cfg(feature = "own-keys")]
pub use keyed_rows::{BindKeyed, keyed};
pub use table::{find, table};

use std::fmt;
use std::str::FromStr;

use crate::block::{Cipher, Direction, Error, Family};
use crate::convert::{Load, Store};
use crate::part::search::{KeyStep, Known, SearchPart, Step, Use};
use crate::part::{Count, Keys, Part, TilePart, WholePart};
use crate::repr::Repr;
use crate::word::Features;

/// What an observer of timing and caches may learn of the key and the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaks {
    /// Nothing: no branch and no address depends on a secret.
    Nothing,
    /// Table indices, through the cache: bytes of the state.
    TableIndices,
}

impl Leaks {
    /// `nothing` or `table indices`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::TableIndices => "table indices",
        }
    }
}

/// Which variants a plan may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Policy {
    /// Only variants that leak nothing.
    #[default]
    ConstantTime,
    /// Any variant.
    Any,
}

impl Policy {
    /// Both policies, the stricter first.
    pub const ALL: [Self; 2] = [Self::ConstantTime, Self::Any];

    /// The name users type: `constant-time` or `any`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConstantTime => "constant-time",
            Self::Any => "any",
        }
    }

    /// Whether a variant that leaks so may be used.
    pub fn admits(self, leaks: Leaks) -> bool {
        self == Self::Any || leaks == Leaks::Nothing
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == name);
        found.ok_or_else(|| Error::UnknownPolicy(name.to_owned()))
    }
}

/// What a variant does, with the function that binds it to its instructions and keys.
///
/// Each binder answers `None` where the instructions it needs are missing or not allowed, or the keys are
/// those of another family.
#[derive(Clone, Copy)]
pub enum Action {
    /// From the job's bytes into a tile.
    Load(fn(Features) -> Option<Box<dyn Load>>),
    /// From a counter into a tile.
    Count(fn(Features) -> Option<Box<dyn Count>>),
    /// From a counter into a tile, already encrypted.
    CountEncrypted(fn(Features, &Keys) -> Option<Box<dyn Count>>),
    /// From a tile to the job's bytes.
    Store(fn(Features) -> Option<Box<dyn Store>>),
    /// A part on a tile, in the given round.
    Tile(Part, Direction, BindTile),
    /// The whole cipher from bytes to bytes.
    Whole(Direction, BindWhole),
    /// The whole cipher from a counter, added to bytes.
    WholeCounter(BindWhole),
    /// All steps of a search in one kernel, one key per lane, for tables of one use: as far as it takes to tell a wrong key.
    Search(Direction, Use, BindSearch),
    /// One step of a search, on batches of keys. A comparison serves both directions.
    SearchStep(Step, Direction, BindStep),
}

impl Action {
    /// Whether it begins from a counter.
    pub const fn counts(&self) -> bool {
        matches!(self, Self::Count(_) | Self::CountEncrypted(_) | Self::WholeCounter(_))
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Load(_) => "Load",
            Self::Count(_) => "Count",
            Self::CountEncrypted(_) => "CountEncrypted",
            Self::Store(_) => "Store",
            Self::Tile(part, direction, _) => part.name(*direction),
            Self::Whole(direction, _) => direction.name(),
            Self::WholeCounter(_) => "WholeCounter",
            Self::Search(..) => "Search",
            Self::SearchStep(step, ..) => step.name(),
        };
        f.write_str(name)
    }
}

/// Binds a part of a round to its key.
pub type BindTile = fn(Features, Part, Direction, &Keys, usize) -> Option<Box<dyn TilePart>>;

/// Binds a whole cipher to its keys.
pub type BindWhole = fn(Features, Direction, &Keys) -> Option<Box<dyn WholePart>>;

/// Binds a search for a cipher's key to a known block.
pub type BindSearch = fn(Features, Cipher, &Known) -> Option<Box<dyn SearchPart>>;

/// Binds a step of such a search.
pub type BindStep = fn(Features, Cipher, &Known) -> Option<Box<dyn KeyStep>>;

/// One row of the table.
pub struct Variant {
    /// `part/representation/isa`.
    pub name: String,
    /// The ciphers that it is a part of; `None` for conversions and counters, which any cipher may use.
    pub family: Option<Family>,
    /// The representation it works in, or converts to or from.
    pub repr: Repr,
    /// The ISA's name.
    pub isa: &'static str,
    /// The instructions it needs.
    pub needs: Features,
    /// What it leaks.
    pub leaks: Leaks,
    /// Whether it reads tables in the counter's order, so that the counter must be public.
    pub walks: bool,
    /// What it does.
    pub action: Action,
    /// Instructions for a bundle in one direction, where a description knows them: what it is estimated by if no line of the
    /// shipped estimates is its.
    pub instructions: Option<fn(Direction) -> f64>,
}

impl Variant {
    /// Whether ciphers of a family have a use for it: it is a part of them, or leads into or out of a
    /// representation that they have parts in.
    pub fn serves(&self, family: Family) -> bool {
        let is_part = |row: &Self| row.family == Some(family) && matches!(row.action, Action::Tile(..));
        match self.family {
            Some(own) => own == family,
            None => table().iter().any(|row| row.repr == self.repr && is_part(row)),
        }
    }

    /// Whether it spans all rounds of a family's ciphers, so that its cost grows with them.
    pub(crate) fn grows_with_rounds(&self, family: Family) -> bool {
        self.family == Some(family)
            && match self.action {
                Action::Tile(part, ..) => part == Part::whole(family),
                Action::SearchStep(Step::Comparison, ..) => false,
                _ => true,
            }
    }

    /// Whether it can run with these instructions.
    pub const fn is_available(&self, features: Features) -> bool {
        features.contains(self.needs)
    }

    /// Why it cannot be had with these instructions.
    pub fn unavailable(&self, features: Features) -> Error {
        let missing = self.needs.without(features);
        Error::Unavailable {
            variant: self.name.clone(),
            reason: format!("it needs {missing}, which this CPU lacks or the ISA cap forbids"),
        }
    }
}

/// A row is itself: there are no copies.
impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Variant {}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variant({})", self.name)
    }
}
