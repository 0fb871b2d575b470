//! Programs emitted as C and as Rust compile. Their serial and parallel versions give the same results as
//! running the loops here.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod compiled;
mod hostile;
mod literature;
mod nests;

use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use compiled::{QUICK, cargo, compiled, digests, emitted, folder, has_gcc, parsed, run, wanted};
use crossgrain_deps::loops::{Analysis, Language, Program};
use literature::{CONDITIONS, LITERATURE};

/// Programs that are not in the literature: names like the emitter's, every operation, and a large private
/// array.
const OTHERS: [(&str, &str); 8] = [
    (
        "stepped",
        "array a[20][60]
         for k = 0 to 19
           for i = k to min(2*k + 20, 50) step 3
             a[k][i] = a[k][i] * k + i
           end
           for i = 59 to max(40, k) step -4
             a[k][i] = i
           end
         end",
    ),
    (
        "names",
        "param double = 9
         array main[double + 1], fn[0..9][2], int_[3], a__old[9], _x[2]
         word static, k
         int while = 3
         for i = 0 to double - 1
           main[i] = main[i + 1] ^ fn[i][1]
           static = main[i] + int_[1]
           a__old[i] = static ^ _x[0] + k
           while = while + 1
         end",
    ),
    (
        "array_named_sum",
        "array sum[4]
         for i = 0 to 3
           sum[i] = sum[i] + 1
         end",
    ),
    (
        "word_named_sum",
        "array x[4]
         word sum
         for i = 0 to 3
           sum = sum + x[i]
         end",
    ),
    (
        "counter_and_constants",
        "array a[30], A[30]
         for n = 0 to 9
           a[n] = A[n + 1] ^ n
         end
         for t = 9 to 0 step -3
           A[t] = A[t + 1] + t
         end
         param n = 7
         table t[2] = {5, 6}
         for m = 0 to n
           a[m] = a[m] + t[1] + n
         end",
    ),
    (
        "operations",
        "array a[-3..40], b[0..40], r[5], d[5]
         word s, p, x, o, n
         int q = 7
         for i = 36 to 0 step -2
           a[i - 3] = ~(a[i - 3] << 3 | b[i] >> 7) - rotl(b[i], 5) * 0xfedcba98 + i - -b[i] & (i * 3 + q)
           s -= a[i - 3]
           p *= b[i] | 1
           x = b[i] ^ x
           o |= b[i] & 257
           n &= b[i] | 4096
           r[2] *= b[i] + 2
           d[3] -= b[i]
           q = q - 5
         end",
    ),
    (
        "large_private_array",
        "array a[6], b[6]
         local array t[70][100]
         for i = 0 to 5
           for j = 0 to 69
             for k = 0 to 99
               t[j][k] = a[i] * j + k
             end
           end
           for j = 0 to 69
             b[i] = b[i] ^ t[j][j + 1]
           end
         end",
    ),
    (
        "parallel_within_serial",
        "param n = 12
         array a[n][n], c[n]
         word t
         for i = 1 to n - 1
           for j = 0 to n - 2
             t = a[i - 1][j + 1] + c[j + 1]
             a[i][j] = t
             c[j] = t ^ i
           end
         end",
    ),
];

/// Random nests with a parallel loop whose treatment is more than private counters.
fn random() -> Vec<(String, Program)> {
    let programs = (1..).filter_map(|seed| {
        let text = if seed % 2 == 0 { nests::made(seed).0 } else { nests::made_with_numbers(seed) };
        let program = Program::parse(&text).unwrap();
        let analysis = Analysis::of(&program).ok()?;
        let is_chosen = analysis.chosen().iter().any(|&number| analysis.loops[number].steps().len() > 1);
        (is_chosen && analysis.agrees() == Ok(true)).then(|| (format!("random_{seed}"), program))
    });
    programs.take(30).collect()
}

/// Random nests that are transformed.
fn transformed() -> Vec<(String, Program)> {
    let programs = (1..).filter_map(|seed| {
        let program = Program::parse(&nests::stencils::stencil(seed)).unwrap();
        Analysis::of(&program).unwrap().transformed().map(|_| (format!("transformed_{seed}"), program))
    });
    programs.take(20).collect()
}

