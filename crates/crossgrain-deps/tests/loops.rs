//! User-written loops: the known results for loops of the literature, and invalid programs.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod literature;

use crossgrain_deps::loops::{Analysis, Program};
use literature::{CONDITIONS, LITERATURE, verdicts};

#[test]
fn verdicts_are_those_of_the_literature() {
    assert!(LITERATURE.len() >= 25);
    for known in LITERATURE.iter().chain(CONDITIONS) {
        let analysis = known.analysis();
        assert_eq!(verdicts(&analysis), known.loops, "{}: {:#?}", known.name, analysis.dependences);
        assert_eq!(analysis.decided.unknown, 0, "{}", known.name);
    }
    println!("counted: {} sample loops with known verdicts", LITERATURE.len() + CONDITIONS.len());
}

#[test]
fn loops_called_parallel_agree_in_any_order() {
    for known in LITERATURE.iter().chain(CONDITIONS) {
        assert_eq!(known.analysis().agrees(), Ok(true), "{}", known.name);
    }
}

/// The message that refuses a text.
fn fault(text: &str) -> String {
    let analysed = Program::parse(text).and_then(|program| {
        let analysis = Analysis::of(&program)?;
        analysis.agrees()
    });
    analysed.err().unwrap_or_else(|| panic!("accepted:\n{text}")).to_string()
}

