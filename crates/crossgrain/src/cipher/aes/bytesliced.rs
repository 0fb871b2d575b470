//! Byte-sliced AES. Word `i` holds byte `i` of the state of every block in a bundle.
//!
//! ShiftRows moves no data: it renumbers words, and `Tile::phase` counts how often. This file has the single
//! steps and rounds that the planner may choose, and the rounds of CTR after `head`. Whole-cipher kernels are
//! generated from the cipher's description (`cipher::derived::kernels`).
//!
//! Layout: `Repr::Bytesliced`.
//! Needs `ByteLanes` and a `Substitution`, the form of substitution.
//! Source: FIPS 197.
//! Invariant: a `Substitution` may omit constants of the S-box. Whole ciphers fold them into round keys; single
//! steps add them.

use std::fmt;

use zeroize::Zeroizing;

use super::description::{Aes, mix_column};
use super::head::{self, CachedCount, Start};
use super::key::RoundKeys;
use super::steps::Part;
use crate::arch::{ByteLanes, Isa, Kernel, TILE_BYTES, Tile, each, eight};
use crate::block::{Block, Direction};
use crate::cipher::derived::kernels::BytesOnLanes;
use crate::cipher::folded::FoldedConstants;
use crate::cipher::sliced::{Forms, Lanes};
use crate::cipher::substitution::Substitution;
use crate::cipher::{Bytes as _, Description as _};
use crate::kernel::TilePart;
use crate::layout::convert::{BlocksToGroups, ByteGroup, Load};
use crate::layout::repr::shifted;

/// The state of a bundle: byte i of every block at index i.
type State<W> = [[W; 1]; 16];

/// A round key with each byte repeated eight times.
type ByteKey = [u64; 16];

/// A step or a middle round, with its round key in this form.
pub struct Step<W: ByteLanes, Y: Substitution<W>> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    forms: Forms<W, Y>,
    key: Zeroizing<ByteKey>,
    lacks: FoldedConstants,
}

impl<W: ByteLanes, Y: Substitution<W>> Step<W, Y> {
    /// A step or a round with the key of `round`. `None` if this form of substitution cannot compute the
    /// S-boxes.
    pub fn new(
        isa: W::Isa,
        part: Part,
        direction: Direction,
        keys: &RoundKeys,
        round: usize,
    ) -> Option<Self> {
        let key = Zeroizing::new(keys.blocks()[round].map(eight));
        let lacks = Y::lacks(&Aes::BOXES[direction as usize]);
        Some(Self { isa, part, direction, forms: Forms::of::<Aes>()?, key, lacks })
    }

    #[inline(always)]
    fn add_round_key(&self, s: Lanes<'_, Aes, W, Y, 1>, state: State<W>) -> State<W> {
        each!(i < 16 => s.add_key(state[i], &self.key[i]))
    }

    #[inline(always)]
    fn sub_bytes<const INVERSE: bool>(&self, s: Lanes<'_, Aes, W, Y, 1>, state: State<W>) -> State<W> {
        let [input, output] = [self.lacks.input, self.lacks.output].map(eight);
        each!(i < 16 => s.add_key(s.substitute_sum(state[i], &input, INVERSE as usize), &output))
    }

    /// Computes any part except ShiftRows, which is a renaming.
    #[inline(always)]
    fn on_state<const INVERSE: bool>(&self, state: State<W>) -> State<W> {
        let s = Lanes::<Aes, W, Y, 1>::new(self.isa, &self.forms);
        match self.part.in_table() {
            Part::AddRoundKey => self.add_round_key(s, state),
            Part::SubBytes => self.sub_bytes::<INVERSE>(s, state),
            Part::MixColumns => mix_columns::<W, Y, INVERSE>(s, state),
            Part::Round if INVERSE => {
                let mixed = mix_columns::<W, Y, INVERSE>(s, self.add_round_key(s, state));
                self.sub_bytes::<INVERSE>(s, each!(i < 16 => mixed[shifted(i, 3)]))
            }
            Part::Round => {
                let substituted = self.sub_bytes::<INVERSE>(s, state);
                let shifted = each!(i < 16 => substituted[shifted(i, 1)]);
                self.add_round_key(s, mix_columns::<W, Y, INVERSE>(s, shifted))
            }
            Part::ShiftRows | Part::Cipher => state,
        }
    }
}

#[inline(always)]
fn mix_columns<W: ByteLanes, Y: Substitution<W>, const INVERSE: bool>(
    s: Lanes<'_, Aes, W, Y, 1>,
    mut state: State<W>,
) -> State<W> {
    for column in state.as_chunks_mut::<4>().0 {
        *column = mix_column::<_, INVERSE>(s, *column);
    }
    state
}

