//! A package without GPUs.

use crossgrain_search::Device;

use super::Gpu;

pub(super) const fn found() -> Vec<Gpu> {
    Vec::new()
}

pub(super) fn opened(_id: &str) -> Result<Box<dyn Device>, String> {
    Err("this package was built without GPUs: build it with its feature gpu".to_owned())
}
