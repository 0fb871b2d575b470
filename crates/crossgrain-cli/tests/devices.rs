//! `crossgrain devices` and `--device`. The CPU is always listed, a missing device is reported in one line,
//! and every device gives the same bytes.
//!
//! On a machine without a device, the tests print a skip, unless CROSSGRAIN_REQUIRE names `wgpu` or `cuda`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;
#[cfg(feature = "gpu")]
#[path = "../../crossgrain-gpu/tests/stand_in/mod.rs"]
mod stand_in;

use common::{Done, IV, MIB, Place, crossgrain, painted};
use crossgrain::engine::text::grouped;
use crossgrain::plan::compose::Cost;
use crossgrain::wisdom::{DeviceCosts, Fingerprint, Wisdom};
use serde_json::Value;

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn printed(args: &[&str]) -> String {
    String::from_utf8(Done::from(crossgrain(args).output().unwrap()).printed()).unwrap()
}

#[test]
fn every_device_and_every_lack_has_a_line() {
    let told: Value = serde_json::from_str(&printed(&["devices", "--json"])).unwrap();
    let (devices, missing) = (told["devices"].as_array().unwrap(), told["missing"].as_array().unwrap());
    let text = printed(&["devices"]);
    assert_eq!(text.lines().count(), devices.len() + missing.len());
    for (line, device) in text.lines().zip(devices) {
        assert!(line.starts_with(device["id"].as_str().unwrap()), "{line}");
        assert!(line.contains(device["name"].as_str().unwrap()), "{line}");
    }
    assert_eq!(devices[0]["id"], "cpu");
    for none in missing {
        assert!(text.contains(none["why"].as_str().unwrap()), "{none}");
    }
}

/// The devices other than the CPU.
fn gpus() -> Vec<String> {
    let told: Value = serde_json::from_str(&printed(&["devices", "--json"])).unwrap();
    let ids = told["devices"].as_array().unwrap().iter().skip(1);
    let ids: Vec<_> = ids.map(|device| device["id"].as_str().unwrap().to_owned()).collect();
    if ids.is_empty() {
        let required = std::env::var("CROSSGRAIN_REQUIRE").unwrap_or_default();
        assert!(!cfg!(feature = "gpu") || !required.contains("wgpu"), "wgpu is required: {told}");
        eprintln!("skipped: {}", told["missing"]);
    }
    ids
}

fn raw<'a>(cipher: &'a str, mode: &'a [&'a str], device: &'a str, output: &'a str) -> Vec<&'a str> {
    let args = ["raw", "--cipher", cipher, "--key", KEY, "--device", device, "in", "-o", output, "--mode"];
    [&args[..], mode].concat()
}

#[test]
fn devices_and_the_cpu_give_the_same_bytes() {
    for device in gpus() {
        // More than one transfer to a device, with a last chunk that is not whole blocks.
        let place = Place::with(&vec![0x5a; 9 * MIB + 5]);
        for (at, cipher) in ["aes-128", "serpent-128"].into_iter().enumerate() {
            let [cpu, gpu] = ["cpu", "gpu"].map(|name| format!("{name}{at}"));
            let mode = ["ctr", "--iv", "fffffffffffffffffffffffffffffff0"];
            place.run(&raw(cipher, &mode, "cpu", &cpu)).printed();
            place.run(&raw(cipher, &mode, &device, &gpu)).printed();
            assert!(place.read(&cpu) == place.read(&gpu), "{cipher} on {device}");
        }
        let place = Place::with(&vec![0xa5; MIB + 3]);
        for (at, mode) in [&["ecb", "--padding", "pkcs7"][..], &["ecb", "-d"]].into_iter().enumerate() {
            let [cpu, gpu] = ["cpu", "gpu"].map(|name| format!("{name}{at}"));
            if mode.contains(&"-d") {
                place.write("in", &place.read("cpu0"));
            }
            place.run(&raw("aes-128", mode, "cpu", &cpu)).printed();
            place.run(&raw("aes-128", mode, &device, &gpu)).printed();
            assert!(place.read(&cpu) == place.read(&gpu), "{mode:?} on {device}");
        }
        place.write("in", &[0; 17]);
        let line = place.refuses(4, &raw("aes-128", &["ecb"], &device, "out"));
        assert!(line.contains("ends within a block"), "{line}");
    }
}