#[test]
fn what_is_no_program_is_refused_in_one_line_with_its_place() {
    let deep = format!("word t\nt = {}1{}\n", "(".repeat(100), ")".repeat(100));
    let long = format!("word t\nt = 1{}\n", " + 1".repeat(300));
    let nest: String = (0..8).map(|i| format!("for i{i} = 0 to 1\n")).collect();
    let chain = format!("word t\nif t < 0\n{}end", "else if t < 1\n".repeat(9));
    let ifs = format!("word t\n{}", "if t < 1\n".repeat(9));
    let many = format!("word t\n{}", "t = 1\n".repeat(400));
    let huge = format!("# {}\n", "x".repeat(1 << 17));
    let name = format!("word {}", "n".repeat(49));
    let digits = format!("word t\nt = {}", "9".repeat(5000));
    for (text, start, part) in [
        // Loops without a bound, a valid step or an `end`.
        ("array a[9]\nfor i = 0\n  a[i] = 1\nend", "2:1: ", "no bound"),
        ("int p\nfor i = 0 to p\nend", "2:14: ", "for ever"),
        ("array a[9]\nfor i = 0 to a[1]\nend", "2:14: ", "for ever"),
        ("for i = 0 to 9 step 0\nend", "1:16: ", "never comes to the end"),
        ("word t\nfor i = 0 to 9\n t = 1\n", "2:1: ", "no `end`"),
        ("word t\nend", "2:1: ", "without a loop"),
        // Too many iterations.
        ("const n = 1000000000\nword t\nfor i = 1 to n\n t = 1\nend", "3:1: ", "1000000000 iterations"),
        ("word t\nfor i = 1 to 100000\n for j = 1 to 100000\n  t = 1\n end\nend", "", "steps to run"),
        ("for i = 0-(1<<3) to 9\nend", "1:9: ", "a bound is a sum"),
        // Subscripts that are not affine.
        ("array a[99]\nfor i = 0 to 9\n  a[i*i] = 1\nend", "3:3: ", "not affine"),
        ("array a[99], b[9]\nfor i = 0 to 8\n  a[b[i]] = 1\nend", "3:3: ", "not affine"),
        ("array a[99]\nint p\nfor i = 0 to 9\n  p = p + i\n  a[p] = 1\nend", "5:3: ", "no closed form"),
        ("array a[99]\nint p\nfor i = 0 to 9\n  a[p] = 1\n  p = i\nend", "4:3: ", "no closed form"),
        ("for i = 0 to 9\n for j = 0 to i*i\n end\nend", "2:2: ", "not affine"),
        // Unknown names, and names of the wrong kind.
        ("array a[9]\nfor i = 0 to 8\n  a[i] = x\nend", "3:10: ", "`x` is not declared"),
        ("y = 1", "1:1: ", "`y` is not declared"),
        ("array a[9]\narray a[9]", "2:7: ", "declared already"),
        ("array a[9]\nfor a = 0 to 1\nend", "2:5: ", "declared already"),
        ("word for", "1:6: ", "word of the language"),
        ("array a[9]\na = 1", "2:1: ", "1 subscripts"),
        ("const n = 1\nn = 2", "2:1: ", "constant"),
        ("param n = 1\nn = 2", "2:1: ", "cannot be assigned"),
        ("table s[2] = {1, 2}\ns[0] = 1", "2:1: ", "table"),
        ("param n >= 5 = 4", "1:16: ", "less than 5"),
        ("word t\nint p\np = t", "3:5: ", "is a word"),
        ("for i = 0 to 1\nword t\nend", "2:1: ", "before the loops"),
        // Conditions.
        ("word t\nif t < 1\n t = 1\n", "2:1: ", "this condition has no `end`"),
        ("word t\nif t < 1\nelse\n t = 1\n", "2:1: ", "this condition has no `end`"),
        ("word t\nif t < 1\nelse\nelse\nend", "4:1: ", "`else` without an `if`"),
        ("word t\nfor i = 0 to 1\nelse\nend", "3:1: ", "`else` without an `if`"),
        ("word t\nif t\nend", "2:5: ", "a comparison, as in `if a[i] < 5`"),
        ("word t\nif t = 1\nend", "2:6: ", "a comparison"),
        ("word t\nif t < 1 < 2\nend", "2:10: ", "end of the line"),
        ("word t\nif t < 1\nelse t = 1\nend", "3:6: ", "end of the line"),
        ("word t\nif t < 1\nelse if t < 2\n t = 1\n", "3:6: ", "this condition has no `end`"),
        ("word t\nif t < 1\nelse if t < 2\nelse\nelse\nend", "5:1: ", "`else` without an `if`"),
        (&chain, "10:6: ", "8 deep"),
        ("word t\nif u < 1\nend", "2:4: ", "`u` is not declared"),
        ("word if", "1:6: ", "word of the language"),
        ("array a[9], b[9]\nif a[b[1]] < 1\nend", "2:4: ", "not affine"),
        ("array a[9]\nfor i = 0 to 9\n if a[i] < 1\n end\nend", "3:5: ", "subscript 9 where"),
        ("int p = 1099511627776\nif p * p < 1\nend", "2:1: ", "does not fit 64 bits"),
        (
            "array a[9], b[9]\nint p\nfor i = 0 to 8\n if a[i] != 0\n  b[p] = a[i]\n  p = p + 1\n end\nend",
            "5:3: ",
            "no closed form",
        ),
        (&ifs, "10:1: ", "8 deep"),
        // Text outside the language.
        ("word t\nt = 1 $ 2", "2:7: ", "`$`"),
        ("word t\nt = 1 1", "2:7: ", "end of the line"),
        ("word t\nt = (1", "2:7: ", "`)`"),
        ("word t\nt 1", "2:3: ", "`=`"),
        ("word t, u\nt = t << u", "2:10: ", "0 to 31"),
        ("word t\nt = 99999999999999999999", "2:5: ", "63 bits"),
        ("word t\nt = 9999999999999999", "2:5: ", "2^40"),
        ("table s[3] = {1, 2}", "1:14: ", "3 words"),
        ("table s[1] = {4294967296}", "1:15: ", "32 bits"),
        ("array a[0]", "1:8: ", "no elements"),
        ("array a[1000000000]", "1:8: ", "words together"),
        // Subscripts out of range, which a run detects.
        ("array a[9]\nfor i = 0 to 9\n  a[i] = 1\nend", "3:3: ", "subscript 9 where `a` has 0 to 8"),
        (&deep, "2:", "too deep"),
        (&long, "2:", "too long"),
        (&nest, "7:1: ", "6 deep"),
        (&many, "", "lines of statements"),
        (&huge, "1:1: ", "longer than"),
        (&name, "1:6: ", "at most 48"),
        (&digits, "2:5: ", "63 bits"),
        ("word é", "1:6: ", "`é` has no meaning"),
        ("word a\u{301}", "1:7: ", "has no meaning"),
        ("word \u{202e}t", "1:6: ", "`\\u{202e}`"),
    ] {
        let line = fault(text);
        assert!(line.chars().count() < 300, "{line}");
        assert!(line.starts_with(start) && line.contains(part) && !line.contains('\n'), "{line}\n{text}");
    }
}

