//! What is known of devices, as the planner asks for it.

use super::{DeviceCosts, Wisdom};
use crate::block::Cipher;
use crate::device::Kernel;
use crate::plan::Place;
use crate::plan::compose::Cost;

impl Wisdom {
    /// What a job by this program costs on the devices of which that is known.
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
