//! The state before an instruction: which registers and words of the stack hold data.
//!
//! *Data* is the result of a vector instruction that computes. Copies of data are data. Constants, and values
//! that were loaded from anywhere but the frame, are not.

use std::collections::BTreeMap;

use crate::asm::operand::{Memory, Operand, Register, STACK};

/// The stack is followed in words of this length.
const WORD_BYTES: i64 = 4;

/// The longest store.
const STORE_BYTES: i64 = 64;

/// A block may be visited often before the states settle. Offsets that keep changing become this value, which
/// means any place.
const ANYWHERE: i64 = i64::MIN / 2;

/// The content of a general register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// The address of a place in the frame.
    Frame(Place),
    /// Neither data nor an address in the frame.
    Public,
    Data,
}

/// A place in the frame: an offset in bytes from a base. The bases are the stack pointer at entry, and the
/// stack pointer after it was aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) base: usize,
    pub(super) offset: i64,
    /// Otherwise the address is this or a higher one.
    pub(super) is_exact: bool,
}

/// The whole state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) general: [Value; 16],
    pub(super) flags: bool,
    /// A bit for each vector register that holds data.
    pub(super) vectors: u32,
    /// The same for mask registers.
    pub(super) masks: u8,
    /// Words of the frame that were stored by their own offset: whether each is data. Where two ways
    /// disagree, the word is not data: the compiler uses one place for several values, and loads a value only
    /// where all ways stored it.
    words: BTreeMap<(usize, i64), bool>,
    /// Places at which an array begins that data was stored into by an index, with the length of the store.
    /// Words that are listed keep their values.
    arrays: BTreeMap<(usize, i64), i64>,
}

impl State {
    /// Nothing is data when a kernel begins.
    pub(super) fn at_entry() -> Self {
        let mut general = [Value::Public; 16];
        general[usize::from(STACK)] = Value::Frame(Place { base: 0, offset: 0, is_exact: true });
        Self { general, flags: false, vectors: 0, masks: 0, words: BTreeMap::new(), arrays: BTreeMap::new() }
    }

    /// Merges the state of another path into the block at `block`. Words of the frame come from `words`, if
    /// given. Returns whether anything changed.
    pub(super) fn join(&mut self, other: &Self, words: Option<&Self>, block: usize) -> bool {
        let before = self.clone();
        for (number, (own, &others)) in self.general.iter_mut().zip(&other.general).enumerate() {
            *own = own.join(others);
            if number == usize::from(STACK) && !matches!(own, Value::Frame(place) if place.is_exact) {
                // The prologue allocates the frame in a loop. Offsets are relative to this block from here
                // on.
                *own = Value::Frame(Place { base: 2 + block, offset: 0, is_exact: true });
            }
        }
        self.flags |= other.flags;
        self.vectors |= other.vectors;
        self.masks |= other.masks;
        match words {
            Some(known) => self.words.clone_from(&known.words),
            None => {
                for (&word, &is_data) in &other.words {
                    *self.words.entry(word).or_insert(is_data) &= is_data;
                }
            }
        }
        for (&place, &len_bytes) in &other.arrays {
            let own = self.arrays.entry(place).or_insert(len_bytes);
            *own = len_bytes.max(*own);
        }
        *self != before
    }

    /// Whether an operand of `len_bytes` bytes holds data. Immediates and symbols do not.
    pub(super) fn is_data(&self, operand: Operand, len_bytes: i64) -> bool {
        match operand {
            Operand::Register(Register::General(number)) => self.general(number) == Value::Data,
            Operand::Register(Register::Vector(number, _)) => self.vectors >> number & 1 == 1,
            Operand::Register(Register::Mask(number)) => self.masks >> number & 1 == 1,
            Operand::Memory(memory) => {
                self.place(memory).is_some_and(|place| self.loads_data(place, len_bytes))
            }
            _ => false,
        }
    }

