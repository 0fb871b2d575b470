//! `crossgrain circuit`: the gates of a part or of any small table, and their text for GPUs and hardware.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use crossgrain::engine::circuit::emit::{self, Language};
use crossgrain::engine::circuit::graph::Graph;
use crossgrain::engine::circuit::map::map;
use crossgrain::engine::circuit::named;
use crossgrain::engine::circuit::netlist::{self, Format};
use crossgrain::engine::circuit::synthesize::{Table, synthesize};
use crossgrain::engine::circuit::trace::Width;
use crossgrain::engine::device::hardware::{Architecture, Design, Figure, figures};
use crossgrain::engine::device::{self, Kernel, rounds};
use crossgrain::engine::text::{grouped, quoted, reason};
use crossgrain::{Cipher, Direction};
use serde_json::{Value, json};

use crate::error::{Error, Exit};
use crate::input::shown;
use crate::output::{apart, write_file};

/// Register counts for which spills are reported: those of AVX-512, and those per GPU thread at high and low
/// occupancy.
const BUDGETS: [usize; 4] = [32, 64, 128, 255];

/// The maximum length of a table file in bytes; 256 numbers fit many times.
const TABLE_FILE_BYTES: u64 = 1 << 16;

/// Count the gates of a circuit, draw it, or emit it for a GPU or for hardware
///
/// A gate is any function of its inputs; a complement is part of the gate that reads it. Whole rounds are
/// circuits too, of a state and a key. Whole ciphers are emitted for GPUs: programs that read and write
/// blocks. With `--design` they are designs for hardware.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The circuit or program; none for a list of them
    #[arg(conflicts_with = "table")]
    name: Option<String>,

    /// Make a circuit for a table: 2 to 256 numbers up to 255, as a JSON array or with blanks between
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,

    /// Most inputs of a gate
    #[arg(long, default_value_t = 2, value_parser = RangedU64ValueParser::<u8>::new().range(2..=3))]
    gates: u8,

    /// Print one JSON object, or an array of all circuits
    #[arg(long, conflicts_with = "emit")]
    json: bool,

    /// Write the graph to a file, for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Print the circuit as a function, or as a netlist
    #[arg(long, value_enum)]
    emit: Option<Target>,

    /// The structure of a whole cipher in hardware
    #[arg(long, value_enum, requires = "name")]
    design: Option<Structure>,

    /// Decrypt instead of encrypting, for --design
    #[arg(long, requires = "design")]
    decrypt: bool,

    /// Write the function to a file
    #[arg(short, long, value_name = "FILE", requires = "emit")]
    output: Option<PathBuf>,

    /// Replace files that are there already
    #[arg(long)]
    force: bool,
}

/// A language to emit.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    /// CUDA C
    Cuda,
    /// WebGPU's shading language
    Wgsl,
    /// Verilog, a module of bits x and y
    Verilog,
    /// Berkeley's logic interchange format
    Blif,
}

/// The structure of a design.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Structure {
    /// The logic of one round, used again and again
    Iterated,
    /// The logic of all rounds, with registers between them
    Pipelined,
}

/// A circuit to describe.
struct Told {
    name: String,
    computes: String,
    graph: Graph,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    if let Some(cipher) = args.name.as_deref().and_then(|name| name.parse().ok()) {
        return put(args, &whole(cipher, args)?);
    }
    if let (Some(name), Some(_)) = (&args.name, args.design) {
        let told = format!("{} is no whole cipher, but --design needs one, such as aes-128", quoted(name));
        return Err(Error::usage(told));
    }
    if let Some(kernel) = args.name.as_deref().and_then(Kernel::find) {
        return program(kernel, args);
    }
    apart(("--output", args.output.as_deref()), ("--dot", args.dot.as_deref()))?;
    let Some(told) = chosen(args)? else { return list(args) };
    if let Some(path) = &args.dot {
        write_file(path, args.force, &told.graph.dot(&told.name))?;
    }
    let text = match args.emit {
        Some(target) => emitted(&told, target)?,
        None if args.json => format!("{:#}\n", object(&told, args.gates)),
        None => summary(&told, args.gates),
    };
    put(args, &text)
}

