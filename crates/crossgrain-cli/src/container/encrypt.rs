//! `crossgrain encrypt`.
//!
//! The output is the header (omitted with `--bare`), the payload's prefix, and the sealed chunks. The user's
//! secret is dropped, and thereby overwritten, before the first chunk is read. If the output is a file,
//! threads write chunks at their positions; otherwise in order.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::num::NonZero;
use std::path::Path;

use crossgrain_container::{
    CHUNK_BYTES, Error as Refusal, Header, Kdf, Limits, Lock, Payload, Recipient, SEALED_CHUNK_BYTES, Secret,
    plaintext_bytes, sealed_bytes,
};

use super::args::EncryptArgs;
use super::batch::{self, Done, Outputs, Taken};
use super::flow::Flow;
use super::keyring::Keyring;
use super::keys::Known;
use super::{Contents, archive, kdf_json, refused, slots_json};
use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::output::{Content, Output, apart, with_suffix, write_all_at};
use crate::profile;
use crate::progress::Progress;

/// The bytes before the chunks, and the payload that seals the chunks.
pub(super) struct Beginning {
    kdf: Kdf,
    head: Vec<u8>,
    payload: Payload,
}

/// Encrypts.
pub(crate) fn encrypt(args: &EncryptArgs) -> Result<(), Error> {
    profile::begin(args.files.work.profile);
    check(args)?;
    if args.tar {
        return archive::encrypt(args);
    }
    let files = &args.files;
    if !files.is_many()? {
        files.refuse_terminal()?;
        let path = files.inputs.single();
        apart(("IN", path), ("--output", files.output_path()))?;
        return encrypt_file(args, &mut keyring(args, false), path, files.output_path())?.finish();
    }
    let jobs = batch::jobs(&files.inputs, Taken::Others)?;
    let mut keys = keyring(args, true);
    if wants_secret(args) {
        keys.fetch(args.suite)?;
    }
    let mut outputs = Outputs::new(files, Content::Open);
    batch::run(jobs, args.json, |job| {
        let output = outputs.path(job)?;
        encrypt_file(args, &mut keys, Some(&job.input), Some(&output))
    })
}

/// Refuses arguments that do not fit together.
fn check(args: &EncryptArgs) -> Result<(), Error> {
    if args.resume {
        return Err(Error::usage(
            "an encryption is not resumed, for one salt must never serve two inputs: leave out --resume, and begin anew",
        ));
    }
    if args.bare && !(args.keys.is_key() && args.recipients.is_empty()) {
        return Err(Error::usage(
            "a file without header has no place for passphrases and recipients: give --key-file alone",
        ));
    }
    Ok(())
}

/// The secret for all files of the run.
pub(super) fn keyring(args: &EncryptArgs, is_kept: bool) -> Keyring<'_> {
    if args.generate_passphrase { Keyring::random(is_kept) } else { Keyring::new(&args.keys, is_kept) }
}

/// Whether a passphrase or key opens the files. With recipients, it is one more way.
const fn wants_secret(args: &EncryptArgs) -> bool {
    args.recipients.is_empty() || args.keys.is_given() || args.generate_passphrase
}

/// Encrypts one file, or standard input to standard output.
fn encrypt_file(
    args: &EncryptArgs,
    keys: &mut Keyring<'_>,
    path: Option<&Path>,
    output: Option<&Path>,
) -> Result<Done, Error> {
    if let Some(path) = path.filter(|path| path.is_dir()) {
        let (name, packed) = (Name::File(path.to_owned()), Name::File(with_suffix(path, ".tar.cg")));
        let why = format!(
            "cannot read {name}: it is a directory, take its files by --recursive, or pack it: crossgrain encrypt --tar {name} -o {packed}"
        );
        return Err(Error::new(Exit::InputOutput, why));
    }
    let mut output = open_output(args, output)?;
    let mut input = Input::open(path)?;
    output.apart_from(&input, false)?;
    let beginning = beginning(args, keys, &output)?;
    let from = input.name().clone();
    let len_bytes = input.len_bytes();
    // An empty file, or one that the system generates on reading, is short.
    let is_short = len_bytes.is_none() && input.is_file();
    let workers = if is_short { NonZero::<usize>::MIN } else { args.files.work.workers() };
    let source = Source { from: &from, len_bytes, workers };
    let chunks_bytes = write(args, &source, &mut input, &mut output, &beginning)?;
    input.stayed_whole()?;
    Ok(beginning.done(args, output, chunks_bytes))
}

/// Opens the output.
pub(super) fn open_output(args: &EncryptArgs, path: Option<&Path>) -> Result<Output, Error> {
    let output = args.files.open(path, &args.keys.files(), Content::Open)?;
    if args.json && output.unfinished_file().is_none() {
        return Err(Error::usage("with --json, the ciphertext must go to a file: give -o FILE"));
    }
    Ok(output)
}

