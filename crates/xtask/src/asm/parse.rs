//! Reads assembly text as a list of functions and their instructions.
//!
//! The text is LLVM's output for x86-64 in AT&T syntax, or for 64-bit ARM. The parser reads only the facts that the rules need:
//! the function of an instruction, its callee, the registers that it names, and its effect on the stack.

use std::collections::HashMap;

use rustc_demangle::demangle;

/// The registers of SSE, AVX and AVX-512.
const VECTOR_REGISTERS: [&str; 3] = ["%xmm", "%ymm", "%zmm"];

/// A page: the step in which a prologue with a large frame touches the stack.
const PAGE_BYTES: u64 = 4096;

/// A function in the text.
#[derive(Clone, Debug)]
pub(crate) struct Function<'t> {
    /// Its name as Rust writes it, without hashes.
    pub(crate) name: String,
    symbol: &'t str,
    /// Its instructions in order.
    pub(crate) body: Vec<Instruction<'t>>,
    /// Its local labels, each with the index of the instruction that follows.
    pub(crate) labels: HashMap<&'t str, usize>,
    /// The labels that its jump tables name.
    pub(crate) table_targets: Vec<&'t str>,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'t> {
    /// The name of the operation, for example `vpxorq`.
    pub(crate) mnemonic: &'t str,
    /// The operands, as written. The destination is the last one.
    pub(crate) operands: &'t str,
}

/// The target of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A function, by its name as Rust writes it.
    Named(String),
    /// The address in a register or a table.
    Unknown,
}

/// All functions of x86-64's `text`, including aliases: LLVM may keep one of two equal functions and define
/// the other as a second name for it.
pub(crate) fn functions(text: &str) -> Vec<Function<'_>> {
    functions_with(text, "#")
}

/// The same for a machine whose comments begin with `comment`.
pub(crate) fn functions_with<'t>(text: &'t str, comment: &str) -> Vec<Function<'t>> {
    let mut found: Vec<Function<'_>> = Vec::new();
    let mut aliases = Vec::new();
    for line in text.lines() {
        if let Some(symbol) = function_label(line) {
            found.push(Function::new(symbol));
        } else if let Some(alias) = alias(line) {
            aliases.push(alias);
        } else if let (Some(instruction), Some(function)) = (instruction(line, comment), found.last_mut()) {
            function.body.push(instruction);
        } else if let Some(function) = found.last_mut() {
            function.add_label(line);
        }
    }
    found.retain(|function| !function.body.is_empty()); // data labels have no instructions
    for (symbol, original) in aliases {
        if let Some(same) = found.iter().find(|function| function.symbol == original) {
            found.push(Function { symbol, name: demangled(symbol), ..same.clone() });
        }
    }
    found
}

/// The symbol that a line defines, if it is one that another file could name.
fn function_label(line: &str) -> Option<&str> {
    let symbol = line.strip_suffix(':')?;
    (!symbol.starts_with([' ', '\t']) && !is_local(symbol)).then(|| symbol.trim_matches('"'))
}

/// The two symbols of `alias = original`, or of `.set alias, original` in older text.
fn alias(line: &str) -> Option<(&str, &str)> {
    match line.trim_start().strip_prefix(".set") {
        Some(symbols) => symbols.trim().split_once(", "),
        None => line.split_once(" = "),
    }
}

fn instruction<'t>(line: &'t str, comment: &str) -> Option<Instruction<'t>> {
    let code = line.split(comment).next()?.trim();
    let is_code = line.starts_with([' ', '\t']) && !code.is_empty() && !code.starts_with('.');
    let code = ["lock", "notrack"].iter().find_map(|prefix| code.strip_prefix(prefix)).unwrap_or(code).trim();
    let (mnemonic, operands) = code.split_once(['\t', ' ']).unwrap_or((code, ""));
    is_code.then(|| Instruction { mnemonic, operands: operands.trim() })
}

/// Whether a label is local to a file: a block, a number, a constant.
fn is_local(symbol: &str) -> bool {
    symbol.starts_with(['.', 'L']) || symbol.starts_with(|first: char| first.is_ascii_digit())
}

/// The Rust name of a symbol, without hashes.
fn demangled(symbol: &str) -> String {
    format!("{:#}", demangle(symbol))
}

impl<'t> Function<'t> {
    fn new(symbol: &'t str) -> Self {
        let (name, labels) = (demangled(symbol), HashMap::new());
        Self { name, symbol, body: Vec::new(), labels, table_targets: Vec::new() }
    }

