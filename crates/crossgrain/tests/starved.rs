//! If no thread can be created, the calling thread does all work. Nothing panics and every result is the
//! same.
//!
//! The test starts itself again as a child process under a memory limit (`ulimit -v`). The limit leaves
//! enough memory for the work, but not for a thread's stack, because the requested stack size exceeds it.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::io::{Cursor, Read as _, Write as _};
use std::process::Command;
use std::thread;

use common::{key, painted};
use crossgrain::engine::reference;
use crossgrain::engine::run::Threads;
use crossgrain::mode::{Aead as _, AeadMessage, Ctr, Gcm, Mode, Options};
use crossgrain::{Cipher, Direction, wide};
use crossgrain_container::{Argon2id, Decryptor, Encryptor, Header, Limits, Secret, Suite};

/// In a child, this variable names the work to do.
const MARK: &str = "CROSSGRAIN_STARVED";

/// More than the amount at which a job uses threads.
const LEN: usize = 2 << 20;

fn ctr() {
    let key = key(Cipher::Aes256, 1);
    let mut data = painted(LEN, 2);
    let mut want = data.clone();
    Ctr::with_options(&key, &[3; 16], &Options::default()).unwrap().apply(&mut data);
    reference::modes::ctr(&*reference::cipher(&key), [3; 16], &mut want);
    assert!(data == want);
}

fn gcm() {
    let key = key(Cipher::Aes128, 1);
    let gcm = Gcm::with_options(&key, 16, &Options { threads: 4, ..Options::default() }).unwrap();
    let mut data = painted(LEN, 2);
    let message = |data| AeadMessage::new(b"twelve bytes", &[], data);
    let mut messages: Vec<_> = data.chunks_mut(LEN / 8).map(message).collect();
    gcm.seal_many(&mut messages).unwrap();
    assert!(messages.iter().any(|message| message.tag[..] != [0; 16]));
}

fn wide() {
    let cipher = wide::Rijndael::Block256Key256;
    let key = wide::Key::new(cipher, &painted(32, 1)).unwrap();
    for direction in Direction::ALL {
        let stream =
            wide::Stream::with_options(&key, Mode::Cbc, direction, &wide::Options::default()).unwrap();
        stream.apply(&mut wide::State::new(cipher, &[0; 32]).unwrap(), &mut painted(LEN, 2)).unwrap();
    }
}

fn file() {
    let argon2id = Argon2id { memory_kib: 1024, passes: 2, lanes: 4, salt: [5; 16] };
    let (header, secret) =
        (Header::of_passphrase(Suite::Aes256Eax, argon2id), Secret::Passphrase(b"correct horse"));
    let plaintext = painted(LEN, 4);
    let mut sealed = Encryptor::new(Vec::new(), &header, secret, &Options::default()).unwrap();
    sealed.write_all(&plaintext).unwrap();
    let sealed = Cursor::new(sealed.finish().unwrap());
    let mut opened = Vec::new();
    let mut file = Decryptor::new(sealed, secret, &Limits::default(), &Options::default()).unwrap();
    file.read_to_end(&mut opened).unwrap();
    assert!(opened == plaintext);
}

/// Each entry is the first in its process to request threads.
const WORK: [(&str, fn()); 4] = [("ctr", ctr), ("gcm", gcm), ("wide", wide), ("file", file)];

#[test]
fn without_threads_all_work_is_done_by_one() {
    if let Ok(name) = std::env::var(MARK) {
        // Checks that the limit takes effect on this machine.
        assert!(thread::Builder::new().stack_size(8 << 30).spawn(|| {}).is_err(), "a thread was had");
        let (_, work) = WORK.iter().find(|(known, _)| *known == name).unwrap();
        work();
        assert_eq!(Threads::default().count(), 1);
        return;
    }
    for (name, _) in WORK {
        let command =
            "ulimit -v 3000000 && exec \"$0\" --exact without_threads_all_work_is_done_by_one --nocapture";
        let child = Command::new("sh")
            .args(["-c", command])
            .arg(std::env::current_exe().unwrap())
            .env(MARK, name)
            // The stack size of threads that set none, among them rayon's.
            .env("RUST_MIN_STACK", (8_u64 << 30).to_string())
            .output()
            .unwrap();
        let said =
            String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success() && said.contains("1 passed"), "{name}: {said}");
        assert!(!said.contains("panicked"), "{name}: {said}");
    }
}
