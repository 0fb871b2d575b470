//! Word lists: every word is read once, with any line ends and lengths; and the candidates and keys made from
//! words.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "../src/hex.rs"]
mod hex_digits;

use std::io::{self, Cursor};
use std::sync::Mutex;

use crossgrain_search::{
    Error, Form, Hash, Kdf, Known, Refusal, Refused, Rule, Search, Test, WORD_BYTES_MAX, Watch, WordSearch,
    Words,
};
use proptest::prelude::*;

/// All words of a list with their numbers, read `chunk_bytes` at a time.
fn words(list: &[u8], form: Form, chunk_bytes: usize) -> Vec<Vec<u8>> {
    let mut list = Words::new(Cursor::new(list), form, chunk_bytes);
    let mut all = Vec::new();
    while let Some(chunk) = list.chunk().unwrap() {
        assert_eq!(chunk.first(), all.len() as u64);
        assert_eq!(chunk.count() as usize, chunk.words().count());
        all.extend(chunk.words().map(<[u8]>::to_vec));
    }
    assert_eq!(list.next(), all.len() as u64);
    all
}

#[test]
fn lines_end_in_lf_or_crlf_or_with_the_list() {
    for (list, want) in [
        (&b""[..], &[][..]),
        (b"\n", &[&b""[..]]),
        (b"a", &[b"a"]),
        (b"a\n", &[b"a"]),
        (b"a\r\nb\n\nc\r", &[b"a", b"b", b"", b"c"]),
        (b"\0\r\r\n\x00x\n", &[b"\0\r", b"\0x"]),
    ] {
        for chunk_bytes in 1..9 {
            assert_eq!(words(list, Form::Lines, chunk_bytes), want, "{list:?} by {chunk_bytes}");
        }
    }
}

/// Lists of which no line would be the word that its reader sees are refused with a remedy.
#[test]
fn lists_that_are_no_lines_of_words_are_refused() {
    let long: Vec<u8> = b"word\r".repeat(5000);
    let le: Vec<u8> = b"word\nother\n".iter().flat_map(|byte| [*byte, 0]).collect();
    let be: Vec<u8> = b"word\nother\n".iter().flat_map(|byte| [0, *byte]).collect();
    for (list, told) in [
        (&b"\xff\xfea\0\n\0"[..], "iconv -f UTF-16 "),
        (b"\xfe\xff\0a\0\n", "iconv -f UTF-16 "),
        (b"a\0\n\0", "iconv -f UTF-16LE "),
        (&le, "iconv -f UTF-16LE "),
        (&be, "iconv -f UTF-16BE "),
        (b"a\rb", "CR alone"),
        (&long, "CR alone"),
    ] {
        for chunk_bytes in [1, 100, 1 << 20] {
            let error = Words::new(list, Form::Lines, chunk_bytes).chunk().map(|_| ()).unwrap_err();
            assert!(error.to_string().contains(told), "{told} by {chunk_bytes}: {error}");
        }
    }
}

/// The bytes of lists in formats that are not decompressed are not tried as words.
#[test]
#[cfg(feature = "compressed")]
fn lists_of_other_formats_are_refused() {
    use std::io::Read as _;

    let read = |list: &'static [u8]| {
        let mut text = Vec::new();
        crossgrain_search::Decompressed::new(list).read_to_end(&mut text).map(|_| text)
    };
    for (list, told) in [
        (&b"BZh91AY&SYrest"[..], "bunzip2"),
        (b"BZh1\x17\x72\x45\x38\x50\x90", "bunzip2"),
        (b"]\0\0\x80\0", "unlzma"),
        (b"PK\x03\x04 rest", "unzip"),
        (b"7z\xbc\xaf\x27\x1c rest", "7z x"),
        (b"\x04\x22\x4d\x18 rest", "unlz4"),
    ] {
        let error = read(list).unwrap_err();
        assert!(error.to_string().contains(told), "{told}: {error}");
    }
    for list in [&b"BZh9 a word\n"[..], b"PK\n", b"]\n", b""] {
        assert_eq!(read(list).unwrap(), list);
    }
}

