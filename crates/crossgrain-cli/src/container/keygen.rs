//! `crossgrain keygen`.

use std::io::Write as _;

use crossgrain::Key;
use zeroize::Zeroizing;

use super::args::KeygenArgs;
use crate::error::Error;
use crate::output::{Content, Output};

/// Writes a key in hex with a line end.
pub(crate) fn keygen(args: &KeygenArgs) -> Result<(), Error> {
    let mut output = match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) => Output::file(path, args.force, Content::Key)?,
        None => Output::standard()?,
    };
    let key = Key::generate(args.suite.cipher())?;
    // Allocated with its final length, because reallocation would leave a copy of the key in freed memory.
    let mut line = Zeroizing::new(vec![b'\n'; 2 * key.bytes().len() + 1]);
    base16ct::lower::encode(key.bytes(), &mut line).map_err(|_| Error::usage("the key has no hex digits"))?;
    output.write_all(&line).map_err(|error| Error::write(output.name(), &error))?;
    output.finish()
}