    /// Notes that an operand of `len_bytes` bytes was written.
    pub(super) fn write(&mut self, operand: Operand, len_bytes: i64, is_data: bool) {
        let set = |bits: u32, number: u8| bits & !(1 << number) | u32::from(is_data) << number;
        match operand {
            Operand::Register(Register::General(number)) => {
                self.general[usize::from(number)] = if is_data { Value::Data } else { Value::Public };
            }
            Operand::Register(Register::Vector(number, _)) => self.vectors = set(self.vectors, number),
            Operand::Register(Register::Mask(number)) => self.masks = set(self.masks.into(), number) as u8,
            Operand::Memory(memory) => {
                if let Some(place) = self.place(memory) {
                    self.store(place, len_bytes, is_data);
                }
            }
            _ => {}
        }
    }

    pub(super) fn general(&self, number: u8) -> Value {
        self.general[usize::from(number)]
    }

    /// Where in the frame a memory operand lies, if it does.
    pub(super) fn place(&self, memory: Memory) -> Option<Place> {
        let in_frame = |register: Option<Register>| match register? {
            Register::General(number) => match self.general(number) {
                Value::Frame(place) => Some(place),
                _ => None,
            },
            _ => None,
        };
        let place = in_frame(memory.base).or_else(|| in_frame(memory.index))?;
        let is_exact = place.is_exact && memory.index.is_none();
        Some(Place {
            offset: place.offset.saturating_add(memory.displacement).max(ANYWHERE),
            is_exact,
            ..place
        })
    }

    /// Whether a load may give data. A load by an index is judged by the element at its displacement.
    fn loads_data(&self, place: Place, len_bytes: i64) -> bool {
        let first = (place.base, place.offset.saturating_sub(STORE_BYTES - 1));
        let end = (place.base, place.offset.saturating_add(len_bytes));
        let mut stores = self.arrays.range(first..end);
        let is_in_array = stores.any(|(&(_, offset), stored_bytes)| offset + stored_bytes > place.offset);
        words(place, len_bytes).any(|word| match self.words.get(&word) {
            Some(&is_data) => is_data || is_in_array && !place.is_exact,
            None => is_in_array,
        })
    }

    fn store(&mut self, place: Place, len_bytes: i64, is_data: bool) {
        if !place.is_exact {
            if is_data {
                self.arrays.insert((place.base, place.offset), len_bytes);
            }
            return;
        }
        // A new array at this place replaces the data that was there.
        let end = place.offset.saturating_add(len_bytes);
        self.arrays.retain(|&(base, offset), _| base != place.base || !(place.offset..end).contains(&offset));
        for word in words(place, len_bytes) {
            let is_whole = word.1 * WORD_BYTES >= place.offset && (word.1 + 1) * WORD_BYTES <= end;
            let was_data = !is_whole && self.words.get(&word) == Some(&true);
            self.words.insert(word, is_data || was_data);
        }
    }

    /// Forgets the registers that a call may change.
    pub(super) fn after_call(&mut self) {
        for number in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
            self.general[number] = Value::Public;
        }
        (self.flags, self.vectors, self.masks) = (false, 0, 0);
    }
}

/// The words that bytes of the frame touch.
fn words(place: Place, len_bytes: i64) -> impl Iterator<Item = (usize, i64)> {
    let first = place.offset.div_euclid(WORD_BYTES);
    let end = place.offset.saturating_add(len_bytes - 1).div_euclid(WORD_BYTES);
    (first..=end).map(move |word| (place.base, word))
}

impl Value {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Data, _) | (_, Self::Data) => Self::Data,
            (Self::Frame(a), Self::Frame(b)) if a == b => self,
            (Self::Frame(a), Self::Frame(b)) if a.base == b.base => {
                let lower = a.offset.min(b.offset);
                let sinks = !a.is_exact && lower < a.offset; // changed once before, so it may keep changing
                Self::Frame(Place { offset: if sinks { ANYWHERE } else { lower }, is_exact: false, ..a })
            }
            _ => Self::Public,
        }
    }
}
