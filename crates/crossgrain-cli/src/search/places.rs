//! Decides whether a key space is searched on the CPU, on given devices, or on whichever is faster.
//!
//! The speeds come from shards of the actual search, so there are no extra measurements. Devices are probed
//! only if the CPU would take long.

use std::time::Duration;

use crossgrain_search::{BigUint, Device, Search, Space, SpaceSearch};

use crate::device::{Asked, searcher};
use crate::error::{self, Error};

/// A shard of at least this duration gives a usable speed.
const TELLING: Duration = Duration::from_secs(1);

/// A device is probed if the CPU would need more than this number of seconds.
const WORTH_S: f64 = 30.0;

/// The devices of a search.
pub(super) struct Devices {
    pub(super) opened: Vec<Box<dyn Device>>,
    /// Whether the fastest place is wanted.
    is_auto: bool,
}

impl Devices {
    /// Opens the devices that were given. The CPU takes part in any case.
    pub(super) fn open(asked: &[Asked]) -> Result<Self, Error> {
        if asked.len() > 1 && asked.contains(&Asked::Auto) {
            return Err(Error::usage("auto selects one place: leave it out beside other devices"));
        }
        let ids =
            asked.iter().filter_map(|asked| if let Asked::Device(id) = asked { Some(id) } else { None });
        let opened = ids.map(|id| searcher(id)).collect::<Result<_, _>>()?;
        Ok(Self { opened, is_auto: asked == [Asked::Auto] })
    }
}

/// The places where a space may be searched.
pub(super) struct Places<'a> {
    search: &'a Search,
    space: &'a Space,
    explain: bool,
    /// The places found so far, with keys per second once that is measured.
    found: Vec<(SpaceSearch<'a>, Option<f64>)>,
    current: usize,
    /// Whether a device may still be probed.
    is_open: bool,
}

impl<'a> Places<'a> {
    /// The given devices, or the CPU to begin with.
    pub(super) fn new(
        devices: &Devices,
        search: &'a Search,
        space: &'a Space,
        explain: bool,
    ) -> Result<Self, Error> {
        let opened: Vec<_> = devices.opened.iter().map(|device| &**device).collect();
        let first = SpaceSearch::on(search, space, &opened)?;
        let is_open = devices.is_auto;
        Ok(Self { search, space, explain, found: vec![(first, None)], current: 0, is_open })
    }

    /// The place for the next shard.
    pub(super) fn current(&self) -> &SpaceSearch<'a> {
        &self.found[self.current].0
    }

    /// Records the duration of a shard of `count` candidates, with `left` still to try. Returns whether the
    /// place changes.
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

    /// A place whose speed is unknown, or the fastest.
    fn next(&self) -> usize {
        let rate = |at: &usize| self.found[*at].1.unwrap_or(f64::INFINITY);
        (0..self.found.len()).max_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(0)
    }

    /// Adds a device, if one supports this search.
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
