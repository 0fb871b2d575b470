//! Key search kernels. Each finds a key in every lane, with the varied bytes anywhere in the key, and reports
//! few false matches.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::HashMap;

use common::{CAPS, ciphers, here, painted};
use crossgrain::engine::block::Block;
use crossgrain::engine::kernel::search::{Known, SearchPart};
use crossgrain::engine::variant::{Action, Leaks, Policy, Variant, find, table};
use crossgrain::engine::{check, reference, run};
use crossgrain::plan::graph::JobFlow;
use crossgrain::plan::{Costs, Job, JobSource, Limits, Plan, TableReuse, choose};
use crossgrain::{Cipher, Direction, Features, Key};

const INPUT: Block = *b"sixteen bytes in";

const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

/// The known output of the fixed input block under a key, with every bit known.
fn known(cipher: Cipher, direction: Direction, key: &[u8]) -> Known {
    let mut output = INPUT;
    let cipher = reference::cipher(&Key::new(cipher, key).unwrap());
    match direction {
        Direction::Encrypt => cipher.encrypt(&mut output),
        Direction::Decrypt => cipher.decrypt(&mut output),
    }
    Known { direction, input: INPUT, output, mask: [0xff; 16] }
}

/// Every kernel that does a whole search, and every composition of a step variant with others, in each of its
/// jobs.
fn searches() -> impl Iterator<Item = (&'static Variant, Job)> {
    let searches = |variant: &&Variant| matches!(variant.action, Action::Search(..) | Action::SearchStep(..));
    let there = table().iter().filter(searches).filter_map(here);
    there.flat_map(|variant| {
        let of = move |cipher| check::jobs(variant, cipher).into_iter().map(move |job| (variant, job));
        // A comparison serves several families. The first one is enough.
        let mut all = Cipher::ALL.into_iter().map(Cipher::family);
        let family = all.find(|family| variant.serves_search(*family)).unwrap();
        ciphers(family).into_iter().flat_map(of)
    })
}

/// Whether the variant does one step of a search and others do the rest.
fn is_step(variant: &Variant) -> bool {
    matches!(variant.action, Action::SearchStep(..))
}

fn limits(features: Features, forced: &[&str]) -> Limits {
    let forced = forced.iter().map(|name| find(name).unwrap()).collect();
    Limits { forced, ..Limits::of(features, Policy::Any) }
}

/// A plan that contains the variant.
fn plan_with(variant: &Variant, job: Job) -> Plan {
    choose(job, &limits(Features::of_cpu(), &[&variant.name]), &Costs::default()).unwrap().swap_remove(0)
}

fn usage(job: Job) -> TableReuse {
    let JobSource::Keys { usage, .. } = job.source else { panic!("{job}") };
    usage
}

fn bound(variant: &Variant, job: Job, known: &Known) -> Box<dyn SearchPart> {
    run::search(&plan_with(variant, job), Features::of_cpu(), job.cipher, known).unwrap()
}

/// Whether a key maps the block to the known bits.
fn holds(known: &Known, cipher: Cipher, key: &[u8]) -> bool {
    let output = self::known(cipher, known.direction, key).output;
    (0..16).all(|i| (output[i] ^ known.output[i]) & known.mask[i] == 0)
}

/// Inner keys that differ in two bytes, and one outer key with the other bytes.
fn tables(cipher: Cipher, at: [usize; 2], keys: usize) -> (Vec<u8>, Vec<u8>) {
    let mut inner = vec![0; keys * cipher.key_bytes()];
    for (i, key) in inner.chunks_exact_mut(cipher.key_bytes()).enumerate() {
        key[at[0]] = i as u8;
        key[at[1]] = (i >> 8) as u8 ^ 0x5a;
    }
    let mut outer = painted(cipher.key_bytes(), 7);
    at.into_iter().for_each(|at| outer[at] = 0);
    (outer, inner)
}

fn planted(cipher: Cipher, outer: &[u8], inner: &[u8], number: usize) -> Vec<u8> {
    let inner = &inner[number * cipher.key_bytes()..][..cipher.key_bytes()];
    outer.iter().zip(inner).map(|(a, b)| a ^ b).collect()
}

#[test]
fn a_key_is_found_in_every_lane() {
    keys_are_found_in_lanes(7);
}

#[test]
#[ignore = "takes a minute"]
fn a_key_is_found_in_every_lane_of_a_composition() {
    keys_are_found_in_lanes(1);
}

