//! GPU programs for key search, tested without a GPU. CUDA C compiled as C++ finds a key at every position
//! and in every lane, and reports no other. WGSL is validated. NVIDIA's run-time compiler compiles every
//! program if CROSSGRAIN_NVRTC names the library.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod compilers;
mod sought;

use std::fmt::Write as _;
use std::path::Path;

use compilers::{CompileJob, Nvrtc, STAND_IN, answer, compiled, for_each, in_turn, validated, words};
use crossgrain::engine::block::Family;
use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::search::{HIT_WORDS, Search, all};
use crossgrain::engine::device::{KEY_WORDS_MAX, Listing};
use crossgrain::engine::kernel::search::Known;
use crossgrain::{Cipher, Direction};
use sought::{halves, known, planted};

/// Keys of a table: more than a bundle of 32, and not a multiple of it.
const KEYS: usize = 75;

const OUTERS: usize = 3;

/// Bytes of memory that a thread group shares.
const SHARED_BYTES: usize = 96 << 10;

/// A C++ program that contains all search programs by number. Its input is the thread count, the job, the
/// known block, the source, the size of `goal`, and the number of bundles to try. Slots after the last key
/// take the same time as keys.
fn harness(programs: &[Search]) -> String {
    let mut text = STAND_IN.to_owned();
    for program in programs {
        let listing = program.listing(Language::Cuda, SHARED_BYTES);
        let ring = format!("static uint4 ring[{}]", SHARED_BYTES / 16);
        let program = listing.text.replace("extern __shared__ uint4 ring[]", &ring);
        write!(text, "namespace n_{} {{\n{program}}}\n", listing.entry).unwrap();
    }
    text += "int main() {\nunsigned int head[5];\nget(head, sizeof head);\n";
    for (number, program) in programs.iter().enumerate() {
        let listing = program.listing(Language::Cuda, SHARED_BYTES);
        let (name, group) = (&listing.entry, listing.group_threads);
        write!(
            text,
            "if (head[0] == {number}) {{\nusing namespace n_{name};\nJob job;\nget(&job, sizeof job);\n\
             get(keys, sizeof keys);\nuint4 *source = new uint4[head[2]];\nget(source, 16 * (size_t)head[2]);\n\
             u32 *goal = new u32[head[3]]();\nblockDim.x = {group};\n\
             for (unsigned int at = 0; at < head[1]; at++) {{\nif (at % job.bundles >= head[4]) continue;\n\
             blockIdx.x = at / {group};\n\
             threadIdx.x = at % {group};\n{name}(source, goal, job);\n}}\n\
             fwrite(goal, 4, head[3], stdout);\n}}\n"
        )
        .unwrap();
    }
    text + "}\n"
}

/// The places found, and the number of hits.
fn found(
    binary: &Path,
    (number, program): (usize, Search),
    known: &Known,
    outer: &[u8],
    inner: &[u8],
    room: usize,
) -> (Vec<(usize, usize)>, u32) {
    let key_bytes = program.cipher().key_bytes();
    let rows = program.rows(&known.input, outer);
    let source = [&rows[..], &program.table(&known.input, inner)].concat();
    let (outers, keys) = (outer.len() / key_bytes, inner.len() / key_bytes);
    let bundles = program.bundles(keys);
    let mut constants = program.constants(known);
    constants.resize(KEY_WORDS_MAX, 0);
    let goal = HIT_WORDS * (1 + room);
    let tried = if known.mask == [0; 16] { bundles } else { keys.div_ceil(program.lanes()) };
    let head = [number, program.threads(outers, bundles), source.len() / 4, goal, tried];
    let head = head.map(|word| word as u32);
    let job = program.job(outers as u32, bundles as u32, rows.len() as u32 / 4, room as u32);
    let input = [&head[..], &job, &constants, &source].concat();
    let goal = answer(binary, &words(&input));
    let goal: Vec<_> = goal.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let hits = goal[HIT_WORDS..].as_chunks().0.iter().take(goal[0] as usize);
    (hits.flat_map(|hit| program.places(bundles, *hit)).collect(), goal[0])
}

/// Whether a program differs from another only in its column.
fn is_of_another_column(program: &Search) -> bool {
    program.name().ends_with(['1', '2', '3'])
}

/// The programs of each cipher; for AES-128 those of all columns.
fn programs() -> Vec<Search> {
    all().filter(|program| program.cipher() == Cipher::Aes128 || !is_of_another_column(program)).collect()
}

/// Keys at the ends of a bundle of 32 keys, and between them.
#[test]
fn cuda_programs_find_a_key_wherever_it_is() {
    cuda_programs_find_keys_at(&[0, 1, 17, 31, 32, 40, 63, 64, KEYS - 1]);
}

#[test]
#[ignore = "takes a minute"]
fn cuda_programs_find_a_key_at_every_place() {
    cuda_programs_find_keys_at(&std::array::from_fn::<_, KEYS, _>(|place| place));
}

