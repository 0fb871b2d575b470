//! Circuits as netlists: in simulation they compute the reference's results.
//!
//! Icarus Verilog simulates the Verilog text, and Yosys compares and synthesises both formats. If either is
//! not installed, the test prints a skip. BLIF is also evaluated by code in this file.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod simulator;

use std::collections::HashMap;
use std::fs;
use std::process::Command;

use crossgrain::engine::arch::Lanes as _;
use crossgrain::engine::cipher::Description;
use crossgrain::engine::cipher::kuznyechik::Kuznyechik;
use crossgrain::engine::cipher::sbox::AES;
use crossgrain::engine::cipher::serpent::description as serpent;
use crossgrain::engine::circuit::affine::multiply;
use crossgrain::engine::circuit::graph::Graph;
use crossgrain::engine::circuit::map::map;
use crossgrain::engine::circuit::named;
use crossgrain::engine::circuit::netlist::{Format, netlist};
use crossgrain::engine::circuit::trace::{Width, trace};
use crossgrain::engine::device::rounds;
use simulator::{folder, is_here, run};

/// Random inputs per circuit.
const INPUTS: usize = 1000;

/// Random inputs in the nightly run.
const MANY_INPUTS: usize = 10_000;

type Bits = Vec<bool>;

/// Computes the expected output for an input.
type Reference = Box<dyn Fn(&[bool]) -> Bits>;

/// A circuit with its reference function.
struct Checked {
    name: String,
    graph: Graph,
    reference: Reference,
}

fn bits(bytes: &[u8], count: usize) -> Bits {
    (0..count).map(|at| bytes[at / 8] >> (at % 8) & 1 == 1).collect()
}

fn bytes(bits: &[bool]) -> Vec<u8> {
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
    bits.chunks(8).map(byte).collect()
}

/// The reference of a table whose entries have `count` bits.
fn of_table(table: Vec<u8>, count: usize) -> Reference {
    Box::new(move |input| bits(&[table[usize::from(bytes(input)[0])]], count))
}

fn inverse(table: &[u8]) -> Vec<u8> {
    let place = |value: usize| table.iter().position(|&entry| usize::from(entry) == value).unwrap() as u8;
    (0..table.len()).map(place).collect()
}

/// An AES round after FIPS 197. `row` is the first row of the matrix; `step` is the shift per row.
fn aes_round(input: &[bool], is_inverse: bool) -> Bits {
    let (state, key) = (bytes(&input[..128]), bytes(&input[128..]));
    let (sbox, row, step) = match is_inverse {
        false => (AES.table.to_vec(), [2, 3, 1, 1], 1),
        true => (inverse(&AES.table), [14, 11, 13, 9], 3),
    };
    let added = |value: u8, at: usize, now: bool| if now { value ^ key[at] } else { value };
    let moved = |at: usize| sbox[usize::from(state[(4 * (at / 4 + step * (at % 4)) + at % 4) % 16])];
    let moved: Vec<u8> = (0..16).map(|at| added(moved(at), at, is_inverse)).collect();
    let mixed = |at: usize| {
        let terms = (0..4).map(|other| multiply(row[(4 + other - at % 4) % 4], moved[at / 4 * 4 + other]));
        terms.fold(0, |sum, term| sum ^ term)
    };
    let output: Vec<u8> = (0..16).map(|at| added(mixed(at), at, !is_inverse)).collect();
    bits(&output, 128)
}

fn words(bits: &[bool]) -> [u32; 4] {
    let bytes = bytes(bits);
    std::array::from_fn(|at| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap()))
}

fn serpent_round(index: usize, input: &[bool], is_inverse: bool) -> Bits {
    let (state, key) = (words(&input[..128]), words(&input[128..]));
    let keyed = |state: [u32; 4]| std::array::from_fn(|at| state[at] ^ key[at]);
    let s_box = &serpent::S_BOXES[index];
    let output = match is_inverse {
        false => serpent::transform(serpent::substitute(s_box, keyed(state))),
        true => keyed(serpent::substitute(&serpent::inverted(s_box), serpent::inv_transform(state))),
    };
    bits(&output.map(u32::to_le_bytes).concat(), 128)
}

