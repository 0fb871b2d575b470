//! The logic of cycles as Verilog: one module for all cycles of a chain, which selects by the number of the
//! cycle, or one module for each kind of cycle.

use std::collections::BTreeMap;

use super::chain::{Chain, PLACES, Shape, Source, Use};
use super::part::{concatenated, ports, slice};

/// The number of bits that count to `count`, without `count`.
pub(super) fn count_bits(count: usize) -> u32 {
    count.saturating_sub(1).checked_ilog2().unwrap_or(0) + 1
}

/// A constant of `bytes`, the first one lowest.
fn literal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    format!("{}'h{digits}", 8 * bytes.len())
}

/// A wire or a multiplexer: the value of bus `name` for each value of the selector. Values that are not listed
/// select the most frequent one.
pub(super) fn chosen(name: &str, bits: usize, selector: (&str, u32), values: &[(usize, String)]) -> String {
    let mut groups = BTreeMap::<&str, Vec<usize>>::new();
    for (number, value) in values {
        groups.entry(value).or_default().push(*number);
    }
    let top = bits - 1;
    let Some((default, _)) = groups.iter().max_by_key(|(_, numbers)| numbers.len()) else {
        return format!("  wire [{top}:0] {name} = {bits}'b0;\n");
    };
    if groups.len() == 1 {
        return format!("  wire [{top}:0] {name} = {default};\n");
    }
    let mut text = format!("  reg [{top}:0] {name};\n  always @*\n    case ({})\n", selector.0);
    let mut others: Vec<_> = groups.iter().filter(|(value, _)| *value != default).collect();
    others.sort_by_key(|(_, numbers)| numbers[0]);
    for (value, numbers) in others {
        let numbers: Vec<_> = numbers.iter().map(|number| format!("{}'d{number}", selector.1)).collect();
        text += &format!("      {}: {name} = {value};\n", numbers.join(", "));
    }
    text + &format!("      default: {name} = {default};\n    endcase\n")
}

/// The parts of a shape by place, as the numbers of their instances.
type Parts = [Option<usize>; PLACES];

fn byte(source: Source, parts: Parts) -> String {
    match source {
        Source::State(at) => slice("s", at),
        Source::Made { place, output } => slice(&format!("p{}_y", parts[place].unwrap_or(0)), output),
    }
}

fn bytes(sources: &[Source], parts: Parts, width: usize) -> String {
    let padding = (sources.len()..width).map(|_| "8'b0".to_owned());
    concatenated(sources.iter().map(|&source| byte(source, parts)).chain(padding))
}

impl Chain {
    fn parts_of(&self, shape: usize) -> Parts {
        self.shapes[shape].uses.each_ref().map(|part| part.as_ref().map(|part| part.part))
    }

    /// The ports of a cycle's module, without the number of the cycle.
    fn ports(&self, has_kept: bool) -> String {
        let width = 8 * self.width - 1;
        let mut text = format!("input wire [{width}:0] s");
        if self.keys() > 0 {
            text += &format!(", input wire [{}:0] k", 8 * self.keys() - 1);
        }
        text += &format!(", output wire [{width}:0] next");
        if has_kept && self.kept() > 0 {
            text += &format!(", output wire [{}:0] kept", 8 * self.kept() - 1);
        }
        text
    }

    /// The uses of a part, by shape.
    fn uses(&self, part: usize) -> impl Iterator<Item = (usize, &Use)> {
        let uses = self.shapes.iter().enumerate();
        uses.flat_map(|(shape, known)| known.uses.iter().flatten().map(move |known| (shape, known)))
            .filter(move |(_, known)| known.part == part)
    }

    /// An instance of a part, and its result.
    fn instance(&self, top: &str, part: usize) -> String {
        let ports = ports(&self.parts[part]).map(|(port, _)| format!(".{port}(p{part}_{port}), "));
        let ports: String = ports.collect();
        let top_bit = 8 * self.parts[part].body.results.len() - 1;
        format!("  wire [{top_bit}:0] p{part}_y;\n  {top}_part{part} p{part}({ports}.y(p{part}_y));\n")
    }