/// Describes a whole cipher in hardware, or emits it.
fn whole(cipher: Cipher, args: &Args) -> Result<String, Error> {
    let architecture = match args.design {
        Some(Structure::Iterated) => Architecture::Iterated,
        Some(Structure::Pipelined) => Architecture::Pipelined,
        None => {
            let told = format!("{cipher} is a whole cipher: choose --design iterated or --design pipelined");
            return Err(Error::usage(told));
        }
    };
    if args.dot.is_some() || args.gates != 2 {
        return Err(Error::usage(
            "a design has no graph and gates of two inputs: leave out --dot and --gates",
        ));
    }
    let direction = if args.decrypt { Direction::Decrypt } else { Direction::Encrypt };
    let design = Design { cipher, direction, architecture };
    match args.emit {
        Some(Target::Verilog) => Ok(design.verilog()),
        Some(_) => Err(Error::usage("a design has registers: emit it by --emit verilog")),
        None if args.json => Ok(format!("{:#}\n", sizes(design))),
        None => Ok(sized(design)),
    }
}

/// The size of a design, for people.
fn sized(design: Design) -> String {
    let (area, direction) = (design.area(), if design.direction == Direction::Encrypt { "en" } else { "de" });
    let mut text = format!("{}: {direction}crypts, {}\n", design.cipher, design.architecture.name());
    text += &format!(
        "gates      {}, of two inputs: {} of rounds, {} of the key schedule, 3 for each of {} multiplexed bits\n",
        grouped(area.gates()),
        grouped(area.round_gates),
        grouped(area.key_gates),
        grouped(area.multiplexers)
    );
    text += &format!("registers  {} bits\n", grouped(area.registers));
    text += &format!("depth      {} in rounds, {} in the key schedule\n", area.depth, area.key_depth);
    text += &format!("cycles     {} a block, {} a key\n", area.cycles, area.key_cycles);
    for figure in figures(design.cipher) {
        let gates = grouped(figure.gates);
        text += &format!("published  {gates} gate equivalents: {} ({})\n", figure.contains, figure.source);
    }
    text + "A gate equivalent is a NAND: an XOR counts as two or more, and a register as about six.\n"
}

fn sizes(design: Design) -> Value {
    let area = design.area();
    let published = figures(design.cipher).map(|figure| {
        let Figure { gates, contains, source, .. } = figure;
        json!({ "gate_equivalents": gates, "contains": contains, "source": source })
    });
    json!({
        "name": design.cipher.name(),
        "module": design.module(),
        "gates": area.gates(),
        "round_gates": area.round_gates,
        "key_gates": area.key_gates,
        "multiplexed_bits": area.multiplexers,
        "registers": area.registers,
        "depth": area.depth,
        "key_depth": area.key_depth,
        "cycles": area.cycles,
        "key_cycles": area.key_cycles,
        "published": Value::from_iter(published),
    })
}

/// Emits a whole cipher as a program.
fn program(kernel: Kernel, args: &Args) -> Result<(), Error> {
    let told = "is a program: emit it by --emit cuda or --emit wgsl";
    let language = match (args.emit, &args.dot) {
        (Some(Target::Cuda), None) => Language::Cuda,
        (Some(Target::Wgsl), None) => Language::Wgsl,
        _ => return Err(Error::usage(format!("{} {told}", kernel.name()))),
    };
    put(args, &kernel.text(language))
}

/// The text of a circuit as a function or a netlist.
fn emitted(told: &Told, target: Target) -> Result<String, Error> {
    let format = match target {
        Target::Cuda => return Ok(emit::circuit(&told.graph, &told.name, Language::Cuda)),
        Target::Wgsl => return Ok(emit::circuit(&told.graph, &told.name, Language::Wgsl)),
        Target::Verilog => Format::Verilog,
        Target::Blif => Format::Blif,
    };
    let text = netlist::netlist(&told.graph, &told.name, format);
    let lanes = || Error::usage(format!("{} computes on lanes of 32 bits: choose another --emit", told.name));
    text.ok_or_else(lanes)
}

fn put(args: &Args, text: &str) -> Result<(), Error> {
    match &args.output {
        Some(path) => write_file(path, args.force, text),
        None => print(text),
    }
}

/// The circuit that the arguments name.
fn chosen(args: &Args) -> Result<Option<Told>, Error> {
    if let Some(path) = &args.table {
        let table = read_table(path)?;
        let graph = synthesize(&table, width(args));
        let graph =
            graph.ok_or_else(|| Error::new(Exit::InputOutput, "no circuit was found for this table"))?;
        let structure =
            if table.structure().is_some() { ", affine equivalent to inversion in GF(2^8)" } else { "" };
        let computes = format!("the table in {}{structure}", shown(path));
        return Ok(Some(Told { name: "table".to_owned(), computes, graph: covered(graph, args) }));
    }
    let Some(name) = &args.name else { return Ok(None) };
    let unknown =
        || Error::usage(format!("there is no circuit {}: `crossgrain circuit` lists them", quoted(name)));
    named::find(name)
        .or_else(|| rounds::find(name))
        .map(|circuit| tell(&circuit, args))
        .ok_or_else(unknown)
        .map(Some)
}

