//! Tables that circuits are made for.
//!
//! The first byte is the number of entries as a power of two and a shift that makes entries smaller. Entries follow, doubled.
//! Holds: nothing panics. A table is accepted if it has 2, 4, …, 256 entries of up to 8 bits; its circuit computes it.

#![no_main]

use crossgrain::engine::circuit::emit::{self, Language};
use crossgrain::engine::circuit::netlist::{Format, netlist};
use crossgrain::engine::circuit::synthesize::{Table, synthesize};
use crossgrain::engine::circuit::trace::Width;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, entries)) = data.split_first() else { return };
    // Larger tables take seconds each.
    let (inputs, shift) = (u32::from(first % 5), u32::from(first / 5 % 9));
    let values: Vec<_> =
        entries.iter().take(1 << inputs).map(|&entry| 2 * u64::from(entry) >> shift).collect();
    let is_table =
        values.len().is_power_of_two() && values.len() > 1 && values.iter().all(|&value| value < 256);
    match Table::new(&values) {
        Ok(table) => {
            assert!(is_table);
            for width in [Width::Two, Width::Three] {
                let graph = synthesize(&table, width).expect("every table has a circuit");
                assert!(table.is_computed_by(&graph));
                for format in [Format::Verilog, Format::Blif] {
                    assert!(netlist(&graph, "table", format).is_some());
                }
                for language in [Language::Cuda, Language::Wgsl] {
                    emit::circuit(&graph, "table", language);
                }
            }
        }
        Err(_) => assert!(!is_table),
    }
});