#[test]
fn random_streams_are_the_same_on_devices() {
    for device in gpus() {
        for (offset, stream) in [("0", "0"), ("1000003", "7"), ("295147905179352825840", "1")] {
            let on = |device: &str| {
                let args =
                    ["random", "--seed", "42", "--bytes", "100001", "--offset", offset, "--stream", stream];
                Done::from(
                    crossgrain(&[&args[..], &["-o", "-", "--device", device]].concat()).output().unwrap(),
                )
                .printed()
            };
            assert!(on("cpu") == on(&device), "stream {stream} from {offset} on {device}");
        }
    }
}

/// FIPS 197, appendix C.1, and other ciphers on the same plaintext.
#[test]
fn keys_are_searched_on_devices() {
    let (plain, place) = ("00112233445566778899aabbccddeeff", Place::new());
    place.write("plain", &(0..16).map(|at| 17 * at).collect::<Vec<u8>>());
    let crypt = |cipher: &str| -> String {
        let args = ["raw", "--cipher", cipher, "--mode", "ecb", "--key", KEY, "plain"];
        place.run(&args).printed().iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let [serpent, sm4] = ["serpent-128", "sm4"].map(crypt);
    let search = |cipher: &str, crypt: &str, more: &[&str]| {
        let args = ["search", "--cipher", cipher, "--plain", plain, "--crypt", crypt];
        place.run(&[&args[..], more].concat())
    };
    let aes = "69c4e0d86a7b0430d8cdb78070b4c55a";
    let mask = ["--key-mask", "000102030405060708090a0b????0?0f"];
    for device in gpus() {
        for (cipher, crypt) in [("aes-128", aes), ("serpent-128", &serpent), ("sm4", &sm4)] {
            let done = search(cipher, crypt, &[&mask[..], &["--device", &device, "--explain"]].concat());
            assert_eq!(done.code, Some(0), "{}", done.err);
            assert!(done.err.contains(&format!("kernel {cipher}-search on {device}, ")), "{}", done.err);
            assert_eq!(String::from_utf8(done.out).unwrap(), format!("key {KEY}, candidate 49374\n"));
        }
        // Several devices; here one device given twice.
        let both = format!("{device},{device}");
        let done = search("aes-128", aes, &[&mask[..], &["--device", &both, "--explain"]].concat());
        assert_eq!(String::from_utf8(done.out).unwrap(), format!("key {KEY}, candidate 49374\n"));
        assert!(
            done.err.contains(&format!("aes-128-search on {device} and aes-128-search on {device}, ")),
            "{}",
            done.err
        );
    }
    let auto = search("aes-128", aes, &[&mask[..], &["--device", "auto"]].concat());
    assert_eq!((auto.code, &auto.err[..]), (Some(0), ""), "too little for a device");
    let line = search("aes-128", aes, &[&mask[..], &["--device", "wgpu:99"]].concat()).refused(3);
    assert!(line.contains(if cfg!(feature = "gpu") { "wgpu:99" } else { "--features gpu" }), "{line}");
}

/// A place with words and rules, and a search for the key that PBKDF2 derives from one of them. Python's
/// `hashlib.pbkdf2_hmac("sha256", b"Word15001", b"salt", 50, 16)` gives this key.
fn place_with_words() -> (Place, Vec<&'static str>) {
    let place = Place::with(&[0; 16]);
    place.write("words", (0..3000).map(|at| format!("word{at}\n")).collect::<String>().as_bytes());
    place.write("rules", b":\nc $1\n");
    let key = "487c6726e7b8c44399df16503a335751";
    place.run(&["raw", "--cipher", "aes-128", "--mode", "ecb", "--key", key, "in", "-o", "crypt"]).printed();
    let crypt: String = place.read("crypt").iter().map(|byte| format!("{byte:02x}")).collect();
    let plain = "00000000000000000000000000000000";
    let known = ["search", "--cipher", "aes-128", "--plain", plain, "--crypt", crypt.leak()];
    let words = ["--words", "words", "--rules", "rules", "--kdf", "pbkdf2-sha256", "--salt", "73616c74"];
    (place, [&known[..], &words, &["--iterations", "50", "--threads", "1"]].concat())
}

const DERIVED: &str = "key 487c6726e7b8c44399df16503a335751 of 'Word15001', candidate 3001\n";

#[test]
fn keys_of_words_are_derived_on_devices() {
    let (place, args) = place_with_words();
    let search = |more: &[&str]| place.run(&[&args[..], more].concat());
    let cpu = search(&[]);
    assert_eq!((cpu.code, &String::from_utf8(cpu.out).unwrap()[..]), (Some(0), DERIVED));
    for device in gpus() {
        let done = search(&["--device", &device, "--explain"]);
        assert_eq!((done.code, &String::from_utf8(done.out).unwrap()[..]), (Some(0), DERIVED));
        assert!(done.err.contains(&format!("kernel pbkdf2-sha256 on {device} and ")), "{}", done.err);
        // Shards, and a finished session.
        let shares = ["0/2", "1/2"].map(|share| search(&["--device", &device, "--shard", share]).code);
        assert_eq!(shares, [Some(1), Some(0)], "{device}");
        let session = ["--device", &device, "--session", &device.replace(':', "-")];
        let restored = [&search(&session), &place.run(&[&["search", "--restore"], &session[2..]].concat())];
        assert!(restored.iter().all(|done| done.code == Some(0) && done.out == DERIVED.as_bytes()));
        // The same candidate, generated by a mask.
        let mask =
            ["--mask", "Word15?d?d?d", "--kdf", "pbkdf2-sha256", "--salt", "73616c74", "--iterations", "50"];
        let done = place.run(&[&args[..7], &mask, &["--device", &device, "--explain"]].concat());
        let found = DERIVED.replace("candidate 3001", "candidate 1");
        assert_eq!((done.code, &String::from_utf8(done.out).unwrap()[..]), (Some(0), &found[..]));
        assert!(done.err.contains(&format!("kernel pbkdf2-sha256 on {device} and ")), "{}", done.err);
        // Words that are keys, under rules and with a mask.
        place.write("keys", KEY.as_bytes());
        let (plain, crypt) = ("00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a");
        let known = ["search", "--cipher", "aes-128", "--plain", plain, "--crypt", crypt];
        let words = ["--words", "keys", "--form", "hex", "--device", &device, "--explain"];
        let done = place.run(&[&known[..], &words].concat());
        assert_eq!((done.code, done.out), (Some(0), format!("key {KEY}, candidate 0\n").into_bytes()));
        assert!(done.err.contains(&format!("kernel aes-128-search on {device} and ")), "{}", done.err);
        // Key derivations that devices do not support run on the CPU, with a message.
        let done = place.run(
            &[&known[..], &words, &["--kdf", "pbkdf2-sha512", "--salt", "00", "--iterations", "1"]].concat(),
        );
        assert_eq!(done.code, Some(1));
        assert!(done.err.contains("of words it takes those whose keys are made by sha256"), "{}", done.err);
    }
    let line = search(&["--device", "wgpu:99"]).refused(3);
    assert!(line.contains(if cfg!(feature = "gpu") { "wgpu:99" } else { "--features gpu" }), "{line}");
}

#[test]
fn auto_falls_back_to_the_cpu_and_says_so() {
    let place = Place::with(&[7; 100]);
    place.run(&raw("aes-128", &["ctr", "--iv", IV], "cpu", "cpu")).printed();
    let args = raw("aes-128", &["ctr", "--iv", IV, "--explain"], "auto", "auto");
    let mut command = place.command(&args);
    let command = command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
    let done = Done::from(command.output().unwrap());
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.err.contains("crossgrain: device "), "{}", done.err);
    assert!(place.read("cpu") == place.read("auto"));
}

