//! `crossgrain decrypt` and `crossgrain verify`.
//!
//! Both open the header, derive the key, and run the chunks of a window of the plaintext through `flow`. A
//! chunk is written only if it is authentic. `verify` discards the plaintext. `--range` narrows the window,
//! and `--keep-partial` keeps the authentic bytes before damage.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::ops;
use std::path::Path;

use crossgrain::engine::text::grouped;
use crossgrain_container::{
    CHUNK_BYTES, Error as Refusal, Header, PREFIX_BYTES, Payload, SEALED_CHUNK_BYTES, Suite, plaintext_bytes,
};

use super::args::{DecryptArgs, Range, SealedArgs, VerifyArgs, WorkArgs};
use super::batch::{self, Done, Outputs, Taken};
use super::flow::Flow;
use super::keyring::Keyring;
use super::keys::apart_from;
use super::printable::Printable;
use super::resume::Resumed;
use super::{Contents, archive, read_header, refused};
use crate::error::{self, Error, Exit};
use crate::input::{Input, Name, shown};
use crate::output::{Content, Output, write_all_at};
use crate::profile;
use crate::progress::Progress;

/// Decrypts.
pub(crate) fn decrypt(args: &DecryptArgs) -> Result<(), Error> {
    profile::begin(args.files.work.profile);
    if args.tar {
        return archive::decrypt(args);
    }
    let files = &args.files;
    if !files.is_many()? {
        let mut keys = Keyring::existing(&args.sealed.keys, false);
        return decrypt_file(args, &mut keys, files.inputs.single(), files.output_path())?.finish();
    }
    if args.range.is_some() {
        return Err(Error::usage("--range is for one input: name one file, and its output by -o"));
    }
    let jobs = batch::jobs(&files.inputs, Taken::Encrypted)?;
    let mut keys = shared_keyring(&args.sealed)?;
    let mut outputs = Outputs::new(files, Content::Plaintext);
    batch::run(jobs, false, |job| {
        let output = outputs.path(job)?;
        decrypt_file(args, &mut keys, Some(&job.input), Some(&output))
    })
}

/// The secret for several files. A passphrase is read at once, so that it fails once and not for each file.
fn shared_keyring(args: &SealedArgs) -> Result<Keyring<'_>, Error> {
    let mut keys = Keyring::existing(&args.keys, true);
    if !args.keys.is_key() {
        keys.fetch(Suite::Aes256Gcm)?;
    }
    Ok(keys)
}

