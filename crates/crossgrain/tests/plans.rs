//! Plans as data: a written plan is read back and does the job, and a plan that does not compute its job is
//! refused, whatever the file says. Efforts: the fastest path by the given clock is chosen.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::cell::Cell;
use std::sync::Arc;

use common::{ALL_CAP, CAP_WITHOUT_AES, capped, expected, key, painted, run};
use crossgrain::engine::tune::{self, Effort, Field, confirm, contend};
use crossgrain::engine::variant::{Leaks, Policy, table};
use crossgrain::mode::{Ctr, Options};
use crossgrain::plan::compose::Cost;
use crossgrain::plan::graph::{BULK_BYTES, JobFlow};
use crossgrain::plan::{Costs, Job, JobSource, Known, Limits, Plan, Plans, choose};
use crossgrain::{Cipher, Direction, Error, Features};

const CTR: Job = Job { cipher: Cipher::Aes128, direction: Direction::Encrypt, source: JobSource::Counter };

fn limits(cap: &str) -> Limits {
    let features = cap.parse::<Features>().unwrap() & Features::of_cpu();
    Limits::of(features, Policy::ConstantTime)
}

fn estimated(job: Job, cap: &str) -> Plans {
    Plans::new(job, choose(job, &limits(cap), &Costs::estimates(job.cipher)).unwrap()).unwrap()
}

/// The names, rounds and costs of all plans.
fn said(plans: &Plans) -> Vec<(String, Vec<usize>, Cost)> {
    let rounds = |plan: &Plan| plan.stages.iter().map(|stage| stage.round).collect();
    plans.as_slice().iter().map(|plan| (plan.to_string(), rounds(plan), plan.cost)).collect()
}

#[test]
fn plans_are_read_as_they_were_written_and_do_their_job() {
    use Direction::{Decrypt, Encrypt};
    let data = painted(16 * 700, 3);
    for (direction, source) in
        [(Encrypt, JobSource::Bytes), (Decrypt, JobSource::Bytes), (Encrypt, JobSource::Counter)]
    {
        for (cipher, cap) in
            Cipher::ALL.into_iter().zip(["portable", CAP_WITHOUT_AES, ALL_CAP].into_iter().cycle())
        {
            let plans = estimated(Job { cipher, direction, source }, cap);
            let read: Plans = plans.to_json().parse().unwrap();
            assert_eq!((read.job(), said(&read)), (plans.job(), said(&plans)));
            let options = Options { plans: vec![Arc::new(read)], ..capped(cap, 1) };
            let (key, mut got) = (key(cipher, 5), data.clone());
            run(&key, direction, source, 250, &options, &mut got);
            assert!(got == expected(&key, direction, source, 250, &data), "{cipher} {direction:?} {cap}");
        }
    }
}

/// A plan of single steps, so that stages can be removed and replaced.
fn steps() -> Plans {
    let costs = table().iter().map(|variant| {
        let whole = variant.name.starts_with("aes-") || variant.leaks != Leaks::Nothing;
        (variant.name.clone(), Cost::per_byte(if whole { 1e6 } else { 1.0 }))
    });
    let plans = choose(CTR, &limits("portable"), &costs.collect()).unwrap();
    assert!(plans[0].stages.len() > 40, "{}", plans[0]);
    Plans::new(CTR, plans).unwrap()
}

#[test]
fn what_does_not_compute_its_job_is_refused() {
    let plans = steps();
    let bulk = &plans.as_slice()[0];
    let len = bulk.stages.len();
    let without = |at: usize| [&bulk.stages[..at], &bulk.stages[at + 1..]].concat();
    let mut wrong: Vec<_> = (0..len).map(without).collect();
    wrong.extend((1..len).map(|at| {
        let mut stages = bulk.stages.clone();
        stages.swap(at - 1, at);
        stages
    }));
    wrong.extend((0..len).map(|at| {
        let mut stages = bulk.stages.clone();
        stages[at].round += 1;
        stages
    }));
    wrong.extend([Vec::new(), bulk.stages.repeat(2)]);
    for stages in wrong {
        let refused = Plans::new(CTR, vec![Plan { stages, ..bulk.clone() }]);
        assert!(matches!(refused, Err(Error::CorruptPlan(_))));
    }
    for plans in [vec![], vec![bulk.clone(), bulk.clone()]] {
        assert!(matches!(Plans::new(CTR, plans), Err(Error::CorruptPlan(_))));
    }
}

