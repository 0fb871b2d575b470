//! A package without GPUs.

use crossgrain::search::Device;

use super::Gpu;

const WHY: &str = "this package was built without GPUs: build it with its feature gpu";

pub(super) fn found() -> (Vec<Gpu>, Vec<String>) {
    (Vec::new(), vec![WHY.to_owned()])
}

pub(super) fn opened(_id: &str) -> Result<Box<dyn Device>, String> {
    Err(WHY.to_owned())
}
