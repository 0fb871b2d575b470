//! GHASH and POLYVAL: the hashes of GCM and GCM-SIV, by carry-less multiplication, as many blocks at a time as a few
//! registers hold.
//!
//! Layout: a block a 128-bit lane, of GHASH with its bytes reversed, so that its bits are coefficients in the order that the
//! instruction multiplies in. What lanes compute is POLYVAL; GHASH is that of reversed blocks by the key times x. Needs: `CarrylessLanes`; elsewhere products of integers take their place.
//! Source: SP 800-38D §6.4; RFC 8452, appendix A, for what the reversed bytes and the key times x make of it; Gueron and
//! Kounavis, "Intel Carry-Less Multiplication Instruction and its Usage for Computing the GCM Mode" (2014).
//! Holds: every lane is a sum of its own, by Horner's rule with a power of the key that spans a stride. The lanes meet once,
//! at the end of a run, each times the power that its place asks for; so a run that does not fill its first register has zeros
//! in front, which add nothing.

mod field;
mod sums;

use std::fmt;

use self::field::Factor;
pub(super) use self::field::{Field, Product};
pub(super) use self::sums::{Few, Sums};
use crate::block::{BLOCK_BYTES, Block};
use crate::word::{CarrylessLanes, Features, Isa, Kernel, Wiped, for_each_register};

/// GHASH, or POLYVAL, with one key.
pub struct Ghash {
    powers: Wiped<Powers>,
    /// Carry-less products compute the hash, where there are any, and products of integers elsewhere.
    by_products: Option<Box<dyn Absorb>>,
}

impl Ghash {
    /// Binds GHASH to a key by the widest of these instructions. Wiped when dropped.
    pub fn new(key: &Block, features: Features) -> Self {
        let mut ghash = Self::unbound();
        ghash.bind((times_x(Order::Reversed.number(key)), Order::Reversed), usize::MAX, features);
        ghash
    }

    /// No hash, until it is bound to a key.
    pub fn unbound() -> Self {
        // Filled where they stay: what is moved leaves a copy.
        Self { powers: Wiped::from(Box::new(Powers::NONE)), by_products: None }
    }

    /// Binds it to a key as POLYVAL (RFC 8452 §3), for strings of `len_bytes` at most.
    pub fn bind_polyval(&mut self, key: &Block, len_bytes: usize, features: Features) {
        self.bind((Order::AsItIs.number(key), Order::AsItIs), len_bytes, features);
    }

    fn bind(&mut self, (first, order): (u128, Order), len_bytes: usize, features: Features) {
        let powers = &mut self.powers;
        (powers.order, powers.register_bits) = (order, 0);
        let (power, folded) = (first.to_le_bytes(), (first ^ first.rotate_left(64)).to_le_bytes());
        (powers.blocks[POWERS_MAX - 1], powers.folded[POWERS_MAX - 1]) = (power, folded);
        powers.in_second_lane.lanes.0[BLOCK_BYTES..][..BLOCK_BYTES].copy_from_slice(&power);
        powers.in_second_lane.folded.0[BLOCK_BYTES..][..BLOCK_BYTES].copy_from_slice(&folded);
        self.by_products = None;
        for_each_register!(carryless_from_widest, W => {
            if self.by_products.is_none() {
                self.by_products = ByProducts::<W>::raised(powers, len_bytes, features);
            }
        });
    }

    /// Whether the powers were computed for registers of this width, so that kernels on such registers may use them.
    pub(super) fn is_bound_to<W: CarrylessLanes>(&self) -> bool {
        self.powers.register_bits == W::BITS
    }

    /// The powers of the key: where carry-less products compute the hash, all that it needs.
    #[inline]
    pub(super) fn powers(&self) -> &Powers {
        &self.powers
    }

