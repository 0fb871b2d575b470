//! Whole ciphers as GPU programs in CUDA C and WGSL. [`hardware`] has them as designs in Verilog.
//!
//! The gates come from the same source as the CPU's parts. They are traced, mapped to three-input gates, and
//! printed as functions. This module adds the structure around them: loops over rounds, ShiftRows as
//! renaming, and the reading and writing of blocks. AES and described ciphers are bit-sliced, with 32 blocks
//! per thread. Serpent is bit-sliced too, or works on its four words with one block per thread.
//!
//! A program reads `blocks` blocks from `source`, unless it only generates keystream, and writes the same
//! number to `goal`, which is another buffer. `keys` holds the words of [`Kernel::keys`], `job` those of
//! [`Kernel::job`]. In CUDA C `keys` is a variable in constant memory and the other three are parameters. In
//! WGSL they are the bindings 0 (`source`), 1 (`goal`), 2 (`keys`) and 3 (`job`) of group 0; `keys` and `job`
//! are in uniform memory. Keys are declared as vectors of four words, as uniform memory requires.
//!
//! Invariant: programs of gates have no look-up or branch that depends on secrets. Programs with tables look
//! up at secret addresses and need the policy `any`.

pub(crate) mod bits;
pub mod hardware;
pub(crate) mod recorded;
pub mod rounds;
#[cfg(feature = "search")]
pub mod search;
pub(crate) mod text;

use std::sync::LazyLock;

use zeroize::Zeroizing;

use self::recorded::Recorded;
use crate::block::{Cipher, Direction, Family, Key};
use crate::cipher::Entry;
use crate::cipher::aes::gpu::{cached_counter, tables};
use crate::circuit::emit::Language;

/// The maximum number of key words: Serpent's 33 round keys, with one word per bit.
pub const KEY_WORDS_MAX: usize = 33 * 128;

/// The same maximum in vectors of four words, the unit in which programs read keys.
pub(crate) const KEY_FOURS_MAX: usize = KEY_WORDS_MAX / 4;

/// The operation of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Encrypts each block (ECB).
    Encrypt,
    /// Decrypts each block (ECB).
    Decrypt,
    /// XORs the keystream of a big-endian counter to the data (CTR).
    Count,
    /// Writes the keystream of a little-endian counter (random streams). Reads no blocks.
    Generate,
}

impl Task {
    /// All tasks.
    pub(crate) const ALL: [Self; 4] = [Self::Encrypt, Self::Decrypt, Self::Count, Self::Generate];

    /// Whether the program reads blocks from `source`.
    pub const fn reads_source(self) -> bool {
        !matches!(self, Self::Generate)
    }

    /// Whether the cipher's input is a counter. The length is then not limited to whole blocks.
    pub const fn counts(self) -> bool {
        matches!(self, Self::Count | Self::Generate)
    }
}

/// The method of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Gates on bit-sliced blocks.
    Bits,
    /// Bit-sliced gates on counters, with the first two rounds shared between counters. Only for AES
    /// keystreams: with input blocks, reading them takes longer than the saving.
    CachedCounter,
    /// Gates on the words of blocks. Serpent only.
    Words,
    /// One table in shared memory. AES only.
    OneTable,
    /// Four tables in shared memory. AES only.
    FourTables,
}

impl Form {
    /// Whether the program reads memory at secret addresses.
    pub const fn looks_up(self) -> bool {
        matches!(self, Self::OneTable | Self::FourTables)
    }
}

/// A GPU program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The cipher family, with keys of any size.
    pub family: Family,
    /// The operation.
    pub task: Task,
    /// The method.
    pub form: Form,
}

/// A program in one language, with the facts needed to compile and start it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The name of the entry point.
    pub entry: String,
    /// The source text.
    pub text: String,
    /// The number of threads in a group.
    pub group_threads: u32,
    /// The dynamic shared memory that a CUDA launch must request, in bytes. It is only for groups that need
    /// more than a text may declare.
    pub dynamic_bytes: u32,
    /// Whether it reads from `source`.
    pub reads_source: bool,
    /// Whether it reads `keys`.
    pub reads_keys: bool,
}

/// The operations of a program per block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Three-input gates, and instructions of equal cost: shifts, rotations, byte permutations.
    pub gates: f64,
    /// Words read from shared memory.
    pub look_ups: f64,
}

/// The description of a family's programs.
pub(crate) struct Programs {
    /// The form of the default program of each task. It consists of gates.
    pub(crate) gates: Form,
    /// Alternative programs for a task, with their names.
    pub(crate) others: &'static [(Task, Form, &'static str)],
    /// Threads in a group of [`Form::Bits`] in CUDA, by task. These programs have more instructions than a
    /// multiprocessor's instruction cache holds. A group that uses all registers of a multiprocessor shares
    /// fetched instructions. Smaller groups overlap the reads of one with the gates of another. The better
    /// size was measured (bench/record/nvidia-h100-80gb-hbm3).
    pub(crate) cuda_bits_group_threads: [u32; Task::ALL.len()],
    /// The size of such a group's shared memory, in bytes.
    pub(crate) cuda_bits_shared_bytes: usize,
    /// [`Kernel::text`] with the given number of threads in a group.
    pub(crate) text: fn(Kernel, Language, u32) -> String,
    /// [`Kernel::work`].
    pub(crate) work: fn(Kernel, Cipher) -> Work,
    /// [`Kernel::keys`].
    pub(crate) keys: fn(Kernel, &Key) -> Zeroizing<Vec<u32>>,
    /// The steps of a cipher of the family, for designs of hardware.
    pub(crate) recorded: fn(Cipher, Direction) -> Recorded,
}

