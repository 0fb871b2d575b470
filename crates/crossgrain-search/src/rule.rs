//! Rules: what people do to a word to make it a password.
//!
//! A rule is a line of steps, in hashcat's notation and meaning, limited to case, appending and substitution:
//! `:` nothing · `l` all lower · `u` all upper · `c` first upper, rest lower · `C` first lower, rest upper · `t` each
//! letter the other way · `$X` append · `^X` prepend · `sXY` put Y for every X, as in `sa4 se3 so0`. Letters are ASCII's.

use super::Error;

/// Steps from a word to a candidate.
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
    /// The rule that leaves words as they are.
    pub const fn nothing() -> Self {
        Self(Vec::new())
    }

    /// Whether it leaves words as they are.
    pub const fn is_nothing(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a rule.
    ///
    /// # Errors
    /// [`Error::BadRule`] if it has a step that is not known.
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

    /// Reads a file of rules, one a line; lines that are empty or begin with `#` are none.
    ///
    /// # Errors
    /// As [`Rule::parse`]; [`Error::NoRules`] if there is none.
    pub fn parse_all(text: &[u8]) -> Result<Vec<Self>, Error> {
        let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let rules: Result<Vec<_>, _> =
            lines.filter(|line| !line.is_empty() && line[0] != b'#').map(Self::parse).collect();
        rules.and_then(|rules| if rules.is_empty() { Err(Error::NoRules) } else { Ok(rules) })
    }

    /// Puts into `candidate` what the rule makes of a word.
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
