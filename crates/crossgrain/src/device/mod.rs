//! Whole ciphers as programs for GPUs, in CUDA C and WGSL.
//!
//! The gates are traced from the one text of each part, mapped to gates of three inputs, and become functions; what stands
//! here is only how they follow one another: loops over rounds, ShiftRows as a choice of names, and where blocks are read
//! and written. AES and the ciphers that are described once are bit-sliced, 32 blocks a thread; Serpent is too, or works on its four words, a block a thread.
//!
//! A program reads `blocks` blocks from `source`, unless it only generates, and writes as many to `goal`, another buffer. `keys` are the words of
//! [`Kernel::keys`], `job` those of [`Kernel::job`]; in CUDA C `keys` is a variable in constant memory, and the other three
//! are parameters. In WGSL these are the bindings 0 (`source`), 1 (`goal`), 2 (`keys`) and 3 (`job`) of group 0, the last two
//! in uniform memory. Keys are declared as vectors of four words, as uniform memory must have them.
//! Holds: no look-up on what is secret, and no branch on it, in programs of gates. Those of tables look up, and are for
//! policy `any`.

mod aes;
mod bits;
mod described;
mod recorded;
mod rolled;
pub mod rounds;
#[cfg(feature = "search")]
pub mod search;
mod serpent;
mod tables;
mod text;
mod walk;

use std::sync::LazyLock;

use zeroize::Zeroizing;

use crate::block::{Cipher, Family, Key};
use crate::cipher::Entry;
use crate::circuit::emit::Language;
use crate::part::{aes as aes_part, serpent as serpent_part};
use crate::word::Features;

/// Most words of keys: Serpent's 33 round keys, a word a bit.
pub const KEY_WORDS_MAX: usize = 33 * 128;

/// The same in vectors of four words, by which programs read them.
const KEY_FOURS_MAX: usize = KEY_WORDS_MAX / 4;

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
    /// All tasks.
    const ALL: [Self; 4] = [Self::Encrypt, Self::Decrypt, Self::Count, Self::Generate];

    /// Whether blocks of a source are read.
    pub const fn reads_source(self) -> bool {
        !matches!(self, Self::Generate)
    }

    /// Whether what enters the cipher is a counter, so that any number of bytes will do.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Count | Self::Generate)
    }
}

/// What a program computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Gates, across the grain.
    Bits,
    /// The same, of counters whose first two rounds are done together. AES's keystream only: with blocks to read, reading
    /// takes longer than what is saved.
    Walk,
    /// Gates, on the words of blocks. Serpent only.
    Words,
    /// A table in the memory that threads share. AES only.
    OneTable,
    /// Four tables there.
    FourTables,
}

impl Form {
    /// Whether it reads memory at secret places.
    pub const fn looks_up(self) -> bool {
        matches!(self, Self::OneTable | Self::FourTables)
    }
}

/// A program for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The cipher, with keys of any size.
    pub family: Family,
    /// What it does.
    pub task: Task,
    /// How.
    pub form: Form,
}

/// A program in one language, with what whoever compiles and starts it has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The name of its entry point.
    pub entry: String,
    /// Its text.
    pub text: String,
    /// Threads in a group.
    pub group_threads: u32,
    /// Bytes of shared memory that CUDA has to be asked for at the start: more than a text may declare.
    pub dynamic_bytes: u32,
    /// Whether it reads from `source`.
    pub reads_source: bool,
    /// Whether it reads `keys`.
    pub reads_keys: bool,
}

/// What a program does for a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Gates of three inputs, and whatever else takes as long: shifts, rotations, permutations of bytes.
    pub gates: f64,
    /// Words read from shared memory.
    pub look_ups: f64,
}

/// All programs.
pub static ALL: LazyLock<Vec<Kernel>> = LazyLock::new(|| {
    let firsts = Cipher::ALL.into_iter().filter(|&cipher| cipher == cipher.family().first());
    let gates = firsts.flat_map(|cipher| Task::ALL.map(|task| Kernel::gates(cipher.family(), task)));
    gates.chain(OTHERS).collect()
});

/// The programs that do what another does in another way.
const OTHERS: [Kernel; 12] = [
    Kernel { family: Family::Serpent, task: Task::Encrypt, form: Form::Bits },
    Kernel { family: Family::Serpent, task: Task::Decrypt, form: Form::Bits },
    Kernel { family: Family::Serpent, task: Task::Generate, form: Form::Bits },
    Kernel { family: Family::Aes, task: Task::Generate, form: Form::Walk },
    Kernel { family: Family::Aes, task: Task::Encrypt, form: Form::OneTable },
    Kernel { family: Family::Aes, task: Task::Decrypt, form: Form::OneTable },
    Kernel { family: Family::Aes, task: Task::Count, form: Form::OneTable },
    Kernel { family: Family::Aes, task: Task::Generate, form: Form::OneTable },
    Kernel { family: Family::Aes, task: Task::Encrypt, form: Form::FourTables },
    Kernel { family: Family::Aes, task: Task::Decrypt, form: Form::FourTables },
    Kernel { family: Family::Aes, task: Task::Count, form: Form::FourTables },
    Kernel { family: Family::Aes, task: Task::Generate, form: Form::FourTables },
];