#[test]
fn a_list_that_ends_within_a_line_says_so() {
    for (list, form, is_cut) in [
        (&b"a\nb"[..], Form::Lines, true),
        (b"a\nb\n", Form::Lines, false),
        (b"", Form::Lines, false),
        (b"abcdef", Form::Records { len_bytes: 3 }, false),
        (b"abcdefg", Form::Records { len_bytes: 3 }, true),
    ] {
        for chunk_bytes in [1, 2, 100] {
            let mut list = Words::new(Cursor::new(list), form, chunk_bytes);
            while list.chunk().unwrap().is_some() {}
            assert_eq!(list.is_cut(), is_cut, "{list:?}");
        }
    }
}

#[test]
fn long_lines_are_words_up_to_a_mebibyte_and_none_is_lost() {
    for len in [WORD_BYTES_MAX - 1, WORD_BYTES_MAX, WORD_BYTES_MAX + 1, 3 * WORD_BYTES_MAX + 5] {
        // After a long line, the search for its end may have read into the next lines. Those may take several
        // chunks to read.
        let long = [vec![b'x'; len], vec![b'\n']].concat();
        let list = [b"first\n", &long[..], &[b'y'; 3000], b"\n", &long, &long, b"last\n"].concat();
        for chunk_bytes in [256, 1000, 1 << 20, 1 << 23] {
            let all = words(&list, Form::Lines, chunk_bytes);
            assert_eq!((all.len(), &all[0][..], &all[5][..]), (6, &b"first"[..], &b"last"[..]));
            assert_eq!(all[2], [b'y'; 3000]);
            for word in [&all[1], &all[3], &all[4]] {
                assert_eq!(word.len() > WORD_BYTES_MAX, len > WORD_BYTES_MAX);
                assert!(len > WORD_BYTES_MAX || word.len() == len);
            }
        }
    }
}

/// The bytes kept of a long line may end in CR, which also begins a line end.
#[test]
fn no_part_of_a_long_line_is_a_word() {
    for at in WORD_BYTES_MAX - 2..WORD_BYTES_MAX + 4 {
        let mut long = vec![b'x'; WORD_BYTES_MAX + 5000];
        long[at] = b'\r';
        long.push(b'\n');
        for chunk_bytes in [1000, 1 << 20] {
            let all = words(&long, Form::Lines, chunk_bytes);
            assert!(all.len() == 1 && all[0].len() > WORD_BYTES_MAX, "{at}");
        }
    }
}

proptest! {
    #[test]
    fn every_word_comes_once(
        lines in proptest::collection::vec("[a-c\\x00\\r]{0,9}", 0..40), chunk_bytes in 1..60_usize,
    ) {
        // A list that begins with NULs could be refused as UTF-16.
        let lines = [&["no UTF-16".to_owned()][..], &lines].concat();
        let list: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let want: Vec<_> = lines.iter().map(|line| line.strip_suffix('\r').unwrap_or(line).as_bytes().to_vec()).collect();
        prop_assert_eq!(words(list.as_bytes(), Form::Lines, chunk_bytes), want);
    }

    #[test]
    fn every_record_comes_once(list in proptest::collection::vec(any::<u8>(), 0..90), len_bytes in 1..20_usize, chunk_bytes in 1..60_usize) {
        let want: Vec<_> = list.chunks(len_bytes).map(<[u8]>::to_vec).collect();
        prop_assert_eq!(words(&list, Form::Records { len_bytes }, chunk_bytes), want);
    }
}

/// A test that fails for one candidate.
struct Fails;

impl Test for Fails {
    fn name(&self) -> String {
        "a test that fails".to_owned()
    }

    fn key_bytes(&self) -> Option<usize> {
        None
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        if key == b"key" { Err(Error::Words(io::ErrorKind::OutOfMemory.into())) } else { Ok(true) }
    }