/// Tests whole kernels in every lane, and compositions in one lane of `one_of`. The key schedules of
/// compositions are slow in barely optimised builds, and each key sought runs the whole table through them.
fn keys_are_found_in_lanes(one_of: usize) {
    let mut knowns = HashMap::new();
    for (variant, job) in searches() {
        let Job { cipher, direction, .. } = job;
        let end = cipher.key_bytes() - 1;
        let lanes = bound(variant, job, &known(cipher, direction, &vec![0; end + 1])).lanes();
        let keys = lanes + lanes / 2 + 1;
        let (outer, inner) = tables(cipher, [end, end - 1], keys);
        let one_of = if is_step(variant) { one_of } else { 1 };
        for number in (0..keys).filter(|number| number % one_of == 0 || number + 1 == keys) {
            // All kernels search for the same keys; only their number differs.
            let known = knowns
                .entry((cipher, direction, number))
                .or_insert_with(|| known(cipher, direction, &planted(cipher, &outer, &inner, number)));
            let mut found = Vec::new();
            let table = bound(variant, job, known).inner(&inner, usage(job));
            table.search(&outer, &mut Vec::new(), &mut found);
            assert!(
                found.contains(&number) && found.len() < 4,
                "{}, {job}, {number}: {found:?}",
                variant.name
            );
        }
    }
}

#[test]
fn varied_bytes_and_known_bytes_may_lie_anywhere() {
    for (variant, job) in searches() {
        let Job { cipher, direction, .. } = job;
        let key_bytes = cipher.key_bytes();
        // In a composition another part expands the keys, so a few positions are enough.
        for at in (0..key_bytes).step_by(if is_step(variant) { 5 } else { 1 }) {
            let (outer, inner) = tables(cipher, [at, (at + 5) % key_bytes], 300);
            let key = planted(cipher, &outer, &inner, 299);
            let mut known = known(cipher, direction, &key);
            // Two bytes are known, in the same word or in two words. The unknown bits are set wrong.
            for (byte, wrong) in known.output.iter_mut().enumerate() {
                let is_known = byte == at % 16 || byte == (at * 7 + 3) % 16;
                known.mask[byte] = if is_known { 0xff } else { 0 };
                *wrong ^= !known.mask[byte];
            }
            let mut found = Vec::new();
            let table = bound(variant, job, &known).inner(&inner, usage(job));
            table.search(&outer, &mut Vec::new(), &mut found);
            assert!(found.contains(&299) && found.len() < 20, "{}, {job}, {at}: {found:?}", variant.name);
        }
    }
}

#[test]
fn a_table_is_refilled_and_an_empty_one_finds_nothing() {
    for (variant, job) in searches() {
        let Job { cipher, direction, .. } = job;
        let (outer, inner) = tables(cipher, [0, 1], 40);
        let key = planted(cipher, &outer, &inner, 17);
        let known = known(cipher, direction, &key);
        // A table for frequent reuse accepts outer keys for single use, and the reverse.
        let mut table = bound(variant, job, &known).inner(&[], usage(job));
        let (mut scratch, mut found) = (Vec::new(), Vec::new());
        table.search(&outer, &mut scratch, &mut found);
        assert_eq!((table.keys(), &found), (0, &vec![]), "{}", variant.name);
        for usage in TableReuse::ALL {
            found.clear();
            table.refill(&inner, usage);
            table.search(&outer, &mut scratch, &mut found);
            assert_eq!((table.keys(), &found), (40, &vec![17]), "{}, {job}", variant.name);
        }
    }
}

/// Jobs of search: every cipher, direction and table reuse, with a block known in full or in part.
fn jobs() -> impl Iterator<Item = Job> {
    let births = TableReuse::ALL
        .map(|usage| [32, 128].map(|known_bits| JobSource::Keys { usage, known_bits }))
        .concat();
    let of = move |cipher| {
        let births = births.clone().into_iter();
        births.flat_map(move |source| DIRECTIONS.map(|direction| Job { cipher, direction, source }))
    };
    Cipher::ALL.into_iter().flat_map(of)
}

