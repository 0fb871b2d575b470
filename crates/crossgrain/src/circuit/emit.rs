//! Prints a graph as a function in CUDA C or WGSL, one gate per line. A `u32` is 32 one-bit lanes or one
//! 32-bit lane.
//!
//! The two languages differ mostly in declarations and constructors, which [`Language`] prints. In CUDA C a
//! three-input gate is the instruction `lop3.b32`. From equivalent expressions NVIDIA's compiler makes a
//! fifth more gates, because it decomposes the graph and maps it again. In WGSL a gate is an expression, and
//! the driver's compiler maps it. Values are structures with words as fields, or arrays with constant
//! indices. Compilers keep both in registers.

use std::collections::BTreeMap;

use super::arithmetic;
use super::graph::{Gate, Graph, Operation};

pub use super::arithmetic::called_by;

/// A target language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// CUDA C, with `u32` for `unsigned int`.
    Cuda,
    /// WebGPU's shading language.
    Wgsl,
}

/// The names of a vector's words in both languages.
pub(crate) const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    /// `u32`.
    Word,
    /// An array of this many `u32`.
    Words(usize),
    /// A structure.
    Structure(&'a str),
}

/// Defines `u32` and the three-input gate `lop3`. Bit 4a + 2b + c of its table is the value for a, b and c.
/// The host's compiler does not know the instruction, so it gets an expression.
const CUDA_PRELUDE: &str = "typedef unsigned int u32;

