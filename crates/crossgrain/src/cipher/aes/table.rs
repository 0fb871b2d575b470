//! AES on bytes, with table lookups.
//!
//! Layout: `Repr::Blocks`, any number of blocks.
//! Needs no special instructions.
//! Source: FIPS 197; the T-tables of the Rijndael submission §5.2.1, which combine SubBytes and MixColumns in
//! one lookup per byte.
//!
//! The tables are read at secret places, so **SubBytes and the T-table cipher leak through the cache** and
//! are recorded as leaking. The other three steps leak nothing.

use std::fmt;
use std::sync::LazyLock;

use zeroize::Zeroizing;

use super::description::Aes;
use super::key::RoundKeys;
use super::linear_circuit;
use super::steps::Part;
use crate::arch::{Buffers, Tile};
use crate::block::{BLOCK_BYTES, Block, Direction};
use crate::cipher::Description as _;
use crate::cipher::aes::scalar;
use crate::kernel::{Source, TilePart, WholePart};

fn to_bits(byte: u8) -> [u32; 8] {
    std::array::from_fn(|bit| u32::from(byte >> bit & 1))
}

fn from_bits(bits: [u32; 8]) -> u8 {
    (0..8).fold(0, |byte, bit| byte | ((bits[bit] & 1) as u8) << bit)
}

/// The table of SubBytes or InvSubBytes.
pub(crate) const fn sub_table(direction: Direction) -> &'static [u8; 256] {
    &Aes::BOXES[direction as usize].table
}

/// The column that byte `x` of a row contributes after SubBytes and MixColumns, or their inverses.
pub(crate) type TTable = [[u32; 256]; 4];

static T: LazyLock<TTable> =
    LazyLock::new(|| t_table(sub_table(Direction::Encrypt), linear_circuit::mix_column));
static INV_T: LazyLock<TTable> =
    LazyLock::new(|| t_table(sub_table(Direction::Decrypt), linear_circuit::inv_mix_column));

/// For each row, the column that a byte contributes after SubBytes and MixColumns or their inverses. The
/// column's lowest row is in the lowest byte.
pub(crate) fn t_tables(direction: Direction) -> &'static TTable {
    match direction {
        Direction::Encrypt => &T,
        Direction::Decrypt => &INV_T,
    }
}

fn t_table(sub: &[u8; 256], mix: impl Fn([[u32; 8]; 4]) -> [[u32; 8]; 4]) -> TTable {
    std::array::from_fn(|row| {
        std::array::from_fn(|x| {
            let mut column = [[0; 8]; 4];
            column[row] = to_bits(sub[x]);
            u32::from_le_bytes(mix(column).map(from_bits))
        })
    })
}

/// The index of the byte that ShiftRows or InvShiftRows moves to `to`.
pub(crate) const fn shift_rows_from(direction: Direction, to: usize) -> usize {
    let (column, row) = (to / 4, to % 4);
    match direction {
        Direction::Encrypt => 4 * ((column + row) % 4) + row,
        Direction::Decrypt => 4 * ((column + 4 - row) % 4) + row,
    }
}

/// One step on blocks, with the round key that it may need.
pub struct Step {
    part: Part,
    direction: Direction,
    key: Zeroizing<Block>,
}

impl Step {
    /// A step of the given round; `None` if the part is not a single step.
    pub fn new(part: Part, direction: Direction, keys: &RoundKeys, round: usize) -> Option<Self> {
        let key = Zeroizing::new(keys.blocks()[round]);
        Part::STEPS.contains(&part).then_some(Self { part, direction, key })
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table::Step({})", self.part.planned().name(self.direction))
    }
}

impl TilePart for Step {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        let state = tile.front_mut(blocks * BLOCK_BYTES).as_chunks_mut::<BLOCK_BYTES>().0;
        match self.part {
            Part::AddRoundKey => {
                let key = u128::from_ne_bytes(*self.key);
                state.iter_mut().for_each(|b| *b = (u128::from_ne_bytes(*b) ^ key).to_ne_bytes());
            }
            Part::SubBytes => sub_bytes(state, self.direction),
            Part::ShiftRows => shift_rows(state, self.direction),
            _ => mix_columns(state, self.direction),
        }
    }
}

fn sub_bytes(state: &mut [Block], direction: Direction) {
    let table = sub_table(direction);
    for byte in state.as_flattened_mut() {
        *byte = table[usize::from(*byte)];
    }
}

fn shift_rows(state: &mut [Block], direction: Direction) {
    for block in state {
        *block = std::array::from_fn(|to| block[shift_rows_from(direction, to)]);
    }
}

fn mix_columns(state: &mut [Block], direction: Direction) {
    for column in state.as_flattened_mut().as_chunks_mut::<4>().0 {
        let mix = match direction {
            Direction::Encrypt => scalar::mix_column,
            Direction::Decrypt => scalar::inv_mix_column,
        };
        *column = mix(u32::from_le_bytes(*column)).to_le_bytes();
    }
}

/// The whole cipher with T-tables, one block at a time.
pub struct TCipher {
    direction: Direction,
    keys: RoundKeys,
}

impl TCipher {
    /// The cipher in one direction.
    pub fn new(direction: Direction, keys: &RoundKeys) -> Self {
        Self { direction, keys: keys.in_use(direction) }
    }

    fn block(&self, input: Block, table: &TTable, sub: &[u8; 256]) -> Block {
        let (keys, last) = (self.keys.blocks(), self.keys.rounds());
        let mut state: Block = std::array::from_fn(|i| input[i] ^ keys[0][i]);
        let from = |state: &Block, to| usize::from(state[shift_rows_from(self.direction, to)]);
        for key in &keys[1..last] {
            let mut next = *key;
            for (column, word) in next.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let sum = (0..4).fold(u32::from_le_bytes(*word), |sum, row| {
                    sum ^ table[row][from(&state, 4 * column + row)]
                });
                *word = sum.to_le_bytes();
            }
            state = next;
        }
        std::array::from_fn(|to| sub[from(&state, to)] ^ keys[last][to])
    }
}

impl fmt::Debug for TCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TCipher({:?})", self.direction)
    }
}

impl WholePart for TCipher {
    fn run(&self, source: Source<'_>, mut buffers: Buffers<'_>) {
        let table = t_tables(self.direction);
        let sub = sub_table(self.direction);
        let mut source = source;
        for at in (0..buffers.len_bytes()).step_by(BLOCK_BYTES) {
            let mut input = [0; BLOCK_BYTES];
            input.copy_from_slice(&buffers.input()[at..][..BLOCK_BYTES]);
            let (entering, added) = source.around(input);
            let result = self.block(entering, table, sub);
            source = source.after(&input);
            let output: Block = std::array::from_fn(|i| result[i] ^ added[i]);
            buffers.output_mut()[at..][..BLOCK_BYTES].copy_from_slice(&output);
        }
    }
}