    /// Goes on with a string, zeros behind it up to a whole block.
    pub fn absorb(&self, sum: &mut Block, string: &[u8]) {
        let (whole, rest) = string.split_at(string.len() - string.len() % BLOCK_BYTES);
        if !whole.is_empty() {
            self.absorb_blocks(sum, whole);
        }
        if !rest.is_empty() {
            let mut last = [0; BLOCK_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            self.absorb_blocks(sum, &last);
        }
    }

    /// Goes on with one block or more.
    fn absorb_blocks(&self, sum: &mut Block, blocks: &[u8]) {
        match &self.by_products {
            Some(by_products) => by_products.absorb(&self.powers, sum, blocks),
            None => self.powers.absorb_by_integers(sum, blocks),
        }
    }
}

impl fmt::Debug for Ghash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ghash(secret)")
    }
}

/// Where the bytes of a block stand in a lane.
#[derive(Clone, Copy)]
enum Order {
    /// GHASH's.
    Reversed,
    /// POLYVAL's.
    AsItIs,
}

impl Order {
    /// For each byte of a lane, or of a block, which byte of the other stands there.
    const fn places(self) -> Block {
        match self {
            Self::Reversed => [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
            Self::AsItIs => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        }
    }

    /// A block as a lane has it.
    const fn number(self, block: &Block) -> u128 {
        match self {
            Self::Reversed => u128::from_be_bytes(*block),
            Self::AsItIs => u128::from_le_bytes(*block),
        }
    }

    /// The block of a lane.
    const fn block(self, number: u128) -> Block {
        match self {
            Self::Reversed => number.to_be_bytes(),
            Self::AsItIs => number.to_le_bytes(),
        }
    }
}

/// The product of two lanes divided by x¹²⁸, as [`Product::of`] and [`Field::reduced`] have it.
fn product(a: u128, b: u128) -> u128 {
    let halves = |block: u128| (block as u64, (block >> 64) as u64);
    let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
    let cross = carryless(a_low, b_high) ^ carryless(a_high, b_low);
    let low = carryless(a_low, b_low) ^ cross << 64;
    let high = carryless(a_high, b_high) ^ cross >> 64;
    let step = |low: u128| {
        let half = u128::from(low as u64);
        low.rotate_left(64) ^ half << 63 ^ half << 62 ^ half << 57
    };
    high ^ step(step(low))
}

/// The carry-less product. Of every factor every fifth bit is taken by itself: where their products overlap, at most 13 ones are
/// added, whose carries do not reach the next place five bits up.
fn carryless(a: u64, b: u64) -> u128 {
    const FIFTH: u128 = 0x2108_4210_8421_0842_1084_2108_4210_8421;
    let every_fifth = |number: u64| [0, 1, 2, 3, 4].map(|first| u128::from(number) & FIFTH << first);
    let (a, b) = (every_fifth(a), every_fifth(b));
    let mut product = 0;
    for place in 0..5 {
        let mut sum = 0;
        for i in 0..5 {
            sum ^= a[i] * b[(5 + place - i) % 5];
        }
        product |= sum & FIFTH << place;
    }
    product
}

/// A reversed key times x: products of reversed blocks come out divided by it.
fn times_x(key: u128) -> u128 {
    let overflow = (key >> 127) * (0xc2 << 120 | 1);
    key << 1 ^ overflow
}

/// Registers of blocks that are multiplied before their products are reduced together.
pub(super) const STRIDE: usize = 8;

/// Blocks in the widest register.
pub(super) const LANES_MAX: usize = 4;

/// Blocks that can be hashed at once besides those of a stride: what a message has besides data.
const BESIDES: usize = 8;

/// The powers that the widest registers have.
const POWERS_MAX: usize = STRIDE * LANES_MAX + BESIDES;

/// The powers of a key as lanes have them: of the blocks the first in place `POWERS_MAX - 1` and the others before it, with zeros behind: so the powers for
/// some neighbouring blocks are neighbours too. And the order of blocks' bytes in lanes.
pub(super) struct Powers {
    blocks: [Block; POWERS_MAX + LANES_MAX],
    /// The sum of each one's halves, in both.
    folded: [Block; POWERS_MAX + LANES_MAX],
    /// The powers over one register and more, up to a stride, in every lane: of registers as wide as those that bound them.
    across: [Power; STRIDE],
    /// The first in the second lane, and zeros.
    in_second_lane: Power,
    order: Order,
    /// The width of the registers that `blocks`, `folded` and `across` were computed for; 0 before they are computed.
    register_bits: usize,
}

/// Powers for the blocks of some registers, and the sums of their halves.
#[derive(Clone, Copy)]
pub(super) struct Factors<'a> {
    powers: &'a [u8],
    folded: &'a [u8],
}

