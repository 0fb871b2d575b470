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

/// What is known of a family's programs.
struct Programs {
    /// What the first program of each task computes with, by gates.
    gates: Form,
    /// The programs that do what another does in another way, and their names.
    others: &'static [(Task, Form, &'static str)],
    /// Threads in a group of [`Form::Bits`] in CUDA, by task. A group of as many threads as a multiprocessor has registers for shares fetched
    /// instructions, of which these programs have more than its cache holds; small groups overlap one's reading with another's gates.
    /// Which counts for more was measured (bench/record/nvidia-h100-80gb-hbm3).
    cuda_bits_group_threads: [u32; Task::ALL.len()],
    /// Bytes of memory that such a group shares.
    cuda_bits_shared_bytes: usize,
    /// [`Kernel::text`] with so many threads in a group.
    text: fn(Kernel, Language, u32) -> String,
    /// [`Kernel::work`].
    work: fn(Kernel, Cipher) -> Work,
    /// [`Kernel::keys`].
    keys: fn(Kernel, &Key) -> Zeroizing<Vec<u32>>,
}

ciphers!(by_folder PROGRAMS: Programs);

/// All programs: those of gates, and then those that do what another does in another way.
pub static ALL: LazyLock<Vec<Kernel>> = LazyLock::new(|| {
    let firsts = Cipher::ALL.into_iter().filter(|&cipher| cipher == cipher.family().first());
    let families = firsts.map(Cipher::family);
    let gates = families.clone().flat_map(|family| Task::ALL.map(|task| Kernel::gates(family, task)));
    // Lists have those of the last family first.
    let others = families.rev().flat_map(|family| {
        of_family(family).others.iter().map(move |&(task, form, _)| Kernel { family, task, form })
    });
    gates.chain(others).collect()
});

impl Kernel {
    /// The first program that tells nothing by its timing.
    pub const fn gates(family: Family, task: Task) -> Self {
        Self { family, task, form: of_family(family).gates }
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
        let mut others = of_family(self.family).others.iter();
        if let Some((.., name)) = others.find(|(task, form, _)| (*task, *form) == (self.task, self.form)) {
            return name;
        }
        let names = &Entry::of(self.family).names;
        match self.task {
            Task::Encrypt => names.encrypt,
            Task::Decrypt => names.decrypt,
            Task::Count => names.ctr,
            Task::Generate => names.random,
        }
    }

    /// Threads in a group, of WGSL's `@workgroup_size` and CUDA's blocks, unless others are known to be better on a device.
    pub const fn group_threads(self, language: Language) -> u32 {
        match self.form {
            Form::Bits if matches!(language, Language::Cuda) => {
                of_family(self.family).cuda_bits_group_threads[self.task as usize]
            }
            Form::Bits | Form::Words => 64,
            Form::Walk => walk::SPAN_THREADS,
            Form::OneTable => 256,
            // One group fills a multiprocessor's shared memory, and has to fill its time.
            Form::FourTables => 1024,
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

    /// Bytes of the memory that a group of threads shares.
    pub const fn shared_bytes(self, language: Language) -> usize {
        match self.form {
            Form::Bits if matches!(language, Language::Cuda) => of_family(self.family).cuda_bits_shared_bytes,
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
        (of_family(self.family).text)(self, language, group_threads)
    }

    /// What it does for a block, copies and counters left out.
    pub fn work(self, cipher: Cipher) -> Work {
        (of_family(self.family).work)(self, cipher)
    }

    /// The round keys as the program reads them.
    ///
    /// Programs of gates find them in the order of their use: compilers know then how far an index goes.
    pub fn keys(self, key: &Key) -> Zeroizing<Vec<u32>> {
        (of_family(self.family).keys)(self, key)
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
