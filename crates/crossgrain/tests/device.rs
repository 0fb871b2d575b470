//! GPU programs, tested without a GPU. CUDA C is compiled as C++ and compared with the reference. WGSL is
//! validated. NVIDIA's run-time compiler compiles every program if CROSSGRAIN_NVRTC names the library.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod compilers;
mod judge;

use std::fmt::Write as _;
use std::path::Path;

use compilers::{ARCHITECTURES, Nvrtc, STAND_IN, answer, compiled, for_each, in_turn, validated, words};
use crossgrain::engine::block::Family;
use crossgrain::engine::cipher::Entry;
use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::{ALL, KEY_WORDS_MAX, Kernel, Listing, Task};
use crossgrain::{Cipher, Key};
use judge::{bytes, expected};

/// Whole bundles and spans, odd counts, and zero.
const BLOCKS: [usize; 7] = [0, 1, 31, 32, 1024, 1057, 2049];

/// Counters that carry out of the low word, within a thread and between threads, and out of the highest word.
const COUNTERS: [u128; 4] = [0, 0x0123_4567_89ab_cdef_fedc_ba98_ffff_fe80, (1 << 96) - 700, u128::MAX - 40];

/// All programs, and the hand-written one that serves as a baseline for measurements.
fn programs() -> Vec<(Kernel, Listing)> {
    let mut programs = ALL.iter().map(|kernel| (*kernel, kernel.listing(Language::Cuda))).collect::<Vec<_>>();
    let counts = Kernel::gates(Family::Aes, Task::Count);
    let text = include_str!("../../../bench/hand_written.cu").to_owned();
    let by_hand = Listing { entry: "hand_written".to_owned(), text, ..counts.listing(Language::Cuda) };
    programs.push((counts, by_hand));
    programs
}

fn keys(kernel: Kernel) -> Vec<Key> {
    let ciphers = Cipher::ALL.into_iter().filter(|cipher| cipher.family() == kernel.family);
    ciphers.map(|cipher| Key::new(cipher, &bytes(cipher.key_bytes())).unwrap()).collect()
}

