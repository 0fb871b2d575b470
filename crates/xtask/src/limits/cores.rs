//! Models of cores: their throughput per cycle. Sources: the makers' manuals, uops.info, and measured loops
//! of one or two kinds of instructions (`bench/ports.py`).

use super::ports::{Core, IntegerKind, Kind};

/// The core of a record's machine, by the machine's name.
pub(super) fn of(machine: &str) -> Option<&'static Core> {
    let is = |core: &&'static Core| core.machines.iter().any(|part| machine.contains(part));
    [&ZEN_5, &ZEN_4, &GOLDEN_COVE, &REDWOOD_COVE, &MODEL_167].into_iter().find(is)
}

/// Pipes 0 to 3 serve vectors of any width. Shifts and multiplications of integers have three separate pipes.
pub(super) static ZEN_5: Core = Core {
    name: "Zen 5",
    machines: &["(family 26, model 2)"],
    dispatch: 8.0,
    memory: 4.0,
    vector_loads: 2.0,
    wide_load: 1.0,
    stores: 2.0,
    vector_stores: 2.0,
    #[rustfmt::skip] // a table: one line a kind
    vector: &[
        Kind { names: AES,       narrow: (0b0011, 1), wide: (0b0011, 1) },
        Kind { names: GFNI,      narrow: (0b0110, 1), wide: (0b0110, 1) },
        Kind { names: PRODUCTS,  narrow: (0b0001, 2), wide: (0b0001, 2) },
        Kind { names: UNPACKING, narrow: (0b1111, 1), wide: (0b1111, 1) },
        Kind { names: IN_LANES,  narrow: (0b0110, 1), wide: (0b0110, 1) },
        Kind { names: ACROSS,    narrow: (0b0110, 1), wide: (0b0110, 1) },
        Kind { names: SHIFTS,    narrow: (0b1100, 1), wide: (0b1100, 1) },
        Kind { names: MULTIPLY,  narrow: (0b0011, 1), wide: (0b0011, 1) },
        Kind { names: &[""],     narrow: (0b1111, 1), wide: (0b1111, 1) },
    ],
    integer: &[
        IntegerKind { names: INTEGER_SHIFTS, pipes: 0b0111_0000 },
        IntegerKind { names: INTEGER_MULTIPLY, pipes: 0b0111_0000 },
        IntegerKind { names: &[""], pipes: 0b11_1111_0000 },
    ],
    busy: &[
        (0b0001, "products"),
        (0b0011, "AES"),
        (0b0110, "GFNI, shuffles"),
        (0b0111, "AES, shuffles"),
        (0b1100, "shifts"),
        (0b1110, "shuffles, shifts"),
        (0b1111, "vector pipes"),
        (0b0111_0000, "integer shifts"),
        (0b11_1111_0000, "integer pipes"),
    ],
};

/// Pipes 0 to 3 serve vectors of 256 bits; 512 bits take two passes. Pipes 4 to 7 serve integers.
pub(super) static ZEN_4: Core = Core {
    name: "Zen 4",
    // Records from before family and model were recorded have only this name. The same holds for the next
    // core.
    machines: &["AMD EPYC, ", "(family 25, model 17)"],
    dispatch: 6.0,
    memory: 3.0,
    vector_loads: 2.0,
    wide_load: 2.0,
    stores: 2.0,
    vector_stores: 1.0,
    #[rustfmt::skip] // a table: one line a kind
    vector: &[
        Kind { names: AES,       narrow: (0b0011, 1), wide: (0b0011, 2) },
        Kind { names: GFNI,      narrow: (0b0011, 1), wide: (0b0011, 2) },
        Kind { names: PRODUCTS,  narrow: (0b0001, 2), wide: (0b0001, 2) },
        Kind { names: UNPACKING, narrow: (0b1110, 1), wide: (0b1110, 2) },
        Kind { names: IN_LANES,  narrow: (0b0110, 1), wide: (0b0110, 2) },
        Kind { names: ACROSS,    narrow: (0b0110, 1), wide: (0b0110, 2) },
        Kind { names: SHIFTS,    narrow: (0b1100, 1), wide: (0b1100, 2) },
        Kind { names: MULTIPLY,  narrow: (0b1001, 1), wide: (0b1001, 2) },
        Kind { names: &[""],     narrow: (0b1111, 1), wide: (0b1111, 2) },
    ],
    integer: &[
        IntegerKind { names: INTEGER_SHIFTS, pipes: 0b0110_0000 },
        IntegerKind { names: INTEGER_MULTIPLY, pipes: 0b0010_0000 },
        IntegerKind { names: &[""], pipes: 0b1111_0000 },
    ],
    busy: &[
        (0b0001, "products"),
        (0b0011, "AES, GFNI"),
        (0b0110, "shuffles"),
        (0b1110, "shuffles"),
        (0b1100, "shifts"),
        (0b1111, "vector pipes"),
        (0b1111_0000, "integer pipes"),
    ],
};

