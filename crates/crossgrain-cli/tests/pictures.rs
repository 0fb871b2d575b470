//! `crossgrain plan --svg` and `--html`: pictures name every part, are well-formed, and are written completely or not at all.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod planned;

use std::fs;

use planned::{PUBLISHED, costs, json, known_caps, name, plan, plan_on, refused, text, well_formed};
use tempfile::TempDir;

/// Where only refused variants compute a part, the picture says so.
#[test]
fn pictures_name_the_reason_of_a_gap() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("plan.svg");
    let drawn = |more: &[&str]| {
        let arguments = ["--cipher", "aes-128", "--job", "ctr", "--svg", name(&file), "--force"];
        text(&plan_on(Some("portable"), &[&arguments[..], more].concat()));
        fs::read_to_string(&file).unwrap()
    };
    let svg = drawn(&[]);
    well_formed(&svg);
    let words = |class: &str| -> String {
        let begin = format!("<text class=\"{class}\"");
        let texts = svg.split(&begin).skip(1);
        let words = texts.filter_map(|text| text.split(['>', '<']).nth(1));
        words.collect::<Vec<_>>().join(" ")
    };
    assert!(words("gap").contains("table look-ups refused"), "{}", words("gap"));
    assert!(words("note").contains("the policy refuses all variants of the row"), "{}", words("note"));
    let any = drawn(&["--policy", "any"]);
    assert!(!any.contains("refused") && !any.contains("class=\"gap\""));
}

#[test]
fn pictures_name_every_part() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("plan.svg");
    for isa in known_caps(["portable", "avx2-aes", "avx512", "neon-aes", "neon"]) {
        for (job, parts) in [
            ("ctr", ["add-round-key", "sub-bytes", "shift-rows", "mix-columns"]),
            ("ecb-decrypt", ["add-round-key", "inv-sub-bytes", "inv-shift-rows", "inv-mix-columns"]),
        ] {
            let arguments = ["--cipher", "aes-256", "--job", job, "--svg", name(&file), "--force"];
            text(&plan_on(Some(isa), &arguments));
            let svg = fs::read_to_string(&file).unwrap();
            well_formed(&svg);
            for part in parts {
                assert!(svg.contains(&format!(">{part}</text>")), "{isa} {job}: {part}");
            }
            assert!(svg.contains("13 times") && svg.contains("prefers-color-scheme: dark"));
        }
    }
}

/// Names from a file are escaped before they are printed.
#[test]
fn names_from_files_are_escaped() {
    let escape = "\\u001b[31m\\n";
    let contents = PUBLISHED
        .replace("SubBytes", escape)
        .replace("\"bit", &format!("\"{escape}bit"))
        .replace(">bit", &format!(">{escape}bit"));
    let (directory, _) = costs("");
    let file = directory.path().join("a\u{1b}[31m.json");
    fs::write(&file, contents).unwrap();
    let (picture, page) = (directory.path().join("plan.svg"), directory.path().join("plan.html"));
    let arguments = ["--costs", name(&file), "--svg", name(&picture), "--html", name(&page)];
    let told = text(&plan(&arguments));
    let texts = [told, fs::read_to_string(&picture).unwrap(), fs::read_to_string(&page).unwrap()];
    for told in &texts {
        let is_escape = |c: char| c.is_control() && c != '\n';
        assert!(!told.contains(is_escape) && told.contains(r"\u{1b}[31m\n"), "{told:?}");
    }
    well_formed(&texts[1]);
    let answer = json(&plan(&["--costs", name(&file), "--json"]));
    assert!(
        answer["pure"].as_object().unwrap().keys().any(|name| name.starts_with("\u{1b}[31m\n")),
        "{answer}"
    );
}

#[test]
fn pictures_of_anyone_s_costs() {
    let (directory, file) = costs(&PUBLISHED.replace("MixColumns", "mix <&> \\\"match\\\""));
    let (picture, page) = (directory.path().join("plan.svg"), directory.path().join("plan.html"));
    let arguments = ["--costs", name(&file), "--svg", name(&picture), "--html", name(&page)];
    text(&plan(&arguments));
    let svg = fs::read_to_string(&picture).unwrap();
    well_formed(&svg);
    for words in ["SubBytes", "mix &lt;&amp;&gt; &quot;match&quot;", "word", "bit", "50,467", "11,856"] {
        assert!(svg.contains(words), "{words}");
    }
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains(&svg) && html.contains("All costs"), "{html}");
    assert!(!html.replace("http://www.w3.org/2000/svg", "").contains("http"), "the page loads nothing");
    refused(&plan(&arguments), 5, "--force");
    assert!(plan(&[&arguments[..], &["--force"]].concat()).status.success());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "nothing else is left behind");
}

#[test]
fn a_picture_that_cannot_be_written() {
    let (directory, file) = costs(PUBLISHED);
    let nowhere = directory.path().join("no/such/plan.svg");
    refused(&plan(&["--costs", name(&file), "--svg", name(&nowhere)]), 1, "does not exist");
    refused(&plan(&["--costs", name(&file), "--html", name(&file)]), 5, "--force");
    refused(&plan(&["--costs", name(&file), "--html", name(directory.path())]), 1, "directory");
}