fn reference(name: &str) -> Option<Reference> {
    match name {
        "aes-sbox" => return Some(of_table(AES.table.to_vec(), 8)),
        "aes-inverse-sbox" => return Some(of_table(inverse(&AES.table), 8)),
        "kuznyechik-sbox" => return Some(of_table(Kuznyechik::BOXES[0].table.to_vec(), 8)),
        "kuznyechik-inverse-sbox" => return Some(of_table(Kuznyechik::BOXES[1].table.to_vec(), 8)),
        "aes-round" => return Some(Box::new(|input| aes_round(input, false))),
        "aes-inverse-round" => return Some(Box::new(|input| aes_round(input, true))),
        _ => {}
    }
    let rounds = [("serpent-round-", false), ("serpent-inverse-round-", true)];
    for (start, is_inverse) in rounds {
        if let Some(index) = name.strip_prefix(start) {
            let index = index.parse().unwrap();
            return Some(Box::new(move |input| serpent_round(index, input, is_inverse)));
        }
    }
    let rest = name.strip_prefix("serpent-s")?;
    let s_box = &serpent::S_BOXES[rest[..1].parse::<usize>().unwrap()];
    Some(of_table(if rest.ends_with("inverse") { inverse(s_box) } else { s_box.to_vec() }, 4))
}

/// Every S-box and every round in two-input gates. Where this is quick, also in three-input gates.
fn all() -> Vec<Checked> {
    let mut all = Vec::new();
    for circuit in named::ALL.into_iter().chain(rounds::ALL) {
        let Some(of) = reference(circuit.name) else { continue };
        all.push(Checked { name: circuit.name.to_owned(), graph: circuit.graph(Width::Two), reference: of });
        if circuit.name.contains("round") && !matches!(circuit.name, "aes-round" | "serpent-round-3") {
            continue;
        }
        let graph = map(&circuit.graph(Width::Three));
        let (name, of) = (format!("{}-of-three", circuit.name), reference(circuit.name).unwrap());
        all.push(Checked { name, graph, reference: of });
    }
    all
}

/// Pseudo-random bits.
fn random(count: usize, seed: u64) -> Bits {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 40 & 1 == 1
    };
    (0..count + 64).map(|_| next()).skip(64).collect()
}

/// The highest bit first, the order of Verilog's literals.
fn digits(bits: &[bool]) -> String {
    bits.iter().rev().map(|&bit| if bit { '1' } else { '0' }).collect()
}

