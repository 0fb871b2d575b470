//! Vectors of numbers whose type is known only at run time, and algorithms on them.

use super::super::algorithm::{find, reduce};
use super::super::kernel::Sum;
#[cfg(feature = "device")]
use super::super::launch::Span;
use super::super::order::{gather, indices_if, order_of_keys, outermost};
use super::super::own::{Outermost, Same};
use super::super::policy::Place;
use super::super::room::Source;
use super::super::scan::inclusive_scan;
use super::super::vector::{DeviceVec, Store, View, zeros};
use super::refused;
use crate::Error;
#[cfg(feature = "device")]
use crate::Memory;

/// A vector of numbers with one or two words each.
#[derive(Debug)]
pub struct Column(pub(super) Words);

#[derive(Debug)]
pub(super) enum Words {
    One(DeviceVec<1>),
    Two(DeviceVec<2>),
}

/// Evaluates an expression for vectors of either kind.
macro_rules! either {
    ($words:expr, $vector:ident => $result:expr) => {
        match $words {
            Words::One($vector) => $result,
            Words::Two($vector) => $result,
        }
    };
}

/// Selects a combining function by its name and by the words of the numbers.
macro_rules! combined {
    ($words:expr, $name:expr, |$combine:ident, $vector:ident| $result:expr) => {
        combined!($words, $name, |$combine, $vector| $result;
            One "SumU32" Sum, Two "SumU64" Sum::of::<u64>(), One "SumF32" Sum::of::<f32>(), Two "SumF64" Sum::of::<f64>())
    };
    ($words:expr, $name:expr, |$combine:ident, $vector:ident| $result:expr; $($Kind:ident $told:literal $by:expr),*) => {
        match ($name, $words) {
            $(($told, Words::$Kind($vector)) => {
                let $combine = &$by;
                $result
            })*
            (name, _) => return Err(refused(format!("these numbers are not combined by {name}"))),
        }
    };
}

impl Column {
    /// Creates a vector from numbers in native byte order, with `item_bytes` bytes each: 1, 4 or 8.
    ///
    /// # Errors
    /// If the place has too little memory or is lost, and if the length is not a multiple of `item_bytes`.
    pub fn from_bytes(place: &Place, bytes: &[u8], item_bytes: usize) -> Result<Self, Error> {
        if ![1, 4, 8].contains(&item_bytes) || !bytes.len().is_multiple_of(item_bytes) {
            return Err(refused(format!("numbers have 1, 4 or 8 bytes, and not {item_bytes}")));
        }
        let len = bytes.len() / item_bytes;
        let mut words = zeros(4 * item_bytes.div_ceil(4) * len)?;
        let (low, high) = words.as_chunks_mut::<4>().0.split_at_mut(len);
        match item_bytes {
            1 => {
                for (word, byte) in low.iter_mut().zip(bytes) {
                    *word = u32::from(*byte).to_le_bytes();
                }
            }
            4 => {
                for (word, number) in low.iter_mut().zip(bytes.as_chunks().0) {
                    *word = u32::from_ne_bytes(*number).to_le_bytes();
                }
            }
            _ => {
                for ((low, high), number) in low.iter_mut().zip(high).zip(bytes.as_chunks().0) {
                    let number = u64::from_ne_bytes(*number);
                    *low = (number as u32).to_le_bytes();
                    *high = ((number >> 32) as u32).to_le_bytes();
                }
            }
        }
        Ok(Self(match item_bytes {
            8 => Words::Two(DeviceVec::from_bytes(place, words, len)?),
            _ => Words::One(DeviceVec::from_bytes(place, words, len)?),
        }))
    }

    /// Writes the numbers to memory, in the format of [`Column::from_bytes`].
    ///
    /// # Errors
    /// If the place is lost, or the numbers have different lengths.
    pub fn to_bytes(&self, goal: &mut [u8], item_bytes: usize) -> Result<(), Error> {
        let is_fit = match self.0 {
            Words::One(_) => item_bytes == 1 || item_bytes == 4,
            Words::Two(_) => item_bytes == 8,
        };
        if !is_fit || goal.len() != item_bytes * self.len() {
            return Err(refused(format!("{} numbers do not fill {} bytes", self.len(), goal.len())));
        }
        let (bytes, stride) = either!(&self.0, vector => (View::from(vector).bytes(vector)?, vector.stride));
        let words = bytes.as_chunks::<4>().0;
        let low = words.iter().map(|word| u32::from_le_bytes(*word));
        match item_bytes {
            1 => {
                for (byte, low) in goal.iter_mut().zip(low) {
                    *byte = low as u8;
                }
            }
            4 => {
                for (number, low) in goal.as_chunks_mut().0.iter_mut().zip(low) {
                    *number = low.to_ne_bytes();
                }
            }
            _ => {
                let high = words.iter().skip(stride).map(|word| u32::from_le_bytes(*word));
                for ((number, low), high) in goal.as_chunks_mut().0.iter_mut().zip(low).zip(high) {
                    *number = (u64::from(low) | u64::from(high) << 32).to_ne_bytes();
                }
            }
        }
        Ok(())
    }

