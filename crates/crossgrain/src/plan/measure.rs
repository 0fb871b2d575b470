//! Robust timing.
//!
//! Calibrate each subject until one sample is long enough for the clock; this also warms it up. Then sample
//! all subjects in turns, so that a disturbance of the machine affects all of them equally, and drop the
//! first turn. The result of a subject is the median. The distance between the quartiles shows its
//! reliability. Code that compares subjects to choose one uses the fastest sample instead. On a busy machine
//! a quarter of the samples or more may be disturbed, and a disturbance can only add time.
//!
//! On a shared machine the medians include the load of other programs. For this case a *witness*, which
//! always does the same work, is timed before and after every sample. More turns are run than are counted,
//! and only the samples with the fastest witness are counted. The choice does not depend on the measured
//! times, so it has no bias towards lucky samples. A *clock*, whose work takes a known number of cycles, may
//! be timed right after every sample, because cores run slower while wide registers are in use.
//!
//! Sources: the advice of Highway's auto-tuner and of StarPU's calibration; FFTW's planner takes the fastest
//! sample.
//!
//! Invariant: this module reads no clock. Subjects do, or simulate one.

/// Work that can be repeated and reports its duration.
pub trait Subject {
    /// Runs `repeats` times and returns the duration in nanoseconds.
    fn time_ns(&mut self, repeats: u32) -> u64;
}

/// The number and length of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Turns that are counted. One more is run first and dropped.
    pub turns: usize,
    /// The minimum duration of a sample, in nanoseconds.
    pub sample_ns: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { turns: 11, sample_ns: 2_000_000 }
    }
}

/// The measurements of one subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The median time per run, in nanoseconds.
    pub run_ns: f64,
    /// The time per run in the fastest sample, in nanoseconds.
    pub fastest_ns: f64,
    /// The distance between the quartiles, as a fraction of the median.
    pub spread: f64,
    /// The median time per run of the clock after the counted samples, in nanoseconds; `None` without a
    /// clock.
    pub clock_ns: Option<f64>,
}

/// Measures all subjects in turns.
pub fn measure(subjects: &mut [&mut dyn Subject], sampling: Sampling) -> Vec<Measured> {
    in_turns(&mut Undisturbed, None, Turns::all(sampling), subjects, sampling)
}

/// Measures all subjects in turns, to find the fastest. A subject that takes twice as long as the fastest in three
/// counted turns takes no further ones.
pub fn race(subjects: &mut [&mut dyn Subject], sampling: Sampling) -> Vec<Measured> {
    let turns = Turns { until_leaving: TURNS_BEFORE_LEAVING, ..Turns::all(sampling) };
    in_turns(&mut Undisturbed, None, turns, subjects, sampling)
}

/// Measures all subjects in turns, with a witness and a clock. The witness always does the same work; the
/// clock takes the same number of cycles whatever else the core does. Runs up to `patience` times as many
/// turns, until enough samples are calm.
pub fn measure_beside(
    witness: &mut dyn Subject,
    clock: &mut dyn Subject,
    patience: usize,
    subjects: &mut [&mut dyn Subject],
    sampling: Sampling,
) -> Vec<Measured> {
    let most = sampling.turns.saturating_mul(patience.max(1));
    in_turns(witness, Some(clock), Turns { most, ..Turns::all(sampling) }, subjects, sampling)
}

/// Turns that are run.
#[derive(Clone, Copy)]
struct Turns {
    /// The number of counted turns, whether or not their samples are calm.
    most: usize,
    /// The number of counted turns after which slow subjects leave.
    until_leaving: usize,
}

impl Turns {
    /// Turns that no subject leaves.
    const fn all(sampling: Sampling) -> Self {
        Self { most: sampling.turns, until_leaving: usize::MAX }
    }
}

/// After this many counted turns, slow subjects leave a race.
const TURNS_BEFORE_LEAVING: usize = 3;

/// A subject is slow if its fastest sample takes more than this many times as long as the fastest of all. The load of
/// other programs slows samples by less.
const SLOW: f64 = 2.0;