ciphers!(by_folder gpu::PROGRAMS: Programs);

/// All programs: first those of gates, then the alternatives.
pub static ALL: LazyLock<Vec<Kernel>> = LazyLock::new(|| {
    let firsts = Cipher::ALL.into_iter().filter(|&cipher| cipher == cipher.family().first());
    let families = firsts.map(Cipher::family);
    let gates = families.clone().flat_map(|family| Task::ALL.map(|task| Kernel::gates(family, task)));
    // The alternatives of the last family come first.
    let others = families.rev().flat_map(|family| {
        of_family(family).others.iter().map(move |&(task, form, _)| Kernel { family, task, form })
    });
    gates.chain(others).collect()
});

impl Kernel {
    /// The default program for a task. It is constant-time.
    pub const fn gates(family: Family, task: Task) -> Self {
        Self { family, task, form: of_family(family).gates }
    }

    /// The programs for a task that a policy allows.
    pub fn within(family: Family, task: Task, policy_is_any: bool) -> Vec<Self> {
        let fits = |kernel: &Self| {
            (kernel.family, kernel.task) == (family, task) && (policy_is_any || !kernel.form.looks_up())
        };
        ALL.iter().copied().filter(fits).collect()
    }

    /// The program's name. The entry point has `_` in place of `-`.
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

    /// The default number of threads in a group: WGSL's `@workgroup_size`, or the size of a CUDA block.
    pub const fn group_threads(self, language: Language) -> u32 {
        match self.form {
            Form::Bits if matches!(language, Language::Cuda) => {
                of_family(self.family).cuda_bits_group_threads[self.task as usize]
            }
            Form::Bits | Form::Words => 64,
            Form::CachedCounter => cached_counter::SPAN_THREADS,
            Form::OneTable => 256,
            // One group fills a multiprocessor's shared memory, so it must also occupy the multiprocessor.
            Form::FourTables => 1024,
        }
    }

    /// Whether its groups may have this number of threads. Programs of gates on bits or words accept
    /// multiples of 64 up to 1024. Other programs share memory or results among the threads of a group, so
    /// their size is fixed.
    pub const fn takes_group(self, language: Language, threads: u32) -> bool {
        match self.form {
            Form::Bits | Form::Words => threads.is_multiple_of(64) && threads > 0 && threads <= 1024,
            _ => threads == self.group_threads(language),
        }
    }

    /// The size of a group's shared memory, in bytes.
    pub const fn shared_bytes(self, language: Language) -> usize {
        match self.form {
            Form::Bits if matches!(language, Language::Cuda) => of_family(self.family).cuda_bits_shared_bytes,
            Form::Bits | Form::CachedCounter | Form::Words => 0,
            Form::OneTable => 32 << 10,
            Form::FourTables => 128 << 10,
        }
    }

    /// The program with this name.
    pub fn find(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|kernel| kernel.name() == name)
    }

    /// The name of its entry point.
    pub fn entry(self) -> String {
        self.name().replace('-', "_")
    }

    /// Its source text, with the facts needed to start it.
    pub fn listing(self, language: Language) -> Listing {
        self.listing_in(language, self.group_threads(language))
    }

    /// The same with the given number of threads in a group, which [`Kernel::takes_group`] must accept.
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

    /// Its source text.
    pub fn text(self, language: Language) -> String {
        self.text_in(language, self.group_threads(language))
    }

    fn text_in(self, language: Language, group_threads: u32) -> String {
        (of_family(self.family).text)(self, language, group_threads)
    }

    /// The work per block, without copies and counters.
    pub fn work(self, cipher: Cipher) -> Work {
        (of_family(self.family).work)(self, cipher)
    }

    /// The round keys as the program reads them.
    ///
    /// Programs of gates read them in order of use, so that compilers can bound the index.
    pub fn keys(self, key: &Key) -> Zeroizing<Vec<u32>> {
        (of_family(self.family).keys)(self, key)
    }

    /// Arranges round keys of `N` words in order of use.
    pub(crate) fn in_order<const N: usize>(self, mut words: Zeroizing<Vec<u32>>) -> Zeroizing<Vec<u32>> {
        if self.task == Task::Decrypt {
            words.as_chunks_mut::<N>().0.reverse();
        }
        words
    }

    /// The job words of a run: blocks, rounds, and the first block's counter, lowest word first.
    pub fn job(self, cipher: Cipher, blocks: u32, counter: u128) -> [u32; 6] {
        let word = |at: u32| (counter >> (32 * at)) as u32;
        [blocks, cipher.rounds() as u32, word(0), word(1), word(2), word(3)]
    }

    /// The number of threads for `blocks` blocks. Excess threads of a group do nothing.
    pub const fn threads(self, blocks: u32) -> u32 {
        match self.form {
            Form::Bits => blocks.div_ceil(bits::SPAN_BLOCKS) * bits::SPAN_THREADS,
            // The first counter may lie inside a span, so one more span is needed.
            Form::CachedCounter => {
                (blocks.div_ceil(cached_counter::SPAN_BLOCKS) + 1) * cached_counter::SPAN_THREADS
            }
            Form::Words => blocks,
            Form::OneTable | Form::FourTables => {
                let group = self.group_threads(Language::Cuda);
                blocks.div_ceil(tables::THREAD_BLOCKS * group) * group
            }
        }
    }
}
