//! Plans and the choices of the planner, as plain values for Python's half.

use crossgrain::engine::arch::cpu_model;
use crossgrain::mode::Mode;
use crossgrain::plan::compose::{Answer, CostFile};
use crossgrain::plan::{JobSource, Plans};
use crossgrain::{Cipher, Direction, Features};
use pyo3::prelude::*;

use crate::modes::How;
use crate::{Error, pool, refused};

/// A stage: the variant's name, its round, its leak.
type Stage = (String, usize, String);

/// A plan: the blocks of a bundle, the fixed cost in nanoseconds, the cost per byte, the stages.
type Plan = (usize, f64, f64, Vec<Stage>);

/// The job of a mode as text; its plans, widest bundle first; and all plans as JSON.
#[pyfunction]
pub(crate) fn plan(
    py: Python<'_>,
    cipher: &str,
    mode: &str,
    decrypt: bool,
    how: How,
) -> PyResult<(String, Vec<Plan>, String)> {
    let cipher: Cipher = cipher.parse().map_err(refused)?;
    let direction = if decrypt { Direction::Decrypt } else { Direction::Encrypt };
    let job = mode.parse::<Mode>().map_err(refused)?.job(cipher, direction);
    let options = how.options(py, cipher)?;
    let planned = pool::run(py, how.threads, || options.plans_of(job))?;
    let plans = Plans::new(job, planned.map_err(refused)?).map_err(refused)?;
    let stage = |stage: &crossgrain::plan::Stage| {
        (stage.variant.name.clone(), stage.round, stage.variant.leaks.name().to_owned())
    };
    let shown = plans.as_slice().iter().map(|plan| {
        let stages = plan.stages.iter().map(stage).collect();
        (plan.bundle_blocks(), plan.cost.fixed_ns, plan.cost.per_byte_ns, stages)
    });
    let source = match job.source {
        JobSource::Mode(fused) => format!("for {}", fused.name()),
        source if source.counts() => "from a counter".to_owned(),
        _ => "from bytes".to_owned(),
    };
    Ok((format!("{} {source}", job.direction.name()), shown.collect(), plans.to_json()))
}

/// The cheapest composition for a cost file, and others for comparison. Input and output are JSON.
#[pyfunction]
pub(crate) fn compose(costs: &str, runners_up: usize) -> PyResult<String> {
    let refused = |error: crossgrain::plan::compose::Error| Error::new_err(error.to_string());
    let flow = costs.parse::<CostFile>().and_then(|file| file.flow()).map_err(refused)?;
    let report = flow.at(0).report(runners_up).map_err(refused)?;
    serde_json::to_string(&Answer::from(&report)).map_err(|error| Error::new_err(error.to_string()))
}

/// All ciphers, with the bytes of a key.
#[pyfunction]
pub(crate) fn ciphers() -> Vec<(&'static str, usize)> {
    Cipher::ALL.map(|cipher| (cipher.name(), cipher.key_bytes())).to_vec()
}

/// The CPU: its name, its instruction sets, its threads.
#[pyfunction]
pub(crate) fn cpu() -> (String, String, usize) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    (cpu_model(), Features::of_cpu().to_string(), threads)
}