/// Runs turns until enough samples are calm.
fn in_turns(
    witness: &mut dyn Subject,
    clock: Option<&mut dyn Subject>,
    turns: Turns,
    subjects: &mut [&mut dyn Subject],
    sampling: Sampling,
) -> Vec<Measured> {
    let repeats: Vec<u32> =
        subjects.iter_mut().map(|subject| calibrate(*subject, sampling.sample_ns)).collect();
    let mut witness = Witness::new(witness, sampling.sample_ns / BESIDE_SHARE);
    let mut clock = clock.map(|clock| Repeated::new(clock, sampling.sample_ns / BESIDE_SHARE));
    let mut samples = vec![Vec::with_capacity(turns.most); subjects.len()];
    let mut takes_turns = vec![true; subjects.len()];
    for turn in 0..=turns.most {
        let all = subjects.iter_mut().zip(&repeats).zip(&mut samples).zip(&takes_turns);
        for (((subject, &repeats), samples), _) in all.filter(|(_, takes_turns)| **takes_turns) {
            // The subjects before evicted this one's data from the caches. Of a long run that is a small part.
            if repeats > 1 {
                subject.time_ns(1);
            }
            let run_ns = subject.time_ns(repeats) as f64 / f64::from(repeats);
            let clock_ns = clock.as_mut().map(Repeated::run_ns);
            let witness_ns = witness.around_ns();
            if turn > 0 {
                samples.push(Sample { witness_ns, run_ns, clock_ns });
            }
        }
        let are_calm = |samples: &Vec<Sample>| {
            samples.iter().filter(|sample| witness.is_calm(sample.witness_ns)).count() >= sampling.turns
        };
        if turn >= sampling.turns && samples.iter().all(are_calm) {
            break;
        }
        if turn == turns.until_leaving {
            takes_turns = not_slow(&samples);
        }
    }
    samples.into_iter().map(|samples| summarise(&calmest(samples, sampling.turns))).collect()
}

/// For each subject, whether it keeps its turns in a race.
fn not_slow(samples: &[Vec<Sample>]) -> Vec<bool> {
    let of_each: Vec<_> = samples.iter().map(|samples| summarise(samples).fastest_ns).collect();
    let of_all = of_each.iter().copied().fold(f64::MAX, f64::min);
    of_each.iter().map(|fastest_ns| *fastest_ns <= SLOW * of_all).collect()
}

/// A sample lasts this many times as long as its witness and its clock.
const BESIDE_SHARE: u64 = 16;

/// A sample is calm if its witness exceeds the fastest witness by at most this fraction.
const CALM: f64 = 0.02;

/// One sample of a subject.
#[derive(Clone, Copy)]
struct Sample {
    /// The witness's time: the longer of before and after.
    witness_ns: u64,
    run_ns: f64,
    clock_ns: Option<f64>,
}

/// The samples with the fastest witness.
fn calmest(mut samples: Vec<Sample>, count: usize) -> Vec<Sample> {
    samples.sort_by_key(|sample| sample.witness_ns);
    samples.truncate(count);
    samples
}

/// A subject and the number of repeats in one sample.
struct Repeated<'a> {
    subject: &'a mut dyn Subject,
    repeats: u32,
}

impl<'a> Repeated<'a> {
    fn new(subject: &'a mut dyn Subject, sample_ns: u64) -> Self {
        let repeats = calibrate(subject, sample_ns);
        Self { subject, repeats }
    }

    fn sample_ns(&mut self) -> u64 {
        self.subject.time_ns(self.repeats)
    }

    fn run_ns(&mut self) -> f64 {
        self.sample_ns() as f64 / f64::from(self.repeats)
    }
}

/// The witness: work that is always the same, with its measured times.
struct Witness<'a> {
    work: Repeated<'a>,
    before_ns: u64,
    fastest_ns: u64,
}

impl<'a> Witness<'a> {
    fn new(subject: &'a mut dyn Subject, sample_ns: u64) -> Self {
        let mut work = Repeated::new(subject, sample_ns);
        let before_ns = work.sample_ns();
        Self { work, before_ns, fastest_ns: before_ns }
    }

    /// The witness's time in the previous call or now, whichever is longer.
    fn around_ns(&mut self) -> u64 {
        let now_ns = self.work.sample_ns();
        self.fastest_ns = self.fastest_ns.min(now_ns);
        std::mem::replace(&mut self.before_ns, now_ns).max(now_ns)
    }

    fn is_calm(&self, took_ns: u64) -> bool {
        took_ns as f64 <= self.fastest_ns as f64 * (1.0 + CALM)
    }
}

/// A witness for measurements without one: every sample counts as calm.
struct Undisturbed;

impl Subject for Undisturbed {
    fn time_ns(&mut self, _repeats: u32) -> u64 {
        u64::MAX
    }
}

/// The number of repeats that lasts `sample_ns`. Doubles it until a sample is long enough, which also warms
/// up, then reduces it in proportion to the excess.
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

fn summarise(samples: &[Sample]) -> Measured {
    let [fastest_ns, first_ns, run_ns, third_ns] = quarters(samples.iter().map(|sample| sample.run_ns));
    let clocks: Option<Vec<_>> = samples.iter().map(|sample| sample.clock_ns).collect();
    let clock_ns = clocks.map(|clocks| quarters(clocks.into_iter())[2]);
    Measured { run_ns, fastest_ns, spread: (third_ns - first_ns) / run_ns, clock_ns }
}

/// The minimum and the three quartiles; NaN if there are no samples.
fn quarters(times_ns: impl Iterator<Item = f64>) -> [f64; 4] {
    let mut times_ns: Vec<_> = times_ns.collect();
    times_ns.sort_by(f64::total_cmp);
    [0, 1, 2, 3].map(|quarter| times_ns.get(times_ns.len() * quarter / 4).copied().unwrap_or(f64::NAN))
}
