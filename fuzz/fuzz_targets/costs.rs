//! Cost files for `plan --costs`.
//!
//! Holds: nothing panics. A file that parses is equal to itself after a round trip through JSON. If the planner finds a best path,
//! its total is finite, and no path of the report is cheaper.

#![no_main]

use crossgrain::plan::compose::{Answer, CostFile};
use libfuzzer_sys::fuzz_target;

/// Larger files are valid, but slow: the parser treats them alike.
const PARTS_MAX: usize = 64;

fuzz_target!(|text: &str| {
    let Ok(file) = text.parse::<CostFile>() else { return };
    let json = serde_json::to_string(&file).expect("a cost file is strings and finite numbers");
    assert_eq!(json.parse::<CostFile>().as_ref(), Ok(&file));
    if file.rounds.saturating_mul(file.parts.len()) > PARTS_MAX {
        let _ = file.flow();
        return;
    }
    match file.flow().and_then(|flow| flow.at(1).report(3)) {
        Ok(report) => {
            let answer = Answer::from(&report);
            assert!(answer.best.total.is_finite());
            assert!(answer.best.total <= answer.greedy.total);
            assert!(answer.runners_up.iter().all(|next| answer.best.total <= next.total));
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
});