/// Ports 0, 1, 5, 6 and 10, in this order. Vectors use the first three. A 512-bit instruction uses port 0,
/// which then also occupies port 1, or port 5.
const COVE: Core = Core {
    name: "Golden Cove",
    machines: &["(family 6, model 143)"],
    dispatch: 6.0,
    memory: 5.0,
    vector_loads: 3.0,
    wide_load: 1.5,
    stores: 2.0,
    vector_stores: 2.0,
    #[rustfmt::skip] // a table: one line a kind
    vector: &[
        Kind { names: AES,       narrow: (0b011, 1), wide: (0b001, 1) },
        Kind { names: GFNI,      narrow: (0b011, 1), wide: (0b001, 1) },
        Kind { names: PRODUCTS,  narrow: (0b100, 1), wide: (0b100, 1) },
        Kind { names: UNPACKING, narrow: (0b110, 1), wide: (0b100, 1) },
        Kind { names: IN_LANES,  narrow: (0b110, 1), wide: (0b100, 1) },
        Kind { names: ACROSS,    narrow: (0b100, 1), wide: (0b100, 1) },
        Kind { names: SHIFTS,    narrow: (0b011, 1), wide: (0b001, 1) },
        Kind { names: MULTIPLY,  narrow: (0b011, 1), wide: (0b101, 1) },
        Kind { names: &[""],     narrow: (0b111, 1), wide: (0b101, 1) },
    ],
    integer: &[
        IntegerKind { names: INTEGER_SHIFTS, pipes: 0b0_1001 },
        IntegerKind { names: INTEGER_MULTIPLY, pipes: 0b0_0010 },
        IntegerKind { names: &[""], pipes: 0b1_1111 },
    ],
    busy: &[
        (0b0_0001, "AES, GFNI, shifts"),
        (0b0_0011, "AES, GFNI, shifts"),
        (0b0_0100, "shuffles"),
        (0b0_0110, "shuffles"),
        (0b0_0101, "vector ports"),
        (0b0_0111, "vector ports"),
        (0b1_1111, "all ports"),
    ],
};

pub(super) static GOLDEN_COVE: Core = COVE;

/// The same ports as Golden Cove.
pub(super) static REDWOOD_COVE: Core =
    Core { name: "Redwood Cove", machines: &["(family 6, model 173)"], ..COVE };

/// A virtual machine whose CPUID reports the model number of Rocket Lake. The core is another one: it has AMX
/// and 64 KiB of L1 instruction cache, and executes more than six instructions per cycle, where Rocket Lake
/// renames five. These match Redwood Cove.
pub(super) static MODEL_167: Core =
    Core { name: "core unknown, not Rocket Lake", machines: &["(family 6, model 167)"], ..COVE };

// Beginnings of the names of vector instructions, after a `v`.
const AES: &[&str] = &["aes"];
const GFNI: &[&str] = &["gf2p8"];
const PRODUCTS: &[&str] = &["pclmul"];
const UNPACKING: &[&str] = &["punpck", "unpck", "pshufd", "pshufl", "pshufh", "shufp"];
const IN_LANES: &[&str] = &["pslldq", "psrldq", "pshufb", "palign", "pack", "pblendvb"];
const ACROSS: &[&str] = &[
    "pshuf",
    "perm",
    "align",
    "shuf",
    "insert",
    "extract",
    "broadcast",
    "pbroadcast",
    "pmovzx",
    "pinsr",
    "pextr",
];
const SHIFTS: &[&str] = &["psll", "psrl", "psra", "prol", "pror", "pshld"];
const MULTIPLY: &[&str] = &["pmul", "pmadd"];
const INTEGER_SHIFTS: &[&str] = &["shl", "shr", "sar", "rol", "ror", "sal", "shld", "shrd"];
const INTEGER_MULTIPLY: &[&str] = &["imul", "mul"];

#[cfg(test)]
mod tests {
    use super::{GOLDEN_COVE, ZEN_4, ZEN_5, of};
    use crate::limits::ports::{Core, Work};

    fn limit(core: &'static Core, instructions: &[(&str, u64)]) -> (f64, &'static str) {
        let mut work = Work::on(core);
        instructions.iter().for_each(|(instruction, count)| work.add(instruction, *count));
        work.limit()
    }

