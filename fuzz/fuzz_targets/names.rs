//! Names: ciphers, modes, suites, policies, instruction sets and variants.
//!
//! Holds: nothing panics. A name that is accepted is printed as it was, and an error is one line.

#![no_main]

use std::fmt::Display;
use std::str::FromStr;

use crossgrain::engine::variant;
use crossgrain::mode::Mode;
use crossgrain::wide::Rijndael;
use crossgrain::{Cipher, Features, Policy};
use crossgrain_container::Suite;
use libfuzzer_sys::fuzz_target;

fn told(error: impl Display) {
    let line = error.to_string();
    assert!(!line.contains(char::is_control), "{line:?}");
}

fn named<T: FromStr<Err: Display>>(text: &str, name: impl Fn(T) -> &'static str) {
    match text.parse::<T>() {
        Ok(known) => assert_eq!(name(known), text),
        Err(error) => told(error),
    }
}

fuzz_target!(|text: &str| {
    named::<Cipher>(text, Cipher::name);
    named::<Mode>(text, Mode::name);
    named::<Policy>(text, Policy::name);
    named::<Rijndael>(text, Rijndael::name);
    named::<Suite>(text, Suite::name);
    if let Err(error) = text.parse::<Features>() {
        told(error);
    }
    match variant::find(text) {
        Ok(found) => assert_eq!(found.name, text),
        Err(error) => told(error),
    }
});