/// Wisdom in which a device costs almost nothing.
fn flattered(device: &str) -> Wisdom {
    let told: Value = serde_json::from_str(&printed(&["devices", "--json"])).unwrap();
    let model = told["devices"].as_array().unwrap().iter().find(|known| known["id"] == device).map_or_else(
        || "a device of long ago".to_owned(),
        |known| format!("{} ({})", known["name"].as_str().unwrap(), known["driver"].as_str().unwrap()),
    );
    flattered_as(device, model)
}

fn flattered_as(device: &str, model: String) -> Wisdom {
    flattered_with(device, model, &[])
}

/// The same with these thread counts.
fn flattered_with(device: &str, model: String, threads: &[(&str, u32)]) -> Wisdom {
    let threads = threads.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
    let names = [
        "upload",
        "download",
        "open/aes-ctr",
        "aes-128/aes-ctr",
        "open/aes-random",
        "aes-128/aes-random",
        "open/aes-ctr-table",
    ];
    let costs = names.map(|name| (name.to_owned(), Cost { fixed_ns: 1.0, per_byte_ns: 1e-6 }));
    // The table variant is faster still.
    let costs = costs.into_iter().chain([("aes-128/aes-ctr-table".to_owned(), Cost::fixed(1.0))]).collect();
    let mut wisdom = Wisdom::new(Fingerprint::here());
    wisdom.insert_device(device, &DeviceCosts { model, costs, threads });
    wisdom
}

