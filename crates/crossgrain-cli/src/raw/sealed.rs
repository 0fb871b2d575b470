//! Modes with a tag. The whole message is held in memory, so a message with a wrong tag gives no output.

use std::io::{Read, Write};

use crossgrain::mode::{Aead, Mode};
use crossgrain::{Buffers, Direction, Error as Refusal};
use zeroize::Zeroizing;

use super::args::{Engine, Job, Sealed, TagPlace};
use super::explain;
use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::output::{Content, Output};
use crate::profile::{self, Activity};

/// Encrypts or decrypts.
pub(super) fn run(job: &Job, engine: &Engine, sealed: &Sealed) -> Result<(), Error> {
    let mode = job.mode.aead(engine.cipher, &job.secret, sealed.tag_bytes, &engine.options)?;
    explain(job, mode.plans());
    let _thread = profile::thread();
    let (from, mut message) = read(job)?;
    match job.direction {
        Direction::Encrypt => seal(job, sealed, &mode, &mut message),
        Direction::Decrypt => open(job, sealed, &mode, &from, &mut message),
    }
}

/// Reads the whole input.
fn read(job: &Job) -> Result<(Name, Zeroizing<Vec<u8>>), Error> {
    let mut input = Input::open(job.input.as_deref())?;
    let name = input.name().clone();
    let mut message = Zeroizing::new(Vec::new());
    let expected = input.len_bytes().map_or(Some(0), |len_bytes| usize::try_from(len_bytes).ok());
    if expected.is_none_or(|len_bytes| message.try_reserve_exact(len_bytes).is_err()) {
        let why = format!(
            "{name} does not fit in memory, where a mode with a tag needs all of it: use `crossgrain encrypt`"
        );
        return Err(Error::new(Exit::InputOutput, why));
    }
    profile::turn_to(Activity::Read);
    input.read_to_end(&mut message).map_err(|error| Error::read(&name, &error))?;
    profile::turn_to(Activity::Compute);
    input.stayed_whole()?;
    Ok((name, message))
}

fn seal(job: &Job, sealed: &Sealed, mode: &impl Aead, message: &mut [u8]) -> Result<(), Error> {
    let mut output = super::output(job)?;
    let mut tag_output = match &sealed.tag {
        TagPlace::File(path) => Some(Output::file(path, job.force, Content::Open)?),
        _ => None,
    };
    let tag = mode.seal_with(&sealed.nonce, &sealed.strings(), Buffers::in_place(message))?;
    write(&mut output, message)?;
    write(tag_output.as_mut().unwrap_or(&mut output), &tag)?;
    if let Some(tag_output) = tag_output {
        tag_output.finish()?;
    }
    output.finish()
}

fn open(job: &Job, sealed: &Sealed, mode: &impl Aead, from: &Name, message: &mut [u8]) -> Result<(), Error> {
    let tag_bytes = mode.tag_bytes();
    let (message, tag) = match &sealed.tag {
        TagPlace::End => {
            let at = message.len().checked_sub(tag_bytes).ok_or_else(|| {
                let why = format!("{from} is shorter than a tag of {tag_bytes} bytes: is it cut off?");
                Error::new(Exit::Truncated, why)
            })?;
            let (message, tag) = message.split_at_mut(at);
            (message, tag.to_vec())
        }
        TagPlace::Given(tag) => (message, tag.clone()),
        TagPlace::File(path) => (message, read_tag(path, tag_bytes)?),
    };
    let mut output = super::output(job)?;
    let opened = mode.open_with(&sealed.nonce, &sealed.strings(), &tag, Buffers::in_place(message));
    opened.map_err(|refusal| match refusal {
        Refusal::Forged => {
            let hint = hint(job.mode, sealed);
            Error::new(Exit::Corrupt, format!("{from} is not authentic: {refusal}{hint}"))
        }
        other => other.into(),
    })?;
    write(&mut output, message)?;
    output.finish()
}

/// Advice for a forged message in siv without `--aad`. Earlier versions sealed one empty string in this case;
/// this version seals none.
const fn hint(mode: Mode, sealed: &Sealed) -> &'static str {
    if mode.entry().aad_strings_max > 1 && sealed.aads.is_empty() {
        "; data that an earlier version sealed without --aad needs --aad \"\""
    } else {
        ""
    }
}

/// Reads a tag from its own file.
fn read_tag(path: &std::path::Path, tag_bytes: usize) -> Result<Vec<u8>, Error> {
    let input = Input::open(Some(path))?;
    let name = input.name().clone();
    let mut tag = Vec::new();
    // The additional byte detects a longer file.
    input.take(tag_bytes as u64 + 1).read_to_end(&mut tag).map_err(|error| Error::read(&name, &error))?;
    if tag.len() == tag_bytes {
        return Ok(tag);
    }
    Err(Error::usage(format!(
        "{name} holds no tag of {tag_bytes} bytes: name the file that was written with the data"
    )))
}

fn write(output: &mut Output, bytes: &[u8]) -> Result<(), Error> {
    profile::turn_to(Activity::Write);
    let written = output.write_all(bytes);
    written.map_err(|error| Error::write(output.name(), &error))
}
