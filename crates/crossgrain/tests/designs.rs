//! Whole ciphers as hardware: in simulation, designs give the published answers and those of the reference.
//!
//! Icarus Verilog simulates every cipher, direction and structure, with pauses between inputs and with results
//! that wait. Yosys proves that S-boxes equal their published tables and that both structures compute the same
//! cycles, and synthesises designs. If a program is not installed, the test prints a skip.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;
mod proofs;
mod simulator;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{ciphers, hex, painted};
use crossgrain::engine::block::Family;
use crossgrain::engine::cipher::Entry;
use crossgrain::engine::device::hardware::{Architecture, Design};
use crossgrain::engine::reference;
use crossgrain::{Block, Cipher, Direction, Key};
use simulator::{folder, is_here, run};

/// Random keys of a simulation, and random blocks under each.
const KEYS: usize = 2;
const BLOCKS: usize = 10;

/// The same in the nightly run.
const MANY_KEYS: usize = 20;
const MANY_BLOCKS: usize = 100;

/// The blocks under the first key that no pause delays.
const AT_ONCE: usize = 8;

const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

fn families() -> Vec<Family> {
    let mut families: Vec<_> = Cipher::ALL.map(Cipher::family).to_vec();
    families.dedup();
    families
}

/// The published answers of a cipher: key, plaintext, ciphertext.
fn published(cipher: Cipher) -> Vec<[Vec<u8>; 3]> {
    let name = Entry::of(cipher.family()).names.family;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = fs::read_to_string(root.join(format!("src/cipher/{name}/vectors.txt")));
    let text = own.or_else(|_| fs::read_to_string(root.join(format!("tests/published/{name}-ecb.txt"))));
    let text = text.unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']));
    let of_line = |line: &str| {
        let mut words: Vec<_> = line.split(' ').collect();
        let named = words[0].parse::<Cipher>().is_ok().then(|| words.remove(0));
        // A fourth word is a number of iterations, or an answer after several.
        let is_iterated = named.is_some() && words.len() > 3;
        let answer: [Vec<u8>; 3] =
            std::array::from_fn(|at| if is_iterated { Vec::new() } else { hex(words[at]) });
        let is_own = named.is_none_or(|named| named == cipher.name());
        (is_own && answer[0].len() == cipher.key_bytes()).then_some(answer)
    };
    lines.filter_map(of_line).collect()
}

/// A transfer into a design.
enum Item {
    Key(Vec<u8>),
    Block(Vec<u8>),
}

/// The transfers of a simulation, and the blocks that must come out.
#[derive(Default)]
struct Stimulus {
    items: Vec<Item>,
    expected: Vec<Vec<u8>>,
    published: usize,
}

impl Stimulus {
    fn of(cipher: Cipher, direction: Direction, keys: usize, blocks: usize) -> Self {
        let mut stimulus = Self::default();
        for seed in 0..keys as u64 {
            let key = painted(cipher.key_bytes(), seed + 1);
            let by = reference::cipher(&Key::new(cipher, &key).unwrap());
            stimulus.items.push(Item::Key(key));
            for data in painted(16 * blocks, seed + 100).chunks(16) {
                let mut block: Block = data.try_into().unwrap();
                match direction {
                    Direction::Encrypt => by.encrypt(&mut block),
                    Direction::Decrypt => by.decrypt(&mut block),
                }
                stimulus.items.push(Item::Block(data.to_vec()));
                stimulus.expected.push(block.to_vec());
            }
        }
        for [key, plain, crypt] in published(cipher) {
            let (from, to) = if direction == Direction::Encrypt { (plain, crypt) } else { (crypt, plain) };
            stimulus.items.extend([Item::Key(key), Item::Block(from)]);
            stimulus.expected.push(to);
            stimulus.published += 1;
        }
        assert!(stimulus.published > 0, "{cipher} has published answers");
        stimulus
    }

    /// One line of 260 bits for each transfer. Bit 256 is set for keys.
    fn lines(&self) -> String {
        let line = |item: &Item| match item {
            Item::Key(key) => format!("1{:0>64}\n", digits(key)),
            Item::Block(block) => format!("0{:0>64}\n", digits(block)),
        };
        self.items.iter().map(line).collect()
    }
}

/// The digits of a Verilog literal, whose lowest byte is last.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect()
}

