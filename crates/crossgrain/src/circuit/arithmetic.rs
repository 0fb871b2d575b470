//! Arithmetic in CUDA C and WGSL: 64-bit products, shifts by a count per lane, and floating point.
//!
//! In CUDA C each rounded operation is an intrinsic, which the compiler neither reorders nor fuses. WGSL
//! guarantees for `f32` neither the rounding nor subnormal numbers, allows compilers to fuse multiplication
//! and addition, and has no `f64`. Functions in WGSL are therefore traced from the integer implementations in
//! `crate::arch`, and a 64-bit number is a vector of two words.
//! Source: CUDA C++ Programming Guide, "Mathematical Functions"; WGSL (W3C), "Floating Point Evaluation".
//! Invariant: both languages give the same bits, except in NaNs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::emit::{Language, Signature, function};
use super::graph::{Graph, Operation};
use super::trace::{Width, trace_words};
use crate::arch::{Arithmetic, Integer, U64, computed_by_integers, multiply_high_by_halves};

/// The expression for an operation on these names, if the languages differ.
pub(super) fn expression(language: Language, operation: Operation, names: &[String]) -> Option<String> {
    let [a, b] = [0, 1].map(|at| names.get(at).map_or("", |name| &name[..]));
    Some(match (language, operation) {
        (_, Operation::LookUp(number)) => format!("table{number}[{a}]"),
        (_, Operation::ShiftLeftBy) => format!("{a} << ({b} & 31u)"),
        (_, Operation::ShiftRightBy) => format!("{a} >> ({b} & 31u)"),
        (Language::Cuda, Operation::LeadingZeros) => format!("(u32)__clz({a})"),
        (Language::Cuda, Operation::MultiplyHigh) => format!("__umulhi({a}, {b})"),
        (Language::Cuda, Operation::Pair) => format!("__hiloint2double({b}, {a})"),
        (Language::Cuda, Operation::Low) => format!("(u32)__double2loint({a})"),
        (Language::Cuda, Operation::High) => format!("(u32)__double2hiint({a})"),
        (Language::Cuda, Operation::Double(operation)) => cuda(operation, "d", a, b),
        (Language::Cuda, Operation::Single(operation)) => {
            let [a, b] = [a, b].map(|name| format!("__uint_as_float({name})"));
            let result = cuda(operation, "f", &a, &b);
            if is_comparison(operation) { result } else { format!("__float_as_uint({result})") }
        }
        (Language::Wgsl, Operation::LeadingZeros) => format!("countLeadingZeros({a})"),
        (Language::Wgsl, Operation::Pair) => format!("vec2<u32>({a}, {b})"),
        (Language::Wgsl, Operation::Low) => format!("{a}.x"),
        (Language::Wgsl, Operation::High) => format!("{a}.y"),
        (Language::Wgsl, operation) => format!("{}({})", called(operation)?, names.join(", ")),
        _ => return None,
    })
}

/// Declares a graph's tables as constant arrays in a function.
pub(super) fn tables(graph: &Graph, language: Language) -> String {
    let entries =
        |table: &[u32]| table.iter().map(|entry| format!("{entry:#x}u")).collect::<Vec<_>>().join(", ");
    let table = |(number, table): (usize, &Vec<u32>)| match language {
        Language::Cuda => {
            format!("    static const u32 table{number}[{}] = {{{}}};\n", table.len(), entries(table))
        }
        Language::Wgsl => {
            format!("    const table{number} = array<u32, {}>({});\n", table.len(), entries(table))
        }
    };
    graph.tables().iter().enumerate().map(table).collect()
}

const fn is_comparison(operation: Arithmetic) -> bool {
    matches!(operation, Arithmetic::Less | Arithmetic::Equal)
}

/// The CUDA C expression for numbers of this kind: `d` for 64 bits, `f` for 32.
fn cuda(operation: Arithmetic, kind: &str, a: &str, b: &str) -> String {
    match operation {
        Arithmetic::Add => format!("__{kind}add_rn({a}, {b})"),
        Arithmetic::Multiply => format!("__{kind}mul_rn({a}, {b})"),
        Arithmetic::Divide => format!("__{kind}div_rn({a}, {b})"),
        Arithmetic::Root => format!("__{kind}sqrt_rn({a})"),
        Arithmetic::Less => format!("{a} < {b} ? 0xffffffffu : 0u"),
        Arithmetic::Equal => format!("{a} == {b} ? 0xffffffffu : 0u"),
    }
}

