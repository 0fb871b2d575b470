//! Escaping and shortening of external text (arguments, variables, files) for messages.

use std::fmt::Display;
use std::iter::Peekable;

/// The maximum length of a quoted value in a message, in characters.
pub const QUOTED_CHARS_MAX: usize = 60;

/// The maximum length of a parser's text in a message, in characters.
const REASON_CHARS_MAX: usize = 300;

/// A number for people, never for JSON: commas separate groups of three digits before the decimal point, as in
/// `1,234,567.8`.
pub fn grouped(number: impl Display) -> String {
    let text = number.to_string();
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (sign, number) = text.split_at(start);
    let (digits, rest) = number.split_at(number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len()));
    let mut grouped = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

/// A size in the largest binary unit that divides it: `64 MiB`. Other sizes are in bytes.
pub fn size(len_bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let divides = |(unit, _): &(u64, &str)| len_bytes >= *unit && len_bytes.is_multiple_of(*unit);
    let (unit, name) = units.into_iter().find(divides).unwrap_or((1, "bytes"));
    format!("{} {name}", grouped(len_bytes / unit))
}

/// Escapes all characters that act on a terminal or are invisible: control characters, marks of writing
/// direction, and marks without width.
pub fn escaped(text: &str) -> String {
    text.chars().map(escaped_char).collect()
}

/// [`escaped`], and truncated in the middle to [`QUOTED_CHARS_MAX`] characters. Both ends of a value or path
/// help to identify it.
pub fn quoted(text: &str) -> String {
    cut(text, QUOTED_CHARS_MAX)
}

/// A parser's message about a file: [`escaped`]. Each value that it quotes, in backticks or double quotes, is
/// truncated as by [`quoted`].
pub fn reason(text: &str) -> String {
    let pieces = text.split_inclusive(['`', '"']).enumerate().map(|(number, piece)| {
        let value = piece.trim_end_matches(['`', '"']);
        let most = if number % 2 == 1 { QUOTED_CHARS_MAX } else { REASON_CHARS_MAX };
        cut(value, most) + &piece[value.len()..]
    });
    cut(&pieces.collect::<String>(), REASON_CHARS_MAX)
}

/// [`escaped`], and truncated in the middle to `most` characters.
fn cut(text: &str, most: usize) -> String {
    let half = most / 2;
    // A longer text is not escaped completely, since it may have gigabytes.
    let mut chars = text.chars();
    let head: Vec<_> = chars.by_ref().take(most).map(escaped_char).collect();
    let head_chars: usize = head.iter().map(|piece| piece.chars().count()).sum();
    if chars.next().is_none() && head_chars <= most {
        return head.concat();
    }
    let mut tail = fitting(text.chars().rev().map(escaped_char).peekable(), half - 1);
    tail.reverse();
    format!("{}…{}", fitting(head.into_iter().peekable(), half).concat(), tail.concat())
}

/// The leading pieces that fit into `most` characters. An escape sequence is kept whole or omitted.
fn fitting(mut pieces: Peekable<impl Iterator<Item = String>>, most: usize) -> Vec<String> {
    let (mut fit, mut left) = (Vec::new(), most);
    while let Some(piece) = pieces.next_if(|piece| piece.chars().count() <= left) {
        left -= piece.chars().count();
        fit.push(piece);
    }
    fit
}

fn escaped_char(character: char) -> String {
    if shows(character) { character.to_string() } else { character.escape_default().to_string() }
}

/// Whether a character is visible and does not affect others.
const fn shows(character: char) -> bool {
    !matches!(
        character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}
