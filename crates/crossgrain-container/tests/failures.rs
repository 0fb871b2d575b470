//! Encrypted files if writing or reading fails, and payloads that are asked to seal in a forbidden way.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use common::{File, encrypted, key_of, options, painted};
use crossgrain_container::{
    CHUNK_BYTES, Decryptor, Encryptor, Error, Limits, PREFIX_BYTES, Payload, SEALED_CHUNK_BYTES, Secret,
    Suite, TAG_BYTES,
};

/// A failed input or a full disk is reported with its own error.
#[test]
fn failures_of_input_and_output_are_passed_on() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let begun = Encryptor::bare(Full, Suite::Aes256Gcm, &[0; 32], b"", &options());
    assert!(matches!(begun, Err(Error::Io(error)) if error.kind() == io::ErrorKind::StorageFull));
}

/// An output that accepts a number of bytes, fails once, and accepts the rest.
struct Faulty {
    taken: Vec<u8>,
    fails_at_bytes: Option<usize>,
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.fails_at_bytes.map_or(bytes.len(), |at| bytes.len().min(at - self.taken.len()));
        if count == 0 && !bytes.is_empty() {
            self.fails_at_bytes = None;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.taken.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// After a partial write nothing more may be appended.
#[test]
fn after_a_failed_write_nothing_is_written_and_nothing_succeeds() {
    for (fails_at_bytes, len) in
        [(70, 10), (3000, 70 * CHUNK_BYTES), (64 * SEALED_CHUNK_BYTES, 130 * CHUNK_BYTES)]
    {
        let suite = Suite::Aes256Gcm;
        let output = Faulty { taken: Vec::new(), fails_at_bytes: Some(fails_at_bytes) };
        let mut file = Encryptor::bare(output, suite, &key_of(suite), b"", &options()).unwrap();
        let plaintext = painted(len, 11);
        // Either call may seal the group that fails.
        let wrote = file.write_all(&plaintext).and_then(|()| file.flush());
        if wrote.is_err() {
            assert_eq!(file.write(b"more").unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert_eq!(file.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
        let finished = file.finish();
        assert!(
            matches!(&finished, Err(Error::Io(error)) if error.kind() == io::ErrorKind::StorageFull),
            "{len}"
        );
    }
}

/// An input with one failing read, at this byte.
struct Stumbling {
    file: File,
    fails_at_bytes: Option<u64>,
}

impl Read for Stumbling {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left_bytes = self.fails_at_bytes.map(|at| at.saturating_sub(self.file.position()));
        if left_bytes == Some(0) {
            self.fails_at_bytes = None;
            return Err(io::Error::other("the cable was out"));
        }
        let most = left_bytes.map_or(buffer.len(), |left| buffer.len().min(left as usize));
        self.file.read(&mut buffer[..most])
    }
}

impl Seek for Stumbling {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The reader continues or starts over, and the failure is at any place.
#[test]
fn a_failed_read_loses_nothing() {
    let suite = Suite::Aes256Gcm;
    let plaintext = painted(5 * CHUNK_BYTES + 7, 12);
    let sealed = encrypted(suite, &plaintext);
    let head_bytes = 13 + PREFIX_BYTES;
    for at in [
        0,
        1,
        1000,
        SEALED_CHUNK_BYTES,
        SEALED_CHUNK_BYTES + 1,
        3 * SEALED_CHUNK_BYTES + 500,
        sealed.len() - head_bytes - 1,
    ] {
        for (seeks, before) in [(false, &b""[..]), (true, b""), (true, b"something before")] {
            let mut input = Cursor::new([before, &sealed].concat());
            input.set_position(before.len() as u64);
            let fails_at_bytes = Some((before.len() + head_bytes + at) as u64);
            let input = Stumbling { file: input, fails_at_bytes };
            let mut file =
                Decryptor::new(input, Secret::Key(&key_of(suite)), &Limits::default(), &options()).unwrap();
            let mut got = Vec::new();
            assert_eq!(file.read_to_end(&mut got).unwrap_err().to_string(), "the cable was out");
            if seeks {
                file.seek(SeekFrom::Start(0)).unwrap();
                got.clear();
            }
            file.read_to_end(&mut got).unwrap();
            assert!(got == plaintext, "{at} {seeks}");
            assert_eq!(file.len_bytes().unwrap(), plaintext.len() as u64);
        }
    }
}

#[test]
fn no_chunk_is_sealed_twice() {
    let suite = Suite::Aes256Gcm;
    let payload = Payload::fresh(suite, &key_of(suite), b"", &options()).unwrap();
    let mut sealed = vec![0; 4 * SEALED_CHUNK_BYTES];
    let mut seal = |payload: &Payload, first: u64, chunks: usize| {
        payload.seal(first, false, &vec![0; chunks * CHUNK_BYTES], &mut sealed)
    };
    // Any order, in groups, with gaps that are filled later.
    for (first, chunks) in [(8, 2), (0, 2), (4, 1), (12, 3), (2, 2), (5, 3), (11, 1), (10, 1)] {
        assert!(seal(&payload, first, chunks).is_ok(), "{first} {chunks}");
    }
    for (first, chunks, taken) in [(0, 1, 0), (14, 2, 14), (14, 1, 14), (7, 4, 7), (3, 1, 3)] {
        let refused = seal(&payload, first, chunks);
        assert!(
            matches!(refused, Err(Error::SealedChunk { chunk }) if chunk == taken),
            "{first} {chunks}: {refused:?}"
        );
    }
    assert!(seal(&payload, 15, 1).is_ok(), "a refusal takes nothing");
    assert!(matches!(seal(&payload, 15, 0), Ok(0)));
    // The last chunk counts like any other.
    let mut tag = [0; TAG_BYTES];
    assert!(matches!(payload.seal(3, true, &[], &mut tag), Err(Error::SealedChunk { chunk: 3 })));
    // A used salt seals nothing.
    let again = Payload::committed(suite, &key_of(suite), payload.prefix(), b"", &options()).unwrap();
    assert!(matches!(seal(&again, 100, 1), Err(Error::UsedSalt)));
}

/// If threads seal the same chunks at the same time, each chunk is sealed by one of them.
#[test]
fn threads_seal_each_chunk_once() {
    let payload = Payload::fresh(Suite::Aes256Gcm, &[0; 32], b"", &options()).unwrap();
    let sealed = std::sync::Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (payload, sealed) = (&payload, &sealed);
            scope.spawn(move || {
                let mut output = vec![0; SEALED_CHUNK_BYTES];
                for i in 0..40 {
                    let chunk = if thread % 2 == 0 { i } else { 39 - i };
                    if payload.seal(chunk, false, &[0; CHUNK_BYTES], &mut output).is_ok() {
                        *sealed.lock().unwrap().entry(chunk).or_insert(0) += 1;
                    }
                }
            });
        }
    });
    let sealed = sealed.into_inner().unwrap();
    assert!(sealed.len() == 40 && sealed.values().all(|&count| count == 1), "{sealed:?}");
}

#[test]
fn a_payload_ends_after_so_many_chunks() {
    use crossgrain_container::CHUNKS_MAX;
    let payload = Payload::fresh(Suite::Aes256Gcm, &[0; 32], b"", &options()).unwrap();
    let mut sealed = vec![0; TAG_BYTES];
    assert!(payload.seal(CHUNKS_MAX - 1, true, &[], &mut sealed).is_ok());
    assert!(payload.open(CHUNKS_MAX - 1, true, &sealed, &mut []).1.is_ok());
    assert!(matches!(payload.seal(CHUNKS_MAX, true, &[], &mut sealed), Err(Error::TooLong)));
    assert!(matches!(payload.seal(u64::MAX, true, &[], &mut sealed), Err(Error::TooLong)));
    assert!(matches!(payload.open(CHUNKS_MAX, true, &sealed, &mut []), (0, Err(Error::TooLong))));
}
