//! Serial modes: CBC and CFB encryption, OFB, and CMAC, in which each block needs the previous result.
//!
//! One message (a chain) is serial, but many messages run side by side, one per lane. A [`Rule`] defines a
//! step. With state `s` (the IV at first), input block `x`, output block `y` and cipher `E`:
//!
//! ```text
//! CBC-MAC  s = E(s ⊕ x)
//! CBC      s = E(s ⊕ x), y = s
//! CFB      s = E(s) ⊕ x, y = s
//! OFB      s = E(s), y = s ⊕ x
//! ```
//!
//! Registers with several chains use the same rules as single blocks.
//!
//! Source: SP 800-38A §6.2 to 6.4; SP 800-38B §6.2 for CMAC.

use std::fmt;

use crate::arch::{AesLanes, Buffers, SideBySide, TILE_BYTES, Tile, each, wipe};
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::WholePart;
use crate::kernel::sum::sum;

/// A chain with output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// CBC encryption.
    Cbc,
    /// CFB encryption, whole blocks fed back.
    Cfb,
    /// OFB, in either direction.
    Ofb,
}

/// The step of a chain.
///
/// This is a value and not a type parameter: kernels branch on it before and after the cipher, so the long
/// code of the cipher occurs only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// CBC-MAC: like CBC encryption, but without output.
    Absorb,
    /// A mode that replaces its blocks.
    Replace(Link),
}

impl Rule {
    /// Whether the input is added to the state before the cipher.
    #[inline(always)]
    pub(crate) const fn adds_before(self) -> bool {
        matches!(self, Self::Absorb | Self::Replace(Link::Cbc))
    }

    /// Whether there is any output.
    #[inline(always)]
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, Self::Absorb)
    }
}

/// A message on which a chain runs.
pub struct ChainMessage<'a> {
    /// The block to which the next block is chained. It starts as the initialisation vector.
    pub state: Block,
    /// The rest of the message, in whole blocks.
    pub data: Data<'a>,
}

impl fmt::Debug for ChainMessage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChainMessage({} bytes left, secret)", self.data.len_bytes())
    }
}

/// The data of a chain. A value and not a type parameter, for the same reason as [`Rule`].
#[derive(Debug)]
pub enum Data<'a> {
    /// Input without output.
    Absorbed(&'a [u8]),
    /// Blocks that are replaced.
    Replaced(Buffers<'a>),
}

impl Data<'_> {
    /// The length of the rest in bytes.
    pub fn len_bytes(&self) -> usize {
        self.input().len()
    }

    /// The rest of the input.
    #[inline(always)]
    pub(crate) fn input(&self) -> &[u8] {
        match self {
            Self::Absorbed(bytes) => bytes,
            Self::Replaced(buffers) => buffers.input(),
        }
    }

    /// The output for the rest: as long as the input, or empty if the chain has no output.
    #[inline(always)]
    fn output_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Absorbed(_) => &mut [],
            Self::Replaced(buffers) => buffers.output_mut(),
        }
    }

    /// Adds these buffers to a group of messages that are processed side by side.
    #[inline(always)]
    pub(crate) fn show<'a, const N: usize>(&'a mut self, messages: &mut SideBySide<'a, N>) {
        match self {
            Self::Absorbed(bytes) => messages.push_input(bytes),
            Self::Replaced(buffers) => messages.push(buffers),
        }
    }

    /// Skips `count_bytes`.
    ///
    /// # Panics
    /// If fewer bytes are left.
    pub fn advance(&mut self, count_bytes: usize) {
        match self {
            Self::Absorbed(bytes) => *bytes = &bytes[count_bytes..],
            Self::Replaced(buffers) => buffers.skip(count_bytes),
        }
    }
}

/// A cipher that advances many chains at once, with their states in its registers from step to step.
pub trait ChainKernel: WholePart {
    /// The number of chains that run best side by side.
    fn lanes(&self) -> usize;

    /// Advances every chain by `blocks` blocks.
    fn advance(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize);

    /// Runs chains to their ends, and returns whether the kernel can take them where they are.
    fn run_short(&self, _rule: Rule, _chains: &mut ShortChains<'_>) -> bool {
        false
    }
}

