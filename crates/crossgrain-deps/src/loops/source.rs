//! Places in the text of a program, faults, and tokens.

use std::fmt;

/// Maximum length of a text, in bytes.
const TEXT_BYTES: usize = 1 << 16;

/// Maximum length of a name. With the prefixes of emitted text it is at most 63 characters, which every C
/// compiler distinguishes.
const NAME_CHARACTERS: usize = 48;
/// Maximum number of characters from the program that a message quotes.
const QUOTED_CHARACTERS: usize = 60;

/// Truncates text from the program to the length that a message may quote.
pub(super) fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(QUOTED_CHARACTERS).collect();
    if cut.len() < text.len() { cut + "…" } else { cut }
}

/// A place in the text. Lines and columns are counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A fault in a program, with its place. It is displayed as `line:column: message` on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place of the fault.
    pub at: At,
    /// The fault, and how to correct it.
    pub message: String,
}

impl Fault {
    pub(super) fn new(at: At, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

impl std::error::Error for Fault {}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name(String),
    Number(i64),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of a line that is not blank.
    Line,
    End,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Number(number) => write!(f, "`{number}`"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::Line => f.write_str("the end of the line"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// A token, its place, and its range of bytes in the text.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: At,
    pub(super) bytes: std::ops::Range<usize>,
}

/// All signs. A sign comes before its prefixes.
const SIGNS: [&str; 33] = [
    "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "^=", "&=", "|=", "..", "+", "-",
    "*", "^", "&", "|", "~", "(", ")", "[", "]", "{", "}", ",", "=", "<", ">", "/",
];

/// Splits a text into tokens. A line may continue after a comma or an opening brace.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    if text.len() > TEXT_BYTES {
        let message =
            format!("the program is longer than {TEXT_BYTES} bytes: take the loops in question alone");
        return Err(Fault::new(At { line: 1, column: 1 }, message));
    }
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut last = At { line: 1, column: 1 };
    for (number, line) in text.split('\n').enumerate() {
        let code = line.split('#').next().unwrap_or_default().trim_end();
        let mut column = 0;
        while let Some(rest) = code.get(column..).filter(|rest| !rest.is_empty()) {
            let at = At { line: number as u32 + 1, column: code[..column].chars().count() as u32 + 1 };
            let blank = rest.len() - rest.trim_start().len();
            if blank > 0 {
                column += blank;
                continue;
            }
            let (kind, len) = token(rest).map_err(|message| Fault::new(at, message))?;
            tokens.push(Token { kind, at, bytes: start + column..start + column + len });
            column += len;
            last = at;
        }
        start += line.len() + 1;
        let goes_on = |token: &Token| matches!(token.kind, Kind::Line | Kind::Sign("," | "{"));
        if tokens.last().is_some_and(|token| !goes_on(token)) {
            let column = code.chars().count() as u32 + 1;
            tokens.push(Token { kind: Kind::Line, at: At { line: last.line, column }, bytes: start..start });
        }
    }
    tokens.push(Token { kind: Kind::End, at: At { line: last.line + 1, column: 1 }, bytes: start..start });
    Ok(tokens)
}

/// The first token of a text, and its length in bytes.
fn token(rest: &str) -> Result<(Kind, usize), String> {
    let word = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '_').unwrap_or(rest.len());
    if rest.starts_with(|char: char| char.is_ascii_digit()) {
        let digits = &rest[..word];
        let number = match digits.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        let number = number.map_err(|_| format!("`{}` is no number of 63 bits", quoted(digits)))?;
        return Ok((Kind::Number(number), word));
    }
    if word > NAME_CHARACTERS {
        let name = quoted(&rest[..word]);
        return Err(format!("`{name}` is a name of {word} characters: use at most {NAME_CHARACTERS}"));
    }
    if word > 0 {
        return Ok((Kind::Name(rest[..word].to_owned()), word));
    }
    let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
    let unknown = || format!("`{}` has no meaning here", rest.chars().next().unwrap_or(' ').escape_debug());
    sign.map(|sign| (Kind::Sign(sign), sign.len())).ok_or_else(unknown)
}