/// A C++ program that runs the GPU threads one after another. Its input is the kernel's number, its threads,
/// job, keys and blocks.
fn harness() -> String {
    let mut text = STAND_IN.to_owned();
    for (kernel, listing) in programs() {
        // The shared memory gets its full size here, because no launch requests it.
        let shared = format!("static u32 tables[{}]", kernel.shared_bytes(Language::Cuda) / 4);
        let program = listing.text.replace("extern __shared__ u32 tables[]", &shared);
        write!(text, "namespace n_{} {{\n{program}}}\n", listing.entry).unwrap();
    }
    text += "int main() {\nunsigned int head[2];\nget(head, 8);\n";
    for (number, (kernel, listing)) in programs().into_iter().enumerate() {
        let (name, group) = (listing.entry, listing.group_threads);
        // Threads run one after another, so shared memory is complete only after each has run once. Kernels
        // with shared memory run twice.
        let turns = if kernel.shared_bytes(Language::Cuda) > 0 { 2 } else { 1 };
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

fn run(binary: &Path, (number, kernel): (usize, Kernel), key: &Key, counter: u128, data: &[u8]) -> Vec<u8> {
    let blocks = (data.len() / 16) as u32;
    let mut keys = kernel.keys(key).to_vec();
    keys.resize(KEY_WORDS_MAX, 0);
    let threads = kernel.threads(blocks).next_multiple_of(kernel.group_threads(Language::Cuda));
    let head = [number as u32, threads];
    let input =
        [words(&head), words(&kernel.job(key.cipher(), blocks, counter)), words(&keys), data.to_vec()]
            .concat();
    answer(binary, &input)
}

#[test]
fn cuda_programs_agree_with_the_reference() {
    let Some(binary) = compiled("device", &harness()) else {
        return eprintln!("skipped: there is no c++ to compile with");
    };
    for (number, (kernel, listing)) in programs().into_iter().enumerate() {
        for (number_of_key, key) in keys(kernel).into_iter().enumerate() {
            // The program is the same for all key sizes, so one length is enough for the further keys.
            let lengths = if number_of_key == 0 { &BLOCKS[..] } else { &BLOCKS[5..6] };
            for (&blocks, counter) in lengths.iter().zip(COUNTERS.into_iter().cycle()) {
                let data = bytes(16 * blocks);
                let got = run(&binary, (number, kernel), &key, counter, &data);
                let wanted = expected(kernel, &key, counter, &data);
                assert!(got == wanted, "{} with {} on {blocks} blocks", listing.entry, key.cipher());
            }
        }
    }
    std::fs::remove_dir_all(binary.parent().unwrap()).unwrap();
}

#[test]
fn wgsl_programs_are_valid() {
    for kernel in ALL.iter() {
        validated(&kernel.listing(Language::Wgsl));
    }
}

#[test]
fn programs_are_named_and_have_a_gate_a_line() {
    for kernel in ALL.iter().copied() {
        assert_eq!(Kernel::find(kernel.name()), Some(kernel));
        for language in [Language::Cuda, Language::Wgsl] {
            let text = kernel.text(language);
            assert_eq!(text, kernel.text(language), "always the same");
            let parts = ["transform(", "sub_byte", "look_up0("];
            assert!(parts.iter().any(|part| text.contains(part)), "parts are functions");
            assert!(text.lines().all(|line| line.matches(" = ").count() <= 2 && !line.ends_with(' ')));
        }
    }
}

#[test]
fn programs_differ_by_how_many_threads_a_group_has_in_nothing_else() {
    for kernel in ALL.iter().copied() {
        for language in [Language::Cuda, Language::Wgsl] {
            let usual = kernel.group_threads(language);
            assert!(kernel.takes_group(language, usual), "{}", kernel.name());
            for threads in [0, 1, 32, 63, 96, 2048, u32::MAX] {
                assert!(!kernel.takes_group(language, threads), "{} by {threads}", kernel.name());
            }
            for threads in [64, 128, 960, 1024].into_iter().filter(|&n| kernel.takes_group(language, n)) {
                let listing = kernel.listing_in(language, threads);
                assert_eq!(listing.group_threads, threads);
                let (text, usual_text) = (listing.text, kernel.text(language));
                let [threads, usual] = [threads, usual].map(|threads| threads.to_string());
                let mut pairs = text.lines().zip(usual_text.lines()).filter(|(one, other)| one != other);
                assert!(
                    pairs.all(|(one, other)| one.replace(&threads, &usual) == other),
                    "{}",
                    kernel.name()
                );
                assert_eq!(text.lines().count(), usual_text.lines().count());
            }
        }
    }
}

#[test]
fn nvrtc_compiles_every_program() {
    let Some(nvrtc) = Nvrtc::find() else {
        return eprintln!("skipped: CROSSGRAIN_NVRTC names no libnvrtc.so");
    };
    let is_judged = |listing: &Listing| ["aes_encrypt", "aes_ctr", "hand_written"].contains(&&*listing.entry);
    let (judged, others): (Vec<_>, Vec<_>) =
        listings(|kernel| Entry::of(kernel.family).by_hand).into_iter().partition(is_judged);
    let made = nvrtc.made(&[for_each(&judged), in_turn(&others)].concat());
    let find = |entry, architecture| {
        made.iter().find(|made| made.entry == entry && made.architecture == architecture).unwrap()
    };
    assert!(!find("aes_encrypt", "sm_90").spills);
    for architecture in ARCHITECTURES {
        let [ours, by_hand] = ["aes_ctr", "hand_written"].map(|entry| find(entry, architecture).gates);
        assert!(ours <= by_hand, "{ours} gates, and {by_hand} by hand, for {architecture}");
    }
}

/// On a busy core, NVRTC takes a quarter of a minute per architecture for the programs of described ciphers.
#[test]
#[ignore = "takes minutes"]
fn nvrtc_compiles_every_program_for_every_architecture() {
    match Nvrtc::find() {
        Some(nvrtc) => drop(nvrtc.made(&for_each(&listings(|_| true)))),
        None => eprintln!("skipped: CROSSGRAIN_NVRTC names no libnvrtc.so"),
    }
}

/// The listings of selected programs.
fn listings(which: impl Fn(&Kernel) -> bool) -> Vec<Listing> {
    programs().into_iter().filter(|(kernel, _)| which(kernel)).map(|(_, listing)| listing).collect()
}
