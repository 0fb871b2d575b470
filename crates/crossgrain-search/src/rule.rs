//! Rules: the changes that people make to a word to turn it into a password.
//!
//! A rule is a line of functions in hashcat's notation and meaning. They run from left to right. Spaces between
//! functions are ignored, letters are ASCII letters, and bytes from 128 on stay as they are.
//!
//! | functions | effect |
//! |---|---|
//! | `:` | none |
//! | `l` `u` `c` `C` `t` | all letters lower; upper; only the first upper; only the first lower; the case of each toggled |
//! | `TN` `3NX` | toggles the case at N; after the separator X with number N |
//! | `E` `eX` | all letters lower, but upper at the beginning and after each space; after each X |
//! | `r` `f` `d` `pN` | reverses; appends the reversed word; appends the word; appends it N times |
//! | `{` `}` | moves the first character to the end; the last one to the beginning |
//! | `$X` `^X` `iNX` `oNX` | appends; prepends; inserts at N; overwrites at N |
//! | `[` `]` `DN` `xNM` `ONM` `'N` `@X` | deletes the first; the last; the one at N; all but M from N on; M from N on; all from N on; every X |
//! | `sXY` | replaces every X by Y |
//! | `zN` `ZN` `q` `yN` `YN` | repeats the first character N times; the last; each once; the first N characters once; the last N |
//! | `k` `K` `*NM` | swaps the first two; the last two; those at N and M |
//! | `LN` `RN` `+N` `-N` `.N` `,N` | shifts the byte at N left or right by a bit; adds or subtracts 1; copies the next or the previous byte to it |
//! | `M` `4` `6` `XNMI` | stores the word; appends the stored word; prepends it; inserts M bytes of it, from N on, at I |
//! | `<N` `>N` `_N` | rejects words that are longer than N; shorter; of another length |
//! | `!X` `/X` `(X` `)X` `=NX` `%NX` `Q` | rejects words that contain X; do not contain it; do not begin with it; do not end with it; do not have it at N; have it less than N times; equal the stored word |
//!
//! N, M and I are digits, or `A` to `Z` for 10 to 35. X and Y are any byte, or `\x41` for one in hex. A function that
//! names a place beyond the end, or would make a word of 256 bytes or more, leaves the word as it is.
//!
//! Source: hashcat's documentation of its rule engine (`rules.txt` of version 6.2.6). `tests/rules.rs` compares with
//! the program.

use std::mem;

use super::Error;
use super::words::mark_bytes;

/// A function that would make a longer word leaves the word as it is.
const WORD_BYTES_MAX: usize = 255;

/// The functions that turn a word into a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule(Vec<Function>);

/// Lines of a file of rules that have an unknown function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Their number.
    pub lines: u64,
    /// The number of the first line, counted from 1.
    pub first: u64,
    /// Its text.
    pub rule: String,
}

/// A place in a word, from 0 on, or a number of bytes.
type Place = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Lower,
    Upper,
    Capital,
    OtherwiseCapital,
    Toggle,
    ToggleAt(Place),
    ToggleAfter(usize, u8),
    Title(u8),
    Reverse,
    Reflect,
    Repeat(usize),
    RotateLeft,
    RotateRight,
    Append(u8),
    Prepend(u8),
    Insert(Place, u8),
    Overwrite(Place, u8),
    DeleteFirst,
    DeleteLast,
    DeleteAt(Place),
    Extract(Place, usize),
    Omit(Place, usize),
    Truncate(Place),
    Purge(u8),
    Substitute(u8, u8),
    RepeatFirst(usize),
    RepeatLast(usize),
    RepeatEach,
    RepeatFront(usize),
    RepeatBack(usize),
    SwapFirst,
    SwapLast,
    Swap(Place, Place),
    ShiftLeft(Place),
    ShiftRight(Place),
    Increment(Place),
    Decrement(Place),
    TakeNext(Place),
    TakePrevious(Place),
    Store,
    AppendStored,
    PrependStored,
    InsertStored(Place, usize, Place),
    AtMost(usize),
    AtLeast(usize),
    Exactly(usize),
    Without(u8),
    With(u8),
    Begins(u8),
    Ends(u8),
    Has(Place, u8),
    Counts(usize, u8),
    Changed,
}

