//! The tweaks of XTS, which are added to each block of a sector before and after the cipher.
//!
//! Block j of a sector has the tweak T·xʲ in GF(2¹²⁸), where T is the encrypted sector number. Kernels
//! compute many tweaks at a time: those of the next bundle are those of this bundle times a power of x. To
//! multiply by xᵏ, shift by k bits, then add o·(x⁷ + x² + x + 1) for the overflow o.
//!
//! Registers of blocks shift by whole bytes and reduce the overflow with carry-less products. Bit shifts
//! would compete with AES rounds for an execution port.
//!
//! Layout: a tweak is a little-endian 128-bit integer; bit i is the coefficient of xⁱ.
//! Source: IEEE 1619-2007 §5.2.
//! Invariant: tweaks are secret, so nothing branches on them.

use std::fmt;

use crate::arch::{CarrylessLanes, Features, Isa, Kernel, Lane32, Tile, each, for_each_register, unrolled};
use crate::block::{BLOCK_BYTES, Block};
use crate::layout::repr::word_lane;

/// x·t modulo x¹²⁸ + x⁷ + x² + x + 1, without a branch on t.
pub const fn double(t: u128) -> u128 {
    (t << 1) ^ reduced(t >> 127)
}

/// The reduction of an overflow of at most 64 bits, which begins at x¹²⁸.
#[inline(always)]
const fn reduced(over: u128) -> u128 {
    over ^ over << 1 ^ over << 2 ^ over << 7
}

/// xⁿ·t. The exponent n is public.
#[inline(always)]
pub const fn times_x_to(mut t: u128, n: usize) -> u128 {
    let mut steps = n / 64;
    while steps > 0 {
        t = t << 64 ^ reduced(t >> 64);
        steps -= 1;
    }
    let rest = (n % 64) as u32;
    // Two shifts, because `rest` may be 0 and a shift by 128 bits overflows.
    t << rest ^ reduced(t >> 1 >> (127 - rest))
}

/// The tweak of the first block of the first sector, as an integer. Without a sector the value does not
/// matter.
#[inline(always)]
const fn start_of(starts: &[Block]) -> u128 {
    match starts {
        [start, ..] => u128::from_le_bytes(*start),
        [] => 0,
    }
}

/// The tweaks of consecutive sectors, beginning at a block of the first sector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tweaks<'a> {
    starts: &'a [Block],
    sector_blocks: usize,
    /// Blocks of the first sector that are already done, and the tweak of the next block. Starting at the
    /// beginning of the sector each time would take time quadratic in its length.
    done_blocks: usize,
    next: u128,
}

impl<'a> Tweaks<'a> {
    /// The tweaks of sectors of `sector_blocks` blocks each. `starts` has the tweak of each sector's first
    /// block.
    ///
    /// # Panics
    /// If `sector_blocks` is 0.
    pub const fn new(starts: &'a [Block], sector_blocks: usize) -> Self {
        assert!(sector_blocks > 0);
        Self { starts, sector_blocks, done_blocks: 0, next: start_of(starts) }
    }

    /// The tweaks from `blocks` blocks later on.
    #[must_use]
    #[inline(always)]
    pub fn skip(self, blocks: usize) -> Self {
        let all = self.done_blocks + blocks;
        let done_blocks = all % self.sector_blocks;
        if all < self.sector_blocks {
            return Self { done_blocks, next: times_x_to(self.next, blocks), ..self };
        }
        let starts = self.starts.get(all / self.sector_blocks..).unwrap_or_default();
        Self { starts, done_blocks, next: times_x_to(start_of(starts), done_blocks), ..self }
    }

    /// The next tweak and the number of blocks from there to the end of its sector. The sector is then
    /// skipped. Padding follows the last sector, and its tweaks do not matter.
    #[inline(always)]
    pub(crate) fn next_sector(&mut self) -> (u128, usize) {
        let [_, rest @ ..] = self.starts else {
            return (0, usize::MAX);
        };
        let (next, left) = (self.next, self.sector_blocks - self.done_blocks);
        (self.starts, self.done_blocks, self.next) = (rest, 0, start_of(rest));
        (next, left)
    }

    /// Whether every sector boundary is also a boundary between bundles of `bundle_blocks` blocks. Then no
    /// bundle needs separate treatment.
    #[inline(always)]
    pub(crate) const fn ends_with_bundles(&self, bundle_blocks: usize) -> bool {
        self.sector_blocks.is_multiple_of(bundle_blocks) && self.done_blocks.is_multiple_of(bundle_blocks)
    }
}

impl fmt::Debug for Tweaks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tweaks({} sectors of {} blocks, secret)", self.starts.len(), self.sector_blocks)
    }
}

