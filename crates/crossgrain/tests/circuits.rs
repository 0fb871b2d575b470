//! Circuits as graphs: tracing, mapping, scheduling, synthesis and emission preserve the function.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::process::Command;

use crossgrain::engine::cipher::Description;
use crossgrain::engine::cipher::kuznyechik::Kuznyechik;
use crossgrain::engine::cipher::sbox::AES;
use crossgrain::engine::cipher::serpent::description as serpent;
use crossgrain::engine::circuit::emit::{self, Language};
use crossgrain::engine::circuit::graph::Graph;
use crossgrain::engine::circuit::map::map;
use crossgrain::engine::circuit::named::{self, Named};
use crossgrain::engine::circuit::synthesize::{Table, TableError, synthesize};
use crossgrain::engine::circuit::trace::{Width, trace};
use proptest::prelude::*;

const WIDTHS: [Width; 2] = [Width::Two, Width::Three];

/// The named S-boxes and the tables of the reference.
fn boxes() -> Vec<(Named, Vec<u64>)> {
    named::ALL.into_iter().filter_map(|circuit| Some((circuit, table(circuit.name)?))).collect()
}

fn table(name: &str) -> Option<Vec<u64>> {
    let table: Vec<u8> = match name {
        "aes-sbox" => AES.table.to_vec(),
        "aes-inverse-sbox" => inverse(&AES.table),
        "kuznyechik-sbox" => Kuznyechik::BOXES[0].table.to_vec(),
        "kuznyechik-inverse-sbox" => inverse(&Kuznyechik::BOXES[0].table),
        _ => {
            let index = name.strip_prefix("serpent-s")?;
            let forward = &serpent::S_BOXES[usize::from(index.as_bytes()[0] - b'0')];
            if index.ends_with("inverse") { inverse(forward) } else { forward.to_vec() }
        }
    };
    Some(table.into_iter().map(u64::from).collect())
}

fn inverse(table: &[u8]) -> Vec<u8> {
    (0..table.len())
        .map(|value| table.iter().position(|&entry| usize::from(entry) == value).unwrap() as u8)
        .collect()
}

/// Words that differ in many lanes.
fn samples(count: usize) -> Vec<u32> {
    (1..=count as u32).map(|at| at.wrapping_mul(0x9e37_79b9).rotate_left(at) ^ at << 7).collect()
}

fn same(a: &Graph, b: &Graph) -> bool {
    let inputs = samples(a.inputs());
    a.evaluate(&inputs) == b.evaluate(&inputs)
}

#[test]
fn what_is_constant_or_twice_there_is_no_gate() {
    let gates = |graph: Graph| graph.gates().len();
    assert_eq!(trace(Width::Two, |[a, b]: [_; 2]| [a ^ b, b ^ a, !!(a ^ b)]).gates().len(), 1);
    assert_eq!(trace(Width::Two, |[a, b]: [_; 2]| [(a ^ b) ^ b, !!a]).outputs(), [0, 0]);
    assert_eq!(gates(trace(Width::Two, |[a, b]: [_; 2]| [(a & !a) ^ b, b])), 0);
    assert_eq!(gates(trace(Width::Two, |[a, b]: [_; 2]| [!(!a & !b)])), 1, "complements are part of gates");
    assert_eq!(
        gates(trace(Width::Two, |[a, b]: [_; 2]| {
            let _unused = a & b;
            [a ^ b]
        })),
        1
    );
    assert_eq!(
        gates(trace(Width::Two, |[a]: [_; 1]| [a ^ a])),
        1,
        "a constant output is a gate of no inputs"
    );
}

#[test]
fn a_panic_leaves_the_trace_around_it_as_it_was() {
    let graph = trace(Width::Two, |[a, b]: [_; 2]| {
        let sum = a ^ b;
        let inner = std::panic::catch_unwind(|| trace(Width::Three, |[_]: [_; 1]| -> [_; 1] { panic!() }));
        assert!(inner.is_err());
        [sum & a]
    });
    assert_eq!(graph, trace(Width::Two, |[a, b]: [_; 2]| [(a ^ b) & a]));
}

#[test]
fn depth_and_registers_are_counted() {
    let graph = trace(Width::Two, |[a, b, c, d]: [_; 4]| [(a ^ b) & (c ^ d)]);
    assert_eq!((graph.gates().len(), graph.depth(), graph.live()), (3, 2, 4));
    assert_eq!(graph.spills(4).reloads, 0);
}