/// The beginning of the file. A secret for one file only is overwritten before the first chunk is read.
pub(super) fn beginning(
    args: &EncryptArgs,
    keys: &mut Keyring<'_>,
    output: &Output,
) -> Result<Beginning, Error> {
    let recipients = args.recipients.all()?;
    let begun = match wants_secret(args) {
        true => keys.with(args.suite, |known| fresh(args, Some(known), &recipients))?,
        false => fresh(args, None, &recipients),
    };
    begun.map_err(|refusal| refused(output.name(), refusal))
}

impl Beginning {
    /// The result for an output whose sealed chunks have this total length.
    pub(super) fn done(self, args: &EncryptArgs, output: Output, chunks_bytes: u64) -> Done {
        let plaintext_bytes = plaintext_bytes(chunks_bytes).unwrap_or_default();
        let told = args.json.then(|| {
            let mut told = Contents { suite: args.suite, plaintext_bytes }.json(output.name());
            told["kdf"] = kdf_json(&self.kdf);
            told["slots"] = slots_json(&self.kdf).into();
            told["file_bytes"] = (self.head.len() as u64 + chunks_bytes).into();
            told.to_string()
        });
        Done { output: Some(output), told, len_bytes: plaintext_bytes }
    }
}

/// The plaintext of a file.
pub(super) struct Source<'a> {
    pub(super) from: &'a Name,
    /// Its length, if that is known.
    pub(super) len_bytes: Option<u64>,
    pub(super) workers: NonZero<usize>,
}

/// The beginning of a new file: of version 1 if one key opens it, otherwise of version 2.
fn fresh(args: &EncryptArgs, known: Option<&Known>, recipients: &[Recipient]) -> Result<Beginning, Refusal> {
    let suite = args.suite;
    let (header, key) = match known {
        Some(Known::Key(key)) if recipients.is_empty() => {
            let header = Header::of_key(suite);
            let key = header.input_key(Secret::Key(key), &Limits::NONE)?;
            (header, key)
        }
        _ => {
            let argon2id = args.kdf.fresh()?;
            let own = known.and_then(|known| known.lock(argon2id));
            let locks = own.into_iter().chain(recipients.iter().copied().map(Lock::Recipient));
            Header::locked(suite, &locks.collect::<Vec<_>>())?
        }
    };
    let context = if args.bare { Vec::new() } else { header.context() };
    let payload = Payload::fresh(suite, &key, &context, &args.files.work.options(suite))?;
    let mut head = if args.bare { Vec::new() } else { header.to_bytes() };
    head.extend(payload.prefix());
    Ok(Beginning { kdf: header.kdf, head, payload })
}

/// Writes the file, and gives the total length of its sealed chunks.
pub(super) fn write(
    args: &EncryptArgs,
    source: &Source<'_>,
    input: impl Read + Send,
    output: &mut Output,
    beginning: &Beginning,
) -> Result<u64, Error> {
    let Beginning { head, payload, .. } = beginning;
    let &Source { from, len_bytes, workers } = source;
    let to = output.name().clone();
    let failed = |error| Error::write(&to, &error);
    let total_bytes = len_bytes.map(|len_bytes| head.len() as u64 + sealed_bytes(len_bytes));
    let step = |first, is_last, plaintext: &[u8], sealed: &mut [u8]| match payload
        .seal(first, is_last, plaintext, sealed)
    {
        Ok(len_bytes) => (0..len_bytes, Ok(())),
        Err(refusal) => (0..0, Err(refusal)),
    };
    let write_at = |file: &File, bytes: &[u8], first| {
        write_all_at(file, bytes, head.len() as u64 + first * SEALED_CHUNK_BYTES as u64)
    };
    let flow = Flow {
        from,
        to: &to,
        workers,
        chunk_bytes: [CHUNK_BYTES, SEALED_CHUNK_BYTES],
        first: 0,
        ends: true,
        len_bytes,
        step: &step,
        write_at: None,
    };
    let audience = args.files.work.progress;
    match output.unfinished_file() {
        Some(mut file) => {
            file.write_all(head).map_err(failed)?;
            let flow = Flow { write_at: Some((file, &write_at)), ..flow };
            let mut progress = Progress::new(io::sink(), total_bytes, audience);
            flow.run(input, &mut progress).map(|()| progress.bytes())
        }
        None => {
            output.write_all(head).map_err(failed)?;
            let mut progress = Progress::new(output, total_bytes, audience);
            flow.run(input, &mut progress).map(|()| progress.bytes())
        }
    }
}
