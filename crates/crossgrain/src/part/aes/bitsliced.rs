//! AES across the grain: word `8·byte + bit` holds that bit of every block of the bundle.
//!
//! Layout: `Repr::Bitsliced`; ShiftRows only counts (`Tile::phase`), and whoever names a byte next looks
//! for it where `repr::shifted` says.
//! Needs: any `Register`. Source: FIPS 197; Biham, "A fast new DES implementation in software" (1997).
//! Holds: a column after ShiftRows consists of four bytes that one S-box layer and one MixColumns take
//! to themselves, so a whole round works in place, a column at a time, on 32 words.
//! The fused cipher leaves the S-box constant to its round keys (`BitKeys::folded`); the separate parts
//! do not, since a plan may follow them with a part of another representation.

use std::fmt;
use std::marker::PhantomData;

use zeroize::Zeroize;

use super::TilePart;
use super::key::RoundKeys;
use crate::block::Direction;
use crate::circuit::aes_linear::{add, inv_mix_column, mix_column};
use crate::circuit::{Bits, aes_sbox};
use crate::repr::shifted;
use crate::word::{Isa, Kernel, Register, TILE_WORDS, Tile};

type State<W> = [W; TILE_WORDS];

/// Round keys across the grain: each bit of each key as a pattern of 64 equal bits, to be spread over
/// a word of any width. Wiped when dropped.
pub struct BitKeys(Vec<[u64; TILE_WORDS]>);

impl BitKeys {
    /// The round keys as they are.
    pub fn plain(keys: &RoundKeys) -> Self {
        Self::with_constant(keys, 0)
    }

    /// The round keys with the constant of the S-boxes between them added.
    ///
    /// Encrypting, the constant left out of round r's S-boxes passes MixColumns unchanged (its rows sum
    /// to one) and is made good by key r; decrypting, key r supplies what the next S-boxes expect.
    pub fn folded(keys: &RoundKeys) -> Self {
        Self::with_constant(keys, aes_sbox::CONSTANT)
    }

    fn with_constant(keys: &RoundKeys, constant: u8) -> Self {
        let spread = |round: usize, index: usize| {
            let byte = keys.blocks()[round][index / 8] ^ if round == 0 { 0 } else { constant };
            0_u64.wrapping_sub(u64::from(byte >> (index % 8) & 1))
        };
        let rounds = 0..=keys.rounds();
        Self(rounds.map(|round| std::array::from_fn(|index| spread(round, index))).collect())
    }

    /// Rounds of the cipher.
    pub fn rounds(&self) -> usize {
        self.0.len() - 1
    }

    /// The patterns of one round key, by `8·byte + bit`.
    pub fn round(&self, round: usize) -> &[u64; TILE_WORDS] {
        &self.0[round]
    }
}

impl Drop for BitKeys {
    fn drop(&mut self) {
        self.0.as_mut_slice().zeroize();
    }
}

impl fmt::Debug for BitKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitKeys({} rounds, secret)", self.rounds())
    }
}

#[inline(always)]
fn byte<W: Register>(state: &State<W>, place: usize) -> Bits<W> {
    std::array::from_fn(|bit| state[8 * place + bit])
}

#[inline(always)]
fn set_byte<W: Register>(state: &mut State<W>, place: usize, bits: Bits<W>) {
    state[8 * place..][..8].copy_from_slice(&bits);
}

/// Where the four rows of a column lie.
#[inline(always)]
fn column_places(column: usize, phase: usize) -> [usize; 4] {
    std::array::from_fn(|row| shifted(4 * column + row, phase))
}

#[inline(always)]
fn column<W: Register>(state: &State<W>, places: [usize; 4]) -> [Bits<W>; 4] {
    std::array::from_fn(|row| byte(state, places[row]))
}

#[inline(always)]
fn key_byte<W: Register>(isa: W::Isa, key: &[u64; TILE_WORDS], byte: usize) -> Bits<W> {
    std::array::from_fn(|bit| W::splat(isa, key[8 * byte + bit]))
}

/// SubBytes on one byte without its constant; see `circuit::aes_sbox`.
#[inline(always)]
fn sub_byte<W: Register>(direction: Direction, bits: Bits<W>) -> Bits<W> {
    match direction {
        Direction::Encrypt => aes_sbox::forward(bits),
        Direction::Decrypt => aes_sbox::inverse(bits),
    }
}

