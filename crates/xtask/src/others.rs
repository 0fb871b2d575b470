//! The work of other processes during a run. The load average at its beginning does not show processes that start
//! later.

use std::fs;
use std::time::Instant;

/// Ticks of `/proc` per second, on every Linux.
const TICKS_PER_S: f64 = 100.0;

/// The state of the machine when a run began.
pub(crate) struct Begun {
    at: Instant,
    ticks: Option<f64>,
}

impl Begun {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), ticks: ticks_of_others() }
    }

    /// The CPUs that other processes used since then, on average. `None` if the system does not say.
    pub(crate) fn cpus_of_others(&self) -> Option<f64> {
        let ticks = ticks_of_others()? - self.ticks?;
        Some((ticks / TICKS_PER_S / self.at.elapsed().as_secs_f64()).max(0.0))
    }
}

/// Busy ticks of all CPUs without those of this process and its ended children.
fn ticks_of_others() -> Option<f64> {
    let all = busy(fs::read_to_string("/proc/stat").ok()?.lines().next()?)?;
    Some(all - own(&fs::read_to_string("/proc/self/stat").ok()?)?)
}

/// The busy ticks of the first line of `/proc/stat`: all but idle and waiting ones. Guests are counted as users.
fn busy(line: &str) -> Option<f64> {
    let ticks: Vec<f64> = line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _wait, interrupts, soft, stolen, ..] = ticks[..] else { return None };
    Some(user + nice + system + interrupts + soft + stolen)
}

/// The ticks of a process and of its ended children in `/proc/PID/stat`. Its name may contain spaces.
fn own(line: &str) -> Option<f64> {
    let (_, rest) = line.rsplit_once(')')?;
    let ticks: Vec<f64> =
        rest.split_whitespace().skip(11).take(4).filter_map(|word| word.parse().ok()).collect();
    (ticks.len() == 4).then(|| ticks.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::{busy, own};

    #[test]
    fn ticks_are_read() {
        assert_eq!(busy("cpu  10 1 5 1000 50 2 3 4 0 0"), Some(25.0));
        assert_eq!(busy("cpu  10 1"), None);
        let line = "7 (a b) c) S 1 7 7 0 -1 4194560 1 2 3 4 30 4 200 10 20 0 1 0 5";
        assert_eq!(own(line), Some(244.0));
        assert_eq!(own("7"), None);
    }
}
