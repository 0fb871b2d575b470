//! Single-steps a program with ptrace, and counts how often each instruction of one function is executed.
//!
//! The code is not instrumented, so the counted code is the code that normally runs. One step costs two
//! context switches, tens of microseconds, so the programs get little work.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::Run;
use crate::Result;

/// The instruction that stops a process for its tracer.
const BREAKPOINT: i64 = 0xcc;

/// A traced program.
struct Traced {
    child: Child,
    pid: Pid,
    /// The difference between addresses in memory and those in the program's file.
    base: u64,
    /// The address of the function, and its original first word.
    entry: u64,
    original: i64,
}

/// Runs the program. For every second call of the function at `entry`, it passes the counts to `each`, with
/// the line that the program printed before. The first call of each pair warms up.
///
/// # Errors
/// If the program cannot be run or traced.
pub(super) fn trace(mut program: Command, entry: u64, mut each: impl FnMut(Run)) -> Result<()> {
    let path = Path::new(program.get_program()).to_owned();
    let failed = |error: &dyn std::fmt::Display| format!("cannot trace {}: {error}", path.display());
    let child =
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    let mut traced = Traced::attach(child, entry).map_err(|error| failed(&error))?;
    let lines = traced.child.stdout.take().ok_or_else(|| failed(&"no output"))?;
    let mut lines = BufReader::new(lines).lines();
    let mut is_warm = false;
    while traced.reach_entry().map_err(|error| failed(&error))? {
        let counts = traced.call(is_warm).map_err(|error| failed(&error))?;
        if is_warm {
            let line = lines.next().and_then(std::result::Result::ok).unwrap_or_default();
            let (name, len_bytes) =
                line.split_once(' ').ok_or_else(|| failed(&"it does not say what it runs"))?;
            let len_bytes = len_bytes.parse().map_err(|error| failed(&error))?;
            each(Run { name: name.to_owned(), len_bytes, counts });
        }
        is_warm = !is_warm;
    }
    Ok(())
}

impl Traced {
    /// Attaches to a program that waits for a line of input, sets the breakpoint, and sends the line.
    fn attach(mut child: Child, entry: u64) -> std::result::Result<Self, String> {
        let pid = Pid::from_raw(child.id().cast_signed());
        let stdin = child.stdin.take();
        ptrace::attach(pid).and_then(|()| waitpid(pid, None)).map_err(|error| error.to_string())?;
        let base = base(pid)?; // valid once the program has stopped
        let mut traced = Self { child, pid, base, entry: base + entry, original: 0 };
        traced.original = ptrace::read(pid, address(traced.entry)).map_err(|error| error.to_string())?;
        traced.stop_at_entry(true).map_err(|error| error.to_string())?;
        stdin.ok_or("no input")?.write_all(b"\n").map_err(|error| error.to_string())?;
        Ok(traced)
    }

    /// Sets or removes the breakpoint.
    fn stop_at_entry(&self, is_set: bool) -> nix::Result<()> {
        let word = if is_set { self.original & !0xff | BREAKPOINT } else { self.original };
        ptrace::write(self.pid, address(self.entry), word)
    }

    /// Continues the program until the function is called. Returns false if the program ends.
    fn reach_entry(&self) -> nix::Result<bool> {
        let mut signal = None;
        loop {
            ptrace::cont(self.pid, signal)?;
            match waitpid(self.pid, None)? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => return Ok(true),
                WaitStatus::Stopped(_, other) => signal = Some(other),
                _ => return Ok(false),
            }
        }
    }

    /// Continues from the breakpoint. If `counted`, counts instructions until the function returns; otherwise
    /// passes the breakpoint only.
    fn call(&self, counted: bool) -> nix::Result<HashMap<u64, u64>> {
        self.stop_at_entry(false)?;
        let mut registers = ptrace::getregs(self.pid)?;
        registers.rip = self.entry;
        ptrace::setregs(self.pid, registers)?;
        let mut counts = HashMap::new();
        let frame = registers.rsp;
        loop {
            *counts.entry(registers.rip.wrapping_sub(self.base)).or_default() += 1;
            ptrace::step(self.pid, None)?;
            waitpid(self.pid, None)?;
            registers = ptrace::getregs(self.pid)?;
            // Above the return address the stack belongs to the caller.
            if !counted || registers.rsp > frame {
                break;
            }
        }
        self.stop_at_entry(true)?;
        Ok(counts)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        // The program has ended already, unless an error occurred.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address at which the system loaded the program.
fn base(pid: Pid) -> std::result::Result<u64, String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|error| error.to_string())?;
    // The path as the system knows it, with links resolved.
    let path = fs::read_link(format!("/proc/{pid}/exe")).map_err(|error| error.to_string())?;
    let path = path.to_string_lossy();
    let line = maps.lines().find(|line| line.ends_with(&*path));
    let start = line.and_then(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
    start.ok_or_else(|| "it is not where the system says".to_owned())
}

fn address(place: u64) -> ptrace::AddressType {
    std::ptr::with_exposed_provenance_mut(place as usize)
}
