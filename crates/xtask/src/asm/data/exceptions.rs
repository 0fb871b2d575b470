//! The kernels that may break rule 5, each with the reason why no secret is exposed.

use super::Kind::{self, Address, Branch, Move};

/// A kernel that may break the rule in these ways.
#[derive(Debug)]
pub(crate) struct Exception {
    /// The type of the kernel without generic arguments, as `cargo xtask asm --list` shows it.
    pub(crate) kernel: &'static str,
    /// The instruction sets to which the exception applies.
    pub(crate) isas: &'static [&'static str],
    pub(crate) kinds: &'static [Kind],
    /// The reason why the exposed value is public.
    pub(crate) reason: &'static str,
}

impl Exception {
    /// Whether this allows a kernel of that type to break the rule in this way.
    pub(super) fn allows(&self, kernel: &str, isa: &str, kind: Kind) -> bool {
        let rest = kernel.strip_prefix(self.kernel);
        let is_kernel = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('<'));
        is_kernel && self.isas.contains(&isa) && self.kinds.contains(&kind)
    }

    /// Each kernel, instruction set and kind that must occur.
    pub(super) fn uses(&self) -> impl Iterator<Item = (&'static str, &'static str, Kind)> {
        let isas = if VARYING.contains(&self.kernel) { &[] } else { self.isas };
        isas.iter().flat_map(|isa| self.kinds.iter().map(|&kind| (self.kernel, *isa, kind)))
    }
}

/// Kernels that break the rule or not, depending on how the compiler divides the crate. Their exceptions may be
/// unused.
const VARYING: [&str; 1] = ["cipher::serpent::whole::Run"];

/// A tag is compared as a whole.
const VERDICT: &str = "compares the tag in one piece; only the verdict, which is public, decides a branch";

/// A search returns matches to its caller.
const MATCHES: &str = "a bit for each key that matches leaves the kernel: the result of the search";

/// The layout of a tile.
const PHASE: &str = "the places of a tile's words follow from `Tile::phase`, which is public and counts ShiftRows; memcheck agrees";

/// The end of a stream.
const LAST_BYTES: &str = "the last one to three bytes of the output are stored by way of a general register";

/// A key of AES-192.
const SCHEDULE: &str =
    "the schedule of AES-192 continues by XOR in general registers and stores its words; memcheck agrees";

/// Addresses and lengths in memory.
const STACK_SLOT: &str = "addresses and lengths of the message and the keys come from stack slots that held data before; memcheck agrees";

pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        kernel: "cipher::aes::gcm::bundles::Longer",
        isas: &["aesni", "vaes256", "vaes512"],
        kinds: &[Move, Branch],
        reason: VERDICT,
    },
    Exception {
        kernel: "cipher::aes::gcm::together::Short",
        isas: &["aesni", "vaes256", "vaes512"],
        kinds: &[Move, Branch],
        reason: VERDICT,
    },
    Exception {
        kernel: "cipher::aes::gcm::end::Alone",
        isas: &["vaes512"],
        kinds: &[Move, Branch],
        reason: VERDICT,
    },
    Exception {
        kernel: "cipher::aes::gcm_siv::Message",
        isas: &["aesni"],
        kinds: &[Move],
        reason: LAST_BYTES,
    },
    Exception {
        kernel: "cipher::aes::serial::Entered",
        isas: &["aesni"],
        kinds: &[Move],
        reason: "offset 0 of OCB, the doubled sums of S2V, EAX's first counter and the last one to three bytes \
                 pass through general registers, by shifts and XOR without branches",
    },
    Exception {
        kernel: "cipher::aes::instructions::Long",
        isas: &["aesni", "vaes256"],
        kinds: &[Move],
        reason: LAST_BYTES,
    },
    Exception {
        kernel: "cipher::aes::instructions::Short",
        isas: &["aesni", "vaes256"],
        kinds: &[Move],
        reason: LAST_BYTES,
    },
    Exception {
        kernel: "cipher::aes::cached_counter::CachedRun",
        isas: &["aesni", "vaes256"],
        kinds: &[Move],
        reason: LAST_BYTES,
    },
    Exception { kernel: "cipher::aes::key::Expand", isas: &["aesni"], kinds: &[Move], reason: SCHEDULE },
    Exception {
        kernel: "cipher::aes::key::Take",
        isas: &["aesni", "vaes256", "vaes512"],
        kinds: &[Move],
        reason: SCHEDULE,
    },
    Exception {
        kernel: "layout::convert::groups::StoreGroups",
        isas: &["sse2", "avx2"],
        kinds: &[Move, Address],
        reason: PHASE,
    },
    Exception {
        kernel: "cipher::aes::bytesliced::StepOnTile",
        isas: &["sse2"],
        kinds: &[Move, Address],
        reason: PHASE,
    },
    Exception {
        kernel: "kernel::comparison::CompareBytes",
        isas: &["sse2", "avx2"],
        kinds: &[Move],
        reason: MATCHES,
    },
    Exception {
        kernel: "kernel::comparison::CompareWords",
        isas: &["portable", "sse2", "avx2", "avx512"],
        kinds: &[Move],
        reason: MATCHES,
    },
    Exception {
        kernel: "cipher::aes::search::Try",
        isas: &["portable", "sse2", "avx2", "gfni256", "gfni512", "vbmi512"],
        kinds: &[Move],
        reason: MATCHES,
    },
    Exception {
        kernel: "cipher::aes::search::instructions::Try",
        isas: &["aesni", "vaes256", "vaes512"],
        kinds: &[Move],
        reason: MATCHES,
    },
    Exception {
        kernel: "cipher::derived::search::registers::Try",
        isas: &["sse2", "avx2", "avx512", "gfni256", "gfni512", "gfnivbmi512"],
        kinds: &[Move],
        reason: MATCHES,
    },
    Exception {
        kernel: "cipher::serpent::search::Try",
        isas: &["sse2", "avx2", "avx512"],
        kinds: &[Move],
        reason: "a bit for each key that matches leaves the kernel, and so does `usage`, which is public and is loaded beside the key",
    },
    Exception {
        kernel: "cipher::serpent::whole::Run",
        isas: &["portable"],
        kinds: &[Address, Branch],
        reason: STACK_SLOT,
    },
    Exception {
        kernel: "cipher::serpent::whole::Run",
        isas: &["portable"],
        kinds: &[Move],
        reason: "the compiler packs words of blocks in vector registers, and computes them in general ones",
    },
    Exception {
        kernel: "cipher::serpent::whole::Run",
        isas: &["sse2"],
        kinds: &[Address, Branch],
        reason: STACK_SLOT,
    },
];
