//! How many cycles instructions take at least on AMD's Zen 4, by what its parts can do in a cycle.
//!
//! Four pipes for vectors of 256 bits, of which most instructions can use only some, and through which 512 bits
//! go in two passes; four for integers; memory; and the six instructions that are handed on in a cycle. Which pipes
//! a kind can use was found by loops of one kind and of two (`bench/ports.py`), and agrees with uops.info. Waiting
//! for results, jumps foretold wrongly and caches are left out: a limit cannot be passed, but it need not be reachable.

use std::collections::BTreeMap;

/// Instructions handed on to the pipes in a cycle.
const DISPATCH: f64 = 6.0;
/// Loads and stores in a cycle.
const MEMORY: f64 = 3.0;
/// Of them, loads of vectors of up to 256 bits.
const VECTOR_LOADS: f64 = 2.0;
/// Of them, stores: of integers, and of vectors of up to 256 bits.
const STORES: f64 = 2.0;
const VECTOR_STORES: f64 = 1.0;

/// A set of pipes, one bit each.
type Pipes = u8;

const ALL_PIPES: Pipes = 0b1111;

/// Vector instructions that cannot use all four pipes, by how their names begin (after a `v`): the first that fits.
#[rustfmt::skip] // a table: one line a kind
const VECTOR_KINDS: [(&[&str], Pipes, u64); 7] = [
    (&["aes", "gf2p8"],                                                             0b0011, 1),
    (&["pclmul"],                                                                   0b0001, 2),
    (&["punpck", "unpck", "pshufd", "pshufl", "pshufh", "shufp"],                   0b1110, 1),
    (&["pslldq", "psrldq", "pshuf", "perm", "palign", "align", "shuf", "insert", "extract",
       "pack", "broadcast", "pbroadcast", "pblendvb", "pmovzx", "pinsr", "pextr"],  0b0110, 1),
    (&["psll", "psrl", "psra", "prol", "pror", "pshld"],                            0b1100, 1),
    (&["pmul", "pmadd"],                                                            0b1001, 1),
    (&[""],                                                                      ALL_PIPES, 1),
];

/// Integer instructions that cannot use all four pipes.
const INTEGER_KINDS: [(&[&str], Pipes); 3] = [
    (&["shl", "shr", "sar", "rol", "ror", "sal", "shld", "shrd"], 0b0110),
    (&["imul", "mul"], 0b0010),
    (&[""], ALL_PIPES),
];

/// What instructions ask of the machine.
#[derive(Debug, Default)]
pub(super) struct Work {
    instructions: u64,
    dispatched: u64,
    /// Passes, by the pipes that may take them.
    vector: BTreeMap<Pipes, u64>,
    integer: BTreeMap<Pipes, u64>,
    loads: u64,
    vector_loads: u64,
    stores: u64,
    vector_stores: u64,
}

impl Work {
    /// So many of an instruction, in AT&T syntax.
    pub(super) fn add(&mut self, instruction: &str, count: u64) {
        let (name, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let operands = operands.split('#').next().unwrap_or_default().trim();
        self.instructions += count;
        if is_jump(name) || name.starts_with("nop") || name == "endbr64" {
            return; // jumps are handed on together with the comparison before, and have a pipe of their own
        }
        self.dispatched += count;
        let is_vector = ["%xmm", "%ymm", "%zmm"].iter().any(|register| operands.contains(register));
        let passes = if operands.contains("%zmm") { 2 * count } else { count };
        let (loads, stores) = accesses(name, operands);
        if loads {
            self.loads += count;
            self.vector_loads += if is_vector { passes } else { 0 };
        }
        if stores {
            self.stores += count;
            self.vector_stores += if is_vector { passes } else { 0 };
        }
        // Copies between registers are renamed, and copies to and from memory need nothing but that.
        if is_copy(name) && !operands.contains("{%k") {
            return;
        }
        if is_vector {
            let name = name.strip_prefix('v').unwrap_or(name);
            let kind = VECTOR_KINDS.iter().find(|(names, ..)| begins(name, names));
            let (_, pipes, cycles) = kind.unwrap_or(&VECTOR_KINDS[VECTOR_KINDS.len() - 1]);
            // A product takes as long for any width.
            let passes = if *cycles > 1 { count * cycles } else { passes };
            *self.vector.entry(*pipes).or_default() += passes;
        } else {
            let kind = INTEGER_KINDS.iter().find(|(names, _)| begins(name, names));
            *self.integer.entry(kind.map_or(ALL_PIPES, |(_, pipes)| *pipes)).or_default() += count;
        }
    }

    /// How many instructions they are.
    pub(super) const fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The least cycles they can take, and by what.
    pub(super) fn limit(&self) -> (f64, &'static str) {
        let over = |count: u64, a_cycle: f64| count as f64 / a_cycle;
        let vector = busiest(&self.vector);
        let limits = [
            (vector.0, if vector.1 == ALL_PIPES { "vector pipes" } else { kind_of(vector.1) }),
            (busiest(&self.integer).0, "integer pipes"),
            (over(self.vector_loads, VECTOR_LOADS), "loads"),
            (over(self.stores, STORES).max(over(self.vector_stores, VECTOR_STORES)), "stores"),
            (over(self.loads + self.stores, MEMORY), "memory"),
            (over(self.dispatched, DISPATCH), "dispatch"),
        ];
        limits.into_iter().fold((0.0, "nothing"), |most, limit| if limit.0 > most.0 { limit } else { most })
    }
}

/// The longest that any set of pipes is kept busy by what only it can take: no order of work is shorter, and
/// one that long exists (Hall's theorem).
fn busiest(passes: &BTreeMap<Pipes, u64>) -> (f64, Pipes) {
    let cycles = |pipes: Pipes| {
        let only: u64 = passes.iter().filter(|(may, _)| *may & !pipes == 0).map(|(_, passes)| passes).sum();
        (only as f64 / f64::from(pipes.count_ones()), pipes)
    };
    (1..=ALL_PIPES)
        .map(cycles)
        .fold((0.0, ALL_PIPES), |most, next| if next.0 >= most.0 { next } else { most })
}

/// What keeps a set of pipes busy, in words.
const fn kind_of(pipes: Pipes) -> &'static str {
    match pipes {
        0b0001 => "products",
        0b0011 => "AES, GFNI",
        0b0110 | 0b1110 => "shuffles",
        0b1100 => "shifts",
        _ => "some vector pipes",
    }
}