/// x⁷ + x² + x + 1, for the reduction of an overflow by products of high halves.
const BACK: Block = [0, 0, 0, 0, 0, 0, 0, 0, 0x87, 0, 0, 0, 0, 0, 0, 0];

/// The same without its constant term, for products of low halves.
const BACK_BUT_ONE: Block = [0x86, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Multiplies every lane by a power of x below x⁵⁸. Both halves of each lane of `powers` hold that power.
#[inline(always)]
fn times_each<W: CarrylessLanes>(isa: W::Isa, t: W, powers: W) -> W {
    let high = t.high_product(powers);
    let (up, _) = W::exchange_halves(W::splat(isa, 0), high);
    t.low_product(powers) ^ up ^ high.high_product(W::broadcast(isa, &BACK))
}

/// Multiplies every lane by x⁸ᵇ, where b = `bytes` is at most 4. One shuffle rotates the lane: it shifts the
/// upper part and adds the overflow at the low end, which is the constant term of the reduction. A product
/// adds the other terms.
#[inline(always)]
fn shifted_by_bytes<W: CarrylessLanes>(isa: W::Isa, t: W, bytes: usize) -> W {
    let shuffled = |places: &[Block; 5]| t.shuffle_bytes(W::broadcast(isa, &places[bytes]));
    shuffled(&ROUND) ^ shuffled(&OVER).low_product(W::broadcast(isa, &BACK_BUT_ONE))
}

/// Shuffles that rotate a tweak left by 0 to 4 bytes.
static ROUND: [Block; 5] = shuffles(true);
/// Shuffles that move only the overflow to the low end, with zeros above it.
static OVER: [Block; 5] = shuffles(false);

const fn shuffles(with_rest: bool) -> [Block; 5] {
    let mut places = [[0x80; BLOCK_BYTES]; 5];
    let mut at = 0;
    while at < 5 * BLOCK_BYTES {
        let (bytes, to) = (at / BLOCK_BYTES, at % BLOCK_BYTES);
        if to < bytes || with_rest {
            places[bytes][to] = ((to + BLOCK_BYTES - bytes) % BLOCK_BYTES) as u8;
        }
        at += 1;
    }
    places
}

/// Registers of tweaks that advance together.
pub(crate) const IN_STEP: usize = 8;

/// The powers x⁰ to x⁷, one per lane, in both halves of the lane.
static POWERS: [u8; 8 * BLOCK_BYTES] = {
    let mut powers = [0; 8 * BLOCK_BYTES];
    let mut half = 0;
    while half < 16 {
        powers[8 * half] = 1 << (half / 2);
        half += 1;
    }
    powers
};

/// The tweaks of the next eight registers of blocks.
#[derive(Clone, Copy)]
pub(crate) struct Stepping<W>(pub(crate) [W; IN_STEP]);

impl<W: CarrylessLanes> Stepping<W> {
    const BLOCKS: usize = W::BITS / 128;

    /// The tweaks of a run with this first tweak.
    #[inline(always)]
    pub(crate) fn from(isa: W::Isa, first: u128) -> Self {
        let mut tweaks = Self([W::splat(isa, 0); IN_STEP]);
        unrolled!(place in [0 1 2 3 4 5 6 7] { tweaks.begin_one(isa, first, place); });
        tweaks
    }

    /// Initialises one of the eight registers; those before it must be initialised already. `first` is the
    /// first tweak of the run. The first eight blocks get `first` times their own power of x. Later ones get
    /// the tweak eight blocks earlier times x⁸.
    #[inline(always)]
    pub(crate) fn begin_one(&mut self, isa: W::Isa, first: u128, place: usize) {
        self.0[place] = match (place * Self::BLOCKS).checked_sub(8) {
            None => {
                let powers = W::load(isa, &POWERS[place * W::BYTES..][..W::BYTES]);
                times_each(isa, W::broadcast(isa, &first.to_le_bytes()), powers)
            }
            Some(back) => shifted_by_bytes(isa, self.0[back / Self::BLOCKS], 1),
        };
    }

    /// Advances to the next eight registers.
    #[inline(always)]
    pub(crate) fn step(&mut self, isa: W::Isa) {
        for place in 0..IN_STEP {
            self.step_one(isa, place);
        }
    }

    /// Advances one of the eight registers. Eight registers of n blocks are 8·n steps of one bit: n bytes.
    #[inline(always)]
    pub(crate) fn step_one(&mut self, isa: W::Isa, place: usize) {
        self.0[place] = shifted_by_bytes(isa, self.0[place], Self::BLOCKS);
    }
}

/// The tweaks of consecutive bundles in `vsliced` words: word i holds bits 32i to 32i + 31 of all tweaks.
///
/// Within a sector, each bundle is the one before times a fixed power of x in all lanes. Words are rotated,
/// and the bits that wrap around move to the next word.
pub(crate) struct TweakWords<'a, W: Lane32> {
    /// The tweaks from the last bundle on that `fill` computed.
    tweaks: Tweaks<'a>,
    words: [W; 4],
    /// Bundles produced since `tweaks`.
    made: usize,
    /// Bundles after the last one that are wholly in the same sector.
    left: usize,
}

