//! Compilers and validators for GPU programs, for machines without a GPU: a C++ compiler, a WGSL validator,
//! and NVIDIA's run-time compiler.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, ptr, thread};

use crossgrain::engine::device::Listing;
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// The architectures that programs are compiled for.
pub(crate) const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_120"];

/// Definitions that let CUDA C compile as C++ and run one thread after another. Also defines `get`, which
/// reads the input.
pub(crate) const STAND_IN: &str = "
#include <stdio.h>
#include <stdlib.h>
#define __device__ static
#define __global__
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static
struct uint4 { unsigned int x, y, z, w; };
struct Index { unsigned int x; };
static Index blockIdx, threadIdx, blockDim;
static void __syncthreads() {}
static unsigned int atomicAdd(unsigned int *to, unsigned int more) {
    unsigned int before = *to;
    *to += more;
    return before;
}
static unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
    unsigned int r = 0;
    for (int i = 0; i < 4; i++) {
        int from = selector >> (4 * i) & 7;
        r |= ((from < 4 ? a >> (8 * from) : b >> (8 * (from - 4))) & 255) << (8 * i);
    }
    return r;
}
static void get(void *to, size_t bytes) { if (fread(to, 1, bytes, stdin) != bytes) exit(1); }
";

/// Compiles a C++ program; `None` if no compiler is installed. Optimisation is off because it would take
/// longer than it saves.
pub(crate) fn compiled(name: &str, source: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (text, binary) = (folder.join("harness.cpp"), folder.join("harness"));
    std::fs::write(&text, source).unwrap();
    let status =
        Command::new("c++").args(["-O0", "-w", "-std=c++17"]).arg(&text).arg("-o").arg(&binary).status();
    status.ok().map(|status| assert!(status.success())).map(|()| binary)
}

/// The output of a program for this input.
pub(crate) fn answer(binary: &Path, input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        done.stdout
    })
}

pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Validates a WGSL program.
pub(crate) fn validated(listing: &Listing) {
    let Listing { entry, text, .. } = listing;
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{entry}: {}", error.emit_to_string(text)));
    assert_eq!(module.entry_points.len(), 1);
    assert_eq!(module.entry_points[0].name, *entry);
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
    info.unwrap_or_else(|error| panic!("{entry}: {error:?}"));
}

type Program = *mut c_void;

/// NVIDIA's run-time compiler (NVRTC), with the functions used here.
pub(crate) struct Nvrtc(libloading::Library);

impl Nvrtc {
    /// Loads the library that CROSSGRAIN_NVRTC names, if it is set.
    pub(crate) fn find() -> Option<Self> {
        let path = std::env::var_os("CROSSGRAIN_NVRTC")?;
        // SAFETY: NVRTC's initialisation has no requirements on its caller.
        Some(Self(unsafe { libloading::Library::new(path) }.unwrap()))
    }

