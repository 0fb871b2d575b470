//! AES between the grains: word i holds byte i of the state of every block of the bundle.
//!
//! Layout: `Repr::Bytesliced`; ShiftRows only counts (`Tile::phase`). A word is computed on as bytes: the
//! S-box in one of the ways of `substitute`, MixColumns by sums and doublings.
//! Needs: `ByteLanes` and a `Substitute`. Source: FIPS 197.
//! Holds: a way of doubling may add a constant d to every byte. MixColumns then adds d, and InvMixColumns
//! 2·d; rounds have that made good by their round key, which passes either unchanged.

use std::fmt;
use std::marker::PhantomData;

use zeroize::Zeroize;

use super::Part;
use super::head::{self, Start, Walk};
use super::key::RoundKeys;
use super::substitute::Substitute;
use crate::block::{Block, Direction};
use crate::convert::{BlocksToGroups, ByteGroup, Load};
use crate::part::TilePart;
use crate::repr::shifted;
use crate::word::{ByteLanes, Isa, Kernel, TILE_BYTES, Tile, each, unrolled};

type State<W> = [W; 16];

/// A round key, each of its bytes eight times.
type ByteKey = [u64; 16];

/// The parts that a kernel computes, with their round keys in this shape. Wiped when dropped.
pub struct Bytes<W: ByteLanes, S> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    keys: Vec<ByteKey>,
    way: PhantomData<fn() -> S>,
}

impl<W: ByteLanes, S: Substitute<W>> Bytes<W, S> {
    /// A step, a round, or the whole cipher, with the key of `round` or all keys.
    pub fn new(isa: W::Isa, part: Part, direction: Direction, keys: &RoundKeys, round: usize) -> Self {
        let made_good = mixing_adds::<W, S>(direction);
        let last = keys.rounds();
        let keys = match part {
            Part::Cipher => {
                let constant = |i| if i == 0 || i == last { 0 } else { made_good };
                keys.blocks().iter().enumerate().map(|(i, key)| byte_key(key, constant(i))).collect()
            }
            Part::Round => vec![byte_key(&keys.blocks()[round], made_good)],
            _ => vec![byte_key(&keys.blocks()[round], 0)],
        };
        Self { isa, part, direction, keys, way: PhantomData }
    }
}

/// What MixColumns or its inverse adds to every byte.
pub(super) const fn mixing_adds<W: ByteLanes, S: Substitute<W>>(direction: Direction) -> u8 {
    match direction {
        Direction::Encrypt => S::DOUBLE_ADDS,
        Direction::Decrypt => S::DOUBLE_ADDS << 1,
    }
}

fn byte_key(key: &Block, constant: u8) -> ByteKey {
    key.map(|byte| u64::from_ne_bytes([byte ^ constant; 8]))
}

impl<W: ByteLanes, S> Drop for Bytes<W, S> {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().zeroize();
    }
}

impl<W: ByteLanes, S> fmt::Debug for Bytes<W, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytesliced::{}({} bits)", self.part.name(self.direction), W::BITS)
    }
}

/// One kernel's constants.
#[derive(Clone, Copy)]
struct Rounds<W: ByteLanes, S> {
    isa: W::Isa,
    substitute: S,
    direction: Direction,
}

impl<W: ByteLanes, S: Substitute<W>> Rounds<W, S> {
    #[inline(always)]
    fn add_round_key(&self, state: State<W>, key: &ByteKey) -> State<W> {
        each!(i < 16 => state[i] ^ W::splat(self.isa, key[i]))
    }

    #[inline(always)]
    fn sub_bytes(&self, state: State<W>) -> State<W> {
        each!(i < 16 => self.substitute.substitute(self.isa, state[i]))
    }

    #[inline(always)]
    fn shift_rows(&self, state: State<W>) -> State<W> {
        let phase = if self.direction == Direction::Encrypt { 1 } else { 3 };
        each!(i < 16 => state[shifted(i, phase)])
    }

