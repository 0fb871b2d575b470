//! A package with GPUs.

use crossgrain::search::Device;
use crossgrain_gpu::{Searcher, choose, devices};

use super::Gpu;

pub(super) fn found() -> (Vec<Gpu>, Vec<String>) {
    let (mut gpus, mut missing) = (Vec::new(), Vec::new());
    for kind in devices() {
        match kind.devices {
            Ok(found) => {
                gpus.extend(found.into_iter().map(|info| (info.id, info.name, info.driver, info.is_software)))
            }
            Err(why) => missing.push(format!("{}: {why}", kind.backend)),
        }
    }
    (gpus, missing)
}

pub(super) fn opened(id: &str) -> Result<Box<dyn Device>, String> {
    let device = choose(id).map_err(|why| why.to_string())?;
    Ok(Box::new(Searcher(device)))
}