/// The arguments of functions, read from the text of a rule.
struct Arguments<'a>(&'a [u8]);

impl Arguments<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// A character: a byte, or `\x41`.
    fn character(&mut self) -> Option<u8> {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        if let [b'\\', b'x', high, low, rest @ ..] = self.0
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            self.0 = rest;
            return u8::try_from(16 * high + low).ok();
        }
        self.byte()
    }

    /// A number: `0` to `9`, then `A` to `Z`.
    fn number(&mut self) -> Option<usize> {
        match self.byte()? {
            digit @ b'0'..=b'9' => Some(usize::from(digit - b'0')),
            letter @ b'A'..=b'Z' => Some(usize::from(letter - b'A') + 10),
            _ => None,
        }
    }
}

impl Function {
    /// The function of this name with its arguments; `None` if one is unknown or missing.
    fn parse(name: u8, arguments: &mut Arguments<'_>) -> Option<Self> {
        Some(match name {
            b'l' => Self::Lower,
            b'u' => Self::Upper,
            b'c' => Self::Capital,
            b'C' => Self::OtherwiseCapital,
            b't' => Self::Toggle,
            b'T' => Self::ToggleAt(arguments.number()?),
            b'3' => Self::ToggleAfter(arguments.number()?, arguments.character()?),
            b'E' => Self::Title(b' '),
            b'e' => Self::Title(arguments.character()?),
            b'r' => Self::Reverse,
            b'f' => Self::Reflect,
            b'd' => Self::Repeat(1),
            b'p' => Self::Repeat(arguments.number()?),
            b'{' => Self::RotateLeft,
            b'}' => Self::RotateRight,
            b'$' => Self::Append(arguments.character()?),
            b'^' => Self::Prepend(arguments.character()?),
            b'i' => Self::Insert(arguments.number()?, arguments.character()?),
            b'o' => Self::Overwrite(arguments.number()?, arguments.character()?),
            b'[' => Self::DeleteFirst,
            b']' => Self::DeleteLast,
            b'D' => Self::DeleteAt(arguments.number()?),
            b'x' => Self::Extract(arguments.number()?, arguments.number()?),
            b'O' => Self::Omit(arguments.number()?, arguments.number()?),
            b'\'' => Self::Truncate(arguments.number()?),
            b'@' => Self::Purge(arguments.character()?),
            b's' => Self::Substitute(arguments.character()?, arguments.character()?),
            b'z' => Self::RepeatFirst(arguments.number()?),
            b'Z' => Self::RepeatLast(arguments.number()?),
            b'q' => Self::RepeatEach,
            b'y' => Self::RepeatFront(arguments.number()?),
            b'Y' => Self::RepeatBack(arguments.number()?),
            b'k' => Self::SwapFirst,
            b'K' => Self::SwapLast,
            b'*' => Self::Swap(arguments.number()?, arguments.number()?),
            b'L' => Self::ShiftLeft(arguments.number()?),
            b'R' => Self::ShiftRight(arguments.number()?),
            b'+' => Self::Increment(arguments.number()?),
            b'-' => Self::Decrement(arguments.number()?),
            b'.' => Self::TakeNext(arguments.number()?),
            b',' => Self::TakePrevious(arguments.number()?),
            b'M' => Self::Store,
            b'4' => Self::AppendStored,
            b'6' => Self::PrependStored,
            b'X' => Self::InsertStored(arguments.number()?, arguments.number()?, arguments.number()?),
            _ => return Self::parse_condition(name, arguments),
        })
    }

