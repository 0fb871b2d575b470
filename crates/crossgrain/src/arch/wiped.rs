//! Boxes and arrays whose whole memory is overwritten when they are dropped.
//!
//! A value that is built on the stack and moved into a box is copied with the gaps between its fields. The
//! gaps may contain older bytes of the stack, such as parts of a key. Wiping the fields is therefore not
//! enough.

use std::alloc::{Layout, dealloc};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::wipe;

/// A box that drops its value, overwrites the memory with zeros, and then frees it.
pub(crate) struct Wiped<T: ?Sized>(ManuallyDrop<Box<T>>);

impl<T: ?Sized> From<Box<T>> for Wiped<T> {
    fn from(value: Box<T>) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T: ?Sized> Deref for Wiped<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for Wiped<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Bytes that are overwritten with zeros on drop, by a single fill. `Zeroizing` would write byte by byte,
/// which takes as long as a short message.
pub(crate) struct WipedBytes<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Deref for WipedBytes<N> {
    type Target = [u8; N];

    #[inline(always)]
    fn deref(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> DerefMut for WipedBytes<N> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8; N] {
        &mut self.0
    }
}

impl<const N: usize> Drop for WipedBytes<N> {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Empties a vector and overwrites its whole capacity with zeros.
pub(crate) fn wipe_room<T>(values: &mut Vec<T>) {
    values.clear();
    let room = values.spare_capacity_mut();
    // SAFETY: the spare capacity is memory of the vector that holds no value.
    unsafe { room.as_mut_ptr().write_bytes(0, room.len()) };
    zeroize::optimization_barrier(room);
}

impl<T: ?Sized> fmt::Debug for Wiped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wiped(secret)")
    }
}

impl<T: ?Sized> Drop for Wiped<T> {
    fn drop(&mut self) {
        // SAFETY: `drop` runs once, and nothing takes the box earlier.
        let value = Box::into_raw(unsafe { ManuallyDrop::take(&mut self.0) });
        // SAFETY: the value came from a box, so it is valid and exclusively owned. It is dropped once. Then
        // its memory is written and freed with the layout of the box. A box of zero bytes has no memory.
        unsafe {
            let layout = Layout::for_value(&*value);
            let bytes = value.cast::<u8>();
            value.drop_in_place();
            bytes.write_bytes(0, layout.size());
            zeroize::optimization_barrier(std::slice::from_raw_parts(bytes, layout.size()));
            if layout.size() > 0 {
                dealloc(bytes, layout);
            }
        }
    }
}
