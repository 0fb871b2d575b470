//! Where a space is searched: on the CPU, on devices beside it, or on whichever turns out to be faster.
//!
//! What is faster is seen from shards that were searched in earnest, so that nothing is measured that is not needed. A device
//! is looked for only once it is known that the CPU would take long.

use std::time::Duration;

use crossgrain_search::{BigUint, Search, Space, SpaceSearch};

use crate::device::{Asked, searcher};
use crate::error::{self, Error};

/// A shard as long tells how fast its place is.
const TELLING: Duration = Duration::from_secs(1);

/// A device is worth looking for where the CPU needs as many seconds more.
const WORTH_S: f64 = 30.0;

/// The places where a space may be searched.
pub(super) struct Places<'a> {
    search: &'a Search,
    space: &'a Space,
    explain: bool,
    /// Those that were found, and how many keys a second each takes, once that is known.
    found: Vec<(SpaceSearch<'a>, Option<f64>)>,
    current: usize,
    /// Whether a device may still be looked for.
    is_open: bool,
}

impl<'a> Places<'a> {
    /// The devices that are asked for, or the CPU to begin with.
    pub(super) fn new(
        asked: &[Asked],
        search: &'a Search,
        space: &'a Space,
        explain: bool,
    ) -> Result<Self, Error> {
        let ids =
            asked.iter().filter_map(|asked| if let Asked::Device(id) = asked { Some(id) } else { None });
        let devices = ids.map(|id| searcher(id)).collect::<Result<Vec<_>, _>>()?;
        let devices: Vec<_> = devices.iter().map(|device| &**device).collect();
        let first = SpaceSearch::on(search, space, &devices)?;
        let is_open = asked == [Asked::Auto];
        Ok(Self { search, space, explain, found: vec![(first, None)], current: 0, is_open })
    }

    /// The place that searches next.
    pub(super) fn current(&self) -> &SpaceSearch<'a> {
        &self.found[self.current].0
    }

    /// Notes how long a shard of it took, with so many candidates left; whether another place searches next.
    pub(super) fn took(&mut self, count: u64, time: Duration, left: &BigUint) -> bool {
        let before = self.current;
        let failures = self.current().failures();
        for failure in &failures {
            error::tell(&format!("{failure}: the CPU goes on"));
        }
        if !failures.is_empty() {
            self.found.truncate(1);
            self.current = 0;
        } else if time >= TELLING {
            let rate = count as f64 / time.as_secs_f64();
            self.found[before].1 = Some(rate);
            if self.is_open && *left > BigUint::from((WORTH_S * rate) as u64) {
                self.look_for_device();
            }
            self.is_open = false;
            self.current = self.next();
        }
        if self.explain && self.current != before {
            error::tell(&format!("kernel {} goes on", self.current().kernel()));
        }
        self.current != before
    }

    /// One whose rate is not known yet, or the fastest.
    fn next(&self) -> usize {
        let rate = |at: &usize| self.found[*at].1.unwrap_or(f64::INFINITY);
        (0..self.found.len()).max_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(0)
    }

    /// Adds a device, if there is one that searches this.
    fn look_for_device(&mut self) {
        let device =
            searcher("auto").and_then(|device| Ok(SpaceSearch::on(self.search, self.space, &[&*device])?));
        match device {
            Ok(device) => self.found.push((device, None)),
            Err(why) if self.explain => error::tell(&format!("device cpu: {}", why.message())),
            Err(_) => {}
        }
    }
}