#[test]
fn auto_goes_where_it_costs_less() {
    let place = Place::with(&painted(17 * MIB + 3, 1));
    place.run(&raw("aes-128", &["ctr", "--iv", IV], "cpu", "cpu")).printed();
    for device in gpus() {
        flattered(&device).save(&place.path("wisdom.json")).unwrap();
        let auto = raw("aes-128", &["ctr", "--iv", IV, "--explain", "--force"], "auto", "auto");
        let done = Done::from(place.command(&auto).env("CROSSGRAIN_WISDOM", "wisdom.json").output().unwrap());
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(done.err.contains(&format!("device {device}: aes-ctr on ")), "{}", done.err);
        assert!(place.read("cpu") == place.read("auto"), "split between the CPU and {device}");
        let any = [&auto[..], &["--policy", "any"]].concat();
        let done = Done::from(place.command(&any).env("CROSSGRAIN_WISDOM", "wisdom.json").output().unwrap());
        assert!(done.err.contains(&format!("device {device}: aes-ctr-table on ")), "{}", done.err);
        assert!(place.read("cpu") == place.read("auto"), "by look-ups on {device}");
    }
    flattered("cuda:99").save(&place.path("wisdom.json")).unwrap();
    let auto = raw("aes-128", &["ctr", "--iv", IV, "--explain", "--force"], "auto", "auto");
    let done = Done::from(place.command(&auto).env("CROSSGRAIN_WISDOM", "wisdom.json").output().unwrap());
    assert!(done.code == Some(0) && done.err.contains("device cpu: "), "{}", done.err);
    assert!(place.read("cpu") == place.read("auto"));
}

#[test]
fn plans_know_devices_by_what_was_measured() {
    let place = Place::new();
    flattered("cuda:7").save(&place.path("wisdom.json")).unwrap();
    let plan = |more: &[&str]| {
        let args = [&["plan", "--cipher", "aes-128", "--job", "ctr", "--device", "cuda:7"], more].concat();
        let done = Done::from(place.command(&args).env("CROSSGRAIN_WISDOM", "wisdom.json").output().unwrap());
        String::from_utf8(done.printed()).unwrap()
    };
    let told: Value = serde_json::from_str(&plan(&["--json"])).unwrap();
    let path: Vec<_> =
        told["path"].as_array().unwrap().iter().map(|step| step["variant"].as_str().unwrap()).collect();
    assert_eq!(path, ["upload/cuda:7", "aes-ctr/cuda:7", "download/cuda:7"]);
    assert_eq!(told["devices"][0]["upload"], serde_json::json!([1.0, 1e-6]));
    assert!(told["devices"][0]["break_even"]["one_thread"].as_u64().unwrap() < 1 << 16);
    assert!(plan(&[]).contains("faster than one thread from "));
    let line = place.refuses(2, &["plan", "--cipher", "aes-128", "--job", "ctr", "--device", "cuda:7"]);
    assert!(line.contains("crossgrain devices --measure"), "{line}");
}

