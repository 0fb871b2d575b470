//! Bit-sliced AES. Word `8·byte + bit` holds that bit of every block in a bundle.
//!
//! ShiftRows moves no data: `Tile::phase` counts it, and `layout::repr::shifted` gives the current place of a
//! byte. After ShiftRows, a column consists of four bytes that only its own S-boxes and MixColumns use. A
//! round therefore works in place, one column (32 words) at a time.
//!
//! The functions of the whole cipher are generic over the number of words: 128 for AES, more for Rijndael
//! with wider blocks (`cipher::rijndael`). The fused cipher leaves the S-box constant to its round keys
//! (`BitKeys::folded`). Single steps add it, because a plan may continue with a part in another
//! representation.
//!
//! Layout: `Repr::Bitsliced`.
//! Needs any `Register`.
//! Source: FIPS 197; Biham, "A fast new DES implementation in software" (1997).

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::head::{self, CachedCount, GROUP_BLOCKS, Start};
use super::key::RoundKeys;
use super::linear_circuit::{add, inv_mix_column, mix_bit, mix_column, neighbours};
use super::steps::Part;
use crate::arch::{Isa, Kernel, Register, TILE_BYTES, TILE_WORDS, Tile, each, unrolled};
use crate::block::Direction;
use crate::circuit::{Bits, aes_sbox};
use crate::kernel::TilePart;
use crate::layout::convert::{BlocksToBits, Load, Network};
use crate::layout::repr::{shifted, shifted_among};

type State<W> = [W; TILE_WORDS];

/// A bit-sliced round key: bit `8·byte + bit` as a pattern of 64 equal bits, to be broadcast to words of any
/// width.
pub(super) type BitKey = [u64; TILE_WORDS];

/// Consecutive bit-sliced round keys, for a state of `WORDS` words. Wiped when dropped.
pub struct BitKeys<const WORDS: usize = TILE_WORDS>(Vec<[u64; WORDS]>);

impl BitKeys {
    /// Only round key `round`, unchanged.
    fn plain(keys: &RoundKeys, round: usize) -> Self {
        Self(vec![spread(&keys.blocks()[round], 0)])
    }

    /// Only round key `round`, plus the constant of its round's S-boxes.
    ///
    /// In encryption, the omitted constant passes MixColumns unchanged, because the rows of the matrix sum to
    /// one. The key that follows includes it. In decryption, the key adds the constant before the next
    /// S-boxes.
    fn folded(keys: &RoundKeys, round: usize) -> Self {
        Self(vec![spread(&keys.blocks()[round], aes_sbox::CONSTANT)])
    }
}

impl<const WORDS: usize> BitKeys<WORDS> {
    /// All round keys, with the constant of the S-boxes in all except key 0.
    pub(crate) fn all_folded<const BYTES: usize>(keys: &RoundKeys<BYTES>) -> Self {
        let constant = |round| if round == 0 { 0 } else { aes_sbox::CONSTANT };
        let blocks = keys.blocks().iter().enumerate();
        Self(blocks.map(|(round, block)| spread(block, constant(round))).collect())
    }

    /// The number of the last of these keys.
    const fn last(&self) -> usize {
        self.0.len() - 1
    }
}

/// All round keys, folded, as words of 32 equal bits for programs on 32-bit lanes.
pub(crate) fn key_words(keys: &RoundKeys) -> Zeroizing<Vec<u32>> {
    let keys = BitKeys::<128>::all_folded(keys);
    Zeroizing::new(keys.0.as_flattened().iter().map(|&pattern| pattern as u32).collect())
}

fn spread<const BYTES: usize, const WORDS: usize>(block: &[u8; BYTES], constant: u8) -> [u64; WORDS] {
    const { assert!(WORDS == 8 * BYTES) };
    std::array::from_fn(|index| {
        let bit = (block[index / 8] ^ constant) >> (index % 8) & 1;
        0_u64.wrapping_sub(u64::from(bit))
    })
}

impl<const WORDS: usize> Drop for BitKeys<WORDS> {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

impl<const WORDS: usize> fmt::Debug for BitKeys<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitKeys(up to {}, secret)", self.last())
    }
}

