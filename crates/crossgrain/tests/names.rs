//! The table of variants and the planner's choices from it. A name describes its variant. Variants that leak
//! are used only on request. An impossible request is refused and the reason named.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;
use std::sync::LazyLock;

use common::{ALL_CAP, CAP_WITHOUT_AES, CAPS, capped, ciphers, key};
use crossgrain::engine::arch::{CAP_VARIABLE, FEATURE_NAMES, Isa, Portable, Register};
use crossgrain::engine::block::Family;
use crossgrain::engine::check::jobs;
use crossgrain::engine::cipher::Entry;
use crossgrain::engine::kernel::search::{Known, Step};
use crossgrain::engine::kernel::{Keys, Part, steps};
use crossgrain::engine::layout::repr::Repr;
use crossgrain::engine::variant::{Action, Leaks, Policy, Variant, find, table};
use crossgrain::for_each_register;
use crossgrain::mode::{Ecb, Options};
use crossgrain::plan::{Costs, Job, JobSource, Limits, Plan, Stage, TableReuse};
use crossgrain::{Cipher, Direction, Error, Features};

/// Runs an expression for every register of this machine, for some of them more than once.
macro_rules! each_register {
    ($W:ident => $run:expr) => {
        for_each_register!(all, $W => $run);
        for_each_register!(more_gates, $W => $run);
        for_each_register!(carryless_from_widest, $W => $run);
        for_each_register!(aes, $W => $run);
        for_each_register!(galois_of_16, $W => $run);
        for_each_register!(galois_of_32, $W => $run);
        for_each_register!(byte_tables, $W => $run);
        for_each_register!(byte_tables_and_galois, $W => $run);
    };
}

/// Every job: a cipher, a direction and a source.
fn all_jobs() -> Vec<Job> {
    use Direction::{Decrypt, Encrypt};
    let mut kinds =
        vec![(Encrypt, JobSource::Bytes), (Decrypt, JobSource::Bytes), (Encrypt, JobSource::Counter)];
    for (usage, known_bits) in TableReuse::ALL.into_iter().flat_map(|usage| [(usage, 32), (usage, 128)]) {
        kinds.extend([Encrypt, Decrypt].map(|direction| (direction, JobSource::Keys { usage, known_bits })));
    }
    let of = |&(direction, source): &_| move |cipher| Job { cipher, direction, source };
    let on_blocks = kinds.iter().flat_map(|kind| Cipher::ALL.map(of(kind)));
    on_blocks.chain(Cipher::ALL.into_iter().flat_map(Job::of_modes)).collect()
}

/// The jobs of any cipher that a variant can take part in.
fn jobs_of(variant: &Variant) -> Vec<Job> {
    Cipher::ALL.into_iter().flat_map(|cipher| jobs(variant, cipher)).collect()
}

/// The features of this CPU that a cap leaves.
fn features(cap: &str) -> Features {
    cap.parse::<Features>().unwrap() & Features::of_cpu()
}

fn limits(features: Features, policy: Policy, forced: &[&str]) -> Limits {
    let forced = forced.iter().map(|name| find(name).unwrap()).collect();
    Limits { forced, ..Limits::of(features, policy) }
}

/// Variants that leak, each with one job.
fn leaking() -> impl Iterator<Item = (&'static Variant, Job)> {
    let leaking = table().iter().filter(|variant| variant.leaks != Leaks::Nothing);
    leaking.map(|variant| (variant, jobs_of(variant)[0]))
}

#[test]
fn names_are_unique() {
    let names: BTreeSet<_> = table().iter().map(|variant| &variant.name).collect();
    assert_eq!(names.len(), table().len());
}

#[test]
fn names_are_words_of_lower_case_digits_and_dashes() {
    for variant in table() {
        let segments: Vec<_> = variant.name.split('/').collect();
        assert!(matches!(segments.len(), 2 | 3), "{}", variant.name);
        for word in segments.iter().flat_map(|segment| segment.split('-')) {
            let good = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
            assert!(!word.is_empty() && word.chars().all(good), "{}", variant.name);
        }
    }
}

/// The name suffix of a search by decryption.
const fn back(direction: Direction) -> &'static str {
    match direction {
        Direction::Encrypt => "",
        Direction::Decrypt => "-back",
    }
}