fn begins(name: &str, names: &[&str]) -> bool {
    names.iter().any(|start| name.starts_with(start))
}

fn is_jump(name: &str) -> bool {
    name.starts_with('j')
}

/// `mov` and its kin, but not those that extend, shuffle or go between integers and vectors.
fn is_copy(name: &str) -> bool {
    let copies =
        ["movdq", "movap", "movup", "movq", "movd", "movntdq", "movl", "movabs", "lddqu", "push", "pop"];
    name == "mov" || begins(name.strip_prefix('v').unwrap_or(name), &copies)
}

/// Whether it loads, and whether it stores. The last operand is the destination.
fn accesses(name: &str, operands: &str) -> (bool, bool) {
    if name.starts_with("push") || name.starts_with("call") {
        return (false, true);
    }
    if name.starts_with("pop") || name.starts_with("ret") {
        return (true, false);
    }
    if !operands.contains('(') || name.starts_with("lea") || name.starts_with("prefetch") {
        return (false, false);
    }
    // A mask may follow the destination.
    let masked = operands.strip_suffix('}').and_then(|operands| operands.rsplit_once('{'));
    let to_memory = masked.map_or(operands, |(operands, _)| operands.trim()).ends_with(')');
    let only_reads = ["cmp", "test", "bt"].iter().any(|start| name.starts_with(start));
    match to_memory && !only_reads && operands_of(operands) > 1 {
        false => (true, false),
        true => (!is_copy(name) && !name.starts_with("vextract"), true),
    }
}

/// How many operands there are: commas outside brackets, and one.
fn operands_of(operands: &str) -> usize {
    let mut depth = 0;
    let outside = operands.chars().filter(|c| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        *c == ',' && depth == 0
    });
    outside.count() + 1
}

#[cfg(test)]
mod tests {
    use super::{Work, accesses};

    fn limit(instructions: &[(&str, u64)]) -> (f64, &'static str) {
        let mut work = Work::default();
        instructions.iter().for_each(|(instruction, count)| work.add(instruction, *count));
        work.limit()
    }

    #[test]
    fn wide_registers_pass_twice_and_pipes_are_shared() {
        let aes = ("vaesenc %zmm1,%zmm2,%zmm3", 10);
        assert_eq!(limit(&[aes]), (10.0, "AES, GFNI"));
        assert_eq!(limit(&[("aesenc %xmm1,%xmm2", 10)]), (5.0, "AES, GFNI"));
        assert_eq!(limit(&[("vpternlogq $0x96,%zmm1,%zmm2,%zmm3", 10)]), (5.0, "vector pipes"));
        // Three pipes for both, of which each can use two.
        assert_eq!(limit(&[aes, ("vpshufb %zmm1,%zmm2,%zmm3", 10)]).0, 40.0 / 3.0);
        assert_eq!(limit(&[aes, ("vprold $0x3,%zmm1,%zmm2", 10)]).0, 10.0);
    }

    #[test]
    fn memory_limits_what_computes_nothing() {
        assert_eq!(limit(&[("vmovdqu64 0x40(%rdi,%rax,8),%zmm1", 3)]), (3.0, "loads"));
        assert_eq!(limit(&[("vmovdqu64 %zmm1,(%rdi)", 3)]), (6.0, "stores"));
        assert_eq!(limit(&[("mov %rax,%rcx", 12)]), (2.0, "dispatch"));
        assert_eq!(limit(&[("jne 1234 <f+0x10>", 12)]).0, 0.0);
    }

    #[test]
    fn loads_and_stores_are_told_apart() {
        assert_eq!(accesses("xor", "(%rdi),%rax"), (true, false));
        assert_eq!(accesses("xor", "%rax,0x8(%rdi,%rcx,8)"), (true, true));
        assert_eq!(accesses("movdqa", "%xmm0,(%rdi)"), (false, true));
        assert_eq!(accesses("cmpq", "$0x0,(%rdi)"), (true, false));
        assert_eq!(accesses("lea", "(%rdi),%rax"), (false, false));
        assert_eq!(accesses("vpxorq", "(%rdi){1to8},%zmm0,%zmm1"), (true, false));
    }
}
