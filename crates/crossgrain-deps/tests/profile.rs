//! Profiles of loops, and other sizes.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod literature;

use crossgrain_deps::loops::{Memory, Profiled, Program};
use literature::{CONDITIONS, LITERATURE};

const TRIANGLE: &str = "param n >= 1 = 10
param m = 3
array a[n][n], b[-m..m]
word t
t = 5
for i = 0 to n - 1
  for j = 0 to i
    a[i][j] = a[i][j] * 3 + 1
  end
  if i < 4
    t = t + 1
  end
end
for k = 0 to -1
  b[k] = 1
end
";

fn profile(program: &Program) -> Vec<(String, usize, u64, u64, u64)> {
    let shown = |Profiled { counter, depth, entered, iterations, operations, .. }| {
        (counter, depth, entered, iterations, operations)
    };
    program.profile().unwrap().into_iter().map(shown).collect()
}

#[test]
fn operations_are_counted_for_each_loop() {
    let mut program = Program::parse(TRIANGLE).unwrap();
    // For each i a comparison, for four of them two operations, and for each j three.
    let wanted = |n: u64| {
        let inner = n * (n + 1) / 2;
        [
            ("i".to_owned(), 0, 1, n, 3 * inner + n + 2 * n.min(4)),
            ("j".to_owned(), 1, n, inner, 3 * inner),
            ("k".to_owned(), 0, 1, 0, 0),
        ]
    };
    assert_eq!(profile(&program), wanted(10));
    let shares: Vec<_> = program.profile().unwrap().iter().map(|looped| looped.share).collect();
    assert_eq!(shares, [183.0 / 184.0, 165.0 / 184.0, 0.0]);
    program.resize("n", 77).unwrap();
    assert_eq!(profile(&program), wanted(77));
}

/// Encryption: nearly all operations are in the rounds, and each round loop over columns has its share.
#[test]
fn the_rounds_of_aes_have_most_operations() {
    let mut program = Program::parse(include_str!("../examples/loops/aes-encrypt.loops")).unwrap();
    let loops = profile(&program);
    assert_eq!((&*loops[0].0, loops[0].2, loops[0].3), ("i", 1, 20));
    assert_eq!((&*loops[1].0, loops[1].2, loops[1].3), ("r", 20, 20 * 13));
    assert_eq!((&*loops[2].0, loops[2].2, loops[2].3), ("j", 20 * 13, 20 * 13 * 4));
    assert!(program.profile().unwrap()[1].share > 0.7);
    program.resize("blocks", 40).unwrap();
    let twice = |(name, depth, entered, iterations, operations): &(String, usize, u64, u64, u64)| {
        let entered = if *depth == 0 { *entered } else { 2 * entered };
        (name.clone(), *depth, entered, 2 * iterations, 2 * operations)
    };
    assert_eq!(profile(&program), loops.iter().map(twice).collect::<Vec<_>>());
}

#[test]
fn profiles_end_and_are_sorted() {
    for known in LITERATURE.iter().chain(CONDITIONS) {
        let loops = known.program().profile().unwrap();
        assert!(loops.is_sorted_by(|a, b| a.operations >= b.operations), "{}", known.name);
    }
    let nest = "word t\nfor i = 1 to 100000\n for j = 1 to 100000\n  t = t ^ 1\n end\nend";
    assert!(Program::parse(nest).unwrap().profile().unwrap_err().message.contains("too many steps"));
}

/// A resized program runs as if its text had the other number.
#[test]
fn sizes_replace_those_of_the_text() {
    let run = |program: &Program| {
        let mut memory = Memory::new(program);
        program.run(&mut memory).unwrap();
        memory.digest(program)
    };
    let mut program = Program::parse(TRIANGLE).unwrap();
    for n in [1, 5, 200, 2] {
        program.resize("n", n).unwrap();
        let text = TRIANGLE.replace("= 10", &format!("= {n}"));
        assert_eq!(run(&program), run(&Program::parse(&text).unwrap()), "{n}");
    }
    let before = run(&program);
    for (name, value, part) in [
        ("n", 0, "`n` is at least 1"),
        ("n", i64::MIN, "`n` is at least 1"),
        ("n", 1025, "words together"),
        ("n", i64::MAX, "at most 2^40"),
        ("m", i64::MIN, "at most 2^40"),
        ("m", -1, "`b` has no elements"),
        ("m", 1 << 40, "the size of `b` does not fit"),
        ("t", 5, "`t` is not a parameter"),
        ("i", 5, "`i` is not a parameter"),
        ("", 5, "`` is not a parameter"),
    ] {
        let message = program.resize(name, value).unwrap_err();
        assert!(message.contains(part), "{message}");
        assert_eq!(run(&program), before);
    }
}
