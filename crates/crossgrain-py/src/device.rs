//! The GPUs of this machine, where the package was built with them.

use crossgrain_gpu::{choose, devices};
use crossgrain_search::Device;
use pyo3::prelude::*;

use crate::Error;

/// A GPU: what to call it, its name, what drives it, whether it is the CPU in disguise.
type Gpu = (String, String, String, bool);

/// The GPUs.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> Vec<Gpu> {
    // Of a kind that is not there are none.
    let infos = || devices().into_iter().flat_map(|kind| kind.devices.unwrap_or_default());
    py.detach(|| infos().map(|info| (info.id, info.name, info.driver, info.is_software)).collect())
}

/// The device of this name, as one that tries keys.
pub(crate) fn searcher(id: &str) -> PyResult<Box<dyn Device>> {
    check_is_built(id)?;
    let device = choose(id).map_err(|why| Error::new_err(format!("{id}: {why}")))?;
    Ok(Box::new(device))
}

/// Refuses a device where the package was built without any.
pub(crate) fn check_is_built(id: &str) -> PyResult<()> {
    if cfg!(feature = "gpu") {
        return Ok(());
    }
    Err(Error::new_err(format!("{id}: this package was built without GPUs: build it with its feature gpu")))
}
