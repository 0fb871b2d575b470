//! What the system is asked for beyond the standard library and `crossgrain_files`: a terminal without echo, no core dumps, and
//! whether the standard streams were there when the program began, and what an open file is.
//!
//! Two files hold the same functions: `unix` answers, and `other` says what holds where it cannot be asked.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
use unix as imp;

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
use other as imp;

pub(crate) use imp::{ask, began_closed, is_one, no_core_dumps};
