//! Chains of blocks, each of which needs the result of the one before it: CBC and CFB encryption, OFB, CMAC.
//!
//! One chain is serial, but many run side by side, one chain per lane. `Rule` says how a chain goes on, on registers of several
//! chains as on single blocks.
//! Source: SP 800-38A §6.2 to 6.4; SP 800-38B §6.2 for what is only absorbed.

use std::fmt;

use super::sum::sum;
use crate::block::{BLOCK_BYTES, Block};
use crate::word::{AesLanes, Buffers, SideBySide, TILE_BYTES, Tile, each, wipe};

/// A chain that replaces its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// CBC encryption.
    Cbc,
    /// CFB encryption, whole blocks fed back.
    Cfb,
    /// OFB, in either direction.
    Ofb,
}

/// How a chain goes on.
///
/// A value, not a type: kernels ask for it before and after the cipher, so that the cipher's long text stands once in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// CBC-MAC: as CBC encryption, and nothing is written.
    Absorb,
    /// What a link says.
    Replace(Link),
}

impl Rule {
    /// Whether the input is added to what goes into the cipher.
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

/// A message that a chain goes along.
pub struct Strand<'a> {
    /// What the next block is chained to: the initialisation vector at first.
    pub state: Block,
    /// What is left of the message, whole blocks.
    pub data: Data<'a>,
}

impl fmt::Debug for Strand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Strand({} bytes left, secret)", self.data.len_bytes())
    }
}

/// What a chain goes along. A value, not a type, for the same reason.
#[derive(Debug)]
pub enum Data<'a> {
    /// Bytes of which nothing is written.
    Absorbed(&'a [u8]),
    /// Blocks that are replaced.
    Replaced(Buffers<'a>),
}

impl Data<'_> {
    /// How much is left, in bytes.
    pub fn len_bytes(&self) -> usize {
        self.input().len()
    }

    /// What is left.
    #[inline(always)]
    fn input(&self) -> &[u8] {
        match self {
            Self::Absorbed(bytes) => bytes,
            Self::Replaced(buffers) => buffers.input(),
        }
    }

    /// Where the results of what is left go, as many bytes; nothing where none are kept.
    #[inline(always)]
    fn output_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Absorbed(_) => &mut [],
            Self::Replaced(buffers) => buffers.output_mut(),
        }
    }

    /// Shows it beside others.
    #[inline(always)]
    pub(crate) fn show<'a, const N: usize>(&'a mut self, messages: &mut SideBySide<'a, N>) {
        match self {
            Self::Absorbed(bytes) => messages.push_input(bytes),
            Self::Replaced(buffers) => messages.push(buffers),
        }
    }

    /// Leaves `count_bytes` behind.
    ///
    /// # Panics
    /// If that is more than there is.
    pub fn advance(&mut self, count_bytes: usize) {
        match self {
            Self::Absorbed(bytes) => *bytes = &bytes[count_bytes..],
            Self::Replaced(buffers) => {
                buffers.take_front(count_bytes);
            }
        }
    }
}

/// Bytes in a cache line of the CPUs at hand; another length costs time only.
pub(crate) const LINE_BYTES: usize = 64;

/// The next `STEPS` blocks of up to `LANES` messages, a row a step.
///
/// Taken block by block, the lines of many messages of a round length would push each other out of the cache between
/// two steps.
#[repr(align(64))]
pub(crate) struct Stage<const LANES: usize, const STEPS: usize>([[Block; LANES]; STEPS]);

impl<const LANES: usize, const STEPS: usize> Stage<LANES, STEPS> {
    pub(crate) const fn new() -> Self {
        Self([[[0; BLOCK_BYTES]; LANES]; STEPS])
    }

    /// The blocks of a step, a lane each.
    #[inline(always)]
    pub(crate) const fn step(&mut self, step: usize) -> &mut [Block; LANES] {
        &mut self.0[step]
    }

    /// Takes the first blocks of `input` into a lane, as many as there are steps.
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

    /// Gives the first blocks of a lane to `output`, as many as that takes.
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

    /// Takes four blocks of each of four messages into as many lanes of as many steps, from this lane and step on.
    #[inline(always)]
    pub(crate) fn fill_square<W: AesLanes>(&mut self, (lane, step): (usize, usize), blocks: [W; SQUARE]) {
        for (i, row) in transposed(blocks).into_iter().enumerate() {
            row.store(self.0[step + i][lane..][..W::BLOCKS].as_flattened_mut());
        }
    }

    /// What such a square holds, a register a message.
    #[inline(always)]
    pub(crate) fn square<W: AesLanes>(&self, isa: W::Isa, (lane, step): (usize, usize)) -> [W; SQUARE] {
        let rows: [W; SQUARE] =
            each!(i < SQUARE => W::load(isa, self.0[step + i][lane..][..W::BLOCKS].as_flattened()));
        transposed(rows)
    }
}

/// Blocks of a register of 512 bits: as many of these make a square.
pub(crate) const SQUARE: usize = 4;

/// Block `i` of register `j` as block `j` of register `i`, in registers of so many blocks.
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

/// Chains that are run together by a cipher that takes blocks from memory: a tile's worth of states.
const SIDE_BY_SIDE: usize = TILE_BYTES / BLOCK_BYTES;

/// Steps that are staged together: a cache line of every message, since there are so many.
const STEPS: usize = LINE_BYTES / BLOCK_BYTES;

/// Takes every chain `blocks` blocks further by a cipher on whole bundles of blocks, in place.
pub(crate) fn by_blocks(
    rule: Rule,
    cipher: &mut dyn FnMut(Buffers<'_>),
    bundle_blocks: usize,
    strands: &mut [&mut Strand<'_>],
    blocks: usize,
) {
    let mut states = Tile::new();
    let states = states.bytes_mut().as_chunks_mut().0;
    let mut stage = Box::new(Stage::<SIDE_BY_SIDE, STEPS>::new());
    for strands in strands.chunks_mut(SIDE_BY_SIDE) {
        let states = &mut states[..strands.len().next_multiple_of(bundle_blocks)];
        for (state, strand) in states.iter_mut().zip(&*strands) {
            *state = strand.state;
        }
        for first in (0..blocks).step_by(STEPS) {
            let (at, steps) = (first * BLOCK_BYTES, STEPS.min(blocks - first));
            for (lane, strand) in strands.iter().enumerate() {
                stage.fill(lane, &strand.data.input()[at..]);
            }
            for step in 0..steps {
                step_by_blocks(rule, cipher, states, stage.step(step));
            }
            if rule.writes() {
                for (lane, strand) in strands.iter_mut().enumerate() {
                    stage.drain(lane, &mut strand.data.output_mut()[at..][..steps * BLOCK_BYTES]);
                }
            }
        }
        for (state, strand) in states.iter().zip(strands) {
            strand.state = *state;
        }
    }
}

/// One step of every chain; inputs are replaced by outputs.
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
