//! The rules for the release assembly.
//!
//! A missing `#[inline(always)]` does not change results. It turns every gate into a call, a hundred times
//! slower. Each rule looks for the traces that mistakes of this kind leave in the text.

use std::collections::BTreeMap;

use super::isa::Isa;
use super::name::{self, is_gate, is_intrinsic, is_own_code};
use super::parse::{Callee, Function};

/// A kernel: the instantiation of an ISA's entry, with everything inlined into it.
#[derive(Debug)]
pub(crate) struct Kernel<'f, 't> {
    /// The ISA, as in the entry's name.
    pub(crate) isa: &'f str,
    /// The type of the computation, as Rust writes it.
    pub(crate) name: &'f str,
    /// The code.
    pub(crate) code: &'f Function<'t>,
}

/// All kernels, by ISA and name.
pub(crate) fn kernels<'f, 't>(functions: &'f [Function<'t>]) -> Vec<Kernel<'f, 't>> {
    let kernel =
        |code: &'f Function<'t>| name::entry(&code.name).map(|(isa, name)| Kernel { isa, name, code });
    let mut kernels: Vec<_> = functions.iter().filter_map(kernel).collect();
    kernels.sort_by_key(|kernel| (kernel.isa, kernel.name));
    kernels
}

/// Every fault, one line each.
pub(crate) fn faults(functions: &[Function<'_>], kernels: &[Kernel<'_, '_>], isas: &[Isa]) -> Vec<String> {
    let mut faults = intrinsics_left(functions);
    faults.extend(gates_left(kernels));
    faults.extend(isas.iter().flat_map(|isa| unlike(isa, kernels)));
    faults.extend(strangers(kernels, isas));
    faults.extend(astray(kernels));
    faults
}

/// Rule 1: an intrinsic must become an instruction. No function is one, and none is called.
fn intrinsics_left(functions: &[Function<'_>]) -> Vec<String> {
    let names = functions.iter().map(|function| function.name.as_str());
    let defined = names.filter(|name| is_intrinsic(name));
    let mut faults: Vec<_> =
        defined.map(|name| format!("intrinsic left as a function: {}", name::short(name))).collect();
    faults.extend(calls("intrinsic called", functions.iter(), is_intrinsic));
    faults
}

/// Rule 2: a kernel calls no gate, and no other code of the library. Calls of other kernels are allowed,
/// because each kernel has a separate register allocation.
fn gates_left(kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let code = || kernels.iter().map(|kernel| kernel.code);
    let own = |name: &str| is_own_code(name) && name::entry(name).is_none() && !is_intrinsic(name);
    let gate = |name: &str| own(name) && is_gate(name);
    let other = |name: &str| own(name) && !is_gate(name);
    let mut faults = calls("gate called", code(), gate);
    faults.extend(calls("kernel code not inlined", code(), other));
    faults
}

/// The calls of `callers` to functions that match `is_meant`, one line for each callee.
fn calls<'f>(
    fault: &str,
    callers: impl Iterator<Item = &'f Function<'f>>,
    is_meant: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut sites: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for caller in callers {
        for callee in caller.calls() {
            if let Callee::Named(name) = callee
                && is_meant(&name)
            {
                sites.entry(name).or_default().push(&caller.name);
            }
        }
    }
    let line = |(callee, by): (String, Vec<&str>)| {
        let (callee, first) = (name::short(&callee), name::short(by[0]));
        format!("{fault}: {callee} (x{}), first by {first}", by.len())
    };
    sites.into_iter().map(line).collect()
}

/// Rule 3: every ISA has kernels, and they use its instructions.
fn unlike(isa: &Isa, kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let own: Vec<_> = kernels.iter().filter(|kernel| kernel.isa == isa.name).collect();
    if own.is_empty() {
        return vec![format!("{}: no kernel is entered through enter_{0}", isa.name)];
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
        faults.push(format!("{}: no kernel has the instructions it is there for", isa.name));
    }
    faults
}

/// Rule 3, in the other direction: kernels of an ISA that is not in the table would not be checked.
fn strangers(kernels: &[Kernel<'_, '_>], isas: &[Isa]) -> Vec<String> {
    let is_known = |name: &str| isas.iter().any(|isa| isa.name == name);
    let mut strangers: Vec<_> = kernels.iter().map(|kernel| kernel.isa).collect();
    strangers.retain(|name| !is_known(name));
    strangers.dedup();
    strangers.into_iter().map(|name| format!("enter_{name} is missing from the table of ISAs")).collect()
}

/// Rule 4: a kernel that keeps wide registers on the stack must align its frame to a cache line. Otherwise
/// the alignment of these slots to lines and pages would vary by chance from process to process.
fn astray(kernels: &[Kernel<'_, '_>]) -> Vec<String> {
    let astray = kernels.iter().filter(|kernel| kernel.code.spills_wide() && !kernel.code.aligns_frame());
    astray.map(|kernel| format!("frame not aligned: {}", name::short(&kernel.code.name))).collect()
}
