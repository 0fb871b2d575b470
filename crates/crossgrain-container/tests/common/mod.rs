//! Helpers shared by the tests of encrypted files.
#![allow(
    dead_code,
    unused_imports,
    missing_docs,
    clippy::unwrap_used,
    reason = "not every test needs all of it"
)]

#[path = "../../../crossgrain/tests/common/basics.rs"]
mod basics;

use std::io::{Cursor, Write as _};

pub(crate) use basics::{hex, painted};
use crossgrain::mode::Options;
use crossgrain_container::{Encryptor, Header, Secret, Suite};

pub(crate) type File = Cursor<Vec<u8>>;

pub(crate) fn options() -> Options {
    Options { threads: 1, ..Options::default() }
}

pub(crate) fn key_of(suite: Suite) -> Vec<u8> {
    painted(suite.key_bytes(), 7)
}

/// A file encrypted with [`key_of`] its suite.
pub(crate) fn encrypted(suite: Suite, plaintext: &[u8]) -> Vec<u8> {
    let header = Header::of_key(suite);
    let mut file = Encryptor::new(Vec::new(), &header, Secret::Key(&key_of(suite)), &options()).unwrap();
    file.write_all(plaintext).unwrap();
    file.finish().unwrap()
}
