//! Programs written out in C and in Rust compile, and their serial and parallel versions leave what running the loops here leaves.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod literature;
mod nests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossgrain_deps::loops::{Analysis, Language, Memory, Program};
use literature::LITERATURE;

/// Programs that the literature's do not have: names that mean something in C or Rust, every operation, a large private array.
const OTHERS: [(&str, &str); 5] = [
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

/// Random nests with a parallel loop that takes more than private counters.
fn random() -> Vec<(String, Program)> {
    let programs = (1..).filter_map(|seed| {
        let text = if seed % 2 == 0 { nests::made(seed).0 } else { nests::made_with_numbers(seed) };
        let program = Program::parse(&text).unwrap();
        let analysis = Analysis::of(&program).ok()?;
        let is_chosen = analysis.chosen().iter().any(|&number| analysis.loops[number].steps().len() > 1);
        (is_chosen && analysis.agrees() == Ok(true)).then(|| (format!("random_{seed}"), program))
    });
    programs.take(60).collect()
}

/// All programs, by names that are modules and files.
fn all() -> Vec<(String, Program)> {
    let literature = LITERATURE.iter().map(|known| (known.name, known.text));
    let aes = [
        ("aes_encrypt", include_str!("../examples/loops/aes-encrypt.loops")),
        ("aes_decrypt", include_str!("../examples/loops/aes-decrypt.loops")),
    ];
    let texts = literature.chain(aes).chain(OTHERS);
    let parsed = |text| Program::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    texts.map(|(name, text)| (name.to_owned(), parsed(text))).chain(random()).collect()
}

fn emitted(program: &Program, language: Language) -> String {
    Analysis::of(program).unwrap().emit(language)
}

/// What the compiled program is to print: the digest of the serial run, and that of the parallel one.
fn wanted(program: &Program) -> String {
    let mut memory = Memory::new(program);
    program.run(&mut memory).unwrap();
    let digest = memory.digest(program);
    format!("{digest:016x} {digest:016x}\n")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(done.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn others_have_parallel_loops_and_agree() {
    for (name, program) in all() {
        let analysis = Analysis::of(&program).unwrap();
        assert_eq!(analysis.agrees(), Ok(true), "{name}");
        if OTHERS.iter().any(|(other, _)| name == *other) {
            let verdicts = literature::verdicts(&analysis);
            assert!(!analysis.chosen().is_empty(), "{name}: {verdicts:?}");
        }
    }
}

#[test]
fn c_with_openmp_agrees() {
    if Command::new("gcc").arg("--version").output().is_err() {
        println!("skipped: emitted C (no gcc here)");
        return;
    }
    let folder = folder("emitted-c");
    let programs = all();
    for (name, program) in &programs {
        let (source, compiled) = (folder.join(name).with_extension("c"), folder.join(name));
        fs::write(&source, emitted(program, Language::C)).unwrap();
        run(Command::new("gcc").args(["-std=c11", "-O1", "-fopenmp", "-o"]).arg(&compiled).arg(&source));
        assert_eq!(run(Command::new(&compiled).env("OMP_NUM_THREADS", "4")), wanted(program), "{name}");
    }
    println!("counted: {} loop nests compiled by gcc -fopenmp", programs.len());
}

/// One package with a module for each program, by the same rayon as the workspace's.
#[test]
fn rust_with_rayon_agrees() {
    let folder = folder("emitted-rust");
    let programs = all();
    let (mut modules, mut calls, mut wanted_all) = (String::new(), String::new(), String::new());
    fs::create_dir_all(folder.join("src")).unwrap();
    for (name, program) in &programs {
        fs::write(folder.join("src").join(name).with_extension("rs"), emitted(program, Language::Rust))
            .unwrap();
        modules += &format!("mod {name};\n");
        calls += &format!("    {name}::main();\n");
        wanted_all += &wanted(program);
    }
    let manifest = "[package]\nname = \"emitted\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                    [dependencies]\nrayon = \"1\"\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/main.rs"), format!("{modules}\nfn main() {{\n{calls}}}\n")).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock"), folder.join("Cargo.lock"))
        .unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["run", "--quiet", "--offline", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(folder.join("target")).env("RAYON_NUM_THREADS", "4");
    let printed = run(&mut cargo);
    for ((name, _), (got, wanted)) in programs.iter().zip(printed.lines().zip(wanted_all.lines())) {
        assert_eq!(got, wanted, "{name}");
    }
    assert_eq!(printed.lines().count(), programs.len());
    println!("counted: {} loop nests compiled with rayon", programs.len());
}