impl Kernel {
    /// The first program that tells nothing by its timing.
    pub const fn gates(family: Family, task: Task) -> Self {
        let form = if matches!(family, Family::Serpent) { Form::Words } else { Form::Bits };
        Self { family, task, form }
    }

    /// The programs for a task that a policy lets through.
    pub fn within(family: Family, task: Task, policy_is_any: bool) -> Vec<Self> {
        let fits = |kernel: &Self| {
            (kernel.family, kernel.task) == (family, task) && (policy_is_any || !kernel.form.looks_up())
        };
        ALL.iter().copied().filter(fits).collect()
    }

    /// Its name; its entry point has `_` for `-`.
    pub fn name(self) -> &'static str {
        match (self.family, self.task, self.form) {
            (Family::Aes, Task::Encrypt, Form::OneTable) => "aes-encrypt-table",
            (Family::Aes, Task::Encrypt, Form::FourTables) => "aes-encrypt-tables",
            (Family::Aes, Task::Decrypt, Form::OneTable) => "aes-decrypt-table",
            (Family::Aes, Task::Decrypt, Form::FourTables) => "aes-decrypt-tables",
            (Family::Aes, Task::Count, Form::OneTable) => "aes-ctr-table",
            (Family::Aes, Task::Count, Form::FourTables) => "aes-ctr-tables",
            (Family::Aes, Task::Generate, Form::Walk) => "aes-random-walk",
            (Family::Aes, Task::Generate, Form::OneTable) => "aes-random-table",
            (Family::Aes, Task::Generate, Form::FourTables) => "aes-random-tables",
            (Family::Serpent, Task::Encrypt, Form::Bits) => "serpent-encrypt-bitsliced",
            (Family::Serpent, Task::Decrypt, Form::Bits) => "serpent-decrypt-bitsliced",
            (Family::Serpent, Task::Generate, Form::Bits) => "serpent-random-bitsliced",
            (family, task, _) => {
                let names = &Entry::of(family).names;
                match task {
                    Task::Encrypt => names.encrypt,
                    Task::Decrypt => names.decrypt,
                    Task::Count => names.ctr,
                    Task::Generate => names.random,
                }
            }
        }
    }

    /// Threads in a group, of WGSL's `@workgroup_size` and CUDA's blocks, unless others are known to be better on a device.
    pub const fn group_threads(self, language: Language) -> u32 {
        match self.form {
            Form::Bits if matches!(language, Language::Cuda) => self.cuda_bits_group_threads(),
            Form::Bits | Form::Words => 64,
            Form::Walk => walk::SPAN_THREADS,
            Form::OneTable => 256,
            // One group fills a multiprocessor's shared memory, and has to fill its time.
            Form::FourTables => 1024,
        }
    }

    /// The same of [`Form::Bits`] in CUDA. A group of as many threads as a multiprocessor has registers for shares fetched
    /// instructions, of which these programs have more than its cache holds; small groups overlap one's reading with another's gates.
    /// Which counts for more was measured (bench/record/nvidia-h100-80gb-hbm3).
    const fn cuda_bits_group_threads(self) -> u32 {
        match (self.family, self.task) {
            (Family::Aes, Task::Encrypt | Task::Count) => 64,
            (Family::Aes, _) | (Family::Serpent, Task::Decrypt) => 256,
            (Family::Serpent, _) => 384,
            // Not measured.
            #[allow(unreachable_patterns, reason = "ciphers are features")]
            _ => 64,
        }
    }

    /// Whether its groups may have so many threads. Of programs of gates on bits or words they may be any number of pairs of warps; other programs share memory, or what
    /// they have computed, among threads of a group.
    pub const fn takes_group(self, language: Language, threads: u32) -> bool {
        match self.form {
            Form::Bits | Form::Words => threads.is_multiple_of(64) && threads > 0 && threads <= 1024,
            _ => threads == self.group_threads(language),
        }
    }

    /// Whether a group copies the round keys to the memory that it shares. Serpent's on bits are more than the cache of constants
    /// holds. WebGPU promises less shared memory than they take.
    const fn keys_are_shared(self, language: Language) -> bool {
        matches!((self.family, self.form, language), (Family::Serpent, Form::Bits, Language::Cuda))
    }

    /// Bytes of the memory that a group of threads shares.
    pub const fn shared_bytes(self, language: Language) -> usize {
        match self.form {
            Form::Bits if self.keys_are_shared(language) => 4 * KEY_WORDS_MAX,
            Form::Bits | Form::Walk | Form::Words => 0,
            Form::OneTable => 32 << 10,
            Form::FourTables => 128 << 10,
        }
    }

    /// The program of this name.
    pub fn find(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|kernel| kernel.name() == name)
    }

    /// The name of its entry point.
    pub fn entry(self) -> String {
        self.name().replace('-', "_")
    }

    /// Its text, and how it is started.
    pub fn listing(self, language: Language) -> Listing {
        self.listing_in(language, self.group_threads(language))
    }

    /// The same with so many threads in a group, which it takes ([`Kernel::takes_group`]).
    pub fn listing_in(self, language: Language, group_threads: u32) -> Listing {
        Listing {
            entry: self.entry(),
            text: self.text_in(language, group_threads),
            group_threads,
            dynamic_bytes: if self.form == Form::FourTables { self.shared_bytes(language) as u32 } else { 0 },
            reads_source: self.task.reads_source(),
            reads_keys: true,
        }
    }

    /// Its text.
    pub fn text(self, language: Language) -> String {
        self.text_in(language, self.group_threads(language))
    }

    fn text_in(self, language: Language, group_threads: u32) -> String {
        match (self.family, self.form) {
            (Family::Aes, Form::OneTable | Form::FourTables) => tables::text(self, language),
            (Family::Aes, Form::Walk) => walk::text(self, language),
            (Family::Aes, _) => aes::text(self, language, group_threads),
            (Family::Serpent, _) => serpent::text(self, language, group_threads),
            #[allow(unreachable_patterns, reason = "ciphers are features")]
            _ => described::text(self, language, group_threads),
        }
    }

    /// What it does for a block, copies and counters left out.
    pub fn work(self, cipher: Cipher) -> Work {
        let rounds = cipher.rounds() as f64;
        match (self.family, self.form) {
            (Family::Aes, Form::OneTable | Form::FourTables) => tables::work(self.task, rounds),
            (Family::Aes, Form::Walk) => Work { gates: walk::gates(rounds), look_ups: 0.0 },
            (Family::Aes, _) => Work { gates: aes::gates(self.task, rounds), look_ups: 0.0 },
            (Family::Serpent, _) => Work { gates: serpent::gates(self), look_ups: 0.0 },
            #[allow(unreachable_patterns, reason = "ciphers are features")]
            _ => Work { gates: described::gates(self.task, cipher), look_ups: 0.0 },
        }
    }

    /// The round keys as the program reads them.
    ///
    /// AES: a word of equal bits for each bit of each round key, with the constant of the S-boxes in all but the first; or
    /// the words of the round keys and then those of the tables.
    /// Serpent: its words, or a word of equal bits for each of their bits; encrypting, as they are added before the linear
    /// transformation.
    /// Ciphers that are described once: a word of equal bits for each bit.
    /// Programs of gates find them in the order of their use: compilers know then how far an index goes.
    pub fn keys(self, key: &Key) -> Zeroizing<Vec<u32>> {
        match (self.family, self.form) {
            (Family::Aes, Form::OneTable | Form::FourTables) => {
                let mut words = Zeroizing::new(Vec::with_capacity(KEY_WORDS_MAX));
                tables::keys(self.task, &aes_part::key::RoundKeys::expand(key, Features::NONE), &mut words);
                words
            }
            (Family::Aes, _) => {
                let words =
                    aes_part::bitsliced::key_words(&aes_part::key::RoundKeys::expand(key, Features::NONE));
                self.in_order::<128>(words)
            }
            (Family::Serpent, _) => {
                let keys = serpent_part::key::RoundKeys::expand(key);
                let keys = if self.task == Task::Decrypt { keys } else { keys.before_transform() };
                let words = keys.words().as_flattened();
                if self.form == Form::Words {
                    return self.in_order::<4>(Zeroizing::new(words.to_vec()));
                }
                let mut bits = Zeroizing::new(Vec::with_capacity(KEY_WORDS_MAX));
                let spread = |word: u32| (0..32).map(move |bit| 0_u32.wrapping_sub(word >> bit & 1));
                bits.extend(words.iter().copied().flat_map(spread));
                self.in_order::<128>(bits)
            }
            #[allow(unreachable_patterns, reason = "ciphers are features")]
            _ => described::keys(self.task, key),
        }
    }

    /// Round keys of `N` words in the order of their use.
    fn in_order<const N: usize>(self, mut words: Zeroizing<Vec<u32>>) -> Zeroizing<Vec<u32>> {
        if self.task == Task::Decrypt {
            words.as_chunks_mut::<N>().0.reverse();
        }
        words
    }

    /// What a run is told: blocks, rounds, and the counter of the first block, its lowest word first.
    pub fn job(self, cipher: Cipher, blocks: u32, counter: u128) -> [u32; 6] {
        let word = |at: u32| (counter >> (32 * at)) as u32;
        [blocks, cipher.rounds() as u32, word(0), word(1), word(2), word(3)]
    }

    /// Threads for so many blocks; those that a group has beyond them do nothing.
    pub const fn threads(self, blocks: u32) -> u32 {
        match self.form {
            Form::Bits => blocks.div_ceil(bits::SPAN_BLOCKS) * bits::SPAN_THREADS,
            // Counters may begin within those of a span.
            Form::Walk => (blocks.div_ceil(walk::SPAN_BLOCKS) + 1) * walk::SPAN_THREADS,
            Form::Words => blocks,
            Form::OneTable | Form::FourTables => {
                let group = self.group_threads(Language::Cuda);
                blocks.div_ceil(tables::THREAD_BLOCKS * group) * group
            }
        }
    }
}