fn cuda_programs_find_keys_at(places: &[usize]) {
    let programs = programs();
    let Some(binary) = compiled(&format!("device-search-{}", places.len()), &harness(&programs)) else {
        return eprintln!("skipped: there is no c++ to compile with");
    };
    for (number, &program) in programs.iter().enumerate() {
        let cipher = program.cipher();
        let known = |key: &[u8]| known(cipher, program.direction(), key);
        // The table varies every byte once, and outer keys set every other byte.
        for (at, place) in (0..cipher.key_bytes()).step_by(2).zip([0, 31, 32, KEYS - 1].into_iter().cycle()) {
            let (outer, inner) = halves(cipher, at, OUTERS, KEYS);
            let o = at % OUTERS;
            let known = known(&planted(cipher, (&outer, o), (&inner, place)));
            let (found, hits) = found(&binary, (number, program), &known, &outer, &inner, 4);
            assert_eq!((found, hits), (vec![(o, place)], 1), "{}, byte {at}", program.name());
        }
        let (outer, inner) = halves(cipher, 3, OUTERS, KEYS);
        for &place in places {
            let known = known(&planted(cipher, (&outer, 1), (&inner, place)));
            let (found, _) = found(&binary, (number, program), &known, &outer, &inner, 4);
            assert_eq!(found, [(1, place)], "{}", program.name());
        }
        // Hits that do not fit into the list are counted.
        let known = Known { mask: [0; 16], ..known(&vec![0; cipher.key_bytes()]) };
        let (found, hits) = found(&binary, (number, program), &known, &outer, &inner, 2);
        assert_eq!(hits as usize, OUTERS * program.bundles(KEYS), "nothing is known, so all pass");
        assert_eq!(found.len(), 2 * program.lanes());
    }
    std::fs::remove_dir_all(binary.parent().unwrap()).unwrap();
}

/// The program for known bits in these bytes.
fn program_for(cipher: Cipher, whole: &Known, bytes: &[(usize, u8)]) -> Option<String> {
    let mut known = Known { mask: [0; 16], ..*whole };
    for &(byte, bits) in bytes {
        known.mask[byte] = bits;
    }
    Search::new(cipher, &known).map(Search::name)
}

#[test]
fn the_program_is_that_of_what_is_known_best() {
    let both = [(Direction::Encrypt, "search"), (Direction::Decrypt, "search-back")];
    for (cipher, (direction, name)) in
        Cipher::ALL.into_iter().flat_map(|cipher| both.map(|way| (cipher, way)))
    {
        let whole = known(cipher, direction, &vec![7; cipher.key_bytes()]);
        let of = |bytes: &[(usize, u8)]| program_for(cipher, &whole, bytes);
        let named = |compared: &str| {
            let is_aes = cipher.family() == Family::Aes;
            Some(format!("{cipher}-{name}{}", if is_aes { compared } else { "" }))
        };
        assert_eq!(of(&std::array::from_fn::<_, 16, _>(|byte| (byte, 0xff))), named(""));
        assert_eq!(of(&[(5, 0xff)]), None, "a byte is too little");
        // These bytes of the result come from column 2 before ShiftRows.
        let (first, second) = if direction == Direction::Encrypt { (5, 2) } else { (13, 2) };
        assert_eq!(of(&[(first, 0xff), (second, 0xff)]), named("-2"));
        assert_eq!(of(&[(first, 0x7f), (second, 0xff)]), None);
        // The first bytes of a file come from all columns, and so do known bits of text.
        assert_eq!(of(&[0, 1, 2, 3].map(|byte| (byte, 0xff))), named("-all"));
        assert_eq!(of(&std::array::from_fn::<_, 16, _>(|byte| (byte, 0x80))), named("-all"));
    }
}

#[test]
fn wgsl_programs_are_valid() {
    all().for_each(|program| validated(&program.listing(Language::Wgsl, 0)));
}

#[test]
fn nvrtc_compiles_every_program() {
    nvrtc_compiles(in_turn);
}

#[test]
#[ignore = "takes a minute"]
fn nvrtc_compiles_every_program_for_every_architecture() {
    nvrtc_compiles(for_each);
}

fn nvrtc_compiles(jobs: fn(&[Listing]) -> Vec<CompileJob<'_>>) {
    let Some(nvrtc) = Nvrtc::find() else {
        return eprintln!("skipped: CROSSGRAIN_NVRTC names no libnvrtc.so");
    };
    // Programs for different columns differ in the last rounds. Those for Serpent's key sizes are equal, and
    // those for key sizes of a described cipher differ only in the length of the schedule.
    let is_first = |cipher: &Cipher| {
        Cipher::ALL.into_iter().find(|first| first.family() == cipher.family()) == Some(*cipher)
    };
    let firsts: Vec<_> = Cipher::ALL.into_iter().filter(is_first).collect();
    let is_another = |program: &Search| {
        is_of_another_column(program)
            || program.name().ends_with("-all") && program.cipher() != Cipher::Aes128
            || program.cipher().family() != Family::Aes && !firsts.contains(&program.cipher())
    };
    let programs = all().filter(|program| !is_another(program));
    let listings: Vec<_> = programs.map(|program| program.listing(Language::Cuda, SHARED_BYTES)).collect();
    nvrtc.made(&jobs(&listings));
}