impl Factors<'_> {
    /// Those for register `place`.
    #[inline(always)]
    pub(super) fn load<W: CarrylessLanes>(&self, isa: W::Isa, place: usize) -> Factor<W> {
        let at = place * W::BYTES;
        let (power, folded) = (&self.powers[at..][..W::BYTES], &self.folded[at..][..W::BYTES]);
        Factor { power: W::load(isa, power), folded: W::load(isa, folded) }
    }
}

/// A power in every lane, and the sum of its halves in each.
#[derive(Clone, Copy)]
pub(super) struct Power {
    lanes: Lanes,
    folded: Lanes,
}

impl Power {
    const ZERO: Self = Self { lanes: Lanes::ZERO, folded: Lanes::ZERO };

    #[inline(always)]
    pub(super) fn load<W: CarrylessLanes>(&self, isa: W::Isa) -> Factor<W> {
        let (power, folded) = (&self.lanes.0[..W::BYTES], &self.folded.0[..W::BYTES]);
        Factor { power: W::load(isa, power), folded: W::load(isa, folded) }
    }
}

/// The lanes of the widest register.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes([u8; LANES_MAX * BLOCK_BYTES]);

impl Lanes {
    const ZERO: Self = Self([0; LANES_MAX * BLOCK_BYTES]);
}

impl Powers {
    /// A place for powers.
    const NONE: Self = Self {
        blocks: [[0; BLOCK_BYTES]; POWERS_MAX + LANES_MAX],
        folded: [[0; BLOCK_BYTES]; POWERS_MAX + LANES_MAX],
        across: [Power::ZERO; STRIDE],
        in_second_lane: Power::ZERO,
        order: Order::Reversed,
        register_bits: 0,
    };

    /// Goes on with one block or more, by the first power and products of integers: in constant time where the CPU multiplies so.
    fn absorb_by_integers(&self, sum: &mut Block, blocks: &[u8]) {
        let first = u128::from_le_bytes(self.blocks[POWERS_MAX - 1]);
        let mut hash = self.order.number(sum);
        for block in blocks.as_chunks().0 {
            hash = product(hash ^ self.order.number(block), first);
        }
        *sum = self.order.block(hash);
    }

    /// Those of the blocks of `N` neighbouring registers, of which the first block is to be multiplied by this power, and the last register
    /// has one at least.
    #[inline(always)]
    pub(super) fn registers<W: CarrylessLanes, const N: usize>(&self, power: usize) -> Factors<'_> {
        // The only check that is left for one: behind every power lie as many blocks as lanes.
        assert!(power <= POWERS_MAX);
        let (at, blocks) = (POWERS_MAX - power, N * W::BITS / 128);
        let (powers, folded) = (&self.blocks[at..][..blocks], &self.folded[at..][..blocks]);
        Factors { powers: powers.as_flattened(), folded: folded.as_flattened() }
    }

    /// Those of as many neighbouring blocks as a register has, of which the first is to be multiplied by this power.
    #[inline(always)]
    pub(super) fn from<W: CarrylessLanes>(&self, isa: W::Isa, power: usize) -> W {
        self.registers::<W, 1>(power).load(isa, 0).power
    }

    /// One power, in every lane.
    #[inline(always)]
    pub(super) fn one<W: CarrylessLanes>(&self, isa: W::Isa, power: usize) -> W {
        assert!((1..=POWERS_MAX).contains(&power));
        W::broadcast(isa, &self.blocks[POWERS_MAX - power])
    }
}