    /// MixColumns or its inverse, plus what `mixing_adds` says: column by column, so that few words live.
    #[inline(always)]
    fn mix_columns(&self, state: State<W>) -> State<W> {
        let mut mixed = state;
        unrolled!(column in [0 1 2 3] {
            let at = 4 * column;
            let rows = self.mix_column([state[at], state[at + 1], state[at + 2], state[at + 3]]);
            [mixed[at], mixed[at + 1], mixed[at + 2], mixed[at + 3]] = rows;
        });
        mixed
    }

    #[inline(always)]
    fn mix_column(&self, a: [W; 4]) -> [W; 4] {
        match self.direction {
            Direction::Encrypt => mix_column(self.isa, self.substitute, a),
            Direction::Decrypt => inv_mix_column(self.isa, self.substitute, a),
        }
    }

    #[inline(always)]
    fn round(&self, state: State<W>, key: &ByteKey) -> State<W> {
        match self.direction {
            Direction::Encrypt => {
                self.add_round_key(self.mix_columns(self.shift_rows(self.sub_bytes(state))), key)
            }
            Direction::Decrypt => {
                self.sub_bytes(self.shift_rows(self.mix_columns(self.add_round_key(state, key))))
            }
        }
    }

    #[inline(always)]
    fn cipher(&self, mut state: State<W>, keys: &[ByteKey]) -> State<W> {
        let last = keys.len() - 1;
        match self.direction {
            Direction::Encrypt => {
                state = self.add_round_key(state, &keys[0]);
                self.encrypt_rounds(state, &keys[1..])
            }
            Direction::Decrypt => {
                state = self.sub_bytes(self.shift_rows(self.add_round_key(state, &keys[last])));
                for key in keys[1..last].iter().rev() {
                    state = self.round(state, key);
                }
                self.add_round_key(state, &keys[0])
            }
        }
    }

    /// The last rounds of the cipher, one for each key.
    #[inline(always)]
    fn encrypt_rounds(&self, mut state: State<W>, keys: &[ByteKey]) -> State<W> {
        let last = keys.len() - 1;
        for key in &keys[..last] {
            state = self.round(state, key);
        }
        self.add_round_key(self.shift_rows(self.sub_bytes(state)), &keys[last])
    }

    /// Anything but ShiftRows alone, which is renaming.
    #[inline(always)]
    fn part(&self, part: Part, state: State<W>, keys: &[ByteKey]) -> State<W> {
        match part {
            Part::AddRoundKey => self.add_round_key(state, &keys[0]),
            Part::SubBytes => self.sub_bytes(state),
            Part::ShiftRows => state,
            Part::MixColumns => {
                let adds = W::splat(self.isa, u64::from_ne_bytes([mixing_adds::<W, S>(self.direction); 8]));
                let mixed = self.mix_columns(state);
                each!(i < 16 => mixed[i] ^ adds)
            }
            Part::Round => self.round(state, &keys[0]),
            Part::Cipher => self.cipher(state, keys),
        }
    }
}

/// MixColumns on a column, plus what doubling adds.
#[inline(always)]
pub(super) fn mix_column<W: ByteLanes, S: Substitute<W>>(isa: W::Isa, substitute: S, a: [W; 4]) -> [W; 4] {
    let u: [W; 4] = each!(row < 4 => a[row] ^ a[(row + 1) % 4]);
    each!(row < 4 => substitute.double(isa, u[row]) ^ a[(row + 1) % 4] ^ u[(row + 2) % 4])
}

/// InvMixColumns on a column, plus what doublings add.
#[inline(always)]
pub(super) fn inv_mix_column<W: ByteLanes, S: Substitute<W>>(
    isa: W::Isa,
    substitute: S,
    a: [W; 4],
) -> [W; 4] {
    let even = substitute.double(isa, substitute.double(isa, a[0] ^ a[2]));
    let odd = substitute.double(isa, substitute.double(isa, a[1] ^ a[3]));
    mix_column(isa, substitute, [a[0] ^ even, a[1] ^ odd, a[2] ^ even, a[3] ^ odd])
}