    /// Records a local label, or a label in an entry of a jump table.
    fn add_label(&mut self, line: &'t str) {
        let entry =
            line.trim_start().strip_prefix(".long").or_else(|| line.trim_start().strip_prefix(".quad"));
        if let Some(label) = line.strip_suffix(':') {
            self.labels.insert(label, self.body.len());
        } else if let Some((target, table)) = entry.and_then(|entry| entry.trim().split_once('-'))
            && table.starts_with(".LJTI")
        {
            self.table_targets.push(target);
        }
    }

    /// The targets of all calls, in order, including jumps out of the function.
    pub(crate) fn calls(&self) -> impl Iterator<Item = Callee> {
        self.body.iter().filter_map(|instruction| instruction.callee())
    }

    /// Whether any of its instructions names this register.
    pub(crate) fn names(&self, register: &str) -> bool {
        self.body.iter().any(|instruction| instruction.names(register))
    }

    /// Bytes of stack for its frame, without the saved registers.
    ///
    /// A large frame is allocated page by page in a loop whose end is in `%r11`. The text then contains only
    /// one page of the frame.
    pub(crate) fn frame_bytes(&self) -> u64 {
        let taken: u64 = self.body.iter().filter_map(|i| i.subtracted_from("%rsp")).sum();
        let looped = self.body.windows(2).find_map(|pair| {
            let copies_stack = pair[0].mnemonic == "movq" && pair[0].operands == "%rsp, %r11";
            copies_stack.then(|| pair[1].subtracted_from("%r11")).flatten()
        });
        looped.map_or(taken, |bytes| (bytes + taken).saturating_sub(PAGE_BYTES))
    }

    /// The number of vector registers stored to the stack, and of vectors loaded from it. These are spills,
    /// and also arrays of words that did not fit into registers.
    pub(crate) fn stack_traffic(&self) -> (usize, usize) {
        let of_vectors = || self.body.iter().filter(|i| i.is_vector_on_stack());
        let stores = of_vectors().filter(|i| i.stores()).count();
        (stores, of_vectors().count() - stores)
    }

    /// Whether registers of more than 128 bits, which exceed the stack's default alignment, are kept on the
    /// stack.
    pub(crate) fn spills_wide(&self) -> bool {
        let is_wide = |i: &&Instruction<'_>| VECTOR_REGISTERS[1..].iter().any(|register| i.names(register));
        self.body.iter().filter(|i| i.is_vector_on_stack()).any(|i| is_wide(&i))
    }

    /// Whether the function aligns its frame to a cache line.
    pub(crate) fn aligns_frame(&self) -> bool {
        self.body.iter().any(|i| i.mnemonic == "andq" && i.operands == "$-64, %rsp")
    }
}

impl Callee {
    /// The function of a symbol.
    pub(crate) fn of(symbol: &str) -> Self {
        Self::Named(demangled(symbol))
    }
}

impl Instruction<'_> {
    /// Whether it names a register whose name begins with `register`: `%zmm` matches all of them.
    pub(crate) fn names(&self, register: &str) -> bool {
        self.operands.contains(register)
    }

    /// The target of this call or jump, if it is outside the function.
    pub(crate) fn callee(&self) -> Option<Callee> {
        let is_call = matches!(self.mnemonic, "call" | "callq" | "bl");
        if self.mnemonic == "blr" {
            return Some(Callee::Unknown);
        }
        if !is_call && self.mnemonic != "b" && !self.mnemonic.starts_with('j') {
            return None;
        }
        let symbol = self.operands.trim_start_matches('*').split(['@', '(']).next()?.trim();
        if !symbol.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            // A jump through a register is a `match` in most cases, and stays in the function.
            return is_call.then_some(Callee::Unknown);
        }
        (!is_local(symbol)).then(|| Callee::of(symbol))
    }

    /// The constant that this instruction subtracts from `register`.
    fn subtracted_from(&self, register: &str) -> Option<u64> {
        let (constant, from) = self.operands.strip_prefix('$')?.split_once(", ")?;
        let constant: i64 = constant.parse().ok()?;
        match self.mnemonic {
            "subq" if from == register && constant > 0 => Some(constant.unsigned_abs()),
            // Subtracting 128 is encoded one byte shorter as the addition of -128.
            "addq" if from == register && constant == -128 => Some(128),
            _ => None,
        }
    }

    fn is_vector_on_stack(&self) -> bool {
        self.names("(%rsp") && VECTOR_REGISTERS.iter().any(|register| self.names(register))
    }

    /// Whether the last operand is memory. A mask, for example `{%k1}`, may follow it.
    fn stores(&self) -> bool {
        self.operands.split('{').next().is_some_and(|operands| operands.trim().ends_with(')'))
    }
}
