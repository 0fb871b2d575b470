//! WASI 0.1: no terminal, no core dumps, and no duplicates of descriptors.

use std::fs::{File, Metadata};
use std::io;
use std::mem;
use std::os::fd::FromRawFd as _;

/// Always fails: a program cannot switch off the echo of a terminal.
pub(crate) fn ask<T>(_prompt: &str, _read: impl FnOnce(&mut File) -> T) -> io::Result<T> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Always fails: descriptors have no names here.
pub(crate) fn descriptor(_number: u32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) const fn no_core_dumps() {}

pub(crate) fn began_closed<T>(_stream: T) -> bool {
    false
}

/// Always false, because the files cannot be compared.
pub(crate) const fn is_one(_one: &Metadata, _other: &Metadata, _and_disks: bool) -> bool {
    false
}

/// Standard input (0) or output (1) itself, without a duplicate. A stream that is used again later must end by
/// [`leave`]. Otherwise the file closes it, at the end of the command.
pub(crate) fn standard_stream(number: u8) -> File {
    // SAFETY: the descriptor is open from the beginning. No other file of the program owns it: an earlier one
    // of this function ended by `leave`.
    unsafe { File::from_raw_fd(number.into()) }
}

/// Ends the use of a file without closing it, because it may be a standard stream that is used again.
pub(crate) fn leave(file: File) {
    mem::forget(file);
}

/// Reads keys from a terminal. This system does not offer that.
pub(crate) enum KeyInput {}

impl KeyInput {
    pub(crate) const fn open() -> Option<Self> {
        None
    }

    pub(crate) const fn typed(&mut self) -> Vec<u8> {
        match *self {}
    }

    pub(crate) const fn restore(&mut self) {
        match *self {}
    }
}