#[test]
fn what_devices_cost_is_measured_and_kept() {
    let place = Place::new();
    let wise = |args: &[&str]| {
        let done = Done::from(place.command(args).env("CROSSGRAIN_WISDOM", "wisdom.json").output().unwrap());
        String::from_utf8(done.printed()).unwrap()
    };
    if let Some(device) = gpus().first() {
        let measured = wise(&["devices", "--measure", "--cipher", "aes-128"]);
        for name in ["upload", "download", "open/aes-random", "aes-128/aes-decrypt"] {
            assert!(measured.contains(&format!("{device} {name}\n")), "{measured}");
        }
        assert!(wise(&["wisdom", "show"]).contains(&format!("{device}: ")));
        let kept = Wisdom::load(&place.path("wisdom.json")).unwrap();
        let threads = &kept.devices().next().unwrap().1.threads;
        // On a software device no thread counts are tried.
        assert_eq!(threads.is_empty(), !measured.contains("parallel/run"));
        for (name, count) in threads {
            let count = grouped(count);
            assert!(measured.contains(&format!("{count:>14} threads                  {device} {name}\n")));
        }
        let names = ["aes-ctr", "aes-random-cached", "parallel/group", "parallel/run"];
        assert!(threads.is_empty() || names.iter().all(|name| threads.contains_key(*name)), "{threads:?}");
        place.write("in", &painted(MIB + 3, 1));
        for on in ["cpu", device] {
            let file = on.replace(':', "");
            wise(&raw("aes-128", &["ctr", "--iv", IV], on, &file));
            assert!(place.read(&file) == place.read("cpu"), "by what was measured on {on}");
        }
        assert!(
            wise(&["plan", "--cipher", "aes-128", "--job", "ecb", "--device", device]).contains("download")
        );
    } else if !cfg!(feature = "gpu") {
        assert!(wise(&["devices", "--measure"]).contains("none"));
    }
}

#[test]
fn programs_are_timed_once_they_are_right() {
    let Some(device) = gpus().into_iter().next() else { return };
    let place = Place::with(&[]);
    // A program of the user's, in the device's language, is timed next to crossgrain's.
    let (language, file) =
        if device.starts_with("cuda") { ("cuda", "others.cu") } else { ("wgsl", "others.wgsl") };
    place.run(&["circuit", "aes-ctr", "--emit", language, "--output", file]).printed();
    let program = String::from_utf8(place.read(file)).unwrap();
    place.write(file, program.replace("aes_ctr(", "others(").as_bytes());
    // Only one AES key size, because drivers compile programs of all ciphers slowly.
    let bench = ["bench", "gpu/aes-128", "--device", &device, "--bytes", "100000", "--turns", "2", "--json"];
    let lines = place.run(&[&bench[..], &["--beside", file]].concat()).printed();
    let lines = String::from_utf8(lines).unwrap();
    let mut lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let head = lines.next().unwrap();
    assert_eq!((&head["device"], &head["bytes"]), (&Value::from(device.clone()), &Value::from(100_000)));
    let rows: Vec<_> = lines.collect();
    assert!(rows.len() >= 5 && rows.iter().all(|row| row["tbit_per_s"].as_f64().unwrap() > 0.0), "{rows:?}");
    for id in ["gpu/aes-128/aes-ctr", "gpu/aes-128/others"] {
        assert!(rows.iter().any(|row| row["id"] == id), "{id}: {rows:?}");
    }
}