#[inline(always)]
pub(super) fn byte<W: Register, const WORDS: usize>(state: &[W; WORDS], place: usize) -> Bits<W> {
    each!(bit < 8 => state[8 * place + bit])
}

#[inline(always)]
pub(super) fn set_byte<W: Register, const WORDS: usize>(state: &mut [W; WORDS], place: usize, bits: Bits<W>) {
    state[8 * place..][..8].copy_from_slice(&bits);
}

/// The places of a column's four rows.
#[inline(always)]
fn column_places(column: usize, phase: usize) -> [usize; 4] {
    places_among(4, column, phase)
}

/// The same for a state of `columns` columns.
#[inline(always)]
fn places_among(columns: usize, column: usize, phase: usize) -> [usize; 4] {
    each!(row < 4 => shifted_among(columns, 4 * column + row, phase))
}

#[inline(always)]
fn column<W: Register>(state: &State<W>, places: [usize; 4]) -> [Bits<W>; 4] {
    each!(row < 4 => byte(state, places[row]))
}

#[inline(always)]
fn key_byte<W: Register, const WORDS: usize>(isa: W::Isa, key: &[u64; WORDS], byte: usize) -> Bits<W> {
    each!(bit < 8 => W::splat(isa, key[8 * byte + bit]))
}

/// A byte in every lane.
#[inline(always)]
pub(super) fn spread_byte<W: Register>(isa: W::Isa, byte: u8) -> Bits<W> {
    each!(bit < 8 => W::splat(isa, 0_u64.wrapping_sub(u64::from(byte >> bit & 1))))
}

/// SubBytes on one byte without its constant; see `circuit::aes_sbox`.
#[inline(always)]
fn sub_byte<W: Register>(direction: Direction, bits: Bits<W>) -> Bits<W> {
    match direction {
        Direction::Encrypt => aes_sbox::forward(bits),
        Direction::Decrypt => aes_sbox::inverse(bits),
    }
}

/// AddRoundKey, which is its own inverse.
#[inline(always)]
fn add_round_key<W: Register, const WORDS: usize>(
    isa: W::Isa,
    state: &mut [W; WORDS],
    key: &[u64; WORDS],
    phase: usize,
) {
    for index in 0..WORDS / 8 {
        let place = shifted_among(WORDS / 32, index, phase);
        set_byte(state, place, add(byte(state, place), key_byte(isa, key, index)));
    }
}

/// SubBytes of all bytes without the constant. The phase does not matter.
#[inline(always)]
fn sub_bytes_unfinished<W: Register, const WORDS: usize>(direction: Direction, state: &mut [W; WORDS]) {
    for place in 0..WORDS / 8 {
        set_byte(state, place, sub_byte(direction, byte(state, place)));
    }
}

#[inline(always)]
fn add_constant<W: Register>(state: &mut State<W>) {
    for place in 0..16 {
        for bit in (0..8).filter(|bit| aes_sbox::CONSTANT >> bit & 1 == 1) {
            state[8 * place + bit] = !state[8 * place + bit];
        }
    }
}

/// A middle round of encryption from `phase` on: SubBytes, ShiftRows, MixColumns, AddRoundKey.
#[inline(always)]
fn encrypt_round<W: Register, const WORDS: usize>(
    isa: W::Isa,
    state: &mut [W; WORDS],
    key: &[u64; WORDS],
    phase: usize,
) {
    sub_bytes_unfinished(Direction::Encrypt, state);
    for index in 0..WORDS / 32 {
        mix_column_and_add(isa, state, places_among(WORDS / 32, index, phase + 1), key, index);
    }
}

/// One bit of the four rows of a column.
#[inline(always)]
fn rows<W: Register, const WORDS: usize>(state: &[W; WORDS], places: [usize; 4], bit: usize) -> [W; 4] {
    each!(row < 4 => state[8 * places[row] + bit])
}