/// A Verilog test bench that feeds a circuit with the lines of a file and prints the outputs.
fn bench(model: &str, (inputs, outputs): (usize, usize), (file, lines): (&str, usize)) -> String {
    format!(
        "module bench;
  reg [{}:0] given [0:{}];
  reg [{}:0] x;
  wire [{}:0] y;
  integer at;
  {model} circuit(x, y);
  initial begin
    $readmemb(\"{file}\", given);
    for (at = 0; at < {lines}; at = at + 1) begin
      x = given[at];
      #1 $display(\"%b\", y);
    end
  end
endmodule
",
        inputs - 1,
        lines - 1,
        inputs - 1,
        outputs - 1
    )
}

#[test]
fn simulated_s_boxes_give_what_the_reference_gives() {
    simulate(INPUTS, |name| !name.contains("round"));
}

/// A round takes seconds, so this covers both directions of AES and Serpent only.
#[test]
fn simulated_rounds_give_what_the_reference_gives() {
    let rounds = ["aes-round", "aes-inverse-round", "serpent-round-3", "serpent-inverse-round-6"];
    simulate(INPUTS, |name| rounds.contains(&name));
}

#[test]
#[ignore = "takes a minute"]
fn simulated_circuits_give_what_the_reference_gives_on_many_inputs() {
    simulate(MANY_INPUTS, |_| true);
}

fn simulate(count_of_inputs: usize, is_chosen: impl Fn(&str) -> bool) {
    if !is_here("iverilog", "Verilog") {
        return;
    }
    let (folder, mut count) = (folder(&format!("verilog-{count_of_inputs}")), 0);
    for Checked { name, graph, reference } in all().into_iter().filter(|checked| is_chosen(&checked.name)) {
        let (inputs, outputs) = (graph.inputs(), graph.outputs().len());
        let given: Vec<Bits> = (1..=count_of_inputs as u64).map(|seed| random(inputs, seed)).collect();
        let lines: String = given.iter().map(|given| digits(given) + "\n").collect();
        let path = |end: &str| folder.join(format!("{name}.{end}"));
        fs::write(path("in"), lines).unwrap();
        fs::write(path("v"), netlist(&graph, &name, Format::Verilog).unwrap()).unwrap();
        let file = path("in").display().to_string();
        fs::write(
            path("bench.v"),
            bench(&name.replace('-', "_"), (inputs, outputs), (&file, count_of_inputs)),
        )
        .unwrap();
        run(Command::new("iverilog").arg("-o").arg(path("vvp")).args([path("v"), path("bench.v")]));
        let printed = run(Command::new("vvp").arg("-n").arg(path("vvp")));
        assert_eq!(printed.lines().count(), count_of_inputs, "{name}");
        for (given, got) in given.iter().zip(printed.lines()) {
            assert_eq!(got, digits(&reference(given)), "{name}");
        }
        count += 1;
    }
    println!("counted: {count} circuits simulated in Verilog on {count_of_inputs} inputs each");
}

/// Evaluates a BLIF model for 64 inputs at a time.
fn evaluated(text: &str, inputs: &[u64], outputs: usize) -> Vec<u64> {
    let mut values: HashMap<String, u64> = HashMap::new();
    values.extend(inputs.iter().enumerate().map(|(at, &lanes)| (format!("x{at}"), lanes)));
    for part in text.split(".names ").skip(1) {
        let mut lines = part.lines();
        let names: Vec<_> = lines.next().unwrap().split(' ').collect();
        let (to, from) = names.split_last().unwrap();
        let row = |line: &str| {
            let pattern = line.rsplit_once(' ').map_or("", |(pattern, _)| pattern);
            let terms = pattern.bytes().zip(from);
            terms.fold(u64::MAX, |all, (bit, name)| {
                all & if bit == b'1' { values[*name] } else { !values[*name] }
            })
        };
        let rows = lines.filter(|line| line.ends_with('1')).map(row).fold(0, |any, row| any | row);
        values.insert((*to).to_owned(), rows);
    }
    (0..outputs).map(|at| values[&format!("y{at}")]).collect()
}

#[test]
fn evaluated_blif_gives_what_the_reference_gives() {
    for Checked { name, graph, reference } in all() {
        let (inputs, outputs) = (graph.inputs(), graph.outputs().len());
        let text = netlist(&graph, &name, Format::Blif).unwrap();
        for first in (0..INPUTS as u64).step_by(64) {
            let given: Vec<Bits> = (first..first + 64).map(|seed| random(inputs, seed + 1)).collect();
            let lanes =
                |at: usize| given.iter().rev().fold(0, |lanes, bits| lanes << 1 | u64::from(bits[at]));
            let got = evaluated(&text, &(0..inputs).map(lanes).collect::<Vec<_>>(), outputs);
            for (lane, given) in given.iter().enumerate() {
                let output: Bits = got.iter().map(|lanes| lanes >> lane & 1 == 1).collect();
                assert_eq!(output, reference(given), "{name}");
            }
        }
    }
}

/// Yosys reads both formats, proves them equivalent, and counts the two-input gates of its own synthesis.
#[test]
fn yosys_reads_both_formats_as_one_function() {
    if !is_here("yosys", "synthesis") {
        return;
    }
    let folder = folder("yosys");
    for name in ["aes-sbox", "aes-inverse-sbox", "mix-columns", "serpent-s3", "serpent-round-3"] {
        let circuit = named::find(name).or_else(|| rounds::find(name)).unwrap();
        let (graph, model) = (circuit.graph(Width::Two), name.replace('-', "_"));
        let path = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
        let (verilog, blif) = (path("v"), path("blif"));
        fs::write(&verilog, netlist(&graph, name, Format::Verilog).unwrap()).unwrap();
        // Separate bits instead of buses, like the BLIF model.
        let ports = |letter: char, count: usize| {
            (0..count).rev().map(|at| format!("{letter}{at}")).collect::<Vec<_>>().join(", ")
        };
        let (x, y) = (ports('x', graph.inputs()), ports('y', graph.outputs().len()));
        let wrapper = format!(
            "module wrapped(input {x}, output {y});\n  {model} inner({{{x}}}, {{{y}}});\nendmodule\n"
        );
        fs::write(path("wrapped.v"), wrapper).unwrap();
        fs::write(&blif, netlist(&graph, name, Format::Blif).unwrap().replace(&model, "of_blif")).unwrap();
        let wrapped = path("wrapped.v");
        let script = format!(
            "read_verilog {verilog} {wrapped}; flatten wrapped; read_blif {blif}; \
             equiv_make wrapped of_blif same; cd same; equiv_simple; equiv_status -assert; cd ..; \
             select wrapped; techmap; abc -g AND,OR,XOR,NAND,NOR,XNOR,ANDNOT,ORNOT; opt_clean; stat"
        );
        let printed = run(Command::new("yosys").args(["-p", &script]));
        let cells = printed.rsplit("Number of cells:").next().and_then(|rest| rest.split_whitespace().next());
        let cells: usize = cells.unwrap().parse().unwrap();
        println!("{name}: {} gates here, {cells} by Yosys", graph.gates().len());
        assert!(cells > 0);
    }
}

#[test]
fn what_computes_on_lanes_is_no_netlist() {
    let graph = trace(Width::Two, |[a, b]: [_; 2]| [a.add_lanes(b)]);
    assert_eq!(netlist(&graph, "sum", Format::Verilog), None);
    assert_eq!(netlist(&graph, "sum", Format::Blif), None);
    let constant = trace(Width::Two, |[a]: [_; 1]| [a ^ a]);
    assert!(netlist(&constant, "table", Format::Verilog).unwrap().contains("1'b0"));
}
