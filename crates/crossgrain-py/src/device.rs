//! The GPUs of this machine, if the package was built with GPU support.

use crossgrain_search::Device;
use pyo3::prelude::*;

/// A GPU: its id, its name, its driver, and whether it is emulated in software on the CPU.
type Gpu = (String, String, String, bool);

/// The GPUs.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> Vec<Gpu> {
    py.detach(found)
}

/// The first GPU that is not emulated on the CPU.
pub(crate) fn first_hardware() -> Option<String> {
    found().into_iter().find(|(.., is_software)| !is_software).map(|(id, ..)| id)
}

#[cfg(feature = "gpu")]
fn found() -> Vec<Gpu> {
    // Kinds that are not available have no devices.
    let infos = crossgrain_gpu::devices().into_iter().flat_map(|kind| kind.devices.unwrap_or_default());
    infos.map(|info| (info.id, info.name, info.driver, info.is_software)).collect()
}

#[cfg(not(feature = "gpu"))]
const fn found() -> Vec<Gpu> {
    Vec::new()
}

/// The device of this name, for trying keys.
#[cfg(feature = "gpu")]
pub(crate) fn searcher(id: &str) -> PyResult<Box<dyn Device>> {
    let device = crossgrain_gpu::choose(id).map_err(|why| crate::Error::new_err(format!("{id}: {why}")))?;
    Ok(Box::new(device))
}

#[cfg(not(feature = "gpu"))]
pub(crate) fn searcher(id: &str) -> PyResult<Box<dyn Device>> {
    Err(not_built(id))
}

/// The error of a package that was built without GPU support.
pub(crate) fn not_built(id: &str) -> PyErr {
    crate::Error::new_err(format!("{id}: this package was built without GPUs: install crossgrain[gpu]"))
}