/// All programs, with names that are valid for modules and files.
fn all() -> &'static [(String, Program)] {
    static ALL: OnceLock<Vec<(String, Program)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let literature = LITERATURE.iter().chain(CONDITIONS).map(|known| (known.name, known.text));
        let aes = [
            ("aes_encrypt", include_str!("../examples/loops/aes-encrypt.loops")),
            ("aes_decrypt", include_str!("../examples/loops/aes-decrypt.loops")),
        ];
        let texts =
            literature.chain(aes).chain(OTHERS).map(|(name, text)| (name.to_owned(), text.to_owned()));
        let texts = texts.chain(hostile::programs()).map(|(name, text)| (name, parsed(&text)));
        texts.chain(random()).chain(transformed()).collect()
    })
}

/// A number that [`corrupted`] replaces.
const RIGHT: &str = "1234567";

/// Names that could collide with an emitted check's identifiers, each for a word and for an array.
fn to_corrupt() -> Vec<(String, Program)> {
    let names = [
        "sum", "digest", "words", "cells", "cell", "from", "seed", "number", "a", "b", "v", "word", "add",
        "c",
    ];
    let texts = names.into_iter().flat_map(|name| {
        let word =
            format!("array x_[9]\nword {name}\nfor i = 0 to 8\n {name} = {name} + (x_[i] ^ {RIGHT})\nend");
        let array = format!("array {name}[9]\nfor i = 0 to 8\n {name}[i] = {name}[i] ^ {RIGHT}\nend");
        [(format!("corrupt_word_{name}"), word), (format!("corrupt_array_{name}"), array)]
    });
    let int = "int p = 1\nfor i = 0 to 8\n p = p + 1234567 * 1000000\nend".to_owned();
    let texts = texts.filter(|(_, text)| Program::parse(text).is_ok());
    texts.chain([("corrupt_int".to_owned(), int)]).map(|(name, text)| (name, parsed(&text))).collect()
}

/// Emitted text with a wrong result in the parallel version.
fn corrupted(program: &Program, language: Language) -> String {
    let text = emitted(program, language);
    let start = text.find(" parallel(v").or(text.find(" parallel(void)")).unwrap();
    let (before, parallel) = text.split_at(start);
    let (parallel, after) = parallel.split_at(parallel.find("\n}\n").unwrap());
    assert!(parallel.contains(RIGHT), "{text}");
    // The low half of the number `p` is unchanged.
    let wrong = parallel.replace("1234567000000", "5529534296192").replace(RIGHT, "1234566");
    format!("{before}{wrong}{after}")
}

#[test]
fn others_have_parallel_loops_and_agree() {
    for (name, program) in all() {
        let analysis = Analysis::of(program).unwrap();
        assert_eq!(analysis.agrees(), Ok(true), "{name}");
        if OTHERS.iter().any(|(other, _)| name == other) {
            let verdicts = literature::verdicts(&analysis);
            assert!(!analysis.chosen().is_empty(), "{name}: {verdicts:?}");
        }
    }
}

#[test]
fn c_with_openmp_agrees() {
    if !has_gcc() {
        return;
    }
    let folder = folder("emitted-c");
    let programs = all();
    for (name, program) in programs {
        let optimise = if name.starts_with("hostile") { "-O0" } else { "-O1" };
        let compiled = compiled(&folder, name, &emitted(program, Language::C), optimise);
        let printed = run(Command::new(&compiled).args(QUICK));
        assert_eq!(digests(&printed), [wanted(program)], "{name}");
    }
    println!("counted: {} loop nests compiled by gcc -fopenmp", programs.len());
}

#[test]
fn c_with_a_wrong_parallel_loop_fails() {
    if !has_gcc() {
        return;
    }
    let folder = folder("corrupted-c");
    for (name, program) in to_corrupt() {
        let compiled = compiled(&folder, &name, &corrupted(&program, Language::C), "-O0");
        let done = Command::new(&compiled).args(QUICK).output().unwrap();
        assert_eq!(done.status.code(), Some(1), "{name}: {}", String::from_utf8_lossy(&done.stdout));
    }
}

