//! The token types of 64-bit ARM, and facts about the CPU.
//!
//! Only `detect` makes tokens, and it asks the CPU. A token therefore proves that its instructions exist.
//! `enter` runs a kernel that is compiled for these instructions.

use std::arch::is_aarch64_feature_detected;
use std::fs;

use crate::arch::Features;
use crate::arch::token::isa;

pub(in crate::arch) fn detect_features() -> Features {
    Features::found([
        (Features::NEON, is_aarch64_feature_detected!("neon")),
        (Features::AES, is_aarch64_feature_detected!("aes")),
        (Features::SHA3, is_aarch64_feature_detected!("sha3")),
    ])
}

/// Whether streaming stores are the fastest way to write memory that no cache holds. These registers have
/// none: STNP is a hint that the cores named in docs/design.md ignore.
pub(crate) const fn stores_best_past_caches() -> bool {
    false
}

/// Whether the CPU fetches the next lines by itself if a long job reads and writes the same ones. This is
/// assumed, not measured.
pub(crate) const fn fetches_in_place() -> bool {
    true
}

/// Whether the CPU shuffles several blocks of a register at a time. A register holds one.
pub(crate) const fn shuffles_whole_registers() -> bool {
    false
}

/// Whether hashing one message in each 32-bit lane is faster than hashing them one after another. The
/// instructions for SHA-256 are faster than four lanes.
pub fn hashes_best_in_lanes(features: Features) -> bool {
    features.contains(Features::NEON) && !is_aarch64_feature_detected!("sha2")
}

/// The parts of Arm Ltd. by their number in MIDR_EL1.
const PARTS: [(u64, &str); 9] = [
    (0xd03, "Cortex-A53"),
    (0xd08, "Cortex-A72"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse N1"),
    (0xd40, "Neoverse V1"),
    (0xd49, "Neoverse N2"),
    (0xd4f, "Neoverse V2"),
    (0xd83, "Neoverse V3AE"),
    (0xd84, "Neoverse V3"),
];

/// The name of the core, if it is known, and MIDR_EL1 in hex. Only Linux shows this register.
pub(in crate::arch) fn cpu_model() -> Option<String> {
    const ARM_LTD: u64 = 0x41;
    let shown = fs::read_to_string("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").ok()?;
    let midr = u64::from_str_radix(shown.trim().strip_prefix("0x")?, 16).ok()?;
    let (maker, part) = (midr >> 24 & 0xff, midr >> 4 & 0xfff);
    let known = PARTS.iter().find(|(number, _)| maker == ARM_LTD && *number == part);
    Some(format!("{} ({midr:08x})", known.map_or("aarch64", |(_, name)| name)))
}

/// Nothing: the stack is aligned to 16 bytes, which is enough for every register of this machine.
#[inline(always)]
const fn align_frame() {}

isa!(
    /// 128-bit registers.
    Neon, "neon", Features::NEON, enter_neon, "neon"
);
isa!(
    /// 128-bit registers with AES rounds and carry-less products.
    NeonAes, "neonaes", Features::NEON.with(Features::AES), enter_neonaes, "neon,aes"
);
isa!(
    /// 128-bit registers with gates of three inputs.
    NeonSha3, "neonsha3", Features::NEON.with(Features::SHA3), enter_neonsha3, "neon,sha3"
);
