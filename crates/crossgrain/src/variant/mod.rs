//! The description of a variant, and the table of all variants.
//!
//! A variant computes a part, a conversion or a source with certain instructions in a certain representation,
//! and declares its leaks. Its name, `part/representation/isa`, is stable.

pub(crate) mod table;

pub use table::{find, table};

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use crate::arch::{Features, Wiped};
use crate::block::{Cipher, Direction, Error, Family};
use crate::kernel::fused::{Fused, FusedPart};
use crate::kernel::search::{KeyStep, Known, SearchPart, Step, TableReuse};
use crate::kernel::{Count, Keys, Part, TilePart, WholePart};
use crate::layout::convert::{Load, Store};
use crate::layout::repr::Repr;

/// The secrets that timing and caches may reveal to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Leaks {
    /// No leak: no branch and no address depends on a secret.
    Nothing,
    /// Table indices, which are bytes of the state, through the cache.
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

/// The variants that a plan may use.
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

    /// The name that users type: `constant-time` or `any`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConstantTime => "constant-time",
            Self::Any => "any",
        }
    }

    /// Whether a variant with these leaks may be used.
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

/// The operation of a variant, with a function that binds it to its instructions and keys.
///
/// A binder returns `None` if its instructions are missing or not allowed, or if the keys belong to another
/// family.
#[derive(Clone, Copy)]
pub enum Action {
    /// Loads the job's bytes into a tile.
    Load(fn(Features) -> Option<Box<dyn Load>>),
    /// Writes counter blocks into a tile.
    Count(fn(Features) -> Option<Box<dyn Count>>),
    /// Writes encrypted counter blocks into a tile.
    CountEncrypted(fn(Features, &Keys<'_>) -> Option<Box<dyn Count>>),
    /// Stores a tile to the job's bytes.
    Store(fn(Features) -> Option<Box<dyn Store>>),
    /// Computes a part on a tile, in the given round.
    Tile(Part, Direction, BindTile),
    /// Computes the whole cipher from bytes to bytes.
    Whole(Direction, BindWhole),
    /// Encrypts counter blocks with the whole cipher and XORs the keystream to the bytes.
    WholeCounter(BindWhole),
    /// Computes a mode together with the whole cipher, from bytes to bytes.
    Fused(Fused, Direction, BindFused),
    /// Adds blocks around the cipher. Programs know how: it needs no binding.
    Frame(Fused),
    /// Computes a mode's own pass over the bytes, after the cipher. The mode binds it.
    Pass(Fused),
    /// Runs all steps of a search in one kernel, one key per lane, for tables with the given number of uses.
    /// It computes only as much of the cipher as it needs to reject wrong keys.
    Search(Direction, TableReuse, BindSearch),
    /// Runs one step of a search on a batch of keys, in one direction or in both.
    SearchStep(Step, Option<Direction>, BindStep),
}

impl Action {
    /// Whether its input is a counter.
    pub const fn counts(&self) -> bool {
        match self {
            Self::Count(_) | Self::CountEncrypted(_) | Self::WholeCounter(_) => true,
            Self::Fused(fused, ..) => fused.counts(),
            _ => false,
        }
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
            Self::Fused(fused, ..) => fused.name(),
            Self::Frame(fused) => fused.frame().unwrap_or_default(),
            Self::Pass(fused) => fused.pass(),
            Self::Search(..) => "Search",
            Self::SearchStep(step, ..) => step.name(),
        };
        f.write_str(name)
    }
}

/// Binds a part to the key of a round.
pub type BindTile = fn(Features, Part, Direction, &Keys<'_>, usize) -> Option<Box<dyn TilePart>>;

/// Binds a whole cipher to its keys.
pub type BindWhole = fn(Features, Direction, &Keys<'_>) -> Option<Wiped<dyn WholePart>>;

/// Binds a mode's kernel to the keys of its cipher.
pub type BindFused = fn(Features, Direction, &Keys<'_>) -> Option<FusedPart>;

/// Binds a search for a cipher's key to a known block.
pub type BindSearch = fn(Features, Cipher, &Known) -> Option<Box<dyn SearchPart>>;

/// Binds a step of a search to a known block.
pub type BindStep = fn(Features, Cipher, &Known) -> Option<Box<dyn KeyStep>>;

/// One row of the table.
pub struct Variant {
    /// `part/representation/isa`.
    pub name: String,
    /// The family whose ciphers it computes; `None` for conversions and counters, which every cipher may use.
    pub family: Option<Family>,
    /// The representation in which it works, or to or from which it converts.
    pub repr: Repr,
    /// The name of its instruction set.
    pub isa: &'static str,
    /// The instructions that it needs.
    pub needs: Features,
    /// Its leaks.
    pub leaks: Leaks,
    /// Whether it reads tables in the counter's order. The counter must then be public.
    pub reads_counter_tables: bool,
    /// Its operation.
    pub action: Action,
    /// The number of instructions per bundle in one direction, if it follows from a cipher's description. It
    /// gives the estimated cost of rows without a line in the shipped estimates.
    pub instructions: Option<fn(Direction) -> f64>,
}

impl Variant {
    /// Whether the ciphers of a family can use it for data. It is one of their parts, or it has the
    /// representation of one of them.
    pub fn serves(&self, family: Family) -> bool {
        match self.action {
            Action::Frame(_) | Action::Pass(_) => true,
            _ => self.is_beside(family, &PARTS),
        }
    }

    /// Whether a search for keys of a family can use it. It is one of their steps, or it has the representation of
    /// one of them.
    pub fn serves_search(&self, family: Family) -> bool {
        self.is_beside(family, &STEPS)
    }

    /// Whether it is a row of this family, or of every family that works in its representation.
    fn is_beside(&self, family: Family, places: &[(Family, Repr)]) -> bool {
        match self.family {
            Some(own) => own == family,
            None => places.contains(&(family, self.repr)),
        }
    }

    /// Whether it computes steps or rounds on a tile, and not the whole cipher.
    pub fn is_step(&self) -> bool {
        matches!(self.action, Action::Tile(part, ..) if part != Part::whole(part.family()))
    }

    /// The share of its cost that is proportional to the number of rounds of the family's ciphers: all if it
    /// spans the whole cipher, none if it is a step.
    pub(crate) fn share_of_rounds(&self, family: Family) -> f64 {
        match self.action {
            _ if self.family != Some(family) => 0.0,
            Action::Tile(..) if self.is_step() => 0.0,
            Action::SearchStep(Step::Comparison, ..) => 0.0,
            Action::Fused(fused, ..) => fused.share_of_rounds(),
            _ => 1.0,
        }
    }

    /// Whether it can run with these instructions.
    pub const fn is_available(&self, features: Features) -> bool {
        features.contains(self.needs)
    }

    /// The error for instructions that it needs but are missing here.
    pub fn unavailable(&self, features: Features) -> Error {
        let missing = self.needs.without(features);
        Error::Unavailable {
            variant: self.name.clone(),
            reason: format!("it needs {missing}, which this CPU lacks or the ISA cap forbids"),
        }
    }
}

/// The representations in which the parts of each family on tiles work, and those of its search steps.
static PARTS: LazyLock<Vec<(Family, Repr)>> = LazyLock::new(|| places(|row| matches!(row, Action::Tile(..))));
static STEPS: LazyLock<Vec<(Family, Repr)>> =
    LazyLock::new(|| places(|row| matches!(row, Action::Search(..) | Action::SearchStep(..))));

fn places(is_part: fn(&Action) -> bool) -> Vec<(Family, Repr)> {
    let mut places = Vec::new();
    for row in table().iter().filter(|row| is_part(&row.action)) {
        let place = row.family.map(|family| (family, row.repr));
        places.extend(place.filter(|place| !places.contains(place)));
    }
    places
}

/// Rows are never copied, so equality is identity.
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
