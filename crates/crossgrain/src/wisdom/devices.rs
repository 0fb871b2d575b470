//! The costs of devices, in the form that the planner uses.

use super::{DeviceCosts, Wisdom};
use crate::block::Cipher;
use crate::device::Kernel;
use crate::plan::Place;
use crate::plan::compose::Cost;

impl Wisdom {
    /// The costs of a job with this program, on each device where all of them are known.
    #[doc(hidden)]
    pub fn places(&self, cipher: Cipher, kernel: Kernel) -> Vec<Place> {
        let place = |(id, device): (&str, &DeviceCosts)| {
            let cost = |name: &str| device.costs.by_name(name);
            let name = kernel.name();
            Some(Place {
                name: id.to_owned(),
                kernel: name.to_owned(),
                open: cost(&format!("open/{name}"))?,
                upload: if kernel.task.reads_source() { cost("upload")? } else { Cost::FREE },
                run: cost(&format!("{cipher}/{name}"))?,
                download: cost("download")?,
            })
        };
        self.devices().filter_map(place).collect()
    }
}
