//! Along or across the grain? Four small computations in both representations, at every word width that the
//! machine has. Run with `cargo run --release -p crossgrain --example primer`; docs/primer.md explains the
//! results.
//!
//! Along the grain, a value is a whole byte or `u32`, and instructions work on whole values. Across it, word
//! i holds bit i of one value per bit of the word, and a computation is a circuit of gates. Every result is
//! compared with that of a plain loop before anything is timed.

mod add;
mod and;
mod lanes;
mod lesson;
mod popcount;
mod sbox;
mod table;
#[cfg(test)]
mod tests;
mod trial;
mod word16;

use crossgrain::Features;
use crossgrain::engine::arch::{Isa, Register, Word128, Word256, Word512};
use crossgrain::plan::measure::{Sampling, Subject, measure};

use lesson::{Form, Lesson};
use table::Row;
use trial::Trial;
use word16::Word16;

/// Many short samples: on a busy machine most of them are still undisturbed.
const CARE: Sampling = Sampling { turns: 41, sample_ns: 400_000 };

/// The contestants at one width, in the order of `Form::ALL`.
struct Contest {
    bits: usize,
    trials: [Box<dyn Subject>; 3],
}

/// The three forms of a lesson on words `W`, checked; `None` if the CPU lacks these words.
fn contest<W, L, const VALUE: usize, const IN: usize, const OUT: usize>(features: Features) -> Option<Contest>
where
    W: Register,
    L: Lesson<VALUE, IN, OUT>,
{
    let isa = W::Isa::detect(features)?;
    let trial = |form| -> Box<dyn Subject> { Box::new(Trial::<W, L, VALUE, IN, OUT>::checked(isa, form)) };
    Some(Contest { bits: W::BITS, trials: Form::ALL.map(trial) })
}

/// Checks, measures and prints one lesson.
fn teach<L, const VALUE: usize, const IN: usize, const OUT: usize>(features: Features)
where
    L: Lesson<VALUE, IN, OUT>,
{
    let contests = [
        contest::<Word16, L, VALUE, IN, OUT>(features),
        contest::<u32, L, VALUE, IN, OUT>(features),
        contest::<u64, L, VALUE, IN, OUT>(features),
        contest::<Word128, L, VALUE, IN, OUT>(features),
        contest::<Word256, L, VALUE, IN, OUT>(features),
        contest::<Word512, L, VALUE, IN, OUT>(features),
    ];
    let mut contests: Vec<_> = contests.into_iter().flatten().collect();
    let mut subjects: Vec<&mut dyn Subject> = Vec::new();
    for contest in &mut contests {
        subjects.extend(contest.trials.iter_mut().map(|trial| &mut **trial as &mut dyn Subject));
    }
    let found = measure(&mut subjects, CARE);
    let values = lesson::values_in_tile(VALUE) as f64;
    let speeds: Vec<_> = found.iter().map(|found| values / found.run_ns).collect();
    let rows = contests.iter().zip(speeds.as_chunks().0);
    let rows: Vec<_> = rows.map(|(contest, &speeds)| Row::new(contest.bits, speeds)).collect();
    let spread = found.iter().map(|found| found.spread).fold(0.0, f64::max);
    println!("\n{}\n\n{}", L::TITLE, table::show(&rows));
    println!("  Spread of the samples: up to {:.0} % of their median.", 100.0 * spread);
}

/// Prints which words this machine lacks.
fn show_skipped<W: Register>(features: Features) {
    if W::Isa::detect(features).is_none() {
        println!("skipped: words of {} bits (needs {})", W::BITS, W::Isa::NEEDS);
    }
}

/// The processor's name, if the system gives it.
fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or(std::env::consts::ARCH, |(_, name)| name).to_owned()
}

fn main() -> Result<(), crossgrain::Error> {
    let features = Features::from_environment()?;
    println!("machine: {} ({features}); values per nanosecond, one thread, data in L1", machine());
    show_skipped::<Word128>(features);
    show_skipped::<Word256>(features);
    show_skipped::<Word512>(features);
    teach::<and::And, 8, 1, 1>(features);
    teach::<add::Add, 32, 32, 32>(features);
    teach::<popcount::Popcount, 8, 8, 4>(features);
    teach::<sbox::Sbox, 8, 8, 8>(features);
    Ok(())
}
