//! Every program finishes in bounded time. Excessive programs are refused. Undecided pairs count as
//! dependences and are marked as such.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain_deps::loops::{Analysis, Program};

/// A body inside nested loops.
fn nest(depth: usize, body: &str) -> String {
    let heads: String = (0..depth).map(|i| format!("for i{i} = 0 to 3\n")).collect();
    format!("{heads}{body}{}", "end\n".repeat(depth))
}

fn refusal(text: &str) -> String {
    let analysed = Analysis::of(&Program::parse(text).unwrap()).and_then(|analysis| analysis.agrees());
    analysed.unwrap_err().message
}

#[test]
fn too_many_accesses_are_refused() {
    let reads = format!("t = t{}\n", " + t".repeat(190));
    let entries: Vec<_> = (0..64).map(|entry| entry.to_string()).collect();
    let table = format!("array a[99]\ntable s[64] = {{{}}}\n", entries.join(", "));
    for text in [
        format!("word t\nfor i = 0 to 9\n{}end", reads.repeat(80)),
        format!("{table}{}", nest(6, &"a[s[i0]] = a[s[i1]] + 1\n".repeat(30))),
    ] {
        assert!(refusal(&text).contains("takes too long to decide"), "{}", refusal(&text));
    }
}

/// Each `!=` has two cases. Beyond a limit, conditions are not followed exactly.
#[test]
fn many_conditions_have_few_cases() {
    let heads: String = (0..8).map(|k| format!("if i0 != {k}\n")).collect();
    let body = format!("{heads}a[i0] = a[i1] + 1\n{}", "end\n".repeat(8));
    let text = format!("array a[99]\n{}", nest(2, &body));
    let analysis = Analysis::of(&Program::parse(&text).unwrap()).unwrap();
    assert_eq!((analysis.decided.unknown, analysis.agrees()), (0, Ok(true)));
}

/// Many statements give many parts, and nests give many candidates.
#[test]
fn transformations_of_large_programs_end() {
    let parts: String =
        (0..90).map(|k| format!("a[i0 + {k}] = a[i0 + {k} - 1] + b[i0 - {k} + 99]\n")).collect();
    let loops: String = (0..60).map(|k| format!("c[i0 + {k}] = c[i0 + {}] + 1\n", k * 7 % 60)).collect();
    let arrays = "array a[300], b[300], c[300], d[99][99]\n";
    let waves: String = (0..30)
        .map(|_| nest(3, "d[i0 + i1 + 5][i2 + 5] = d[i0 + i1 + 4][i2 + 5] + d[i0 + i1 + 5][i2 + 4]\n"))
        .collect();
    for body in [nest(1, &parts), nest(1, &loops), waves] {
        let text = format!("{arrays}{body}");
        let analysed = Analysis::of(&Program::parse(&text).unwrap());
        if let Some(transformed) = analysed.ok().and_then(|analysis| analysis.transformed()) {
            assert_ne!(transformed.agrees(), Ok(false));
        }
    }
}

#[test]
fn too_many_steps_are_refused() {
    assert!(refusal(&"for i = 0 to 200000\nend\n".repeat(250)).contains("too many to run"));
}

/// Coefficients of 60 bits exceed 127 bits after two eliminations.
#[test]
fn what_is_not_decided_is_a_dependence_that_says_so() {
    let large: Vec<_> = [3, 5, 7, 11, 13, 17].iter().map(|odd| format!("1099511627{odd:03}")).collect();
    let sum = |skip: usize| {
        let term =
            |i: usize| format!("{}*{}*i{i}", large[(i + skip) % 6], 1_000_003 + 10 * (i * i + 2 * skip));
        (0..3).map(term).collect::<Vec<_>>().join(" + ")
    };
    let text = format!(
        "array a[9][9]\n{}",
        nest(3, &format!("a[{}][{}] = a[{}][{}]\n", sum(0), sum(1), sum(2), sum(3)))
    );
    let text = text.replace("to 3", "to 99999999");
    let analysis = Analysis::of(&Program::parse(&text).unwrap()).unwrap();
    println!("{:?}", analysis.decided);
    assert!(analysis.decided.unknown > 0);
    let unknown = analysis.dependences.iter().find(|found| !found.is_certain).unwrap();
    assert!(unknown.to_string().ends_with("unknown: not ruled out"), "{unknown}");
    assert!(!analysis.loops[0].is_parallel());
}
