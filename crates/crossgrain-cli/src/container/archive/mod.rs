//! Directories in one encrypted file, as a tar archive.
//!
//! `pack` and `unpack` run on a thread of their own. `channel` connects it with the pipeline that encrypts or
//! decrypts, so memory is bounded and both sides work at once. `read` iterates over an archive and refuses
//! members that must not be unpacked.

mod channel;
mod pack;
mod read;
mod unpack;

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;

use channel::{Receiver, channel};
use pack::Pack;
use unpack::Unpack;

use super::args::{DecryptArgs, EncryptArgs, WorkArgs};
use super::decrypt::Sealed;
use super::encrypt::{self, Source};
use super::keyring::Keyring;
use crate::error::{self, Error};
use crate::input::{Name, shown};
use crate::profile;
use crate::progress::Progress;

/// Packs files and directories, and encrypts the archive.
pub(super) fn encrypt(args: &EncryptArgs) -> Result<(), Error> {
    let files = &args.files;
    if files.inputs.inputs.is_empty() {
        return Err(Error::usage("--tar packs files and directories: name them"));
    }
    files.refuse_terminal()?;
    let mut output = encrypt::open_output(args, files.output_path())?;
    let identity = output.unfinished_file().and_then(|file| file.metadata().ok());
    let identity = identity.map(|file| (file.dev(), file.ino()));
    let (sender, mut receiver) = channel();
    let pack = Pack::new(&files.inputs.inputs, identity, sender)?;
    let beginning = encrypt::beginning(args, &mut encrypt::keyring(args, false), &output)?;
    let from = Name::Stream("the archive");
    let source = Source { from: &from, len_bytes: None, workers: files.work.workers() };
    let (chunks_bytes, packed) = thread::scope(|scope| {
        let packing = scope.spawn(|| pack.run());
        let written = encrypt::write(args, &source, &mut receiver, &mut output, &beginning);
        let is_broken = receiver.is_broken();
        // If writing failed, this ends the other thread.
        drop(receiver);
        match (written, joined(packing)) {
            (Err(error), _) if !is_broken => Err(error),
            (_, Err(error)) => Err(error),
            (written, Ok(packed)) => written.map(|chunks_bytes| (chunks_bytes, packed)),
        }
    })?;
    beginning.done(args, output, chunks_bytes).finish()?;
    if packed.outside > 0 {
        let count = packed.outside;
        error::tell(&format!(
            "symbolic links that lead out of the archive: {count}, unpack them by --outside-links"
        ));
    }
    Ok(())
}

/// Decrypts an archive, and unpacks it.
pub(super) fn decrypt(args: &DecryptArgs) -> Result<(), Error> {
    let files = &args.files;
    let (Some(directory), [] | [_]) = (&files.output_dir, files.inputs.inputs.as_slice()) else {
        return Err(Error::usage("--tar unpacks one archive into one directory: name one input, and -C DIR"));
    };
    let mut keys = Keyring::existing(&args.sealed.keys, false);
    let mut sealed = Sealed::open(&args.sealed, &mut keys, files.inputs.single(), &files.work)?;
    let unpack = Unpack::new(directory, args.outside_links)?;
    let name = sealed.input.name().clone();
    let staging = unpack.staging_path();
    through(&mut sealed, &files.work, |input| unpack.run(&name, input))
        .and_then(|(unpack, _)| unpack.finish(&name))
        .inspect_err(|_| tell_if_left(&staging))?;
    profile::report();
    Ok(())
}

/// Reports a staging directory that could not be removed.
fn tell_if_left(staging: &Path) {
    if staging.symlink_metadata().is_ok() {
        error::tell(&format!("'{}' could not be removed and has decrypted files: remove it", shown(staging)));
    }
}

/// Decrypts an archive, and prints the names in it. Gives the length of the archive.
pub(super) fn list(sealed: &mut Sealed, work: &WorkArgs) -> Result<u64, Error> {
    let name = sealed.input.name().clone();
    through(sealed, work, |input| unpack::list(&name, input)).map(|((), len_bytes)| len_bytes)
}

/// Decrypts to a thread that reads the plaintext. Gives its result, and the length of the plaintext. If this
/// succeeds, everything was authentic.
fn through<T: Send>(
    sealed: &mut Sealed,
    work: &WorkArgs,
    read: impl FnOnce(&mut Receiver) -> Result<T, Error> + Send,
) -> Result<(T, u64), Error> {
    let (mut sender, mut receiver) = channel();
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let done = read(&mut receiver);
            (done, receiver.is_broken())
        });
        let mut progress = Progress::new(&mut sender, sealed.window_bytes(), work.progress);
        let ran = sealed.run(&Name::Stream("the archive"), work, None, &mut progress);
        let len_bytes = progress.bytes();
        drop(progress);
        // Without this end, the reader fails.
        let ended = ran
            .and_then(|()| sealed.input.stayed())
            .and_then(move |()| sender.end().map_err(|error| Error::write("the archive", &error)));
        match (ended, joined(reading)) {
            (Err(error), (_, true)) | (_, (Err(error), _)) | (Err(error), _) => Err(error),
            (Ok(()), (Ok(done), _)) => Ok((done, len_bytes)),
        }
    })
}

/// The result of a thread. A panic goes on.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