fn tell(circuit: &named::Named, args: &Args) -> Told {
    let graph = covered(circuit.graph(width(args)), args);
    Told { name: circuit.name.to_owned(), computes: circuit.computes.to_owned(), graph }
}

const fn width(args: &Args) -> Width {
    if args.gates == 2 { Width::Two } else { Width::Three }
}

fn covered(graph: Graph, args: &Args) -> Graph {
    if args.gates == 2 { graph } else { map(&graph) }.scheduled()
}

fn list(args: &Args) -> Result<(), Error> {
    if args.dot.is_some() || args.emit.is_some() {
        return Err(Error::usage("which circuit? name one, `crossgrain circuit` lists them"));
    }
    let all = named::ALL;
    let text = if args.json {
        format!(
            "{:#}\n",
            Value::from_iter(all.iter().map(|circuit| object(&tell(circuit, args), args.gates)))
        )
    } else {
        let lines = all.iter().map(|circuit| format!("{:<22}  {}\n", circuit.name, circuit.computes));
        let programs: Vec<_> = device::ALL.iter().map(|kernel| kernel.name()).collect();
        let rounds: Vec<_> = rounds::ALL.iter().map(|round| round.name).collect();
        let lines: String = lines.collect();
        let ciphers = Cipher::ALL.map(Cipher::name).join(" ");
        let (rounds, programs) = (rounds.join(" "), programs.join(" "));
        format!(
            "{lines}\nwhole rounds: {rounds}\nciphers for --design: {ciphers}\nprograms to emit: {programs}\n"
        )
    };
    print(&text)
}

fn summary(told: &Told, gate_inputs: u8) -> String {
    let graph = &told.graph;
    let mut text = format!("{}: {}\n", told.name, told.computes);
    text += &format!("inputs   {}\noutputs  {}\n", grouped(graph.inputs()), grouped(graph.outputs().len()));
    text += &format!("gates    {}, of up to {gate_inputs} inputs\n", grouped(graph.gates().len()));
    text += &format!("depth    {}\nlive     {} registers\n", grouped(graph.depth()), grouped(graph.live()));
    for registers in BUDGETS {
        let spills = graph.spills(registers);
        text += &format!(
            "spills   {} stores, {} reloads in {registers} registers\n",
            grouped(spills.stores),
            grouped(spills.reloads)
        );
    }
    text
}

fn object(told: &Told, gate_inputs: u8) -> Value {
    let graph = &told.graph;
    let spills = BUDGETS.map(|registers| {
        let spills = graph.spills(registers);
        json!({ "registers": registers, "stores": spills.stores, "reloads": spills.reloads })
    });
    json!({
        "name": told.name,
        "computes": told.computes,
        "gate_inputs": gate_inputs,
        "inputs": graph.inputs(),
        "outputs": graph.outputs().len(),
        "gates": graph.gates().len(),
        "depth": graph.depth(),
        "live": graph.live(),
        "spills": spills,
    })
}

fn read_table(path: &Path) -> Result<Table, Error> {
    let shown = shown(path);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| Error::read(&shown, &error))?;
    file.take(TABLE_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| Error::read(&shown, &error))?;
    if bytes.len() as u64 > TABLE_FILE_BYTES {
        return Err(Error::usage(format!("{shown} is too long for a table: give at most 256 numbers")));
    }
    let text = String::from_utf8_lossy(&bytes);
    Table::new(&numbers(&text).map_err(|told| Error::usage(format!("{shown}: {told}")))?)
        .map_err(|error| Error::usage(format!("{shown}: {error}")))
}

/// A JSON array, or numbers separated by blanks.
pub(crate) fn numbers(text: &str) -> Result<Vec<u64>, String> {
    if text.trim_start().starts_with('[') {
        let mend = "give an array of numbers from 0 to 255";
        return serde_json::from_str(text).map_err(|error| format!("{}: {mend}", reason(&error.to_string())));
    }
    let number = |word: &str| {
        word.parse().map_err(|_| {
            format!("`{}` is no number: give numbers from 0 to 255 with blanks between", quoted(word))
        })
    };
    text.split_whitespace().map(number).collect()
}

fn print(text: &str) -> Result<(), Error> {
    let mut output = io::stdout().lock();
    let printed = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    printed.map_err(|error| Error::print(&error))
}