impl<W: ByteLanes, Y: Substitution<W>> fmt::Debug for Step<W, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytesliced::{}({} bits)", self.part.planned().name(self.direction), W::BITS)
    }
}

struct StepOnTile<'a, W: ByteLanes, Y: Substitution<W>>(&'a Step<W, Y>, &'a mut Tile, usize);

impl<W: ByteLanes, Y: Substitution<W>> Kernel for StepOnTile<'_, W, Y> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(step, tile, blocks) = self;
        let phase = usize::from(tile.phase);
        let places: [usize; 16] = each!(i < 16 => shifted(i, phase));
        for bundle in 0..blocks * 8 / W::BITS {
            let words = tile.bundle_mut::<W, 16>(step.isa, bundle);
            let state = each!(i < 16 => [words[places[i]]]);
            let state = match step.direction {
                Direction::Encrypt => step.on_state::<false>(state),
                Direction::Decrypt => step.on_state::<true>(state),
            };
            for i in 0..16 {
                [words[places[i]]] = state[i];
            }
        }
    }
}

impl<W: ByteLanes, Y: Substitution<W>> TilePart for Step<W, Y> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        if self.part == Part::ShiftRows {
            tile.phase = self.part.phase_after(self.direction, usize::from(tile.phase)) as u8;
        } else {
            self.isa.enter(StepOnTile::<W, Y>(self, tile, blocks));
        }
    }
}

/// Encryption from round 3 on, for counter blocks whose first two rounds come from `head`.
#[derive(Debug)]
pub struct Tail<W: ByteLanes, Y: Substitution<W>>(BytesOnLanes<Aes, W, Y, 1>);

impl<W: ByteLanes, Y: Substitution<W>> Tail<W, Y> {
    /// The keystream of CTR with an expanded key. `None` if this form of substitution cannot compute the
    /// S-boxes.
    pub fn cached_counter(isa: W::Isa, keys: &RoundKeys) -> Option<CachedCount<Self>> {
        // The key of round 2 has already been added.
        let mut rest = Zeroizing::new(keys.blocks()[2..].to_vec());
        rest[0] = [0; 16];
        let tail = BytesOnLanes::new(isa, Direction::Encrypt, rest.as_flattened())?;
        Some(CachedCount::with(keys, Self(tail)))
    }
}

impl<W: ByteLanes, Y: Substitution<W>> head::Tail for Tail<W, Y> {
    const BUNDLE_BLOCKS: usize = W::BYTES;
    const WORD_BYTES: usize = W::BYTES;

    fn load(&self, blocks: &[u8; TILE_BYTES], tile: &mut Tile, scratch: &mut Tile) {
        BlocksToGroups::<W, ByteGroup, 16>::new(self.0.isa()).load(blocks, tile, scratch);
    }

    fn run(&self, start: &Start<'_>, tile: &mut Tile, blocks: usize) {
        self.0.isa().enter(TailOnTile(self, start, tile, blocks));
    }
}

struct TailOnTile<'a, W: ByteLanes, Y: Substitution<W>>(&'a Tail<W, Y>, &'a Start<'a>, &'a mut Tile, usize);

impl<W: ByteLanes, Y: Substitution<W>> Kernel for TailOnTile<'_, W, Y> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(Tail(rounds), start, tile, blocks) = self;
        let isa = rounds.isa();
        // The bundles of a tile begin in at most three groups.
        let groups: [Block; 4] = each!(i < 4 => *start.groups.block(start.group + i));
        let groups: [ByteKey; 4] = groups.map(|group| group.map(eight));
        let changes: [ByteKey; 3] = each!(i < 3 => each!(byte < 16 => groups[i][byte] ^ groups[i + 1][byte]));
        tile.phase = 0;
        for bundle in 0..blocks / W::BYTES {
            let column_0 = start.column_0.bundle::<W, 16>(isa, bundle);
            let later: W = start.later(isa, 0, bundle);
            let group = start.group_of(bundle * W::BYTES) - start.group;
            let (here, change) = (&groups[group], &changes[group]);
            let state = each!(i < 16 => {
                [column_0[i] ^ W::splat(isa, here[i]) ^ (later & W::splat(isa, change[i]))]
            });
            let state = rounds.on_state(Direction::Encrypt, state);
            *tile.bundle_mut(isa, bundle) = each!(i < 16 => state[i][0]);
        }
    }
}