template <int table> __device__ __forceinline__ u32 lop3(u32 a, u32 b, u32 c) {
    u32 y;
#ifdef __CUDA_ARCH__
    asm(\"lop3.b32 %0, %1, %2, %3, %4;\" : \"=r\"(y) : \"r\"(a), \"r\"(b), \"r\"(c), \"n\"(table));
#else
    y = (table & 1 ? ~a & ~b & ~c : 0) | (table & 2 ? ~a & ~b & c : 0);
    y |= (table & 4 ? ~a & b & ~c : 0) | (table & 8 ? ~a & b & c : 0);
    y |= (table & 16 ? a & ~b & ~c : 0) | (table & 32 ? a & ~b & c : 0);
    y |= (table & 64 ? a & b & ~c : 0) | (table & 128 ? a & b & c : 0);
#endif
    return y;
}

";

impl Language {
    /// The text at the start of a source file.
    pub const fn prelude(self) -> &'static str {
        match self {
            Self::Cuda => CUDA_PRELUDE,
            Self::Wgsl => "",
        }
    }

    /// Declares a structure.
    pub fn structure(self, name: &str, fields: &[(&str, Field<'_>)]) -> String {
        let field = |&(name, field): &(&str, Field<'_>)| match (self, field) {
            (Self::Cuda, Field::Word) => format!("    u32 {name};\n"),
            (Self::Cuda, Field::Words(count)) => format!("    u32 {name}[{count}];\n"),
            (Self::Cuda, Field::Structure(structure)) => format!("    {structure} {name};\n"),
            (Self::Wgsl, Field::Word) => format!("    {name}: u32,\n"),
            (Self::Wgsl, Field::Words(count)) => format!("    {name}: array<u32, {count}>,\n"),
            (Self::Wgsl, Field::Structure(structure)) => format!("    {name}: {structure},\n"),
        };
        let fields: String = fields.iter().map(field).collect();
        let end = if self == Self::Cuda { ";" } else { "" };
        format!("struct {name} {{\n{fields}}}{end}\n\n")
    }

    /// Defines a function. Each parameter is a name and a type; the body consists of whole lines.
    pub fn function(self, name: &str, parameters: &[(&str, &str)], result: &str, body: &str) -> String {
        let parameter = |(name, kind): &(&str, &str)| match self {
            Self::Cuda => format!("{kind} {name}"),
            Self::Wgsl => format!("{name}: {kind}"),
        };
        let parameters = parameters.iter().map(parameter).collect::<Vec<_>>().join(", ");
        match self {
            Self::Cuda => {
                format!("__device__ __forceinline__ {result} {name}({parameters}) {{\n{body}}}\n\n")
            }
            Self::Wgsl => format!("fn {name}({parameters}) -> {result} {{\n{body}}}\n\n"),
        }
    }

    /// Declares a constant.
    pub fn bind(self, name: &str, value: &str) -> String {
        let keyword = if self == Self::Cuda { "const auto" } else { "let" };
        format!("{keyword} {name} = {value};\n")
    }

    /// Declares the result of a gate whose inputs have these names.
    fn gate(self, name: &str, gate: &Gate, names: &[String]) -> String {
        let formula = expression(gate, names);
        match (self, gate.operation, names) {
            (Self::Cuda, Operation::Table(table), [a, b, c]) => {
                let bound = self.bind(name, &format!("lop3<{table:#04x}>({a}, {b}, {c})"));
                format!("{} // {formula}\n", bound.trim_end())
            }
            (Self::Cuda, Operation::Bytes(selector), [a, b]) => {
                self.bind(name, &format!("__byte_perm({a}, {b}, {selector:#06x}u)"))
            }
            _ => self.bind(name, &arithmetic::expression(self, gate.operation, names).unwrap_or(formula)),
        }
    }

    /// Declares a variable and initialises it with zeros.
    pub fn zeros(self, name: &str, structure: &str) -> String {
        match self {
            Self::Cuda => format!("{structure} {name} = {{}};\n"),
            Self::Wgsl => format!("var {name}: {structure};\n"),
        }
    }

    /// The keyword that declares a variable with a value.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Cuda => "auto",
            Self::Wgsl => "var",
        }
    }

    /// A barrier for the threads of a group, which also makes their writes to shared memory visible.
    pub const fn barrier(self) -> &'static str {
        match self {
            Self::Cuda => "__syncthreads();",
            Self::Wgsl => "workgroupBarrier();",
        }
    }

    /// A barrier that keeps the threads of a group together, so that they share fetched instructions. It is
    /// empty in WGSL, where barriers are not allowed after some threads have returned.
    pub const fn lockstep(self) -> &'static str {
        match self {
            Self::Cuda => "__syncthreads();",
            Self::Wgsl => "",
        }
    }

    /// Declares a program's parameters where the language declares them outside the entry point: `source` and
    /// `goal`, arrays of these types, and `job`.
    pub fn bindings(self, [source, goal]: [&str; 2]) -> String {
        match self {
            Self::Cuda => String::new(),
            Self::Wgsl => format!(
                "@group(0) @binding(0) var<storage, read> source: array<{source}>;\n\
                 @group(0) @binding(1) var<storage, read_write> goal: array<{goal}>;\n\
                 @group(0) @binding(3) var<uniform> job: Job;\n\n"
            ),
        }
    }

    /// Declares `count` four-word vectors that are the same for all threads. `number` is their binding.
    pub fn constants(self, number: usize, name: &str, count: usize) -> String {
        match self {
            Self::Cuda => format!("__constant__ uint4 {name}[{count}];\n\n"),
            Self::Wgsl => {
                format!("@group(0) @binding({number}) var<uniform> {name}: array<vec4<u32>, {count}>;\n\n")
            }
        }
    }

    /// Defines the entry point of a program around a body in the common syntax. The body can use `thread`,
    /// and `local`, the index in the thread's group, if threads share memory. Parameters `source` and `goal`
    /// are arrays of the CUDA C types with these names. In WGSL, groups are numbered by row: a row holds at most
    /// 65,535 groups on most devices.
    pub fn entry(
        self,
        name: &str,
        group_threads: u32,
        [source, goal]: [&str; 2],
        shares: bool,
        body: &str,
    ) -> String {
        let body = self.declared(body);
        let [cuda_local, wgsl_local, wgsl_built_in] = match shares {
            false => ["", "", ""],
            true => [
                "    const auto local = threadIdx.x;\n",
                "    let local = local_id.x;\n",
                ", @builtin(local_invocation_id) local_id: vec3<u32>",
            ],
        };
        match self {
            Self::Cuda => format!(
                "extern \"C\" __global__ void __launch_bounds__({group_threads})\n\
                 {name}(const {source} *__restrict__ source, {goal} *__restrict__ goal, const Job job) {{\n    \
                 const auto thread = blockIdx.x * blockDim.x + threadIdx.x;\n{cuda_local}{body}}}\n"
            ),
            Self::Wgsl => format!(
                "@compute @workgroup_size({group_threads})\n\
                 fn {name}(@builtin(global_invocation_id) id: vec3<u32>, \
                 @builtin(num_workgroups) groups: vec3<u32>{wgsl_built_in}) {{\n    \
                 let thread = id.y * groups.x * {group_threads}u + id.x;\n{wgsl_local}{body}}}\n"
            ),
        }
    }

    /// Translates a body from the common syntax, where `let` and `var` declare, to the language. Loops over
    /// `i` index arrays that should live in registers, so in CUDA C they get an unroll pragma.
    pub fn declared(self, body: &str) -> String {
        body.lines().map(|line| self.declared_line(line.trim_end())).collect()
    }

    fn declared_line(self, line: &str) -> String {
        if let Some((space, rest)) = line.split_once("for (var i = ").filter(|_| self == Self::Cuda) {
            return format!("{space}#pragma unroll\n{space}for (auto i = {rest}\n");
        }
        let line = line.replace("(var ", &format!("({} ", self.variable()));
        if line.trim_start() == "lockstep();" && self.lockstep().is_empty() {
            return String::new();
        }
        let line = line.replace("barrier();", self.barrier()).replace("lockstep();", self.lockstep());
        let indent = line.len() - line.trim_start().len();
        let (space, rest) = line.split_at(indent);
        if let Some((name, value)) = rest.strip_prefix("let ").and_then(|rest| rest.split_once(" = ")) {
            return format!("{space}{}", self.bind(name, value.trim_end_matches(';')));
        }
        if let Some((name, structure)) = rest.strip_prefix("var ").and_then(|rest| rest.split_once(": ")) {
            return format!("{space}{}", self.zeros(name, structure.trim_end_matches(';')));
        }
        match rest.strip_prefix("var ") {
            Some(rest) => format!("{space}{} {rest}\n", self.variable()),
            None => format!("{line}\n"),
        }
    }

    /// Constructs a structure from its fields.
    pub fn made(self, structure: &str, fields: &[String]) -> String {
        let fields = fields.join(", ");
        match self {
            Self::Cuda => format!("{structure}{{{fields}}}"),
            Self::Wgsl => format!("{structure}({fields})"),
        }
    }
}

