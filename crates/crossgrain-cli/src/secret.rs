//! Keys as the user supplies them. Every buffer that holds a key is overwritten when it is dropped.

use std::fs::File;
use std::io;
use std::path::Path;

use crossgrain_container::{KEY_FILE_BYTES_MAX, fill};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::input::shown;

/// Decodes hex digits of either case in time that depends only on their number.
///
/// `what` names them in error messages. The digits themselves are never shown, because they may be a key.
pub(crate) fn decode_hex(what: &str, digits: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    if !digits.len().is_multiple_of(2) {
        let count = digits.len();
        return Err(Error::usage(format!(
            "{what} has an odd number of hex digits ({count}): two make a byte"
        )));
    }
    crossgrain_container::decode_hex(digits).ok_or_else(|| {
        Error::usage(format!("{what} holds something that is no hex digit: use 0 to 9 and a to f only"))
    })
}

/// A key from the command line.
pub(crate) fn key_from_hex(digits: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    decode_hex("--key", digits.as_bytes())
}

/// Keys of `want` bytes each from a file, one after another. `whose` names the cipher in messages.
pub(crate) fn keys_from_file(whose: &str, want: usize, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let name = format!("key file '{}'", shown(path));
    let read = || {
        let mut file = File::open(path)?;
        // One more byte shows whether the file grows. The memory never moves, which would leave a copy.
        let len_bytes = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        let mut keys = Zeroizing::new(Vec::new());
        keys.try_reserve_exact(len_bytes.saturating_add(1)).map_err(|_| io::ErrorKind::OutOfMemory)?;
        keys.resize(len_bytes + 1, 0);
        let read_bytes = fill(&mut file, &mut keys[..])?;
        keys.truncate(read_bytes);
        Ok((len_bytes, keys))
    };
    let (len_bytes, keys) = read().map_err(|error| Error::read(&name, &error))?;
    match keys.len() {
        0 => Err(Error::usage(format!("{name} is empty: it needs a key for each record"))),
        read_bytes if read_bytes != len_bytes => {
            Err(Error::usage(format!("{name} changed while it was read: try again when it is complete")))
        }
        read_bytes if !read_bytes.is_multiple_of(want) => Err(Error::usage(format!(
            "{name} has {read_bytes} bytes, and keys of {whose} have {want}: give raw keys, one after another"
        ))),
        _ => Ok(keys),
    }
}

/// A key of `want` bytes from a file, in hex or as it is. `whose` names the cipher in messages.
pub(crate) fn key_from_file(whose: &str, want: usize, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    if path == Path::new("-") {
        return Err(Error::usage("--key-file wants the name of a file: standard input is for the data"));
    }
    let name = format!("key file '{}'", shown(path));
    let mut buffer = Zeroizing::new([0; KEY_FILE_BYTES_MAX]);
    let read = File::open(path).and_then(|mut file| fill(&mut file, &mut buffer[..]));
    let len_bytes = read.map_err(|error| Error::read(&name, &error))?;
    crossgrain_container::key_from_file(whose, want, &buffer[..len_bytes])
        .map_err(|why| Error::usage(format!("{name} {why}")))
}
