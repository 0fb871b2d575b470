//! The targets of a search: encrypted files, or data that is known. Each has a key of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use crossgrain_search::Search;
use pyo3::prelude::*;

use crate::Error;
use crate::search::{Job, told};

/// A search for the keys of all targets.
pub(crate) struct Sought {
    pub(crate) search: Search,
    /// For each target, whether wrong keys fit often. All that fit are reported then.
    is_doubtful: Vec<bool>,
}

/// Which targets are found, and when the search is over.
pub(crate) struct Goals {
    /// For each target, whether all keys are wanted that fit.
    is_open: Vec<bool>,
    is_found: Vec<AtomicBool>,
    /// Whether one target is enough.
    any: bool,
}

impl Job<'_> {
    /// The search for the keys of all targets.
    pub(crate) fn sought(&self, py: Python<'_>) -> PyResult<Sought> {
        let mut all = Vec::new();
        for header in &self.headers {
            all.push(header.search(py, &self.facts)?);
        }
        for (index, pair) in self.targets.iter().enumerate() {
            let search = self.known_search(std::slice::from_ref(pair));
            let search = search.map_err(|why| {
                let why = why.value(py);
                Error::new_err(format!("targets[{index}]: {why}"))
            });
            all.push((search?, false));
        }
        if all.is_empty() {
            all.push((self.known_search(&self.known)?, false));
        }
        let (mut searches, is_doubtful): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let search = match (searches.len(), searches.pop()) {
            (1, Some(one)) => one,
            (_, last) => {
                searches.extend(last);
                Search::several(searches).map_err(told)?
            }
        };
        Ok(Sought { search, is_doubtful })
    }

    /// The search for the keys of all targets, without the state of each.
    pub(crate) fn search(&self, py: Python<'_>) -> PyResult<Search> {
        Ok(self.sought(py)?.search)
    }
}

impl Goals {
    /// The targets of a search. Those in `finished` are found already.
    pub(crate) fn new(sought: &Sought, goes_on: bool, any: bool, finished: &[usize]) -> Self {
        let is_open: Vec<_> = sought.is_doubtful.iter().map(|is_doubtful| goes_on || *is_doubtful).collect();
        let is_found = (0..is_open.len()).map(|target| AtomicBool::new(finished.contains(&target)));
        finished.iter().for_each(|target| sought.search.finish(*target));
        Self { is_found: is_found.collect(), is_open, any }
    }

    /// Records that a key of a target was found. Returns whether it is wanted: of most targets, one key is enough.
    pub(crate) fn find(&self, target: usize) -> bool {
        let was_found = self.is_found.get(target).is_some_and(|found| found.swap(true, Ordering::Relaxed));
        !was_found || self.is_open(target)
    }

    /// Whether all keys of a target are wanted that fit.
    pub(crate) fn is_open(&self, target: usize) -> bool {
        self.is_open.get(target).is_some_and(|is_open| *is_open)
    }

    /// Whether enough targets are found and no more keys are wanted.
    pub(crate) fn are_over(&self) -> bool {
        let is_over = |target: usize| self.is_found[target].load(Ordering::Relaxed) && !self.is_open(target);
        let mut each = 0..self.is_found.len();
        if self.any { each.any(is_over) } else { each.all(is_over) }
    }
}
