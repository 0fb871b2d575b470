//! `crossgrain circuit`: gates are counted, drawn and emitted, and invalid tables are refused.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::Place;
use serde_json::Value;

fn printed(place: &Place, args: &[&str]) -> String {
    String::from_utf8(place.run(&[&["circuit"], args].concat()).printed()).unwrap()
}

#[test]
fn every_circuit_of_the_list_is_counted() {
    let place = Place::new();
    let list = printed(&place, &[]);
    let names: Vec<_> = list
        .lines()
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    let all: Vec<Value> = serde_json::from_str(&printed(&place, &["--json", "--gates", "3"])).unwrap();
    assert_eq!(all.iter().map(|circuit| circuit["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    for circuit in &all {
        for count in ["gates", "depth", "live"] {
            assert!(circuit[count].as_u64().unwrap() > 0, "{circuit}");
        }
    }
    let s_box: Value = serde_json::from_str(&printed(&place, &["aes-sbox", "--json"])).unwrap();
    assert_eq!(s_box["gates"], 115);
    assert!(printed(&place, &["aes-sbox", "--gates", "3"]).contains("gates    74, of up to 3 inputs"));
}

#[test]
fn a_circuit_is_drawn_and_emitted_to_files_that_are_not_overwritten() {
    let place = Place::new();
    let args = ["circuit", "serpent-s0", "--emit", "wgsl", "-o", "s0.wgsl", "--dot", "s0.dot"];
    assert!(place.run(&args).printed().is_empty());
    assert!(String::from_utf8(place.read("s0.wgsl")).unwrap().contains("fn serpent_s0("));
    assert!(place.read("s0.dot").starts_with(b"digraph"));
    assert!(place.refuses(5, &args).contains("--force"));
    assert!(place.run(&[&args[..], &["--force"]].concat()).printed().is_empty());
}

#[test]
fn whole_ciphers_are_emitted() {
    let place = Place::new();
    let list = printed(&place, &[]);
    let programs = list.lines().last().unwrap().strip_prefix("programs to emit: ").unwrap();
    for program in programs.split(' ') {
        let entry = format!("{}(", program.replace('-', "_"));
        assert!(printed(&place, &[program, "--emit", "cuda"]).contains(&entry));
        assert!(printed(&place, &[program, "--emit", "wgsl"]).contains(&entry));
    }
}

#[test]
fn circuits_and_whole_rounds_become_netlists() {
    let place = Place::new();
    place.write("parity", b"0 1 1 0");
    let own = printed(&place, &["--table", "parity", "--emit", "verilog"]);
    let lines = ["module of_table(input wire [1:0] x, output wire [0:0] y);", "  wire t0 = x[0] ^ x[1];"];
    assert!(own.starts_with(&lines.join("\n")), "{own}");
    let round = printed(&place, &["aes-round", "--emit", "blif"]);
    assert!(round.starts_with(".model aes_round\n.inputs x0 x1 ") && round.ends_with(".end\n"));
    let list = printed(&place, &[]);
    let rounds = list.lines().find_map(|line| line.strip_prefix("whole rounds: ")).unwrap();
    assert_eq!(rounds.split(' ').count(), 18);
    let json: Value = serde_json::from_str(&printed(&place, &["serpent-round-0", "--json"])).unwrap();
    assert_eq!((&json["inputs"], &json["outputs"]), (&256.into(), &128.into()));
    assert!(place.refuses(2, &["circuit", "aes-ctr", "--emit", "verilog"]).contains("--emit cuda"));
}

#[test]
fn whole_ciphers_become_designs() {
    let place = Place::new();
    let list = printed(&place, &[]);
    let ciphers = list.lines().find_map(|line| line.strip_prefix("ciphers for --design: ")).unwrap();
    assert_eq!(ciphers.split(' ').count(), 14);
    let verilog =
        printed(&place, &["serpent-128", "--design", "pipelined", "--decrypt", "--emit", "verilog"]);
    assert!(
        verilog.contains("\nmodule serpent_128_decrypt_pipelined(\n") && verilog.ends_with("endmodule\n")
    );
    let json: Value =
        serde_json::from_str(&printed(&place, &["sm4", "--design", "iterated", "--json"])).unwrap();
    assert_eq!((&json["cycles"], &json["published"][0]["gate_equivalents"]), (&32.into(), &7612.into()));
    let told = printed(&place, &["aes-128", "--design", "iterated"]);
    assert!(
        told.starts_with("aes-128: encrypts, iterated\ngates ") && told.contains("\npublished  2,400 "),
        "{told}"
    );
    assert!(place.refuses(2, &["circuit", "aes-128", "--emit", "verilog"]).contains("--design iterated"));
    assert!(place.refuses(2, &["circuit", "aes-128"]).contains("--design iterated"));
    assert!(place.refuses(2, &["circuit", "aes-sbox", "--design", "iterated"]).contains("aes-128"));
    let design = ["circuit", "sm4", "--design", "iterated"];
    assert!(place.refuses(2, &[&design[..], &["--emit", "cuda"]].concat()).contains("--emit verilog"));
    assert!(place.refuses(2, &[&design[..], &["--dot", "sm4.dot"]].concat()).contains("--dot"));
    place.refuses(2, &["circuit", "sm4", "--decrypt"]);
    place.refuses(2, &["circuit", "--design", "iterated"]);
}

#[test]
fn a_table_becomes_a_circuit() {
    let place = Place::new();
    place.write("parity", b"[0, 1, 1, 0, 1, 0, 0, 1]");
    let json: Value = serde_json::from_str(&printed(&place, &["--table", "parity", "--json"])).unwrap();
    assert_eq!((&json["inputs"], &json["outputs"], &json["gates"]), (&3.into(), &1.into(), &2.into()));
    place.write("parity", b"0 1 1 0\n1 0 0 1\n");
    assert!(printed(&place, &["--table", "parity", "--gates", "3"]).contains("gates    1,"));
}

#[test]
fn structure_is_told() {
    let place = Place::new();
    // The AES S-box with its bits in reverse order.
    let table = crossgrain::engine::cipher::sbox::AES.table.map(u8::reverse_bits);
    place.write("table", format!("{table:?}").as_bytes());
    let told = printed(&place, &["--table", "table"]);
    assert!(
        told.starts_with("table: the table in table, affine equivalent to inversion in GF(2^8)\n"),
        "{told}"
    );
    assert!(told.contains("gates    110, of up to 2 inputs"), "{told}");
}

#[test]
fn what_is_no_table_or_no_circuit_is_refused() {
    let place = Place::new();
    for (text, told) in [
        ("1 2 3", "2, 4, 8"),
        ("", "2, 4, 8"),
        ("0 256", "256"),
        ("0 -1", "`-1`"),
        ("[0, 1", "array"),
        ("[0, 1.5]", "array"),
        (&"1 ".repeat(1 << 16), "too long"),
    ] {
        place.write("table", text.as_bytes());
        let line = place.refuses(2, &["circuit", "--table", "table"]);
        assert!(line.contains("table") && line.contains(told), "{line}");
    }
    place.refuses(1, &["circuit", "--table", "nowhere"]);
    place.refuses(2, &["circuit", "aes-sbocks"]);
    place.refuses(2, &["circuit", "aes-sbox", "--gates", "4"]);
    place.refuses(2, &["circuit", "--emit", "cuda"]);
    place.refuses(2, &["circuit", "aes-sbox", "-o", "file"]);
    assert!(place.refuses(2, &["circuit", "aes-ctr"]).contains("--emit"));
    place.refuses(2, &["circuit", "aes-sbox", "--table", "table"]);
}
