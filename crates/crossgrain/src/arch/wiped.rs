//! Boxes and arrays whose whole memory is overwritten when they are dropped.
//!
//! A value that is built on the stack and moved into a box is copied with the gaps between its fields. The
//! gaps may contain older bytes of the stack, such as parts of a key. Wiping the fields is therefore not
//! enough.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use super::wipe;

/// A box that drops its value, overwrites the memory with zeros, and then frees it.
///
/// [`Wiped::new`] aligns the value itself. An allocator that must align to a cache line takes several times as
/// long, and key set-up allocates such values.
pub struct Wiped<T: ?Sized> {
    value: NonNull<T>,
    /// The memory of [`Wiped::new`]. `None` if the value came in a `Box`.
    memory: Option<NonNull<u8>>,
    owns: PhantomData<T>,
}

// SAFETY: it owns its value, as a box does.
unsafe impl<T: ?Sized + Send> Send for Wiped<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for Wiped<T> {}

/// The alignment that every allocator gives at no cost.
const ALLOCATED_ALIGN: usize = 16;

/// Memory for a value of this layout at any place that has its alignment.
const fn memory_for(value: Layout) -> Layout {
    let slack = value.align().saturating_sub(ALLOCATED_ALIGN);
    match Layout::from_size_align(value.size() + slack, ALLOCATED_ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("no value is that large"),
    }
}

impl<T> Wiped<T> {
    /// Moves a value into memory of its own. The move can leave a copy on the stack, so secrets are better written
    /// into the value afterwards.
    #[inline(always)]
    pub fn new(value: T) -> Self {
        // SAFETY: the place has room for the value.
        Self::in_place(|place| unsafe { place.write(value) })
    }

    /// Allocates memory for a value and has `fill` write it there.
    #[inline(always)]
    pub(super) fn in_place(fill: impl FnOnce(*mut T)) -> Self {
        const { assert!(size_of::<T>() > 0) };
        let layout = const { memory_for(Layout::new::<T>()) };
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc(layout) };
        // Otherwise LLVM makes this an allocation of zeros, which takes the slow path of glibc.
        let Some(memory) = NonNull::new(black_box(memory)) else { handle_alloc_error(layout) };
        // SAFETY: the memory has room for the value after the bytes that its alignment skips.
        let value = unsafe { memory.byte_add(memory.align_offset(align_of::<T>())).cast::<T>() };
        fill(value.as_ptr());
        Self { value, memory: Some(memory), owns: PhantomData }
    }

    /// The same value as a trait object.
    ///
    /// # Panics
    /// If `view` returns another value than its argument.
    pub fn as_dyn<U: ?Sized>(mut self, view: for<'a> fn(&'a mut T) -> &'a mut U) -> Wiped<U> {
        let seen = NonNull::from(view(&mut self));
        let (memory, size) = (self.memory, size_of::<T>());
        // SAFETY: the value is alive.
        assert!(seen.cast() == self.value && size_of_val(unsafe { seen.as_ref() }) == size);
        mem::forget(self);
        Wiped { value: seen, memory, owns: PhantomData }
    }
}

impl<T: ?Sized> From<Box<T>> for Wiped<T> {
    fn from(value: Box<T>) -> Self {
        Self { value: NonNull::from(Box::leak(value)), memory: None, owns: PhantomData }
    }
}

impl<T: ?Sized> Deref for Wiped<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the value is alive and owned.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for Wiped<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the value is alive and owned.
        unsafe { self.value.as_mut() }
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
        // SAFETY: the value is alive and owned, and it is dropped once. Then its memory is written and freed with the
        // layout with which it was allocated. A box of zero bytes has no memory.
        unsafe {
            let layout = Layout::for_value(self.value.as_ref());
            let bytes = self.value.cast::<u8>().as_ptr();
            self.value.drop_in_place();
            ptr::write_bytes(bytes, 0, layout.size());
            zeroize::optimization_barrier(std::slice::from_raw_parts(bytes, layout.size()));
            match self.memory {
                Some(memory) => dealloc(memory.as_ptr(), memory_for(layout)),
                None if layout.size() > 0 => dealloc(bytes, layout),
                None => {}
            }
        }
    }
}
