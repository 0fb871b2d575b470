//! A flow with costs as a JSON file, and results as JSON.
//!
//! ```json
//! {"parts": ["add", "mix"], "representations": ["word", "bit"],
//!  "cost": {"add": {"word": 5}, "mix": {"word": 50, "bit": 4}},
//!  "convert": {"word>bit": 10, "bit>word": 10},
//!  "start": ["word"], "end": ["word"], "rounds": 1}
//! ```
//!
//! A part without a cost in some representation cannot be computed there. A conversion that `layout::convert` omits
//! does not exist. The whole sequence of parts is repeated `rounds` times; the default is 1.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::Error;
use super::flow::{Cost, Flow};
use super::path::Path;
use super::report::{Pure, Report};
use crate::text::quoted;

/// The maximum number of edges per file: far more than anyone measures, but little memory.
const EDGES_MAX: usize = 1_000_000;

/// The contents of a cost file, parsed from JSON. All costs must share one unit, which is arbitrary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostFile {
    /// The parts of one round, in order.
    pub parts: Vec<String>,
    /// The representations.
    pub representations: Vec<String>,
    /// The cost of each part in each representation.
    #[serde(deserialize_with = "costs_by_part")]
    pub cost: BTreeMap<String, BTreeMap<String, f64>>,
    /// The cost of each conversion; `a>b` converts from `a` to `b`.
    #[serde(default, deserialize_with = "costs_by_name")]
    pub convert: BTreeMap<String, f64>,
    /// The representations in which a path may start.
    pub start: Vec<String>,
    /// The representations in which a path may end.
    pub end: Vec<String>,
    /// The number of repetitions of the parts.
    #[serde(default = "once")]
    pub rounds: usize,
}

const fn once() -> usize {
    1
}

/// A JSON object without duplicate names. Its errors name the entry.
struct Named<V>(BTreeMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Named<V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
    type Value = Named<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Named<V>, A::Error> {
        let mut map = BTreeMap::new();
        while let Some(name) = entries.next_key::<String>()? {
            let shown = quoted(&name);
            let value =
                entries.next_value().map_err(|error| A::Error::custom(format!("'{shown}': {error}")))?;
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom(format!("'{shown}' has two costs")));
            }
        }
        Ok(Named(map))
    }
}

fn costs_by_name<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    Ok(Named::deserialize(from)?.0)
}

fn costs_by_part<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, BTreeMap<String, f64>>, D::Error> {
    let parts: Named<Named<f64>> = Named::deserialize(from)?;
    Ok(parts.0.into_iter().map(|(part, Named(costs))| (part, costs)).collect())
}

impl FromStr for CostFile {
    type Err = Error;

    fn from_str(json: &str) -> Result<Self, Error> {
        serde_json::from_str(json).map_err(|error| Error::BadFile(error.to_string()))
    }
}

impl CostFile {
    /// The flow that the file describes. Variants are named `part/representation`; conversions keep their
    /// names.
    ///
    /// # Errors
    /// [`Error::BadFile`], and all errors of [`Flow`].
    pub fn flow(&self) -> Result<Flow, Error> {
        self.check()?;
        let parts: Vec<_> = self.parts.iter().map(String::as_str).collect();
        let mut flow = Flow::repeated([&[], &parts, &[]], self.rounds, &self.representations)?;
        for (part, costs) in &self.cost {
            for (representation, &cost) in costs {
                let name = format!("{part}/{representation}");
                flow.variant(&name, &[part], representation, Cost::fixed(cost))?;
            }
        }
        for (name, &cost) in &self.convert {
            let no_arrow = || bad(format!("'{}' in convert is not of the form a>b", quoted(name)));
            let (from, to) = name.split_once('>').ok_or_else(no_arrow)?;
            flow.conversion(name, from, to, Cost::fixed(cost))?;
        }
        self.start.iter().try_for_each(|representation| flow.start(representation))?;
        self.end.iter().try_for_each(|representation| flow.end(representation))?;
        Ok(flow)
    }

    fn check(&self) -> Result<(), Error> {
        if self.rounds == 0 {
            return Err(bad("rounds must be at least 1"));
        }
        for (what, ends) in [("start", &self.start), ("end", &self.end)] {
            if ends.is_empty() {
                return Err(bad(format!("{what} names no representation")));
            }
            // A duplicate would produce every path twice.
            if let Some((_, name)) = ends.iter().enumerate().find(|&(at, name)| ends[..at].contains(name)) {
                return Err(bad(format!("{what} names '{}' twice", quoted(name))));
            }
        }
        let widest = self.representations.len() + self.convert.len() + 1;
        let edges = self.parts.len().saturating_mul(self.rounds).saturating_mul(widest);
        if edges > EDGES_MAX {
            return Err(bad("too many parts, rounds and conversions to plan"));
        }
        Ok(())
    }
}

fn bad(reason: impl Into<String>) -> Error {
    Error::BadFile(reason.into())
}

/// A path as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Route {
    /// The total cost.
    #[serde(serialize_with = "plainly")]
    pub total: f64,
    /// The edges: `part/representation`, and conversions.
    pub path: Vec<String>,
}

/// The result for a cost file, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The best path.
    #[serde(flatten)]
    pub best: Route,
    /// The cost of all parts in one representation, without conversions at the ends.
    #[serde(serialize_with = "all_plainly")]
    pub pure: BTreeMap<String, f64>,
    /// The same with the conversions at the ends, for representations where they exist.
    #[serde(serialize_with = "all_plainly")]
    pub pure_with_ends: BTreeMap<String, f64>,
    /// The saving of the best path over the best of `pure_with_ends`, in percent.
    pub gain_percent: Option<f64>,
    /// The path of a greedy choice.
    pub greedy: Route,
    /// The next best paths.
    pub runners_up: Vec<Route>,
}

impl From<&Path> for Route {
    fn from(path: &Path) -> Self {
        Self { total: path.total_ns, path: path.names().map(str::to_owned).collect() }
    }
}

impl From<&Report> for Answer {
    fn from(report: &Report) -> Self {
        let totals = |path: fn(&Pure) -> Option<&Path>| {
            let total = |form: &Pure| Some((form.representation.clone(), path(form)?.total_ns));
            report.pure.iter().filter_map(total).collect()
        };
        Self {
            best: Route::from(&report.best),
            pure: totals(|form| form.parts.as_ref()),
            pure_with_ends: totals(|form| form.whole.as_ref()),
            gain_percent: report.gain_percent(),
            greedy: Route::from(&report.greedy),
            runners_up: report.runners_up.iter().map(Route::from).collect(),
        }
    }
}

/// Prints whole numbers without a decimal point, so that integer costs give integer sums.
#[derive(Serialize)]
#[serde(untagged)]
enum Plain {
    Whole(u64),
    Broken(f64),
}

impl From<f64> for Plain {
    fn from(number: f64) -> Self {
        // Above 2⁵³ some whole numbers have no exact floating-point form.
        let is_whole = number.fract() == 0.0 && (0.0..=(1_u64 << 53) as f64).contains(&number);
        if is_whole { Self::Whole(number as u64) } else { Self::Broken(number) }
    }
}

fn plainly<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    Plain::from(*number).serialize(to)
}

fn all_plainly<S: Serializer>(numbers: &BTreeMap<String, f64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(numbers.iter().map(|(name, &number)| (name, Plain::from(number))))
}
