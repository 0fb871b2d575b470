//! Programs for GPUs, without a GPU: CUDA C is compiled as C++ and held to the reference, WGSL is validated, and NVIDIA's
//! run-time compiler takes every program where CROSSGRAIN_NVRTC names it.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod judge;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr;

use crossgrain::circuit::emit::Language;
use crossgrain::device::{ALL, KEY_WORDS_MAX, Kernel};
use crossgrain::{Cipher, Key};
use judge::{bytes, expected};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Whole bundles and spans, odd counts, and nothing.
const BLOCKS: [usize; 7] = [0, 1, 31, 32, 1024, 1057, 2049];

/// Counters that carry out of the low word, within a thread and between threads, and out of the last.
const COUNTERS: [u128; 4] = [0, 0x0123_4567_89ab_cdef_fedc_ba98_ffff_fe80, (1 << 96) - 700, u128::MAX - 40];

fn keys(kernel: Kernel) -> Vec<Key> {
    let ciphers = Cipher::ALL.into_iter().filter(|cipher| cipher.family() == kernel.family);
    ciphers.map(|cipher| Key::new(cipher, &bytes(cipher.key_bytes())).unwrap()).collect()
}

/// What stands in for a GPU: one thread after another. It reads the kernel's number, its threads, job, keys and blocks.
fn harness() -> String {
    let mut text = String::from(
        "#include <stdio.h>\n#include <stdlib.h>\n#define __device__ static\n#define __global__\n\
         #define __constant__ static\n#define __forceinline__ inline\n#define __launch_bounds__(threads)\n\
         struct uint4 { unsigned int x, y, z, w; };\n\
         struct Index { unsigned int x; };\n\
         static Index blockIdx, threadIdx, blockDim;\n\
         #define __shared__ static\n\
         static void __syncthreads() {}\n\
         static unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {\n\
         unsigned int r = 0;\n\
         for (int i = 0; i < 4; i++) {\n\
         int from = selector >> (4 * i) & 7;\n\
         r |= ((from < 4 ? a >> (8 * from) : b >> (8 * (from - 4))) & 255) << (8 * i);\n}\nreturn r;\n}\n",
    );
    for kernel in ALL {
        // Nobody asks for shared memory here: it is as large as it will be.
        let shared = format!("static u32 tables[{}]", kernel.shared_bytes() / 4);
        let program = kernel.text(Language::Cuda).replace("extern __shared__ u32 tables[]", &shared);
        write!(text, "namespace n_{} {{\n{program}}}\n", kernel.entry()).unwrap();
    }
    text += "static void get(void *to, size_t bytes) { if (fread(to, 1, bytes, stdin) != bytes) exit(1); }\n\
             int main() {\nunsigned int head[2];\nget(head, 8);\n";
    for (number, kernel) in ALL.into_iter().enumerate() {
        let (name, group) = (kernel.entry(), kernel.group_threads());
        // One thread after another: what they share is there when all have run once.
        let turns = if kernel.shared_bytes() > 0 { 2 } else { 1 };
        write!(
            text,
            "if (head[0] == {number}) {{\nusing namespace n_{name};\nJob job;\nget(&job, sizeof job);\n\
             get(keys, sizeof keys);\nuint4 *source = new uint4[job.blocks], *goal = new uint4[job.blocks];\n\
             get(source, 16 * (size_t)job.blocks);\n\
             blockDim.x = {group};\n\
             for (int turn = 0; turn < {turns}; turn++)\n\
             for (unsigned int at = 0; at < head[1]; at++) {{\nblockIdx.x = at / {group};\n\
             threadIdx.x = at % {group};\n{name}(source, goal, job);\n}}\n\
             fwrite(goal, 16, job.blocks, stdout);\n}}\n"
        )
        .unwrap();
    }
    text + "}\n"
}

/// The harness compiled, or nothing where there is no compiler.
fn compiled() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("device-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("harness.cpp"), folder.join("harness"));
    std::fs::write(&source, harness()).unwrap();
    let status =
        Command::new("c++").args(["-O1", "-w", "-std=c++17"]).arg(&source).arg("-o").arg(&binary).status();
    status.ok().map(|status| assert!(status.success())).map(|()| binary)
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn run(binary: &Path, number: usize, key: &Key, counter: u128, data: &[u8]) -> Vec<u8> {
    let (kernel, blocks) = (ALL[number], (data.len() / 16) as u32);
    let mut keys = kernel.keys(key).to_vec();
    keys.resize(KEY_WORDS_MAX, 0);
    let head = [number as u32, kernel.threads(blocks)];
    let input =
        [words(&head), words(&kernel.job(key.cipher(), blocks, counter)), words(&keys), data.to_vec()]
            .concat();
    let mut child = Command::new(binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(&input).unwrap());
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        done.stdout
    })
}

