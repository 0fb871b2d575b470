//! Timing like a sceptic.
//!
//! Subjects are warmed up until one sample takes long enough for the clock, then sampled in turns, so
//! that whatever disturbs the machine disturbs all alike; the first turn is dropped; the median stands
//! for a subject, and the distance between its quartiles says how far to believe it. Who compares subjects to
//! choose one takes the fastest sample instead: on a busy machine whole quarters of the samples are disturbed,
//! and disturbances only ever add.
//! Source: the cautions of Highway's auto-tuner and of StarPU's calibration; FFTW's planner takes the fastest.
//! Holds: nothing here reads a clock; subjects do, or pretend to.

/// Something that can be run several times and say how long it took.
pub trait Subject {
    /// Nanoseconds that `repeats` runs took.
    fn time_ns(&mut self, repeats: u32) -> u64;
}

/// How carefully to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Care {
    /// Turns that count; one more is run first and dropped.
    pub turns: usize,
    /// The least time a sample must take, in nanoseconds.
    pub sample_ns: u64,
}

impl Default for Care {
    fn default() -> Self {
        Self { turns: 11, sample_ns: 2_000_000 }
    }
}

/// What was found for one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Median time of one run, in nanoseconds.
    pub run_ns: f64,
    /// Time of one run in the fastest sample, in nanoseconds.
    pub fastest_ns: f64,
    /// Distance between the quartiles, as a fraction of the median.
    pub spread: f64,
}

/// Measures all subjects in turns.
pub fn measure(subjects: &mut [&mut dyn Subject], care: Care) -> Vec<Measured> {
    let repeats: Vec<u32> = subjects.iter_mut().map(|subject| calibrate(*subject, care.sample_ns)).collect();
    let mut samples = vec![Vec::with_capacity(care.turns); subjects.len()];
    for turn in 0..=care.turns {
        for ((subject, &repeats), samples) in subjects.iter_mut().zip(&repeats).zip(&mut samples) {
            let run_ns = subject.time_ns(repeats) as f64 / f64::from(repeats);
            if turn > 0 {
                samples.push(run_ns);
            }
        }
    }
    samples.into_iter().map(summarise).collect()
}

/// Repeats that make a sample last `sample_ns`: doubled until they do, which also warms up; then as many less
/// as the last doubling went too far.
fn calibrate(subject: &mut dyn Subject, sample_ns: u64) -> u32 {
    let mut repeats = 1_u32;
    loop {
        let took_ns = subject.time_ns(repeats);
        if took_ns >= sample_ns {
            let enough = u64::from(repeats).saturating_mul(sample_ns).div_ceil(took_ns.max(1));
            return u32::try_from(enough).unwrap_or(repeats).max(1);
        }
        if repeats >= 1 << 30 {
            return repeats;
        }
        repeats *= 2;
    }
}

fn summarise(mut samples: Vec<f64>) -> Measured {
    samples.sort_by(f64::total_cmp);
    let at = |quarter: usize| samples.get(samples.len() * quarter / 4).copied().unwrap_or(f64::NAN);
    let run_ns = at(2);
    Measured { run_ns, fastest_ns: at(0), spread: (at(3) - at(1)) / run_ns }
}

#[cfg(test)]
mod tests {
    use super::{Care, Subject, measure};

    /// Takes `base` nanoseconds a run, and far too long in its first turn and in every fourth sample.
    struct Fake {
        base: u64,
        calls: u64,
    }

    impl Subject for Fake {
        fn time_ns(&mut self, repeats: u32) -> u64 {
            self.calls += 1;
            let disturbed = if self.calls.is_multiple_of(4) { 10 } else { 1 };
            self.base * u64::from(repeats) * disturbed
        }
    }

    #[test]
    fn the_median_ignores_disturbed_samples() {
        let (mut fast, mut slow) = (Fake { base: 70, calls: 0 }, Fake { base: 900, calls: 1 });
        let found = measure(&mut [&mut fast, &mut slow], Care { turns: 9, sample_ns: 10_000 });
        assert_eq!([found[0].run_ns, found[1].run_ns], [70.0, 900.0]);
        assert_eq!([found[0].fastest_ns, found[1].fastest_ns], [70.0, 900.0]);
        assert!(found.iter().all(|found| found.spread >= 0.0));
    }

    #[test]
    fn subjects_take_turns_after_they_are_calibrated() {
        let (mut a, mut b) = (Fake { base: 1, calls: 0 }, Fake { base: 1 << 20, calls: 0 });
        measure(&mut [&mut a, &mut b], Care { turns: 3, sample_ns: 1000 });
        assert_eq!((a.calls, b.calls), (8 + 4, 1 + 4));
    }
}
