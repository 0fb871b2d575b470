//! Rules: the changes that people make to a word to turn it into a password.
//!
//! A rule is a line of steps in hashcat's notation and meaning, limited to case, appending, prepending and
//! substitution. Letters are ASCII letters.
//!
//! | step | effect |
//! |---|---|
//! | `:` | none |
//! | `l`, `u` | all letters lower, or upper |
//! | `c` | first letter upper, the rest lower |
//! | `C` | first letter lower, the rest upper |
//! | `t` | toggle the case of each letter |
//! | `$X`, `^X` | append X, or prepend X |
//! | `sXY` | replace every X by Y, for example `sa4 se3 so0` |

use super::Error;

/// The steps from a word to a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule(Vec<Step>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Lower,
    Upper,
    Capital,
    OtherwiseCapital,
    Toggle,
    Append(u8),
    Prepend(u8),
    Substitute(u8, u8),
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
    /// [`Error::BadRule`] if it has an unknown step.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let bad = || Error::BadRule { rule: String::from_utf8_lossy(text).into_owned() };
        let mut steps = Vec::new();
        let mut bytes = text.iter().copied();
        while let Some(byte) = bytes.next() {
            let mut argument = || bytes.next().ok_or_else(bad);
            steps.push(match byte {
                b':' | b' ' | b'\t' => continue,
                b'l' => Step::Lower,
                b'u' => Step::Upper,
                b'c' => Step::Capital,
                b'C' => Step::OtherwiseCapital,
                b't' => Step::Toggle,
                b'$' => Step::Append(argument()?),
                b'^' => Step::Prepend(argument()?),
                b's' => Step::Substitute(argument()?, argument()?),
                _ => return Err(bad()),
            });
        }
        Ok(Self(steps))
    }

    /// Parses a file of rules, one per line. Empty lines and lines that begin with `#` are skipped.
    ///
    /// # Errors
    /// As [`Rule::parse`]; [`Error::NoRules`] if the file contains no rule.
    pub fn parse_all(text: &[u8]) -> Result<Vec<Self>, Error> {
        let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let rules: Result<Vec<_>, _> =
            lines.filter(|line| !line.is_empty() && line[0] != b'#').map(Self::parse).collect();
        rules.and_then(|rules| if rules.is_empty() { Err(Error::NoRules) } else { Ok(rules) })
    }

    /// Writes the candidate that the rule makes from a word to `candidate`.
    pub fn apply(&self, word: &[u8], candidate: &mut Vec<u8>) {
        candidate.clear();
        candidate.extend_from_slice(word);
        for step in &self.0 {
            match *step {
                Step::Lower => candidate.make_ascii_lowercase(),
                Step::Upper => candidate.make_ascii_uppercase(),
                Step::Capital => {
                    candidate.make_ascii_lowercase();
                    if let Some(first) = candidate.first_mut() {
                        first.make_ascii_uppercase();
                    }
                }
                Step::OtherwiseCapital => {
                    candidate.make_ascii_uppercase();
                    if let Some(first) = candidate.first_mut() {
                        first.make_ascii_lowercase();
                    }
                }
                Step::Toggle => candidate
                    .iter_mut()
                    .filter(|byte| byte.is_ascii_alphabetic())
                    .for_each(|byte| *byte ^= 0x20),
                Step::Append(byte) => candidate.push(byte),
                Step::Prepend(byte) => candidate.insert(0, byte),
                Step::Substitute(from, to) => {
                    candidate.iter_mut().filter(|byte| **byte == from).for_each(|byte| *byte = to);
                }
            }
        }
    }
}
