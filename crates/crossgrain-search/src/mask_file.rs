//! Files of masks. Each line is `mask`, or `set,mask` with up to four sets, `?1` to `?4`.
//!
//! A backslash makes the next character literal, as in `\,` or in `\#` at the beginning of a line. Empty lines
//! and lines that begin with `#` are skipped.
//!
//! Source: hashcat's documentation of mask files (`.hcmask`) and the output of version 6.2.6. Unlike there, sets
//! that were given as options stay defined unless a line defines them.

use super::words::{check_ends, mark_bytes};
use super::{Error, OWN_SETS, Sets};

/// The masks of a file, each with its sets.
///
/// # Errors
/// [`Error::BadMaskLine`] with the number of the line; [`Error::NoMasks`] if the file has no mask;
/// [`Error::MaskFile`] if it is in UTF-16, or its lines end in CR alone.
pub fn masks(text: &[u8], sets: &Sets) -> Result<Vec<(Sets, Vec<u8>)>, Error> {
    let text = &text[mark_bytes(text).map_err(Error::MaskFile)?..];
    check_ends(text).map_err(Error::MaskFile)?;
    let mut masks = Vec::new();
    for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() && line[0] != b'#' {
            let mask = self::line(line, sets);
            masks.push(mask.map_err(|why| Error::BadMaskLine { line: number, why: Box::new(why) })?);
        }
    }
    if masks.is_empty() { Err(Error::NoMasks) } else { Ok(masks) }
}

/// The mask of a line, and its sets.
fn line(line: &[u8], sets: &Sets) -> Result<(Sets, Vec<u8>), Error> {
    let (mut fields, mut is_literal) = (vec![Vec::new()], false);
    for &byte in line {
        let last = fields.len() - 1;
        match byte {
            b'\\' if !is_literal => is_literal = true,
            b',' if !is_literal => fields.push(Vec::new()),
            _ => {
                fields[last].push(byte);
                is_literal = false;
            }
        }
    }
    let mut sets = sets.clone();
    let mask = fields.pop().unwrap_or_default();
    if mask.is_empty() {
        return Err(Error::EmptyMask);
    }
    if fields.len() > OWN_SETS {
        return Err(Error::UnknownSet { name: fields.len().to_string() });
    }
    for (number, set) in (1..).zip(&fields) {
        sets.define_read(number, set)?;
    }
    Ok((sets, mask))
}
