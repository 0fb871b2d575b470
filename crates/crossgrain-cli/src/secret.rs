//! Keys as the user supplies them. Every buffer that holds a key is overwritten when it is dropped.

use std::fs::File;
use std::path::Path;

use crossgrain_container::fill;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::input::shown;

/// Key files are shorter than this.
const FILE_BYTES_MAX: usize = 1024;

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
    decode_pairs(digits).ok_or_else(|| {
        Error::usage(format!("{what} holds something that is no hex digit: use 0 to 9 and a to f only"))
    })
}

fn decode_pairs(digits: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    base16ct::mixed::decode(digits, &mut bytes).ok()?;
    Some(bytes)
}

/// A key from the command line.
pub(crate) fn key_from_hex(digits: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    decode_hex("--key", digits.as_bytes())
}

/// A key of `want` bytes from a file. Contents that are valid hex are decoded; anything else is the key
/// itself. `whose` names the cipher in messages.
///
/// Random key bytes are practically never all hex digits. A hex key of a shorter cipher is, and must not be
/// accepted as the bytes of a longer key.
pub(crate) fn key_from_file(whose: &str, want: usize, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    if path == Path::new("-") {
        return Err(Error::usage("--key-file wants the name of a file: standard input is for the data"));
    }
    let name = format!("key file '{}'", shown(path));
    let mut buffer = Zeroizing::new([0; FILE_BYTES_MAX]);
    let read = File::open(path).and_then(|mut file| fill(&mut file, &mut buffer[..]));
    let len_bytes = read.map_err(|error| Error::read(&name, &error))?;
    let content = &buffer[..len_bytes];
    let has = match decode_pairs(content.trim_ascii_end()) {
        Some(bytes) if bytes.len() == want => return Ok(bytes),
        None if len_bytes == want => return Ok(Zeroizing::new(content.to_vec())),
        _ if len_bytes == FILE_BYTES_MAX => format!("{len_bytes} bytes or more"),
        Some(bytes) if len_bytes > 0 => format!("{} hex digits", 2 * bytes.len()),
        _ => format!("{len_bytes} bytes"),
    };
    let digits = 2 * want;
    Err(Error::usage(format!(
        "{name} holds no key of {whose}: it has {has}, give {want} bytes or {digits} hex digits"
    )))
}
