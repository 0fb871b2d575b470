//! Rules of word lists.
//!
//! The first line is a word, the rest is a file of rules.
//! Holds: nothing panics. A file has as many rules as lines that are neither empty nor comments, and an error is one line.

#![no_main]

use crossgrain_search::Rule;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == b'\n');
    let (word, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match Rule::parse_all(text) {
        Ok(rules) => {
            let mut candidate = Vec::new();
            for rule in &rules {
                rule.apply(word, &mut candidate);
                assert!(candidate.len() >= word.len());
                assert!(!rule.is_nothing() || candidate == word);
            }
            assert!(rules.len() <= text.split(|&byte| byte == b'\n').count());
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
});
