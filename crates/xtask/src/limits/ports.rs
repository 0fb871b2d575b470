//! The fewest cycles that instructions can take on a core.
//!
//! The model covers the pipes for vectors and integers, most instructions being limited to some of them;
//! memory accesses; and the instructions dispatched per cycle. It ignores latencies, mispredicted branches
//! and caches. Real code therefore cannot be faster than the limit, but may be unable to reach it.

use std::collections::BTreeMap;

/// A set of pipes, one bit each.
pub(super) type Pipes = u16;

/// The throughput of a core per cycle.
pub(super) struct Core {
    pub(super) name: &'static str,
    /// Parts of machine names; any of them identifies the core.
    pub(super) machines: &'static [&'static str],
    /// Instructions dispatched.
    pub(super) dispatch: f64,
    /// Loads and stores together.
    pub(super) memory: f64,
    /// Loads of vectors of up to 256 bits, and the number of these that a 512-bit load counts as.
    pub(super) vector_loads: f64,
    pub(super) wide_load: f64,
    /// All stores, and stores of vectors of up to 256 bits. A 512-bit store counts as two.
    pub(super) stores: f64,
    pub(super) vector_stores: f64,
    /// Kinds of vector instructions. The first match applies; the last matches everything.
    pub(super) vector: &'static [Kind],
    pub(super) integer: &'static [IntegerKind],
    /// Descriptions of sets of pipes, for reports.
    pub(super) busy: &'static [(Pipes, &'static str)],
}

/// Vector instructions by the beginnings of their names (after a `v`): the pipes that can execute them, and
/// the number of passes, for registers of up to 256 bits and of 512 bits.
pub(super) struct Kind {
    pub(super) names: &'static [&'static str],
    pub(super) narrow: (Pipes, u64),
    pub(super) wide: (Pipes, u64),
}

/// Integer instructions, likewise.
pub(super) struct IntegerKind {
    pub(super) names: &'static [&'static str],
    pub(super) pipes: Pipes,
}

/// The demands of a list of instructions on a core.
pub(super) struct Work {
    core: &'static Core,
    instructions: u64,
    dispatched: u64,
    /// Passes by the set of pipes that can execute them.
    passes: BTreeMap<Pipes, u64>,
    loads: u64,
    vector_loads: f64,
    stores: u64,
    vector_stores: u64,
}

impl Work {
    /// An empty list.
    pub(super) const fn on(core: &'static Core) -> Self {
        Self {
            core,
            instructions: 0,
            dispatched: 0,
            passes: BTreeMap::new(),
            loads: 0,
            vector_loads: 0.0,
            stores: 0,
            vector_stores: 0,
        }
    }

    /// Adds `count` executions of an instruction in AT&T syntax.
    pub(super) fn add(&mut self, instruction: &str, count: u64) {
        let (name, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let operands = operands.split('#').next().unwrap_or_default().trim();
        self.instructions += count;
        if is_jump(name) || name.starts_with("nop") || name == "endbr64" {
            return; // jumps are fused with the comparison before them, and have a separate pipe
        }
        self.dispatched += count;
        let is_vector = ["%xmm", "%ymm", "%zmm"].iter().any(|register| operands.contains(register));
        let is_wide = operands.contains("%zmm");
        let (loads, stores) = accesses(name, operands);
        if loads {
            self.loads += count;
            let share = if is_wide { self.core.wide_load } else { 1.0 };
            self.vector_loads += if is_vector { share * count as f64 } else { 0.0 };
        }
        if stores {
            self.stores += count;
            self.vector_stores += if is_vector { count << u32::from(is_wide) } else { 0 };
        }
        // Copies between registers are renamed. Copies to and from memory need no other pipe.
        if (is_copy(name) || loads && name.contains("broadcast")) && !operands.contains("{%k") {
            return;
        }
        let (pipes, passes) = self.core.pipes(name, is_vector, is_wide);
        *self.passes.entry(pipes).or_default() += count * passes;
    }

    /// The number of instructions.
    pub(super) const fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The fewest cycles, and the name of the resource that limits them.
    pub(super) fn limit(&self) -> (f64, &'static str) {
        let over = |count: f64, a_cycle: f64| count / a_cycle;
        let (core, memory) = (self.core, (self.loads + self.stores) as f64);
        let limits = [
            self.busiest(),
            (over(self.vector_loads, core.vector_loads), "loads"),
            (
                over(self.stores as f64, core.stores)
                    .max(over(self.vector_stores as f64, core.vector_stores)),
                "stores",
            ),
            (over(memory, core.memory), "memory"),
            (over(self.dispatched as f64, core.dispatch), "dispatch"),
        ];
        limits.into_iter().fold((0.0, "nothing"), |most, limit| if limit.0 > most.0 { limit } else { most })
    }

    /// The longest time that any set of pipes is busy with instructions that only it can execute. No schedule
    /// is shorter, and a schedule of this length exists (Hall's theorem).
    fn busiest(&self) -> (f64, &'static str) {
        let cycles = |pipes: Pipes| {
            let only: u64 =
                self.passes.iter().filter(|(may, _)| *may & !pipes == 0).map(|(_, passes)| passes).sum();
            (only as f64 / f64::from(pipes.count_ones()), pipes)
        };
        let most = (1..=Pipes::MAX)
            .map(cycles)
            .fold((0.0, 0), |most, next| if next.0 > most.0 { next } else { most });
        (
            most.0,
            self.core.busy.iter().find(|(pipes, _)| *pipes == most.1).map_or("some pipes", |(_, name)| name),
        )
    }
}

impl Core {
    /// The pipes that can execute an instruction, and the number of passes.
    fn pipes(&self, name: &str, is_vector: bool, is_wide: bool) -> (Pipes, u64) {
        if is_vector {
            let name = name.strip_prefix('v').unwrap_or(name);
            let kind = self.vector.iter().find(|kind| begins(name, kind.names));
            let kind = kind.unwrap_or(&self.vector[self.vector.len() - 1]);
            return if is_wide { kind.wide } else { kind.narrow };
        }
        let kind = self.integer.iter().find(|kind| begins(name, kind.names));
        (kind.unwrap_or(&self.integer[self.integer.len() - 1]).pipes, 1)
    }
}

fn begins(name: &str, names: &[&str]) -> bool {
    names.iter().any(|start| name.starts_with(start))
}

fn is_jump(name: &str) -> bool {
    name.starts_with('j')
}

/// `mov` and similar instructions, except those that extend, shuffle, or move between integers and vectors.
fn is_copy(name: &str) -> bool {
    let copies =
        ["movdq", "movap", "movup", "movq", "movd", "movntdq", "movl", "movabs", "lddqu", "push", "pop"];
    name == "mov" || begins(name.strip_prefix('v').unwrap_or(name), &copies)
}

/// Whether an instruction loads, and whether it stores. The last operand is the destination.
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

/// The number of operands: commas outside brackets, plus one.
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
    use super::accesses;

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
