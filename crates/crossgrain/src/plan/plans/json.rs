//! Plans as a JSON file. It holds the job, and for each plan its variants with their rounds and the predicted
//! cost. The file is not signed and needs no signature, because a plan is checked against the job's graph
//! when it is read.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Plans, corrupt};
use crate::block::{Cipher, Direction, Error};
use crate::plan::compose::Cost;
use crate::plan::{Fused, Job, JobSource, Plan, Stage, TableReuse};
use crate::text::quoted;
use crate::variant::find;

/// The format's version. Increase it with every change that older programs would misread.
const FORMAT: u64 = 2;

impl Plans {
    /// The plans as the text of a file.
    pub fn to_json(&self) -> String {
        let Job { cipher, direction, source } = self.job;
        let job = JobText {
            cipher: cipher.name().to_owned(),
            direction: direction.name().to_owned(),
            source: source.name().to_owned(),
            known_bits: if let JobSource::Keys { known_bits, .. } = source { Some(known_bits) } else { None },
        };
        let plans = self.plans.iter().map(|plan| PlanText {
            fixed_ns: plan.cost.fixed_ns,
            per_byte_ns: plan.cost.per_byte_ns,
            stages: plan.stages.iter().map(|stage| (stage.variant.name.clone(), stage.round)).collect(),
        });
        let file = Body { format: FORMAT, job, plans: plans.collect() };
        // Serialisation cannot fail: the file holds only strings, numbers and lists.
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }
}

/// The fields that every version of the format has.
#[derive(Deserialize)]
struct Head {
    format: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    format: u64,
    job: JobText,
    plans: Vec<PlanText>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobText {
    cipher: String,
    direction: String,
    source: String,
    /// Only for a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    known_bits: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanText {
    fixed_ns: f64,
    per_byte_ns: f64,
    /// Names of variants, with their rounds.
    stages: Vec<(String, usize)>,
}

/// Reads the text of a file and checks it completely.
impl FromStr for Plans {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let head: Head = serde_json::from_str(text).map_err(corrupt)?;
        if head.format > FORMAT {
            let format = head.format;
            return Err(Error::UnfitPlan(format!("it is from a newer version (format {format}): update")));
        }
        let Body { job, plans, .. } = serde_json::from_str(text).map_err(corrupt)?;
        let job = job.read()?;
        let plans = plans.into_iter().map(PlanText::read).collect::<Result<_, _>>()?;
        Self::new(job, plans)
    }
}

impl JobText {
    fn read(self) -> Result<Job, Error> {
        let Self { cipher, direction, source, known_bits } = self;
        let cipher: Cipher = cipher.parse()?;
        let unknown = |what: &str| corrupt(format!("'{}' is no {what}", quoted(what)));
        let direction = Direction::ALL.into_iter().find(|known| known.name() == direction);
        let source = match known_bits {
            None => {
                let modes = Fused::ALL.iter().copied().map(JobSource::Mode);
                let births = [JobSource::Bytes, JobSource::Counter].into_iter().chain(modes);
                births.into_iter().find(|known| known.name() == source)
            }
            Some(known_bits @ 1..=JobSource::WHOLE_BLOCK) => {
                let usage = TableReuse::ALL.into_iter().find(|known| known.name() == source);
                usage.map(|usage| JobSource::Keys { usage, known_bits })
            }
            Some(_) => return Err(corrupt("a block has 128 bits, of which one at least is known")),
        };
        let direction = direction.ok_or_else(|| unknown("direction"))?;
        Ok(Job { cipher, direction, source: source.ok_or_else(|| unknown("source"))? })
    }
}

impl PlanText {
    fn read(self) -> Result<Plan, Error> {
        let Self { fixed_ns, per_byte_ns, stages } = self;
        let cost = Cost { fixed_ns, per_byte_ns };
        if !cost.is_sound() {
            return Err(corrupt("a cost is negative or too large"));
        }
        let stage = |(name, round): (String, usize)| Ok(Stage { variant: find(&name)?, round });
        Ok(Plan { stages: stages.into_iter().map(stage).collect::<Result<_, Error>>()?, cost })
    }
}
