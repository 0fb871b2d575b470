//! Emitted programs at other sizes than those of the text: results, refused arguments, and the examples at
//! 17 MiB.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod compiled;

use std::fs;
use std::path::Path;
use std::process::Command;

use compiled::{QUICK, cargo, compiled, digests, emitted, folder, has_gcc, parsed, run, wanted};
use crossgrain_deps::loops::Language;

/// Programs whose arrays have parameters in their sizes. `{n}` is the value of `n`.
const SIZED: [(&str, &str); 5] = [
    (
        "offsets",
        "param n >= 1 = {n}
         array a[-n..n], b[n + 2][-1..2*n - 1]
         for i = 1 - n to n
           a[i] = a[i - 1] ^ b[1][0]
         end
         for i = 0 to n + 1
           for j = 2*n - 1 to -1 step -1
             b[i][j] = b[i][j] * a[n - i] + i
           end
         end",
    ),
    (
        "private_and_copied",
        "param n >= 1 = {n}
         array a[n + 1], b[n][n]
         local array t[n]
         word s
         for i = 0 to n - 1
           for j = 0 to n - 1
             t[j] = b[i][j] + a[i + 1]
           end
           for j = 0 to n - 1
             b[i][j] = t[n - 1 - j] ^ s
           end
           a[i] = t[0]
         end",
    ),
    (
        "last_and_reduced",
        "param n >= 1 = {n}
         param m = 3
         array a[n*m]
         word last, sum
         int p = 2
         for i = 0 to n*3 - 1
           last = a[i] + p
           sum += last
           p = p + 5
         end",
    ),
    (
        "named_like_an_option",
        "param threads = 3
         param n = {n}
         array a[n + threads]
         for i = 0 to n + threads - 1
           a[i] = a[i] + threads
         end",
    ),
    (
        "outside_at_other_sizes",
        "param n >= 0 = {n}
         array a[60]
         for i = 0 to n - 1
           a[i] = a[i] * 5
         end",
    ),
];

fn text(text: &str, n: usize) -> String {
    text.replace("{n}", &n.to_string())
}

/// Runs a program at several sizes.
fn check(name: &str, program: &Path, with_n: &str) {
    for n in [1, 2, 6, 47] {
        let printed = run(Command::new(program).arg(format!("n={n}")).arg("runs=1"));
        assert_eq!(digests(&printed), [wanted(&parsed(&text(with_n, n)))], "{name}, n = {n}");
        assert!(printed.contains("threads      seconds  speed-up\n serial"), "{printed}");
    }
}

/// The examples with conditions or transformations.
fn transformed() -> &'static [(&'static str, &'static str, &'static [&'static str])] {
    &EXAMPLES[5..]
}

/// Runs the transformed examples at several sizes.
fn check_examples(built: impl Fn(&str) -> std::path::PathBuf) {
    for (name, text, _) in transformed() {
        for n in [2, 3, 11, 40] {
            let mut program = parsed(text);
            program.resize("n", n).unwrap();
            let printed = run(Command::new(built(name)).arg(format!("n={n}")).args(QUICK));
            assert_eq!(digests(&printed), [wanted(&program)], "{name}, n = {n}");
        }
    }
}

/// Arguments that a program refuses in one line.
fn check_refusals(folder: impl Fn(&str) -> std::path::PathBuf) {
    for (name, argument, told) in [
        ("offsets", "n=0", "`n` is at least 1"),
        ("offsets", "n=-5", "`n` is at least 1"),
        ("offsets", "n=", "argument 1: a number of at most 2^40 is wanted after `=`"),
        ("offsets", "n=5x", "argument 1: a number"),
        ("offsets", "n=9999999999999", "argument 1: a number"),
        ("offsets", "n=99999999999999999999999999", "argument 1: a number"),
        ("offsets", "n", "argument 1: NAME=VALUE is wanted; the names are n (20, at least 1), threads, runs"),
        ("offsets", "m=5", "argument 1: the name is unknown; the names are n (20, at least 1)"),
        ("offsets", "threads=0", "argument 1: a number from 1 to 1024 is wanted"),
        ("offsets", "runs=1025", "argument 1: a number from 1 to 1024 is wanted"),
        ("offsets", "\u{1b}\n=7", "argument 1: the name is unknown"),
        ("offsets", "n=1000000000000", "`a` is too large: arrays have at most 2^32 words together"),
        ("offsets", "n=50000", "`b` is too large: arrays have at most 2^32 words together"),
        ("last_and_reduced", "m=1", "7:19: `a[i]`: subscript 20 is not from 0 to 19"),
        ("last_and_reduced", "m=-1", "`a` has no elements with these sizes"),
        ("outside_at_other_sizes", "n=61", "4:"),
        ("outside_at_other_sizes", "n=1099511627776", "4:"),
        ("named_like_an_option", "threads=-40", "`a` has no elements"),
    ] {
        let done = Command::new(folder(name)).arg(argument).output().unwrap();
        let line = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{name} {argument}: {line}");
        assert!(line.starts_with(told) && line.trim_end().lines().count() == 1, "{name} {argument}: {line}");
    }
}

