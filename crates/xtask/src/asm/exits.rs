//! Rule 6: a public function that may run a kernel clears the registers before it returns.
//!
//! First, the machine code of [`CLEARER`] is checked: on every path, each register of the path's instruction
//! set must become zero (`exits/clears.rs`). Second, each function that the listing of the public interface
//! names, and each job of a worker thread, is checked. After the last call that may reach a kernel, every
//! path to a return must call the clearer (`exits/reach.rs`).
//!
//! Limits: calls through pointers count as kernels only in the modules of `reach::CALL_KERNELS`, and planning
//! is taken to have no key. The check cannot show that the clearer takes the path of the present CPU. Generic
//! functions exist only where they are instantiated, and are counted as not read. Paths of an unwinding panic
//! are not followed. The check does not see values that a function moves through registers after the
//! clearing, directly or by a memory copy; `tests/memory.rs` looks for those.

mod clears;
mod exceptions;
mod reach;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::name;
use super::parse::Function;
use exceptions::{EXCEPTIONS, Exception};

/// The last part of the path of the function that clears registers, in the module of words. Names of its
/// helpers begin with the same word.
pub(crate) const CLEARER: &str = "clear_registers";

/// Where functions of the public interface are listed, from the root of the checkout.
pub(crate) const LISTING: &str = "docs/api/crossgrain.txt";

/// Public types that hold a key, and their traits. The public functions of these are checked.
#[rustfmt::skip] // a list: keys, modes, random streams
const HOLDERS: &[&str] = &[
    "Key", "SivKey", "XtsKey",
    "Aead", "Ccm", "Chained", "Cmac", "Ctr", "Eax", "Ecb", "Gcm", "GcmSiv", "Ocb", "OwnKeys", "Siv", "Unauthenticated", "Xts",
    "KeyedRng", "Stream", "StreamRng",
];

/// The function that does a thread's share of a job.
const SHARE: &str = "<crossgrain::run::threads::Threads>::together::{closure#0}";

/// The result of reading.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) faults: Vec<String>,
    /// Public functions and shares of jobs that may run a kernel.
    pub(crate) entries: usize,
    /// Public functions that are not in the text: generic ones, and inlined ones.
    pub(crate) unread: BTreeSet<String>,
}

/// Checks the clearer, and that everything in `listing` reaches it.
pub(crate) fn read(functions: &[Function<'_>], listing: &str) -> Read {
    read_but(EXCEPTIONS, functions, listing)
}

/// [`read`] with these exceptions.
pub(crate) fn read_but(exceptions: &[Exception], functions: &[Function<'_>], listing: &str) -> Read {
    let clearers: Vec<usize> =
        (0..functions.len()).filter(|&place| name::is_of_words(&functions[place].name, CLEARER)).collect();
    let Some(&first) = clearers.first() else {
        let faults = vec![format!("no function of the words is called {CLEARER}")];
        return Read { faults, ..Read::default() };
    };
    let faults = clears::faults(functions, first, CLEARER);
    let mut read =
        Read { faults: faults.iter().map(|fault| format!("{CLEARER} {fault}")).collect(), ..Read::default() };
    let mut unused: BTreeSet<&str> = exceptions.iter().map(|exception| exception.function).collect();
    let summaries = reach::summaries(functions, &clearers);
    let mut public = Public::of(listing);
    let mut has_share = false;
    for (function, summary) in functions.iter().zip(summaries) {
        let is_share = function.name.starts_with(SHARE);
        has_share |= is_share;
        let listed = public.take(&function.name);
        if listed.is_empty() && !is_share || !summary.runs_kernels {
            continue;
        }
        read.entries += 1;
        if summary.from_clean {
            let is_for = |exception: &&Exception| listed.iter().any(|name| name == exception.function);
            match exceptions.iter().find(is_for) {
                Some(exception) => _ = unused.remove(exception.function),
                None => {
                    let short = name::short(&function.name);
                    read.faults.push(format!("may return with a kernel's registers: {short}"));
                }
            }
        }
    }
    if !has_share {
        read.faults.push(format!("no function is {SHARE}"));
    }
    read.faults.sort();
    read.faults.dedup();
    read.unread = public.unread;
    read.faults.extend(unused.into_iter().map(|function| format!("unused exception: {function}; remove it")));
    read
}

/// The exceptions, one line each.
pub(crate) fn justified() -> impl Iterator<Item = String> {
    EXCEPTIONS
        .iter()
        .map(|it| format!("allowed: {} returns without clearing registers: {}", it.function, it.reason))
}

/// The functions of the public interface that may work with a key, as `Type::function`.
struct Public {
    functions: BTreeSet<String>,
    unread: BTreeSet<String>,
}

impl Public {
    fn of(listing: &str) -> Self {
        let functions: BTreeSet<String> = listing.lines().filter_map(function_of).collect();
        Self { unread: functions.clone(), functions }
    }

    /// The names of the function in the listing. The function then counts as read.
    fn take(&mut self, name: &str) -> Vec<String> {
        let found: Vec<_> =
            name::listed(name).into_iter().filter(|name| self.functions.contains(name)).collect();
        found.iter().for_each(|name| _ = self.unread.remove(name));
        found
    }
}

/// `Type::function` of a line of the listing, if the type holds a key.
fn function_of(line: &str) -> Option<String> {
    let path = line.strip_prefix("fn ")?.split(['(', '<']).next()?;
    let mut parts = path.rsplit("::");
    let (function, owner) = (parts.next()?, parts.next()?);
    HOLDERS.contains(&owner).then(|| format!("{owner}::{function}"))
}
