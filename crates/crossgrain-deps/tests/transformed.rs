//! Transformations: known nests, and random nests whose transformed programs leave the same values.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod literature;
mod nests;

use std::collections::BTreeMap;

use crossgrain_deps::loops::{Analysis, Program, Transformation, Transformed};
use literature::{CONDITIONS, LITERATURE};
use nests::made;
use nests::stencils::stencil;

fn analysis(text: &str) -> Analysis {
    let program = Program::parse(text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
    Analysis::of(&program).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

/// The transformations, followed by the loops: `i` is serial, `i!` parallel, and inner loops are in brackets.
fn shown(transformed: &Transformed) -> Vec<String> {
    let mut lines: Vec<_> = transformed.steps.iter().map(ToString::to_string).collect();
    let (mut text, mut depth) = (String::new(), 0);
    for looped in &transformed.analysis.loops {
        let inner = looped.around.len();
        text += &")".repeat(depth.max(inner) - inner);
        text += if inner > depth { "(" } else { " " };
        text += &looped.counter;
        text += if looped.is_parallel() { "!" } else { "" };
        depth = inner;
    }
    lines.push(text.trim().to_owned() + &")".repeat(depth));
    lines
}

const SKEWED: &str = "skew: run the loops over i and j in waves of i + j, each parallel";
const MOVED: &str = "interchange: move the loop over j outside i";

#[test]
fn known_nests_are_transformed() {
    for (text, wanted) in [
        (include_str!("../examples/loops/wavefront.loops"), &[SKEWED, "wave(i!)"][..]),
        (
            include_str!("../examples/loops/gauss-seidel.loops"),
            &["skew: run the loops over k and i in waves of 2*k + i, each parallel", "wave(k!(j))"],
        ),
        (
            include_str!("../examples/loops/distribute.loops"),
            &["distribute into 3 loops, 2 of them parallel", "i! i i!"],
        ),
        (include_str!("../examples/loops/interchange.loops"), &[MOVED, MOVED, "j!(i) j!(i)"]),
    ] {
        let analysis = analysis(text);
        assert!(!analysis.loops[0].is_parallel());
        let transformed = analysis.transformed().unwrap();
        assert_eq!(shown(&transformed), wanted);
        assert_eq!(transformed.agrees(), Ok(true));
    }
}

/// Transformations that would change the result, and loops that need none.
#[test]
fn other_nests_stay() {
    for text in [
        // Distances (1, -5) need a factor above the limit. Interchange would reverse them.
        "array a[20][30]\nfor i = 1 to 9\nfor j = 1 to 9\na[i][j] = a[i - 1][j + 5] + a[i][j - 1]\nend\nend",
        // Not uniform: the column depends on an unknown number.
        "param n = 9\narray a[20][99]\nfor i = 1 to 9\nfor j = 1 to 9\na[i][j + n] = a[i - 1][j] + a[i][j + n - 1]\nend\nend",
        // A cycle through both statements.
        "array a[20], b[20]\nfor i = 1 to 9\na[i] = b[i - 1]\nb[i] = a[i - 1]\nend",
        "array a[20]\nfor i = 1 to 9\na[i] = a[i - 1]\nend",
        // A value passes through a variable that is not private.
        "array a[20][20]\nword t\nfor i = 1 to 9\nfor j = 1 to 9\na[i][j] = t\nt = a[i - 1][j]\nend\nend",
        // Parallel as written.
        include_str!("../examples/loops/aes-encrypt.loops"),
        include_str!("../examples/loops/aes-decrypt.loops"),
        include_str!("../examples/loops/conditions.loops"),
        "word t\nt = 5",
        "",
    ] {
        let transformed = analysis(text).transformed();
        assert!(transformed.is_none(), "{text}\n{:?}", transformed.map(|transformed| shown(&transformed)));
    }
}

#[test]
fn loops_of_the_literature_agree_when_transformed() {
    let all = LITERATURE.iter().chain(CONDITIONS);
    let changed = all.filter_map(|known| Some((known.name, known.analysis().transformed()?)));
    let mut steps = Vec::new();
    for (name, transformed) in changed {
        assert_eq!(transformed.agrees(), Ok(true), "{name}");
        steps.push((name, shown(&transformed).join(", ")));
    }
    let wanted = [
        ("wavefront", format!("{SKEWED}, wave(i!)")),
        ("distributable", "distribute into 2 loops, 2 of them parallel, i! i!".to_owned()),
    ];
    assert_eq!(steps, wanted);
}

/// Counts of transformations by kind, and of nests.
type Counts = BTreeMap<Transformation, usize>;

fn check(texts: impl Iterator<Item = String>) -> Counts {
    let mut counts = Counts::new();
    for text in texts {
        let analysis = analysis(&text);
        let Some(transformed) = analysis.transformed() else { continue };
        match transformed.agrees() {
            Ok(agrees) => {
                assert!(agrees, "{text}\n{:?}\n{:#?}", shown(&transformed), transformed.analysis.loops)
            }
            Err(fault) => panic!("{text}\n{fault}"),
        }
        transformed.steps.iter().for_each(|step| *counts.entry(step.kind).or_default() += 1);
    }
    counts
}

fn check_nests(cases: u64) {
    let mut all = Counts::new();
    std::thread::scope(|scope| {
        let halves = [1..=cases / 2, cases / 2 + 1..=cases];
        let threads = halves
            .map(|seeds| scope.spawn(move || check(seeds.flat_map(|seed| [stencil(seed), made(seed).0]))));
        for thread in threads {
            thread
                .join()
                .unwrap()
                .into_iter()
                .for_each(|(kind, count)| *all.entry(kind).or_default() += count);
        }
    });
    println!("counted: {} random nests examined for transformations", 2 * cases);
    for (kind, count) in &all {
        let kind = format!("{kind:?}").to_lowercase();
        println!("counted: {count} uses of {kind} in random nests that keep the result");
    }
    for kind in [Transformation::Distribution, Transformation::Interchange, Transformation::Skewing] {
        assert!(all[&kind] as u64 > cases / 40, "{kind:?}: {all:?}");
    }
}

#[test]
fn random_nests_agree_when_transformed() {
    check_nests(300);
}

#[test]
#[ignore = "takes a minute"]
fn thousands_of_random_nests_agree_when_transformed() {
    check_nests(5000);
}
