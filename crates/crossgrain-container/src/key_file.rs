//! The content of files that users keep: keys in hex or as they are, identities and recipients one per line.

use std::str::FromStr;

use zeroize::Zeroizing;

use super::error::Error;
use super::slots::SLOTS_MAX;
use super::x25519::{Identity, Recipient};

/// Decodes hex digits of either case in time that depends only on their number. `None` if they are not hex.
pub fn decode_hex(digits: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    base16ct::mixed::decode(digits, &mut bytes).ok()?;
    Some(bytes)
}

/// The key of `want_bytes` bytes in the content of a key file. Content that is valid hex is decoded, and may
/// end with white space. Anything else is the key itself. `whose` names the cipher in messages.
///
/// Random key bytes are practically never all hex digits. A hex key of a shorter cipher is, and must not be
/// accepted as the bytes of a longer key.
///
/// # Errors
/// The end of a sentence about the file, such as "holds no key of aes-256: it has 10 bytes, give 32 bytes or
/// 64 hex digits".
///
/// ```
/// let key = crossgrain_container::key_from_file("aes-128", 16, b"000102030405060708090a0b0c0d0e0f\n");
/// assert_eq!(key.unwrap()[15], 15);
/// ```
pub fn key_from_file(whose: &str, want_bytes: usize, content: &[u8]) -> Result<Zeroizing<Vec<u8>>, String> {
    let len_bytes = content.len();
    let has = match decode_hex(content.trim_ascii_end()) {
        Some(bytes) if bytes.len() == want_bytes => return Ok(bytes),
        None if len_bytes == want_bytes => return Ok(Zeroizing::new(content.to_vec())),
        _ if len_bytes >= KEY_FILE_BYTES_MAX => format!("{KEY_FILE_BYTES_MAX} bytes or more"),
        Some(bytes) if len_bytes > 0 => format!("{} hex digits", 2 * bytes.len()),
        _ => format!("{len_bytes} bytes"),
    };
    let digits = 2 * want_bytes;
    Err(format!("holds no key of {whose}: it has {has}, give {want_bytes} bytes or {digits} hex digits"))
}

/// Key files are shorter than this. More need not be read.
pub const KEY_FILE_BYTES_MAX: usize = 1024;

/// The identities in the content of an identity file, one per line. Empty lines and lines that begin with `#`
/// are skipped.
///
/// # Errors
/// The end of a sentence about the file, such as "holds no identity: make one by crossgrain keygen --x25519".
/// It contains nothing of the file.
///
/// ```
/// use crossgrain_container::{Identity, identities_from_file};
///
/// let text = Identity::generate()?.to_text();
/// let found = identities_from_file(format!("# mine\n{}\n", *text).as_bytes()).unwrap();
/// assert_eq!(found[0].to_text(), text);
/// # Ok::<(), crossgrain_container::Error>(())
/// ```
pub fn identities_from_file(content: &[u8]) -> Result<Vec<Identity>, String> {
    let found: Vec<Identity> = of_lines(content)?;
    match found.len() {
        0 => Err("holds no identity: make one by crossgrain keygen --x25519".to_owned()),
        1..=SLOTS_MAX if content.len() < IDENTITY_FILE_BYTES_MAX => Ok(found),
        _ => Err(format!("holds more than {SLOTS_MAX} identities: split it")),
    }
}

/// Identity files are shorter than this. More need not be read.
pub const IDENTITY_FILE_BYTES_MAX: usize = 64 << 10;

/// The recipients in the content of a file, one per line. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// The end of a sentence about the file, such as "names no recipient: add one, such as age1…".
pub fn recipients_from_file(content: &[u8]) -> Result<Vec<Recipient>, String> {
    let found = of_lines(content)?;
    if found.is_empty() { Err("names no recipient: add one, such as age1…".to_owned()) } else { Ok(found) }
}

fn of_lines<T: FromStr<Err = Error>>(content: &[u8]) -> Result<Vec<T>, String> {
    let lines = content.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let used = (1..).zip(lines).filter(|(_, line)| !line.is_empty() && !line.starts_with(b"#"));
    let read = used.map(|(number, line)| {
        let line = str::from_utf8(line).unwrap_or("\u{fffd}");
        line.parse().map_err(|why| format!("is invalid in line {number}: {why}"))
    });
    read.collect()
}
