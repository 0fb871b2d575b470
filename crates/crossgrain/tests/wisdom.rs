//! Wisdom is read back unchanged, or refused as a whole with one line. Costs that only another build knows are
//! counted and kept. Writers that run at the same time lose nothing.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use common::{capped, key, painted};
use crossgrain::Cipher;
use crossgrain::engine::device::Kernel;
use crossgrain::engine::variant::{Action, Policy, Variant, table};
use crossgrain::mode::{Ctr, Options};
use crossgrain::plan::compose::Cost;
use crossgrain::plan::{Costs, Fused, Known};
use crossgrain::wisdom::{DeviceCosts, Fingerprint, Refused, Wisdom, forget};

/// A directory for one test, deleted when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("crossgrain-wisdom-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("wisdom.json")
    }

    /// The names in the directory, without the lock.
    fn names(&self) -> Vec<String> {
        let names =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".lock")).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Costs with many digits, for every variant.
fn costs(seed: u64) -> Costs {
    let rows = table().iter().enumerate().map(|(at, variant)| {
        let [a, b] = [0, 1].map(|i| {
            let bytes = painted(8, seed + 2 * at as u64 + i);
            u64::from_le_bytes(bytes.try_into().unwrap()) as f64 / 3e15
        });
        let cost = Cost { fixed_ns: a, per_byte_ns: b / 1e5 };
        // Some have a spread, some do not.
        (variant.name.clone(), Known { cost, spread: (at % 3 > 0).then_some(a.fract()) })
    });
    rows.collect()
}

fn wisdom(ciphers: &[Cipher]) -> Wisdom {
    let mut wisdom = Wisdom::new(Fingerprint::here());
    for &cipher in ciphers {
        wisdom.insert(cipher, &costs(cipher.key_bytes() as u64));
    }
    wisdom
}

/// Wisdom of one variant, so that its text is short.
fn small() -> Wisdom {
    let mut wisdom = Wisdom::new(Fingerprint::here());
    let cost = Cost { fixed_ns: 12.5, per_byte_ns: 0.1 + 0.2 };
    wisdom.insert(Cipher::Aes128, &[(table()[0].name.clone(), cost)].into_iter().collect());
    let costs = ["upload", "download", "open/aes-ctr", "aes-128/aes-ctr"].map(|name| (name.to_owned(), cost));
    let threads = [("aes-ctr", 128), ("parallel/run", 1 << 16)].map(|(name, count)| (name.to_owned(), count));
    let device = DeviceCosts {
        model: "a device (and its driver)".to_owned(),
        costs: costs.into_iter().collect(),
        threads: threads.into(),
    };
    wisdom.insert_device("cuda:0", &device);
    wisdom
}

#[test]
fn devices_are_places_for_what_was_measured_on_them() {
    let kernel = |name: &str| Kernel::find(name).unwrap();
    let wisdom = Wisdom::from_json(&small().to_json()).unwrap();
    assert_eq!(wisdom, small());
    let places = wisdom.places(Cipher::Aes128, kernel("aes-ctr"));
    assert_eq!(places.iter().map(|place| &*place.name).collect::<Vec<_>>(), ["cuda:0"]);
    assert_eq!(places[0].total().fixed_ns, 4.0 * 12.5);
    assert_eq!(wisdom.places(Cipher::Aes256, kernel("aes-ctr")), []);
    assert_eq!(wisdom.places(Cipher::Aes128, kernel("aes-encrypt")), []);
}

/// The refusal of a text, which must be a single line without control characters.
fn refusal(text: &str) -> Refused {
    let refused = Wisdom::from_json(text).unwrap_err();
    let line = refused.to_string();
    assert!(!line.is_empty() && line.len() < 400 && !line.contains(char::is_control), "{line:?}");
    refused
}

/// The refusal of complete wisdom with another fingerprint.
fn refusal_of(change: impl FnOnce(&mut Fingerprint)) -> Refused {
    let mut signature = Fingerprint::here();
    change(&mut signature);
    refusal(&Wisdom::new(signature).to_json())
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = Folder::new();
    for ciphers in [&[][..], &[Cipher::Aes192], &Cipher::ALL] {
        let saved = wisdom(ciphers);
        assert_eq!(Wisdom::from_json(&saved.to_json()), Ok(saved.clone()));
        saved.save(&folder.file()).unwrap();
        let loaded = Wisdom::load(&folder.file()).unwrap();
        assert_eq!(loaded, saved);
        for cipher in Cipher::ALL {
            let known = ciphers.contains(&cipher).then(|| costs(cipher.key_bytes() as u64));
            assert_eq!(loaded.costs(cipher), known.as_ref());
        }
    }
    assert_eq!(folder.names(), ["wisdom.json"], "nothing is left beside it");
}

