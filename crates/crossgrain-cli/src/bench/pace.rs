//! The speed of the machine while a benchmark runs.
//!
//! A virtual machine shares cores with others. They slow it for seconds, and neither its load average nor its
//! processor times show that. The witness does: it is a loop of constant work that fills a core.

use std::thread::sleep;
use std::time::Duration;

use crossgrain::plan::measure::{Sampling, measure};

use super::{Timed, clock};

/// Some milliseconds of witnesses.
const SAMPLING: Sampling = Sampling { turns: 15, sample_ns: 500_000 };

/// A machine that is slowed by less is calm.
const CALM: f64 = 0.03;

/// Samples until a job starts on a machine that is not calm, and the pause between them. They take half a second.
const SAMPLES_MAX: usize = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// The speed of the machine, compared with its best so far.
pub(super) struct Pace {
    fastest_ns: f64,
}

impl Pace {
    /// Starts with a first sample.
    pub(super) fn new() -> Self {
        Self { fastest_ns: sample_ns() }
    }

    /// Waits half a second at most until the machine is calm, and returns the time of the witness in nanoseconds.
    pub(super) fn calm_ns(&mut self) -> f64 {
        let mut now_ns = self.now_ns();
        for _ in 1..SAMPLES_MAX {
            if self.slowed(now_ns) < CALM {
                break;
            }
            sleep(PAUSE);
            now_ns = self.now_ns();
        }
        now_ns
    }

    /// The time of the witness now, in nanoseconds.
    pub(super) fn now_ns(&mut self) -> f64 {
        let now_ns = sample_ns();
        self.fastest_ns = self.fastest_ns.min(now_ns);
        now_ns
    }

    /// How much slower the machine was when the witness took this time, as a fraction.
    pub(super) fn slowed(&self, witness_ns: f64) -> f64 {
        witness_ns / self.fastest_ns - 1.0
    }
}

/// The median time of a witness.
fn sample_ns() -> f64 {
    measure(&mut [&mut Timed(clock::witness)], SAMPLING)[0].run_ns
}
