//! Masks: for each place of a candidate, one character, or a question mark and the name of a set.
//!
//! Source: names and contents of the sets are hashcat's (its manual, "Built-in charsets"). Unlike in hashcat,
//! the last place varies fastest, and values are tried in the order in which they are listed.

use std::ops::RangeInclusive;

use zeroize::Zeroizing;

use super::{Error, Space};

const DIGITS: &[u8] = b"0123456789";
const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const SPECIAL: &[u8] = b" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
const LOWER_HEX: &[u8] = b"0123456789abcdef";
const UPPER_HEX: &[u8] = b"0123456789ABCDEF";

/// The number of user-defined sets, `?1` to `?4`.
pub const OWN_SETS: usize = 4;

/// User-defined sets, in addition to the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Sets([Option<Vec<u8>>; OWN_SETS]);

impl Sets {
    /// Defines `?number` as the characters in `text`, which may name built-in sets and sets defined before.
    ///
    /// # Errors
    /// [`Error::UnknownSet`] if it names another, or `number` is not 1 to 4; [`Error::EmptyMask`] if it is
    /// empty.
    pub fn define(&mut self, number: usize, text: &[u8]) -> Result<(), Error> {
        let set: Vec<u8> = self.places(text)?.concat();
        if set.is_empty() {
            return Err(Error::EmptyMask);
        }
        let own = number.checked_sub(1).and_then(|number| self.0.get_mut(number));
        *own.ok_or(Error::UnknownSet { name: number.to_string() })? = Some(set);
        Ok(())
    }

    /// [`Sets::define`] for text.
    ///
    /// # Errors
    /// As there, and [`Error::WideCharacter`] for a character that takes several bytes: a place of a mask is one
    /// byte, so the set would hold the bytes of the character, and no candidate the character itself.
    pub fn define_text(&mut self, number: usize, text: &str) -> Result<(), Error> {
        match text.chars().find(|character| !character.is_ascii()) {
            Some(character) => Err(Error::WideCharacter { character }),
            None => self.define(number, text.as_bytes()),
        }
    }

    /// [`Sets::define_text`] for bytes of a file if they are UTF-8, otherwise [`Sets::define`].
    ///
    /// # Errors
    /// As there.
    pub fn define_read(&mut self, number: usize, set: &[u8]) -> Result<(), Error> {
        match std::str::from_utf8(set) {
            Ok(text) => self.define_text(number, text),
            Err(_) => self.define(number, set),
        }
    }

    /// The values for each place of a mask.
    fn places(&self, mask: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut places = Vec::new();
        let mut bytes = mask.iter();
        while let Some(&byte) = bytes.next() {
            places.push(match byte {
                b'?' => self.set(bytes.next().copied())?,
                literal => vec![literal],
            });
        }
        Ok(places)
    }

    fn set(&self, name: Option<u8>) -> Result<Vec<u8>, Error> {
        let unknown =
            || Error::UnknownSet { name: name.map(|name| char::from(name).to_string()).unwrap_or_default() };
        Ok(match name {
            Some(b'?') => b"?".to_vec(),
            Some(b'd') => DIGITS.to_vec(),
            Some(b'l') => LOWER.to_vec(),
            Some(b'u') => UPPER.to_vec(),
            Some(b's') => SPECIAL.to_vec(),
            Some(b'h') => LOWER_HEX.to_vec(),
            Some(b'H') => UPPER_HEX.to_vec(),
            Some(b'a') => [LOWER, UPPER, DIGITS, SPECIAL].concat(),
            Some(b'b') => (0..=u8::MAX).collect(),
            Some(own @ b'1'..=b'4') => self.0[usize::from(own - b'1')].clone().ok_or_else(unknown)?,
            _ => return Err(unknown()),
        })
    }

    /// The spaces of a mask, whose places are bytes, or hex digits of keys if `is_hex` is set. Without `growth` this is
    /// one space. With it, there is one for each number of places in `growth` that the mask has, namely its first
    /// ones. Only even numbers of hex digits count.
    ///
    /// # Errors
    /// As [`Sets::bytes`] and [`Sets::hex`].
    pub fn spaces(
        &self,
        mask: &[u8],
        growth: Option<&RangeInclusive<usize>>,
        is_hex: bool,
    ) -> Result<Vec<Space>, Error> {
        let places = some(self.places(mask)?)?;
        let space =
            |len: usize| if is_hex { digits(&places[..len]) } else { Space::of_bytes(&places[..len]) };
        let Some(growth) = growth else { return Ok(vec![space(places.len())?]) };
        let lengths = (*growth.start()).max(1)..=(*growth.end()).min(places.len());
        lengths.filter(|len| !is_hex || len.is_multiple_of(2)).map(space).collect()
    }

    /// The strings that a mask describes, one byte per place.
    ///
    /// # Errors
    /// [`Error::UnknownSet`]; [`Error::EmptyMask`] if the mask is empty.
    pub fn bytes(&self, mask: &[u8]) -> Result<Space, Error> {
        Space::of_bytes(&some(self.places(mask)?)?)
    }

    /// The keys that a mask describes in hex, one digit per place.
    ///
    /// # Errors
    /// As [`Sets::bytes`]; [`Error::NoHexDigit`] and [`Error::OddDigits`] if the mask does not describe hex.
    pub fn hex(&self, mask: &[u8]) -> Result<Space, Error> {
        digits(&some(self.places(mask)?)?)
    }
}

/// The keys with one of the listed hex digits at each place.
fn digits(places: &[Vec<u8>]) -> Result<Space, Error> {
    let value =
        |&digit: &u8| char::from(digit).to_digit(16).map(|value| value as u8).ok_or(Error::NoHexDigit);
    let values = |place: &Vec<u8>| place.iter().map(value).collect::<Result<Vec<_>, _>>();
    Space::of_halves(&places.iter().map(values).collect::<Result<Vec<_>, _>>()?)
}

/// The keys of which some hex digits are known. `?` marks an unknown digit.
///
/// # Errors
/// [`Error::NoHexDigit`], [`Error::OddDigits`] and [`Error::EmptyMask`].
pub fn key_mask(mask: &[u8]) -> Result<Space, Error> {
    let mut hex = Zeroizing::new(Vec::with_capacity(2 * mask.len()));
    for &digit in mask {
        hex.push(digit);
        if digit == b'?' {
            hex.push(b'h');
        }
    }
    Sets::default().hex(&hex)
}

fn some(places: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
    if places.is_empty() { Err(Error::EmptyMask) } else { Ok(places) }
}
