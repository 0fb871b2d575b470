//! `cargo xtask asm`: builds the library's release assembly and checks its kernels.
//!
//! A kernel is generic code that must be inlined completely into one function per ISA, in which the ISA's
//! instructions are enabled. Only the assembly shows whether the compiler did that.

mod arm;
mod data;
mod exits;
mod flow;
mod isa;
mod name;
mod operand;
mod page;
mod parse;
mod rules;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use crate::qemu::ARM;
use crate::{Result, examined, has_std, pages, root};
use isa::{ARM_ISAS, ISAS, Isa};
use parse::Function;
use rules::Kernel;

/// The maximum number of faults shown. One mistake can cause hundreds.
const FAULTS_SHOWN: usize = 30;

/// Writes the table of `docs/security.md` that lists the checks of each instruction set.
///
/// # Errors
/// If the page cannot be written.
pub(crate) fn write_page() -> Result<()> {
    pages::put(page::PAGE, page::TASK, &page::table())
}

/// Checks `file`, or else the library as it is built now.
///
/// # Errors
/// If it cannot be built or read, or breaks a rule.
pub(crate) fn run(list: bool, file: Option<&Path>) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: asm (not x86-64)");
        return Ok(());
    }
    let text = match file {
        Some(file) => read(file)?,
        None => build()?,
    };
    let functions = parse::functions(&text);
    let kernels = rules::kernels(&functions);
    if list {
        kernels.iter().for_each(show_kernel);
        data::justified().chain(exits::justified()).for_each(|line| println!("{line}"));
    }
    show_totals(&kernels, ISAS);
    let mut faults = rules::faults(&functions, &kernels, ISAS);
    faults.extend(data::faults(&kernels));
    faults.extend(faults_of_exits(&functions)?);
    conclude(&faults)
}

/// Checks the library for 64-bit ARM, or the assembly in `file`.
///
/// # Errors
/// If it cannot be built or read, or breaks a rule.
pub(crate) fn run_for_arm(list: bool, file: Option<&Path>) -> Result<()> {
    let text = match file {
        Some(file) => read(file)?,
        None if has_std(ARM[0].target) => read_all(&examined::build_for_arm()?)?,
        None => {
            println!("skipped: asm ({})", ARM[0].std_remedy());
            return Ok(());
        }
    };
    let functions = parse::functions_with(&text, "//");
    let kernels = rules::kernels(&functions);
    if list {
        kernels.iter().for_each(arm::show_kernel);
    }
    show_totals(&kernels, ARM_ISAS);
    let mut faults = rules::faults(&functions, &kernels, ARM_ISAS);
    faults.extend(arm::faults(&functions, &kernels));
    conclude(&faults)
}

/// Shows the faults. Succeeds if there are none.
fn conclude(faults: &[String]) -> Result<()> {
    show_faults(faults);
    match faults.len() {
        0 => Ok(()),
        count => Err(format!("asm: {count} faults in the release assembly")),
    }
}

/// The faults of rule 6. Prints how many functions were read.
fn faults_of_exits(functions: &[Function<'_>]) -> Result<Vec<String>> {
    let listing = read(&root().join(exits::LISTING))?;
    let read = exits::read(functions, &listing);
    let (entries, unread) = (read.entries, read.unread.len());
    println!(
        "{entries} public functions and shares of jobs may run kernels; {unread} public functions are not in this text"
    );
    Ok(read.faults)
}

/// The assembly of the library as it is now.
fn build() -> Result<String> {
    read_all(&examined::build()?.assembly)
}

fn read_all(files: &[PathBuf]) -> Result<String> {
    let texts: Result<Vec<String>> = files.iter().map(|file| read(file)).collect();
    let text = texts?.concat();
    if text.is_empty() { Err("asm: the build left no assembly".to_owned()) } else { Ok(text) }
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn show_kernel(kernel: &Kernel<'_, '_>) {
    let (stores, loads) = kernel.code.stack_traffic();
    println!(
        "{:<9} {:>6} instructions {:>3} calls {:>6} bytes of stack {:>5} vector stores {:>5} loads  {}",
        kernel.isa,
        kernel.code.body.len(),
        kernel.code.calls().count(),
        kernel.code.frame_bytes(),
        stores,
        loads,
        name::short(kernel.name),
    );
}

/// One line for each ISA. The calls are the allowed ones: panics and copies of memory.
fn show_totals(kernels: &[Kernel<'_, '_>], isas: &[Isa]) {
    println!("{:<9} {:>8} {:>13} {:>6}", "isa", "kernels", "instructions", "calls");
    for isa in isas {
        let own: Vec<_> = kernels.iter().filter(|kernel| kernel.isa == isa.name).collect();
        let instructions: usize = own.iter().map(|kernel| kernel.code.body.len()).sum();
        let calls: usize = own.iter().map(|kernel| kernel.code.calls().count()).sum();
        println!("{:<9} {:>8} {instructions:>13} {calls:>6}", isa.name, own.len());
    }
}

fn show_faults(faults: &[String]) {
    for fault in faults.iter().take(FAULTS_SHOWN) {
        println!("fault: {fault}");
    }
    if faults.len() > FAULTS_SHOWN {
        println!("fault: and {} more", faults.len() - FAULTS_SHOWN);
    }
}
