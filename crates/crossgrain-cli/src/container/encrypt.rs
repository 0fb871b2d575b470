//! `crossgrain encrypt`.
//!
//! The output is the header (omitted with `--bare`), the payload's prefix, and the sealed chunks. The user's
//! secret is dropped, and thereby overwritten, before the first chunk is read. If the output is a file,
//! threads write chunks at their positions; otherwise in order.

use std::fs::File;
use std::io::{self, Write as _};

use crossgrain_container::{
    CHUNK_BYTES, Error as Refusal, Header, Kdf, Limits, Lock, Payload, Recipient, SEALED_CHUNK_BYTES, Secret,
    plaintext_bytes, sealed_bytes,
};

use super::args::EncryptArgs;
use super::flow::Flow;
use super::keys::Known;
use super::{Contents, kdf_json, print, refused, slots_json};
use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::output::{Content, Output, apart, with_suffix, write_all_at};
use crate::profile;
use crate::progress::Progress;

/// The bytes before the chunks, and the payload that seals the chunks.
struct Beginning {
    kdf: Kdf,
    head: Vec<u8>,
    payload: Payload,
}

/// Encrypts.
pub(crate) fn encrypt(args: EncryptArgs) -> Result<(), Error> {
    profile::begin(args.files.work.profile);
    args.files.refuse_terminal()?;
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
    let path = args.files.input.as_deref();
    apart(("IN", path), ("--output", args.files.output_path()))?;
    if let Some(path) = path.filter(|path| path.is_dir()) {
        let (name, mend) = (Name::File(path.to_owned()), "it is a directory, pipe it: tar c");
        let sealed = Name::File(with_suffix(path, ".sealed"));
        let why = format!("cannot read {name}: {mend} {name} | crossgrain encrypt -o {sealed}");
        return Err(Error::new(Exit::InputOutput, why));
    }
    let mut output = args.files.output(&args.keys.files(), Content::Open)?;
    if args.json && output.unfinished_file().is_none() {
        return Err(Error::usage("with --json, the ciphertext must go to a file: give -o FILE"));
    }
    let mut input = Input::open(args.files.input.as_deref().filter(|path| path.as_os_str() != "-"))?;
    output.apart_from(&input, false)?;
    let beginning = beginning(&args, &output)?;
    let chunks_bytes = write(&args, &mut input, &mut output, &beginning)?;
    input.stayed_whole()?;
    let name = output.name().clone();
    output.finish()?;
    profile::report();
    if !args.json {
        return Ok(());
    }
    let contents =
        Contents { suite: args.suite, plaintext_bytes: plaintext_bytes(chunks_bytes).unwrap_or_default() };
    let mut told = contents.json(&name);
    told["kdf"] = kdf_json(&beginning.kdf);
    told["slots"] = slots_json(&beginning.kdf).into();
    told["file_bytes"] = (beginning.head.len() as u64 + chunks_bytes).into();
    print(told)
}

/// The beginning of the file. The user's secret is overwritten before the first chunk is read.
fn beginning(args: &EncryptArgs, output: &Output) -> Result<Beginning, Error> {
    let recipients = args.recipients.all()?;
    // With recipients, a passphrase or key is one more way to open the file.
    let is_secret = recipients.is_empty() || args.keys.is_given();
    let known = if is_secret { Some(args.keys.known(args.suite, true)?) } else { None };
    fresh(args, known.as_ref(), &recipients).map_err(|refusal| refused(output.name(), refusal))
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
fn write(
    args: &EncryptArgs,
    input: &mut Input,
    output: &mut Output,
    beginning: &Beginning,
) -> Result<u64, Error> {
    let Beginning { head, payload, .. } = beginning;
    let (from, to) = (input.name().clone(), output.name().clone());
    let failed = |error| Error::write(&to, &error);
    let len_bytes = input.len_bytes();
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
        from: &from,
        to: &to,
        workers: args.files.work.workers(),
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