/// Corrupted programs never crash the analysis.
#[test]
fn broken_programs_end() {
    let texts: Vec<_> = LITERATURE.iter().chain(CONDITIONS).map(|known| known.text).collect();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut refused, mut analysed) = (0, 0);
    for _ in 0..3000 {
        let mut characters: Vec<char> = texts[random(texts.len())].chars().collect();
        for _ in 0..=random(3) {
            let at = random(characters.len());
            match random(3) {
                0 => drop(characters.remove(at)),
                1 => characters[at] = ['0', '9', 'i', '[', ']', '*', '-', '\n', '=', 'ü'][random(10)],
                _ => characters.insert(at, ['0', '9', 'a', '(', ')', '+', '~', ' ', ',', '{'][random(10)]),
            }
        }
        let text: String = characters.into_iter().collect();
        match Program::parse(&text).and_then(|program| Analysis::of(&program)) {
            Ok(analysis) => {
                // A subscript may now be out of range, but runs that finish agree.
                assert_ne!(analysis.agrees(), Ok(false), "{text}");
                if let Some(transformed) = analysis.transformed() {
                    assert_ne!(transformed.agrees(), Ok(false), "{text}");
                }
                analysed += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100 && analysed > 100, "{refused} refused, {analysed} analysed");
}

#[test]
fn a_private_variable_that_matters_afterwards_is_named() {
    let text = |local: &str| {
        format!(
            "param n = 9
             array a[n][n]
             {local} t
             for i = 0 to n - 1
               for j = i + 1 to n - 1
                 t = a[i][j]
                 a[i][j] = t ^ 1
               end
             end"
        )
    };
    let outer = |local: &str| Analysis::of(&Program::parse(&text(local)).unwrap()).unwrap().loops[0].clone();
    assert!(!outer("word").is_parallel());
    assert_eq!(outer("word").live, ["t"]);
    assert!(outer("local word").is_parallel());
}

/// Messages quote only the start of a long expression.
#[test]
fn messages_are_short() {
    let sum = "i + ".repeat(150);
    for text in [
        format!("array a[9]\nfor i = 0 to 8\n a[{sum}1] = 1\nend"),
        format!("array a[9]\nfor i = 0 to 8\n a[i * ({sum}1)] = 1\nend"),
        format!("table s[9] = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}\nfor i = 0 to 8\n s[{sum}1] = 1\nend"),
    ] {
        let line = fault(&text);
        assert!(line.contains("i+i+") && line.contains('…') && line.chars().count() < 200, "{line}");
    }
}

/// Names that differ only in case are distinct, and a name of the maximum length is accepted.
#[test]
fn names_are_told_apart_as_they_are_written() {
    let long = "n".repeat(48);
    let text = format!("array a[9], A[9], {long}[9]\nfor i = 0 to 8\n a[i] = A[i] ^ {long}[i]\nend");
    let analysis = Analysis::of(&Program::parse(&text).unwrap()).unwrap();
    assert!(analysis.dependences.is_empty() && analysis.agrees() == Ok(true));
}