/// Without OpenMP both versions would be serial, and their comparison would prove nothing.
#[test]
fn c_without_openmp_is_refused() {
    let source = folder("corrupted-c").join("without_openmp.c");
    fs::write(&source, emitted(&parsed(OTHERS[0].1), Language::C)).unwrap();
    let Ok(done) = Command::new("gcc").arg("-fsyntax-only").arg(&source).output() else {
        return println!("skipped: emitted C (no gcc here)");
    };
    assert!(!done.status.success() && String::from_utf8_lossy(&done.stderr).contains("-fopenmp"));
}

/// One package with a module per program, built with the workspace's version of rayon. Programs with a
/// wrong parallel loop must fail.
#[test]
fn rust_with_rayon_agrees() {
    let folder = folder("emitted-rust");
    let (programs, wrong) = (all(), to_corrupt());
    let (mut modules, mut calls, mut wanted_all) = (String::new(), String::new(), Vec::new());
    fs::create_dir_all(folder.join("src")).unwrap();
    for (name, program) in programs {
        fs::write(folder.join("src").join(name).with_extension("rs"), emitted(program, Language::Rust))
            .unwrap();
        modules += &format!("mod {name};\n");
        calls += &format!("    {name}::main();\n");
        wanted_all.push(wanted(program));
    }
    for (name, program) in &wrong {
        let source = folder.join("src").join(name).with_extension("rs");
        fs::write(source, corrupted(program, Language::Rust)).unwrap();
        modules += &format!("mod {name};\n");
        calls +=
            &format!("    assert!(std::panic::catch_unwind({name}::main).is_err(), \"{name} passes\");\n");
    }
    fs::write(folder.join("src/main.rs"), format!("{modules}\nfn main() {{\n{calls}}}\n")).unwrap();
    let printed = run(cargo(&folder, "run").arg("--").args(QUICK));
    let digests = digests(&printed);
    for ((name, _), (got, wanted)) in programs.iter().zip(digests.iter().zip(wanted_all)) {
        assert_eq!(**got, wanted, "{name}");
    }
    assert_eq!(digests.len(), programs.len());
    println!("counted: {} loop nests compiled with rayon", programs.len());
}

/// The identifiers and numbers of a text, except strings, and seeds, which depend on names.
fn tokens(text: &str) -> Vec<&str> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let code = text.split('"').step_by(2).flat_map(|code| code.split(move |char| !is_part(char)));
    code.filter(|token| !token.is_empty() && !token.starts_with("0x")).collect()
}

/// Emitted text is the same for every name, except for the name itself, which always has its prefix.
#[test]
fn no_name_changes_what_is_emitted() {
    let names = hostile::names();
    for language in [Language::C, Language::Rust] {
        for role in &hostile::ROLES {
            let of = |name: &str| emitted(&parsed(&hostile::program(&[(name, role)])), language);
            let neutral = of("neutral_name");
            for &name in &names {
                let wanted: Vec<_> = tokens(&neutral)
                    .iter()
                    .map(|token| token.replace("my_neutral_name", &format!("my_{name}")))
                    .collect();
                assert_eq!(tokens(&of(name)), wanted, "{name} as {role:?}");
            }
        }
    }
    println!("counted: {} hostile names in {} roles and 2 languages", names.len(), hostile::ROLES.len());
}

/// All names without a prefix are the emitter's. None of them starts like a prefixed name.
#[test]
fn prefixed_names_are_those_of_the_program() {
    let text = OTHERS.iter().find(|(name, _)| *name == "word_named_sum").unwrap().1;
    for language in [Language::C, Language::Rust] {
        let text = emitted(&parsed(text), language);
        let mut prefixed: Vec<_> = tokens(&text).into_iter().filter(|token| token.contains("my_")).collect();
        prefixed.sort_unstable();
        prefixed.dedup();
        let others = ["first_my_i", "k_my_i", "my_", "my_i", "my_sum", "my_x"];
        let wanted = match language {
            Language::C => [&["cells_my_x"], &others[..], &["trips_my_i"]].concat(),
            Language::Rust => [&others[..], &["part_my_sum", "trips_my_i"]].concat(),
        };
        assert_eq!(prefixed, wanted);
    }
}