/// The parameters and the result of a graph's function.
#[derive(Clone, Debug)]
pub struct Signature<'a> {
    /// Names and types.
    pub parameters: &'a [(&'a str, &'a str)],
    /// An expression for each input of the graph.
    pub inputs: Vec<String>,
    /// The type of the result, a structure.
    pub result: &'a str,
    /// The part of the result for each output of the graph, such as `.x[0]`.
    pub outputs: Vec<String>,
}

/// Prints a graph as a function. The result of [`called_by`] must precede it. Words given at run time are
/// read from the vectors `keys`, from the index in parameter `k` on.
pub fn function(graph: &Graph, name: &str, signature: &Signature<'_>, language: Language) -> String {
    let node_name = |node: usize| match node.checked_sub(graph.inputs()) {
        None => signature.inputs[node].clone(),
        Some(gate) => format!("t{gate}"),
    };
    let mut body = arithmetic::tables(graph, language);
    for (at, gate) in graph.gates().iter().enumerate() {
        let names: Vec<_> = gate.inputs.iter().map(|&input| node_name(input)).collect();
        body += &format!("    {}", language.gate(&format!("t{at}"), gate, &names));
    }
    body += &format!("    {}", language.zeros("y", signature.result));
    for (part, &output) in signature.outputs.iter().zip(graph.outputs()) {
        body += &format!("    y{part} = {};\n", node_name(output));
    }
    language.function(name, signature.parameters, signature.result, &(body + "    return y;\n"))
}

/// Prints a circuit as a complete source file: `WordsM name(WordsN x)` with arrays `x` of words in both
/// structures. In the name, `_` replaces `-`.
pub fn circuit(graph: &Graph, name: &str, language: Language) -> String {
    let (inputs, outputs) = (graph.inputs(), graph.outputs().len());
    let [from, to] = [inputs, outputs].map(|count| format!("Words{count}"));
    let mut text = language.prelude().to_owned();
    for (structure, count) in
        [(&from, inputs), (&to, outputs)].iter().take(1 + usize::from(inputs != outputs))
    {
        text += &language.structure(structure, &[("x", Field::Words(*count))]);
    }
    let signature = Signature {
        parameters: &[("x", &from)],
        inputs: (0..inputs).map(|at| format!("x.x[{at}]")).collect(),
        result: &to,
        outputs: (0..outputs).map(|at| format!(".x[{at}]")).collect(),
    };
    text += &called_by(&[graph], language);
    text + function(graph, &name.replace('-', "_"), &signature, language).trim_end() + "\n"
}