    /// Compiles a text and gives the compiler's log and the code.
    fn compile(&self, text: &str, options: &[&str]) -> Result<(String, Vec<u8>), String> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
        type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
        type Bytes = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
        let options: Vec<_> = options.iter().map(|option| CString::new(*option).unwrap()).collect();
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let text = CString::new(text).unwrap();
        let mut program = ptr::null_mut();
        // SAFETY: the functions have these types in nvrtc.h, and every pointer points to a value of the
        // declared type.
        unsafe {
            let create = self.0.get::<Create>(b"nvrtcCreateProgram\0").unwrap();
            let made =
                create(&mut program, text.as_ptr(), c"crossgrain.cu".as_ptr(), 0, ptr::null(), ptr::null());
            assert_eq!(made, 0);
            let compile = self.0.get::<Compile>(b"nvrtcCompileProgram\0").unwrap();
            let done = compile(program, options.len() as c_int, options.as_ptr());
            let mut log_bytes = 0;
            self.0.get::<Size>(b"nvrtcGetProgramLogSize\0").unwrap()(program, &mut log_bytes);
            let mut log = vec![0_u8; log_bytes.max(1)];
            self.0.get::<Bytes>(b"nvrtcGetProgramLog\0").unwrap()(program, log.as_mut_ptr().cast());
            let log = CStr::from_bytes_until_nul(&log).unwrap().to_string_lossy().into_owned();
            let mut code_bytes = 0;
            self.0.get::<Size>(b"nvrtcGetCUBINSize\0").unwrap()(program, &mut code_bytes);
            let mut code = vec![0_u8; code_bytes];
            self.0.get::<Bytes>(b"nvrtcGetCUBIN\0").unwrap()(program, code.as_mut_ptr().cast());
            self.0.get::<Destroy>(b"nvrtcDestroyProgram\0").unwrap()(&mut program);
            if done == 0 { Ok((log, code)) } else { Err(log) }
        }
    }

    /// Compiles programs on all cores, and prints the results.
    pub(crate) fn made(&self, jobs: &[CompileJob<'_>]) -> Vec<Made> {
        let next = AtomicUsize::new(0);
        let worker = || {
            let mine = iter::from_fn(|| jobs.get(next.fetch_add(1, Ordering::Relaxed)));
            mine.map(|&(one, architecture)| self.made_for(one, architecture)).collect::<Vec<_>>()
        };
        let made: Vec<_> = thread::scope(|scope| {
            let count = thread::available_parallelism().map_or(1, NonZero::get);
            let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        for Made { entry, architecture, used, instructions, looped, gates, spills } in &made {
            let spills = if *spills { ", SPILLS" } else { "" };
            println!(
                "{entry} for {architecture}: {instructions} instructions, {looped} of them in the longest loop, \
                 {gates} gates{spills};{used}"
            );
        }
        made
    }

    fn made_for(&self, listing: &Listing, architecture: &'static str) -> Made {
        let options = [&format!("--gpu-architecture={architecture}")[..], "--ptxas-options=-v"];
        let (log, code) = self.compile(&listing.text, &options).unwrap();
        let used = log.lines().filter(|line| line.contains("spill") || line.contains("Used"));
        let used = used.collect::<Vec<_>>().join("; ").replace("ptxas info", "");
        let entry = listing.entry.clone();
        let instructions = section(&code, &format!(".text.{entry}")).as_chunks::<16>().0;
        // Counts LOP3 and BRA instructions by opcode, whatever their operands.
        let are = |code: u16| {
            instructions.iter().filter(move |at| u16::from_le_bytes([at[0], at[1]]) & 0x1ff == code)
        };
        let bytes_back = are(0x147).filter_map(|at| back_bytes(at, architecture)).max().unwrap_or(0);
        Made {
            entry,
            architecture,
            used,
            instructions: instructions.len(),
            looped: bytes_back / 16,
            gates: are(0x012).count(),
            spills: !log.contains(" 0 bytes spill stores, 0 bytes spill loads"),
        }
    }
}

/// A program and the architecture to compile it for.
pub(crate) type CompileJob<'a> = (&'a Listing, &'static str);

/// Every program for every architecture.
pub(crate) fn for_each(listings: &[Listing]) -> Vec<CompileJob<'_>> {
    ARCHITECTURES.into_iter().flat_map(|for_it| listings.iter().map(move |one| (one, for_it))).collect()
}

/// Every program for one architecture each, in rotation. All programs are in the same language, so this
/// covers the architectures.
pub(crate) fn in_turn(listings: &[Listing]) -> Vec<CompileJob<'_>> {
    listings.iter().zip(ARCHITECTURES.into_iter().cycle()).collect()
}

/// The result of compiling a program. Instructions are counted statically: one in a loop counts once.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) entry: String,
    pub(crate) architecture: &'static str,
    /// Resource usage in the compiler's words.
    used: String,
    instructions: usize,
    /// Instructions in the longest loop.
    looped: usize,
    /// Three-input gates (LOP3).
    pub(crate) gates: usize,
    /// Whether registers were spilled.
    pub(crate) spills: bool,
}

/// The length of a backward jump, from the end of the branch instruction.
fn back_bytes(branch: &[u8; 16], architecture: &str) -> Option<usize> {
    let upper = i32::from_le_bytes([branch[4], branch[5], branch[6], branch[7]]);
    let forward = if architecture == "sm_80" { upper } else { (upper & !3) << 8 | i32::from(branch[2]) << 2 };
    usize::try_from(-forward).ok()
}

/// A section of a 64-bit ELF file.
fn section<'a>(file: &'a [u8], name: &str) -> &'a [u8] {
    let word = |at: usize| usize::try_from(u64::from_le_bytes(file[at..at + 8].try_into().unwrap())).unwrap();
    let short = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let header = |number: usize| word(0x28) + 64 * number;
    let contents = |at: usize| &file[word(at + 24)..][..word(at + 32)];
    let names = contents(header(short(0x3e)));
    let is_it = |at: &usize| {
        let name_at = word(*at) & 0xffff_ffff;
        names[name_at..].starts_with(name.as_bytes()) && names[name_at + name.len()] == 0
    };
    (0..short(0x3c)).map(header).find(is_it).map(contents).unwrap()
}
