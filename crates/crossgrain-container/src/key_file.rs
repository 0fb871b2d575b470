//! Keys as files and users hold them: in hex, or as they are.

use zeroize::Zeroizing;

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