#[test]
fn named_s_boxes_are_the_reference_tables() {
    for (circuit, table) in boxes() {
        let table = Table::new(&table).unwrap();
        for width in WIDTHS {
            let graph = circuit.graph(width);
            assert!(table.is_computed_by(&graph), "{}", circuit.name);
            let found = synthesize(&table, width).unwrap();
            assert!(found.gates().len() <= graph.gates().len(), "{} is recognised", circuit.name);
        }
    }
}

#[test]
fn mapping_and_scheduling_keep_the_function() {
    for circuit in named::ALL {
        for width in WIDTHS {
            let graph = circuit.graph(width);
            let mapped = map(&graph);
            assert!(same(&graph, &mapped), "{}", circuit.name);
            let scheduled = mapped.scheduled();
            assert!(same(&graph, &scheduled) && scheduled.live() <= mapped.live(), "{}", circuit.name);
            assert!(mapped.gates().iter().all(|gate| gate.inputs.len() <= 3));
        }
    }
}

#[test]
fn mapped_circuits_are_as_small_as_published() {
    let gates = |name: &str| map(&named::find(name).unwrap().graph(Width::Three)).gates().len();
    assert_eq!(named::find("aes-sbox").unwrap().graph(Width::Two).gates().len(), 115);
    for (name, bar) in [("aes-sbox", 74), ("aes-inverse-sbox", 73), ("mix-columns-with-key", 92)] {
        assert!(gates(name) <= bar, "{name}: {}", gates(name));
    }
    for (index, bar) in [8, 8, 9, 9, 9, 9, 9, 9].into_iter().enumerate() {
        assert!(gates(&format!("serpent-s{index}")) <= bar);
    }
}

#[test]
fn what_is_no_table_is_refused() {
    assert_eq!(Table::new(&[1, 2, 3]), Err(TableError::Entries(3)));
    assert_eq!(Table::new(&[]), Err(TableError::Entries(0)));
    assert_eq!(Table::new(&[0; 512]), Err(TableError::Entries(512)));
    assert_eq!(Table::new(&[0, 256]), Err(TableError::Value { index: 1, value: 256 }));
}

/// A table whose smallest circuit has a NOR as an output, and that NOR comes from an absorbed complement.
#[test]
fn a_nor_is_no_complement() {
    let table = Table::new(&[1, 8, 4, 3, 14, 0, 11, 14]).unwrap();
    assert!(table.is_computed_by(&synthesize(&table, Width::Two).unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_table_becomes_a_circuit(inputs in 1_u32..=8, bits in 1_u32..=8, values in prop::collection::vec(any::<u8>(), 256)) {
        let values: Vec<_> = values[..1 << inputs].iter().map(|&value| u64::from(value) & ((1 << bits) - 1)).collect();
        let table = Table::new(&values).unwrap();
        prop_assert!(table.is_computed_by(&synthesize(&table, Width::Two).unwrap()));
    }
}

/// The emitted text as a C++ program that prints the outputs for `samples`.
fn program(circuit: &Named, graph: &Graph) -> String {
    let inputs: Vec<_> = samples(graph.inputs()).iter().map(|word| format!("{word}u")).collect();
    format!(
        "#include <stdio.h>\n#define __device__ static\n#define __forceinline__ inline\n{}\nint main() {{\n\
         const Words{} x = {{{{{}}}}};\nconst auto y = {}(x);\n\
         for (int i = 0; i < {}; i++) printf(\"%u\\n\", y.x[i]);\n}}\n",
        emit::circuit(graph, circuit.name, Language::Cuda),
        graph.inputs(),
        inputs.join(", "),
        circuit.name.replace('-', "_"),
        graph.outputs().len(),
    )
}

#[test]
fn emitted_cuda_computes_the_circuit() {
    let folder = tempfile();
    for (circuit, width) in named::ALL.iter().flat_map(|circuit| WIDTHS.map(|width| (circuit, width))) {
        let graph = circuit.graph(width).scheduled();
        let (source, binary) = (folder.join("circuit.cpp"), folder.join("circuit"));
        std::fs::write(&source, program(circuit, &graph)).unwrap();
        let compiled = Command::new("c++").arg("-w").arg(&source).arg("-o").arg(&binary).status();
        let Ok(compiled) = compiled else { return eprintln!("skipped: there is no c++ to compile with") };
        assert!(compiled.success(), "{}", circuit.name);
        let printed = String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap();
        let printed: Vec<u32> = printed.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(printed, graph.evaluate(&samples(graph.inputs())), "{}", circuit.name);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A folder for this process.
fn tempfile() -> std::path::PathBuf {
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("circuits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
