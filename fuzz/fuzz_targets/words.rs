//! Word lists: as lines, in hex, and as records.
//!
//! The first byte is the form, the second the size of the chunks; the list follows.
//! Holds: nothing panics. The words are the same whatever the size of the chunks, and each has its number.

#![no_main]

use crossgrain_search::{Form, Words};
use libfuzzer_sys::fuzz_target;

fn words(list: &[u8], form: Form, chunk_bytes: usize) -> Vec<Vec<u8>> {
    let mut reader = Words::new(list, form, chunk_bytes);
    let mut all = Vec::new();
    while let Some(chunk) = reader.chunk().expect("a slice can be read") {
        assert_eq!(chunk.first(), all.len() as u64);
        all.extend(chunk.words().map(<[u8]>::to_vec));
        assert_eq!(chunk.first() + chunk.count(), all.len() as u64);
    }
    assert_eq!(Words::new(list, form, chunk_bytes).count().expect("a slice can be read"), all.len() as u64);
    all
}

fuzz_target!(|data: &[u8]| {
    let [form, chunk_bytes, list @ ..] = data else { return };
    let form = match form {
        0 => Form::Lines,
        1 => Form::Hex,
        len_bytes => Form::Records { len_bytes: usize::from(*len_bytes) - 1 },
    };
    let all = words(list, form, list.len() + 2);
    assert_eq!(words(list, form, usize::from(*chunk_bytes)), all);
    let total: usize = all.iter().map(Vec::len).sum();
    assert!(total <= list.len());
    if let Form::Records { .. } = form {
        assert_eq!(all.concat(), list);
    }
});