    fn planted(&self, _key: &[u8]) -> Result<Box<dyn Test>, Error> {
        Ok(Box::new(Self))
    }
}

/// If the test of a candidate fails, the candidate was not tried.
#[test]
fn a_candidate_that_could_not_be_tried_ends_the_search() {
    let search = Search::new(Known::Test(Box::new(Fails)), Kdf::Exact).unwrap();
    let ends = |list: &'static [u8]| {
        let list = Mutex::new(Words::new(list, Form::Lines, 4));
        let watch = Watch::new(&|_| ());
        WordSearch::new(&search, &[Rule::nothing()], 0..u128::MAX)
            .chunks(&list, usize::MAX, &Mutex::new(Refused::default()), &watch)
            .is_err()
    };
    assert!(!ends(b"a\nb\nc\n") && ends(b"a\nb\nkey\n"));
}

#[test]
fn rules_do_what_hashcats_do() {
    for (rule, want) in [
        (":", "pAsS word"),
        ("", "pAsS word"),
        ("l", "pass word"),
        ("u", "PASS WORD"),
        ("c", "Pass word"),
        ("C", "pASS WORD"),
        ("t", "PaSs WORD"),
        ("$1 $!", "pAsS word1!"),
        ("^1^2", "21pAsS word"),
        ("l sa@ ss$ so0", "p@$$ w0rd"),
        ("$ $s", "pAsS word s"),
        ("c $1", "Pass word1"),
    ] {
        let mut made = vec![7; 3];
        assert!(Rule::parse(rule.as_bytes()).unwrap().apply(b"pAsS word", &mut made));
        assert_eq!(String::from_utf8(made).unwrap(), want, "{rule}");
    }
    for bad in ["x", "x1", "xa1", "$", "sa", "s", "l g", "^", "v1x"] {
        assert!(matches!(Rule::parse(bad.as_bytes()), Err(Error::BadRule { .. })), "{bad}");
    }
    let rules = Rule::parse_all(b"# comment\n:\r\n\nu $1\n").unwrap();
    assert_eq!(rules.len(), 2);
    assert!(rules[0].is_nothing());
    assert!(matches!(Rule::parse_all(b"#\n\n"), Err(Error::NoRules)));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn derived(kdf: &Kdf, candidate: &str, key_bytes: usize) -> String {
    let mut key = vec![0; key_bytes];
    kdf.derive(candidate.as_bytes(), &mut key).unwrap();
    hex(&key)
}

#[test]
fn padding_fills_a_key() {
    assert_eq!(derived(&Kdf::Zeros, "abc", 16), format!("616263{}", "00".repeat(13)));
    assert_eq!(derived(&Kdf::Zeros, "", 16), "00".repeat(16));
    assert_eq!(derived(&Kdf::Repeat, "abc", 16), "61626361626361626361626361626361");
    assert_eq!(derived(&Kdf::Exact, "0123456789abcdef", 16), hex(b"0123456789abcdef"));
    let mut key = [0; 16];
    for (kdf, candidate, refusal) in [
        (Kdf::Exact, &b"short"[..], Refusal::TooShort),
        (Kdf::Exact, b"longer than a key", Refusal::TooLong),
        (Kdf::Zeros, b"longer than a key", Refusal::TooLong),
        (Kdf::Repeat, b"longer than a key", Refusal::TooLong),
        (Kdf::Repeat, b"", Refusal::TooShort),
    ] {
        let refused = kdf.derive(candidate, &mut key);
        assert!(matches!(refused, Err(Error::BadCandidate(found)) if found == refusal), "{kdf:?}");
    }
}

/// SHA-256: FIPS 180-2, B.1. PBKDF2 with SHA-256: RFC 7914 §11, and with SHA-512: Python's hashlib. scrypt:
/// RFC 7914 §12. Argon2id: the reference program of Argon2, `echo -n password | argon2 somesalt -id -t 2 -k
/// 64 -p 1 -l 32 -r`.
#[test]
fn keys_are_those_of_published_vectors() {
    let pbkdf2 = |hash, salt: &str, iterations| Kdf::Pbkdf2 { hash, salt: salt.into(), iterations };
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(derived(&Kdf::Sha256, "abc", 32), abc);
    assert_eq!(derived(&Kdf::Sha256, "abc", 16), abc[..32]);
    let want = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
                49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783";
    assert_eq!(derived(&pbkdf2(Hash::Sha256, "salt", 1), "passwd", 64), want);
    let want = "afe6c5530785b6cc6b1c6453384731bd5ee432ee549fd42fb6695779ad8a1c5b";
    assert_eq!(derived(&pbkdf2(Hash::Sha512, "salt", 1000), "password", 32), want);
    let scrypt = Kdf::Scrypt { salt: b"NaCl".to_vec(), log_n: 10, r: 8, p: 16 };
    let want = "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162";
    assert_eq!(derived(&scrypt, "password", 32), want);
    let argon2id = Kdf::Argon2id { salt: b"somesalt".to_vec(), memory_kib: 64, passes: 2, lanes: 1 };
    assert_eq!(derived(&argon2id, "password", 32), ARGON2ID);
}

const ARGON2ID: &str = "16a1a498734609dd01456da406de9f3d9da93e6c86c300a12fc1465214ce4922";

#[test]
fn a_kdf_that_cannot_be_had_is_refused() {
    let salt = b"somesalt".to_vec();
    for kdf in [
        Kdf::Pbkdf2 { hash: Hash::Sha256, salt: salt.clone(), iterations: 0 },
        Kdf::Scrypt { salt: salt.clone(), log_n: 64, r: 8, p: 1 },
        Kdf::Scrypt { salt: salt.clone(), log_n: 10, r: 0, p: 1 },
        Kdf::Argon2id { salt: b"short".to_vec(), memory_kib: 64, passes: 1, lanes: 1 },
        Kdf::Argon2id { salt, memory_kib: 7, passes: 1, lanes: 1 },
    ] {
        assert!(matches!(kdf.derive(b"word", &mut [0; 32]), Err(Error::BadKdf { .. })), "{kdf:?}");
    }
    assert!(matches!(Kdf::Sha256.derive(b"word", &mut [0; 48]), Err(Error::BadKdf { .. })));
}

#[test]
fn digits_are_told_from_everything_else_wherever_they_stand() {
    for byte in 0..=u8::MAX {
        let value = char::from(byte).to_digit(16).map(|value| value as u8);
        for (len, place) in [(2, 0), (2, 1), (8, 3), (10, 7), (18, 16), (32, 20)] {
            let mut digits = vec![b'7'; len];
            digits[place] = byte;
            let mut decoded = vec![1; len / 2];
            assert_eq!(
                hex_digits::decode(&digits, &mut decoded),
                value.is_some(),
                "{byte:#x} at {place} of {len}"
            );
            let Some(value) = value else { continue };
            let mut want = vec![0x77; len / 2];
            want[place / 2] = if place % 2 == 0 { value << 4 | 7 } else { 0x70 | value };
            assert_eq!(decoded, want);
        }
    }
    assert!(hex_digits::decode(b"", &mut []));
}

#[test]
fn errors_of_what_a_search_uses_become_its_own() {
    use std::error::Error as _;
    use std::io::{self, ErrorKind};
    let of_engine = Error::from(crossgrain::Error::Forged);
    assert_eq!(of_engine.source().unwrap().to_string(), of_engine.to_string());
    assert_eq!(io::Error::from(of_engine).kind(), ErrorKind::InvalidData);
    let of_file = Error::from(crossgrain_container::Error::TruncatedHeader);
    assert!(of_file.source().is_some());
    assert_eq!(io::Error::from(of_file).kind(), ErrorKind::UnexpectedEof);
    assert_eq!(io::Error::from(Error::NothingKnown).kind(), ErrorKind::InvalidInput);
    assert!(io::Error::from(Error::NothingKnown).downcast::<Error>().is_ok());
}