impl<'a, W: Lane32> TweakWords<'a, W> {
    /// Blocks in a bundle.
    const BLOCKS: usize = W::BITS / 32;

    #[inline(always)]
    pub(crate) fn new(isa: W::Isa, tweaks: Tweaks<'a>) -> Self {
        Self { tweaks, words: [W::splat(isa, 0); 4], made: 0, left: 0 }
    }

    /// The tweaks of the next bundle.
    #[inline(always)]
    pub(crate) fn bundle(&mut self, isa: W::Isa) -> [W; 4] {
        if self.left == 0 {
            self.tweaks = self.tweaks.skip(self.made * Self::BLOCKS);
            self.made = 0;
            self.fill(isa);
        } else {
            self.left -= 1;
            self.step(isa);
        }
        self.made += 1;
        self.words
    }

    /// Computes a bundle that does not follow from the last one.
    #[inline(always)]
    fn fill(&mut self, isa: W::Isa) {
        let mut tweaks = self.tweaks;
        let (first, sector) = tweaks.next_sector();
        self.left = sector.saturating_sub(Self::BLOCKS) / Self::BLOCKS;
        self.words = if sector < Self::BLOCKS {
            Self::lane_by_lane(isa, self.tweaks)
        } else {
            Self::of_one_sector(isa, first)
        };
    }

    /// A bundle that contains the end of a sector.
    #[inline(always)]
    fn lane_by_lane(isa: W::Isa, mut tweaks: Tweaks<'_>) -> [W; 4] {
        let mut lanes = [[0; 64]; 4];
        let (mut tweak, mut left) = (0, 0);
        for block in 0..Self::BLOCKS {
            if left == 0 {
                (tweak, left) = tweaks.next_sector();
            }
            let place = word_lane(W::BITS, block) / 8;
            for (lanes, word) in lanes.iter_mut().zip(tweak.to_le_bytes().as_chunks::<4>().0) {
                lanes[place..][..4].copy_from_slice(word);
            }
            (tweak, left) = (double(tweak), left - 1);
        }
        each!(i < 4 => W::load(isa, &lanes[i][..W::BYTES]))
    }

    /// A bundle within one sector, from its first tweak. All lanes start equal. Then, for each bit of the
    /// block number, the lanes of blocks with that bit are multiplied by x to the power of the bit's value.
    #[inline(always)]
    fn of_one_sector(isa: W::Isa, first: u128) -> [W; 4] {
        let mut words = Self::alike(isa, first);
        unrolled!(bit in [0 1 2 3] {
            if 1 << bit < Self::BLOCKS {
                let moved = match bit {
                    // With AVX-512 the compiler turns `times::<W, 1>` into a load of a constant that the
                    // carry masks.
                    0 => Self::alike(isa, double(first)),
                    1 => times::<W, 2>(isa, words),
                    2 => times::<W, 4>(isa, words),
                    _ => times::<W, 8>(isa, words),
                };
                let mask = W::load(isa, &Self::BLOCKS_WITH[bit][..W::BYTES]);
                words = each!(i < 4 => mask.select(moved[i], words[i]));
            }
        });
        words
    }

    /// The same tweak in every lane.
    #[inline(always)]
    fn alike(isa: W::Isa, tweak: u128) -> [W; 4] {
        let bytes = tweak.to_le_bytes();
        each!(i < 4 => W::splat_lanes(isa, u32::from_le_bytes(bytes.as_chunks().0[i])))
    }

    /// Ones in the lanes of blocks whose number has a given bit.
    const BLOCKS_WITH: [[u8; 64]; 4] = {
        let mut masks = [[0; 64]; 4];
        let mut block = 0;
        while block < Self::BLOCKS {
            let (place, mut at) = (word_lane(W::BITS, block) / 8, 0);
            while at < 16 {
                if block >> (at / 4) & 1 == 1 {
                    masks[at / 4][place + at % 4] = 0xff;
                }
                at += 1;
            }
            block += 1;
        }
        masks
    };

    /// Multiplies every lane by x to the number of blocks in a bundle.
    #[inline(always)]
    fn step(&mut self, isa: W::Isa) {
        self.words = match Self::BLOCKS {
            16 => times::<W, 16>(isa, self.words),
            8 => times::<W, 8>(isa, self.words),
            4 => times::<W, 4>(isa, self.words),
            _ => times::<W, 1>(isa, self.words),
        };
    }
}