/// AddRoundKey. Adding is its own inverse.
#[inline(always)]
fn add_round_key<W: Register>(
    isa: W::Isa,
    state: &mut State<W>,
    key: &[u64; TILE_WORDS],
    phase: usize,
) {
    for index in 0..16 {
        let place = shifted(index, phase);
        set_byte(state, place, add(byte(state, place), key_byte(isa, key, index)));
    }
}

/// SubBytes of all bytes but for the constant: names do not matter.
#[inline(always)]
fn sub_bytes_unfinished<W: Register>(direction: Direction, state: &mut State<W>) {
    for place in 0..16 {
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

/// A middle round of the cipher from `phase` on: SubBytes, ShiftRows, MixColumns, AddRoundKey.
#[inline(always)]
fn encrypt_round<W: Register>(
    isa: W::Isa,
    state: &mut State<W>,
    key: &[u64; TILE_WORDS],
    phase: usize,
) {
    for index in 0..4 {
        let places = column_places(index, phase + 1);
        for place in places {
            set_byte(state, place, aes_sbox::forward(byte(state, place)));
        }
        let mixed = mix_column(column(state, places));
        for row in 0..4 {
            let key = key_byte(isa, key, 4 * index + row);
            set_byte(state, places[row], add(mixed[row], key));
        }
    }
}

/// A middle round of the inverse cipher: AddRoundKey, InvMixColumns, InvShiftRows, InvSubBytes.
#[inline(always)]
fn decrypt_round<W: Register>(
    isa: W::Isa,
    state: &mut State<W>,
    key: &[u64; TILE_WORDS],
    phase: usize,
) {
    for index in 0..4 {
        let places = column_places(index, phase);
        let keyed: [Bits<W>; 4] = std::array::from_fn(|row| {
            add(byte(state, places[row]), key_byte(isa, key, 4 * index + row))
        });
        let mixed = inv_mix_column(keyed);
        for row in 0..4 {
            set_byte(state, places[row], mixed[row]);
        }
        for place in places {
            set_byte(state, place, aes_sbox::inverse(byte(state, place)));
        }
    }
}

/// The whole cipher on one bundle, rounds fused.
#[derive(Debug)]
pub struct Cipher<W: Register> {
    isa: W::Isa,
    direction: Direction,
    keys: BitKeys,
}

impl<W: Register> Cipher<W> {
    /// The cipher in one direction.
    pub fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        Self { isa, direction, keys: BitKeys::folded(keys) }
    }
}

struct EncryptBundle<'a, W: Register>(W::Isa, &'a BitKeys, &'a mut Tile);

impl<W: Register> Kernel for EncryptBundle<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, keys, tile) = self;
        let last = keys.rounds();
        let mut phase = usize::from(tile.phase);
        tile.phase = ((phase + last) % 4) as u8;
        let state = tile.words_mut::<W>(isa);
        add_round_key(isa, state, keys.round(0), phase);
        for round in 1..last {
            encrypt_round(isa, state, keys.round(round), phase);
            phase = (phase + 1) % 4;
        }
        sub_bytes_unfinished(Direction::Encrypt, state);
        add_round_key(isa, state, keys.round(last), phase + 1);
    }
}

struct DecryptBundle<'a, W: Register>(W::Isa, &'a BitKeys, &'a mut Tile);

impl<W: Register> Kernel for DecryptBundle<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, keys, tile) = self;
        let last = keys.rounds();
        let mut phase = usize::from(tile.phase);
        tile.phase = ((phase + 3 * last) % 4) as u8;
        let state = tile.words_mut::<W>(isa);
        add_round_key(isa, state, keys.round(last), phase);
        sub_bytes_unfinished(Direction::Decrypt, state);
        for round in (1..last).rev() {
            phase = (phase + 3) % 4;
            decrypt_round(isa, state, keys.round(round), phase);
        }
        add_round_key(isa, state, keys.round(0), phase + 3);
    }
}

impl<W: Register> TilePart for Cipher<W> {
    fn run(&self, tile: &mut Tile, _blocks: usize) {
        match self.direction {
            Direction::Encrypt => self.isa.enter(EncryptBundle::<W>(self.isa, &self.keys, tile)),
            Direction::Decrypt => self.isa.enter(DecryptBundle::<W>(self.isa, &self.keys, tile)),
        }
    }
}