    /// The same for functions that reject words.
    fn parse_condition(name: u8, arguments: &mut Arguments<'_>) -> Option<Self> {
        Some(match name {
            b'<' => Self::AtMost(arguments.number()?),
            b'>' => Self::AtLeast(arguments.number()?),
            b'_' => Self::Exactly(arguments.number()?),
            b'!' => Self::Without(arguments.character()?),
            b'/' => Self::With(arguments.character()?),
            b'(' => Self::Begins(arguments.character()?),
            b')' => Self::Ends(arguments.character()?),
            b'=' => Self::Has(arguments.number()?, arguments.character()?),
            b'%' => Self::Counts(arguments.number()?, arguments.character()?),
            b'Q' => Self::Changed,
            _ => return None,
        })
    }

    /// Changes a word. Returns false if the function rejects it.
    fn apply(self, word: &mut Vec<u8>, stored: &mut Vec<u8>) -> bool {
        match self {
            Self::Lower | Self::Upper | Self::Capital | Self::OtherwiseCapital | Self::Toggle => {
                self.change_case(word);
            }
            Self::ToggleAt(at) => word.get_mut(at).into_iter().for_each(toggle),
            Self::ToggleAfter(number, separator) => toggle_after(word, number, separator),
            Self::Title(separator) => title(word, separator),
            Self::Reverse => word.reverse(),
            Self::RotateLeft if !word.is_empty() => word.rotate_left(1),
            Self::RotateRight if !word.is_empty() => word.rotate_right(1),
            Self::Overwrite(at, byte) => word.get_mut(at).into_iter().for_each(|place| *place = byte),
            Self::Substitute(from, to) => {
                word.iter_mut().filter(|byte| **byte == from).for_each(|byte| *byte = to);
            }
            Self::SwapFirst if word.len() >= 2 => word.swap(0, 1),
            Self::SwapLast => {
                if let [.., one, other] = &mut word[..] {
                    mem::swap(one, other);
                }
            }
            Self::Swap(one, other) if one.max(other) < word.len() => word.swap(one, other),
            Self::ShiftLeft(at) => word.get_mut(at).into_iter().for_each(|byte| *byte <<= 1),
            Self::ShiftRight(at) => word.get_mut(at).into_iter().for_each(|byte| *byte >>= 1),
            Self::Increment(at) => {
                word.get_mut(at).into_iter().for_each(|byte| *byte = byte.wrapping_add(1));
            }
            Self::Decrement(at) => {
                word.get_mut(at).into_iter().for_each(|byte| *byte = byte.wrapping_sub(1));
            }
            Self::TakeNext(at) if at + 1 < word.len() => word[at] = word[at + 1],
            Self::TakePrevious(at) if (1..word.len()).contains(&at) => word[at] = word[at - 1],
            Self::Store => stored.clone_from(word),
            Self::AppendStored | Self::PrependStored | Self::InsertStored(..) => {
                return self.insert_stored(word, stored);
            }
            _ => {
                self.shorten(word);
                self.lengthen(word);
                return self.admits(word, stored);
            }
        }
        true
    }

    fn change_case(self, word: &mut [u8]) {
        match self {
            Self::Lower | Self::Capital => word.make_ascii_lowercase(),
            Self::Upper | Self::OtherwiseCapital => word.make_ascii_uppercase(),
            _ => word.iter_mut().for_each(toggle),
        }
        if matches!(self, Self::Capital | Self::OtherwiseCapital) {
            word.first_mut().into_iter().for_each(toggle);
        }
    }