/// MixColumns and AddRoundKey on one column, bit by bit, so that few words are live and none is spilled.
#[inline(always)]
fn mix_column_and_add<W: Register, const WORDS: usize>(
    isa: W::Isa,
    state: &mut [W; WORDS],
    places: [usize; 4],
    key: &[u64; WORDS],
    index: usize,
) {
    let top = neighbours(rows(state, places, 7));
    let mut below = top;
    unrolled!(bit in [0 1 2 3 4 5 6 7] {
        let a = rows(state, places, bit);
        let same = neighbours(a);
        let mixed = mix_bit(bit, a, same, below, top);
        for row in 0..4 {
            let key = W::splat(isa, key[8 * (4 * index + row) + bit]);
            state[8 * places[row] + bit] = mixed[row] ^ key;
        }
        below = same;
    });
    let _ = below;
}

/// A middle round of the inverse cipher: AddRoundKey, InvMixColumns, InvShiftRows, InvSubBytes.
#[inline(always)]
fn decrypt_round<W: Register, const WORDS: usize>(
    isa: W::Isa,
    state: &mut [W; WORDS],
    key: &[u64; WORDS],
    phase: usize,
) {
    for index in 0..WORDS / 32 {
        let places = places_among(WORDS / 32, index, phase);
        let keyed: [Bits<W>; 4] =
            each!(row < 4 => add(byte(state, places[row]), key_byte(isa, key, 4 * index + row)));
        let mixed = inv_mix_column(keyed);
        for row in 0..4 {
            set_byte(state, places[row], mixed[row]);
        }
    }
    sub_bytes_unfinished(Direction::Decrypt, state);
}

/// The whole cipher on one bundle, with fused rounds.
#[derive(Debug)]
pub struct Cipher<W: Register> {
    isa: W::Isa,
    direction: Direction,
    keys: BitKeys,
}

impl<W: Register> Cipher<W> {
    /// The cipher in one direction.
    pub fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        Self { isa, direction, keys: BitKeys::all_folded(keys) }
    }
}

struct EncryptTile<'a, W: Register>(W::Isa, &'a BitKeys, &'a mut Tile, usize);

impl<W: Register> Kernel for EncryptTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, keys, tile, blocks) = self;
        let phase = usize::from(tile.phase);
        for bundle in 0..blocks / W::BITS {
            encrypt(isa, tile.bundle_mut::<W, TILE_WORDS>(isa, bundle), keys, phase);
        }
        tile.phase = ((phase + keys.last()) % 4) as u8;
    }
}

/// The whole cipher on a state at `phase`. Returns the new phase.
#[inline(always)]
pub(crate) fn encrypt<W: Register, const WORDS: usize>(
    isa: W::Isa,
    state: &mut [W; WORDS],
    keys: &BitKeys<WORDS>,
    phase: usize,
) -> usize {
    add_round_key(isa, state, &keys.0[0], phase);
    let phase = encrypt_middle(isa, state, keys, 1, phase);
    sub_bytes_unfinished(Direction::Encrypt, state);
    add_round_key(isa, state, &keys.0[keys.last()], phase + 1);
    (phase + 1) % (WORDS / 32)
}

/// The whole inverse cipher on a state at `phase`. Returns the new phase.
#[inline(always)]
pub(crate) fn decrypt<W: Register, const WORDS: usize>(
    isa: W::Isa,
    state: &mut [W; WORDS],
    keys: &BitKeys<WORDS>,
    mut phase: usize,
) -> usize {
    let (last, columns) = (keys.last(), WORDS / 32);
    add_round_key(isa, state, &keys.0[last], phase);
    sub_bytes_unfinished(Direction::Decrypt, state);
    for round in (1..last).rev() {
        phase = (phase + columns - 1) % columns;
        decrypt_round(isa, state, &keys.0[round], phase);
    }
    phase = (phase + columns - 1) % columns;
    add_round_key(isa, state, &keys.0[0], phase);
    phase
}

/// Rounds `from` to the last but one. Returns the new phase.
#[inline(always)]
fn encrypt_middle<W: Register, const WORDS: usize>(
    isa: W::Isa,
    state: &mut [W; WORDS],
    keys: &BitKeys<WORDS>,
    from: usize,
    mut phase: usize,
) -> usize {
    for key in &keys.0[from..keys.last()] {
        encrypt_round(isa, state, key, phase);
        phase = (phase + 1) % (WORDS / 32);
    }
    phase
}

