//! Draws small records, and parses the pictures.

use super::record::Record;
use super::series::{self, Chart};

/// The picture of a record, unless it is empty.
fn drawn(chart: fn(&Record) -> Chart, text: &str, day: &str) -> Option<String> {
    let picture = super::bars("", super::OURS, chart);
    super::draw(&picture, &Record::parse(text).unwrap(), day)
}

/// The same for the chart of speeds.
fn draw(text: &str, day: &str) -> Option<String> {
    drawn(series::speed, text, day)
}

const HEAD: &str = r#"{"machine":"AMD <EPYC> & Co, 2 threads","features":"sse2 avx2 avx512 aes vaes","core_ghz":3.691,"crossgrain":"0.1.0","peers":["OpenSSL 3.0.19","OpenSSL 3.0.19 (less)","RustCrypto aes 0.9.4, software backend"],"rustc":"1.95.0"}"#;

fn row(id: &str, gb_per_s: f64) -> String {
    format!("{{\"id\":\"{id}\",\"bytes\":1048576,\"threads\":1,\"gb_per_s\":{gb_per_s}}}\n")
}

/// A record with these ids and speeds, and with other lines that must be ignored.
fn record(head: &str, speeds: &[(&str, f64)]) -> String {
    let rows: String = speeds.iter().map(|(id, speed)| row(id, *speed)).collect();
    let other =
        r#"{"id":"aes-128-ctr/again/1048576/crossgrain-portable","bytes":4096,"threads":1,"gb_per_s":7.77}"#;
    let ratio = r#"{"bar":3.0,"ratio":"AES-128-CTR / RustCrypto","value":9.417}"#;
    format!("{head}\n{other}\n{rows}{ratio}\n")
}

const SPEEDS: [(&str, f64); 10] = [
    ("aes-128-ctr/again/1048576/crossgrain", 26.219),
    ("aes-128-ctr/again/1048576/libgcrypt", 22.357),
    ("aes-128-ctr/again/1048576/rustcrypto", 6.645),
    ("aes-128-ctr/again/1048576/openssl", 9.364),
    ("aes-128-ctr/again/1048576/crossgrain-avx512-aes", 2.8151),
    ("aes-128-ctr/again/1048576/crossgrain-avx2-aes-gfni", 1.617),
    ("aes-128-ctr/again/1048576/crossgrain-portable", 0.4709),
    ("aes-128-ctr/again/1048576/rustcrypto-software", 0.2113),
    ("aes-128-ctr/again/1048576/openssl-masked", 0.7499),
    ("aes-256-ctr/again/1048576/crossgrain", 17.972),
];

/// The texts between tags, after a check that every tag opened is closed in order.
#[track_caller]
fn texts(svg: &str) -> Vec<String> {
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    for piece in svg.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "a stray > after {tag}");
        assert_eq!(tag.matches('"').count() % 2, 0, "an open quote in {tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap_or_default());
        }
        texts.push(text.trim().to_owned());
    }
    assert!(open.is_empty(), "left open: {open:?}");
    for entity in svg.split('&').skip(1) {
        assert!(["amp;", "lt;", "gt;"].iter().any(|known| entity.starts_with(known)), "a bare &");
    }
    texts
}

#[track_caller]
fn assert_has(texts: &[String], wanted: &[&str]) {
    for text in wanted {
        assert!(texts.iter().any(|found| found == text), "no {text:?} in {texts:?}");
    }
}

#[test]
fn every_name_and_value_is_in_the_picture() {
    let texts = texts(&draw(&record(HEAD, &SPEEDS), "2026-11-20").unwrap());
    assert_has(&texts, &["crossgrain", "RustCrypto", "OpenSSL", "AES-128", "AES-256"]);
    assert_has(&texts, &["default", "libcrypto", "aes and ctr crates"]);
    assert_has(&texts, &["all else allowed", "AVX2 at most", "64-bit words", "software backend"]);
    assert_has(&texts, &["26.2", "22.4", "6.64", "9.36", "2.82", "1.62", "0.47", "0.21", "0.75", "18.0"]);
    assert_has(&texts, &["0", "5", "25", "0.0", "0.5", "2.5"]);
    assert!(!texts.iter().any(|text| text == "7.77" || text == "30" || text == "3.0"));
}

