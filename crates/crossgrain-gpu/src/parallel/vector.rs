//! Vectors of elements at a place.
//!
//! ```text
//! number 0 of elements 0, 1, 2, …, stride − 1 | number 1 of elements 0, 1, 2, … | …
//! ```
//!
//! A register, or a group of threads, therefore reads neighbouring words for any number of numbers per
//! element. Words are little-endian.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Bound, RangeBounds};

use super::algorithm::transform_at;
use super::element::Element;
use super::launch::Span;
use super::own::{Fill, Same};
use super::policy::{Kind, Place};
use super::room::Source;
#[cfg(feature = "device")]
use super::text::Reads;
use crate::Error;
#[cfg(feature = "device")]
use crate::Memory;

/// Maximum number of elements in a vector.
pub(super) const LEN_MAX: usize = 1 << 31;

/// A vector of elements with `N` 32-bit numbers each, in the memory of a CPU or a device.
pub struct DeviceVec<const N: usize> {
    pub(super) place: Place,
    pub(super) store: Store,
    pub(super) len: usize,
    /// Capacity in elements. Number p of an element is `p * stride` words after its first number.
    pub(super) stride: usize,
}

/// The memory of the numbers.
pub(super) enum Store {
    Host(Vec<u8>),
    #[cfg(feature = "device")]
    Device(Memory),
}

impl<const N: usize> DeviceVec<N> {
    /// Creates a vector of these elements.
    ///
    /// # Errors
    /// If the place has too little memory, or is lost.
    pub fn from_slice(place: &Place, elements: &[[u32; N]]) -> Result<Self, Error> {
        Self::from_values(place, elements)
    }

    /// Creates a vector of these values.
    ///
    /// # Errors
    /// As [`DeviceVec::from_slice`].
    pub fn from_values<T: Element<N>>(place: &Place, values: &[T]) -> Result<Self, Error> {
        let mut bytes = zeros(4 * N * values.len())?;
        for (at, value) in values.iter().enumerate() {
            for (p, number) in value.numbers().iter().enumerate() {
                bytes[4 * (p * values.len() + at)..][..4].copy_from_slice(&number.to_le_bytes());
            }
        }
        Self::from_bytes(place, bytes, values.len())
    }

    /// Creates a vector of `len` elements from the numbers in this module's layout.
    pub(super) fn from_bytes(place: &Place, bytes: Vec<u8>, len: usize) -> Result<Self, Error> {
        if matches!(place.kind(), Kind::Host { .. }) && len <= LEN_MAX {
            return Ok(Self { place: place.clone(), store: Store::Host(bytes), len, stride: len });
        }
        #[cfg_attr(not(feature = "device"), expect(unused_mut, reason = "only a device is written to here"))]
        let mut vector = Self::with_room(place, len)?;
        #[cfg(feature = "device")]
        if let (Store::Device(memory), Kind::Device(gpu), false) =
            (&mut vector.store, place.kind(), bytes.is_empty())
        {
            gpu.device().upload(&bytes, memory)?;
        }
        Ok(vector)
    }

    /// Allocates a vector of `len` elements with unspecified values.
    pub(super) fn with_room(place: &Place, len: usize) -> Result<Self, Error> {
        const { assert!(N > 0, "an element has one number or more") };
        let len_bytes = len.saturating_mul(4 * N);
        // Devices count words in 32 bits.
        if len > LEN_MAX || len_bytes / 4 > u32::MAX as usize {
            return Err(Error::Memory { len_bytes });
        }
        let store = match place.kind() {
            Kind::Host { .. } => Store::Host(zeros(len_bytes)?),
            #[cfg(feature = "device")]
            Kind::Device(gpu) => Store::Device(gpu.allocate(len_bytes)?),
        };
        Ok(Self { place: place.clone(), store, len, stride: len })
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    /// If the place is lost, or the host has too little memory.
    pub fn to_vec(&self) -> Result<Vec<[u32; N]>, Error> {
        View::from(self).to_vec()
    }

    /// Copies the elements to the host, as values.
    ///
    /// # Errors
    /// As [`DeviceVec::to_vec`].
    pub fn to_values<T: Element<N>>(&self) -> Result<Vec<T>, Error> {
        View::from(self).to_values()
    }

    /// Copies the elements to a place, which may be a different one.
    ///
    /// # Errors
    /// If either place is lost, or there is too little memory there or on the host. The copy passes through
    /// the host.
    pub fn copy_to(&self, place: &Place) -> Result<Self, Error> {
        View::from(self).copy_to(place)
    }

    /// A range of the elements.
    ///
    /// # Errors
    /// If the range exceeds the vector.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<View<'_, N>, Error> {
        View::from(self).view(range)
    }

