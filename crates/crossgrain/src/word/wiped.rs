//! Boxes whose memory is overwritten before it is given back, all of it.
//!
//! A value that is made on the stack and moved into a box takes the gaps between its fields with it, and in these whatever lay
//! on the stack before, such as parts of a key. To wipe the fields is therefore not enough.

use std::alloc::{Layout, dealloc};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::wipe;

/// A box that is dropped as any other, after which its memory is zeros.
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

/// Bytes that are overwritten at once when they are dropped. `Zeroizing` would do so byte by byte, which takes as long as a short message does.
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

/// Empties a vector, and overwrites all its room.
pub(crate) fn wipe_room<T>(values: &mut Vec<T>) {
    values.clear();
    let room = values.spare_capacity_mut();
    // SAFETY: that is memory of the vector's in which there is no value.
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
        // SAFETY: this runs once, and nothing takes the box before.
        let value = Box::into_raw(unsafe { ManuallyDrop::take(&mut self.0) });
        // SAFETY: the value came out of a box, is valid and no one else's. It is dropped once, then its memory is written to and
        // given back by the layout that the box had; a box of no bytes has no memory.
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
