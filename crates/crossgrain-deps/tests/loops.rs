//! Loops of one's own: what is known of loops of the literature, and what is no program.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod literature;

use crossgrain_deps::loops::{Analysis, Program};
use literature::{LITERATURE, verdicts};

#[test]
fn verdicts_are_those_of_the_literature() {
    assert!(LITERATURE.len() >= 25);
    for known in LITERATURE {
        let analysis = known.analysis();
        assert_eq!(verdicts(&analysis), known.loops, "{}: {:#?}", known.name, analysis.dependences);
        assert_eq!(analysis.decided.unknown, 0, "{}", known.name);
    }
}

#[test]
fn loops_called_parallel_agree_in_any_order() {
    for known in LITERATURE {
        assert_eq!(known.analysis().agrees(), Ok(true), "{}", known.name);
    }
}