    /// Shortens the vector, or extends it with elements of this value. The capacity never decreases.
    ///
    /// # Errors
    /// If the place has too little memory or is lost. The vector is then unchanged.
    pub fn resize(&mut self, len: usize, value: [u32; N]) -> Result<(), Error> {
        let old_len = self.len;
        if len > self.stride {
            let mut longer = Self::with_room(&self.place, len)?;
            transform_at(&Same, (&*self).into(), &mut longer, 0)?;
            *self = Self { len: old_len, ..longer };
        }
        self.len = len;
        if len > old_len {
            let place = self.place.clone();
            transform_at(&Fill(value), place.indices(old_len..len)?, self, old_len)
                .inspect_err(|_| self.len = old_len)?;
        }
        Ok(())
    }

    pub(super) const fn span(&self) -> Span {
        Span { first: 0, stride: self.stride }
    }

    /// Number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the vector has no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The place that holds the elements.
    pub const fn place(&self) -> &Place {
        &self.place
    }
}

/// Allocates zeroed bytes, or fails if the host has too little memory.
pub(super) fn zeros(len_bytes: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len_bytes).map_err(|_| Error::Memory { len_bytes })?;
    bytes.resize(len_bytes, 0);
    Ok(bytes)
}

/// Concatenates the numbers of elements with equal index, so that a kernel can take several vectors. The
/// `A` numbers of `one` come first, and `N` is `A + B`. All elements are copied.
///
/// # Errors
/// If the lengths or the places differ, or if the place has too little memory or is lost.
///
/// ```
/// use crossgrain_gpu::parallel::{DeviceVec, Policy, zip};
///
/// let place = Policy::Auto.open()?;
/// let names = DeviceVec::from_slice(&place, &[[7, 8], [9, 10]])?;
/// let numbered: DeviceVec<3> = zip(place.indices(0..2)?, &names)?;
/// assert_eq!(numbered.to_vec()?, [[0, 7, 8], [1, 9, 10]]);
/// # Ok::<(), crossgrain_gpu::Error>(())
/// ```
pub fn zip<'a, 'b, const A: usize, const B: usize, const N: usize>(
    one: impl Into<View<'a, A>>,
    other: impl Into<View<'b, B>>,
) -> Result<DeviceVec<N>, Error> {
    const { assert!(A + B == N, "an element of both has as many numbers as the two") };
    let (one, other) = (one.into(), other.into());
    if one.len != other.len {
        return Err(Error::Range { start: 0, end: one.len, len: other.len });
    }
    let mut both = DeviceVec::with_room(one.place, one.len)?;
    let after_one = A * both.stride;
    transform_at(&Same, one, &mut both, 0)?;
    transform_at(&Same, other, &mut both, after_one)?;
    Ok(both)
}

impl<const N: usize> fmt::Debug for DeviceVec<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceVec({} elements of {N} numbers, {:?})", self.len, self.place)
    }
}

/// A range of a vector's elements, or the numbers of a range ([`Place::indices`]).
#[derive(Clone, Copy, Debug)]
pub struct View<'a, const N: usize> {
    pub(super) place: &'a Place,
    /// `None` for the numbers of a range.
    pub(super) stored: Option<&'a DeviceVec<N>>,
    pub(super) first: usize,
    pub(super) len: usize,
}