/// A gate as an expression of its inputs' names, in the syntax that C and WGSL share.
pub(super) fn expression(gate: &Gate, names: &[String]) -> String {
    let table = match gate.operation {
        Operation::Table(table) => table,
        Operation::Constant(value) => return format!("{value:#x}u"),
        Operation::Given(at) => return format!("keys[k + {}u].{}", at / 4, PARTS[at as usize % 4]),
        Operation::ShiftLeft(count) => return format!("{} << {count}u", names[0]),
        Operation::ShiftRight(count) => return format!("{} >> {count}u", names[0]),
        Operation::RotateLeft(count) => {
            return format!("({x} << {count}u) | ({x} >> {}u)", u32::BITS - count, x = names[0]);
        }
        Operation::Add => return names.join(" + "),
        Operation::Multiply => return names.join(" * "),
        Operation::Bytes(selector) => return bytes(selector, names),
        operation => return format!("{operation:?}({})", names.join(", ")),
    };
    let text = sum_of(u32::from(table), &names[..gate.inputs.len()]);
    text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).map_or_else(|| text.clone(), str::to_owned)
}

/// A selection of bytes from two words. Bytes that shift by the same distance share one term.
fn bytes(selector: u16, names: &[String]) -> String {
    let mut masks = BTreeMap::new();
    for to in 0..4 {
        let from = usize::from(selector >> (4 * to) & 7);
        *masks.entry((from / 4, to - from as i32 % 4)).or_insert(0_u32) |= 0xff << (8 * to);
    }
    let term = |((word, places), mask): (&(usize, i32), &u32)| {
        let (name, bits) = (&names[*word], 8 * places.abs());
        match places.signum() {
            0 => format!("({name} & {mask:#010x}u)"),
            1 => format!("(({name} << {bits}u) & {mask:#010x}u)"),
            _ => format!("(({name} >> {bits}u) & {mask:#010x}u)"),
        }
    };
    masks.iter().map(term).collect::<Vec<_>>().join(" | ")
}

/// An expression for a table: a name, a complement, or an expression in parentheses. Splits off one name as
/// t, which leaves f₀ for t = 0 and f₁ for t = 1. Tries each name and returns the shortest expression.
fn sum_of(table: u32, names: &[String]) -> String {
    let ones = (1 << (1 << names.len())) - 1;
    if table == 0 {
        return "0u".to_owned();
    } else if table == ones {
        return "0xffffffffu".to_owned();
    }
    let ways = (0..names.len()).map(|at| {
        let weight = 1 << (names.len() - 1 - at);
        let half = |with: usize| {
            let rest = (0..1 << names.len()).filter(|index| index & weight == with);
            rest.enumerate().map(|(to, from)| (table >> from & 1) << to).sum::<u32>()
        };
        let mut others = names.to_vec();
        let t = others.remove(at);
        split(&t, half(0), half(weight), &others)
    });
    ways.min_by_key(String::len).unwrap_or_default()
}

/// An expression that equals `zero` of the other names where t is 0, and `one` where t is 1.
fn split(t: &str, zero: u32, one: u32, others: &[String]) -> String {
    let ones = (1 << (1 << others.len())) - 1;
    let of = |table| sum_of(table, others);
    match (zero, one) {
        (0, one) if one == ones => t.to_owned(),
        (zero, 0) if zero == ones => format!("~{t}"),
        (zero, one) if zero == one => of(zero),
        (0, one) => format!("({t} & {})", of(one)),
        (zero, 0) => format!("(~{t} & {})", of(zero)),
        (zero, one) if one == ones => format!("({t} | {})", of(zero)),
        (zero, one) if zero == ones => format!("(~{t} | {})", of(one)),
        (zero, one) if zero ^ one == ones => format!("({t} ^ {})", of(zero)),
        (zero, one) => format!("(({t} & {}) | (~{t} & {}))", of(one), of(zero)),
    }
}