#[test]
fn names_say_what_the_record_says() {
    for variant in table() {
        let segments: Vec<_> = variant.name.split('/').collect();
        let (stem, repr) = (segments[0], variant.repr.to_string());
        let (stem_is_right, len) = match variant.action {
            Action::Load(_) => (stem.ends_with(&format!("-to-{repr}")), 2),
            Action::Count(_) => (stem == format!("counter-to-{repr}"), 2),
            Action::Store(_) => (stem.starts_with(&format!("{repr}-to-")), 2),
            Action::CountEncrypted(_) | Action::WholeCounter(_) => (stem.contains("-ctr"), 3),
            Action::Tile(part, direction, _) => (stem == part.name(direction), 3),
            Action::Whole(direction, _) => (stem == Part::whole(variant.family.unwrap()).name(direction), 3),
            Action::Fused(fused, direction, _) => {
                let cipher = Entry::of(variant.family.unwrap()).names.family;
                let back = if direction == Direction::Decrypt { "-decrypt" } else { "" };
                (stem == format!("{cipher}-{}{back}", fused.name()), 3)
            }
            Action::Frame(fused) => (Some(stem) == fused.frame(), 3),
            Action::Pass(fused) => (stem == fused.pass(), 3),
            Action::Search(direction, usage, _) => {
                let list = if usage == TableReuse::Once { "-list" } else { "" };
                (stem.ends_with(&format!("-search{list}{}", back(direction))), 3)
            }
            Action::SearchStep(step, direction, _) => {
                let cipher = variant.family.map(|family| format!("{}-", Entry::of(family).names.family));
                let way = direction.map_or("", back);
                (stem == format!("{}{}{way}", cipher.unwrap_or_default(), step.name()), 3)
            }
        };
        assert!(stem_is_right && segments.len() == len, "{}", variant.name);
        assert!(len == 2 || segments[1] == repr, "{}", variant.name);
        let isa = segments[len - 1].split('-').next().unwrap();
        assert_eq!(isa, variant.isa, "{}", variant.name);
    }
}

#[test]
fn an_isa_needs_the_same_wherever_it_is_named() {
    let mut needs = BTreeMap::new();
    for variant in table() {
        let known = *needs.entry(variant.isa).or_insert(variant.needs);
        assert_eq!(known, variant.needs, "{}", variant.name);
        assert_eq!(variant.isa == Portable::NAME, variant.needs == Features::NONE, "{}", variant.name);
    }
}

#[test]
fn bundles_are_as_wide_as_the_words_of_their_isa() {
    let mut widths = BTreeMap::from([(Portable::NAME, vec![32, 64])]);
    each_register!(W => {
        widths.insert(<W as Register>::Isa::NAME, vec![W::BITS]);
    });
    for variant in table() {
        let repr = variant.repr;
        let (shape, bits, blocks) = match repr {
            Repr::Blocks => {
                assert_eq!(repr.bundle_blocks(), None);
                continue;
            }
            Repr::Bytesliced { bits } => ("bytesliced", bits, bits / 8),
            Repr::Hsliced { bits } => ("hsliced", bits, bits / 16),
            Repr::Vsliced { bits } => ("vsliced", bits, bits / 32),
            Repr::Bitsliced { bits } => ("bitsliced", bits, bits),
        };
        assert_eq!(repr.bundle_blocks(), Some(blocks));
        assert_eq!(repr.to_string(), format!("{shape}{bits}"));
        assert!(widths[variant.isa].contains(&bits), "{}", variant.name);
    }
}

#[test]
fn a_name_ends_in_table_exactly_where_its_variant_leaks() {
    for variant in table() {
        let leaks = variant.leaks != Leaks::Nothing;
        assert_eq!(variant.name.ends_with("-table"), leaks, "{}", variant.name);
    }
    assert!(leaking().count() > 0);
}

#[test]
fn every_variant_is_found_by_its_name() {
    for variant in table() {
        assert!(std::ptr::eq(find(&variant.name).unwrap(), variant));
    }
}

#[test]
fn every_variant_has_a_job() {
    for variant in table() {
        assert!(!jobs_of(variant).is_empty(), "{}", variant.name);
    }
}

