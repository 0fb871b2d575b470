//! Whole ciphers as programs for GPUs, in CUDA C and WGSL.
//!
//! The gates are traced from the one text of each part, mapped to gates of three inputs, and become functions; what stands
//! here is only how they follow one another: loops over rounds, ShiftRows as a choice of names, and where blocks are read
//! and written. AES is bit-sliced, 32 blocks a thread; Serpent works on its four words, a block a thread.
//!
//! A program reads `blocks` blocks from `source`, unless it only generates, and writes as many to `goal`, another buffer. `keys` are the words of
//! [`Kernel::keys`], `job` those of [`Kernel::job`]; in CUDA C `keys` is a variable in constant memory, and the other three
//! are parameters. In WGSL these are the bindings 0 (`source`), 1 (`goal`), 2 (`keys`) and 3 (`job`) of group 0.
//! Holds: no look-up on what is secret, and no branch on it.

mod aes;
mod serpent;
mod text;

use zeroize::Zeroizing;

use crate::block::{Cipher, Family, Key};
use crate::circuit::emit::Language;
use crate::part::{aes as aes_part, serpent as serpent_part};

/// Threads in a group, of WGSL's `@workgroup_size` and CUDA's blocks.
pub const GROUP_THREADS: u32 = 64;

/// Most words of keys: AES-256's 15 round keys, a word a bit.
pub const KEY_WORDS_MAX: usize = 15 * 128;

/// What a program does with blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Encrypts each block (ECB).
    Encrypt,
    /// Decrypts each block (ECB).
    Decrypt,
    /// Adds the keystream of a big-endian counter (CTR).
    Count,
    /// Writes the keystream of a little-endian counter (random streams), and reads no block.
    Generate,
}

impl Task {
    /// Whether blocks of a source are read.
    pub const fn reads_source(self) -> bool {
        !matches!(self, Self::Generate)
    }

    /// Whether what enters the cipher is a counter, so that any number of bytes will do.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Count | Self::Generate)
    }
}

/// A program for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The cipher, with keys of any size.
    pub family: Family,
    /// What it does.
    pub task: Task,
}

/// All programs.
pub const ALL: [Kernel; 8] = [
    Kernel { family: Family::Aes, task: Task::Encrypt },
    Kernel { family: Family::Aes, task: Task::Decrypt },
    Kernel { family: Family::Aes, task: Task::Count },
    Kernel { family: Family::Aes, task: Task::Generate },
    Kernel { family: Family::Serpent, task: Task::Encrypt },
    Kernel { family: Family::Serpent, task: Task::Decrypt },
    Kernel { family: Family::Serpent, task: Task::Count },
    Kernel { family: Family::Serpent, task: Task::Generate },
];

impl Kernel {
    /// Its name; its entry point has `_` for `-`.
    pub const fn name(self) -> &'static str {
        match (self.family, self.task) {
            (Family::Aes, Task::Encrypt) => "aes-encrypt",
            (Family::Aes, Task::Decrypt) => "aes-decrypt",
            (Family::Aes, Task::Count) => "aes-ctr",
            (Family::Aes, Task::Generate) => "aes-random",
            (Family::Serpent, Task::Encrypt) => "serpent-encrypt",
            (Family::Serpent, Task::Decrypt) => "serpent-decrypt",
            (Family::Serpent, Task::Count) => "serpent-ctr",
            (Family::Serpent, Task::Generate) => "serpent-random",
        }
    }

    /// The program of this name.
    pub fn find(name: &str) -> Option<Self> {
        ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// The name of its entry point.
    pub fn entry(self) -> String {
        self.name().replace('-', "_")
    }

    /// Its text.
    pub fn text(self, language: Language) -> String {
        match self.family {
            Family::Aes => aes::text(self, language),
            Family::Serpent => serpent::text(self, language),
        }
    }

    /// The round keys as the program reads them.
    ///
    /// AES: a word of equal bits for each bit of each round key, with the constant of the S-boxes in all but the first.
    /// Serpent: its words; encrypting, as they are added before the linear transformation.
    pub fn keys(self, key: &Key) -> Zeroizing<Vec<u32>> {
        match self.family {
            Family::Aes => aes_part::bitsliced::key_words(&aes_part::key::RoundKeys::expand(key)),
            Family::Serpent => {
                let keys = serpent_part::key::RoundKeys::expand(key);
                let keys = if self.task == Task::Decrypt { keys } else { keys.before_transform() };
                Zeroizing::new(keys.words().as_flattened().to_vec())
            }
        }
    }

    /// What a run is told: blocks, rounds, and the counter of the first block, its lowest word first.
    pub fn job(self, cipher: Cipher, blocks: u32, counter: u128) -> [u32; 6] {
        let word = |at: u32| (counter >> (32 * at)) as u32;
        [blocks, cipher.rounds() as u32, word(0), word(1), word(2), word(3)]
    }

    /// Threads for so many blocks, in whole groups.
    pub const fn threads(self, blocks: u32) -> u32 {
        let threads = match self.family {
            Family::Aes => blocks.div_ceil(aes::SPAN_BLOCKS) * aes::SPAN_THREADS,
            Family::Serpent => blocks,
        };
        threads.next_multiple_of(GROUP_THREADS)
    }
}