/// Multiplies every lane by x to the power `COUNT`, which is less than 25.
#[inline(always)]
fn times<W: Lane32, const COUNT: u32>(isa: W::Isa, words: [W; 4]) -> [W; 4] {
    let rotated = each!(i < 4 => words[i].rotate_lanes_left::<COUNT>());
    let low = W::splat_lanes(isa, (1 << COUNT) - 1);
    let mut words = each!(i < 4 => low.select(rotated[(i + 3) % 4], rotated[i]));
    let over = rotated[3] & low;
    let more = over.shift_lanes_left::<1>() ^ over.shift_lanes_left::<2>();
    words[0] = words[0] ^ more ^ over.shift_lanes_left::<7>();
    words
}

/// Adds tweaks to as many blocks as a tile holds.
pub trait TweakMask: Send + Sync {
    /// Works on the blocks of one sector, given the tweak of the first. Writes the tweaks to `masks`, and the
    /// sums of tweaks and input to `whitened`.
    fn run(&self, first: u128, input: &[u8], masks: &mut [u8], whitened: &mut [u8]);

    /// Works on blocks of one or more sectors, and writes into tiles.
    fn tweak_mask(&self, mut tweaks: Tweaks<'_>, input: &[u8], masks: &mut Tile, whitened: &mut Tile) {
        let (masks, whitened) = (masks.bytes_mut(), whitened.bytes_mut());
        let mut at = 0;
        while at < input.len() {
            let (first, blocks) = tweaks.next_sector();
            let place = at..at + blocks.min((input.len() - at) / BLOCK_BYTES) * BLOCK_BYTES;
            at = place.end;
            self.run(first, &input[place.clone()], &mut masks[place.clone()], &mut whitened[place]);
        }
    }
}

/// The widest implementation that these instructions allow.
pub fn tweak_mask(features: Features) -> Box<dyn TweakMask> {
    fn wide<W: CarrylessLanes>(features: Features) -> Option<Box<dyn TweakMask>> {
        W::Isa::detect(features).map(|isa| Box::new(Wide::<W>(isa)) as _)
    }
    for_each_register!(carryless_from_widest, W => {
        if let Some(tweak_mask) = wide::<W>(features) {
            return tweak_mask;
        }
    });
    Box::new(Narrow)
}

/// Works on eight registers at a time.
struct Wide<W: CarrylessLanes>(W::Isa);

impl<W: CarrylessLanes> TweakMask for Wide<W> {
    fn run(&self, first: u128, input: &[u8], masks: &mut [u8], whitened: &mut [u8]) {
        self.0.enter(WideRun::<W> { isa: self.0, first, input, masks, whitened });
    }
}

struct WideRun<'a, W: CarrylessLanes> {
    isa: W::Isa,
    first: u128,
    input: &'a [u8],
    masks: &'a mut [u8],
    whitened: &'a mut [u8],
}

impl<W: CarrylessLanes> Kernel for WideRun<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, first, input, masks, whitened } = self;
        let mut tweaks = Stepping::<W>::from(isa, first);
        let (whole, mut at) = (input.len() / W::BYTES * W::BYTES, 0);
        while at < whole {
            for tweak in tweaks.0 {
                if at < whole {
                    tweak.store(&mut masks[at..][..W::BYTES]);
                    (tweak ^ W::load(isa, &input[at..][..W::BYTES])).store(&mut whitened[at..][..W::BYTES]);
                    at += W::BYTES;
                }
            }
            tweaks.step(isa);
        }
        let first = times_x_to(first, at / BLOCK_BYTES);
        whiten_blocks(first, &input[at..], &mut masks[at..], &mut whitened[at..]);
    }
}

/// Works on one block at a time, on any machine.
struct Narrow;

impl TweakMask for Narrow {
    fn run(&self, first: u128, input: &[u8], masks: &mut [u8], whitened: &mut [u8]) {
        whiten_blocks(first, input, masks, whitened);
    }
}

#[inline(always)]
fn whiten_blocks(first: u128, input: &[u8], masks: &mut [u8], whitened: &mut [u8]) {
    let places = masks.as_chunks_mut().0.iter_mut().zip(whitened.as_chunks_mut().0);
    let mut tweak = first;
    for (input, (mask, whitened)) in input.as_chunks().0.iter().zip(places) {
        *mask = tweak.to_le_bytes();
        *whitened = (tweak ^ u128::from_le_bytes(*input)).to_le_bytes();
        tweak = double(tweak);
    }
}
