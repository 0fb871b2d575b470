//! Tests that rule out most keys by a few bytes. PBKDF2 on lanes derives only these at first, and the search finds
//! the same candidates as one that derives whole keys.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::io::Cursor;
use std::ops::Range;
use std::sync::Mutex;

use crossgrain_search::{
    Error, Form, Hash, Kdf, Known, Refused, Rule, Search, Test, Watch, WordSearch, Words,
};
use proptest::prelude::*;

/// The right key is known.
#[derive(Clone)]
struct Equals {
    key: Vec<u8>,
    first: Range<usize>,
    /// It takes no key for right, so that only self-tests find one.
    is_hopeless: bool,
    /// The first bytes of planted keys are forgotten, as if lanes derived wrong ones.
    is_faulty: bool,
}

impl Test for Equals {
    fn name(&self) -> String {
        "a known key".to_owned()
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.key.len())
    }

    fn first_bytes(&self) -> Option<Range<usize>> {
        Some(self.first.clone())
    }

    fn may_hold(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(!self.is_hopeless && key[self.first.clone()] == self.key[self.first.clone()])
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(!self.is_hopeless && key == self.key)
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        Ok(Box::new(Self { key: key.to_vec(), is_hopeless: self.is_faulty, ..self.clone() }))
    }
}

/// The numbers of the words that are found.
fn found(test: Equals, kdf: &Kdf, words: &str) -> Result<Vec<String>, Error> {
    let hits = Mutex::new(Vec::new());
    let key = test.key.clone();
    let search = Search::new(Known::Test(Box::new(test)), kdf.clone())?;
    let list = Mutex::new(Words::new(Cursor::new(words), Form::Lines, 200));
    let hit = |hit: crossgrain_search::Hit| {
        assert_eq!(*hit.key, key);
        hits.lock().unwrap().push(String::from_utf8(hit.candidate.to_vec()).unwrap());
    };
    WordSearch::new(&search, &[Rule::nothing()], 0..u128::MAX).chunks(
        &list,
        usize::MAX,
        &Mutex::new(Refused::default()),
        &Watch::new(&hit),
    )?;
    Ok(hits.into_inner().unwrap())
}

fn key_of(kdf: &Kdf, word: &str, key_bytes: usize) -> Vec<u8> {
    let mut key = vec![0; key_bytes];
    kdf.derive(word.as_bytes(), &mut key).unwrap();
    key
}

proptest! {
    #[test]
    fn the_right_word_is_found_whichever_bytes_come_first(
        hash in prop::sample::select(vec![Hash::Sha1, Hash::Sha256, Hash::Sha512]),
        (key_bytes, first) in (8..150_usize).prop_flat_map(|all| {
            (Just(all), (0..=all, 0..=all).prop_map(|(a, b)| a.min(b)..a.max(b)))
        }),
        right in 0..150_u32,
    ) {
        let kdf = Kdf::Pbkdf2 { hash, salt: b"salt".to_vec(), iterations: 2 };
        let words: String = (0..150).map(|number| format!("word{number}\n")).collect();
        let word = format!("word{right}");
        let key = key_of(&kdf, &word, key_bytes);
        let test = Equals { key, first, is_hopeless: false, is_faulty: false };
        prop_assert_eq!(found(test, &kdf, &words).unwrap(), [word]);
    }
}

/// A self-test looks at the bytes that lanes derived.
#[test]
fn a_planted_key_that_is_not_found_ends_the_search() {
    let kdf = Kdf::Pbkdf2 { hash: Hash::Sha256, salt: b"salt".to_vec(), iterations: 2 };
    let key = key_of(&kdf, "none", 64);
    let test = Equals { key, first: 0..32, is_hopeless: false, is_faulty: true };
    assert!(matches!(found(test, &kdf, "a\nb\n"), Err(Error::Canary { .. })));
}
