//! Systems other than Unix and WASI.

use std::fs::{File, Metadata};
use std::io;

use zeroize::Zeroize as _;

/// Prompts at the terminal with echo off.
pub(crate) fn ask<T>(prompt: &str, read: impl FnOnce(&mut io::Cursor<Vec<u8>>) -> T) -> io::Result<T> {
    let mut answer = io::Cursor::new(rpassword::prompt_password(prompt)?.into_bytes());
    let asked = read(&mut answer);
    answer.get_mut().zeroize();
    Ok(asked)
}

/// Closes a file, or a duplicate of a standard stream.
pub(crate) fn leave(file: File) {
    drop(file);
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