/// The name of the function that WGSL calls for an operation, if any.
fn called(operation: Operation) -> Option<String> {
    let name = |operation: Arithmetic, kind| format!("{operation:?}_{kind}").to_lowercase();
    match operation {
        Operation::MultiplyHigh => Some("multiply_high".to_owned()),
        Operation::Single(operation) => Some(name(operation, "f32")),
        Operation::Double(operation) => Some(name(operation, "f64")),
        _ => None,
    }
}

/// Defines the functions that these graphs call, each once and after the functions that it calls.
pub fn called_by(graphs: &[&Graph], language: Language) -> String {
    let is_called = |operation: &Operation| language == Language::Wgsl && called(*operation).is_some();
    let operations = graphs.iter().flat_map(|graph| graph.gates()).map(|gate| gate.operation);
    let mut called: BTreeSet<_> = operations.filter(is_called).collect();
    // Products call this function.
    let calls_product = |operation: &Operation| {
        matches!(operation, Operation::Single(Arithmetic::Multiply) | Operation::Double(Arithmetic::Multiply))
    };
    if called.iter().any(calls_product) {
        called.insert(Operation::MultiplyHigh);
    }
    let (first, others): (Vec<_>, Vec<_>) =
        called.into_iter().partition(|operation| *operation == Operation::MultiplyHigh);
    first.into_iter().chain(others).map(text).collect()
}

/// The definition of an operation's function in WGSL. Each is traced once and cached, because tracing takes
/// longer than all the other printing.
fn text(operation: Operation) -> String {
    static TEXTS: Mutex<BTreeMap<Operation, String>> = Mutex::new(BTreeMap::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.entry(operation).or_insert_with(|| traced(operation)).clone()
}

fn traced(operation: Operation) -> String {
    let name = called(operation).unwrap_or_default();
    let is_unary =
        matches!(operation, Operation::Single(Arithmetic::Root) | Operation::Double(Arithmetic::Root));
    let numbers = if is_unary { &["a"][..] } else { &["a", "b"] };
    let Operation::Double(arithmetic) = operation else {
        let graph = trace_words(Width::Three, numbers.len(), |words| {
            let [a, b] = [words[0], words[words.len() - 1]];
            match operation {
                Operation::Single(operation) => vec![computed_by_integers(operation, a, b)],
                _ => vec![multiply_high_by_halves(a, b)],
            }
        });
        return written(&graph, &name, numbers, ("u32", &[""]), "u32");
    };
    let graph = trace_words(Width::Three, 2 * numbers.len(), |words| {
        let [a, b] = [0, words.len() - 2].map(|at| U64 { low: words[at], high: words[at + 1] });
        let result = computed_by_integers(arithmetic, a, b);
        if is_comparison(arithmetic) { vec![result.top()] } else { result.words().to_vec() }
    });
    let result = if is_comparison(arithmetic) { "u32" } else { "vec2<u32>" };
    written(&graph, &name, numbers, ("vec2<u32>", &[".x", ".y"]), result)
}

/// Defines a function whose numbers have the type `kind` with these parts.
fn written(
    graph: &Graph,
    name: &str,
    numbers: &[&str],
    (kind, parts): (&str, &[&str]),
    result: &str,
) -> String {
    let parameters: Vec<_> = numbers.iter().map(|&number| (number, kind)).collect();
    let inputs = numbers.iter().flat_map(|number| parts.iter().map(move |part| format!("{number}{part}")));
    let outputs: &[&str] = if result == "u32" { &[""] } else { parts };
    let signature = Signature {
        parameters: &parameters,
        inputs: inputs.collect(),
        result,
        outputs: outputs.iter().map(|&part| part.to_owned()).collect(),
    };
    function(graph, name, &signature, Language::Wgsl)
}
