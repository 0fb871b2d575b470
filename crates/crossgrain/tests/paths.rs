//! Any path gives the same bytes. Random costs make a random path the cheapest.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{ALL_CAP, CAP_WITHOUT_AES, capped, expected, key, painted, run};
use crossgrain::engine::variant::{Policy, table};
use crossgrain::mode::{Ctr, Options};
use crossgrain::plan::compose::Cost;
use crossgrain::plan::{Costs, JobSource};
use crossgrain::{Cipher, Direction};

/// Costs from a seed. Most edges are expensive and single steps are cheap, so that paths change
/// representation often.
fn random_costs(seed: u64) -> Costs {
    let numbers = painted(table().len() * 2, seed);
    let cost = |i: usize| {
        let dear = if numbers[2 * i].is_multiple_of(3) { 1.0 } else { 100.0 };
        Cost::per_byte(dear * (1.0 + f64::from(numbers[2 * i + 1])))
    };
    let whole =
        |name: &str| (name.starts_with("aes-") || name.starts_with("serpent-")) && !name.contains("round");
    let rows = table().iter().enumerate();
    rows.map(|(i, v)| {
        let factor = if whole(&v.name) { 1e4 } else { 1.0 };
        (v.name.clone(), Cost::per_byte(cost(i).per_byte_ns * factor))
    })
    .collect()
}

#[test]
fn every_random_path_gives_the_reference_s_bytes() {
    let data = painted(16 * 1100, 7);
    let mut mixed = 0;
    for seed in 0..90 {
        let costs = Arc::new(random_costs(seed));
        for cap in ["portable", CAP_WITHOUT_AES, ALL_CAP] {
            let costs = Some(Arc::clone(&costs));
            let options = Options { policy: Policy::Any, costs, ..capped(cap, 1) };
            let cipher = Cipher::ALL[seed as usize % Cipher::ALL.len()];
            let key = key(cipher, seed);
            for (direction, source) in [
                (Direction::Encrypt, JobSource::Bytes),
                (Direction::Decrypt, JobSource::Bytes),
                (Direction::Encrypt, JobSource::Counter),
            ] {
                let mut got = data.clone();
                run(&key, direction, source, 250, &options, &mut got);
                let want = expected(&key, direction, source, 250, &data);
                assert!(got == want, "seed {seed}, {cap}, {cipher}, {direction:?}, {source:?}");
            }
            let plan = Ctr::with_options(&key, &[0; 16], &options).unwrap().plans()[0].clone();
            let mut shapes: Vec<_> = plan.stages.iter().map(|stage| stage.variant.repr.to_string()).collect();
            shapes.dedup();
            mixed += usize::from(shapes.len() > 3);
        }
    }
    assert!(mixed > 20, "only {mixed} paths changed representation on their way");
}
