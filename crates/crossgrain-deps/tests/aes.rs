//! AES as loops over blocks, rounds and columns: the program computes AES, and its verdicts are the
//! published ones.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain::engine::reference;
use crossgrain::{Cipher, Key};
use crossgrain_deps::loops::{Analysis, Looped, Memory, Program};

const ENCRYPT: &str = include_str!("../examples/loops/aes-encrypt.loops");
const DECRYPT: &str = include_str!("../examples/loops/aes-decrypt.loops");
const BLOCKS: usize = 20;
const ROUNDS: usize = 14;

/// FIPS 197, section 5.2, with the program's S-box.
fn expanded(key: &[u8; 32], sbox: &[u32]) -> Vec<u32> {
    let substitute =
        |word: u32| u32::from_be_bytes(word.to_be_bytes().map(|byte| sbox[usize::from(byte)] as u8));
    let mut words: Vec<u32> = key.as_chunks().0.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect();
    let mut constant = 1_u32 << 24;
    for at in 8..4 * (ROUNDS + 1) {
        let mut word = words[at - 1];
        if at % 8 == 0 {
            word = substitute(word.rotate_left(8)) ^ constant;
            constant <<= 1;
        } else if at % 8 == 4 {
            word = substitute(word);
        }
        words.push(words[at - 8] ^ word);
    }
    words
}

/// The round keys of the equivalent inverse cipher (section 5.3.5): in reverse order, with InvMixColumns
/// applied to all but the first and the last.
fn inverted(keys: &[u32], sbox: &[u32], table: &[u32]) -> Vec<u32> {
    let mixed = |word: u32| {
        let bytes = word.to_be_bytes().into_iter().zip([0, 24, 16, 8]);
        bytes.fold(0, |sum, (byte, by)| sum ^ table[sbox[usize::from(byte)] as usize].rotate_left(by))
    };
    let rounds = keys.as_chunks::<4>().0.iter().rev().enumerate();
    let round =
        |(round, key): (usize, &[u32; 4])| if matches!(round, 0 | ROUNDS) { *key } else { key.map(mixed) };
    rounds.flat_map(round).collect()
}

fn key() -> [u8; 32] {
    std::array::from_fn(|at| at as u8)
}

/// Plaintext blocks. The first is that of FIPS 197, appendix C.3.
fn plain() -> Vec<[u8; 16]> {
    (0..BLOCKS).map(|block| std::array::from_fn(|at| (at * 0x11 + block * 7) as u8)).collect()
}

/// Runs a program on blocks: as written, or with the loop over blocks in another order.
fn through(text: &str, keys: &[u32], blocks: &[[u8; 16]], in_order: bool) -> Vec<[u8; 16]> {
    let program = Program::parse(text).unwrap();
    let analysis = Analysis::of(&program).unwrap();
    let mut memory = Memory::new(&program);
    memory.words_mut(&program, "key").unwrap().copy_from_slice(keys);
    let bytes: Vec<u32> = blocks.as_flattened().iter().map(|&byte| u32::from(byte)).collect();
    memory.words_mut(&program, "input").unwrap().copy_from_slice(&bytes);
    match in_order {
        true => program.run(&mut memory).unwrap(),
        false => analysis.run(&analysis.chosen(), 5, &mut memory).unwrap(),
    }
    let output: Vec<u8> =
        memory.words_mut(&program, "output").unwrap().iter().map(|&word| word as u8).collect();
    output.as_chunks().0.to_vec()
}

fn table(text: &str, name: &str) -> Vec<u32> {
    let program = Program::parse(text).unwrap();
    Memory::new(&program).words_mut(&program, name).unwrap().to_vec()
}

#[test]
fn the_loops_are_aes_in_order_and_in_parallel() {
    let sbox = table(ENCRYPT, "sbox");
    let keys = expanded(&key(), &sbox);
    let inverse_keys = inverted(&keys, &sbox, &table(DECRYPT, "td"));
    let reference = reference::cipher(&Key::new(Cipher::Aes256, &key()).unwrap());
    let mut crypt = plain();
    crypt.iter_mut().for_each(|block| reference.encrypt(block));
    assert_eq!(u128::from_be_bytes(crypt[0]), 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089);
    for in_order in [true, false] {
        assert_eq!(through(ENCRYPT, &keys, &plain(), in_order), crypt);
        assert_eq!(through(DECRYPT, &inverse_keys, &crypt, in_order), plain());
    }
}

