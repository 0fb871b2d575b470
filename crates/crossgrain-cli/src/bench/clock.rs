//! The machine: its processor, and the current clock rate of its cores.

use std::hint::black_box;
use std::time::Instant;

/// The processor's name, family and model, and the numbers of threads and cores that this process may use.
/// Virtual machines may shorten the name to the maker's, so family and model identify the processor.
pub(crate) fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let of_first = |key: &str| {
        let mut lines = info.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    let mut name = of_first("model name").unwrap_or(std::env::consts::ARCH).to_owned();
    if let (Some(family), Some(model)) = (of_first("cpu family"), of_first("model")) {
        name += &format!(" (family {family}, model {model})");
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = cores().map_or_else(String::new, |cores| format!(" on {cores} cores"));
    format!("{name}, {threads} threads{cores}").replace("on 1 cores", "on 1 core")
}

/// The number of cores that the allowed CPUs belong to. Two hardware threads may share a core. `None` if the
/// system does not say.
fn cores() -> Option<usize> {
    let cpus = allowed_cpus();
    let ranges = cpus.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    });
    let ranges: Vec<_> = ranges.collect::<Option<_>>()?;
    let siblings = ranges.into_iter().flatten().map(|cpu| {
        std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))
            .ok()
    });
    Some(siblings.collect::<Option<std::collections::BTreeSet<_>>>()?.len())
}

/// The system's load average of the last minute, as a number in text.
pub(crate) fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// The CPUs that this process may run on, for example `1` or `0-3`.
pub(crate) fn allowed_cpus() -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cpus = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cpus.unwrap_or("unknown").trim().to_owned()
}

/// Steps of the dependent chain.
const STEPS: u32 = 2000;

/// Some microseconds of multiplications and XORs that each depend on the previous result. A step takes three
/// cycles and one on every x86-64 core of the last ten years, whatever the other hardware thread of the core
/// does.
pub(crate) fn chain() {
    let factor = black_box(0x5851_f42d_4c95_7f2d_u64);
    black_box((0..STEPS).fold(1_u64, |x, _| mixed(x.wrapping_mul(factor))));
}

/// The clock of a core in GHz if [`chain`] takes this time.
pub(crate) fn ghz(chain_ns: f64) -> Option<f64> {
    cfg!(target_arch = "x86_64").then(|| 4.0 * f64::from(STEPS) / chain_ns)
}

/// The clock in GHz of a core that does nothing else.
pub(crate) fn core_ghz() -> Option<f64> {
    let sample = || {
        let start = Instant::now();
        (0..1000).for_each(|_| chain());
        ghz(start.elapsed().as_nanos() as f64 / 1000.0)
    };
    // Interruptions only make the clock look slower, and a neighbouring thread may lower it for a while. So
    // this samples for a third of a second.
    (0..99).filter_map(|_| sample()).reduce(f64::max)
}

/// Some microseconds of independent operations. The time grows with the share of the core that another
/// hardware thread takes, and with a lower clock.
pub(crate) fn witness() {
    let mut lanes = black_box([1_u64, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..STEPS {
        for lane in &mut lanes {
            *lane = mixed(lane.rotate_left(7));
        }
    }
    black_box(lanes);
}

/// One more cycle per step, in a form that the compiler cannot simplify.
const fn mixed(x: u64) -> u64 {
    x ^ 0x9e37_79b9
}