#[test]
fn every_job_has_a_plan_under_every_cap_that_finds_the_key_and_no_other() {
    for (cap, job) in CAPS.into_iter().flat_map(|cap| jobs().map(move |job| (cap, job))) {
        let features = cap.parse::<Features>().unwrap() & Features::of_cpu();
        let limits = Limits { policy: Policy::ConstantTime, ..limits(features, &[]) };
        let plans = choose(job, &limits, &Costs::estimates(job.cipher)).unwrap();
        let [plan] = &plans[..] else { panic!("{cap}, {job}: {plans:?}") };
        let usable = |stage: &crossgrain::plan::Stage| {
            stage.variant.is_available(features) && stage.variant.leaks == Leaks::Nothing
        };
        assert!(plan.stages.iter().all(usable), "{cap}, {job}: {plan}");
        assert!(plan.cost.per_byte_ns > 0.0, "{cap}, {job}: {plan}");
        let (outer, inner) = tables(job.cipher, [3, 9], 100);
        let mut known = known(job.cipher, job.direction, &planted(job.cipher, &outer, &inner, 71));
        if job.source == (JobSource::Keys { usage: usage(job), known_bits: 32 }) {
            known.mask[4..].fill(0);
            known.output[4..].fill(0);
        }
        let mut found = Vec::new();
        let search = run::search(plan, features, job.cipher, &known).unwrap();
        search.inner(&inner, usage(job)).search(&outer, &mut Vec::new(), &mut found);
        assert!(found.len() < 8, "{cap}, {job}: {plan}: {found:?}");
        // A kernel compares at least 8 of the 32 known bits, which lie in four columns. The reference checks
        // the matches, as it does for users.
        found.retain(|&number| holds(&known, job.cipher, &planted(job.cipher, &outer, &inner, number)));
        assert_eq!(found, [71], "{cap}, {job}: {plan}");
    }
}

#[test]
fn the_cheapest_kernel_is_chosen() {
    for job in jobs() {
        let limits = limits(Features::of_cpu(), &[]);
        let costs = Costs::estimates(job.cipher);
        let chosen = choose(job, &limits, &costs).unwrap()[0].cost.at(1 << 20);
        let kernels = table().iter().filter(|variant| matches!(variant.action, Action::Search(..)));
        let here = kernels.filter(|variant| job.takes(variant) && variant.is_available(limits.features));
        for kernel in here {
            assert!(chosen <= costs.get(kernel).unwrap().at(1 << 20), "{job}: {}", kernel.name);
        }
    }
}

/// Costs decide which way computes each step, and a conversion leads from one to the other.
#[test]
fn a_composition_follows_its_costs() {
    let source = JobSource::Keys { usage: TableReuse::Often, known_bits: 128 };
    let job = Job { cipher: Cipher::Sm4, direction: Direction::Encrypt, source };
    let limits = limits(Features::NONE, &[]);
    let bits = "blocks-to-bitsliced64/portable > sm4-schedule/bitsliced64/portable";
    let by_tables = "sm4-first-rounds/blocks/portable-table > sm4-last-rounds/blocks/portable-table > \
                     comparison/blocks/portable";
    for (dear, want) in [
        (
            &["-table"][..],
            format!(
                "{bits} > sm4-first-rounds/bitsliced64/portable > sm4-last-rounds/bitsliced64/portable > \
                 comparison/bitsliced64/portable"
            ),
        ),
        (
            &["bitsliced"],
            format!("bytes-to-blocks/portable > sm4-schedule/blocks/portable-table > {by_tables}"),
        ),
        (
            &["schedule/blocks", "rounds/bitsliced"],
            format!("{bits} > bitsliced64-to-blocks/portable > {by_tables}"),
        ),
        // Few values are converted before the last rounds.
        (
            &["schedule/blocks", "first-rounds/blocks", "last-rounds/bitsliced"],
            format!(
                "{bits} > sm4-first-rounds/bitsliced64/portable > bitsliced64-to-blocks/portable > \
                 sm4-last-rounds/blocks/portable-table > comparison/blocks/portable"
            ),
        ),
    ] {
        let cost = |variant: &Variant| {
            let is_dear = dear.iter().any(|dear| variant.name.contains(dear))
                || matches!(variant.action, Action::Search(..))
                || variant.name.contains("-back");
            crossgrain::plan::compose::Cost::per_byte(if is_dear { 100.0 } else { 1.0 })
        };
        let costs = table().iter().map(|variant| (variant.name.clone(), cost(variant))).collect();
        let plan = &choose(job, &limits, &costs).unwrap()[0];
        assert_eq!(plan.to_string(), want);
    }
    let strict = Limits { policy: Policy::ConstantTime, ..limits };
    let plan = &choose(job, &strict, &Costs::estimates(Cipher::Sm4)).unwrap()[0];
    assert!(!plan.to_string().contains("-table"), "{plan}");
}