#[test]
fn c_takes_sizes() {
    if !has_gcc() {
        return;
    }
    let folder = folder("sized-c");
    for (name, with_n) in SIZED {
        let program = parsed(&text(with_n, 20));
        let compiled = compiled(&folder, name, &emitted(&program, Language::C), "-O1");
        check(name, &compiled, with_n);
    }
    check_refusals(|name| folder.join(name));
    for (name, text, _) in transformed() {
        compiled(&folder, name, &emitted(&parsed(text), Language::C), "-O1");
    }
    check_examples(|name| folder.join(name));
    println!("counted: {} loop nests in C at 4 sizes", SIZED.len() + transformed().len());
}

#[test]
fn rust_takes_sizes() {
    let folder = folder("sized-rust");
    fs::create_dir_all(folder.join("src/bin")).unwrap();
    for (name, with_n) in SIZED {
        let source = folder.join("src/bin").join(name).with_extension("rs");
        fs::write(source, emitted(&parsed(&text(with_n, 20)), Language::Rust)).unwrap();
    }
    for (name, text, _) in transformed() {
        let source = folder.join("src/bin").join(name).with_extension("rs");
        fs::write(source, emitted(&parsed(text), Language::Rust)).unwrap();
    }
    run(&mut cargo(&folder, "build"));
    let built = |name: &str| folder.join("target/debug").join(name);
    SIZED.iter().for_each(|(name, with_n)| check(name, &built(name), with_n));
    check_refusals(built);
    check_examples(built);
    println!("counted: {} loop nests in Rust at 4 sizes", SIZED.len() + transformed().len());
}

/// The examples, with arguments for 17 MiB: AES has a byte per word, the others use all bits.
const EXAMPLES: [(&str, &str, &[&str]); 10] = [
    ("aes_encrypt", include_str!("../examples/loops/aes-encrypt.loops"), &["blocks=1114112"]),
    ("aes_decrypt", include_str!("../examples/loops/aes-decrypt.loops"), &["blocks=1114112"]),
    ("recurrence", include_str!("../examples/loops/recurrence.loops"), &["n=4456448"]),
    ("shift", include_str!("../examples/loops/shift.loops"), &["n=4456448"]),
    ("last_value", include_str!("../examples/loops/last-value.loops"), &["n=4456448"]),
    ("conditions", include_str!("../examples/loops/conditions.loops"), &["n=2228224"]),
    ("distribute", include_str!("../examples/loops/distribute.loops"), &["n=1114112"]),
    ("interchange", include_str!("../examples/loops/interchange.loops"), &["n=1492"]),
    ("wavefront", include_str!("../examples/loops/wavefront.loops"), &["n=2112"]),
    ("gauss_seidel", include_str!("../examples/loops/gauss-seidel.loops"), &["n=2110", "sweeps=8"]),
];

/// Every example at the size of the published experiment, 17 MiB, by 1 to N threads.
#[test]
#[ignore = "compiles with optimisation, and runs for a minute"]
fn examples_run_at_17_mib() {
    let folder = folder("at-17-mib");
    fs::create_dir_all(folder.join("src/bin")).unwrap();
    for (name, text, _) in EXAMPLES {
        let source = folder.join("src/bin").join(name).with_extension("rs");
        fs::write(source, emitted(&parsed(text), Language::Rust)).unwrap();
    }
    run(cargo(&folder, "build").arg("--release"));
    let mut count = 0;
    for (name, text, arguments) in EXAMPLES {
        let rust = folder.join("target/release").join(name);
        let c = has_gcc()
            .then(|| compiled(&folder, &format!("{name}_c"), &emitted(&parsed(text), Language::C), "-O2"));
        let mut all = Vec::new();
        for program in [Some(rust), c].into_iter().flatten() {
            // At the size of the text, the library gives the same result.
            assert_eq!(digests(&run(Command::new(&program).args(QUICK))), [wanted(&parsed(text))]);
            let printed = run(Command::new(&program).args(arguments));
            println!("{name}, {}:\n{printed}", program.display());
            all.push(digests(&printed)[0].to_owned());
            count += 1;
        }
        assert!(all.iter().all(|digests| *digests == all[0]), "{name}");
    }
    println!("counted: {count} emitted programs at 17 MiB");
}