/// The hash by products of some kind of words.
trait Absorb: Send + Sync {
    /// Goes on with one block or more.
    fn absorb(&self, powers: &Powers, sum: &mut Block, blocks: &[u8]);
}

/// The hash by the products of these words.
struct ByProducts<W: CarrylessLanes>(W::Isa);

impl<W: CarrylessLanes> ByProducts<W> {
    /// If there are such words, with the powers that they need for strings of `len_bytes` at most.
    fn raised(powers: &mut Powers, len_bytes: usize, features: Features) -> Option<Box<dyn Absorb>> {
        let isa = W::Isa::detect(features)?;
        // GCM-SIV has a key for every message, and asks for no more than its length needs.
        let lanes = W::BITS / 128;
        let needed = match powers.order {
            Order::Reversed => POWERS_MAX,
            Order::AsItIs if len_bytes < STRIDE * W::BYTES => lanes,
            Order::AsItIs => STRIDE * lanes,
        };
        isa.enter(Raise::<W>(isa, powers, needed));
        powers.register_bits = W::BITS;
        Some(Box::new(Self(isa)))
    }
}

impl<W: CarrylessLanes> Absorb for ByProducts<W> {
    fn absorb(&self, powers: &Powers, sum: &mut Block, blocks: &[u8]) {
        self.0.enter(AbsorbBlocks::<W> { isa: self.0, powers, sum, blocks });
    }
}

/// Powers of the last, one after another before it: of as many as there are, a register of the highest times the power that
/// brings it beyond them.
struct Raise<'a, W: CarrylessLanes>(W::Isa, &'a mut Powers, usize);

impl<W: CarrylessLanes> Kernel for Raise<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, all, needed) = self;
        let powers = &mut all.blocks[POWERS_MAX - needed..POWERS_MAX];
        let folded = &mut all.folded[POWERS_MAX - needed..POWERS_MAX];
        let field = Field::<W>::new(isa, Order::AsItIs);
        let (lanes, mut left, mut full) = (W::BITS / 128, powers.len() - 1, None);
        while left > 0 {
            let known = &powers[left..];
            let count = known.len().min(lanes).min(left);
            // From memory only at first: what was just written in parts would be waited for.
            let highest = match full {
                Some(register) => register,
                None => W::load_lanes(isa, known[..count].as_flattened()),
            };
            let beyond = W::broadcast(isa, &known[known.len() - count]);
            let higher = field.reduced(Product::of(highest, beyond));
            higher.store_lanes(powers[left - count..left].as_flattened_mut());
            field.folded(higher).store_lanes(folded[left - count..left].as_flattened_mut());
            full = if count == lanes { Some(higher) } else { None };
            left -= count;
        }
        for registers in 1..=needed.min(STRIDE * lanes) / lanes {
            let power: W = all.one(isa, registers * lanes);
            let place = &mut all.across[registers - 1];
            power.store(&mut place.lanes.0[..W::BYTES]);
            field.folded(power).store(&mut place.folded.0[..W::BYTES]);
        }
    }
}

struct AbsorbBlocks<'a, W: CarrylessLanes> {
    isa: W::Isa,
    powers: &'a Powers,
    sum: &'a mut Block,
    blocks: &'a [u8],
}

impl<W: CarrylessLanes> Kernel for AbsorbBlocks<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, powers, sum, blocks } = self;
        let (first, rest) = blocks.split_at((blocks.len() - 1) % W::BYTES + 1);
        let mut sums = Sums::<W>::after(isa, powers, sum, first);
        let mut strides = rest.chunks_exact(STRIDE * W::BYTES);
        for stride in &mut strides {
            sums.add_stride(stride);
        }
        for register in strides.remainder().chunks_exact(W::BYTES) {
            sums.add_register(register);
        }
        *sum = sums.end();
    }
}