/// Rounds 1 and 2 and the addition of key 2, for a state at phase 0, as if column 0 were zero after the
/// S-boxes of round 2. The new phase is 2.
#[inline(always)]
pub(super) fn two_rounds_without_column_0<W: Register>(isa: W::Isa, state: &mut State<W>, keys: &BitKeys) {
    add_round_key(isa, state, &keys.0[0], 0);
    encrypt_round(isa, state, &keys.0[1], 0);
    sub_bytes_unfinished(Direction::Encrypt, state);
    for place in column_places(0, 1) {
        set_byte(state, place, spread_byte(isa, 0));
    }
    for index in 0..4 {
        mix_column_and_add(isa, state, column_places(index, 2), &keys.0[2], index);
    }
}

/// Encryption from round 3 on, for counter blocks whose first two rounds come from `head`.
#[derive(Debug)]
pub struct Tail<W: Register> {
    isa: W::Isa,
    /// The last key is ordered by the final places of the bytes, because it is added together with the last
    /// S-boxes.
    keys: BitKeys,
}

impl<W: Register> Tail<W> {
    /// The keystream of CTR with an expanded key.
    pub fn cached_counter(isa: W::Isa, keys: &RoundKeys) -> CachedCount<Self> {
        let mut bits = BitKeys::all_folded(keys);
        let last = bits.last();
        let by_name = Zeroizing::new(bits.0[last]);
        for index in 0..16 {
            let place = shifted(index, Self::last_phase(last));
            bits.0[last][8 * place..][..8].copy_from_slice(&by_name[8 * index..][..8]);
        }
        CachedCount::with(keys, Self { isa, keys: bits })
    }

    /// The final phase: one ShiftRows for each round from round 3 on.
    const fn last_phase(last: usize) -> usize {
        (last - 2) % 4
    }
}

impl<W: Register> head::Tail for Tail<W> {
    const BUNDLE_BLOCKS: usize = W::BITS;
    const WORD_BYTES: usize = W::BYTES;

    fn load(&self, blocks: &[u8; TILE_BYTES], tile: &mut Tile, scratch: &mut Tile) {
        BlocksToBits::<W, Network>::new(self.isa).load(blocks, tile, scratch);
    }

    fn run(&self, start: &Start<'_>, tile: &mut Tile, blocks: usize) {
        self.isa.enter(TailOnTile(self, start, tile, blocks));
    }
}

struct TailOnTile<'a, W: Register>(&'a Tail<W>, &'a Start<'a>, &'a mut Tile, usize);

impl<W: Register> Kernel for TailOnTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&Tail { isa, ref keys }, start, tile, blocks) = self;
        for bundle in 0..blocks / W::BITS {
            let state = tile.bundle_mut::<W, TILE_WORDS>(isa, bundle);
            sub_bytes_of_sum(isa, state, start, bundle);
            for index in 0..4 {
                mix_column_and_add(isa, state, column_places(index, 1), &keys.0[3], index);
            }
            encrypt_middle(isa, state, keys, 4, 1);
            let last = &keys.0[keys.last()];
            for place in 0..16 {
                let sub = aes_sbox::forward(byte(state, place));
                set_byte(state, place, add(sub, key_byte(isa, last, place)));
            }
        }
        tile.phase = Tail::<W>::last_phase(keys.last()) as u8;
    }
}

