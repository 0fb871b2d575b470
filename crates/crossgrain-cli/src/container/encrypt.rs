//! `crossgrain encrypt`.

use std::fs::File;
use std::io::{self, Read as _, Write as _};

use crossgrain::container::{
    Argon2id, CHUNK_BYTES, Error as Refusal, Header, Kdf, Limits, PREFIX_BYTES, Payload, SEALED_CHUNK_BYTES,
    sealed_bytes,
};

use super::args::EncryptArgs;
use super::flow::Flow;
use super::keys::Known;
use super::refused;
use super::resume::Resumed;
use crate::error::Error;
use crate::input::Input;
use crate::output::{Output, write_all_at};
use crate::progress::Progress;

/// What stands before the chunks, and what seals them.
struct Beginning {
    head: Vec<u8>,
    payload: Payload,
}

/// Encrypts.
pub(crate) fn encrypt(args: EncryptArgs) -> Result<(), Error> {
    args.files.refuse_terminal()?;
    if args.bare && !args.keys.is_key() {
        return Err(Error::usage(
            "a file without header has no place for what a passphrase needs: give --key-file",
        ));
    }
    let mut output = args.files.output()?;
    let mut input = Input::open(args.files.input.as_deref().filter(|path| path.as_os_str() != "-"))?;
    let begun = if args.files.resume { begun(&args, &output)? } else { None };
    let known = args.keys.known(args.suite, begun.is_none())?;
    let beginning = match begun {
        Some((header, prefix)) => resumed(&args, &output, header, &prefix, &known)?,
        None => {
            // Less than a beginning is begun anew.
            let emptied = output.unfinished_file().map_or(Ok(()), |file| file.set_len(0));
            emptied.map_err(|error| Error::write(output.name(), &error))?;
            fresh(&args, &known).map_err(|refusal| refused(output.name(), refusal))?
        }
    };
    output.stay();
    write(&args, &mut input, &mut output, &beginning)?;
    input.stayed()?;
    output.finish()
}

/// The beginning of a new file.
fn fresh(args: &EncryptArgs, known: &Known) -> Result<Beginning, Refusal> {
    let kdf = match known {
        Known::Key(_) => Kdf::RawKey,
        Known::Passphrase(_) => {
            let costs = Argon2id::fresh()?;
            Kdf::Argon2id(Argon2id { memory_kib: args.kdf_memory << 10, passes: args.kdf_passes, ..costs })
        }
    };
    let header = Header { suite: args.suite, kdf };
    let key = header.input_key(known.secret(), &Limits::NONE)?;
    let mut head = if args.bare { Vec::new() } else { header.to_bytes() };
    let payload = Payload::fresh(args.suite, &key, &head, &args.files.work.options(args.suite))?;
    head.extend(payload.prefix());
    Ok(Beginning { head, payload })
}

/// Header and prefix that an earlier run wrote, if it got as far.
fn begun(args: &EncryptArgs, output: &Output) -> Result<Option<(Header, [u8; PREFIX_BYTES])>, Error> {
    let Some(mut file) = output.unfinished_file() else { return Ok(None) };
    let mut prefix = [0; PREFIX_BYTES];
    let header = if args.bare { Ok(Header::of_key(args.suite)) } else { Header::read(&mut file) };
    let read = header.and_then(|header| {
        file.read_exact(&mut prefix)?;
        Ok(header)
    });
    match read {
        Ok(header) if header.suite == args.suite => Ok(Some((header, prefix))),
        Ok(header) => {
            let (name, suite) = (output.name(), header.suite);
            Err(Error::usage(format!("what was begun of {name} is of another suite: give --suite {suite}")))
        }
        // So little that nothing is lost: no chunk has been written.
        Err(Refusal::TruncatedHeader) => Ok(None),
        Err(Refusal::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(refusal) => Err(refused(output.name(), refusal)),
    }
}

/// The beginning that an earlier run made, by the same key.
fn resumed(
    args: &EncryptArgs,
    output: &Output,
    header: Header,
    prefix: &[u8; PREFIX_BYTES],
    known: &Known,
) -> Result<Beginning, Error> {
    let made = header.input_key(known.secret(), &Limits::NONE).and_then(|key| {
        let mut head = if args.bare { Vec::new() } else { header.to_bytes() };
        let options = args.files.work.options(args.suite);
        let payload = Payload::committed(args.suite, &key, prefix, &head, &options)?;
        head.extend(prefix);
        Ok(Beginning { head, payload })
    });
    made.map_err(|refusal| refused(format_args!("what was begun of {}", output.name()), refusal))
}

/// Writes everything.
fn write(
    args: &EncryptArgs,
    input: &mut Input,
    output: &mut Output,
    beginning: &Beginning,
) -> Result<(), Error> {
    let Beginning { head, payload } = beginning;
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
        Some(file) if args.files.resume => {
            let mut resumed = Resumed::new(file).map_err(failed)?;
            resumed.write_all(head).map_err(failed)?;
            flow.run(input, &mut Progress::new(&mut resumed, total_bytes, audience))?;
            resumed.finish().map_err(failed)
        }
        Some(mut file) => {
            file.write_all(head).map_err(failed)?;
            let flow = Flow { write_at: Some((file, &write_at)), ..flow };
            flow.run(input, &mut Progress::new(io::sink(), total_bytes, audience))
        }
        None => {
            output.write_all(head).map_err(failed)?;
            flow.run(input, &mut Progress::new(output, total_bytes, audience))
        }
    }
}