/// If the whole block is known, the planner may search by decryption when that is cheaper. If only part is
/// known, the direction is fixed.
/// A schedule and a conversion may serve both directions. A plan that uses them has one.
#[test]
fn a_plan_of_steps_is_followed_in_its_direction() {
    let source = JobSource::Keys { usage: TableReuse::Once, known_bits: 128 };
    let job = Job { cipher: Cipher::Aes192, direction: Direction::Encrypt, source };
    let limits = limits(Features::NONE, &[]);
    for (dear, rounds) in [("-back", "aes-first-rounds/"), ("rounds/", "aes-first-rounds-back/")] {
        let cost = |variant: &Variant| {
            let is_dear = [dear, "-table"].iter().any(|dear| variant.name.contains(dear))
                || matches!(variant.action, Action::Search(..));
            crossgrain::plan::compose::Cost::per_byte(if is_dear { 100.0 } else { 1.0 })
        };
        let costs = table().iter().map(|variant| (variant.name.clone(), cost(variant))).collect();
        let plan = &choose(job, &limits, &costs).unwrap()[0];
        assert!(plan.to_string().contains(rounds), "{plan}");
        let path = JobFlow::new(job, &limits, &costs).unwrap().follow(plan, 1 << 16).unwrap();
        assert_eq!(path.names().collect::<Vec<_>>().join(" > "), plan.to_string());
    }
}

#[test]
fn a_block_known_in_full_is_searched_from_the_cheaper_end() {
    for (known_bits, name) in [(128, "aes-search-back/"), (127, "aes-search/")] {
        let source = JobSource::Keys { usage: TableReuse::Often, known_bits };
        let job = Job { cipher: Cipher::Aes128, direction: Direction::Encrypt, source };
        let cost = |variant: &Variant| {
            let cost = if variant.name.contains("-back") { 1.0 } else { 2.0 };
            (variant.name.clone(), crossgrain::plan::compose::Cost::per_byte(cost))
        };
        let costs = table().iter().map(cost).collect();
        let plan = &choose(job, &limits(Features::of_cpu(), &[]), &costs).unwrap()[0];
        assert!(plan.to_string().starts_with(name), "{plan}");
    }
}

#[test]
fn what_is_named_must_fit_the_job() {
    for job in jobs() {
        for other in [
            "aes-encrypt/bitsliced64/portable",
            "bytes-to-blocks/portable",
            "aes-search/bitsliced64/portable",
        ] {
            let limits = limits(Features::of_cpu(), &[other]);
            match choose(job, &limits, &Costs::default()) {
                Ok(plans) => {
                    assert!(job.takes(limits.forced[0]), "{job}: {other}");
                    assert!(plans[0].to_string().split(" > ").any(|name| name == other), "{job}: {other}");
                }
                Err(refused) => {
                    let line = refused.to_string();
                    assert!(!job.takes(limits.forced[0]), "{job}: {line}");
                    assert!(line.contains(other) && line.contains("has no place in this job"), "{line}");
                    assert_eq!(line.lines().count(), 1, "{line}");
                }
            }
        }
    }
    let data = Job { cipher: Cipher::Aes128, direction: Direction::Encrypt, source: JobSource::Bytes };
    for name in ["aes-search/bitsliced64/portable", "sm4-schedule/bitsliced64/portable"] {
        let refused = choose(data, &limits(Features::of_cpu(), &[name]), &Costs::default()).unwrap_err();
        assert!(refused.to_string().contains("has no place in this job"), "{refused}");
    }
}

#[test]
fn a_forced_step_leaves_the_rest_to_others() {
    let source = JobSource::Keys { usage: TableReuse::Once, known_bits: 64 };
    let job = Job { cipher: Cipher::Sm4, direction: Direction::Decrypt, source };
    let forced = ["comparison/blocks/portable", "sm4-last-rounds-back/blocks/portable-table"];
    let plan = choose(job, &limits(Features::NONE, &forced), &Costs::default()).unwrap().swap_remove(0);
    let names: Vec<_> = plan.stages.iter().map(|stage| stage.variant.name.as_str()).collect();
    let before = [
        "bytes-to-blocks/portable",
        "sm4-schedule-back/blocks/portable-table",
        "sm4-first-rounds-back/blocks/portable-table",
    ];
    assert_eq!(names, [before[0], before[1], before[2], forced[1], forced[0]]);
    let strict = Limits { policy: Policy::ConstantTime, ..limits(Features::NONE, &forced) };
    let refused = choose(job, &strict, &Costs::default()).unwrap_err().to_string();
    assert!(refused.contains("leaks table indices") && refused.lines().count() == 1, "{refused}");
    // Steps of different directions do not make a search.
    let mixed = ["sm4-schedule/bitsliced64/portable", "sm4-first-rounds-back/blocks/portable-table"];
    let whole = Job { source: JobSource::Keys { usage: TableReuse::Once, known_bits: 128 }, ..job };
    let refused = choose(whole, &limits(Features::NONE, &mixed), &Costs::default()).unwrap_err().to_string();
    assert!(refused.contains("has no place in this job"), "{refused}");
}