#[test]
fn a_device_that_is_not_to_be_had_is_told_in_a_line() {
    let place = Place::with(&[7; 100]);
    let ctr = ["ctr", "--iv", IV];
    let line = place.refuses(2, &raw("aes-128", &ctr, "tpu:0", "out"));
    assert!(line.contains("crossgrain devices"), "{line}");
    let code = if cfg!(feature = "gpu") { 1 } else { 2 };
    for device in ["cuda:99", "wgpu:99"] {
        let line = place.refuses(code, &raw("aes-128", &ctr, device, "out"));
        assert!(!cfg!(feature = "gpu") || line.starts_with(device), "{line}");
    }
    place.refuses(code, &["bench", "gpu", "--device", "wgpu:99"]);
    let line = place.refuses(2, &["bench", "aes", "--bytes", "16"]);
    assert!(line.contains("bench gpu"), "{line}");
    let line = place.refuses(2, &raw("aes-128", &["cbc", "--iv", IV], "gpu", "out"));
    assert!(line.contains("cbc has no use for --device"), "{line}");
    let args = ["random", "--seed", "1", "--bytes", "9", "-o", "out", "--device", "cuda:99"];
    place.refuses(code, &args);
}

#[cfg(feature = "gpu")]
mod by_a_driver_that_stands_in {
    use super::*;

    /// The result of the program with this fault in the fake driver; `None` if there is no fake driver here.
    fn done(place: &Place, fault: &str, args: &[&str]) -> Option<Done> {
        let mut command = place.command(args);
        let is_lent = stand_in::lent_to(&mut command, fault);
        // Uses an empty cache, so that no program is reused from another run.
        command.env("CROSSGRAIN_WISDOM", "wisdom.json").env("XDG_CACHE_HOME", place.path("cache"));
        is_lent.then(|| Done::from(command.output().unwrap()))
    }

    /// The model name that the fake driver reports.
    const MODEL: &str = "CUDA C as C++ (CUDA, compute capability 9.0)";

    #[test]
    fn all_of_this_holds() {
        stand_in::again(&["--skip", "stands_in"], None);
    }

    #[test]
    fn programs_run_by_as_many_threads_as_wisdom_has_if_they_can() {
        let (place, words) = place_with_words();
        place.write("in", &painted(3 * MIB + 3, 1));
        place.run(&raw("aes-128", &["ctr", "--iv", IV], "cpu", "cpu")).printed();
        let ctr = ["ctr", "--iv", IV, "--explain", "--force"];
        let words = [&words[..], &["--device", "cuda:0"]].concat();
        for (group, parallel_group, parallel_run, is_doubtful) in [
            (64, 64, 1 << 17, false),
            (128, 128, 256, false),
            (1024, 256, 1 << 20, false),
            (77, 96, 1 << 17, true),
            (0, 0, 0, true),
            (1 << 31, 64, 100, true),
            (2048, 64, 1 << 30, true),
        ] {
            let threads =
                [("aes-ctr", group), ("parallel/group", parallel_group), ("parallel/run", parallel_run)];
            let wisdom = flattered_with("cuda:0", MODEL.to_owned(), &threads);
            wisdom.save(&place.path("wisdom.json")).unwrap();
            let Some(done_raw) = done(&place, "", &raw("aes-128", &ctr, "cuda:0", "out")) else { return };
            assert_eq!(done_raw.code, Some(0), "{}", done_raw.err);
            assert!(place.read("out") == place.read("cpu"), "{group}");
            let used = if is_doubtful { 64 } else { group };
            assert!(done_raw.err.contains(&format!(", groups of {used} threads")), "{}", done_raw.err);
            let done_words = done(&place, "", &words).unwrap();
            assert_eq!((done_words.code, &done_words.out[..]), (Some(0), DERIVED.as_bytes()));
            let [told_raw, told_words] = [&done_raw, &done_words]
                .map(|done| done.err.lines().filter(|line| line.contains("wisdom ignored: cuda:0")).count());
            assert_eq!([told_raw, told_words], [usize::from(is_doubtful); 2], "{}", done_words.err);
        }
        // Wisdom of another device is not used.
        let wisdom = flattered_with("cuda:0", "a device of long ago".to_owned(), &[("aes-ctr", 77)]);
        wisdom.save(&place.path("wisdom.json")).unwrap();
        let other = done(&place, "", &raw("aes-128", &ctr, "cuda:0", "out")).unwrap();
        assert!(other.code == Some(0) && !other.err.contains("wisdom ignored"), "{}", other.err);
    }

