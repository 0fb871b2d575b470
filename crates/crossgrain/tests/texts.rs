//! Text for people: errors are one line, values from outside are escaped, numbers have digit groups, and no secret is
//! printed.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{CAPS, capped, key, painted, skip};
use crossgrain::engine::arch::{Isa, Portable, Register, Tile};
use crossgrain::engine::cipher::aes::key::RoundKeys;
use crossgrain::engine::cipher::aes::steps as aes;
use crossgrain::engine::cipher::aes::{bitsliced, cached_counter, instructions, table as tables};
use crossgrain::engine::kernel::Keys;
use crossgrain::engine::variant::table;
use crossgrain::for_each_register;
use crossgrain::mode::{Ctr, Ecb};
use crossgrain::{Cipher, Direction, Error, Features};

#[test]
fn every_error_is_one_line_whatever_was_typed() {
    for typed in ["", "x", "it's", "two\nlines", "\u{1b}[31mred", "\r", "ж", &"x".repeat(5000)] {
        let typed = typed.to_owned();
        let errors = [
            Error::UnknownCipher(typed.clone()),
            Error::KeyLength { cipher: Cipher::Aes192, len_bytes: 7 },
            Error::PartialBlock { len_bytes: 17 },
            Error::LengthMismatch { input_bytes: 1, output_bytes: 2 },
            Error::UnknownVariant(typed.clone()),
            table()[0].unavailable(Features::NONE),
            Error::BadIsaCap(typed),
        ];
        for error in errors {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains(char::is_control), "{line:?}");
            assert!(!line.contains("  ") && !line.ends_with('.') && line.len() < 400, "{line:?}");
        }
    }
}

#[test]
fn values_in_messages_are_escaped_and_cut() {
    use crossgrain::engine::text::{QUOTED_CHARS_MAX, escaped, quoted, reason};

    assert_eq!(escaped("a\u{1b}[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\\n");
    assert_eq!(quoted("it's \"é\" \\ e\u{301}"), "it's \"é\" \\ e\u{301}");
    let all: Vec<String> =
        ["", "x", "\n", "\u{1b}x", "\u{202e}"].iter().map(|text| text.repeat(5000)).collect();
    for text in &all {
        let shown = quoted(text);
        assert!(shown.chars().count() <= QUOTED_CHARS_MAX && !shown.contains(char::is_control), "{shown}");
        assert_eq!(shown.contains('…'), !text.is_empty());
    }
    let middle = format!("/home/{}/file", "x".repeat(QUOTED_CHARS_MAX));
    assert!(quoted(&middle).starts_with("/home/x") && quoted(&middle).ends_with("x/file"));
    assert_eq!(quoted(&"x".repeat(QUOTED_CHARS_MAX)), "x".repeat(QUOTED_CHARS_MAX));
    let told = reason(&format!("unknown field `{}`, expected `a` at line 1\n", "x".repeat(5000)));
    assert!(told.ends_with("x`, expected `a` at line 1\\n") && told.len() < 120, "{told}");
    assert!(reason(&"`\n".repeat(5000)).chars().count() <= 300);
}

#[test]
fn numbers_for_people_have_digit_groups() {
    use crossgrain::engine::text::{grouped, size};

    for (number, text) in
        [(0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (-1_234_567, "-1,234,567")]
    {
        assert_eq!(grouped(number), text);
    }
    assert_eq!(grouped(u128::MAX), "340,282,366,920,938,463,463,374,607,431,768,211,455");
    assert_eq!(grouped(format_args!("{:.2}", 12345.678)), "12,345.68");
    assert_eq!([grouped(f64::INFINITY), grouped("")], ["inf", ""]);
    let sizes = [0, 1023, 1024, 1025, 3 << 20, 1000 << 20, 2 << 40, 5000 << 40].map(size);
    let texts =
        ["0 bytes", "1,023 bytes", "1 KiB", "1,025 bytes", "3 MiB", "1,000 MiB", "2 TiB", "5,000 TiB"];
    assert_eq!(sizes, texts);
}

/// Debug output of any type that holds a secret does not depend on the secret.
#[test]
fn no_secret_is_printed() {
    fn shown(seed: u64) -> Vec<String> {
        let key = key(Cipher::Aes256, seed);
        let keys = RoundKeys::expand(&key, Features::of_cpu());
        let encrypt = Direction::Encrypt;
        let mut tile = Tile::new();
        tile.bytes_mut()[..32].copy_from_slice(&painted(32, seed));
        let mut shown = vec![
            format!("{key:?} {key:#?}"),
            format!("{keys:?} {keys:#?} {:?}", keys.equivalent_inverse()),
            format!("{tile:?} {tile:#?}"),
            format!("{:#?}", tables::Step::new(aes::Part::AddRoundKey, encrypt, &keys, 1)),
            format!("{:#?}", tables::TCipher::new(encrypt, &keys)),
            format!("{:#?}", bitsliced::Cipher::<u64>::new(Portable, encrypt, &keys)),
            format!("{:#?}", bitsliced::Step::<u64>::new(Portable, aes::Part::Round, encrypt, &keys, 1)),
            format!("{:#?}", bitsliced::Tail::<u64>::cached_counter(Portable, &keys)),
        ];
        for cap in CAPS {
            shown.push(format!("{:#?}", Ecb::with_options(&key, encrypt, &capped(cap, 1)).unwrap()));
            shown.push(format!("{:#?}", Ctr::with_options(&key, &[0; 16], &capped(cap, 1)).unwrap()));
        }
        for_each_register!(one_block, W => match <W as Register>::Isa::detect(Features::of_cpu()) {
            Some(isa) => {
                let keys = Keys::of(&key, Features::of_cpu());
                let cipher = instructions::Cipher::<W>::new(isa, encrypt, &keys).unwrap();
                let cached = cached_counter::CachedCounter::<W>::new(isa, &keys).unwrap();
                shown.push(format!("{keys:?} {:#?} {:#?}", &*cipher, &*cached));
            }
            None => skip(<W as Register>::Isa::NAME, "what kernels of AES instructions print"),
        });
        shown
    }
    assert_eq!(shown(1), shown(2));
}
