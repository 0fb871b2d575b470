//! Checks the element format of lent memory, as its owner declares it (PEP 3118).
//!
//! Only plain data is accepted: numbers, characters, and structures of them. Everything else is refused,
//! known or unknown. Objects and addresses have no meaning elsewhere, and must not be overwritten. Bytes that
//! belong to no field are refused because they may hide objects or addresses. NumPy hides fields that were
//! not selected, and ctypes hides the content of a union.

/// The most levels of nested structures.
const DEPTH: usize = 32;

/// Bytes of C's `long double` on supported machines. On others, arrays of it are refused.
const LONG_DOUBLE_BYTES: usize = if cfg!(any(windows, all(target_vendor = "apple", target_arch = "aarch64")))
{
    8
} else if cfg!(target_arch = "x86") {
    12
} else {
    16
};

/// The use of the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    /// Any bytes may be written.
    Write,
}

/// The reason why bytes of this format are refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Objects, addresses or an unknown format.
    NotPlain,
    /// Some bytes belong to no field.
    Gaps,
    /// Some byte values are invalid: NumPy requires that a bool is 0 or 1, and does not check characters of
    /// strings.
    NotAny,
}

/// Checks that all `item_bytes` bytes of an element are plain data. Without a format they are bytes.
pub(crate) fn check(format: &[u8], item_bytes: usize, to: Use) -> Result<(), Fault> {
    let mut parser = Parser { rest: format, is_native: true, to };
    let size = parser.items(0)?;
    if !parser.rest.is_empty() {
        return Err(Fault::NotPlain);
    }
    if size == item_bytes { Ok(()) } else { Err(Fault::Gaps) }
}

/// The type of an element that is one number in this machine's byte order.
pub(crate) fn native(format: &[u8]) -> Option<u8> {
    let native = if cfg!(target_endian = "little") { b'<' } else { b'>' };
    match format {
        [kind] => Some(*kind),
        [order, kind] => [b'@', b'=', b'^', native].contains(order).then_some(*kind),
        _ => None,
    }
}

struct Parser<'a> {
    rest: &'a [u8],
    /// Whether sizes are this machine's rather than the standard ones.
    is_native: bool,
    to: Use,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Parses items up to the end of the structure or of the whole. Returns their size in bytes.
    fn items(&mut self, depth: usize) -> Result<usize, Fault> {
        let mut size = 0_usize;
        while let Some(&first) = self.rest.first() {
            match first {
                b'}' => break,
                b' ' | b'\t' | b'\n' => drop(self.next()),
                _ => size = size.checked_add(self.item(depth)?).ok_or(Fault::NotPlain)?,
            }
        }
        Ok(size)
    }

    /// Parses an item: byte order, count, shape, type, and the name if it is a field.
    fn item(&mut self, depth: usize) -> Result<usize, Fault> {
        let mut count = 1_usize;
        let kind = loop {
            match self.next().ok_or(Fault::NotPlain)? {
                b'@' | b'^' => self.is_native = true,
                b'=' | b'<' | b'>' | b'!' => self.is_native = false,
                b'(' | b',' | b')' => {}
                digit @ b'0'..=b'9' => {
                    count = self
                        .number(digit)
                        .and_then(|number| count.checked_mul(number))
                        .ok_or(Fault::NotPlain)?;
                }
                kind => break kind,
            }
        };
        let size = if kind == b'T' { self.structure(depth)? } else { self.size(kind)? };
        let is_named = self.name()?;
        if kind == b'x' && depth > 0 && !is_named {
            return Err(Fault::Gaps);
        }
        size.checked_mul(count).ok_or(Fault::NotPlain)
    }

    fn number(&mut self, first: u8) -> Option<usize> {
        let mut number = usize::from(first - b'0');
        while let Some(digit) = self.rest.first().filter(|digit| digit.is_ascii_digit()) {
            number = number.checked_mul(10)?.checked_add(usize::from(digit - b'0'))?;
            self.next();
        }
        Some(number)
    }

    fn structure(&mut self, depth: usize) -> Result<usize, Fault> {
        if depth == DEPTH || self.next() != Some(b'{') {
            return Err(Fault::NotPlain);
        }
        let size = self.items(depth + 1)?;
        if self.next() == Some(b'}') { Ok(size) } else { Err(Fault::NotPlain) }
    }

    /// The size in bytes of a type of plain data.
    fn size(&mut self, kind: u8) -> Result<usize, Fault> {
        let long = if self.is_native { size_of::<std::ffi::c_long>() } else { 4 };
        Ok(match kind {
            b'?' | b'u' | b'w' if self.to == Use::Write => return Err(Fault::NotAny),
            b'?' | b'b' | b'B' | b'c' | b's' | b'x' => 1,
            b'h' | b'H' | b'e' => 2,
            b'i' | b'I' | b'f' | b'w' => 4,
            b'l' | b'L' => long,
            b'q' | b'Q' | b'd' | b'F' => 8,
            b'n' | b'N' => size_of::<usize>(),
            b'u' => size_of::<Wide>(),
            b'D' => 16,
            b'g' => LONG_DOUBLE_BYTES,
            b'G' => 2 * LONG_DOUBLE_BYTES,
            b'Z' => {
                let part = self.next().filter(|part| b"fdg".contains(part)).ok_or(Fault::NotPlain)?;
                2 * self.size(part)?
            }
            _ => return Err(Fault::NotPlain),
        })
    }

    /// Skips a name, which may contain any characters. Returns whether a name was present.
    fn name(&mut self) -> Result<bool, Fault> {
        let Some(name) = self.rest.strip_prefix(b":") else { return Ok(false) };
        let end = name.iter().position(|&byte| byte == b':').ok_or(Fault::NotPlain)?;
        self.rest = &name[end + 1..];
        Ok(true)
    }
}

/// C's `wchar_t`.
#[cfg(windows)]
type Wide = u16;
#[cfg(not(windows))]
type Wide = u32;
