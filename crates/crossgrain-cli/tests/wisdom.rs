//! `crossgrain wisdom` as scripts use it: output, exit codes, and commands that work without wisdom.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crossgrain::Cipher;
use crossgrain::plan::compose::Cost;
use crossgrain::plan::{Costs, Known};
use crossgrain::wisdom::{Fingerprint, Wisdom};
use tempfile::TempDir;

/// FIPS 197, appendix C.1.
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const PLAIN: u128 = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff;
const CRYPT: u128 = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a;

/// A home directory for one test.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// The path of the wisdom file.
    fn kept(&self) -> PathBuf {
        self.0.path().join("kept.json")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossgrain"));
        command.args(arguments).current_dir(self.0.path()).env("CROSSGRAIN_WISDOM", self.kept());
        command.output().unwrap()
    }

    /// Standard output of a run that must succeed with nothing on standard error.
    fn prints(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert!(done.status.success() && done.stderr.is_empty(), "{arguments:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Standard output of a measurement, which may also say that costs are not kept.
    fn measures(&self, cipher: &str) -> String {
        let arguments = ["wisdom", "measure", "--cipher", cipher, "--budget-ms", "1"];
        let done = self.run(&arguments);
        let told = String::from_utf8(done.stderr.clone()).unwrap();
        let is_known = |line: &str| line.starts_with("crossgrain: ") && line.contains(" not kept");
        assert!(done.status.success() && told.lines().all(is_known), "{arguments:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// The single line on standard error of a run that must fail with this exit code.
    fn fails(&self, exit: i32, arguments: &[&str]) -> String {
        let done = self.run(arguments);
        assert_eq!(done.status.code(), Some(exit), "{arguments:?}: {done:?}");
        assert!(done.stdout.is_empty(), "{done:?}");
        one_line(&done)
    }

    /// Encrypts a known block and returns the output of the run.
    fn encrypts_as_ever(&self) -> Output {
        fs::write(self.0.path().join("plain"), PLAIN.to_be_bytes()).unwrap();
        let files = ["plain", "-o", "crypt", "--force"];
        let raw = ["raw", "--cipher", "aes-128", "--mode", "ecb", "--key", KEY];
        let done = self.run(&[&raw[..], &files].concat());
        assert!(done.status.success(), "{done:?}");
        assert_eq!(fs::read(self.0.path().join("crypt")).unwrap(), CRYPT.to_be_bytes());
        done
    }
}

fn one_line(done: &Output) -> String {
    let said = String::from_utf8(done.stderr.clone()).unwrap();
    assert!(said.starts_with("crossgrain: ") && said.ends_with('\n'), "{said:?}");
    assert_eq!(said.lines().count(), 1, "{said:?}");
    said
}

/// Wisdom with this machine's fingerprint that was never measured.
fn wisdom() -> Wisdom {
    let mut wisdom = Wisdom::new(Fingerprint::here());
    wisdom.insert(Cipher::Aes128, &Costs::estimates(Cipher::Aes128));
    wisdom
}

fn of_another_cpu() -> String {
    Wisdom::new(Fingerprint { cpu: "abacus\nand sons".to_owned(), ..Fingerprint::here() }).to_json()
}

#[test]
fn show_tells_what_is_kept() {
    let home = Home::new();
    wisdom().save(&home.kept()).unwrap();
    let Fingerprint { cpu, features, version, .. } = Fingerprint::here();
    let text = home.prints(&["wisdom", "show"]);
    let count = Costs::estimates(Cipher::Aes128).iter().count();
    for part in [&cpu, &features, &version, "kept.json", "ago", &format!("aes-128: {count} costs")] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&home.prints(&["wisdom", "show", "--json"])).unwrap();
    assert_eq!(json["costs"], serde_json::json!({"aes-128": count}));
    assert_eq!((json["machine"].as_str(), json["features"].as_str()), (Some(&*cpu), Some(&*features)));
    assert!(json["age_s"].as_u64().unwrap() < 3600, "{json}");
}

#[test]
fn without_wisdom_one_line_says_how_to_get_it() {
    let home = Home::new();
    for arguments in [&["wisdom", "show"][..], &["wisdom", "show", "--json"], &["wisdom", "export", "out"]] {
        let line = home.fails(1, arguments);
        assert!(line.contains("there is no wisdom") && line.contains("wisdom measure"), "{line}");
    }
    assert!(home.fails(1, &["wisdom", "import", "nowhere"]).contains("no such file"));
    assert!(home.prints(&["wisdom", "forget"]).contains("there was no wisdom"));
    assert!(home.encrypts_as_ever().stderr.is_empty(), "nobody misses what was never there");
}

#[test]
fn what_is_exported_and_forgotten_is_imported_again() {
    let home = Home::new();
    wisdom().save(&home.kept()).unwrap();
    home.prints(&["wisdom", "export", "out.json"]);
    let exported = fs::read_to_string(home.0.path().join("out.json")).unwrap();
    assert_eq!(Wisdom::from_json(&exported), Ok(wisdom()));
    assert_eq!(home.prints(&["wisdom", "export", "-"]), exported);
    assert!(home.fails(5, &["wisdom", "export", "out.json"]).contains("--force"));
    home.prints(&["wisdom", "export", "out.json", "--force"]);
    home.prints(&["wisdom", "forget"]);
    assert!(!home.kept().exists());
    home.prints(&["wisdom", "import", "out.json"]);
    assert_eq!(Wisdom::load(&home.kept()), Ok(wisdom()));
    assert!(home.encrypts_as_ever().stderr.is_empty());
}

#[test]
fn wisdom_of_elsewhere_and_damaged_wisdom_are_not_imported() {
    let home = Home::new();
    wisdom().save(&home.kept()).unwrap();
    let whole = wisdom().to_json();
    for (text, exit) in [
        (&*of_another_cpu(), 2),
        (r#"{"format": 1000000}"#, 2),
        (&whole[..whole.len() / 2], 3),
        ("garbage", 3),
        ("", 3),
    ] {
        fs::write(home.0.path().join("in.json"), text).unwrap();
        let line = home.fails(exit, &["wisdom", "import", "in.json"]);
        assert!(line.contains("in.json"), "{line}");
        assert_eq!(Wisdom::load(&home.kept()), Ok(wisdom()), "what is kept stays");
    }
}

#[test]
fn refused_wisdom_costs_one_line_and_work_goes_on() {
    let home = Home::new();
    let whole = wisdom().to_json();
    let newer = Wisdom::new(Fingerprint { version: "99.0.0".to_owned(), ..Fingerprint::here() }).to_json();
    for text in [&*of_another_cpu(), &*newer, r#"{"format": 3}"#, "garbage", &whole[..100], ""] {
        fs::write(home.kept(), text).unwrap();
        let line = one_line(&home.encrypts_as_ever());
        assert!(line.starts_with("crossgrain: wisdom ignored: "), "{line}");
        assert_eq!(fs::read_to_string(home.kept()).unwrap(), text, "it is not touched");
    }
}

/// Costs of a program with more kernels: each command that reads them prints one line, and keeps them.
#[test]
fn costs_of_a_larger_program_cost_one_line() {
    let home = Home::new();
    let unknown = ["no/such/variant", "another"].map(|name| (name.to_owned(), Known::from(Cost::fixed(1.0))));
    let estimates = Costs::estimates(Cipher::Aes128);
    let known = estimates.iter().map(|(name, known)| (name.to_owned(), known));
    let mut larger = Wisdom::new(Fingerprint::here());
    larger.insert(Cipher::Aes128, &known.chain(unknown).collect());
    fs::write(home.0.path().join("in.json"), larger.to_json()).unwrap();
    let shows = home.run(&["wisdom", "import", "in.json"]);
    assert!(one_line(&shows).contains("in.json: 2 of its costs"), "{shows:?}");
    assert_eq!(Wisdom::load(&home.kept()), Ok(larger));
    assert!(one_line(&home.encrypts_as_ever()).starts_with("crossgrain: wisdom used in part: "));
    let shows = home.run(&["wisdom", "show", "--json"]);
    one_line(&shows);
    let json: serde_json::Value = serde_json::from_slice(&shows.stdout).unwrap();
    assert_eq!(json["costs"], serde_json::json!({"aes-128": estimates.iter().count()}));
}

#[test]
fn it_is_kept_where_it_is_named_or_in_the_user_s_cache() {
    let home = Home::new();
    fs::write(home.0.path().join("in.json"), wisdom().to_json()).unwrap();
    let full = |name: &str| home.0.path().join(name).into_os_string();
    let none = OsString::new();
    for (named, cache, kept) in [
        (OsString::from("named.json"), full("cache"), "named.json"),
        (none.clone(), full("cache"), "cache/crossgrain/wisdom.json"),
        (none.clone(), OsString::from("relative"), "user/.cache/crossgrain/wisdom.json"),
        (none.clone(), none, "user/.cache/crossgrain/wisdom.json"),
    ] {
        let kept = home.0.path().join(kept);
        let _ = fs::remove_file(&kept);
        let mut command = Command::new(env!("CARGO_BIN_EXE_crossgrain"));
        command.args(["wisdom", "import", "in.json"]).current_dir(home.0.path()).env("HOME", full("user"));
        let done = command.env("CROSSGRAIN_WISDOM", named).env("XDG_CACHE_HOME", cache).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        assert_eq!(fs::read_to_string(kept).unwrap(), wisdom().to_json());
    }
}

#[test]
fn where_nothing_can_be_kept_one_line_says_so() {
    let home = Home::new();
    fs::write(home.0.path().join("in.json"), wisdom().to_json()).unwrap();
    // The parent is a file, so that even root cannot write there.
    fs::write(home.0.path().join("file"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossgrain"));
    command.args(["wisdom", "import", "in.json"]).current_dir(home.0.path());
    let done = command.env("CROSSGRAIN_WISDOM", "file/wisdom.json").output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(one_line(&done).contains("file/wisdom.json"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossgrain"));
    command.args(["wisdom", "show"]).env_remove("CROSSGRAIN_WISDOM").env_remove("XDG_CACHE_HOME");
    let done = command.env_remove("HOME").output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(one_line(&done).contains("CROSSGRAIN_WISDOM"));
}

#[test]
fn what_is_measured_is_kept_beside_the_rest_and_used() {
    let home = Home::new();
    wisdom().save(&home.kept()).unwrap();
    let said = home.measures("aes-256");
    assert!(said.starts_with("aes-256: ") && said.lines().count() == 1, "{said}");
    let kept = Wisdom::load(&home.kept()).unwrap();
    assert_eq!(kept.costs(Cipher::Aes128), wisdom().costs(Cipher::Aes128));
    assert!(kept.costs(Cipher::Aes256).unwrap().iter().count() > 10);
    home.measures("aes-128");
    assert_ne!(Wisdom::load(&home.kept()).unwrap().costs(Cipher::Aes128), wisdom().costs(Cipher::Aes128));
    assert!(home.encrypts_as_ever().stderr.is_empty());
    let shown: serde_json::Value = serde_json::from_str(&home.prints(&["wisdom", "show", "--json"])).unwrap();
    assert!(shown["spread"]["aes-128"].as_f64().unwrap() >= 0.0, "{shown}");
}

/// Without an explicit effort, `plan` uses stored wisdom, like the commands that compute.
#[test]
fn plans_go_by_what_is_kept() {
    let home = Home::new();
    let job = ["plan", "--cipher", "aes-128", "--job", "ctr", "--json"];
    let effort = |arguments: &[&str]| {
        let told: serde_json::Value = serde_json::from_str(&home.prints(arguments)).unwrap();
        told["effort"].as_str().unwrap().to_owned()
    };
    assert_eq!(effort(&job), "estimate");
    wisdom().save(&home.kept()).unwrap();
    assert_eq!(effort(&job), "wisdom");
    assert_eq!(effort(&[&job[..], &["--effort", "estimate"]].concat()), "estimate");
}
