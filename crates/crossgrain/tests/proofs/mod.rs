//! Proofs about designs by Yosys: S-boxes equal their published tables, and both structures compute the same
//! cycles. Synthesis to gates.

use std::fs;
use std::process::Command;

use crossgrain::engine::block::Family;
use crossgrain::engine::cipher::Description;
use crossgrain::engine::cipher::aes::description::Aes;
use crossgrain::engine::cipher::aria::Aria;
use crossgrain::engine::cipher::camellia::Camellia;
use crossgrain::engine::cipher::kuznyechik::Kuznyechik;
use crossgrain::engine::cipher::sbox::Sbox;
use crossgrain::engine::cipher::serpent::description::{S_BOXES, inverted};
use crossgrain::engine::cipher::sm4::Sm4;
use crossgrain::engine::device::hardware::{Architecture, Design};
use crossgrain::{Cipher, Direction};

use crate::DIRECTIONS;
use crate::simulator::{folder, is_here, run};

/// Runs a script, which must find nothing wrong.
fn prove(script: &str) {
    run(Command::new("yosys").args(["-q", "-p", script]));
}

/// The text of a function of a design, without repetition: its name, and the text.
fn functions(text: &str) -> Vec<(String, String)> {
    let mut functions = Vec::new();
    for part in text.split("  function ").skip(1) {
        let body = part.split("endfunction").next().unwrap();
        let name = body.split(['(', ' ']).nth(1).unwrap().to_owned();
        let function = (name, format!("  function {body}endfunction\n"));
        if !functions.contains(&function) {
            functions.push(function);
        }
    }
    functions
}

/// The published tables of a family's S-boxes, by the names of the functions.
fn tables(family: Family) -> Vec<(String, Vec<u8>)> {
    let of = |boxes: &[Sbox]| {
        let boxes = boxes.iter().enumerate();
        boxes.map(|(number, sbox)| (format!("box{number}"), sbox.table.to_vec())).collect()
    };
    match family {
        Family::Aes => of(Aes::BOXES),
        Family::Aria => of(Aria::BOXES),
        Family::Camellia => of(Camellia::BOXES),
        Family::Kuznyechik => of(Kuznyechik::BOXES),
        Family::Sm4 => of(Sm4::BOXES),
        _ => {
            let boxes = S_BOXES.iter().enumerate();
            let both = |(index, table): (usize, &[u8; 16])| {
                let inverse = (format!("s{index}_inverse"), inverted(table).to_vec());
                [(format!("s{index}"), table.to_vec()), inverse]
            };
            boxes.flat_map(both).collect()
        }
    }
}

/// Two modules: a function, and its table. An S-box of four bits has eight copies.
fn table_and_gates(name: &str, function: &str, table: &[u8]) -> String {
    let (bits, copies) = if table.len() == 256 { (8, 1) } else { (4, 8) };
    let (top, all) = (bits - 1, bits * copies - 1);
    let entries = table.iter().enumerate();
    let entries: String =
        entries.map(|(x, y)| format!("      {bits}'d{x}: look_up = {bits}'d{y};\n")).collect();
    let bus = |name: &str, copy: usize| {
        let places: Vec<_> = (0..bits).rev().map(|bit| format!("{name}[{}]", copies * bit + copy)).collect();
        format!("{{{}}}", places.join(", "))
    };
    let copies = (0..copies).map(|at| format!("  assign {} = look_up({});\n", bus("y", at), bus("x", at)));
    format!(
        "module {name}_gates(input [{all}:0] x, output [{all}:0] y);
{function}  assign y = {name}(x);
endmodule
module {name}_table(input [{all}:0] x, output [{all}:0] y);
  function [{top}:0] look_up(input [{top}:0] x);
    case (x)
{entries}    endcase
  endfunction
{}endmodule
",
        copies.collect::<String>()
    )
}

