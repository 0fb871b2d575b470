//! Services of the operating system that the standard library and `crossgrain_files` do not provide: terminal
//! input without echo, single keys, disabled core dumps, whether standard streams were open at program start, and whether
//! two open files are the same.
//!
//! `unix`, `wasi` and `other` define the same functions; `other` gives the defaults for systems without these
//! services.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;

#[cfg(target_os = "wasi")]
mod wasi;
#[cfg(target_os = "wasi")]
use wasi as imp;
#[cfg(target_os = "wasi")]
pub(crate) use wasi::standard_stream;

#[cfg(not(any(unix, target_os = "wasi")))]
mod other;
#[cfg(not(any(unix, target_os = "wasi")))]
use other as imp;

pub(crate) use imp::{KeyInput, ask, began_closed, descriptor, is_one, leave, no_core_dumps};