fn loops<'a>(analysis: &'a Analysis, counter: &'a str) -> impl Iterator<Item = (usize, &'a Looped)> {
    analysis.loops.iter().enumerate().filter(move |(_, looped)| looped.counter == counter)
}

/// The loop over blocks: both pointers have a closed form, eight variables are private, and then it carries
/// no dependence.
#[test]
fn blocks_are_parallel_after_eight_variables_are_made_private() {
    for text in [ENCRYPT, DECRYPT] {
        let analysis = Analysis::of(&Program::parse(text).unwrap()).unwrap();
        assert_eq!(analysis.decided.unknown, 0);
        let (number, blocks) = loops(&analysis, "i").next().unwrap();
        assert!(blocks.is_parallel() && !blocks.peels);
        assert_eq!(blocks.inductions, [("in".to_owned(), 16), ("out".to_owned(), 16)]);
        let pointers = blocks.inductions.iter().map(|(name, _)| name.clone());
        let mut private: Vec<_> = blocks.private.iter().cloned().chain(pointers).collect();
        private.sort();
        assert_eq!(private, ["e", "i", "in", "j", "out", "r", "t", "wtxt"]);
        assert!(blocks.reductions.is_empty() && blocks.copied.is_empty() && blocks.last_only.is_empty());
        // All dependences that it carries are on these eight variables.
        assert!(analysis.carried(number).all(|found| private.contains(&found.variable)));
        assert_eq!(analysis.chosen().into_iter().collect::<Vec<_>>(), [number]);
    }
}

/// Within a block, the loop over rounds carries a flow dependence on the state. The loops over columns
/// carry dependences only on their private scratch word.
#[test]
fn rounds_are_serial_and_columns_are_parallel() {
    for text in [ENCRYPT, DECRYPT] {
        let analysis = Analysis::of(&Program::parse(text).unwrap()).unwrap();
        let (_, rounds) = loops(&analysis, "r").next().unwrap();
        let hindrances: Vec<_> =
            rounds.hindrances.iter().map(|&number| &analysis.dependences[number]).collect();
        assert!(!hindrances.is_empty());
        for found in hindrances {
            assert_eq!((found.kind.name(), found.variable.as_str()), ("flow", "wtxt"));
            assert_eq!((found.distances[0].only(), found.distances[1].only()), (Some(0), None));
            assert_eq!(found.distances[1].least, Some(1));
        }
        assert_eq!(loops(&analysis, "j").count(), 6);
        for (number, columns) in loops(&analysis, "j") {
            assert!(columns.is_parallel());
            assert!(analysis.carried(number).all(|found| found.variable == "e"), "{columns:?}");
        }
    }
}

/// The loops over columns are unrolled, as a compiler might do: a separate statement writes each word.
#[test]
fn with_columns_written_out_the_verdict_is_the_same() {
    let mut text = String::new();
    let mut lines = ENCRYPT.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "for j = 0 to 3" {
            text += &format!("{line}\n");
            continue;
        }
        let body: Vec<_> = lines.by_ref().take_while(|line| line.trim() != "end").collect();
        for column in ["0", "1", "2", "3"] {
            for line in &body {
                let of_column = ["[j]", "+ j]", "*j"]
                    .into_iter()
                    .fold((*line).to_owned(), |line, part| line.replace(part, &part.replace('j', column)));
                text += &of_column;
                text.push('\n');
            }
        }
    }
    let analysis = Analysis::of(&Program::parse(&text).unwrap()).unwrap();
    let (_, blocks) = loops(&analysis, "i").next().unwrap();
    assert_eq!(blocks.private, ["i", "r", "wtxt", "t", "e"]);
    assert!(blocks.is_parallel() && analysis.agrees() == Ok(true));
    assert!(!loops(&analysis, "r").next().unwrap().1.is_parallel());
}