#[test]
fn a_variant_is_bound_exactly_where_it_is_available() {
    let secrets = Cipher::ALL.map(|cipher| key(cipher, 1));
    let keys = secrets.each_ref().map(|key| (key.cipher().family(), Keys::of(key, Features::of_cpu())));
    for (cap, variant) in CAPS.iter().flat_map(|cap| table().iter().map(move |variant| (cap, variant))) {
        let features = features(cap);
        let family = variant.family.unwrap_or(Family::Aes);
        let keys = keys.iter().find_map(|(own, keys)| (*own == family).then_some(keys)).unwrap();
        let (input, output, mask) = ([0; 16], [0; 16], [0xff; 16]);
        let known = Known { direction: Direction::Encrypt, input, output, mask };
        let bound = match variant.action {
            Action::Load(bind) => bind(features).is_some(),
            Action::Count(bind) => bind(features).is_some(),
            Action::CountEncrypted(bind) => bind(features, keys).is_some(),
            Action::Store(bind) => bind(features).is_some(),
            Action::Tile(part, direction, bind) => bind(features, part, direction, keys, 1).is_some(),
            Action::Whole(direction, bind) => bind(features, direction, keys).is_some(),
            Action::WholeCounter(bind) => bind(features, Direction::Encrypt, keys).is_some(),
            Action::Fused(_, direction, bind) => bind(features, direction, keys).is_some(),
            // Frames and passes are not bound to a key.
            Action::Frame(_) | Action::Pass(_) => continue,
            Action::Search(.., bind) => {
                let all = ciphers(family).into_iter();
                let bound: Vec<_> = all.map(|cipher| bind(features, cipher, &known).is_some()).collect();
                assert!(bound.iter().all(|one| *one == bound[0]), "{}", variant.name);
                bound[0]
            }
            Action::SearchStep(.., bind) => bind(features, ciphers(family)[0], &known).is_some(),
        };
        assert_eq!(bound, variant.is_available(features), "{} under {cap}", variant.name);
    }
}

/// Fails unless a plan computes its job: the whole cipher in one stage, or a load, all steps in order and a
/// store. Each stage must be in the representation that the data has at that point.
fn check_plan(plan: &Plan, job: Job) {
    let every_step = steps(job.cipher, job.direction);
    let (mut shape, mut taken) = (None, Vec::new());
    let stages = match (job.source, &plan.stages[..]) {
        (JobSource::Mode(fused), [one]) => {
            let fits = matches!(one.variant.action, Action::Fused(own, way, _) if own == fused && way == job.direction);
            return assert!(fits, "{job:?}: {plan}");
        }
        (JobSource::Mode(fused), [stages @ .., pass]) => {
            assert!(matches!(pass.variant.action, Action::Pass(own) if own == fused), "{job:?}: {plan}");
            match stages {
                [frame, stages @ ..] if fused.frame().is_some() => {
                    assert!(
                        matches!(frame.variant.action, Action::Frame(own) if own == fused),
                        "{job:?}: {plan}"
                    );
                    stages
                }
                _ => stages,
            }
        }
        (_, stages) => stages,
    };
    for Stage { variant, round } in stages {
        let repr = variant.repr;
        match variant.action {
            Action::Whole(direction, _) => {
                assert!(!job.source.counts() && direction == job.direction, "{job:?}: {plan}");
                return assert_eq!(stages.len(), 1);
            }
            Action::WholeCounter(_) => {
                assert!(job.source.counts(), "{plan}");
                return assert_eq!(stages.len(), 1);
            }
            Action::Fused(..) | Action::Frame(_) | Action::Pass(_) => panic!("{plan}"),
            Action::Search(..) | Action::SearchStep(..) => return check_search(plan, job),
            Action::Load(_) if shape.is_none() => {
                assert!(!job.source.counts(), "{plan}");
                shape = Some(repr);
            }
            Action::Count(_) | Action::CountEncrypted(_) => {
                assert!(job.source.counts() && shape.is_none(), "{job:?}: {plan}");
                if matches!(variant.action, Action::CountEncrypted(_)) {
                    taken.extend(&every_step);
                }
                shape = Some(repr);
            }
            Action::Load(_) => {
                assert_eq!(shape, Some(Repr::Blocks), "{plan}");
                shape = Some(repr);
            }
            Action::Store(_) => {
                assert_eq!(shape, Some(repr), "{plan}");
                shape = Some(Repr::Blocks);
            }
            Action::Tile(part, direction, _) => {
                assert_eq!(shape, Some(repr), "{plan}");
                assert!(part.is_own_inverse() || direction == job.direction, "{plan}");
                assert_eq!(variant.family, Some(job.cipher.family()), "{plan}");
                if part == Part::whole(job.cipher.family()) {
                    taken.extend(&every_step);
                } else {
                    taken.extend(part.span(job.cipher, direction).into_iter().map(|step| (step, *round)));
                }
            }
        }
    }
    let last = stages.last().map(|stage| stage.variant.action);
    assert!(matches!(last, Some(Action::Store(_))), "{job:?}: {plan}");
    assert_eq!(taken, every_step, "{job:?}: {plan}");
}