#[test]
fn directories_are_made_on_the_way() {
    let folder = Folder::new();
    let path = folder.0.join("a").join("b").join("wisdom.json");
    small().save(&path).unwrap();
    assert_eq!(Wisdom::load(&path), Ok(small()));
}

#[test]
fn costs_that_are_no_costs_are_left_out() {
    let mut wisdom = Wisdom::new(Fingerprint::here());
    let bad = [f64::NAN, f64::INFINITY, -1.0];
    let rows = bad.iter().zip(table()).map(|(&ns, variant)| (variant.name.clone(), Cost::fixed(ns)));
    wisdom.insert(Cipher::Aes128, &rows.collect());
    assert_eq!(wisdom.costs(Cipher::Aes128), Some(&Costs::default()));
    assert_eq!(Wisdom::from_json(&wisdom.to_json()), Ok(wisdom));
}

#[test]
fn wisdom_of_elsewhere_is_refused() {
    let other = || "another\n\u{1b}[31m thing".to_owned();
    assert!(matches!(refusal_of(|s| s.cpu = other()), Refused::Cpu(_)));
    assert!(matches!(refusal_of(|s| s.features = other()), Refused::Features(_)));
    assert!(matches!(refusal_of(|s| s.version = "99.0.0".to_owned()), Refused::Version(_)));
    assert!(matches!(refusal_of(|s| s.cpu = "x".repeat(100_000)), Refused::Cpu(_)));
    assert_eq!(refusal_of(|s| s.variants = other()), Refused::Variants);
    let here = Fingerprint::here();
    assert!(!here.cpu.is_empty() && here.cpu.trim() == here.cpu, "{here:?}");
}