#[test]
fn files_that_are_doubtful_are_refused_in_one_line() {
    let text = steps().to_json();
    for end in (0..text.trim_end().len()).step_by(7) {
        assert!(text[..end].parse::<Plans>().is_err(), "cut at {end}");
    }
    let per_byte = "\"per_byte_ns\": ";
    let bad = [
        (text.as_str(), "", "corrupt"),
        (text.as_str(), "[]", "corrupt"),
        ("\"format\": 2", "\"format\": 3", "newer version"),
        ("\"format\": 2", "\"format\": -1", "corrupt"),
        ("\"aes-128\"", "\"aes-512\"", "no cipher"),
        ("\"aes-128\"", "\"aes-256\"", "corrupt"),
        ("\"encrypt\"", "\"encript\"", "no direction"),
        ("\"encrypt\"", "\"decrypt\"", "corrupt"),
        ("\"counter\"", "\"nonce\"", "no source"),
        ("\"counter\"", "\"bytes\"", "has no place there"),
        ("/portable\"", "/imported\"", "no variant is called"),
        (per_byte, "\"per_byte_ns\": -", "negative"),
        (per_byte, "\"per_byte\": ", "corrupt"),
        ("\"plans\": [", "\"more\": 1, \"plans\": [", "unknown field"),
    ];
    for (old, new, want) in bad {
        let changed = text.replacen(old, new, 1);
        assert_ne!(changed, text, "{old}");
        let error = changed.parse::<Plans>().unwrap_err().to_string();
        assert!(error.contains(want), "{new}: {error}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

#[test]
fn a_plan_beyond_the_limits_is_refused() {
    let key = key(Cipher::Aes128, 1);
    let refusal = |plans: Plans, options: Options| {
        let options = Options { plans: vec![Arc::new(plans)], ..options };
        Ctr::with_options(&key, &[0; 16], &options).unwrap_err()
    };
    let ecb = Job { source: JobSource::Bytes, ..CTR };
    let other = refusal(estimated(ecb, "portable"), capped(ALL_CAP, 1));
    assert!(matches!(&other, Error::UnfitPlan(why) if why.contains("from bytes")), "{other}");
    let wide = Job { cipher: Cipher::Aes256, ..CTR };
    assert!(matches!(refusal(estimated(wide, "portable"), Options::default()), Error::UnfitPlan(_)));

    let forced = Options { variants: vec![table()[0].name.clone()], ..Options::default() };
    assert!(matches!(refusal(estimated(CTR, "portable"), forced), Error::UnfitPlan(_)));

    if Features::of_cpu().contains(Features::AES) {
        let missing = refusal(estimated(CTR, ALL_CAP), capped("portable", 1));
        assert!(missing.to_string().contains("it needs"), "{missing}");
    } else {
        println!("skipped: a plan that needs what is missing (this CPU has no AES instructions)");
    }

    let leaks =
        table().iter().find(|variant| variant.leaks != Leaks::Nothing && variant.name.contains("ctr"));
    let leaking = Limits { policy: Policy::Any, forced: vec![leaks.unwrap()], ..limits("portable") };
    let plans = Plans::new(CTR, choose(CTR, &leaking, &Costs::default()).unwrap()).unwrap();
    let leaky = refusal(plans.clone(), Options::default());
    assert!(leaky.to_string().contains("leaks table indices"), "{leaky}");
    let options = Options { policy: Policy::Any, plans: vec![Arc::new(plans)], ..Options::default() };
    assert!(Ctr::with_options(&key, &[0; 16], &options).is_ok());
}

/// A clock on which one contender is twice as fast as all others. Every sample is long enough, so contenders
/// take turns from the first reading on, with two readings each.
fn clock_for(fast: usize, contenders: usize) -> impl Fn() -> u64 {
    let (readings, now) = (Cell::new(0), Cell::new(0_u64));
    move || {
        let reading = readings.replace(readings.get() + 1);
        let is_fast = reading / 2 % contenders == fast;
        now.set(now.get() + if is_fast { 1000 } else { 2000 });
        now.get()
    }
}

#[test]
fn the_fastest_contender_comes_first_whatever_was_predicted() {
    let field = Field { best: 6, mixed: 2, len_bytes: 16 * 600, budget_ms: 0 };
    let costs = Costs::estimates(CTR.cipher);
    let limits = limits(CAP_WITHOUT_AES);
    let ranked =
        |fast, contenders| contend(CTR, &limits, &costs, field, &clock_for(fast, contenders)).unwrap();
    // If all are equally fast, the predictions decide the order. The best pure and mixed forms come after the
    // best paths.
    let predicted = ranked(usize::MAX, 1);
    assert!(predicted.len() > 6);
    assert!(predicted[..6].is_sorted_by(|a, b| a.path.total_ns <= b.path.total_ns));
    let flow = JobFlow::new(CTR, &limits, &costs).unwrap();
    let flow = flow.flow();
    assert_eq!(predicted[0].path, flow.at(field.len_bytes as u64).best().unwrap());
    assert!(predicted.iter().any(|one| flow.mixes(&one.path)));
    for fast in [0, 1, 5, predicted.len() - 1] {
        let found = ranked(fast, predicted.len());
        assert_eq!(found[0].plan.to_string(), predicted[fast].plan.to_string());
        assert_eq!((found[0].measured.fastest_ns, found[1].measured.fastest_ns), (1000.0, 2000.0));
    }
}

/// Costs that call the kernels of one plan free: by them it is chosen, whatever it takes.
fn favouring(plan: &Plan) -> Costs {
    let is_favoured = |name: &str| plan.stages.iter().any(|stage| stage.variant.name == name);
    let estimates = Costs::estimates(CTR.cipher);
    let cost = |(name, known): (&str, Known)| {
        let cost = if is_favoured(name) { Cost::FREE } else { known.cost };
        (name.to_owned(), cost)
    };
    estimates.iter().map(cost).collect()
}

/// Two plans run in turns: first the one by measured costs, then the shipped one.
#[test]
fn a_plan_that_its_own_run_contradicts_is_dropped() {
    let limits = limits(CAP_WITHOUT_AES);
    let best = |costs: &Costs| choose(CTR, &limits, &costs.filled(CTR.cipher)).unwrap().swap_remove(0);
    let shipped = best(&Costs::estimates(CTR.cipher));
    let flow = JobFlow::new(CTR, &limits, &Costs::estimates(CTR.cipher)).unwrap();
    let slow = flow.flow().at(BULK_BYTES).k_best(40).unwrap();
    let slow = slow.iter().map(|path| flow.plan(path).unwrap());
    let slow = slow.max_by_key(|plan| plan.stages.len()).unwrap();
    // Any of several plans that cost nothing may be chosen.
    let costs = favouring(&best(&favouring(&slow)));
    let slow = best(&costs);
    assert_ne!(slow.to_string(), shipped.to_string());
    let confirmed = |fast| confirm(&[CTR], &limits, &costs, BULK_BYTES, 0, &clock_for(fast, 2)).unwrap();

    let faster = confirmed(0);
    assert_eq!((faster.costs, faster.contradictions), (costs.clone(), Vec::new()));
    let slower = confirmed(1);
    assert_eq!(best(&slower.costs).to_string(), shipped.to_string());
    assert!(slower.contradictions.iter().all(|found| (found.job, found.slower) == (CTR, 1.0)));
    assert!(!slower.contradictions.is_empty());
    let known = |name: &str| slower.costs.by_name(name).is_some();
    assert!(slow.stages.iter().chain(&shipped.stages).all(|stage| !known(&stage.variant.name)));
    assert!(slower.costs.iter().count() > 10, "other costs stay");
}

#[test]
fn every_effort_gives_plans_that_do_the_job() {
    let limits = limits(CAP_WITHOUT_AES);
    let data = painted(16 * 700 + 5, 9);
    let now = Cell::new(0);
    let clock_ns = || {
        now.set(now.get() + 4096);
        now.get()
    };
    for effort in Effort::ALL {
        assert_eq!(effort.name().parse(), Ok(effort));
        let plans = tune::plans(CTR, &limits, effort, 0, &clock_ns).unwrap();
        let options = Options { plans: vec![Arc::new(plans)], ..capped(CAP_WITHOUT_AES, 1) };
        let (key, mut got) = (key(CTR.cipher, 4), data.clone());
        run(&key, CTR.direction, CTR.source, 7, &options, &mut got);
        assert!(got == expected(&key, CTR.direction, CTR.source, 7, &data), "{effort}");
    }
    assert_eq!("hard".parse::<Effort>(), Err(Error::UnknownEffort("hard".to_owned())));
    assert_eq!("none".parse::<Policy>(), Err(Error::UnknownPolicy("none".to_owned())));
    assert!(Policy::ALL.into_iter().all(|policy| policy.name().parse() == Ok(policy)));
}

/// Costs for every other row only. The rest are filled from estimates, scaled by the ratio of the known costs
/// to their estimates.
#[test]
fn unknown_costs_are_filled_from_scaled_estimates() {
    let estimates = Costs::estimates(Cipher::Aes192);
    let known: Costs = estimates
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 2 == 0)
        .map(|(_, (name, known))| (name.to_owned(), known.cost.scaled(3.0)))
        .collect();
    let filled = known.filled(Cipher::Aes192);
    for (name, known) in filled.iter() {
        let estimate = estimates.iter().find(|(other, _)| *other == name).unwrap().1.cost;
        assert!((known.cost.per_byte_ns - 3.0 * estimate.per_byte_ns).abs() < 1e-9, "{name}");
    }
    assert_eq!(filled.iter().count(), table().len());
    assert_eq!(Costs::default().filled(Cipher::Aes192), estimates);
    let options = Options { costs: Some(Arc::new(known)), ..capped(ALL_CAP, 1) };
    assert!(Ctr::with_options(&key(Cipher::Aes192, 1), &[0; 16], &options).is_ok());
}