struct BytesOnTile<'a, W: ByteLanes, S>(&'a Bytes<W, S>, &'a mut Tile, usize);

impl<W: ByteLanes, S: Substitute<W>> Kernel for BytesOnTile<'_, W, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&Bytes { isa, part, direction, ref keys, .. }, tile, blocks) = self;
        let substitute = S::new(isa, direction == Direction::Decrypt);
        let rounds = Rounds::<W, S> { isa, substitute, direction };
        let phase = usize::from(tile.phase);
        if part == Part::ShiftRows {
            tile.phase = part.phase_after(direction, phase) as u8;
            return;
        }
        let places: [usize; 16] = each!(i < 16 => shifted(i, phase));
        for bundle in 0..blocks * 8 / W::BITS {
            let words = tile.bundle_mut::<W, 16>(isa, bundle);
            let state: State<W> = each!(i < 16 => words[places[i]]);
            let state = rounds.part(part, state, keys);
            for i in 0..16 {
                words[places[i]] = state[i];
            }
        }
    }
}

impl<W: ByteLanes, S: Substitute<W>> TilePart for Bytes<W, S> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(BytesOnTile::<W, S>(self, tile, blocks));
    }
}

/// Encryption from round 3 on, of counter blocks whose first two rounds `head` has done.
#[derive(Debug)]
pub struct Tail<W: ByteLanes, S>(Bytes<W, S>);

impl<W: ByteLanes, S: Substitute<W>> Tail<W, S> {
    /// CTR's keystream with an expanded key.
    pub fn walk(isa: W::Isa, keys: &RoundKeys) -> Walk<Self> {
        Walk::with(keys, Self(Bytes::new(isa, Part::Cipher, Direction::Encrypt, keys, 0)))
    }
}

impl<W: ByteLanes, S: Substitute<W>> head::Tail for Tail<W, S> {
    const BUNDLE_BLOCKS: usize = W::BYTES;
    const WORD_BYTES: usize = W::BYTES;

    fn load(&self, blocks: &[u8; TILE_BYTES], tile: &mut Tile, scratch: &mut Tile) {
        BlocksToGroups::<W, ByteGroup, 16>::new(self.0.isa).load(blocks, tile, scratch);
    }

    fn run(&self, start: &Start<'_>, tile: &mut Tile, blocks: usize) {
        self.0.isa.enter(TailOnTile(self, start, tile, blocks));
    }
}

struct TailOnTile<'a, W: ByteLanes, S>(&'a Tail<W, S>, &'a Start<'a>, &'a mut Tile, usize);

impl<W: ByteLanes, S: Substitute<W>> Kernel for TailOnTile<'_, W, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&Tail(Bytes { isa, ref keys, .. }), start, tile, blocks) = self;
        let direction = Direction::Encrypt;
        let rounds = Rounds::<W, S> { isa, substitute: S::new(isa, false), direction };
        // A tile's bundles begin in three groups at most.
        let groups: [ByteKey; 4] = each!(i < 4 => byte_key(start.groups.block(start.group + i), 0));
        let changes: [ByteKey; 3] = each!(i < 3 => each!(byte < 16 => groups[i][byte] ^ groups[i + 1][byte]));
        tile.phase = 0;
        for bundle in 0..blocks / W::BYTES {
            let column_0 = start.column_0.bundle::<W, 16>(isa, bundle);
            let later: W = start.later(isa, 0, bundle);
            let group = start.group_of(bundle * W::BYTES) - start.group;
            let (here, change) = (&groups[group], &changes[group]);
            let state: State<W> = each!(i < 16 => {
                column_0[i] ^ W::splat(isa, here[i]) ^ (later & W::splat(isa, change[i]))
            });
            *tile.bundle_mut(isa, bundle) = rounds.encrypt_rounds(state, &keys[3..]);
        }
    }
}