impl<'a, const N: usize> View<'a, N> {
    /// Number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the view has no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements for a CPU.
    pub(super) fn source(&self) -> Result<Source<'a, N>, Error> {
        let Some(vector) = self.stored else { return Ok(Source::Indices(self.first as u32)) };
        #[cfg_attr(
            not(feature = "device"),
            expect(irrefutable_let_patterns, reason = "devices store elsewhere")
        )]
        let Store::Host(bytes) = &vector.store else { return Err(Error::Place) };
        let number = |p: usize| &bytes[4 * (p * vector.stride + self.first)..][..4 * self.len];
        Ok(Source::Stored(std::array::from_fn(number)))
    }

    /// The elements' memory on a device.
    #[cfg(feature = "device")]
    pub(super) fn memory(&self) -> Option<&'a Memory> {
        match &self.stored?.store {
            Store::Device(memory) => Some(memory),
            Store::Host(_) => None,
        }
    }

    #[cfg(feature = "device")]
    pub(super) const fn reads(&self) -> Reads {
        if self.stored.is_some() { Reads::Source } else { Reads::Indices }
    }

    #[cfg(feature = "device")]
    pub(super) fn span(&self) -> Span {
        Span { first: self.first, stride: self.stored.map_or(0, |vector| vector.stride) }
    }

    /// A range of these elements.
    ///
    /// # Errors
    /// If the range exceeds the view.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len,
        };
        if start > end || end > self.len {
            return Err(Error::Range { start, end, len: self.len });
        }
        Ok(Self { first: self.first + start, len: end - start, ..*self })
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    /// If the place is lost, or the host has too little memory.
    pub fn to_vec(&self) -> Result<Vec<[u32; N]>, Error> {
        self.to_values()
    }

    /// Copies the elements to the host, as values.
    ///
    /// # Errors
    /// As [`View::to_vec`].
    pub fn to_values<T: Element<N>>(&self) -> Result<Vec<T>, Error> {
        let Some(vector) = self.stored else {
            return Ok((self.first..self.first + self.len)
                .map(|at| T::from_numbers([at as u32; N]))
                .collect());
        };
        let bytes = self.bytes(vector)?;
        let words = bytes.as_chunks::<4>().0;
        let number = |p: usize, at: usize| u32::from_le_bytes(words[p * vector.stride + at]);
        let elements = self.first..self.first + self.len;
        Ok(elements.map(|at| T::from_numbers(std::array::from_fn(|p| number(p, at)))).collect())
    }

    /// Copies the elements to a place, which may be a different one.
    ///
    /// # Errors
    /// As [`DeviceVec::copy_to`].
    pub fn copy_to(&self, place: &Place) -> Result<DeviceVec<N>, Error> {
        let Some(vector) = self.stored else { return DeviceVec::from_slice(place, &self.to_vec()?) };
        let bytes = self.bytes(vector)?;
        let mut copied = zeros(4 * N * self.len)?;
        for (p, number) in copied.chunks_exact_mut((4 * self.len).max(1)).enumerate() {
            number.copy_from_slice(&bytes[4 * (p * vector.stride + self.first)..][..4 * self.len]);
        }
        DeviceVec::from_bytes(place, copied, self.len)
    }

    /// The whole memory of the vector, copied to the host if necessary.
    pub(super) fn bytes(&self, vector: &'a DeviceVec<N>) -> Result<Cow<'a, [u8]>, Error> {
        match (&vector.store, self.place.kind()) {
            _ if self.len == 0 => Ok(Cow::Borrowed(&[])),
            (Store::Host(bytes), _) => Ok(Cow::Borrowed(bytes)),
            #[cfg(feature = "device")]
            (Store::Device(memory), Kind::Device(gpu)) => {
                let mut bytes = zeros(4 * N * vector.stride)?;
                gpu.device().download(memory, &mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
            #[cfg(feature = "device")]
            (Store::Device(_), Kind::Host { .. }) => Err(Error::Place),
        }
    }
}

impl<'a, const N: usize> From<&'a DeviceVec<N>> for View<'a, N> {
    fn from(vector: &'a DeviceVec<N>) -> Self {
        Self { place: &vector.place, stored: Some(vector), first: 0, len: vector.len }
    }
}
