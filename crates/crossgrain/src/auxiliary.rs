//! Auxiliary files: wisdom, plans, costs, rules, caches. They must be regular files, and opening one never
//! blocks.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens an auxiliary file, or creates it if `options` say so. Does not wait for the other end of a pipe.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a pipe, socket or device, [`io::ErrorKind::IsADirectory`], and errors
/// of the system.
pub fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK);
    let opened = options.open(path);
    // Opening a socket, or a pipe without a reader, fails with a system error that does not name the file
    // type.
    let kind = match &opened {
        Ok(file) => file.metadata()?.file_type(),
        Err(_) => match path.metadata() {
            Ok(metadata) => metadata.file_type(),
            Err(_) => return opened,
        },
    };
    match kind {
        kind if kind.is_file() => opened,
        kind if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file, name one")),
    }
}

/// Reads the first `limit_bytes` of an auxiliary file.
///
/// # Errors
/// As [`open`].
pub fn read(path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(File::options().read(true), path)?.take(limit_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}