/// A test bench. It prints each result with the number of the cycle.
fn bench(design: Design, file: &str, stimulus: &Stimulus) -> String {
    let (items, results) = (stimulus.items.len(), stimulus.expected.len());
    format!(
        "`timescale 1ns/1ns
module bench;
  reg clk = 0, rst = 1;
  reg key_valid = 0, in_valid = 0, out_ready = 1;
  wire key_ready, in_ready, out_valid;
  reg [{}:0] key;
  reg [127:0] in_block;
  wire [127:0] out_block;
  reg [259:0] items [0:{}];
  integer at, done = 0, cycle = 0, seed = 7;
  reg taken;
  {} dut(.clk(clk), .rst(rst), .key_valid(key_valid), .key_ready(key_ready), .key(key),
    .in_valid(in_valid), .in_ready(in_ready), .in_block(in_block),
    .out_valid(out_valid), .out_ready(out_ready), .out_block(out_block));
  always #1 clk = ~clk;
  always @(negedge clk) begin
    cycle = cycle + 1;
    out_ready = done < {AT_ONCE} || $random(seed) % 3 != 0;
    if (cycle == {}) begin
      $display(\"late\");
      $finish;
    end
  end
  always @(posedge clk)
    if (out_valid && out_ready) begin
      $display(\"%h %0d\", out_block, cycle);
      done = done + 1;
      if (done == {results}) $finish;
    end
  initial begin
    $readmemh(\"{file}\", items);
    repeat (2) @(negedge clk);
    rst = 0;
    for (at = 0; at < {items}; at = at + 1) begin
      if (at > {AT_ONCE}) while ($random(seed) % 3 == 0) @(negedge clk);
      key_valid = items[at][256];
      in_valid = !items[at][256];
      key = items[at];
      in_block = items[at];
      taken = 0;
      while (!taken) begin
        @(posedge clk) taken = key_valid ? key_ready : in_ready;
        @(negedge clk);
      end
      key_valid = 0;
      in_valid = 0;
    end
  end
endmodule
",
        8 * design.cipher.key_bytes() - 1,
        items - 1,
        design.module(),
        200 * (items + 10),
    )
}

/// Simulates a design and compares its results.
fn simulate(design: Design, stimulus: &Stimulus, folder: &Path) {
    let name = design.module();
    let path = |end: &str| folder.join(format!("{name}.{end}"));
    fs::write(path("v"), design.verilog()).unwrap();
    fs::write(path("in"), stimulus.lines()).unwrap();
    fs::write(path("bench.v"), bench(design, &path("in").display().to_string(), stimulus)).unwrap();
    let files = [path("v"), path("bench.v")];
    run(Command::new("iverilog").args(["-g2001", "-Wall", "-o"]).arg(path("vvp")).args(files));
    let printed = run(Command::new("vvp").arg("-n").arg(path("vvp")));
    let results: Vec<_> = printed.lines().map(|line| line.split_once(' ').unwrap_or((line, "0"))).collect();
    let blocks: Vec<_> = results.iter().map(|(block, _)| (*block).to_owned()).collect();
    let expected: Vec<_> = stimulus.expected.iter().map(|block| digits(block)).collect();
    assert_eq!(blocks, expected, "{name}");
    // A pipeline gives a block in each cycle. Otherwise one more cycle takes the block, and one gives it.
    let apart = match design.architecture {
        Architecture::Pipelined => 1,
        Architecture::Iterated => design.area().cycles as u64 + 2,
    };
    let cycles = results[..AT_ONCE].iter().map(|(_, cycle)| cycle.parse().unwrap());
    let cycles: Vec<u64> = cycles.collect();
    assert!(cycles.windows(2).all(|pair| pair[1] - pair[0] == apart), "{name}: {cycles:?}");
}

/// Simulates all designs of a family.
fn simulate_family(family: Family, keys: usize, blocks: usize) {
    if !is_here("iverilog", "simulation of designs") {
        return;
    }
    let folder = folder(&format!("designs-{keys}"));
    for cipher in ciphers(family) {
        let (mut count, mut published) = (0, 0);
        for direction in DIRECTIONS {
            let stimulus = Stimulus::of(cipher, direction, keys, blocks);
            for architecture in Architecture::ALL {
                simulate(Design { cipher, direction, architecture }, &stimulus, &folder);
                count += stimulus.expected.len();
                published += stimulus.published;
            }
        }
        println!("counted: {count} blocks by simulated hardware");
        println!("counted: {published} published blocks by simulated hardware");
    }
}

/// Simulates the designs of a family, and proves facts about those of its shortest key.
fn check(family: Family) {
    simulate_family(family, KEYS, BLOCKS);
    let cipher = ciphers(family)[0];
    proofs::tables_of(cipher);
    // The nightly run proves it for all.
    if matches!(family, Family::Aes | Family::Serpent | Family::Sm4) {
        proofs::cycles_of(cipher, Direction::Encrypt);
    }
}

#[test]
fn aes_gives_the_known_answers() {
    check(Family::Aes);
}

#[test]
fn serpent_gives_the_known_answers() {
    check(Family::Serpent);
}

#[test]
fn sm4_gives_the_known_answers() {
    check(Family::Sm4);
}

#[test]
fn camellia_gives_the_known_answers() {
    check(Family::Camellia);
}

#[test]
fn aria_gives_the_known_answers() {
    check(Family::Aria);
}

#[test]
fn kuznyechik_gives_the_known_answers() {
    check(Family::Kuznyechik);
}

#[test]
fn yosys_synthesises_an_iterated_design() {
    let (cipher, direction, architecture) = (Cipher::Sm4, Direction::Encrypt, Architecture::Iterated);
    proofs::synthesise(Design { cipher, direction, architecture });
}

#[test]
#[ignore = "takes minutes"]
fn designs_give_the_known_answers_for_many_blocks() {
    families().into_iter().for_each(|family| simulate_family(family, MANY_KEYS, MANY_BLOCKS));
}

#[test]
#[ignore = "takes minutes"]
fn yosys_proves_that_both_structures_compute_the_same() {
    for cipher in Cipher::ALL {
        for direction in DIRECTIONS {
            proofs::cycles_of(cipher, direction);
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn yosys_synthesises_every_family() {
    for cipher in families().into_iter().map(|family| ciphers(family)[0]) {
        for direction in DIRECTIONS {
            for architecture in Architecture::ALL {
                proofs::synthesise(Design { cipher, direction, architecture });
            }
        }
    }
}
