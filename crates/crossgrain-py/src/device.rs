//! The GPUs of this machine, where the package was built with them.

#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
mod none;

use crossgrain_search::Device;
use pyo3::prelude::*;

#[cfg(feature = "gpu")]
use gpu::{found, opened};
#[cfg(not(feature = "gpu"))]
use none::{found, opened};

use crate::Error;

/// A GPU: what to call it, its name, what drives it, whether it is the CPU in disguise.
type Gpu = (String, String, String, bool);

/// The GPUs.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> Vec<Gpu> {
    py.detach(found)
}

/// The device of this name, as one that tries keys.
pub(crate) fn searcher(id: &str) -> PyResult<Box<dyn Device>> {
    opened(id).map_err(|why| Error::new_err(format!("{id}: {why}")))
}
