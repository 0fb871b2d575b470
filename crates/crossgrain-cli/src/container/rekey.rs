//! `crossgrain rekey`: changes what opens a file of version 2.
//!
//! The old secret opens a slot, and so gives the file key. All slots that it opens are replaced. The header is
//! written anew with other slots; salt, commitment and chunks are copied. Before anything is written, the tag of the header and the commitment
//! prove that slots and payload belong to this file key. The chunks are not decrypted: those that somebody
//! changes stay changed, and every reader finds that. If the input changes meanwhile, the copy is dropped.
//!
//! The output appears when it is complete and synced, also where it replaces the input. So there is always
//! the old file or the new one.

use std::io::Write as _;

use crossgrain::mode::Options;
use crossgrain_container::{Error as Refusal, Kdf, Lock, prefix};

use super::args::RekeyArgs;
use super::keys::apart_from;
use super::{read_header, refused};
use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::output::{Content, Output, apart};

/// Changes passphrases, keys and recipients.
pub(crate) fn rekey(args: &RekeyArgs) -> Result<(), Error> {
    let path = &args.input;
    apart(("IN", Some(path)), ("--output", args.output.as_deref()))?;
    let target = args.output.as_deref().unwrap_or(path);
    apart_from(&[args.keys.files(), args.new.files().to_vec()].concat(), target)?;
    let mut input = Input::open(Some(path))?;
    if !input.is_file() {
        return Err(Error::usage(format!("{} is no regular file: give the name of one", input.name())));
    }
    // Opening a pipe would wait for its reader.
    if std::fs::metadata(target).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Error::usage(format!(
            "{} is no regular file: name another",
            Name::File(target.to_owned())
        )));
    }
    let is_replaced = args.force || args.output.is_none();
    let mut output = Output::file(target, is_replaced, Content::Open)?;
    let name = output.name().clone();
    if output.unfinished_file().is_none() {
        return Err(Error::usage(format!("{name} is no regular file: name another")));
    }
    let head = head(args, &mut input)?;
    let written = output.write_all(&head).and_then(|()| match output.unfinished_file() {
        Some(file) => input.copy_rest(file).map(drop),
        None => Ok(()),
    });
    written.map_err(|error| Error::write(&name, &error))?;
    input.stayed()?;
    output.finish()
}

/// The new header, salt and commitment. The input is positioned before the first chunk.
fn head(args: &RekeyArgs, input: &mut Input) -> Result<Vec<u8>, Error> {
    let header = read_header(input)?;
    let name = input.name().clone();
    let refused = |refusal| match refusal {
        // The parameters come from the file and not from the user, so the file is corrupt.
        Refusal::BadArgon2(_) => Error::new(Exit::Corrupt, format!("{name}: {refusal}")),
        other => refused(&name, other),
    };
    let Kdf::Slots(slots) = &header.kdf else { return Err(refused(Refusal::OneKey)) };
    let count = slots.kinds().len();
    let removed: Vec<_> = args.remove.iter().map(|&number| usize::from(number) - 1).collect();
    if let Some(number) = removed.iter().find(|&&number| number >= count) {
        let why = format!("{name} has no slot {}: choose one of its {count}, see inspect", number + 1);
        return Err(Error::usage(why));
    }
    let prefix = prefix(input).map_err(refused)?;
    args.keys.suits(&header.kdf).map_err(refused)?;
    let (file_key, opened) = {
        let known = args.keys.known(header.suite)?;
        header.opened(known.secret(), &args.keys.limits()).map_err(refused)?
    };
    let options = Options { threads: 1, ..Options::default() };
    header.payload(&file_key, &prefix, &options).map_err(refused)?;
    let recipients = args.recipients.all()?;
    let new = args.new.known(header.suite, recipients.is_empty() && removed.is_empty())?;
    let argon2id = args.kdf.fresh().map_err(|refusal| super::refused(&name, refusal))?;
    let own = new.as_ref().and_then(|known| known.lock(argon2id));
    let locks: Vec<_> = own.into_iter().chain(recipients.into_iter().map(Lock::Recipient)).collect();
    let is_kept = |number: &usize| {
        let is_replaced = opened.contains(number) && !locks.is_empty() && !args.keep;
        !is_replaced && !removed.contains(number)
    };
    let kept: Vec<_> = (0..count).filter(is_kept).collect();
    if kept.is_empty() && locks.is_empty() {
        return Err(Error::usage(format!("{name} would have no slot left: add one, or remove fewer")));
    }
    let header =
        header.rekeyed(&file_key, &kept, &locks).map_err(|refusal| super::refused(&name, refusal))?;
    Ok([&header.to_bytes()[..], &prefix].concat())
}
