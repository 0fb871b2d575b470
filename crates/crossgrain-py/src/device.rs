//! The GPUs of this machine, if the package was built with GPU support.

use crossgrain_gpu::{choose, devices};
use crossgrain_search::Device;
use pyo3::prelude::*;

use crate::Error;

/// A GPU: its id, its name, its driver, and whether it is emulated in software on the CPU.
type Gpu = (String, String, String, bool);

/// The GPUs.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> Vec<Gpu> {
    // Kinds that are not available have no devices.
    let infos = || devices().into_iter().flat_map(|kind| kind.devices.unwrap_or_default());
    py.detach(|| infos().map(|info| (info.id, info.name, info.driver, info.is_software)).collect())
}

/// The device of this name, for trying keys.
pub(crate) fn searcher(id: &str) -> PyResult<Box<dyn Device>> {
    check_is_built(id)?;
    let device = choose(id).map_err(|why| Error::new_err(format!("{id}: {why}")))?;
    Ok(Box::new(device))
}

/// Fails if the package was built without GPU support.
pub(crate) fn check_is_built(id: &str) -> PyResult<()> {
    if cfg!(feature = "gpu") {
        return Ok(());
    }
    Err(Error::new_err(format!("{id}: this package was built without GPUs: build it with its feature gpu")))
}