    fn shorten(self, word: &mut Vec<u8>) {
        let len_bytes = word.len();
        match self {
            Self::DeleteFirst if len_bytes > 0 => drop(word.remove(0)),
            Self::DeleteLast => drop(word.pop()),
            Self::DeleteAt(at) if at < len_bytes => drop(word.remove(at)),
            Self::Extract(at, count) if at < len_bytes && at + count <= len_bytes => {
                word.truncate(at + count);
                word.drain(..at);
            }
            Self::Omit(at, count) if at < len_bytes && at + count <= len_bytes => {
                word.drain(at..at + count);
            }
            Self::Truncate(at) => word.truncate(at),
            Self::Purge(purged) => word.retain(|byte| *byte != purged),
            _ => {}
        }
    }

    fn lengthen(self, word: &mut Vec<u8>) {
        let len_bytes = word.len();
        let fits = |more: usize| len_bytes + more <= WORD_BYTES_MAX;
        match self {
            Self::Append(byte) if fits(1) => word.push(byte),
            Self::Prepend(byte) if fits(1) => word.insert(0, byte),
            Self::Insert(at, byte) if at <= len_bytes && fits(1) => word.insert(at, byte),
            Self::Reflect if fits(len_bytes) => {
                word.extend_from_within(..);
                word[len_bytes..].reverse();
            }
            Self::Repeat(times) if fits(times * len_bytes) => {
                (0..times).for_each(|_| word.extend_from_within(..len_bytes));
            }
            Self::RepeatFirst(times) if len_bytes > 0 && fits(times) => {
                let first = word[0];
                word.splice(0..0, std::iter::repeat_n(first, times));
            }
            Self::RepeatLast(times) if len_bytes > 0 && fits(times) => {
                let last = word[len_bytes - 1];
                word.extend(std::iter::repeat_n(last, times));
            }
            Self::RepeatEach if fits(len_bytes) => {
                word.resize(2 * len_bytes, 0);
                (0..2 * len_bytes).rev().for_each(|at| word[at] = word[at / 2]);
            }
            Self::RepeatFront(count) if count <= len_bytes && fits(count) => {
                word.extend_from_within(len_bytes - count..);
                word.copy_within(..len_bytes, count);
            }
            Self::RepeatBack(count) if count <= len_bytes && fits(count) => {
                word.extend_from_within(len_bytes - count..);
            }
            _ => {}
        }
    }

    /// Inserts stored bytes. A word is rejected if nothing is stored, if it would become too long, or if a place is
    /// beyond the end.
    fn insert_stored(self, word: &mut Vec<u8>, stored: &[u8]) -> bool {
        let (from, count, at) = match self {
            Self::AppendStored => (0, stored.len(), word.len()),
            Self::InsertStored(from, count, at) => (from, count, at),
            _ => (0, stored.len(), 0),
        };
        let Some(inserted) = stored.get(from..from + count) else { return false };
        let fits = word.len() + count <= WORD_BYTES_MAX && at <= word.len() && !stored.is_empty();
        if fits {
            word.splice(at..at, inserted.iter().copied());
        }
        fits
    }

    /// Whether the function does not reject a word.
    fn admits(self, word: &[u8], stored: &[u8]) -> bool {
        match self {
            Self::AtMost(most) => word.len() <= most,
            Self::AtLeast(least) => word.len() >= least,
            Self::Exactly(len_bytes) => word.len() == len_bytes,
            Self::Without(byte) => !word.contains(&byte),
            Self::With(byte) => word.contains(&byte),
            Self::Begins(byte) => word.first() == Some(&byte),
            Self::Ends(byte) => word.last() == Some(&byte),
            Self::Has(at, byte) => word.get(at) == Some(&byte),
            Self::Counts(least, byte) => word.iter().filter(|own| **own == byte).count() >= least,
            Self::Changed => word != stored,
            _ => true,
        }
    }
}

/// Toggles the case of a letter.
fn toggle(byte: &mut u8) {
    if byte.is_ascii_alphabetic() {
        *byte ^= 0x20;
    }
}

