//! Costs: the shipped estimates cover the table, and measured costs come from the given clock, with and
//! without disturbance.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::cell::Cell;
use std::collections::HashSet;

use crossgrain::engine::arch::{CAP_WITHOUT_AES, ESTIMATES};
use crossgrain::engine::tune::{CANDIDATE_MS, Scope, measure_costs};
use crossgrain::engine::variant::{Action, Policy, Variant, table};
use crossgrain::plan::Costs;
use crossgrain::plan::measure::{Sampling, Subject, measure, measure_beside, race};
use crossgrain::{Cipher, Features};

#[test]
fn every_variant_has_an_estimate_and_every_estimate_a_variant() {
    let estimates = Costs::estimates(Cipher::Aes128);
    for variant in table() {
        let cost = estimates.get(variant).unwrap_or_else(|| panic!("{} has no estimate", variant.name));
        assert!(cost.per_byte_ns > 0.0 && cost.fixed_ns >= 0.0, "{}", variant.name);
    }
    assert_eq!(estimates.iter().count(), table().len());
    assert!(estimates.iter().all(|(_, known)| known.spread.is_none()), "nothing was measured");
}

/// Derived estimates are the basis for a new cipher's plans.
#[test]
fn estimates_derived_from_instructions_are_near_those_that_were_measured() {
    let mut wrong = Vec::new();
    // Steps of a search load and store keys and round keys. On registers that takes as long as the instructions.
    let is_judged = |row: &&Variant| row.isa == "portable" || !matches!(row.action, Action::SearchStep(..));
    let rows = table().iter().filter(is_judged);
    for (row, derived) in rows.filter_map(|row| Some((row, Costs::derived(row)?))) {
        let serves = |cipher: &Cipher| row.family.is_none_or(|family| family == cipher.family());
        let first = Cipher::ALL.into_iter().find(serves).unwrap();
        let listed = Costs::estimates(first).get(row).unwrap();
        let ratio = derived.per_byte_ns / listed.per_byte_ns;
        println!("{ratio:5.2} {}", row.name);
        if !(0.5..2.0).contains(&ratio) {
            wrong.push(format!("{} is estimated at {ratio:.2} times its cost", row.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn whole_ciphers_are_estimated_by_their_rounds_and_steps_are_not() {
    let (short, long) = (Costs::estimates(Cipher::Aes128), Costs::estimates(Cipher::Aes256));
    let ratio = |name: &str| {
        let of = |costs: &Costs| costs.iter().find(|(n, _)| *n == name).unwrap().1.cost.per_byte_ns;
        of(&long) / of(&short)
    };
    assert!((ratio("aes-encrypt/bitsliced64/portable") - 1.4).abs() < 1e-9);
    assert!((ratio("sub-bytes/bitsliced64/portable") - 1.0).abs() < 1e-9);
    assert!((ratio("aes-round/bitsliced64/portable") - 1.0).abs() < 1e-9);
}

#[test]
fn measuring_reads_only_the_clock_it_is_given() {
    let now = Cell::new(0);
    let clock_ns = || {
        now.set(now.get() + 4096);
        now.get()
    };
    let features = CAP_WITHOUT_AES.parse::<Features>().unwrap() & Features::of_cpu();
    let scope = Scope { cipher: Cipher::Aes192, features, policy: Policy::ConstantTime, budget_ms: Some(1) };
    let watched = Cell::new(0);
    let costs = measure_costs(scope, &clock_ns, &|| watched.set(watched.get() + 1)).unwrap();
    assert!(watched.get() > 20 * costs.iter().count());
    let unbounded = Scope { budget_ms: None, ..scope };
    assert_eq!(unbounded.takes_ms(), CANDIDATE_MS * costs.iter().count() as u64);
    for variant in table() {
        let family = scope.cipher.family();
        let in_scope = (variant.serves(family) || variant.serves_search(family))
            && variant.is_available(features)
            && scope.policy.admits(variant.leaks);
        assert_eq!(costs.get(variant).is_some(), in_scope, "{}", variant.name);
    }
    // On this clock every run takes the same time, and every part runs on a full tile of 8 KiB.
    let part = costs.iter().find(|(name, _)| *name == "sub-bytes/bitsliced64/portable").unwrap().1.cost;
    assert!((part.per_byte_ns - 0.5).abs() < 1e-9, "{part:?}");
    assert!((part.fixed_ns - 512.0).abs() < 1e-9, "{part:?}");
    assert!(costs.iter().all(|(_, known)| known.spread == Some(0.0)), "{costs}");
}

#[test]
fn costs_print_as_they_are_shipped() {
    let name = |line: &str| line.rsplit(' ').next().unwrap().to_owned();
    let of_integers = include_str!("../src/plan/estimates.txt").lines();
    let mut shipped: Vec<_> = of_integers.chain(ESTIMATES.lines()).collect();
    shipped.sort_by_key(|line| name(line));
    let listed: HashSet<_> = shipped.iter().map(|line| name(line)).collect();
    // Rows without a line have derived estimates.
    let printed = Costs::estimates(Cipher::Aes128).to_string();
    let printed: Vec<_> = printed.lines().filter(|line| listed.contains(&name(line))).collect();
    assert_eq!(printed, shipped);
}

/// Takes `base` nanoseconds a run, and ten times as long in every fifth call.
struct Fake {
    base: u64,
    calls: u64,
}

impl Subject for Fake {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        self.calls += 1;
        let disturbed = if self.calls.is_multiple_of(5) { 10 } else { 1 };
        self.base * u64::from(repeats) * disturbed
    }
}

#[test]
fn the_median_ignores_disturbed_samples() {
    let (mut fast, mut slow) = (Fake { base: 70, calls: 0 }, Fake { base: 900, calls: 1 });
    let found = measure(&mut [&mut fast, &mut slow], Sampling { turns: 9, sample_ns: 10_000 });
    assert_eq!([found[0].run_ns, found[1].run_ns], [70.0, 900.0]);
    assert_eq!([found[0].fastest_ns, found[1].fastest_ns], [70.0, 900.0]);
    assert!(found.iter().all(|found| found.spread >= 0.0));
}

/// Takes three times the time in nine of ten periods. The clock advances while it runs.
struct Beside<'a> {
    clock_ns: &'a Cell<u64>,
    base: u64,
}

impl Subject for Beside<'_> {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let is_calm = (self.clock_ns.get() / 1_000_000).is_multiple_of(10);
        let took_ns = self.base * u64::from(repeats) * if is_calm { 1 } else { 3 };
        self.clock_ns.set(self.clock_ns.get() + took_ns);
        took_ns
    }
}

#[test]
fn beside_a_witness_the_calm_samples_count() {
    let clock_ns = Cell::new(0);
    let [mut witness, mut clock, mut a, mut b] =
        [10, 5, 70, 900].map(|base| Beside { clock_ns: &clock_ns, base });
    let sampling = Sampling { turns: 9, sample_ns: 20_000 };
    let found = measure_beside(&mut witness, &mut clock, 20, &mut [&mut a, &mut b], sampling);
    assert_eq!([found[0].run_ns, found[1].run_ns], [70.0, 900.0]);
    assert_eq!([found[0].clock_ns, found[1].clock_ns], [Some(5.0); 2]);
    assert!(found.iter().all(|found| found.spread < 0.01), "{found:?}");
    let alone = measure(&mut [&mut a, &mut b], Sampling { turns: 90, ..sampling });
    assert_eq!([alone[0].run_ns, alone[1].run_ns], [210.0, 2700.0]);
    assert_eq!(alone[0].clock_ns, None);
}

#[test]
fn subjects_take_turns_after_they_are_calibrated() {
    let (mut a, mut b) = (Fake { base: 1, calls: 0 }, Fake { base: 1 << 20, calls: 0 });
    measure(&mut [&mut a, &mut b], Sampling { turns: 3, sample_ns: 1000 });
    // One turn more is dropped, and each sample of several runs is warmed up.
    assert_eq!((a.calls, b.calls), (10 + 2 * 4, 1 + 4));
}

#[test]
fn slow_subjects_leave_a_race() {
    let [mut fastest, mut next, mut slow] = [700, 1300, 1500].map(|base| Fake { base, calls: 0 });
    let sampling = Sampling { turns: 9, sample_ns: 1 };
    let found = race(&mut [&mut fastest, &mut next, &mut slow], sampling);
    assert_eq!([0, 1, 2].map(|place: usize| found[place].fastest_ns), [700.0, 1300.0, 1500.0]);
    // One call calibrates, and one turn is dropped.
    assert_eq!([fastest.calls, next.calls, slow.calls], [1 + 1 + 9, 1 + 1 + 9, 1 + 1 + 3]);
}
