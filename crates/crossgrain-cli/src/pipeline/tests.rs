//! Order, failures and endings of the pipeline, with any number of workers.

use std::io::{self, Read, Write};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{BEFORE_BYTES, CHUNK_BYTES, Cut, Failure, Place, run};

/// Two whole chunks and a part. The failures below occur in the second chunk or after it.
const LEN_BYTES: usize = 5 * CHUNK_BYTES / 2;

fn each_number_of_workers(check: impl Fn(NonZero<usize>)) {
    (1..=5).filter_map(NonZero::new).for_each(check);
}

fn painted() -> Vec<u8> {
    (0..LEN_BYTES).map(|i| (i % 251) as u8).collect()
}

/// Adds a value that depends on its position to each byte.
fn shift(position: u64, chunk: &mut [u8]) {
    for (at, byte) in (position..).zip(chunk) {
        *byte = byte.wrapping_add((at / 7) as u8);
    }
}

fn shifted(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    shift(0, &mut data);
    data
}

/// A reader that gives a few bytes at a time, is interrupted now and then, and fails after `left` bytes.
struct Reluctant<'a> {
    data: &'a [u8],
    left: usize,
    calls: usize,
}

impl Read for Reluctant<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.left == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let most = buffer.len().min(self.left).min(65_521);
        let count = self.data.read(&mut buffer[..most])?;
        self.left -= count;
        Ok(count)
    }
}

/// A writer that accepts a limited number of bytes.
struct Small<'a>(&'a mut Vec<u8>, usize);

impl Write for Small<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.1 - self.0.len());
        if count == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn fallible(place: Place, chunk: &mut [u8]) -> Result<(), u64> {
    shift(place.position, chunk);
    Ok(())
}

#[test]
fn bytes_come_out_in_order_and_positions_are_right() {
    let data = painted();
    each_number_of_workers(|workers| {
        for len_bytes in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, LEN_BYTES] {
            let input = Reluctant { data: &data[..len_bytes], left: usize::MAX, calls: 0 };
            let mut output = Vec::new();
            assert!(run(workers, Cut::default(), input, &mut output, fallible).is_ok());
            assert!(output == shifted(&data[..len_bytes]), "{workers} workers, {len_bytes} bytes");
        }
    });
}

#[test]
fn chunks_are_cut_as_told_and_know_what_is_before_them() {
    let data = painted();
    each_number_of_workers(|workers| {
        for chunk_bytes in [16, 48, 4096 + 16, CHUNK_BYTES] {
            let input = Reluctant { data: &data[..70 * 4096 + 5], left: usize::MAX, calls: 0 };
            let cut = Cut { chunk_bytes, before: [7; BEFORE_BYTES], ..Cut::default() };
            let compute = |place: Place, chunk: &mut [u8]| -> Result<(), ()> {
                let at = usize::try_from(place.position).unwrap();
                assert!(at.is_multiple_of(chunk_bytes) && chunk.len() <= chunk_bytes);
                let read = &data[at.saturating_sub(BEFORE_BYTES)..at];
                let (said, kept) = place.before.split_at(BEFORE_BYTES - read.len());
                assert!(kept == read && said.iter().all(|&byte| byte == 7));
                Ok(())
            };
            assert!(run(workers, cut, input, io::sink(), compute).is_ok());
        }
    });
}

#[test]
fn a_read_failure_leaves_the_whole_chunks_before_it() {
    let data = painted();
    each_number_of_workers(|workers| {
        let input = Reluctant { data: &data, left: CHUNK_BYTES + 17, calls: 0 };
        let mut output = Vec::new();
        let done = run(workers, Cut::default(), input, &mut output, fallible);
        assert!(matches!(done, Err(Failure::Read(error)) if error.kind() == io::ErrorKind::InvalidData));
        assert!(output == shifted(&data[..CHUNK_BYTES]));
    });
}

#[test]
fn a_write_failure_ends_an_endless_stream() {
    each_number_of_workers(|workers| {
        let mut output = Vec::new();
        let done = run(workers, Cut::default(), io::repeat(7), Small(&mut output, CHUNK_BYTES + 5), fallible);
        assert!(matches!(done, Err(Failure::Write(error)) if error.kind() == io::ErrorKind::StorageFull));
        assert!(output == shifted(&vec![7; CHUNK_BYTES + 5]));
    });
}

#[test]
fn of_many_refusals_the_first_in_the_stream_counts() {
    each_number_of_workers(|workers| {
        let mut output = Vec::new();
        let refuse = |Place { position, .. }, chunk: &mut [u8]| {
            shift(position, chunk);
            if position >= CHUNK_BYTES as u64 { Err(position) } else { Ok(()) }
        };
        let done = run(workers, Cut::default(), io::repeat(7), &mut output, refuse);
        assert!(matches!(done, Err(Failure::Compute(position)) if position == CHUNK_BYTES as u64));
        assert!(output == shifted(&vec![7; CHUNK_BYTES]));
    });
}

#[test]
fn a_panic_reaches_the_caller_and_nobody_waits_for_ever() {
    each_number_of_workers(|workers| {
        let panicking = |Place { position, .. }, _: &mut [u8]| -> Result<(), ()> {
            if position < 3 * CHUNK_BYTES as u64 { Ok(()) } else { resume_unwind(Box::new("silently")) }
        };
        let done = catch_unwind(AssertUnwindSafe(|| {
            run(workers, Cut::default(), io::repeat(7), io::sink(), panicking)
        }));
        assert!(done.is_err());
    });
}
