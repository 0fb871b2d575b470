//! `crossgrain plan` as a user runs it.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod planned;

use std::fs;

use crossgrain::Features;
use crossgrain::engine::arch::CAP_WITHOUT_AES;
use crossgrain::engine::variant::{Variant, table};
use crossgrain::mode::Mode;
use crossgrain::wide::Rijndael;
use planned::{PUBLISHED, costs, json, known_caps, name, plan, plan_on, refused, text, well_formed};
use serde_json::Value;
use tempfile::TempDir;

const MIXED: [&str; 6] =
    ["SubBytes/word", "word>bit", "ShiftRows/bit", "MixColumns/bit", "bit>word", "AddRoundKey/word"];

#[test]
fn published_costs_as_json() {
    let (_directory, file) = costs(PUBLISHED);
    let answer = json(&plan(&["--costs", name(&file), "--json"]));
    assert_eq!(answer["total"], 50467);
    assert_eq!(answer["path"], serde_json::json!(MIXED));
    assert_eq!(answer["pure"], serde_json::json!({"word": 54460, "bit": 54616}));
    assert!((7.3..=7.4).contains(&answer["gain_percent"].as_f64().unwrap()));
}

#[test]
fn published_costs_as_text() {
    let (_directory, file) = costs(PUBLISHED);
    let told = text(&plan(&["--costs", name(&file)]));
    for edge in MIXED {
        assert!(told.contains(edge), "{told}");
    }
    assert!(told.contains("50,467  total") && told.contains("gains 7.33 %"), "{told}");
}

