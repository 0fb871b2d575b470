//! The rules that release assembly must keep, and what breaks them.
//!
//! A missing `#[inline(always)]` changes no answer: it makes a call of every gate, a hundred times
//! slower. So each rule looks for what such a slip leaves in the text.

use std::collections::BTreeMap;

use super::isa::{ISAS, Isa};
use super::name::{self, is_gate, is_intrinsic, works_on_words};
use super::parse::{Callee, Function};

/// A kernel: the instantiation of an ISA's entry, with everything inlined into it.
#[derive(Debug)]
pub(crate) struct Kernel<'f, 't> {
    /// The ISA, as in the entry's name.
    pub(crate) isa: &'f str,
    /// What is computed, as Rust writes the type.
    pub(crate) name: &'f str,
    /// The code.
    pub(crate) code: &'f Function<'t>,
}

/// All kernels, by ISA and name.
pub(crate) fn kernels<'f, 't>(functions: &'f [Function<'t>]) -> Vec<Kernel<'f, 't>> {
    let kernel = |code: &'f Function<'t>| {
        name::entry(&code.name).map(|(isa, name)| Kernel { isa, name, code })
    };
    let mut kernels: Vec<_> = functions.iter().filter_map(kernel).collect();
    kernels.sort_by_key(|kernel| (kernel.isa, kernel.name));
    kernels
}

/// Every fault, one line each.
pub(crate) fn faults(functions: &[Function<'_>], kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let mut faults = intrinsics_left(functions);
    faults.extend(kernels.iter().flat_map(gates_left));
    faults.extend(ISAS.iter().flat_map(|isa| unlike(isa, kernels)));
    faults.extend(strangers(kernels));
    faults
}

/// Rule 1: an intrinsic is an instruction. None is a function, and none is called.
fn intrinsics_left(functions: &[Function<'_>]) -> Vec<String> {
    let is_defined = |function: &&Function<'_>| is_intrinsic(&function.name);
    let defined = functions.iter().filter(is_defined);
    let defined =
        defined.map(|function| format!("intrinsic left as a function: {}", function.name));
    let called = functions
        .iter()
        .flat_map(|function| called(function, is_intrinsic));
    defined
        .chain(called.map(|call| format!("intrinsic called: {call}")))
        .collect()
}

/// Rule 2: a kernel calls no gate, and nothing else that computes on words. Other kernels may be
/// called: they are entered with registers of their own.
fn gates_left(kernel: &Kernel<'_, '_>) -> Vec<String> {
    let gate = |name: &str| is_gate(name) && name::entry(name).is_none();
    let outside = |name: &str| works_on_words(name) && !is_gate(name) && !is_intrinsic(name);
    let gates = called(kernel.code, gate).map(|call| format!("gate called: {call}"));
    let others = called(kernel.code, outside);
    gates
        .chain(others.map(|call| format!("kernel code not inlined: {call}")))
        .collect()
}

/// Rule 3: an ISA has kernels, and they use it.
fn unlike(isa: &Isa, kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let own: Vec<_> = kernels
        .iter()
        .filter(|kernel| kernel.isa == isa.name)
        .collect();
    if own.is_empty() {
        return vec![format!(
            "{}: no kernel is entered through enter_{0}",
            isa.name
        )];
    }
    let mut faults = Vec::new();
    for kernel in &own {
        let name = name::short(&kernel.code.name);
        if !isa.every.is_in(kernel.code) {
            faults.push(format!("{}: not its instructions: {name}", isa.name));
        }
        for register in isa.never {
            if kernel.code.names(register) {
                faults.push(format!("{}: uses {register}: {name}", isa.name));
            }
        }
    }
    if !own.iter().any(|kernel| isa.some.is_in(kernel.code)) {
        faults.push(format!(
            "{}: no kernel has the instructions it is there for",
            isa.name
        ));
    }
    faults
}

/// Rule 3, the other way round: an ISA that the table does not know is checked by nothing.
fn strangers(kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let is_known = |name: &str| ISAS.iter().any(|isa| isa.name == name);
    let mut strangers: Vec<_> = kernels.iter().map(|kernel| kernel.isa).collect();
    strangers.retain(|name| !is_known(name));
    strangers.dedup();
    strangers
        .into_iter()
        .map(|name| format!("enter_{name} is missing from the table of ISAs"))
        .collect()
}

/// The calls of `function` to what `is_meant`: a line for each callee, with its number.
fn called(
    function: &Function<'_>,
    is_meant: impl Fn(&str) -> bool,
) -> impl Iterator<Item = String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for callee in function.calls() {
        if let Callee::Named(name) = callee
            && is_meant(&name)
        {
            *counts.entry(name).or_default() += 1;
        }
    }
    let caller = name::short(&function.name);
    counts
        .into_iter()
        .map(move |(name, count)| format!("{} (x{count}) by {caller}", name::short(&name)))
}