/// Decrypts one file, or standard input to standard output.
fn decrypt_file(
    args: &DecryptArgs,
    keys: &mut Keyring<'_>,
    path: Option<&Path>,
    output: Option<&Path>,
) -> Result<Done, Error> {
    let mut output = match output {
        Some(path) if args.resume => {
            apart_from(&args.sealed.keys.files(), path)?;
            Output::resumed(path, args.files.force)?
        }
        None if args.resume => {
            return Err(Error::usage("standard output cannot be resumed: give -o FILE"));
        }
        path => args.files.open(path, &args.sealed.keys.files(), Content::Plaintext)?,
    };
    let mut sealed = Sealed::open(&args.sealed, keys, path, &args.files.work)?;
    output.apart_from(&sealed.input, false)?;
    if let Some(range) = args.range {
        sealed.narrow(range)?;
    }
    output.stay();
    let name = output.name().clone();
    let (done, written_bytes) = sealed.write(args, &mut output, &name);
    match done.and_then(|()| sealed.input.stayed()) {
        Ok(()) => Ok(Done { output: Some(output), told: None, len_bytes: written_bytes }),
        Err(error) if args.keep_partial => {
            match output.keep(written_bytes) {
                Ok(Some(path)) => error::tell(&format!(
                    "the first {} bytes of '{}' are authentic",
                    grouped(written_bytes),
                    shown(&path)
                )),
                Ok(None) => {}
                Err(not_kept) => error::tell(not_kept.message()),
            }
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// Decrypts, drops the plaintext, and prints its size.
pub(crate) fn verify(args: &VerifyArgs) -> Result<(), Error> {
    profile::begin(args.work.profile);
    if !args.inputs.is_many() {
        let mut keys = Keyring::existing(&args.sealed.keys, false);
        return verify_file(args, &mut keys, args.inputs.single())?.finish();
    }
    let jobs = batch::jobs(&args.inputs, Taken::Encrypted)?;
    let mut keys = shared_keyring(&args.sealed)?;
    batch::run(jobs, args.json, |job| verify_file(args, &mut keys, Some(&job.input)))
}

/// Verifies one file, or standard input.
fn verify_file(args: &VerifyArgs, keys: &mut Keyring<'_>, path: Option<&Path>) -> Result<Done, Error> {
    let mut sealed = Sealed::open(&args.sealed, keys, path, &args.work)?;
    let name = sealed.input.name().clone();
    let plaintext_bytes = if args.list {
        archive::list(&mut sealed, &args.work)?
    } else {
        let mut progress = Progress::new(io::sink(), sealed.window_bytes(), args.work.progress);
        sealed.run(&Name::Stream("nothing"), &args.work, None, &mut progress)?;
        let plaintext_bytes = progress.bytes();
        drop(progress);
        sealed.input.stayed()?;
        plaintext_bytes
    };
    let contents = Contents { suite: sealed.payload.suite(), plaintext_bytes };
    let told = if args.json {
        let mut told = contents.json(&name);
        told["authentic"] = true.into();
        told.to_string()
    } else {
        format!("{name}: authentic, {contents}")
    };
    Ok(Done { output: None, told: Some(told), len_bytes: 0 })
}

/// An encrypted file whose key is verified. The input is positioned before the first chunk of the window.
pub(super) struct Sealed {
    pub(super) input: Input,
    payload: Payload,
    /// The total length of the sealed chunks in the file, if its length is known.
    chunks_bytes: Option<u64>,
    /// The plaintext bytes to decrypt.
    window: Range,
    /// Whether the window includes the last chunk.
    ends: bool,
}

impl Sealed {
    /// Opens a file, or standard input.
    pub(super) fn open(
        args: &SealedArgs,
        keys: &mut Keyring<'_>,
        path: Option<&Path>,
        work: &WorkArgs,
    ) -> Result<Self, Error> {
        let mut input = Input::open(path)?;
        let name = input.name().clone();
        let header = match args.suite {
            Some(suite) => Header::of_key(suite),
            None => read_header(&mut input)?,
        };
        let mut prefix = [0; PREFIX_BYTES];
        input.read_exact(&mut prefix).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => refused(&name, Refusal::TruncatedHeader),
            _ => Error::read(&name, &error),
        })?;
        args.keys.suits(&header.kdf).map_err(|refusal| refused(&name, refusal))?;
        let limits = args.keys.limits();
        let key = keys.with(header.suite, |known| header.input_key(known.secret(), &limits))?;
        let options = work.options(header.suite);
        let payload = key.and_then(|key| match args.bare {
            true => Payload::committed(header.suite, &key, &prefix, &[], &options),
            false => header.payload(&key, &prefix, &options),
        });
        let payload = payload.map_err(|refusal| match refusal {
            // The parameters come from the file and not from the user, so the file is corrupt.
            Refusal::BadArgon2(_) => Error::new(Exit::Corrupt, format!("{name}: {refusal}")),
            other => refused(&name, other),
        })?;
        let header_bytes = if args.bare { 0 } else { header.to_bytes().len() };
        let head_bytes = (header_bytes + PREFIX_BYTES) as u64;
        let chunks_bytes = input.len_bytes().map(|len_bytes| len_bytes.saturating_sub(head_bytes));
        Ok(Self { input, payload, chunks_bytes, window: Range { from: 0, to: None }, ends: true })
    }

    /// Restricts the window to a range, and seeks to its first chunk.
    fn narrow(&mut self, range: Range) -> Result<(), Error> {
        let name = self.input.name().clone();
        let chunks_bytes = self.chunks_bytes.ok_or_else(|| {
            Error::usage(format!(
                "--range needs a file, for {name} cannot be read from anywhere: give its name"
            ))
        })?;
        let last = chunks_bytes / SEALED_CHUNK_BYTES as u64;
        let by_length = plaintext_bytes(chunks_bytes).unwrap_or(last * CHUNK_BYTES as u64);
        let to = match range.to {
            // The file is long enough for this range. The chunks of the range are authenticated when they
            // are read, so the length needs no proof.
            Some(to) if to <= by_length => to,
            to => {
                let len_bytes = self.proven_bytes(last)?;
                let to = to.unwrap_or(len_bytes.max(range.from));
                if to > len_bytes {
                    let why = format!(
                        "the plaintext of {name} has {} bytes: give a range within",
                        grouped(len_bytes)
                    );
                    return Err(Error::usage(why));
                }
                to
            }
        };
        let chunk = CHUNK_BYTES as u64;
        let first = range.from / chunk;
        let after = if to == range.from { first } else { to.div_ceil(chunk) };
        self.ends = after > last;
        self.window = Range { from: range.from, to: Some(to) };
        self.go_to(0, first)?;
        Ok(())
    }

    /// The length of the plaintext, proven by authenticating the last chunk. The input is positioned before
    /// chunk 0, here and on return.
    fn proven_bytes(&mut self, last: u64) -> Result<u64, Error> {
        self.go_to(0, last)?;
        let (mut sealed, mut plaintext) = (Vec::new(), vec![0; CHUNK_BYTES]);
        let most_bytes = SEALED_CHUNK_BYTES as u64;
        let read = (&mut self.input).take(most_bytes).read_to_end(&mut sealed);
        read.map_err(|error| Error::read(self.input.name(), &error))?;
        let (len_bytes, opened) = self.payload.open(last, true, &sealed, &mut plaintext);
        opened.map_err(|refusal| refused(self.input.name(), refusal))?;
        let back_bytes = last * most_bytes + sealed.len() as u64;
        let back = self.input.seek(SeekFrom::Current(-(back_bytes as i64)));
        back.map_err(|error| Error::read(self.input.name(), &error))?;
        Ok(last * CHUNK_BYTES as u64 + len_bytes as u64)
    }

    /// Seeks from the beginning of chunk `here` to that of chunk `there`.
    fn go_to(&mut self, here: u64, there: u64) -> Result<(), Error> {
        let distance = (there as i64 - here as i64) * SEALED_CHUNK_BYTES as i64;
        let went = self.input.seek(SeekFrom::Current(distance));
        went.map(drop).map_err(|error| Error::read(self.input.name(), &error))
    }

    /// The length of the window, if the length of the file determines it.
    pub(super) fn window_bytes(&self) -> Option<u64> {
        let to = self.window.to.or_else(|| plaintext_bytes(self.chunks_bytes?));
        to.map(|to| to.saturating_sub(self.window.from))
    }

    /// Writes the window. Also gives the length of the output's prefix that is written without gaps.
    fn write(&mut self, args: &DecryptArgs, output: &mut Output, to: &Name) -> (Result<(), Error>, u64) {
        let work = &args.files.work;
        let (len_bytes, audience) = (self.window_bytes(), work.progress);
        let failed = |error| Error::write(to, &error);
        match output.unfinished_file() {
            Some(file) if args.resume => {
                let mut resumed = match Resumed::new(file) {
                    Ok(resumed) => resumed,
                    Err(error) => return (Err(failed(error)), 0),
                };
                let mut progress = Progress::new(&mut resumed, len_bytes, audience);
                let done = self.run(to, work, None, &mut progress);
                let written_bytes = progress.bytes();
                drop(progress);
                (done.and_then(|()| resumed.finish().map_err(failed)), written_bytes)
            }
            Some(file) => {
                let mut progress = Progress::new(io::sink(), len_bytes, audience);
                let done = self.run(to, work, Some(file), &mut progress);
                let written_bytes = progress.bytes();
                // Zeros at the end may not have been written, so this sets the length.
                (done.and_then(|()| file.set_len(written_bytes).map_err(failed)), written_bytes)
            }
            None if args.files.is_shown() => {
                let mut progress = Progress::new(Printable::new(output), len_bytes, audience);
                (self.run(to, work, None, &mut progress), progress.bytes())
            }
            None => {
                let mut progress = Progress::new(output, len_bytes, audience);
                (self.run(to, work, None, &mut progress), progress.bytes())
            }
        }
    }

    /// Decrypts the window.
    pub(super) fn run<W: Write + Send>(
        &mut self,
        to: &Name,
        work: &WorkArgs,
        file: Option<&File>,
        progress: &mut Progress<W>,
    ) -> Result<(), Error> {
        let window = self.window.from..self.window.to.unwrap_or(u64::MAX);
        if window.is_empty() {
            return Ok(());
        }
        let first = window.start / CHUNK_BYTES as u64;
        let chunks_bytes = |chunks: u64| chunks.saturating_mul(SEALED_CHUNK_BYTES as u64);
        let most_bytes = chunks_bytes(window.end.div_ceil(CHUNK_BYTES as u64) - first);
        let left_bytes = self.chunks_bytes.map(|all| all.saturating_sub(chunks_bytes(first)).min(most_bytes));
        let payload = &self.payload;
        let step = |first: u64, is_last: bool, sealed: &[u8], plaintext: &mut [u8]| {
            if !is_last && !sealed.len().is_multiple_of(SEALED_CHUNK_BYTES) {
                // The file was cut off while it was read.
                return (0..0, Err(Refusal::Io(io::ErrorKind::UnexpectedEof.into())));
            }
            let (len_bytes, done) = payload.open(first, is_last, sealed, plaintext);
            (within(&window, first, len_bytes), done)
        };
        let write_at = |file: &File, bytes: &[u8], first: u64| {
            let position = (first * CHUNK_BYTES as u64).saturating_sub(window.start);
            write_sparsely(file, bytes, position)
        };
        let from = self.input.name().clone();
        let flow = Flow {
            from: &from,
            to,
            workers: work.workers(),
            chunk_bytes: [SEALED_CHUNK_BYTES, CHUNK_BYTES],
            first,
            ends: self.ends,
            len_bytes: left_bytes,
            step: &step,
            write_at: file.map(|file| (file, &write_at as _)),
        };
        flow.run((&mut self.input).take(most_bytes), progress)?;
        match self.window.to {
            Some(to) if progress.bytes() < to - self.window.from => {
                let ended = io::Error::from(io::ErrorKind::UnexpectedEof);
                Err(Error::read(&from, &ended))
            }
            _ => Ok(()),
        }
    }
}

/// The part of a group's plaintext that is in the window. The group begins at chunk `first`.
fn within(window: &ops::Range<u64>, first: u64, len_bytes: usize) -> ops::Range<usize> {
    let at = first * CHUNK_BYTES as u64;
    let clipped = |place: u64| place.saturating_sub(at).min(len_bytes as u64) as usize;
    clipped(window.start)..clipped(window.end)
}

/// Writes all chunks except those of zeros. The file is new, so unwritten parts read as zeros.
fn write_sparsely(file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    let mut from = 0;
    for (at, chunk) in (0..).step_by(CHUNK_BYTES).zip(bytes.chunks(CHUNK_BYTES)) {
        if chunk.iter().all(|&byte| byte == 0) {
            write_all_at(file, &bytes[from..at], position + from as u64)?;
            from = at + chunk.len();
        }
    }
    write_all_at(file, &bytes[from..], position + from as u64)
}
