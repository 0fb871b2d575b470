//! `crossgrain keygen`.

use std::io::Write as _;
use std::path::Path;

use crossgrain::Key;
use crossgrain::engine::wiping_stack;
use crossgrain_container::Identity;
use zeroize::Zeroizing;

use super::args::KeygenArgs;
use super::keys::identities;
use super::{print, refused};
use crate::error::Error;
use crate::output::{Content, Output};

/// Writes a key in hex with a line end, or an identity; or prints recipients.
pub(crate) fn keygen(args: &KeygenArgs) -> Result<(), Error> {
    if let Some(path) = &args.recipient_of {
        let found = wiping_stack(|| identities(path))?;
        return found.iter().try_for_each(|identity| print(identity.recipient()));
    }
    let path = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let output = match path {
        Some(path) => Output::file(path, args.force, Content::Key)?,
        None => Output::standard()?,
    };
    if args.x25519 { identity(output, path) } else { key(args, output) }
}

fn key(args: &KeygenArgs, mut output: Output) -> Result<(), Error> {
    let key = Key::generate(args.suite.cipher())?;
    // Allocated with its final length, because reallocation would leave a copy of the key in freed memory.
    let mut line = Zeroizing::new(vec![b'\n'; 2 * key.bytes().len() + 1]);
    base16ct::lower::encode(key.bytes(), &mut line).map_err(|_| Error::usage("the key has no hex digits"))?;
    output.write_all(&line).map_err(|error| Error::write(output.name(), &error))?;
    output.finish()
}

/// Writes an identity file. Its recipient is in a comment; if it is a file, it is also printed.
fn identity(mut output: Output, path: Option<&Path>) -> Result<(), Error> {
    let identity = Identity::generate().map_err(|refusal| refused(output.name(), refusal))?;
    let (comment, text) = (format!("# public key: {}\n", identity.recipient()), identity.to_text());
    let written =
        [comment.as_bytes(), text.as_bytes(), b"\n"].into_iter().try_for_each(|part| output.write_all(part));
    written.map_err(|error| Error::write(output.name(), &error))?;
    output.finish()?;
    path.map_or(Ok(()), |_| print(identity.recipient()))
}