/// Toggles the case of the character after the separator with this number.
fn toggle_after(word: &mut [u8], number: usize, separator: u8) {
    let mut places = word.iter().enumerate().filter(|(_, byte)| **byte == separator);
    if let Some((at, _)) = places.nth(number) {
        word.get_mut(at + 1).into_iter().for_each(toggle);
    }
}

/// Makes all letters lower, but upper at the beginning and after each separator.
fn title(word: &mut [u8], separator: u8) {
    let mut is_first = true;
    for byte in word {
        let is_separator = *byte == separator;
        byte.make_ascii_lowercase();
        if is_first {
            byte.make_ascii_uppercase();
        }
        is_first = is_separator;
    }
}

impl Rule {
    /// The rule that leaves words unchanged.
    pub const fn nothing() -> Self {
        Self(Vec::new())
    }

    /// Whether it leaves words unchanged.
    pub const fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// Parses a rule.
    ///
    /// # Errors
    /// [`Error::BadRule`] if it has an unknown function, or a function without its arguments.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let bad = || Error::BadRule { rule: String::from_utf8_lossy(text).into_owned() };
        let (mut functions, mut rest) = (Vec::new(), Arguments(text));
        while let Some(name) = rest.byte() {
            if !b": \t".contains(&name) {
                functions.push(Function::parse(name, &mut rest).ok_or_else(bad)?);
            }
        }
        Ok(Self(functions))
    }

    /// Parses a file of rules, one per line. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// As [`Rule::parse`]; [`Error::NoRules`] if the file contains no rule, [`Error::Utf16Rules`] if it is in UTF-16.
    pub fn parse_all(text: &[u8]) -> Result<Vec<Self>, Error> {
        let rules: Result<Vec<_>, _> = lines(text)?.map(|(_, line)| Self::parse(line)).collect();
        rules.and_then(some)
    }

    /// [`Rule::parse_all`] without the rules that have unknown functions. These are reported.
    ///
    /// # Errors
    /// [`Error::NoRules`] and [`Error::Utf16Rules`].
    pub fn parse_known(text: &[u8]) -> Result<(Vec<Self>, Option<Unknown>), Error> {
        let (mut rules, mut unknown) = (Vec::new(), None::<Unknown>);
        for (first, line) in lines(text)? {
            match (Self::parse(line), &mut unknown) {
                (Ok(rule), _) => rules.push(rule),
                (Err(_), Some(unknown)) => unknown.lines += 1,
                (Err(_), None) => {
                    let rule = String::from_utf8_lossy(line).into_owned();
                    unknown = Some(Unknown { lines: 1, first, rule });
                }
            }
        }
        Ok((some(rules)?, unknown))
    }

    /// Writes the candidate that the rule makes from a word to `candidate`. Returns false if the rule rejects the
    /// word.
    #[must_use = "a word that a rule rejects is no candidate"]
    pub fn apply(&self, word: &[u8], candidate: &mut Vec<u8>) -> bool {
        apply_each(&[self], word, candidate)
    }
}

/// Applies rules one after the other, as [`Rule::apply`]. A later rule can use a word that an earlier one stored.
pub(super) fn apply_each(rules: &[&Rule], word: &[u8], candidate: &mut Vec<u8>) -> bool {
    candidate.clear();
    candidate.extend_from_slice(word);
    let mut stored = zeroize::Zeroizing::default();
    rules.iter().all(|rule| rule.0.iter().all(|function| function.apply(candidate, &mut stored)))
}

/// The lines of a file of rules that are rules, with their numbers.
fn lines(text: &[u8]) -> Result<impl Iterator<Item = (u64, &[u8])>, Error> {
    let text = &text[mark_bytes(text).map_err(Error::Utf16Rules)?..];
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok((1..).zip(lines).filter(|(_, line)| !line.is_empty() && line[0] != b'#'))
}

fn some(rules: Vec<Rule>) -> Result<Vec<Rule>, Error> {
    if rules.is_empty() { Err(Error::NoRules) } else { Ok(rules) }
}
