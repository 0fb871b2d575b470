//! A package with GPUs.

use crossgrain_gpu::parallel::Launch;
use crossgrain_gpu::{Searcher, choose, devices};
use crossgrain_search::Device;

use super::Gpu;

pub(super) fn found() -> Vec<Gpu> {
    // Of a kind that is not there are none.
    let infos = devices().into_iter().flat_map(|kind| kind.devices.unwrap_or_default());
    infos.map(|info| (info.id, info.name, info.driver, info.is_software)).collect()
}

pub(super) fn opened(id: &str) -> Result<Box<dyn Device>, String> {
    let device = choose(id).map_err(|why| why.to_string())?;
    Ok(Box::new(Searcher(device, Launch::default())))
}