#[test]
fn the_caption_says_where_when_and_with_what() {
    let texts = texts(&draw(&record(HEAD, &SPEEDS), "2026-11-20").unwrap());
    let machine = "AMD &lt;EPYC&gt; &amp; Co, 2 threads · about 3.69 GHz · sse2 avx2 avx512 aes vaes";
    let versions = "crossgrain 0.1.0 by rustc 1.95.0, OpenSSL 3.0.19, RustCrypto aes 0.9.4";
    assert_has(&texts, &[machine, &format!("{versions} · 2026-11-20")]);
    let texts = self::texts(&draw(&record(HEAD, &SPEEDS), "latest").unwrap());
    assert_has(&texts, &[versions]);
    let ours = [("aes-128-ctr/again/1048576/crossgrain", 26.2)];
    let alone = self::texts(&draw(&record(HEAD, &ours), "2026-11-20").unwrap());
    assert_has(&alone, &["crossgrain 0.1.0 by rustc 1.95.0 · 2026-11-20"]);
}

#[test]
fn a_table_says_which_library_was_old() {
    let table =
        |head: &str| super::table::speeds(&Record::parse(&record(head, &SPEEDS)).unwrap(), "2026-11-20");
    let installed = table(HEAD);
    assert!(installed.starts_with(
        "| GB/s, one thread | crossgrain | OpenSSL 3.0.19 (installed) | libgcrypt | RustCrypto |\n"
    ));
    let newest = table(&HEAD.replace(r#""rustc""#, r#""libraries":"newest","rustc""#));
    assert!(newest.contains(" | OpenSSL 3.0.19 (newest) | "), "{newest}");
}

#[test]
fn bars_are_sorted_by_speed() {
    let texts = texts(&draw(&record(HEAD, &SPEEDS), "").unwrap());
    let place = |wanted: &str| texts.iter().position(|text| text == wanted).expect("it is there");
    let places = ["26.2", "22.4", "9.36", "6.64", "2.82", "1.62", "0.75", "0.47", "0.21"].map(place);
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn what_is_missing_or_died_is_skipped() {
    let speeds =
        [("aes-128-ctr/again/1048576/crossgrain", 26.2), ("aes-128-ctr/again/1048576/openssl", 1e-9)];
    let texts = texts(&draw(&record(HEAD, &speeds), "").unwrap());
    assert_has(&texts, &["With the CPU’s AES instructions", "26.2"]);
    for absent in ["OpenSSL", "AES-256", "Without AES instructions, constant-time"] {
        assert!(!texts.iter().any(|text| text == absent), "{absent}");
    }
}

#[test]
fn a_cpu_without_aes_instructions_has_no_bars_for_them() {
    let texts = texts(&draw(&record(&HEAD.replace(" avx512 aes vaes", ""), &SPEEDS), "").unwrap());
    assert_has(&texts, &["2.82", "0.47", "0.21"]);
    for absent in ["With the CPU’s AES instructions", "26.2", "AVX2 at most"] {
        assert!(!texts.iter().any(|text| text == absent), "{absent}");
    }
}

#[test]
fn representations_are_those_of_whole_ciphers() {
    let rows = [
        r#"{"id":"aes-encrypt/blocks/vaes512","bytes":1048576,"threads":1,"gb_per_s":22.6}"#,
        r#"{"id":"aes-encrypt/bitsliced64/portable","bytes":8192,"threads":1,"gb_per_s":0.5612}"#,
        r#"{"id":"aes-decrypt/bitsliced64/portable","bytes":8192,"threads":1,"gb_per_s":0.4412}"#,
        r#"{"id":"sub-bytes/bitsliced64/portable","bytes":8192,"threads":1,"gb_per_s":7.77}"#,
        r#"{"id":"serpent-encrypt/vsliced512/avx512","bytes":8192,"threads":1,"gb_per_s":1.93}"#,
    ];
    let svg = drawn(series::representations, &format!("{HEAD}\n{}", rows.join("\n")), "2026-11-20").unwrap();
    let texts = texts(&svg);
    assert_has(&texts, &["blocks", "vaes512", "22.6", "bitsliced64", "0.56", "0.44", "vsliced512", "1.93"]);
    assert_has(&texts, &["encryption", "decryption"]);
    assert!(!texts.iter().any(|text| ["7.77", "others"].contains(&text.as_str())));
}

#[test]
fn lengths_and_threads_are_in_order() {
    let rows = [
        r#"{"id":"lengths/aes-128-ctr/best/16","bytes":16,"threads":1,"gb_per_s":0.42}"#,
        r#"{"id":"lengths/aes-128-ctr/best/16384","bytes":16384,"threads":1,"gb_per_s":25.1}"#,
        r#"{"id":"lengths/aes-128-ctr/best/1048576","bytes":1048576,"threads":1,"gb_per_s":24.2}"#,
        r#"{"id":"threads/aes-128-ctr/best/1","bytes":8388608,"threads":1,"gb_per_s":24.3}"#,
        r#"{"id":"threads/aes-128-ctr/best/2","bytes":8388608,"threads":2,"gb_per_s":44.9}"#,
    ];
    let record = format!("{HEAD}\n{}", rows.join("\n"));
    for (chart, names) in [
        (
            series::lengths as fn(&Record) -> Chart,
            &["16 bytes", "0.42", "16 KiB", "25.1", "1 MiB", "24.2"][..],
        ),
        (series::threads, &["1 thread", "24.3", "2 threads", "44.9"]),
    ] {
        let texts = texts(&drawn(chart, &record, "2026-11-20").unwrap());
        assert_has(&texts, &["AES-128-CTR, the default plan"]);
        let places = names.iter().map(|name| texts.iter().position(|text| text == name).expect(name));
        assert!(places.is_sorted(), "{texts:?}");
    }
    assert!(drawn(series::plans, &record, "").is_none());
}

#[test]
fn sealing_is_a_line_for_each_that_seals() {
    let row = |situation: &str, length: &str, label: &str, speed: f64| {
        let bytes = length.parse().unwrap_or(340);
        format!(
            r#"{{"id":"aes-256-gcm/{situation}/{length}/{label}","bytes":{bytes},"threads":1,"gb_per_s":{speed}}}"#
        )
    };
    let mut rows = vec![HEAD.to_owned()];
    for (label, speeds) in
        [("crossgrain", [0.5, 16.0]), ("openssl", [0.1, 8.0]), ("openssl-masked", [0.01, 0.3])]
    {
        let lengths = ["16", "1048576"].into_iter().zip(speeds);
        rows.extend(lengths.map(|(length, speed)| row("apart", length, label, speed)));
    }
    rows.extend([row("many", "4096", "openssl", 3.0), row("apart", "imix", "openssl", 0.4)]);
    let record = Record::parse(&rows.join("\n")).unwrap();
    let picture = super::PICTURES.iter().find(|picture| picture.path == "docs/sealing.svg").unwrap();
    let svg = super::draw(picture, &record, "2026-11-20").unwrap();
    let texts = texts(&svg);
    assert_has(&texts, &["crossgrain", "OpenSSL 3.0.19", "16 B", "1 MiB", "0.1", "0.2", "0.5", "10"]);
    assert!(!texts.iter().any(|text| text == "0.01"));
    assert_eq!(svg.matches("<path class=\"line ").count(), 2);
}

/// A record of a loaded machine is kept, but no picture shows it.
#[test]
fn a_loaded_machine_is_not_charted() {
    let folder = std::env::temp_dir().join(format!("crossgrain-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let loaded = HEAD.replace(r#""rustc""#, r#""load_average":"7.40","rustc""#);
    let records = [("2026-11-20-peers", HEAD), ("2026-11-21-peers", &loaded), ("2026-11-22", HEAD)];
    let files = records.map(|(name, head)| {
        let file = folder.join(name).with_extension("jsonl");
        std::fs::write(&file, head).unwrap();
        file
    });
    let newest = super::newest_in(files.iter().cloned(), super::PEERS);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(newest.as_ref(), Some(&files[0]));
}

#[test]
fn calls_at_once_stand_beside_block_by_block() {
    let rows = [
        r#"{"id":"calls/aes-128/best/at-once/1","bytes":16,"threads":1,"gb_per_s":1.52}"#,
        r#"{"id":"calls/aes-128/best/block-by-block/1","bytes":16,"threads":1,"gb_per_s":1.51}"#,
        r#"{"id":"calls/aes-128/best/at-once/64","bytes":1024,"threads":1,"gb_per_s":22.7}"#,
        r#"{"id":"calls/serpent-256/best/at-once/64","bytes":1024,"threads":1,"gb_per_s":2.25}"#,
    ];
    let svg = drawn(series::calls, &format!("{HEAD}\n{}", rows.join("\n")), "2026-11-23").unwrap();
    let texts = texts(&svg);
    assert_has(
        &texts,
        &[
            "AES-128, the default plan",
            "1 block",
            "1.52",
            "1.51",
            "64 blocks",
            "22.7",
            "Serpent-256, the default plan",
            "2.25",
        ],
    );
    assert_has(&texts, &["at once", "block by block"]);
}

#[test]
fn plans_stand_beside_the_best_that_mixes() {
    let rows = [
        r#"{"plan":"aes-128-ecb/portable","best":"blocks-to-bitsliced64/portable > aes-encrypt/bitsliced64/portable > x","gb_per_s":0.432,"mixed_to_pure":1.08}"#,
        r#"{"plan":"aes-128-ecb/avx512","best":"aes-encrypt/blocks/vaes512","gb_per_s":23.2,"mixed_to_pure":5.8}"#,
        r#"{"jobs":2,"mixing_gains":0}"#,
    ];
    let svg = drawn(series::plans, &format!("{HEAD}\n{}", rows.join("\n")), "2026-11-20").unwrap();
    let texts = texts(&svg);
    assert_has(
        &texts,
        &["AES-128-ECB", "portable", "bitsliced64", "0.43", "0.40", "avx512", "blocks", "23.2", "4.00"],
    );
}

#[test]
fn an_unreadable_record_is_one_clear_line() {
    let error = |text: &str| Record::parse(text).unwrap_err();
    assert_eq!(error(""), "an empty record");
    assert_eq!(error("{}"), "no record: its first line has no \"machine\"");
    assert_eq!(error("[1]\n"), "no record: its first line has no \"machine\"");
    assert!(error(&format!("{HEAD}\nGB/s")).starts_with("line 2 is no JSON: "));
    assert!(draw(HEAD, "2026-11-20").is_none());
    assert!(!error("{\n").contains('\n'));
}

/// A record that was kept, and its day.
fn newest(kind: &str) -> (Record, String) {
    super::read(&super::newest(kind).unwrap()).unwrap()
}

#[test]
fn the_page_shows_the_newest_records() {
    let page = std::fs::read_to_string(crate::root().join(super::PAGE)).unwrap();
    let tables = crate::pages::between(&page, super::TASK).unwrap();
    assert_eq!(tables.trim(), super::tables().unwrap().trim(), "run `cargo xtask chart`");
}

#[test]
fn tables_by_length_show_the_newest_record() {
    for (page, task, table) in super::by_length().unwrap() {
        let text = std::fs::read_to_string(crate::root().join(page)).unwrap();
        let found = crate::pages::between(&text, task).unwrap();
        assert_eq!(found.trim(), table.trim(), "{page}: run `cargo xtask chart`");
    }
}

#[test]
fn tables_by_length_are_of_messages_sealed_apart() {
    let lengths = [16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 1 << 20_u64];
    let row = |bytes: u64| {
        format!(
            r#"{{"id":"aes-256-gcm/apart/{bytes}/crossgrain","bytes":{bytes},"threads":1,"gb_per_s":12.25}}"#
        )
    };
    let rows: Vec<_> = lengths.into_iter().map(row).collect();
    let record = |rows: &[String]| Record::parse(&format!("{HEAD}\n{}", rows.join("\n"))).unwrap();
    let table = super::summary::table(&record(&rows), "2026-11-29").unwrap();
    assert!(table.contains("| AES-256-GCM, 64 bytes | 12.2 | – |"), "{table}");
    let table = super::summary::gcm(&record(&rows), "2026-11-29").unwrap();
    assert!(table.contains("| 64 bytes | – | 12.25 | – |"), "{table}");
    assert!(super::summary::table(&record(&rows[1..]), "2026-11-29").is_none());
}

#[test]
fn ratios_compare_with_the_fastest_peer_of_each_length() {
    let row = |bytes: u64, who: &str, speed: f64| {
        format!(r#"{{"id":"sm4-ctr/apart/{bytes}/{who}","bytes":{bytes},"threads":1,"gb_per_s":{speed}}}"#)
    };
    let rows = [
        row(256, "crossgrain", 3.0),
        row(256, "libgcrypt", 2.0),
        row(256, "botan", 4.0),
        row(4096, "crossgrain", 3.0),
        row(4096, "libgcrypt", 2.0),
    ];
    let record = Record::parse(&format!("{HEAD}\n{}", rows.join("\n"))).unwrap();
    let table = super::ratios::table(&record, "2026-11-29").unwrap();
    assert!(
        table.contains("| SM4-CTR, to another buffer |  |  | 0.75 b |  |  | 1.50 l |  |  |  |"),
        "{table}"
    );
    let nothing = Record::parse(HEAD).unwrap();
    assert!(super::ratios::table(&nothing, "2026-11-29").is_none());
}

#[test]
fn pictures_show_the_newest_record() {
    for picture in &super::PICTURES {
        let (record, day) = newest(picture.kind);
        let Some(drawn) = super::draw(picture, &record, &day) else { continue };
        let stands = std::fs::read_to_string(crate::root().join(picture.path)).unwrap();
        assert!(stands == drawn, "{} is of another record: run `cargo xtask chart`", picture.path);
    }
}