/// The same for a search: a kernel for its table reuse and direction, or all steps in order and in one
/// direction, each in the representation that the stage before it leaves.
fn check_search(plan: &Plan, job: Job) {
    let JobSource::Keys { usage, known_bits } = job.source else { panic!("{job:?}: {plan}") };
    let (mut directions, mut taken, mut shape) = (Vec::new(), Vec::new(), Repr::Blocks);
    for Stage { variant, .. } in &plan.stages {
        assert!(variant.serves_search(job.cipher.family()), "{plan}");
        match variant.action {
            Action::Search(direction, own, _) => {
                assert_eq!(own, usage, "{job:?}: {plan}");
                directions.push(direction);
                taken.extend(Step::SMALLEST);
            }
            Action::SearchStep(step, direction, _) => {
                assert_eq!(shape, variant.repr, "{job:?}: {plan}");
                directions.extend(direction);
                taken.extend(step.span());
            }
            Action::Load(_) => {
                assert_eq!(shape, Repr::Blocks, "{job:?}: {plan}");
                shape = variant.repr;
            }
            Action::Store(_) => {
                assert_eq!(shape, variant.repr, "{job:?}: {plan}");
                shape = Repr::Blocks;
            }
            _ => panic!("{job:?}: {plan}"),
        }
    }
    assert_eq!(taken, Step::SMALLEST, "{job:?}: {plan}");
    assert!(directions.iter().all(|direction| *direction == directions[0]), "{job:?}: {plan}");
    assert!(known_bits == 128 || directions[0] == job.direction, "{job:?}: {plan}");
}

/// The choice by the shipped estimates.
fn choose(job: Job, limits: &Limits) -> Result<Vec<Plan>, Error> {
    static ESTIMATES: LazyLock<HashMap<Cipher, Costs>> =
        LazyLock::new(|| Cipher::ALL.map(|cipher| (cipher, Costs::estimates(cipher))).into());
    crossgrain::plan::choose(job, limits, &ESTIMATES[&job.cipher])
}

#[test]
fn free_choice_gives_sound_plans_that_leak_nothing_under_every_cap() {
    for (cap, job) in CAPS.into_iter().flat_map(|cap| all_jobs().into_iter().map(move |job| (cap, job))) {
        let features = features(cap);
        let plans = choose(job, &limits(features, Policy::default(), &[])).unwrap();
        assert!(!plans.is_empty(), "{cap} {job:?}");
        for plan in &plans {
            check_plan(plan, job);
            assert_eq!(plan.leaks(), Leaks::Nothing, "{cap}: {plan}");
            for stage in &plan.stages {
                assert_eq!(stage.variant.leaks, Leaks::Nothing, "{cap}: {plan}");
                assert!(stage.variant.is_available(features), "{cap}: {plan}");
            }
        }
        // For shorter messages, a fused kernel may follow a plan of whole ciphers, or a plan that prepares
        // less.
        let is_fused = |plan: &Plan| matches!(plan.stages[0].variant.action, Action::Fused(..));
        let rank: Vec<_> =
            plans.iter().map(|plan| (plan.bundle_blocks(), !is_fused(plan), plan.cost.fixed_ns)).collect();
        assert!(rank.is_sorted_by(|a, b| a > b), "{cap} {job:?}: widest first");
    }
}

#[test]
fn the_default_policy_is_constant_time() {
    assert_eq!(Policy::default(), Policy::ConstantTime);
    assert_eq!(Options::default().policy, Policy::ConstantTime);
    assert!(!Policy::ConstantTime.admits(Leaks::TableIndices));
    assert!(Policy::ConstantTime.admits(Leaks::Nothing));
}

