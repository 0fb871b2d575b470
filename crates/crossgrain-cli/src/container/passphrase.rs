//! Sources of passphrases: the terminal, a file, an environment variable, the output of a command, and the
//! random generator.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::process::{Command, Stdio};

use crossgrain::engine::fill_random;
use crossgrain_container::fill;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::input::no_text;
use crate::system;

/// The maximum length of a passphrase in bytes.
const BYTES_MAX: usize = 4096;

/// The characters of generated passphrases: 32, so each carries 5 bits. Letters that look like digits or like
/// other letters are left out.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A generated passphrase has this many groups of characters: 120 bits.
const GROUPS: usize = 6;

/// Characters in a group.
const GROUP_CHARACTERS: usize = 4;

/// A question for a passphrase.
#[derive(Clone, Copy)]
pub(super) struct Prompt {
    pub(super) text: &'static str,
    /// The options that answer it without a terminal.
    pub(super) options: &'static str,
}

/// Prompts at the terminal, even if standard input and output are redirected.
pub(super) fn asked(prompt: Prompt, twice: bool) -> Result<Zeroizing<String>, Error> {
    let Prompt { text, options } = prompt;
    let ask = |text| {
        let answer = system::ask(text, |terminal| first_line(terminal, "the terminal"));
        answer.map_err(|_| {
            Error::usage(format!("there is no terminal to ask for a passphrase at: give {options}"))
        })?
    };
    let passphrase = ask(text)?;
    if passphrase.is_empty() {
        return Err(Error::usage(format!("no passphrase was given: type one, or give {options}")));
    }
    if twice && *ask("The same again: ")? != *passphrase {
        return Err(Error::usage("the two passphrases differ: try again"));
    }
    Ok(passphrase)
}

/// The first line from a file, without its end.
pub(super) fn first_line_of(file: io::Result<File>, name: &str) -> Result<Zeroizing<String>, Error> {
    let mut file = file.map_err(|error| Error::read(name, &error))?;
    let line = first_line(&mut file, name);
    system::leave(file);
    line
}

/// The value of an environment variable. It is the whole passphrase, line ends included.
pub(super) fn from_environment(variable: &OsStr) -> Result<Zeroizing<String>, Error> {
    let name = variable.to_string_lossy();
    let value = std::env::var_os(variable).ok_or_else(|| {
        Error::usage(format!("there is no environment variable {name}: set it, and export it"))
    })?;
    let value = Zeroizing::new(value.into_encoded_bytes());
    if value.len() > BYTES_MAX {
        return Err(Error::usage(format!("the environment variable {name} is too long for a passphrase")));
    }
    text(&value, &format!("the environment variable {name}"))
}

/// The only line that a command prints. The command must succeed. Its standard input is empty, and its
/// standard error is the program's.
pub(super) fn from_command(line: &str) -> Result<Zeroizing<String>, Error> {
    let words = words(line)
        .ok_or_else(|| Error::usage("--passphrase-command has a quote or a backslash without an end"))?;
    let [program, arguments @ ..] = words.as_slice() else {
        return Err(Error::usage("--passphrase-command is empty: give a program and its arguments"));
    };
    let name = format!("the output of '{program}'");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Error::read(&name, &error))?;
    let passphrase = child.stdout.take().map(|mut output| {
        let line = first_line(&mut output, &name)?;
        let mut rest = [0; 1];
        match fill(&mut output, &mut rest) {
            Ok(0) => Ok(line),
            Ok(_) => {
                Err(Error::usage(format!("{name} has more than one line: print the passphrase and no more")))
            }
            Err(error) => Err(Error::read(&name, &error)),
        }
    });
    // The pipe is closed now, so the command does not wait for its reader.
    let status = child.wait().map_err(|error| Error::read(&name, &error))?;
    let passphrase = passphrase.unwrap_or_else(|| Err(Error::usage(format!("there is no {name}"))))?;
    if !status.success() {
        return Err(Error::usage(format!("'{program}' gave no passphrase, it failed with {status}")));
    }
    Ok(passphrase)
}

/// Splits a command at spaces, tabs and line ends. Quotes and backslashes work as in a shell: nothing is
/// special within '…', and a backslash takes the next character as it is, within "…" only before " and \.
/// Nothing is expanded. `None` if a quote or a backslash has no end.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(characters.next()?),
            '\'' | '"' => quoted(character, &mut characters, word.get_or_insert_default())?,
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

/// Adds the characters up to the end of a quote.
fn quoted(quote: char, characters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            end if end == quote => return Some(()),
            '\\' if quote == '"' => match characters.next()? {
                special @ ('"' | '\\') => word.push(special),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
}

/// A random passphrase. Each character is chosen by 5 bits of a random byte, so all are equally likely.
pub(super) fn generated() -> Result<Zeroizing<String>, Error> {
    let mut random = Zeroizing::new([0; GROUPS * GROUP_CHARACTERS]);
    fill_random(&mut *random)?;
    // Allocated with its final length, because reallocation would leave a copy in freed memory.
    let mut passphrase = Zeroizing::new(String::with_capacity(GROUPS * (GROUP_CHARACTERS + 1)));
    for (position, byte) in random.iter().enumerate() {
        if position > 0 && position.is_multiple_of(GROUP_CHARACTERS) {
            passphrase.push('-');
        }
        passphrase.push(character(byte & 31));
    }
    Ok(passphrase)
}

/// The character of a number below 32. All characters are read, so that the access pattern is not secret.
fn character(number: u8) -> char {
    let chosen = (0..).zip(ALPHABET).fold(0, |chosen, (at, &character): (u8, _)| {
        // 0xff if the numbers are equal, otherwise 0.
        let mask = (((at ^ number).wrapping_sub(1) & !(at ^ number)) >> 7).wrapping_neg();
        chosen | (character & mask)
    });
    char::from(chosen)
}

/// Prints a generated passphrase on standard error. Fails if that is closed: the file could never be opened.
pub(super) fn show(passphrase: &str) -> Result<(), Error> {
    // Written in one piece from a buffer that is overwritten afterwards.
    let mut line = Zeroizing::new(String::with_capacity(passphrase.len() + 64));
    line.push_str("crossgrain: keep this passphrase, it is not shown again: ");
    line.push_str(passphrase);
    line.push('\n');
    let shown = io::stderr().write_all(line.as_bytes());
    shown.map_err(|error| Error::write("the passphrase to standard error", &error))
}

/// The first line, without its end.
fn first_line(input: &mut impl Read, name: &str) -> Result<Zeroizing<String>, Error> {
    let mut buffer = Zeroizing::new([0; BYTES_MAX]);
    let mut len_bytes = 0;
    // Reads byte by byte up to the line end, because the bytes after it may be the data.
    while len_bytes < buffer.len() {
        let got =
            fill(input, &mut buffer[len_bytes..=len_bytes]).map_err(|error| Error::read(name, &error))?;
        if got == 0 || buffer[len_bytes] == b'\n' {
            break;
        }
        len_bytes += 1;
    }
    if len_bytes == buffer.len() {
        return Err(Error::usage(format!("the first line of {name} is no passphrase: it is too long")));
    }
    let line = &buffer[..len_bytes];
    // Some editors write a mark in front of UTF-8. It is not part of the passphrase.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    text(line, &format!("the first line of {name}"))
}

/// A passphrase as text.
fn text(bytes: &[u8], name: &str) -> Result<Zeroizing<String>, Error> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Error::usage(format!("{name} {}", no_text(bytes, "give a passphrase in UTF-8"))))?;
    Ok(Zeroizing::new(text.to_owned()))
}
