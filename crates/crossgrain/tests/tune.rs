//! Costs: what is shipped covers the table, and what is measured comes from the clock that was given.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::cell::Cell;

use crossgrain::plan::Costs;
use crossgrain::tune::{Scope, measure_costs};
use crossgrain::variant::{Policy, table};
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
    let features = "avx2-aes".parse::<Features>().unwrap() & Features::of_cpu();
    let scope = Scope { cipher: Cipher::Aes192, features, policy: Policy::ConstantTime, budget_ms: 1 };
    let costs = measure_costs(scope, &clock_ns).unwrap();
    for variant in table() {
        let in_scope = variant.serves(scope.cipher.family())
            && variant.is_available(features)
            && scope.policy.admits(variant.leaks);
        assert_eq!(costs.get(variant).is_some(), in_scope, "{}", variant.name);
    }
    // Every run takes the same time on this clock: a full tile of 8 KiB for every part.
    let part = costs.iter().find(|(name, _)| *name == "sub-bytes/bitsliced64/portable").unwrap().1.cost;
    assert!((part.per_byte_ns - 0.5).abs() < 1e-9, "{part:?}");
    assert!((part.fixed_ns - 512.0).abs() < 1e-9, "{part:?}");
    assert!(costs.iter().all(|(_, known)| known.spread == Some(0.0)), "{costs}");
}

#[test]
fn costs_print_as_they_are_shipped() {
    let shipped = include_str!("../src/plan/estimates.txt");
    assert_eq!(Costs::estimates(Cipher::Aes128).to_string(), shipped);
}
