//! Devices as places where data can be: what it costs to bring it there, compute there, and bring it back.
//!
//! A device's memory is one more representation of a flow, [`Place::name`]. Uploading is a source that leads into it, downloading
//! a sink that leads out, and the cipher is a single edge between them. So whether a job goes to a device is decided by the
//! same shortest path as everything else.
//! Holds: costs are those of a whole run through the host's memory, with the device opened for it alone.

use super::compose::{Cost, Edge, Error, Flow, Node};

/// A device and what a job costs there.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// What it is called, such as `cuda:0`.
    pub name: String,
    /// What it computes, such as `aes-ctr`.
    pub kernel: String,
    /// To open the device and compile the program.
    pub open: Cost,
    /// From the host's memory to the device's; free where nothing is read.
    pub upload: Cost,
    /// To compute.
    pub run: Cost,
    /// From the device's memory to the host's.
    pub download: Cost,
}

impl Place {
    /// Everything together.
    pub fn total(&self) -> Cost {
        [self.open, self.upload, self.run, self.download].into_iter().fold(Cost::FREE, Cost::plus)
    }

    /// Makes the device part of a flow.
    ///
    /// # Errors
    /// [`Error::Twice`] if it is part of it already; [`Error::BadCost`].
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

    /// The least number of bytes from which on the device is faster than `threads` threads of a CPU that are each as fast
    /// as `cpu_ns` says, if there is one up to 2⁵⁰.
    pub fn break_even(&self, threads: usize, cpu_ns: impl Fn(u64) -> f64) -> Option<u64> {
        // A CPU's cost is the least of many lines: what it is above the device's line is concave, so a device that is
        // ahead at the end was behind up to one size and ahead ever since.
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
