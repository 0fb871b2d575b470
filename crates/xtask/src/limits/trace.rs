//! Runs a program instruction by instruction, and counts how often each is executed within one function.
//!
//! Nothing is compiled in for that: the code counted is the code that runs. One step costs two changes of process,
//! tens of microseconds, so programs are given little to do.

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

/// A program under control.
struct Traced {
    child: Child,
    pid: Pid,
    /// Where the program lies in memory, from the addresses that are in its file.
    base: u64,
    /// Where the function begins, and what stands there.
    entry: u64,
    original: i64,
}

/// Runs the program, and hands over every second call of the function that begins at `entry`, with the line that
/// the program wrote before. The first calls of each pair warm up.
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
    /// Takes control of a program that waits for a line, gives it one, and sets the breakpoint.
    fn attach(mut child: Child, entry: u64) -> std::result::Result<Self, String> {
        let pid = Pid::from_raw(child.id().cast_signed());
        let stdin = child.stdin.take();
        ptrace::attach(pid).and_then(|()| waitpid(pid, None)).map_err(|error| error.to_string())?;
        let base = base(pid)?; // it is in its place once it has stopped
        let mut traced = Self { child, pid, base, entry: base + entry, original: 0 };
        traced.original = ptrace::read(pid, address(traced.entry)).map_err(|error| error.to_string())?;
        traced.stop_at_entry(true).map_err(|error| error.to_string())?;
        stdin.ok_or("no input")?.write_all(b"\n").map_err(|error| error.to_string())?;
        Ok(traced)
    }

    /// Sets the breakpoint, or takes it away.
    fn stop_at_entry(&self, is_set: bool) -> nix::Result<()> {
        let word = if is_set { self.original & !0xff | BREAKPOINT } else { self.original };
        ptrace::write(self.pid, address(self.entry), word)
    }

    /// Lets the program run until the function is called; false where it ended.
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

    /// From the breakpoint to where the function returns, if that is `counted`, or else past the breakpoint.
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
            // What is above the return address is the caller's.
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
        // It has ended, but for errors.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where the system put the program.
fn base(pid: Pid) -> std::result::Result<u64, String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|error| error.to_string())?;
    // By the name that the system has for it, whatever links led there.
    let path = fs::read_link(format!("/proc/{pid}/exe")).map_err(|error| error.to_string())?;
    let path = path.to_string_lossy();
    let line = maps.lines().find(|line| line.ends_with(&*path));
    let start = line.and_then(|line| u64::from_str_radix(line.split('-').next()?, 16).ok());
    start.ok_or_else(|| "it is not where the system says".to_owned())
}

fn address(place: u64) -> ptrace::AddressType {
    std::ptr::with_exposed_provenance_mut(place as usize)
}