/// One or two variants of any kind, forced into any job, give either a sound plan that uses them or a
/// refusal.
#[test]
fn forced_variants_are_used_or_refused() {
    let features = Features::of_cpu();
    // Only the search that admits the most variants. Every pair of names is tried, and further searches would
    // add nothing.
    let widest = JobSource::Keys { usage: TableReuse::Often, known_bits: 128 };
    let tried = |job: &Job| {
        job.cipher == Cipher::Aes128
            && (!job.source.is_search() || job.source == widest && job.direction == Direction::Encrypt)
    };
    for job in all_jobs().into_iter().filter(tried) {
        let (takes, others): (Vec<_>, Vec<_>) = table().iter().partition(|variant| job.takes(variant));
        let [takes, others] =
            [takes, others].map(|found| found.iter().map(|variant| &*variant.name).collect::<Vec<_>>());
        // A variant without a place in the job is named in the refusal: on its own, and before and after one
        // that has a place.
        let refused =
            others.iter().zip(takes.iter().cycle()).flat_map(|(&one, &two)| [[one, two], [two, one]]);
        // A search takes many steps and conversions: a seventh of their pairs is enough.
        let one_of = if job.source.is_search() { 7 } else { 1 };
        let pairs = takes.iter().enumerate().flat_map(|(at, &one)| {
            takes.iter().skip(at % one_of).step_by(one_of).map(move |&two| [one, two])
        });
        let alone = table().iter().map(|variant| vec![&*variant.name]);
        let forced = alone.chain(pairs.chain(refused).map(Vec::from));
        let mut sound = 0;
        for forced in &forced.collect::<Vec<_>>() {
            match choose(job, &limits(features, Policy::Any, forced)) {
                Ok(plans) => {
                    assert_eq!(plans.len(), 1, "{job:?} {forced:?}");
                    check_plan(&plans[0], job);
                    let used = |name: &&str| plans[0].stages.iter().any(|stage| stage.variant.name == *name);
                    assert!(forced.iter().all(used), "{job:?} {forced:?}: {}", plans[0]);
                    sound += 1;
                }
                Err(Error::Unavailable { .. }) => {}
                Err(error) => panic!("{job:?} {forced:?}: {error}"),
            }
        }
        assert!(sound > 0, "{job:?}");
    }
}

#[test]
fn a_leaking_variant_is_refused_under_the_constant_time_policy() {
    for (variant, job) in leaking() {
        let forced = [variant.name.as_str()];
        let refused = choose(job, &limits(Features::of_cpu(), Policy::ConstantTime, &forced)).unwrap_err();
        assert!(matches!(&refused, Error::Unavailable { variant: name, .. } if *name == variant.name));
        let line = refused.to_string();
        assert!(line.contains("leaks table indices") && line.contains("policy any"), "{line}");
        let plans = choose(job, &limits(Features::of_cpu(), Policy::Any, &forced)).unwrap();
        assert_eq!(plans[0].leaks(), Leaks::TableIndices, "{}", plans[0]);
    }
}

#[test]
fn a_variant_whose_instructions_are_missing_is_refused_and_they_are_named() {
    for variant in table().iter().filter(|variant| variant.needs != Features::NONE) {
        let limits = limits(Features::NONE, Policy::Any, &[variant.name.as_str()]);
        let refused = choose(jobs_of(variant)[0], &limits).unwrap_err();
        assert!(matches!(&refused, Error::Unavailable { variant: name, .. } if *name == variant.name));
        assert!(refused.to_string().contains(&variant.needs.to_string()), "{refused}");
    }
}

#[test]
fn an_unknown_variant_is_refused() {
    let known = &table()[0].name;
    for name in ["", "aes", "aes-encrypt", "/", &known.to_uppercase(), &format!("{known} "), &known[1..]] {
        assert_eq!(find(name).unwrap_err(), Error::UnknownVariant(name.to_owned()));
        let options = Options { variants: vec![name.to_owned()], ..Options::default() };
        for job in all_jobs() {
            assert_eq!(options.plans_of(job).unwrap_err(), Error::UnknownVariant(name.to_owned()));
        }
    }
}

#[test]
fn ciphers_are_found_by_their_names() {
    for cipher in Cipher::ALL {
        assert_eq!(cipher.to_string().parse(), Ok(cipher));
    }
    for name in ["", "aes", "AES-128", "aes128", "aes-512", "aes-128 "] {
        assert_eq!(name.parse::<Cipher>(), Err(Error::UnknownCipher(name.to_owned())));
    }
}

