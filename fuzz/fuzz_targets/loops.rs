//! Programs in the language of loops: the parser, the analysis, and the emitters.
//!
//! Holds: nothing panics. A fault is one line. Loops that the analysis calls parallel leave the same result in any order.

#![no_main]

use crossgrain_deps::loops::{Analysis, Fault, Language, Program};
use libfuzzer_sys::fuzz_target;

fn analysed(text: &str) -> Result<(), Fault> {
    let analysis = Analysis::of(&Program::parse(text)?)?;
    let agrees = analysis.agrees()?;
    assert!(agrees, "{:#?}", analysis.loops);
    for language in [Language::C, Language::Rust] {
        analysis.emit(language);
    }
    Ok(())
}

fuzz_target!(|text: &str| {
    if let Err(fault) = analysed(text) {
        assert!(!fault.to_string().contains('\n'));
    }
});
