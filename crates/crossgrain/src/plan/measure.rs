//! Timing like a sceptic.
//!
//! Subjects are warmed up until one sample takes long enough for the clock, then sampled in turns, so
//! that whatever disturbs the machine disturbs all alike; the first turn is dropped; the median stands
//! for a subject, and the distance between its quartiles says how far to believe it. Who compares subjects to
//! choose one takes the fastest sample instead: on a busy machine whole quarters of the samples are disturbed,
//! and disturbances only ever add.
//!
//! Where the machine is another's too, medians are of its work as well. Then a witness, work that always is the same, is
//! timed before and after every sample, and of more turns than count those count whose witness took least: what is
//! measured has no say in it, so nobody is chosen for being lucky. A clock may go along: work whose cycles are known, timed
//! right after every sample, since cores run slower while wide registers are used.
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
    /// Median time of one run of the clock after the samples that count, in nanoseconds; `None` without a clock.
    pub clock_ns: Option<f64>,
}

/// Measures all subjects in turns.
pub fn measure(subjects: &mut [&mut dyn Subject], care: Care) -> Vec<Measured> {
    in_turns(&mut Undisturbed, None, care.turns, subjects, care)
}

/// The same beside a witness, work that always is the same, and a clock, work that takes the same number of cycles whatever
/// else the core does: up to `patience` times as many turns, until as many as count were calm.
pub fn measure_beside(
    witness: &mut dyn Subject,
    clock: &mut dyn Subject,
    patience: usize,
    subjects: &mut [&mut dyn Subject],
    care: Care,
) -> Vec<Measured> {
    in_turns(witness, Some(clock), care.turns.saturating_mul(patience.max(1)), subjects, care)
}

/// Up to `turns` turns, until as many as count were calm.
fn in_turns(
    witness: &mut dyn Subject,
    clock: Option<&mut dyn Subject>,
    turns: usize,
    subjects: &mut [&mut dyn Subject],
    care: Care,
) -> Vec<Measured> {
    let repeats: Vec<u32> = subjects.iter_mut().map(|subject| calibrate(*subject, care.sample_ns)).collect();
    let mut witness = Witness::new(witness, care.sample_ns / BESIDE_SHARE);
    let mut clock = clock.map(|clock| Repeated::new(clock, care.sample_ns / BESIDE_SHARE));
    let mut samples = vec![Vec::with_capacity(turns); subjects.len()];
    for turn in 0..=turns {
        for ((subject, &repeats), samples) in subjects.iter_mut().zip(&repeats).zip(&mut samples) {
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
            samples.iter().filter(|sample| witness.is_calm(sample.witness_ns)).count() >= care.turns
        };
        if turn >= care.turns && samples.iter().all(are_calm) {
            break;
        }
    }
    samples.into_iter().map(|samples| summarise(&calmest(samples, care.turns))).collect()
}

/// Samples are so many times as long as the witness and the clock beside them.
const BESIDE_SHARE: u64 = 16;

/// A sample is calm if its witness took no longer than the fastest by more than this fraction.
const CALM: f64 = 0.02;

/// A run of a subject.
#[derive(Clone, Copy)]
struct Sample {
    /// The witness's time, the longer of before and after.
    witness_ns: u64,
    run_ns: f64,
    clock_ns: Option<f64>,
}

/// The samples whose witness took least.
fn calmest(mut samples: Vec<Sample>, count: usize) -> Vec<Sample> {
    samples.sort_by_key(|sample| sample.witness_ns);
    samples.truncate(count);
    samples
}

/// A subject with the repeats that make a sample of it.
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

/// Work that always is the same, and what is known of its time.
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

    /// What it took when it was last asked or takes now, whichever is longer.
    fn around_ns(&mut self) -> u64 {
        let now_ns = self.work.sample_ns();
        self.fastest_ns = self.fastest_ns.min(now_ns);
        std::mem::replace(&mut self.before_ns, now_ns).max(now_ns)
    }

    fn is_calm(&self, took_ns: u64) -> bool {
        took_ns as f64 <= self.fastest_ns as f64 * (1.0 + CALM)
    }
}

/// A witness that nothing disturbs.
struct Undisturbed;

impl Subject for Undisturbed {
    fn time_ns(&mut self, _repeats: u32) -> u64 {
        u64::MAX
    }
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

fn summarise(samples: &[Sample]) -> Measured {
    let [fastest_ns, first_ns, run_ns, third_ns] = quarters(samples.iter().map(|sample| sample.run_ns));
    let clocks: Option<Vec<_>> = samples.iter().map(|sample| sample.clock_ns).collect();
    let clock_ns = clocks.map(|clocks| quarters(clocks.into_iter())[2]);
    Measured { run_ns, fastest_ns, spread: (third_ns - first_ns) / run_ns, clock_ns }
}

/// The least, and what a quarter, half and three quarters are below; NaN of nothing.
fn quarters(times_ns: impl Iterator<Item = f64>) -> [f64; 4] {
    let mut times_ns: Vec<_> = times_ns.collect();
    times_ns.sort_by(f64::total_cmp);
    [0, 1, 2, 3].map(|quarter| times_ns.get(times_ns.len() * quarter / 4).copied().unwrap_or(f64::NAN))
}
