//! The available devices.

use crossgrain_gpu::{Gpu, choose, devices};

/// The available devices. Fails if a required device is missing.
pub(crate) fn gpus() -> Vec<Gpu> {
    let required = std::env::var("CROSSGRAIN_REQUIRE").unwrap_or_default();
    let mut gpus = Vec::new();
    for kind in devices() {
        match kind.devices {
            Ok(found) => gpus.extend(found.iter().map(|info| choose(&info.id).unwrap())),
            Err(error) => {
                let is_required = required.split(',').any(|required| required == kind.backend);
                assert!(!is_required, "{} is required: {error}", kind.backend);
                eprintln!("skipped: {}: {error}", kind.backend);
            }
        }
    }
    gpus
}
