//! `crossgrain keygen`.

use std::io::Write as _;

use zeroize::Zeroizing;

use super::args::KeygenArgs;
use crate::error::{Error, Exit};
use crate::output::Output;

/// Writes a key in hex, and a line end.
pub(crate) fn keygen(args: &KeygenArgs) -> Result<(), Error> {
    let mut output = match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) => Output::secret_file(path, args.force)?,
        None => Output::standard()?,
    };
    let mut key = Zeroizing::new(vec![0; args.suite.key_bytes()]);
    getrandom::fill(&mut key).map_err(|error| {
        Error::new(Exit::InputOutput, format!("the system gives no random bytes: {error}"))
    })?;
    let mut line = Zeroizing::new(base16ct::lower::encode_string(&key));
    line.push('\n');
    output.write_all(line.as_bytes()).map_err(|error| Error::write(output.name(), &error))?;
    output.finish()
}