#[test]
fn rounds_are_folded() {
    let (_directory, file) = costs(&PUBLISHED.replace(r#""rounds": 1"#, r#""rounds": 30"#));
    let told = text(&plan(&["--costs", name(&file)]));
    assert!(told.lines().count() < 40, "{told}");
    assert!(told.contains("30 x [ "), "{told}");
}

#[test]
fn bad_cost_files_are_wrong_usage() {
    for (contents, reason) in [
        ("", "EOF"),
        ("[]", "invalid"),
        (&PUBLISHED.replace("14337", "-14337"), "'SubBytes/word' must be from 0"),
        (&PUBLISHED.replace("word>bit", "word>byte"), "no representation 'byte'"),
        (&PUBLISHED.replace(r#""word": 14337, "bit": 38563"#, ""), "computes 'SubBytes' (part 1 of 4)"),
    ] {
        let (_directory, file) = costs(contents);
        refused(&plan(&["--costs", name(&file), "--json"]), 2, reason);
    }
    let (_directory, file) = costs("");
    fs::write(&file, [0xff, 0xfe]).unwrap();
    refused(&plan(&["--costs", name(&file)]), 2, "no text");
    fs::remove_file(&file).unwrap();
    refused(&plan(&["--costs", name(&file)]), 1, "no such file");
}

#[test]
fn wrong_usage_is_told_in_one_line() {
    refused(&plan(&[]), 2, "--cipher");
    refused(&plan(&["--cipher", "aes-128"]), 2, "--job");
    refused(&plan(&["--cipher", "aes-128", "--job", "ctr", "--bytes", "0"]), 2, "--bytes");
    refused(&plan(&["--cipher", "aes-128", "--job", "ecb", "--bytes", "17"]), 2, "multiple of 16");
    refused(&plan(&["--costs", "x", "--cipher", "aes-128"]), 2, "cannot be used with");
    refused(&plan(&["--cipher", "aes-128", "--job", "ctr", "--keys", "list"]), 2, "--keys and --known-bits");
    refused(&plan(&["--cipher", "aes-128", "--job", "search", "--known-bits", "0"]), 2, "--known-bits");
    refused(&plan(&["--cipher", "aes-128", "--job", "search", "--device", "auto"]), 2, "leave --device out");
    refused(&plan(&["--cipher", "aes-128", "--job", "search", "--bytes", "17"]), 2, "multiple of 16");
}

/// Every job in every policy: the path leads from the source to the sink, and its costs add up.
#[test]
fn totals_are_sums_of_their_paths() {
    for (isa, cipher) in
        [(Some("portable"), "aes-192"), (Some(CAP_WITHOUT_AES), "aes-128"), (None, "aes-256")]
    {
        for job in ["ctr", "ecb", "ecb-decrypt", "gcm", "ocb", "ocb-decrypt", "chains", "own-keys"] {
            let answer = json(&plan_on(isa, &["--cipher", cipher, "--job", job, "--json"]));
            assert_eq!((&answer["job"], &answer["effort"]), (&job.into(), &"estimate".into()));
            adds_up(&answer);
            assert_eq!(answer["runners_up"].as_array().unwrap().len(), 5);
            answer["runners_up"].as_array().unwrap().iter().for_each(adds_up);
            let best = answer["total_ns"].as_f64().unwrap();
            let pure = answer["pure"].as_object().unwrap().values().filter_map(Value::as_f64);
            assert!(pure.fold(f64::INFINITY, f64::min) >= best * (1.0 - 1e-12));
            assert!(answer["greedy"]["total_ns"].as_f64().unwrap() >= best * (1.0 - 1e-12));
            assert!(answer["gain_percent"].as_f64().unwrap() >= 0.0);
        }
    }
}

/// A mode's plan is one kernel for all of it, or the cipher followed by the mode's own pass.
#[test]
fn modes_are_jobs() {
    let path = |isa, id: &str| {
        let answer = json(&plan_on(isa, &[id, "--json"]));
        let names = answer["path"].as_array().unwrap().clone();
        names.iter().map(|step| step["variant"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (job, last) in [
        ("gcm", "ghash/"),
        ("ocb", "ocb-checksum/"),
        ("chains", "chain-blocks/"),
        ("own-keys", "key-after-key/"),
    ] {
        for cipher in ["aes-256", "serpent-128", "sm4"] {
            let names = path(Some("portable"), &format!("{cipher}-{job}"));
            let is_one_kernel = names.len() == 1 && names[0].contains(&format!("-{job}/"));
            assert!(is_one_kernel || names.last().unwrap().starts_with(last), "{cipher}-{job}: {names:?}");
        }
    }
    // CTR from a table and a pass are faster than one kernel on registers of two blocks.
    if Features::of_cpu().contains(Features::AES) {
        let names = path(None, "aes-128-gcm");
        assert!(
            names[0].starts_with("aes-gcm/blocks/") || names.last().unwrap().starts_with("ghash/blocks/")
        );
    }
    if !known_caps(["avx2"]).is_empty() && Features::of_cpu().contains(Features::AES) {
        assert!(path(Some("avx2"), "aes-128-gcm").last().unwrap().starts_with("ghash/blocks/"));
    }
    // The same job under the names that the benchmark and other modes give it.
    let same = ["aes-128-cbc", "aes-128-ofb", "modes/aes-128/cbc-many", "aes-128-chains"];
    assert!(same.map(|id| path(None, id)).windows(2).all(|two| two[0] == two[1]));
    assert_eq!(path(None, "lengths/aes-128-ctr/best/16"), path(None, "aes-128-ctr"));
    assert_eq!(path(None, "aes-128-xts-decrypt"), path(None, "aes-128-ecb-decrypt"));
    refused(&plan(&["aes-128-eax"]), 2, "ctr and chains");
    refused(&plan(&["aes-128-rot13"]), 2, "gcm");
    refused(&plan(&["gcm"]), 2, "names no cipher");
    refused(&plan(&["serpent-128-gcm-siv"]), 2, "aes");
    refused(&plan(&["aes-128-gcm", "--job", "ctr"]), 2, "cannot be used with");
}

/// Every cipher, direction, source of keys and number of known bits gives a kernel or a composition, with a
/// cost per key.
#[test]
fn searches_are_planned_by_the_key() {
    let ciphers = [
        "aes-128",
        "aes-192",
        "aes-256",
        "serpent-128",
        "serpent-256",
        "sm4",
        "camellia-192",
        "aria-256",
        "kuznyechik",
    ];
    // Described ciphers have search kernels on registers of 256 bits and more, or on the machine's widest.
    let has_search = |variant: &Variant| variant.name.starts_with("sm4-search/");
    let has_kernels =
        table().iter().any(|variant| has_search(variant) && variant.is_available(Features::of_cpu()));
    for (isa, cipher) in
        [Some("portable"), None].into_iter().flat_map(|isa| ciphers.map(|cipher| (isa, cipher)))
    {
        for (job, keys, bits) in [
            ("search", "mask", "128"),
            ("search", "list", "17"),
            ("search-decrypt", "mask", "32"),
            ("search-decrypt", "list", "128"),
        ] {
            let arguments =
                ["--cipher", cipher, "--job", job, "--keys", keys, "--known-bits", bits, "--json"];
            let answer = json(&plan_on(isa, &arguments));
            assert_eq!((&answer["job"], &answer["keys_from"]), (&job.into(), &keys.into()));
            assert_eq!((&answer["known_bits"].to_string()[..], &answer["keys"]), (bits, &16384.into()));
            let per_key = answer["total_ns"].as_f64().unwrap() / 16384.0;
            assert!((answer["ns_per_key"].as_f64().unwrap() - per_key).abs() <= 1e-9 * per_key, "{answer}");
            adds_up(&answer);
            let path: Vec<_> = answer["path"]
                .as_array()
                .unwrap()
                .iter()
                .map(|step| step["variant"].as_str().unwrap())
                .collect();
            // A complete kernel, or steps.
            let is_kernel = path.len() == 1;
            assert!(is_kernel || path.last().unwrap().starts_with("comparison/"), "{path:?}");
            assert!(has_kernels || !is_kernel || cipher.starts_with("aes") || cipher.starts_with("serpent"));
            assert_eq!(path[0].contains("-list"), is_kernel && keys == "list", "{path:?}");
            assert!(
                bits == "128" || path.iter().any(|name| name.contains("-back")) == (job == "search-decrypt"),
                "{path:?}"
            );
            assert!(
                isa != Some("portable") || path.iter().all(|name| name.ends_with("/portable")),
                "{path:?}"
            );
        }
    }
    let told = text(&plan_on(Some("portable"), &["--cipher", "sm4", "--job", "search"]));
    assert!(told.contains("sm4 search of 16,384 keys of a mask by 128 known bits"), "{told}");
    assert!(told.contains(" ns a key, ") && told.contains(" million keys/s"), "{told}");
    assert!(told.contains("mixing representations gains nothing here"), "{told}");
}

#[test]
fn a_search_is_saved_drawn_and_measured() {
    let directory = TempDir::new().unwrap();
    let (file, picture) = (directory.path().join("plan.json"), directory.path().join("plan.svg"));
    for cipher in ["aes-256", "camellia-128"] {
        let job =
            ["--cipher", cipher, "--job", "search-decrypt", "--keys", "list", "--known-bits", "8", "--json"];
        let measured = ["--effort", "exhaustive", "--budget-ms", "1", "--bytes", "1024"];
        let written = ["--save", name(&file), "--svg", name(&picture), "--force"];
        let chosen = json(&plan_on(Some("portable"), &[&job[..], &measured, &written].concat()));
        assert!(chosen["measured_ns"]["total"].as_f64().unwrap() > 0.0, "{chosen}");
        let svg = fs::read_to_string(&picture).unwrap();
        well_formed(&svg);
        assert!(
            ["schedule", "first-rounds", "last-rounds", "comparison"]
                .iter()
                .all(|part| svg.contains(&format!(">{part}</text>")))
        );
        let shown = json(&plan_on(Some("portable"), &["--plan", name(&file), "--json"]));
        let names = |answer: &Value| {
            let steps = answer["path"].as_array().unwrap().iter();
            steps.map(|step| step["variant"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((names(&shown), &shown["known_bits"]), (names(&chosen), &8.into()));
    }
    let text = fs::read_to_string(&file).unwrap();
    for (known, wrong, reason) in [
        ("\"list\"", "\"bag\"", "no source"),
        ("\"known_bits\": 8", "\"known_bits\": 0", "one at least"),
        ("\"known_bits\": 8", "\"known_bits\": 129", "128 bits"),
    ] {
        assert!(text.contains(known), "{text}");
        fs::write(&file, text.replace(known, wrong)).unwrap();
        refused(&plan(&["--plan", name(&file)]), 3, reason);
    }
}

fn adds_up(route: &Value) {
    let steps = route["path"].as_array().unwrap();
    let total = route["total_ns"].as_f64().unwrap();
    let sum: f64 = steps.iter().map(|step| step["cost_ns"].as_f64().unwrap()).sum();
    assert!((sum - total).abs() <= 1e-9 * total, "{sum} {total}");
    assert_eq!((&steps[0]["from"], &steps[steps.len() - 1]["to"]), (&"source".into(), &"sink".into()));
    assert!(steps.windows(2).all(|pair| pair[0]["to"] == pair[1]["from"]));
}

#[test]
fn plans_keep_to_the_instructions_allowed() {
    let arguments = ["--cipher", "aes-128", "--job", "ecb", "--json"];
    let capped = json(&plan_on(Some("portable"), &arguments));
    for step in capped["path"].as_array().unwrap() {
        assert!(step["variant"].as_str().unwrap().ends_with("/portable"), "{step}");
    }
    if json(&plan(&arguments))["features"].as_str().unwrap().contains("aes") {
        assert_ne!(json(&plan(&arguments))["path"], capped["path"]);
    }
}

#[test]
fn the_first_line_tells_the_policy_that_leaks() {
    let arguments = ["--cipher", "aes-128", "--job", "ctr", "--policy", "any"];
    let told = text(&plan_on(Some("portable"), &arguments));
    let first = told.lines().next().unwrap();
    assert!(first.contains("policy any") && first.contains("estimated"), "{told}");
    assert!(told.lines().count() < 60, "{told}");
}

#[test]
fn costs_can_be_measured() {
    let measure = ["--effort", "measure", "--budget-ms", "1"];
    let job = ["--cipher", "aes-128", "--job", "ctr", "--json"];
    let answer = json(&plan_on(Some("portable"), &[&job[..], &measure].concat()));
    assert_eq!(answer["effort"], "measure");
    assert!(answer["measured_ns"]["total"].as_f64().unwrap() > 0.0);
    assert_eq!(answer["measured_ns"]["runners_up"].as_array().unwrap().len(), 5);
    assert!(answer["measured_ns"]["spread"].as_f64().unwrap() >= 0.0, "{answer}");
    // A cost that a whole run contradicts is replaced by an estimate, which has no spread.
    let mut spreads = answer["spread"].as_object().unwrap().values();
    assert!(spreads.all(|spread| spread.is_null() || spread.as_f64().unwrap() >= 0.0), "{answer}");
    adds_up(&answer);
}

#[test]
fn text_fits_80_columns_and_names_the_glossary() {
    for isa in known_caps(["portable", "avx2-aes", "avx512-gfni", "avx512", "neon-aes", "neon"]) {
        for cipher in ["aes-256", "serpent-256", "kuznyechik"] {
            for job in [&["ctr"][..], &["ecb-decrypt", "--policy", "any"], &["search"]] {
                let told = text(&plan_on(Some(isa), &[&["--cipher", cipher, "--job"], job].concat()));
                let too_long = told.lines().find(|line| line.chars().count() > 80);
                assert_eq!(too_long, None, "{isa} {cipher} {job:?}");
                assert!(told.ends_with("\n\nterms: docs/glossary.md\n"), "{told}");
            }
        }
    }
}

/// A path of the largest costs has a finite total; larger costs are refused.
#[test]
fn totals_are_finite() {
    let dear = |cost: &str| PUBLISHED.replace("14337", cost).replace(r#""rounds": 1"#, r#""rounds": 30"#);
    let (_directory, file) = costs(&dear("1e18"));
    let answer = json(&plan(&["--costs", name(&file), "--json"]));
    assert!(answer["total"].is_number() && answer["pure"]["word"].as_f64().unwrap() >= 3e19, "{answer}");
    assert!(!text(&plan(&["--costs", name(&file)])).contains("NaN"));
    let (_directory, file) = costs(&dear("1e308"));
    refused(&plan(&["--costs", name(&file)]), 2, "'SubBytes/word'");
}

#[test]
fn an_exhaustive_search_tells_the_fastest_first() {
    let job = ["--cipher", "aes-128", "--job", "ecb", "--bytes", "16384", "--json"];
    let search = ["--effort", "exhaustive", "--budget-ms", "1"];
    let answer = json(&plan_on(Some("portable"), &[&job[..], &search].concat()));
    assert_eq!(answer["effort"], "exhaustive");
    adds_up(&answer);
    let total = answer["measured_ns"]["total"].as_f64().unwrap();
    let others = answer["measured_ns"]["runners_up"].as_array().unwrap();
    assert!(others.len() == 5 && others.iter().all(|other| other.as_f64().unwrap() >= total), "{answer}");
    let large = ["--cipher", "aes-128", "--job", "ctr", "--bytes", "99999999999", "--effort", "exhaustive"];
    refused(&plan_on(Some("portable"), &[&large[..], &["--budget-ms", "1"]].concat()), 2, "64 MiB");
}

/// Pure forms and mixes are run, for every cipher and for searches, and a path without the costs of conversions is
/// predicted to be no slower.
#[test]
fn mixes_are_run_next_to_pure_forms() {
    let folder = TempDir::new().unwrap();
    let (page, picture) = (folder.path().join("page.html"), folder.path().join("plan.svg"));
    for (cipher, job, has_mixes) in [
        ("aes-128", "ecb", true),
        ("serpent-256", "ctr", true),
        ("sm4", "ecb", false),
        ("aes-256", "search", true),
    ] {
        let job = ["--cipher", cipher, "--job", job, "--bytes", "16384", "--policy", "any"];
        let mixes = ["--mixes", "--budget-ms", "1", "--json"];
        let answer = json(&plan_on(Some("portable"), &[&job[..], &mixes].concat()));
        assert_eq!(answer["effort"], "measure");
        let mixes = &answer["mixes"];
        let runs = mixes["runs"].as_array().unwrap();
        let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
        for run in runs {
            let sum: f64 = run["path"].as_array().unwrap().iter().map(|step| number(step, "cost_ns")).sum();
            assert!((sum - number(run, "predicted_ns")).abs() <= 1e-6 * sum, "{run}");
            assert!(number(run, "without_conversions_ns") <= sum * (1.0 + 1e-9), "{run}");
            assert!(number(run, "measured_ns") > 0.0);
            assert!(
                number(&mixes["free_conversions"], "total_ns")
                    <= number(run, "without_conversions_ns") * (1.0 + 1e-9)
            );
        }
        let pure = answer["pure"].as_object().unwrap().iter().filter(|(_, total)| !total.is_null());
        for (name, _) in pure {
            assert!(runs.iter().any(|run| run["representation"] == name.as_str()), "{name}");
        }
        let is_mixed = runs.iter().any(|run| run["representation"].is_null());
        assert_eq!((is_mixed, mixes["mix_to_pure"].is_null()), (has_mixes, !has_mixes), "{cipher}");
    }
    let job =
        ["--cipher", "aes-128", "--job", "ecb-decrypt", "--bytes", "4096", "--mixes", "--budget-ms", "1"];
    let written = ["--html", name(&page), "--svg", name(&picture)];
    let told = text(&plan_on(Some("portable"), &[&job[..], &written].concat()));
    assert!(told.contains("pure forms and mixes, run end to end\n"), "{told}");
    assert!(told.contains("if conversions cost nothing, the cheapest path would take "), "{told}");
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("<h2>Pure forms and mixes, run end to end</h2>"), "{page}");
    refused(&plan(&[&job[..], &["--effort", "estimate"]].concat()), 2, "leave --effort estimate out");
    let large = ["--cipher", "aes-128", "--job", "ctr", "--bytes", "99999999999", "--mixes"];
    refused(&plan_on(Some("portable"), &[&large[..], &["--budget-ms", "1"]].concat()), 2, "64 MiB");
}

/// Paths contain no detours: no conversion is followed by one that undoes it.
#[test]
fn runners_up_take_no_detours() {
    for job in ["ctr", "ecb", "ecb-decrypt"] {
        for isa in known_caps(["portable", "avx2-aes", "avx512-aes", "neon-aes"]) {
            let answer = json(&plan_on(Some(isa), &["--cipher", "aes-128", "--job", job, "--json"]));
            for route in answer["runners_up"].as_array().unwrap() {
                let names: Vec<_> = route["path"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|step| step["variant"].as_str().unwrap())
                    .collect();
                let undone = names.windows(2).any(|pair| {
                    let there = pair[0].split('/').next().unwrap().strip_prefix("blocks-to-");
                    there.is_some_and(|shape| pair[1].starts_with(&format!("{shape}-to-blocks/")))
                });
                assert!(!undone, "{names:?}");
            }
        }
    }
}

#[test]
fn a_plan_is_saved_and_shown_again() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("plan.json");
    let job = ["--cipher", "aes-192", "--job", "ecb-decrypt", "--json"];
    let save = [&job[..], &["--save", name(&file)]].concat();
    let chosen = json(&plan_on(Some("portable"), &save));
    refused(&plan_on(Some("portable"), &save), 5, "--force");
    let same = directory.path().join("same");
    let twice = [&job[..], &["--save", name(&same), "--svg", name(&same)]].concat();
    refused(&plan(&twice), 2, "its own");
    assert!(!same.exists());
    let shown = json(&plan(&["--plan", name(&file), "--json"]));
    assert_eq!(
        (&shown["path"], &shown["job"], &shown["cipher"]),
        (&chosen["path"], &chosen["job"], &chosen["cipher"])
    );
    let best = json(&plan(&job));
    if best["path"] != chosen["path"] {
        assert_eq!(shown["runners_up"][0]["path"], best["path"], "what would be chosen comes next");
    }
    let told = text(&plan(&["--plan", name(&file)]));
    assert!(told.contains("path of ") && !told.contains("cheapest path is"), "{told}");
}

#[test]
fn stored_plans_that_do_not_fit_are_refused() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("plan.json");
    let job = ["--cipher", "aes-128", "--job", "ctr", "--policy", "any", "--save", name(&file)];
    text(&plan_on(Some("portable"), &job));
    let whole = fs::read_to_string(&file).unwrap();
    for (contents, exit, reason) in [
        (String::new(), 3, "corrupt"),
        (whole[..whole.len() / 2].to_owned(), 3, "corrupt"),
        (whole.replace("\"format\": 2", "\"format\": 9"), 2, "newer version"),
        (whole.replace("/portable", "/important"), 2, "no variant is called"),
        (whole.replace("\"counter\"", "\"bytes\""), 3, "has no place there"),
    ] {
        fs::write(&file, contents).unwrap();
        refused(&plan(&["--plan", name(&file)]), exit, reason);
    }
    fs::write(&file, [0xff, 0xfe]).unwrap();
    refused(&plan(&["--plan", name(&file)]), 3, "no text");
    refused(&plan(&["--plan", name(&file), "--cipher", "aes-128"]), 2, "cannot be used with");
    fs::remove_file(&file).unwrap();
    refused(&plan(&["--plan", name(&file)]), 1, "no such file");
}

#[test]
fn modes_that_encrypt_serially_are_planned_for_many_messages() {
    for mode in ["cbc", "cfb", "cfb8", "cfb1"] {
        let told = text(&plan_on(Some("portable"), &[&format!("aes-128-{mode}")]));
        assert!(told.contains(&format!("aes-128 {mode} of 1 MiB in many messages")), "{told}");
        let told = text(&plan_on(Some("portable"), &[&format!("aes-128-{mode}-decrypt")]));
        assert!(
            told.contains(&format!("aes-128 {mode}-decrypt of 1 MiB")) && !told.contains("many messages"),
            "{told}"
        );
    }
    assert!(text(&plan(&["aes-128-ofb-decrypt"])).contains("in many messages"));
    assert!(text(&plan(&["aes-256-ctr-decrypt"])).contains("aes-256 ctr-decrypt of"));
}

#[test]
fn wide_blocks_have_a_plan_for_every_mode_and_for_searches() {
    for cipher in Rijndael::ALL.map(Rijndael::name) {
        let modes = Mode::ALL.into_iter().filter(|mode| mode.entry().any_block_size).map(Mode::name);
        for job in modes.chain(["search", "search-decrypt", "cbc-decrypt"]) {
            let told = text(&plan_on(Some("portable"), &["--cipher", cipher, "--job", job]));
            assert!(told.contains(&format!("{cipher} {job} of ")), "{told}");
            assert!(told.contains("/portable") && told.contains("total"), "{told}");
            let told = json(&plan(&[&format!("{cipher}-{job}"), "--json"]));
            assert_eq!((told["cipher"].as_str(), told["job"].as_str()), (Some(cipher), Some(job)));
            let speed = if job.starts_with("search") { "ns_per_key" } else { "gb_per_s" };
            assert!(told[speed].as_f64().unwrap() > 0.0, "{told}");
        }
    }
    let (folder, picture) = (TempDir::new().unwrap(), "wide.svg");
    let picture = folder.path().join(picture);
    text(&plan(&["rijndael-256-256-ctr", "--svg", name(&picture)]));
    well_formed(&fs::read_to_string(picture).unwrap());
    let wide = ["--cipher", "rijndael-192-192", "--job"];
    refused(&plan(&[&wide[..], &["gcm"]].concat()), 2, "16 bytes");
    refused(&plan(&[&wide[..], &["chains"]].concat()), 2, "16 bytes");
    refused(&plan(&[&wide[..], &["ctr", "--keys", "list"]].concat()), 2, "--keys");
    for options in [["--effort", "measure"], ["--device", "gpu"], ["--save", "no/such/plan"]] {
        refused(&plan(&[&wide[..], &["ctr"], &options].concat()), 2, options[0]);
    }
}