    const AES: (&str, u64) = ("vaesenc %zmm1,%zmm2,%zmm3", 10);
    const ROTATIONS: (&str, u64) = ("vprold $0x3,%zmm1,%zmm2", 10);
    const SHUFFLES: (&str, u64) = ("vpshufb %zmm1,%zmm2,%zmm3", 10);
    const GATES: (&str, u64) = ("vpternlogq $0x96,%zmm1,%zmm2,%zmm3", 10);

    #[test]
    fn on_zen_4_wide_registers_pass_twice() {
        assert_eq!(limit(&ZEN_4, &[AES]), (10.0, "AES, GFNI"));
        assert_eq!(limit(&ZEN_4, &[("aesenc %xmm1,%xmm2", 10)]), (5.0, "AES, GFNI"));
        assert_eq!(limit(&ZEN_4, &[GATES]), (5.0, "vector pipes"));
        // Three pipes for both kinds; each kind can use two of them.
        assert_eq!(limit(&ZEN_4, &[AES, SHUFFLES]).0, 40.0 / 3.0);
        assert_eq!(limit(&ZEN_4, &[AES, ROTATIONS]).0, 10.0);
    }

    #[test]
    fn on_zen_5_wide_registers_pass_once() {
        assert_eq!(limit(&ZEN_5, &[AES]), (5.0, "AES"));
        assert_eq!(limit(&ZEN_5, &[GATES]), (2.5, "vector pipes"));
        // Three pipes for both kinds; each kind can use two of them.
        assert_eq!(limit(&ZEN_5, &[AES, SHUFFLES]), (20.0 / 3.0, "AES, shuffles"));
        assert_eq!(limit(&ZEN_5, &[AES, ROTATIONS]).0, 5.0);
    }

    #[test]
    fn on_golden_cove_wide_registers_leave_two_ports() {
        assert_eq!(limit(&GOLDEN_COVE, &[AES]), (10.0, "AES, GFNI, shifts"));
        assert_eq!(limit(&GOLDEN_COVE, &[("vaesenc %ymm1,%ymm2,%ymm3", 10)]).0, 5.0);
        assert_eq!(limit(&GOLDEN_COVE, &[AES, SHUFFLES]).0, 10.0);
        assert_eq!(limit(&GOLDEN_COVE, &[AES, ROTATIONS]).0, 20.0);
        assert_eq!(limit(&GOLDEN_COVE, &[GATES]), (5.0, "vector ports"));
        // Integer instructions use the vector ports too.
        assert_eq!(limit(&GOLDEN_COVE, &[("vpxor %ymm1,%ymm2,%ymm3", 15), ("imul %rax,%rcx", 10)]).0, 10.0);
    }

    #[test]
    fn memory_limits_what_computes_nothing() {
        let (load, store) = ("vmovdqu64 0x40(%rdi,%rax,8),%zmm1", "vmovdqu64 %zmm1,(%rdi)");
        for (core, loads, stores, dispatch) in
            [(&ZEN_4, 3.0, 6.0, 2.0), (&ZEN_5, 1.5, 3.0, 1.5), (&GOLDEN_COVE, 1.5, 3.0, 2.0)]
        {
            assert_eq!(limit(core, &[(load, 3)]), (loads, "loads"));
            assert_eq!(limit(core, &[(store, 3)]), (stores, "stores"));
            assert_eq!(limit(core, &[("vbroadcasti32x4 (%rdi),%zmm1", 3)]), (loads, "loads"));
            assert_eq!(limit(core, &[("mov %rax,%rcx", 12)]), (dispatch, "dispatch"));
            assert_eq!(limit(core, &[("jne 1234 <f+0x10>", 12)]).0, 0.0);
        }
    }

    #[test]
    fn machines_are_told_by_family_and_model() {
        assert_eq!(of("AMD EPYC, 2 threads").unwrap().name, "Zen 4");
        assert_eq!(of("AMD EPYC (family 25, model 17), 2 threads").unwrap().name, "Zen 4");
        assert_eq!(of("AMD EPYC (family 26, model 2), 2 threads").unwrap().name, "Zen 5");
        assert_eq!(
            of("Intel(R) Xeon(R) Processor (family 6, model 143), 2 threads").unwrap().name,
            "Golden Cove"
        );
        assert_eq!(
            of("Intel(R) Xeon(R) Processor (family 6, model 167), 2 threads").unwrap().name,
            "core unknown, not Rocket Lake"
        );
        assert!(of("AMD EPYC (family 23, model 49), 2 threads").is_none());
        assert!(of("an abacus").is_none());
    }
}