/// The longest chains of [`ShortChains`]. To stage them would cost more than it saves: stages are cleared before and
/// wiped afterwards. Longer ones evict each other's lines from the cache if they are not staged.
pub(crate) const SHORT_CHAIN_BYTES_MAX: usize = 1024;

/// The most chains of [`ShortChains`].
pub(crate) const SHORT_CHAINS_MAX: usize = 32;

/// A few chains of one short length. They stay where they are: making a [`ChainMessage`] of each would take longer
/// than running it.
pub struct ShortChains<'a> {
    pub(crate) states: [Option<&'a mut Block>; SHORT_CHAINS_MAX],
    pub(crate) messages: SideBySide<'a, SHORT_CHAINS_MAX>,
    pub(crate) len_bytes: usize,
}

impl fmt::Debug for ShortChains<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShortChains({} of {} bytes, secret)", self.messages.count(), self.len_bytes)
    }
}

impl<'a> ShortChains<'a> {
    /// No chains yet. Each will have this many bytes.
    #[inline(always)]
    pub(crate) fn new(len_bytes: usize) -> Self {
        Self { states: [const { None }; SHORT_CHAINS_MAX], messages: SideBySide::new(len_bytes), len_bytes }
    }

    /// Adds a chain whose blocks are replaced.
    #[inline(always)]
    pub(crate) fn push(&mut self, state: &'a mut Block, buffers: &'a mut Buffers<'_>) {
        self.states[self.messages.count()] = Some(state);
        self.messages.push(buffers);
    }

    /// Adds a chain without output.
    #[inline(always)]
    pub(crate) fn push_input(&mut self, state: &'a mut Block, input: &'a [u8]) {
        self.states[self.messages.count()] = Some(state);
        self.messages.push_input(input);
    }
}

/// Bytes in a cache line. On a CPU with other lines this only costs time.
pub(crate) const LINE_BYTES: usize = 64;

/// The next `STEPS` blocks of up to `LANES` messages: row `s` holds the blocks of step `s`.
///
/// If blocks were read one by one, the lines of many messages of a round length would evict each other from
/// the cache between two steps.
#[repr(align(64))]
pub(crate) struct Stage<const LANES: usize, const STEPS: usize>([[Block; LANES]; STEPS]);

impl<const LANES: usize, const STEPS: usize> Stage<LANES, STEPS> {
    pub(crate) const fn new() -> Self {
        Self([[[0; BLOCK_BYTES]; LANES]; STEPS])
    }

    /// The blocks of one step, one per lane.
    #[inline(always)]
    pub(crate) const fn step(&mut self, step: usize) -> &mut [Block; LANES] {
        &mut self.0[step]
    }

    /// Copies the first blocks of `input` into a lane, at most `STEPS`.
    #[inline(always)]
    pub(crate) fn fill(&mut self, lane: usize, input: &[u8]) {
        let input = input.as_chunks().0;
        if let Some(blocks) = input.first_chunk::<STEPS>() {
            for (row, block) in self.0.iter_mut().zip(blocks) {
                row[lane] = *block;
            }
        } else {
            for (row, block) in self.0.iter_mut().zip(input) {
                row[lane] = *block;
            }
        }
    }

    /// Copies a lane's first blocks to `output`, at most as many as it holds.
    #[inline(always)]
    pub(crate) fn drain(&self, lane: usize, output: &mut [u8]) {
        let output = output.as_chunks_mut().0;
        if let Some(blocks) = output.first_chunk_mut::<STEPS>() {
            for (block, row) in blocks.iter_mut().zip(&self.0) {
                *block = row[lane];
            }
        } else {
            for (block, row) in output.iter_mut().zip(&self.0) {
                *block = row[lane];
            }
        }
    }

    /// Stores a square: four blocks of each of four messages, into four lanes of four steps from this lane
    /// and step on.
    #[inline(always)]
    pub(crate) fn fill_square<W: AesLanes>(&mut self, (lane, step): (usize, usize), blocks: [W; SQUARE]) {
        for (i, row) in transposed(blocks).into_iter().enumerate() {
            row.store(self.0[step + i][lane..][..W::BLOCKS].as_flattened_mut());
        }
    }

