//! The tweaks of XTS: what is added to every block of a sector before the cipher and after it.
//!
//! Block j of a sector has the tweak T·xʲ in GF(2¹²⁸), T being the encrypted sector number. Tweaks are
//! made many at a time: those of the next bundle are those of this one times a power of x, and multiplying
//! by xᵏ is a shift by k bits whose overflow o comes back as o·(x⁷ + x² + x + 1). Registers of blocks shift by whole
//! bytes, and bring overflows back by carry-less products: bit shifts would wait for the port that AES rounds take.
//! Layout: a tweak is a little-endian 128-bit integer, bit i the coefficient of xⁱ.
//! Source: IEEE 1619-2007 §5.2. Holds: tweaks are secret, so nothing branches on them.

use std::fmt;

use crate::block::{BLOCK_BYTES, Block};
use crate::repr::word_lane;
use crate::word::{CarrylessLanes, Features, Isa, Kernel, Lane32, Tile, each, for_each_register, unrolled};

/// x·t modulo x¹²⁸ + x⁷ + x² + x + 1, without a branch on t.
pub const fn double(t: u128) -> u128 {
    (t << 1) ^ reduced(t >> 127)
}

/// What a part of at most 64 bits above x¹²⁷ comes back as.
#[inline(always)]
const fn reduced(over: u128) -> u128 {
    over ^ over << 1 ^ over << 2 ^ over << 7
}

/// xⁿ·t, n being public.
#[inline(always)]
pub const fn times_x_to(mut t: u128, n: usize) -> u128 {
    let mut steps = n / 64;
    while steps > 0 {
        t = t << 64 ^ reduced(t >> 64);
        steps -= 1;
    }
    let rest = (n % 64) as u32;
    // Two shifts, for one by 128 bits there is none.
    t << rest ^ reduced(t >> 1 >> (127 - rest))
}

/// The tweak of the first sector's first block, as an integer; of no account where there is no sector.
#[inline(always)]
const fn start_of(starts: &[Block]) -> u128 {
    match starts {
        [start, ..] => u128::from_le_bytes(*start),
        [] => 0,
    }
}

/// The tweaks of consecutive sectors, from a block of the first one on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tweaks<'a> {
    starts: &'a [Block],
    sector_blocks: usize,
    /// Blocks of the first sector that are behind, and the tweak of the next: to begin at the sector's start again and
    /// again would take time that grows with its square.
    done_blocks: usize,
    next: u128,
}

impl<'a> Tweaks<'a> {
    /// The tweaks of sectors of `sector_blocks` blocks each, by those of their first blocks.
    ///
    /// # Panics
    /// If sectors have no blocks.
    pub const fn new(starts: &'a [Block], sector_blocks: usize) -> Self {
        assert!(sector_blocks > 0);
        Self { starts, sector_blocks, done_blocks: 0, next: start_of(starts) }
    }

    /// The tweaks from `blocks` blocks further on.
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

    /// The tweak that comes next and the number of blocks from there to the end of their sector, which is
    /// left behind. After the last sector there is padding, whose tweaks are of no account.
    #[inline(always)]
    pub(crate) fn next_sector(&mut self) -> (u128, usize) {
        let [_, rest @ ..] = self.starts else {
            return (0, usize::MAX);
        };
        let (next, left) = (self.next, self.sector_blocks - self.done_blocks);
        (self.starts, self.done_blocks, self.next) = (rest, 0, start_of(rest));
        (next, left)
    }