#[test]
fn cuda_programs_agree_with_the_reference() {
    let Some(binary) = compiled() else { return eprintln!("skipped: there is no c++ to compile with") };
    for (number, kernel) in ALL.into_iter().enumerate() {
        for key in keys(kernel) {
            for (blocks, counter) in BLOCKS.into_iter().zip(COUNTERS.into_iter().cycle()) {
                let data = bytes(16 * blocks);
                let got = run(&binary, number, &key, counter, &data);
                let wanted = expected(kernel, &key, counter, &data);
                assert!(got == wanted, "{} with {} on {blocks} blocks", kernel.name(), key.cipher());
            }
        }
    }
    std::fs::remove_dir_all(binary.parent().unwrap()).unwrap();
}

#[test]
fn wgsl_programs_are_valid() {
    for kernel in ALL {
        let text = kernel.text(Language::Wgsl);
        let module = naga::front::wgsl::parse_str(&text)
            .unwrap_or_else(|error| panic!("{}: {}", kernel.name(), error.emit_to_string(&text)));
        assert_eq!(module.entry_points.len(), 1);
        assert_eq!(module.entry_points[0].name, kernel.entry());
        let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
        info.unwrap_or_else(|error| panic!("{}: {error:?}", kernel.name()));
    }
}

#[test]
fn programs_are_named_and_have_a_gate_a_line() {
    for kernel in ALL {
        assert_eq!(Kernel::find(kernel.name()), Some(kernel));
        for language in [Language::Cuda, Language::Wgsl] {
            let text = kernel.text(language);
            assert_eq!(text, kernel.text(language), "always the same");
            assert!(
                text.contains("transform(") || text.contains("sub_byte(") || text.contains("look_up0("),
                "parts are functions"
            );
            assert!(text.lines().all(|line| line.matches(" = ").count() <= 2 && !line.ends_with(' ')));
        }
    }
}

type Program = *mut c_void;

/// NVIDIA's run-time compiler (NVRTC), as far as it is needed here.
struct Nvrtc(libloading::Library);

impl Nvrtc {
    fn find() -> Option<Self> {
        let path = std::env::var_os("CROSSGRAIN_NVRTC")?;
        // SAFETY: NVRTC's initialisation asks nothing of its caller.
        Some(Self(unsafe { libloading::Library::new(path) }.unwrap()))
    }

    /// The compiler's log, and what it made of a text.
    fn compile(&self, text: &str, options: &[&str]) -> Result<(String, usize), String> {
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
        type Log = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
        let options: Vec<_> = options.iter().map(|option| CString::new(*option).unwrap()).collect();
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let text = CString::new(text).unwrap();
        let mut program = ptr::null_mut();
        // SAFETY: the functions have these types in nvrtc.h, and every pointer leads to what it is said to.
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
            self.0.get::<Log>(b"nvrtcGetProgramLog\0").unwrap()(program, log.as_mut_ptr().cast());
            let log = CStr::from_bytes_until_nul(&log).unwrap().to_string_lossy().into_owned();
            let mut code_bytes = 0;
            self.0.get::<Size>(b"nvrtcGetCUBINSize\0").unwrap()(program, &mut code_bytes);
            self.0.get::<Destroy>(b"nvrtcDestroyProgram\0").unwrap()(&mut program);
            if done == 0 { Ok((log, code_bytes)) } else { Err(log) }
        }
    }
}

#[test]
fn nvrtc_compiles_every_program_for_every_architecture() {
    let Some(nvrtc) = Nvrtc::find() else {
        return eprintln!("skipped: CROSSGRAIN_NVRTC names no libnvrtc.so");
    };
    for architecture in ["sm_80", "sm_90", "sm_120"] {
        for kernel in ALL {
            let options = [&format!("--gpu-architecture={architecture}")[..], "--ptxas-options=-v"];
            let (log, code_bytes) = nvrtc.compile(&kernel.text(Language::Cuda), &options).unwrap();
            assert!(code_bytes > 0);
            let used: Vec<_> =
                log.lines().filter(|line| line.contains("spill") || line.contains("Used")).collect();
            println!("{} for {architecture}: {}", kernel.name(), used.join("; ").replace("ptxas info", ""));
            if architecture == "sm_90" && kernel.name() == "aes-encrypt" {
                assert!(log.contains(" 0 bytes spill stores, 0 bytes spill loads"), "{log}");
            }
        }
    }
}