    #[test]
    fn a_device_that_fails_leaves_no_file_or_the_right_one() {
        let place = Place::with(&painted(17 * MIB + 3, 1));
        let ctr = ["ctr", "--iv", IV];
        place.run(&raw("aes-128", &ctr, "cpu", "cpu")).printed();
        flattered_as("cuda:0", MODEL.to_owned()).save(&place.path("wisdom.json")).unwrap();
        // The first fault must come while no program is cached.
        for (fault, told) in [
            ("compiler=0", "the stand-in takes no program"),
            ("lost=1", "the device was lost (unspecified launch failure)"),
            ("lost=2", "the device was lost (unspecified launch failure)"),
            ("memory=1000000", "the device has no room"),
            ("devices=0", "NVIDIA's driver knows no GPU"),
        ] {
            let Some(named) = done(&place, fault, &raw("aes-128", &ctr, "cuda:0", "out")) else { return };
            let line = named.refused(1);
            assert!(line.contains(told) && !place.path("out").exists(), "{fault}: {line}");
            let explained = [&ctr[..], &["--explain", "--force"]].concat();
            let auto = done(&place, fault, &raw("aes-128", &explained, "auto", "auto")).unwrap();
            assert_eq!(auto.code, Some(0), "{fault}: {}", auto.err);
            // The CPU may have finished the rest before a second run.
            let is_told = auto.err.contains("device cpu") && auto.err.contains(told);
            assert!(is_told || fault == "lost=2", "{fault}: {}", auto.err);
            assert!(place.read("auto") == place.read("cpu"), "{fault}");
        }
    }

    #[test]
    fn a_search_goes_on_without_a_lost_device_and_not_with_a_wrong_one() {
        let (plain, crypt) = ("00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a");
        let mask = "000102030405060708090a0b????0?0f";
        let place = Place::new();
        let args = ["search", "--cipher", "aes-128", "--plain", plain, "--crypt", crypt, "--key-mask", mask];
        let args = [&args[..], &["--device", "cuda:0", "--threads", "1"]].concat();
        let Some(lost) = done(&place, "lost=2", &args) else { return };
        assert_eq!((lost.code, &lost.out[..]), (Some(0), format!("key {KEY}, candidate 49374\n").as_bytes()));
        assert!(
            lost.err.contains("the device was lost") && lost.err.contains("the CPU goes on"),
            "{}",
            lost.err
        );
        let line = done(&place, "wrong=1", &args).unwrap().refused(3);
        assert!(line.contains("aes-128-search on cuda:0"), "{line}");
    }

    #[test]
    fn words_that_a_lost_device_has_not_done_are_the_cpu_s() {
        let (place, args) = place_with_words();
        for (fault, device) in [("lost=1", "cuda:0"), ("lost=2", "cuda:0"), ("lost=2", "cuda:0,cuda:0")] {
            let Some(lost) = done(&place, fault, &[&args[..], &["--device", device]].concat()) else {
                return;
            };
            assert_eq!((lost.code, &lost.out[..]), (Some(0), DERIVED.as_bytes()), "{fault}: {}", lost.err);
            assert!(
                lost.err.contains("pbkdf2-sha256 on cuda:0: the device was lost"),
                "{fault}: {}",
                lost.err
            );
            assert!(lost.err.contains("the CPU goes on"), "{fault}: {}", lost.err);
        }
        // Only the first word. With several words, the wrong result may be in one that is not rechecked.
        let one = [&args[..], &["--device", "cuda:0", "--limit", "1"]].concat();
        let line = done(&place, "wrong=2", &one).unwrap().refused(3);
        assert!(line.contains("pbkdf2-sha256 on cuda:0"), "{line}");
    }
}
