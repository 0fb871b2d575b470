//! Parsers of the command line: arguments, hex digits, journals of search sessions, and numbers of tables.
//!
//! It is a module of the program, because these parsers are private to it. The first byte is the kind of the rest. `a`: arguments, one a line.
//! `h`: hex digits. `j`: a journal. `n`: numbers.
//! Holds: nothing panics. Hex digits are decoded if there are pairs of digits and nothing else.

use std::sync::OnceLock;

use clap::FromArgMatches as _;
use libfuzzer_sys::fuzz_target;

use crate::error::Error;
use crate::{Arguments, circuit, manual, search, secret};

/// Parses arguments as `main` does.
fn arguments(lines: &str) {
    static COMMAND: OnceLock<clap::Command> = OnceLock::new();
    let command = COMMAND.get_or_init(manual::command).clone();
    let typed = command.try_get_matches_from(std::iter::once("crossgrain").chain(lines.split('\n')));
    if let Err(answer) = typed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        assert!(!Error::from(answer).message().is_empty());
    }
}

fn hex(digits: &str) {
    let is_hex = digits.len().is_multiple_of(2) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match secret::decode_hex("it", digits.as_bytes()) {
        Ok(bytes) => {
            assert!(is_hex);
            assert_eq!(base16ct::lower::encode_string(&bytes), digits.to_ascii_lowercase());
        }
        Err(_) => assert!(!is_hex),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    match first {
        b'a' => arguments(text),
        b'h' => hex(text),
        b'j' => drop(search::read_journal(text)),
        b'n' => drop(circuit::numbers(text)),
        _ => {}
    }
});