    /// Allocates a vector of `len` numbers with `words` words each.
    pub(super) fn with_room(place: &Place, words: usize, len: usize) -> Result<Self, Error> {
        Ok(Self(match words {
            1 => Words::One(DeviceVec::with_room(place, len)?),
            _ => Words::Two(DeviceVec::with_room(place, len)?),
        }))
    }

    /// Number of numbers.
    pub const fn len(&self) -> usize {
        either!(&self.0, vector => vector.len())
    }

    /// Whether the vector is empty.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of the vector.
    pub const fn place(&self) -> &Place {
        either!(&self.0, vector => vector.place())
    }

    /// Words per number.
    pub(super) const fn words(&self) -> usize {
        match self.0 {
            Words::One(_) => 1,
            Words::Two(_) => 2,
        }
    }

    #[cfg(feature = "device")]
    pub(super) fn span(&self) -> Span {
        either!(&self.0, vector => vector.span())
    }

    /// The numbers' memory on a device.
    #[cfg(feature = "device")]
    pub(super) fn memory(&self) -> Option<&Memory> {
        either!(&self.0, vector => View::from(vector).memory())
    }

    #[cfg(feature = "device")]
    pub(super) fn memory_mut(&mut self) -> Option<&mut Memory> {
        match either!(&mut self.0, vector => &mut vector.store) {
            Store::Device(memory) => Some(memory),
            Store::Host(_) => None,
        }
    }

    /// The numbers' memory on the host, one slice per word.
    pub(super) fn rows(&self) -> Result<Vec<&[u8]>, Error> {
        either!(&self.0, vector => match View::from(vector).source()? {
            Source::Stored(numbers) => Ok(numbers.to_vec()),
            Source::Indices(_) => Err(Error::Place),
        })
    }

    /// Mutable memory on the host, one slice per word. The vector's capacity must equal its length.
    pub(super) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let row = 4 * self.len().max(1);
        let bytes = match either!(&mut self.0, vector => &mut vector.store) {
            Store::Host(bytes) => &mut bytes[..],
            #[cfg(feature = "device")]
            Store::Device(_) => &mut [],
        };
        bytes.chunks_exact_mut(row)
    }

    /// Combines all numbers by `SumU32`, `SumU64`, `SumF32` or `SumF64`, and returns the bits of the
    /// result.
    ///
    /// # Errors
    /// As [`reduce`], and if the name does not fit these numbers.
    pub fn reduce(&self, name: &str) -> Result<u64, Error> {
        Ok(combined!(&self.0, name, |combine, vector| {
            let total = reduce(combine, vector)?;
            total.iter().rev().fold(0, |bits, &word| bits << 32 | u64::from(word))
        }))
    }

    /// Replaces each number by the combination of all numbers up to and including it.
    ///
    /// # Errors
    /// As [`Column::reduce`].
    pub fn inclusive_scan(&self, name: &str) -> Result<Self, Error> {
        Ok(combined!(&self.0, name, |combine, vector| inclusive_scan(combine, vector)?.into()))
    }

    /// Selects the numbers with these indices.
    ///
    /// # Errors
    /// As [`gather`].
    pub fn gather(&self, indices: &Self) -> Result<Self, Error> {
        let indices = indices.one()?;
        Ok(either!(&self.0, vector => gather(vector, indices)?.into()))
    }

    /// The indices of the numbers in sorted order, as unsigned integers. The sort is stable.
    ///
    /// # Errors
    /// As [`sort_by_key`](super::super::sort_by_key).
    pub fn order(&self) -> Result<Self, Error> {
        Ok(either!(&self.0, keys => order_of_keys(keys)?.into()))
    }

    /// The indices of the numbers that are not zero.
    ///
    /// # Errors
    /// As [`copy_if`](super::super::copy_if).
    pub fn chosen(&self) -> Result<Self, Error> {
        Ok(indices_if::<_, 1, 1>(&Same, self.one()?.into())?.into())
    }

    /// The index of the first number that is not zero.
    ///
    /// # Errors
    /// As [`find`].
    pub fn find(&self) -> Result<Option<usize>, Error> {
        find::<_, 1, 1>(&Same, self.one()?)
    }

    /// The index of the first minimum or maximum, as unsigned integers.
    ///
    /// # Errors
    /// As [`reduce`].
    pub fn outermost(&self, is_last: bool) -> Result<Option<usize>, Error> {
        if self.is_empty() {
            return Ok(None);
        }
        either!(&self.0, keys => match is_last {
            true => outermost(&Outermost::<true>, keys),
            false => outermost(&Outermost::<false>, keys),
        })
    }

    fn one(&self) -> Result<&DeviceVec<1>, Error> {
        match &self.0 {
            Words::One(vector) => Ok(vector),
            Words::Two(_) => Err(refused("the numbers have two words, and one is asked for".to_owned())),
        }
    }
}

impl From<DeviceVec<1>> for Column {
    fn from(vector: DeviceVec<1>) -> Self {
        Self(Words::One(vector))
    }
}

impl From<DeviceVec<2>> for Column {
    fn from(vector: DeviceVec<2>) -> Self {
        Self(Words::Two(vector))
    }
}