    /// The module of all cycles, `<top>_step`.
    pub(super) fn step(&self, top: &str) -> String {
        let bits = count_bits(self.cycles.len());
        let mut text =
            format!("module {top}_step(input wire [{}:0] cycle, {});\n", bits - 1, self.ports(true));
        let shape_bits = count_bits(self.shapes.len());
        let shapes =
            self.cycles.iter().enumerate().map(|(at, cycle)| (at, format!("{shape_bits}'d{}", cycle.shape)));
        text += &chosen("shape", shape_bits as usize, ("cycle", bits), &shapes.collect::<Vec<_>>());
        let by_shape = ("shape", shape_bits);
        for part in 0..self.parts.len() {
            for (port, count) in ports(&self.parts[part]) {
                let name = format!("p{part}_{port}");
                text += &match port {
                    "x" => {
                        let wired = |(shape, known): (usize, &Use)| {
                            (shape, bytes(&known.inputs, self.parts_of(shape), count))
                        };
                        chosen(&name, 8 * count, by_shape, &self.uses(part).map(wired).collect::<Vec<_>>())
                    }
                    "k" => {
                        let wired = |(shape, known): (usize, &Use)| (shape, keys(&known.keys));
                        chosen(&name, 8 * count, by_shape, &self.uses(part).map(wired).collect::<Vec<_>>())
                    }
                    _ => chosen(&name, 8 * count, ("cycle", bits), &self.constants(part)),
                };
            }
            text += &self.instance(top, part);
        }
        text += &self.shapes_bus("chosen", self.width, shape_bits, |shape| &shape.next);
        text += "  assign next = chosen;\n";
        if self.kept() > 0 {
            text += &self.shapes_bus("to_keep", self.kept(), shape_bits, |shape| &shape.kept);
            text += "  assign kept = to_keep;\n";
        }
        text + "endmodule\n\n"
    }

    /// A bus of bytes that differ between shapes.
    fn shapes_bus(&self, name: &str, width: usize, shape_bits: u32, get: fn(&Shape) -> &[Source]) -> String {
        let shapes = self.shapes.iter().enumerate();
        let values = shapes.map(|(at, shape)| (at, bytes(get(shape), self.parts_of(at), width)));
        chosen(name, 8 * width, ("shape", shape_bits), &values.collect::<Vec<_>>())
    }

    /// The constants of a part, by cycle.
    fn constants(&self, part: usize) -> Vec<(usize, String)> {
        let place = self.parts[part].place;
        let cycles = self.cycles.iter().enumerate();
        let used = cycles.filter(|(_, cycle)| self.parts_of(cycle.shape)[place] == Some(part));
        used.map(|(at, cycle)| (at, literal(&cycle.constants[place]))).collect()
    }

    /// The module of a kind of cycle, `<top>_kind<number>`.
    pub(super) fn kind(&self, top: &str, shape: usize) -> String {
        let mut text = format!("module {top}_kind{shape}({});\n", self.ports(false));
        let parts = self.parts_of(shape);
        for known in self.shapes[shape].uses.iter().flatten() {
            let part = known.part;
            for (port, count) in ports(&self.parts[part]) {
                let value = match port {
                    "x" => bytes(&known.inputs, parts, count),
                    _ => keys(&known.keys),
                };
                text += &format!("  wire [{}:0] p{part}_{port} = {value};\n", 8 * count - 1);
            }
            text += &self.instance(top, part);
        }
        let next = bytes(&self.shapes[shape].next, parts, self.width);
        text + &format!("  assign next = {next};\nendmodule\n\n")
    }

    /// The bits of multiplexers with two inputs in the module of all cycles.
    pub(super) fn multiplexers(&self) -> usize {
        let of_part = |part: usize| {
            let inputs = self.uses(part).map(|(shape, known)| resolved(&known.inputs, &self.shapes[shape]));
            let keys = self.uses(part).map(|(_, known)| known.keys.clone());
            multiplexed(&inputs.collect::<Vec<_>>()) + multiplexed(&keys.collect::<Vec<_>>())
        };
        let all = |get: fn(&Shape) -> &[Source]| {
            multiplexed(&self.shapes.iter().map(|shape| resolved(get(shape), shape)).collect::<Vec<_>>())
        };
        let parts: usize = (0..self.parts.len()).map(of_part).sum();
        parts + all(|shape| &shape.next) + all(|shape| &shape.kept)
    }
}

/// Sources with the parts that make them, so that equal places of different parts differ.
fn resolved(sources: &[Source], shape: &Shape) -> Vec<(Option<usize>, Source)> {
    let part = |source: &Source| match *source {
        Source::State(_) => None,
        Source::Made { place, .. } => shape.uses[place].as_ref().map(|known| known.part),
    };
    sources.iter().map(|source| (part(source), *source)).collect()
}

/// Bits of multiplexers for lists of bytes of which one is selected.
fn multiplexed<T: PartialEq>(lists: &[Vec<T>]) -> usize {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let distinct = |at: usize| {
        let mut seen = Vec::new();
        for value in lists.iter().filter_map(|list| list.get(at)) {
            if !seen.contains(&value) {
                seen.push(value);
            }
        }
        seen.len().saturating_sub(1)
    };
    8 * (0..longest).map(distinct).sum::<usize>()
}

fn keys(numbers: &[usize]) -> String {
    concatenated(numbers.iter().map(|&number| slice("k", number)))
}