/// Proves that the S-boxes of a cipher's designs equal their tables.
pub(crate) fn tables_of(cipher: Cipher) {
    if !is_here("yosys", "proofs about S-boxes") {
        return;
    }
    let architecture = Architecture::Iterated;
    let designs = DIRECTIONS.map(|direction| Design { cipher, direction, architecture }.verilog());
    let used: Vec<_> = designs.iter().flat_map(|text| functions(text)).collect();
    let (mut text, mut script, mut count) = (String::new(), String::new(), 0);
    for (name, table) in tables(cipher.family()) {
        let function = used.iter().find(|(known, _)| *known == name);
        let (_, function) = function.unwrap_or_else(|| panic!("{cipher} uses {name}"));
        text += &table_and_gates(&name, function, &table);
        script += &format!("miter -equiv -flatten {name}_gates {name}_table {name}_same; ");
        script += &format!("sat -verify -prove trigger 0 {name}_same; ");
        count += 1;
    }
    let path = folder("designs-tables").join(format!("{cipher}.v"));
    fs::write(&path, text).unwrap();
    prove(&format!("read_verilog {}; proc; memory; opt; {script}", path.display()));
    println!("counted: {count} S-boxes proved equal to their tables by Yosys");
}

/// Proves for each kind of cycle that both structures compute the same. The iterated design has one module for
/// all kinds, which selects by the number of the cycle.
pub(crate) fn cycles_of(cipher: Cipher, direction: Direction) {
    if !is_here("yosys", "proofs about cycles") {
        return;
    }
    let [one, other] = Architecture::ALL.map(|architecture| Design { cipher, direction, architecture });
    let mut text = one.verilog() + &other.verilog();
    let declared = text.split(&format!("module {}_round_step(", one.module())).nth(1).unwrap();
    let key = declared.split("] k").next().unwrap().rsplit("wire [").next().unwrap();
    let (mut wires, mut same) = (String::new(), Vec::new());
    for (kind, cycle) in one.cycles_of_kinds().into_iter().enumerate() {
        wires += &format!("  wire [127:0] a{kind}, b{kind};\n");
        for (module, select, next) in [
            (format!("{}_round_step", one.module()), format!(".cycle({cycle}), "), format!("a{kind}")),
            (format!("{}_round_kind{kind}", other.module()), String::new(), format!("b{kind}")),
        ] {
            wires += &format!("  {module} of_{next}({select}.s(s), .k(k), .next({next}));\n");
        }
        same.push(format!("a{kind} == b{kind}"));
    }
    let count = same.len();
    text += &format!(
        "module same(input [127:0] s, input [{key}] k, output y);\n{wires}  assign y = {};\nendmodule\n",
        same.join(" && ")
    );
    let path = folder("designs-cycles").join(format!("{}.v", one.module()));
    fs::write(&path, text).unwrap();
    prove(&format!(
        "read_verilog {}; hierarchy -check -top same; proc; memory; opt; flatten; opt -full; sat -verify -prove y 1 same",
        path.display()
    ));
    println!("counted: {count} kinds of cycles proved equal in both structures by Yosys");
}

/// Synthesises a design to gates of two inputs. It has no latches and no problems that `check` finds.
pub(crate) fn synthesise(design: Design) {
    if !is_here("yosys", "synthesis of designs") {
        return;
    }
    let (module, area) = (design.module(), design.area());
    let path = folder("designs-synthesis").join(format!("{module}.v"));
    fs::write(&path, design.verilog()).unwrap();
    let script = format!(
        "read_verilog {}; hierarchy -check -top {module}; proc; check -assert; \
         select -assert-none t:$dlatch t:$adlatch t:$dlatchsr; synth -flatten -noabc; check -assert; \
         abc -g AND,OR,XOR,NAND,NOR,XNOR,ANDNOT,ORNOT; opt_clean; stat",
        path.display()
    );
    let printed = run(Command::new("yosys").args(["-p", &script]));
    let stat = printed.rsplit("Number of cells:").next().unwrap().lines().skip(1);
    let counts = stat.filter_map(|line| line.trim().split_once(' '));
    let counts = counts.filter_map(|(cell, count)| Some((cell, count.trim().parse::<usize>().ok()?)));
    let (registers, gates): (Vec<_>, Vec<_>) = counts.partition(|(cell, _)| cell.contains("DFF"));
    let sum = |cells: Vec<(&str, usize)>| cells.into_iter().map(|(_, count)| count).sum::<usize>();
    let (gates, registers) = (sum(gates), sum(registers));
    let here = (area.gates(), area.registers);
    println!("{module}: {gates} gates and {registers} registers by Yosys, {} and {} here", here.0, here.1);
    // Yosys merges equal registers: round keys of Camellia are rotations of few values.
    assert!(gates > 0 && registers > 256, "{module}: {area:?}");
}