/// SubBytes of the state after round 2, which is the sum of the summands in `start`.
#[inline(always)]
fn sub_bytes_of_sum<W: Register>(isa: W::Isa, state: &mut State<W>, start: &Start<'_>, bundle: usize) {
    let column_0 = start.column_0.bundle::<W, TILE_WORDS>(isa, bundle);
    let later: [W; 2] = each!(more < 2 => start.later(isa, more, bundle));
    let group = start.group_of(bundle * W::BITS);
    let [first, mut change, mut change_again] = each!(i < 3 => start.groups.patterns(group + i));
    for index in 0..TILE_WORDS {
        change_again[index] ^= change[index];
        change[index] ^= first[index];
    }
    for place in 0..16 {
        let at = 8 * place;
        let mut bits: Bits<W> = each!(bit < 8 => {
            column_0[at + bit] ^ W::splat(isa, first[at + bit]) ^ (later[0] & W::splat(isa, change[at + bit]))
        });
        if W::BITS > GROUP_BLOCKS {
            bits = each!(bit < 8 => bits[bit] ^ (later[1] & W::splat(isa, change_again[at + bit])));
        }
        set_byte(state, place, aes_sbox::forward(bits));
    }
}

struct DecryptTile<'a, W: Register>(W::Isa, &'a BitKeys, &'a mut Tile, usize);

impl<W: Register> Kernel for DecryptTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, keys, tile, blocks) = self;
        let phase = usize::from(tile.phase);
        for bundle in 0..blocks / W::BITS {
            decrypt(isa, tile.bundle_mut::<W, TILE_WORDS>(isa, bundle), keys, phase);
        }
        tile.phase = ((phase + 3 * keys.last()) % 4) as u8;
    }
}

impl<W: Register> TilePart for Cipher<W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        match self.direction {
            Direction::Encrypt => self.isa.enter(EncryptTile::<W>(self.isa, &self.keys, tile, blocks)),
            Direction::Decrypt => self.isa.enter(DecryptTile::<W>(self.isa, &self.keys, tile, blocks)),
        }
    }
}

/// One step or one fused middle round, with its round key.
#[derive(Debug)]
pub struct Step<W: Register> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    key: BitKeys,
}

impl<W: Register> Step<W> {
    /// A step or fused round of the given round; `None` for the whole cipher.
    pub fn new(
        isa: W::Isa,
        part: Part,
        direction: Direction,
        keys: &RoundKeys,
        round: usize,
    ) -> Option<Self> {
        let key = match part {
            Part::Cipher => return None,
            Part::Round => BitKeys::folded(keys, round),
            _ => BitKeys::plain(keys, round),
        };
        Some(Self { isa, part, direction, key })
    }
}

impl<W: Register> TilePart for Step<W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(StepOnTile::<W>(self, tile, blocks));
    }
}

struct StepOnTile<'a, W: Register>(&'a Step<W>, &'a mut Tile, usize);

impl<W: Register> Kernel for StepOnTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(step, tile, blocks) = self;
        let phase = usize::from(tile.phase);
        for bundle in 0..blocks / W::BITS {
            step.on_bundle(tile.bundle_mut(step.isa, bundle), phase);
        }
        tile.phase = step.part.phase_after(step.direction, phase) as u8;
    }
}

impl<W: Register> Step<W> {
    #[inline(always)]
    fn on_bundle(&self, state: &mut State<W>, phase: usize) {
        let &Self { isa, part, direction, ref key } = self;
        let key = &key.0[0];
        match (part.in_table(), direction) {
            (Part::AddRoundKey, _) => add_round_key(isa, state, key, phase),
            (Part::SubBytes, Direction::Encrypt) => {
                sub_bytes_unfinished(direction, state);
                add_constant(state);
            }
            (Part::SubBytes, Direction::Decrypt) => {
                add_constant(state);
                sub_bytes_unfinished(direction, state);
            }
            (Part::MixColumns, _) => mix_columns(direction, state, phase),
            (Part::Round, Direction::Encrypt) => encrypt_round(isa, state, key, phase),
            (Part::Round, Direction::Decrypt) => decrypt_round(isa, state, key, phase),
            (Part::ShiftRows | Part::Cipher, _) => {}
        }
    }
}

#[inline(always)]
fn mix_columns<W: Register>(direction: Direction, state: &mut State<W>, phase: usize) {
    for index in 0..4 {
        let places = column_places(index, phase);
        let mixed = match direction {
            Direction::Encrypt => mix_column(column(state, places)),
            Direction::Decrypt => inv_mix_column(column(state, places)),
        };
        for row in 0..4 {
            set_byte(state, places[row], mixed[row]);
        }
    }
}