    /// Loads a square, one message per register.
    #[inline(always)]
    pub(crate) fn square<W: AesLanes>(&self, isa: W::Isa, (lane, step): (usize, usize)) -> [W; SQUARE] {
        let rows: [W; SQUARE] =
            each!(i < SQUARE => W::load(isa, self.0[step + i][lane..][..W::BLOCKS].as_flattened()));
        transposed(rows)
    }
}

/// Rows and columns of a square: the number of blocks in a 512-bit register.
pub(crate) const SQUARE: usize = 4;

/// Transposes a square: block `i` of register `j` becomes block `j` of register `i`.
#[inline(always)]
fn transposed<W: AesLanes>([a, b, c, d]: [W; SQUARE]) -> [W; SQUARE] {
    let ((a, b), (c, d)) = (W::unzip_blocks(a, b), W::unzip_blocks(c, d));
    let ((a, c), (b, d)) = (W::unzip_blocks(a, c), W::unzip_blocks(b, d));
    [a, b, c, d]
}

impl<const LANES: usize, const STEPS: usize> Drop for Stage<LANES, STEPS> {
    fn drop(&mut self) {
        wipe(self.0.as_flattened_mut().as_flattened_mut());
    }
}

/// Chains that run together on a cipher that reads blocks from memory: as many states as a tile holds.
const SIDE_BY_SIDE: usize = TILE_BYTES / BLOCK_BYTES;

/// Steps that are staged together: one cache line of every message, because there are many messages.
const STEPS: usize = LINE_BYTES / BLOCK_BYTES;

/// Advances every chain by `blocks` blocks, with a cipher that works in place on whole bundles of blocks.
pub(crate) fn by_blocks(
    rule: Rule,
    cipher: &mut dyn FnMut(Buffers<'_>),
    bundle_blocks: usize,
    chains: &mut [&mut ChainMessage<'_>],
    blocks: usize,
) {
    let mut states = Tile::new();
    let states = states.bytes_mut().as_chunks_mut().0;
    let mut stage = Box::new(Stage::<SIDE_BY_SIDE, STEPS>::new());
    for chains in chains.chunks_mut(SIDE_BY_SIDE) {
        let states = &mut states[..chains.len().next_multiple_of(bundle_blocks)];
        for (state, chain) in states.iter_mut().zip(&*chains) {
            *state = chain.state;
        }
        for first in (0..blocks).step_by(STEPS) {
            let (at, steps) = (first * BLOCK_BYTES, STEPS.min(blocks - first));
            for (lane, chain) in chains.iter().enumerate() {
                stage.fill(lane, &chain.data.input()[at..]);
            }
            for step in 0..steps {
                step_by_blocks(rule, cipher, states, stage.step(step));
            }
            if rule.writes() {
                for (lane, chain) in chains.iter_mut().enumerate() {
                    stage.drain(lane, &mut chain.data.output_mut()[at..][..steps * BLOCK_BYTES]);
                }
            }
        }
        for (state, chain) in states.iter().zip(chains) {
            chain.state = *state;
        }
    }
}

/// One step of every chain. Outputs replace inputs in `blocks`.
fn step_by_blocks(
    rule: Rule,
    cipher: &mut dyn FnMut(Buffers<'_>),
    states: &mut [Block],
    blocks: &mut [Block],
) {
    if rule.adds_before() {
        states.iter_mut().zip(&*blocks).for_each(|(state, input)| *state = sum(*state, *input));
    }
    cipher(Buffers::in_place(states.as_flattened_mut()));
    for (state, block) in states.iter_mut().zip(blocks) {
        match rule {
            Rule::Absorb => {}
            Rule::Replace(Link::Cbc) => *block = *state,
            Rule::Replace(Link::Cfb) => {
                *block = sum(*state, *block);
                *state = *block;
            }
            Rule::Replace(Link::Ofb) => *block = sum(*state, *block),
        }
    }
}