    /// Whether every sector ends where a bundle of so many blocks does, so that none has to be taken by itself.
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

/// What comes back of an overflow, x⁷ + x² + x + 1, where products of high halves take it from.
const BACK: Block = [0, 0, 0, 0, 0, 0, 0, 0, 0x87, 0, 0, 0, 0, 0, 0, 0];

/// The same but for its 1, where products of low halves take it from.
const BACK_BUT_ONE: Block = [0x86, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Every lane times a power of x, less than x⁵⁸, which both halves of the lane hold in `powers`.
#[inline(always)]
fn times_each<W: CarrylessLanes>(isa: W::Isa, t: W, powers: W) -> W {
    let high = t.high_product(powers);
    let (up, _) = W::exchange_halves(W::splat(isa, 0), high);
    t.low_product(powers) ^ up ^ high.high_product(W::broadcast(isa, &BACK))
}

/// Every lane times x to the power 8·`bytes`, of at most four: the overflow goes round to the low end, where it is
/// due once, by the same shuffle that shifts the rest.
#[inline(always)]
fn shifted_by_bytes<W: CarrylessLanes>(isa: W::Isa, t: W, bytes: usize) -> W {
    let shuffled = |places: &[Block; 5]| t.shuffle_bytes(W::broadcast(isa, &places[bytes]));
    shuffled(&ROUND) ^ shuffled(&OVER).low_product(W::broadcast(isa, &BACK_BUT_ONE))
}

/// Where the bytes of a tweak come from when it is shifted by so many and its overflow goes round.
static ROUND: [Block; 5] = shuffles(true);
/// The same of the overflow alone, with zeros above it.
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

/// Registers of tweaks that are stepped together.
pub(crate) const IN_STEP: usize = 8;

/// The powers of x from x⁰ to x⁷, a lane each, in both halves.
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

    /// From a run's first tweak on.
    #[inline(always)]
    pub(crate) fn from(isa: W::Isa, first: u128) -> Self {
        let mut tweaks = Self([W::splat(isa, 0); IN_STEP]);
        unrolled!(place in [0 1 2 3 4 5 6 7] { tweaks.begin_one(isa, first, place); });
        tweaks
    }

    /// One of the eight of a run that begins with this tweak, when those before it have been begun: of the first eight
    /// blocks each by its own power, of others as what lies eight blocks back.
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

    /// To the eight registers after these.
    #[inline(always)]
    pub(crate) fn step(&mut self, isa: W::Isa) {
        for place in 0..IN_STEP {
            self.step_one(isa, place);
        }
    }

    /// One of the eight to its successor, as many bytes on as a register has blocks.
    #[inline(always)]
    pub(crate) fn step_one(&mut self, isa: W::Isa, place: usize) {
        self.0[place] = shifted_by_bytes(isa, self.0[place], Self::BLOCKS);
    }
}

/// The tweaks of consecutive bundles in `vsliced` words: word i of them holds bits 32i to 32i + 31 of all.
///
/// Bundle after bundle of one sector, all lanes are multiplied by the same power of x: words are rotated, and the
/// bits that come round go to the next word.
pub(super) struct TweakWords<'a, W: Lane32> {
    /// From the bundle on that was last filled lane by lane.
    tweaks: Tweaks<'a>,
    words: [W; 4],
    /// Bundles made since `tweaks`.
    made: usize,
    /// Bundles that are wholly in the sector of the last one and follow from it.
    left: usize,
}

impl<'a, W: Lane32> TweakWords<'a, W> {
    /// Blocks in a bundle.
    const BLOCKS: usize = W::BITS / 32;

    #[inline(always)]
    pub(super) fn new(isa: W::Isa, tweaks: Tweaks<'a>) -> Self {
        Self { tweaks, words: [W::splat(isa, 0); 4], made: 0, left: 0 }
    }

    /// The tweaks of the next bundle.
    #[inline(always)]
    pub(super) fn bundle(&mut self, isa: W::Isa) -> [W; 4] {
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

    /// From a bundle that is not the one after the last.
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

    /// A bundle that has the end of a sector in it.
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

    /// A bundle that begins with this tweak and has no other sector in it: of lanes that are alike, those of blocks whose
    /// number has a bit are multiplied by x to the power of that bit, bit after bit.
    #[inline(always)]
    fn of_one_sector(isa: W::Isa, first: u128) -> [W; 4] {
        let mut words = Self::alike(isa, first);
        unrolled!(bit in [0 1 2 3] {
            if 1 << bit < Self::BLOCKS {
                let moved = match bit {
                    // With AVX-512 the compiler turns `times::<W, 1>` into a load of a constant that the carry masks.
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

    /// Ones in the lanes of blocks whose number has a bit.
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

    /// Every lane times x to the number of blocks in a bundle.
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

/// Every lane times x to the power `COUNT`, less than 25.
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

/// A way to add tweaks to a tile's worth of blocks.
pub trait Whiten: Send + Sync {
    /// For the blocks of one sector, by the tweak of their first: writes their tweaks to `masks`, and the
    /// sum of tweaks and input to `whitened`.
    fn run(&self, first: u128, input: &[u8], masks: &mut [u8], whitened: &mut [u8]);

    /// The same for blocks of one or more sectors, into tiles.
    fn whiten(&self, mut tweaks: Tweaks<'_>, input: &[u8], masks: &mut Tile, whitened: &mut Tile) {
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

/// The widest way to add tweaks that these instructions allow.
pub fn whiten(features: Features) -> Box<dyn Whiten> {
    fn wide<W: CarrylessLanes>(features: Features) -> Option<Box<dyn Whiten>> {
        W::Isa::detect(features).map(|isa| Box::new(Wide::<W>(isa)) as _)
    }
    for_each_register!(carryless_from_widest, W => {
        if let Some(whiten) = wide::<W>(features) {
            return whiten;
        }
    });
    Box::new(Narrow)
}

/// Eight registers at a time.
struct Wide<W: CarrylessLanes>(W::Isa);

impl<W: CarrylessLanes> Whiten for Wide<W> {
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

/// A block at a time, on any machine.
struct Narrow;

impl Whiten for Narrow {
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
