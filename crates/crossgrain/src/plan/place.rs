//! Devices as places for data, with the costs of upload, computation and download.
//!
//! A device's memory is one more representation of a flow, called [`Place::name`]. Upload is a source into
//! it, download is a sink out of it, and the cipher is a single edge between them. The ordinary shortest-path
//! search therefore decides whether a job runs on a device.
//!
//! Invariant: the costs are those of a complete run from and to host memory, including opening the device.

use super::compose::{Cost, Edge, Error, Flow, Node};

/// A device, and the costs of a job there.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The device's name, for example `cuda:0`.
    pub name: String,
    /// The computation, for example `aes-ctr`.
    pub kernel: String,
    /// Opening the device and compiling the program.
    pub open: Cost,
    /// Copying from host memory to device memory; free if the kernel has no input.
    pub upload: Cost,
    /// The computation.
    pub run: Cost,
    /// Copying from device memory to host memory.
    pub download: Cost,
}

impl Place {
    /// The sum of all four costs.
    pub fn total(&self) -> Cost {
        [self.open, self.upload, self.run, self.download].into_iter().fold(Cost::FREE, Cost::plus)
    }

    /// Adds the device to a flow.
    ///
    /// # Errors
    /// [`Error::Twice`] if the flow has it already; [`Error::BadCost`].
    pub fn join(&self, flow: &mut Flow) -> Result<(), Error> {
        flow.representation(&self.name)?;
        let [first, last] = [0, flow.parts().len()].map(|at| Node::between(at, &self.name));
        let edges = [
            ("upload", Node::Source, first.clone(), self.open.plus(self.upload)),
            (&self.kernel, first, last.clone(), self.run),
            ("download", last, Node::Sink, self.download),
        ];
        edges.into_iter().try_for_each(|(what, from, to, cost)| {
            flow.edge(Edge { name: format!("{what}/{}", self.name), from, to, cost })
        })
    }

    /// The smallest job, in bytes, from which the device is faster than `threads` CPU threads. `cpu_ns` gives
    /// the time of one CPU thread for a job. `None` if the device is not faster at 2⁵⁰ bytes.
    pub fn break_even(&self, threads: usize, cpu_ns: impl Fn(u64) -> f64) -> Option<u64> {
        // The CPU's cost is the minimum of many affine functions, so its difference to the device's cost is
        // concave. A device that wins at the upper end therefore loses below one size and wins from there on.
        let total = self.total();
        let is_ahead = |len_bytes: u64| total.at(len_bytes) < cpu_ns(len_bytes) / threads as f64;
        let (mut behind, mut ahead) = (0, 1 << 50);
        if !is_ahead(ahead) {
            return None;
        }
        while ahead - behind > 1 {
            let middle = behind.midpoint(ahead);
            if is_ahead(middle) {
                ahead = middle;
            } else {
                behind = middle;
            }
        }
        Some(ahead)
    }
}
