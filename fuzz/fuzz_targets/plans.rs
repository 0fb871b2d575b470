//! Plans from files, as `--plan` reads them.
//!
//! The first byte is the kind of the rest: the text of a file, or changes to a valid one.
//! Holds: nothing panics. Plans that are accepted are the same after a round trip through JSON, and an error is one line.

#![no_main]

mod edit;

use std::sync::OnceLock;

use crossgrain::mode::{Mode, Options};
use crossgrain::plan::Plans;
use crossgrain::{Cipher, Direction, Policy};
use libfuzzer_sys::fuzz_target;

/// Valid files.
fn valid() -> &'static [String] {
    static VALID: OnceLock<Vec<String>> = OnceLock::new();
    VALID.get_or_init(|| {
        let options = Options { policy: Policy::Any, ..Options::default() };
        let jobs =
            [(Mode::Ctr, Cipher::Aes128), (Mode::Cbc, Cipher::Serpent256), (Mode::Ecb, Cipher::Aes256)];
        let file = |(mode, cipher): (Mode, Cipher)| {
            let job = mode.job(cipher, Direction::Decrypt);
            Plans::new(job, options.plans_of(job).unwrap()).unwrap().to_json()
        };
        jobs.map(file).to_vec()
    })
}

fn read(text: &str) {
    match text.parse::<Plans>() {
        Ok(plans) => {
            let json = plans.to_json();
            assert_eq!(json.parse::<Plans>().unwrap().to_json(), json);
        }
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    if let Some(valid) = valid().get(usize::from(first)) {
        read(&edit::text(valid, rest));
    } else if let Ok(text) = std::str::from_utf8(rest) {
        read(text);
    }
});