#[test]
fn wisdom_from_the_future_is_refused_whatever_else_it_says() {
    let text = small().to_json().replacen("\"format\":4", "\"format\":5", 1);
    assert_eq!(refusal(&text), Refused::Future { format: 5 });
    assert_eq!(refusal(r#"{"format": 7, "stars": []}"#), Refused::Future { format: 7 });
}

#[test]
fn wisdom_of_an_older_format_is_refused_whatever_else_it_says() {
    for (text, format) in [(r#"{"format":0}"#, 0), (r#"{"format":3,"costs":{}}"#, 3)] {
        assert_eq!(refusal(text), Refused::Past { format });
    }
}

#[test]
fn a_cut_file_is_refused_wherever_it_is_cut() {
    let text = small().to_json();
    let whole = text.trim_end().len();
    for len_bytes in 0..whole {
        if text.is_char_boundary(len_bytes) {
            assert!(matches!(refusal(&text[..len_bytes]), Refused::Corrupt(_)), "{len_bytes}");
        }
    }
    assert_eq!(Wisdom::from_json(&text[..whole]), Ok(small()), "only the line's end is gone");
}

/// Any byte replaced by another: the file is refused, unless only white space changed.
#[test]
fn a_changed_file_is_refused_wherever_it_is_changed() {
    let text = small().to_json();
    for at in 0..text.len() {
        for new in *b"0 9\"}a-" {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = new;
            if let Ok(changed) = String::from_utf8(bytes) {
                let read = Wisdom::from_json(&changed);
                assert!(read.is_err() || read == Ok(small()), "{at}: {changed}");
            }
        }
    }
}

#[test]
fn garbage_is_refused() {
    let negative = small().to_json().replacen("12.5", "-12.5", 1);
    let renamed = small().to_json().replacen(&table()[0].name, "no/such/variant", 1);
    let cipher = small().to_json().replacen("aes-128\":", "aes-127\":", 1);
    let twice = small().to_json().repeat(2);
    let deep = "[".repeat(100_000);
    let texts = ["", " ", "null", "[]", "{}", "wisdom", "{\"format\":4}", "{\"format\":-1}"];
    for text in texts.into_iter().chain([&*negative, &*renamed, &*cipher, &*twice, &*deep]) {
        assert_ne!(text, small().to_json());
        assert!(matches!(refusal(text), Refused::Corrupt(_)), "{text:.40}");
    }
    let folder = Folder::new();
    fs::write(folder.file(), [0xff, 0xfe, 0, 1]).unwrap();
    assert!(matches!(Wisdom::load(&folder.file()), Err(Refused::Corrupt(_))));
    fs::write(folder.file(), " ".repeat(20 << 20)).unwrap();
    assert!(matches!(Wisdom::load(&folder.file()), Err(Refused::Corrupt(_))));
}

/// Costs of names that this build does not have are counted, kept by a merge, and used by no plan.
#[test]
fn costs_of_a_larger_build_are_counted_and_kept() {
    let (cipher, folder) = (Cipher::Aes128, Folder::new());
    let known = small().costs(cipher).unwrap().clone();
    let unknown = ["no/such/variant", "another"].map(|name| (name.to_owned(), Known::from(Cost::FREE)));
    let own = known.iter().map(|(name, known)| (name.to_owned(), known));
    let mut larger = small();
    larger.insert(cipher, &own.chain(unknown).collect());
    assert_eq!((small().unknown(), larger.unknown()), (0, 2));
    larger.save(&folder.file()).unwrap();
    let loaded = Wisdom::load(&folder.file()).unwrap();
    assert_eq!((loaded.unknown(), &loaded), (2, &larger));
    let plans = [&known, loaded.costs(cipher).unwrap()].map(|costs| {
        let options = Options { costs: Some(Arc::new(costs.clone())), ..capped("portable", 1) };
        let ctr = Ctr::with_options(&key(cipher, 3), &[0; 16], &options).unwrap();
        ctr.plans().iter().map(ToString::to_string).collect::<Vec<_>>()
    });
    assert_eq!(plans[0], plans[1]);
    // Other ciphers leave these costs in the file. New costs of the same cipher replace all of its costs.
    assert_eq!(wisdom(&[Cipher::Aes256]).merge(&folder.file()).unwrap().unknown(), 2);
    assert_eq!(small().merge(&folder.file()).unwrap().unknown(), 0);
}

#[test]
fn costs_of_a_cipher_of_a_larger_build_are_counted_and_kept() {
    let Fingerprint { version, cpu, features, variants } = Fingerprint::here();
    let mut said = format!("{version}\n{cpu}\n{features}\n{variants}\nrot-13\nname\n").into_bytes();
    said.extend([12.5, 0.5, -1.0].iter().flat_map(|figure: &f64| figure.to_le_bytes()));
    let none = Wisdom::new(Fingerprint::here()).to_json();
    let costs = none.replacen("\"costs\":{}", "\"costs\":{\"rot-13\":{\"name\":[12.5,0.5,null]}}", 1);
    let (_, digest) = none.split_once("\"digest\":\"").unwrap();
    let text = costs.replacen(&digest[..16], &fnv_1a(&said), 1);
    let loaded = Wisdom::from_json(&text).unwrap();
    assert_eq!(loaded.unknown(), 1);
    assert_eq!(Wisdom::from_json(&loaded.to_json()), Ok(loaded.clone()));
    let folder = Folder::new();
    loaded.save(&folder.file()).unwrap();
    assert_eq!(wisdom(&Cipher::ALL).merge(&folder.file()).unwrap().unknown(), 1);
    let changed = text.replacen("rot-13", "rot-14", 1);
    assert!(matches!(refusal(&changed), Refused::Corrupt(_)));
}

#[test]
fn what_is_not_there_is_missing() {
    let folder = Folder::new();
    assert_eq!(Wisdom::load(&folder.file()), Err(Refused::Missing));
    assert_eq!(forget(&folder.file()), Err(Refused::Missing));
    assert!(matches!(Wisdom::load(&folder.0), Err(Refused::Unreadable(_))), "a directory");
    assert!(folder.names().is_empty(), "asking leaves nothing behind");
    small().save(&folder.file()).unwrap();
    forget(&folder.file()).unwrap();
    assert_eq!(Wisdom::load(&folder.file()), Err(Refused::Missing));
}

/// A file in place of a directory stops every user, whatever their access rights.
#[test]
fn where_nothing_can_be_written_nothing_is_lost() {
    let folder = Folder::new();
    small().save(&folder.file()).unwrap();
    let within = folder.file().join("wisdom.json");
    for refused in [small().save(&within), small().merge(&within).map(drop)] {
        let refused = refused.unwrap_err();
        assert!(matches!(refused, Refused::Unwritable(_)), "{refused}");
    }
    fs::create_dir(folder.0.join("directory")).unwrap();
    assert!(small().save(&folder.0.join("directory")).is_err());
    assert_eq!(Wisdom::load(&folder.file()), Ok(small()));
    assert_eq!(folder.names().len(), 2, "no temporary file stays: {:?}", folder.names());
}

#[test]
fn new_costs_go_before_old_ones_and_doubtful_wisdom_is_replaced() {
    let folder = Folder::new();
    let file = folder.file();
    small().merge(&file).unwrap();
    wisdom(&[Cipher::Aes256]).merge(&file).unwrap();
    let both = Wisdom::load(&file).unwrap();
    assert_eq!(both.costs(Cipher::Aes128), small().costs(Cipher::Aes128));
    assert_eq!(both.costs(Cipher::Aes256), wisdom(&[Cipher::Aes256]).costs(Cipher::Aes256));
    let (all, kept) = (wisdom(&Cipher::ALL), wisdom(&Cipher::ALL).merge(&file).unwrap());
    assert!(Cipher::ALL.iter().all(|&cipher| kept.costs(cipher) == all.costs(cipher)));
    assert!(kept.devices().eq(small().devices()), "nothing new is known of devices");
    fs::write(&file, "garbage").unwrap();
    assert_eq!(small().merge(&file), Ok(small()));
    fs::write(&file, r#"{"format": 9}"#).unwrap();
    assert_eq!(small().merge(&file), Err(Refused::Future { format: 9 }));
    assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"format": 9}"#, "who knows more may need it");
}

fn merge_often(path: &Path, cipher: Cipher) {
    for _ in 0..20 {
        let merged = wisdom(&[cipher]).merge(path).unwrap();
        assert!(merged.costs(cipher).is_some());
        // A concurrent reader finds a complete file.
        assert!(Wisdom::load(path).unwrap().costs(cipher).is_some());
    }
}

#[test]
fn threads_that_write_at_once_lose_nothing() {
    let folder = Folder::new();
    for _ in 0..2 {
        thread::scope(|scope| {
            for cipher in Cipher::ALL {
                let file = folder.file();
                scope.spawn(move || merge_often(&file, cipher));
            }
        });
        assert_eq!(Wisdom::load(&folder.file()), Ok(wisdom(&Cipher::ALL)));
        forget(&folder.file()).unwrap();
    }
    assert!(folder.names().is_empty());
}

/// Runs this test in a child process for each cipher; the child finds the mark set.
#[test]
fn processes_that_write_at_once_lose_nothing() {
    const MARK: &str = "CROSSGRAIN_TEST_WISDOM";
    if let Some(mark) = std::env::var_os(MARK) {
        let mark = mark.into_string().unwrap();
        let (cipher, path) = mark.split_once(' ').unwrap();
        return merge_often(Path::new(path), cipher.parse().unwrap());
    }
    let folder = Folder::new();
    let children = Cipher::ALL.map(|cipher| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes_that_write_at_once_lose_nothing"])
            .env(MARK, format!("{cipher} {}", folder.file().display()))
            .spawn()
            .unwrap()
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(Wisdom::load(&folder.file()), Ok(wisdom(&Cipher::ALL)));
    assert_eq!(folder.names(), ["wisdom.json"]);
}

/// Cheap single steps, then cheap whole ciphers: two different plans, and the same bytes.
#[test]
fn a_plan_goes_by_the_costs_of_wisdom() {
    let cipher = Cipher::Aes128;
    let planned = |whole_ns: f64, step_ns: f64| {
        let cost = |name: &str| if name.starts_with("aes-") { whole_ns } else { step_ns };
        let rows = table().iter().map(|v| (v.name.clone(), Cost::per_byte(cost(&v.name))));
        let mut wisdom = Wisdom::new(Fingerprint::here());
        wisdom.insert(cipher, &rows.collect());
        let wisdom = Wisdom::from_json(&wisdom.to_json()).unwrap();
        let costs = wisdom.costs(cipher).cloned().map(Arc::new);
        let options = Options { policy: Policy::Any, costs, ..capped("portable", 1) };
        let ctr = Ctr::with_options(&key(cipher, 3), &[0; 16], &options).unwrap();
        let mut bytes = painted(5000, 1);
        ctr.apply_at(0, &mut bytes);
        (ctr.plans()[0].to_string(), bytes)
    };
    let (steps, wholes) = (planned(1e6, 1.0), planned(1.0, 1e6));
    assert!(steps.0.contains("sub-bytes") && !wholes.0.contains("sub-bytes"), "{} | {}", steps.0, wholes.0);
    assert_eq!(steps.1, wholes.1);
}

fn fnv_1a(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// FNV-1a of the names, each with a line end. The function is checked against published values.
#[test]
fn the_table_s_digest_is_fnv_1a() {
    let of_text = ["", "a", "foobar"].map(|text| fnv_1a(text.as_bytes()));
    assert_eq!(of_text, ["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]);
    // Excludes searches, single steps, records with their own keys and ciphers other than AES, which are in the
    // table only with their features.
    let is_optional = |row: &Variant| match row.action {
        Action::Search(..) | Action::SearchStep(..) => true,
        Action::Tile(..) => row.is_step(),
        Action::Fused(fused, ..) | Action::Pass(fused) => fused == Fused::OwnKeys,
        _ => false,
    };
    let of_aes = |row: &&Variant| row.family.is_none_or(|family| family == Cipher::Aes128.family());
    let always = |row: &&Variant| !is_optional(row) && of_aes(row);
    let names: String = table().iter().filter(always).map(|row| format!("{}\n", row.name)).collect();
    assert_eq!(Fingerprint::here().variants, fnv_1a(names.as_bytes()));
}
