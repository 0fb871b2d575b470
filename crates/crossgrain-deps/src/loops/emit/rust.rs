//! The fixed parts of emitted Rust programs.

/// Before the declarations.
pub(super) const HEAD: &str = r#"// Written by `crossgrain deps`. Names of the loops begin with `my_`.
// Build it in release mode with the crate `rayon`, and run it as `program [NAME=VALUE]...`.
// It fails if the serial and the parallel version differ, and otherwise prints the times of both.
#![allow(dead_code, non_snake_case, non_upper_case_globals, unused_imports, unused_mut, unused_parens, unused_variables)]
#![allow(unused_assignments, unused_comparisons, clippy::all)]

use rayon::prelude::*;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

fn refuse(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}

/// The number of iterations of a loop.
fn trips(from: i64, to: i64, step: i64) -> i64 {
    let room = if step > 0 { to - from } else { from - to };
    if room < 0 { 0 } else { room / step.abs() + 1 }
}

/// Checks arithmetic of the first run.
fn fits(number: Option<i64>) -> i64 {
    match number {
        Some(number) if number.unsigned_abs() < 1 << 62 => number,
        _ => refuse("a number of the loops is too large with these sizes"),
    }
}

fn plus(a: i64, b: i64) -> i64 {
    fits(a.checked_add(b))
}

fn minus(a: i64, b: i64) -> i64 {
    fits(a.checked_sub(b))
}

fn product(a: i64, b: i64) -> i64 {
    fits(a.checked_mul(b))
}

/// Checks a subscript of the first run.
fn within(place: &str, at: i64, from: i64, len: i64) -> i64 {
    if at < from || at - from >= len {
        refuse(&format!("{place}: subscript {at} is not from {from} to {}", from + len - 1));
    }
    at - from
}

fn elements(name: &str, len: i64, others: i64) -> i64 {
    if len < 1 {
        refuse(&format!("`{name}` has no elements with these sizes"));
    }
    if len > (1 << 32) / others {
        refuse(&format!("`{name}` is too large: arrays have at most 2^32 words together"));
    }
    len * others
}

/// Allocates an array.
fn taken(total: &mut i64, cells: i64) -> Vec<AtomicU32> {
    *total += cells;
    if *total > 1 << 32 {
        refuse("the arrays are too large: they have at most 2^32 words together");
    }
    let mut words = Vec::new();
    if words.try_reserve_exact(cells as usize).is_err() {
        refuse("there is not enough memory for these sizes");
    }
    words.resize_with(cells as usize, || AtomicU32::new(0));
    words
}

"#;

/// After the loops: initial values and digests.
pub(super) const FILL: &str = "fn painted(seed: u32, cell: usize) -> u32 {
    let word = seed.wrapping_add((cell as u32).wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    word ^ word >> 15
}

fn fill(words: &[AtomicU32], seed: u32) {
    words.iter().enumerate().for_each(|(cell, word)| word.store(painted(seed, cell), Relaxed));
}

fn add(sum: u64, word: u32) -> u64 {
    (sum ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3)
}

fn add_number(sum: u64, number: i64) -> u64 {
    add(add(sum, number as u32), (number >> 32) as u32)
}

";

/// The end: arguments, comparison and times. `black_box` keeps repeated runs from being omitted.
pub(super) const MAIN: &str = r#"fn number(text: &str, argument: usize) -> i64 {
    match text.parse::<i64>() {
        Ok(number) if number.unsigned_abs() <= 1 << 40 => number,
        _ => refuse(&format!("argument {argument}: a number of at most 2^40 is wanted after `=`")),
    }
}

/// Runs a version on the initial values. Returns the digest and the seconds.
fn once(v: &Variables, version: fn(&Variables)) -> (u64, f64) {
    reset(v);
    let start = std::time::Instant::now();
    std::hint::black_box(version)(std::hint::black_box(v));
    let seconds = start.elapsed().as_secs_f64();
    (digest(v), seconds)
}

fn fastest(v: &Variables, version: fn(&Variables), runs: i64, wanted: u64) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let (got, seconds) = once(v, version);
        assert_eq!(wanted, got, "the versions differ");
        best = best.min(seconds);
    }
    best.max(1e-9)
}

/// Takes the arguments. Returns the threads and the runs for each time.
fn arguments(v: &mut Variables) -> (i64, i64) {
    let (mut threads, mut runs) = (rayon::current_num_threads() as i64, 5);
    for (k, argument) in std::env::args_os().enumerate().skip(1) {
        let Some((name, value)) = argument.to_str().and_then(|text| text.split_once('=')) else {
            refuse(&format!("argument {k}: NAME=VALUE is wanted; {NAMES}"))
        };
        let to = number(value, k);
        if set(v, name, to) {
            continue;
        }
        let option = match name {
            "threads" => &mut threads,
            "runs" => &mut runs,
            _ => refuse(&format!("argument {k}: the name is unknown; {NAMES}")),
        };
        if !(1..=1024).contains(&to) {
            refuse(&format!("argument {k}: a number from 1 to 1024 is wanted"));
        }
        *option = to;
    }
    (threads, runs)
}

fn pool(threads: i64) -> rayon::ThreadPool {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build();
    pool.unwrap_or_else(|_| refuse("so many threads cannot be started"))
}

pub fn main() {
    let mut v = declared();
    let (threads, runs) = arguments(&mut v);
    allocate(&mut v);
    let v = &v;
    let (wanted, _) = once(v, checked);
    assert_eq!(wanted, once(v, serial).0, "the serial versions differ");
    let (got, _) = pool(threads).install(|| once(v, parallel));
    assert_eq!(wanted, got, "the versions differ");
    println!("{wanted:016x} {got:016x}\n{:>7} {:>12} {:>9}", "threads", "seconds", "speed-up");
    let alone = fastest(v, serial, runs, wanted);
    println!("{:>7} {alone:12.6} {:9.2}", "serial", 1.0);
    for count in 1..=threads {
        let time = pool(count).install(|| fastest(v, parallel, runs, wanted));
        println!("{count:7} {time:12.6} {:9.2}", alone / time);
    }
}
"#;