#[test]
fn caps_leave_out_what_they_say() {
    let all = ALL_CAP.parse::<Features>().unwrap();
    // A machine with integers only has no feature to leave out.
    let named = FEATURE_NAMES.into_iter().filter(|_| all != Features::NONE);
    for (feature, name) in named {
        assert!(all.contains(feature), "{name}");
        assert_eq!(feature.to_string(), name);
        let with = |cap: &&str| cap.parse::<Features>().unwrap().contains(feature);
        assert!(CAPS.iter().any(with) && !CAPS.iter().all(with), "{name} is never switched");
    }
    for cap in CAPS {
        assert!(all.contains(cap.parse().unwrap()), "{cap}");
    }
    let portable: Features = "portable".parse().unwrap();
    assert_eq!((portable, portable.to_string().as_str()), (Features::NONE, "portable"));
    assert!(!CAP_WITHOUT_AES.parse::<Features>().unwrap().contains(Features::AES));
    let aes_and_one = |one: &str| [format!("{ALL_CAP}-aes-{one}"), format!("{ALL_CAP}-{one}-aes")];
    for (name, _) in FEATURE_NAMES.map(|(feature, name)| (name, feature)) {
        let [one, other] = aes_and_one(name).map(|cap| cap.parse::<Features>());
        assert!(one == other || one.is_err() && other.is_err(), "{name}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn caps_of_x86_64_leave_out_what_they_say() {
    let all = ALL_CAP.parse::<Features>().unwrap();
    let avx2: Features = "avx2".parse().unwrap();
    assert_eq!(avx2, all.without(Features::AVX512 | Features::VBMI));
    assert_eq!("avx2-aes".parse(), Ok(avx2.without(Features::AES | Features::VAES)));
    assert_eq!("avx2-vaes".parse(), Ok(avx2.without(Features::VAES)));
    assert_eq!("avx2-clmul".parse(), Ok(avx2.without(Features::CLMUL | Features::VCLMUL)));
    assert_eq!("avx512-vclmul".parse(), Ok(all.without(Features::VCLMUL)));
}

#[test]
fn caps_that_cannot_be_read_are_refused() {
    let bad = [
        "",
        " ",
        "-",
        "-aes",
        "avx2-",
        "avx2--aes",
        "avx2-sse2",
        "AVX2",
        "avx2 ",
        "avx",
        "avx2,aes",
        "avx2+aes",
        "sse4",
        "native",
        "portable-avx2",
        "512",
    ];
    for cap in bad {
        assert_eq!(cap.parse::<Features>(), Err(Error::BadIsaCap(cap.to_owned())));
    }
}

#[test]
fn an_isa_token_is_had_only_where_its_instructions_are_allowed() {
    fn law<I: Isa>() {
        assert!(I::detect(I::NEEDS.without(Features::of_cpu())).is_none() || I::NEEDS == Features::NONE);
        for cap in CAPS {
            assert_eq!(I::detect(features(cap)).is_some(), features(cap).contains(I::NEEDS), "{}", I::NAME);
        }
    }
    law::<Portable>();
    each_register!(W => law::<<W as Register>::Isa>());
}

/// The environment belongs to the process. Each cap is therefore tried in a child process, which runs this
/// same test and finds the mark set.
#[test]
fn the_environment_caps_what_is_not_capped_otherwise() {
    const MARK: &str = "CROSSGRAIN_TEST_CHILD";
    const BAD: &str = "avx3";
    let key = key(Cipher::Aes128, 2);
    if std::env::var_os(MARK).is_none() {
        for cap in CAPS.into_iter().chain(["", BAD]) {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "the_environment_caps_what_is_not_capped_otherwise"])
                .env(MARK, "1")
                .env(CAP_VARIABLE, cap)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&child.stdout);
            assert!(child.status.success() && said.contains("1 passed"), "{cap}: {said}");
        }
        return;
    }
    let cap = std::env::var(CAP_VARIABLE).unwrap();
    let by_environment = Ecb::with_options(&key, Direction::Encrypt, &Options::default());
    if cap == BAD {
        assert_eq!(by_environment.unwrap_err(), Error::BadIsaCap(cap));
        return;
    }
    let by_options = capped(if cap.is_empty() { ALL_CAP } else { &cap }, 0);
    let names = |plans: &[Plan]| plans.iter().map(Plan::to_string).collect::<Vec<_>>();
    let want = Ecb::with_options(&key, Direction::Encrypt, &by_options).unwrap();
    assert_eq!(names(by_environment.unwrap().plans()), names(want.plans()));
    // Options override the environment.
    let portable = Ecb::with_options(&key, Direction::Encrypt, &capped("portable", 0)).unwrap();
    assert!(names(portable.plans()).iter().all(|name| name.contains("portable")));
}

#[test]
fn a_plan_is_printed_as_the_names_of_its_stages() {
    for job in all_jobs() {
        for plan in choose(job, &limits(Features::NONE, Policy::default(), &[])).unwrap() {
            let line = plan.to_string();
            let names: Vec<_> = plan.stages.iter().map(|stage| stage.variant.name.as_str()).collect();
            assert_eq!(line.split(" > ").collect::<Vec<_>>(), names);
        }
    }
}
