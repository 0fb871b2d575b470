//! GHASH (GCM) and POLYVAL (GCM-SIV), by carry-less multiplication on registers with several 128-bit lanes.
//!
//! With the key H, the hash of blocks X₁ … Xₙ is a Horner scheme: `sum = (sum ⊕ X) · H`. Here each of the L
//! lanes of a register keeps its own sum. A stride is eight registers R₀ … R₇. Its eight products are added
//! and then reduced once:
//!
//! ```text
//! sums = sums·H⁸ᴸ ⊕ R₀·H⁷ᴸ ⊕ … ⊕ R₆·Hᴸ ⊕ R₇        lane by lane
//! hash = Σ sums[i]·Hᴸ⁻ⁱ                              lanes 0 ≤ i < L, once at the end
//! ```
//!
//! A run that does not fill its first register has zeros in front of its blocks, which add nothing.
//!
//! Layout: one block per 128-bit lane. GHASH blocks have their bytes reversed, so that bits are in the order
//! in which the instruction multiplies. Lanes always compute POLYVAL: GHASH is the POLYVAL of the reversed
//! blocks under the reversed key times x.
//! Needs `CarrylessLanes`; without it, integer products are used.
//!
//! Source: SP 800-38D §6.4; RFC 8452, appendix A, for GHASH in terms of POLYVAL; Gueron and Kounavis, "Intel
//! Carry-Less Multiplication Instruction and its Usage for Computing the GCM Mode" (2014).

mod field;
mod sums;

use std::fmt;
use std::sync::OnceLock;

use self::field::Factor;
pub(crate) use self::field::{Field, Product};
pub(crate) use self::sums::{ShortHash, Sums};
use crate::arch::{CarrylessLanes, Features, Isa, Kernel, Line, Wiped, for_each_register, unrolled};
use crate::block::{BLOCK_BYTES, Block};

/// GHASH or POLYVAL with one key.
pub struct Ghash {
    powers: Wiped<Powers>,
    /// All powers, computed for the first string that needs more than the first few, unless `powers` has them. A
    /// key that seals only one short message never computes them.
    all: OnceLock<Wiped<Powers>>,
    /// The implementation by carry-less products, if there is one. Otherwise integer products compute the
    /// hash.
    by_products: Option<Box<dyn Absorb>>,
}

impl Ghash {
    /// GHASH under this key, on the widest registers that these instructions allow. Wiped when dropped. Most
    /// powers are computed only for the first long string.
    pub fn new(key: &Block, features: Features) -> Self {
        let mut ghash = Self::unbound();
        ghash.bind((times_x(Order::Reversed.number(key)), Order::Reversed), usize::MAX, features);
        ghash
    }

    /// Replaces the key, on the same registers, and computes as many powers as the messages of the key before
    /// needed.
    pub fn rekey(&mut self, key: &Block) {
        let (first, order) = (times_x(Order::Reversed.number(key)), Order::Reversed);
        if let Some(all) = self.all.take() {
            self.powers = all;
        }
        let count = self.powers.count;
        self.powers.begin(first.to_le_bytes(), folded(first).to_le_bytes(), order);
        if let Some(by_products) = &self.by_products {
            by_products.raise(&mut self.powers, count);
        }
    }

    /// A hash without a key. Bind it before use.
    pub fn unbound() -> Self {
        // Filled in place, because a move would leave a copy.
        Self { powers: Wiped::new(Powers::NONE), all: OnceLock::new(), by_products: None }
    }

    /// Binds POLYVAL (RFC 8452 §3) to this key, for strings of at most `len_bytes`.
    pub fn bind_polyval(&mut self, key: &Block, len_bytes: usize, features: Features) {
        self.bind((Order::AsItIs.number(key), Order::AsItIs), len_bytes, features);
    }

    fn bind(&mut self, (first, order): (u128, Order), len_bytes: usize, features: Features) {
        let powers = &mut self.powers;
        powers.begin(first.to_le_bytes(), folded(first).to_le_bytes(), order);
        self.all.take();
        self.by_products = None;
        for_each_register!(carryless_from_widest, W => {
            if self.by_products.is_none() {
                self.by_products = ByProducts::<W>::raised(powers, len_bytes, features);
            }
        });
    }

    /// Whether the powers were computed for registers of this width, so that kernels on such registers may
    /// use them.
    pub(crate) fn is_bound_to<W: CarrylessLanes>(&self) -> bool {
        self.powers.register_bits == W::BITS
    }

    /// The powers of the key that were computed, for kernels of carry-less products: the first
    /// ones, or all after [`Ghash::raise_all`].
    #[inline]
    pub(crate) fn powers(&self) -> &Powers {
        self.all.get().map_or(&self.powers, |all| all)
    }

    /// Computes all powers of the key, unless they exist.
    #[inline]
    pub(crate) fn raise_all(&self) -> &Powers {
        if self.powers.count == POWERS_MAX {
            return &self.powers;
        }
        self.all.get_or_init(|| {
            let mut all = Wiped::new(Powers::NONE);
            all.begin(
                self.powers.blocks[POWERS_MAX - 1],
                self.powers.folded[POWERS_MAX - 1],
                self.powers.order,
            );
            if let Some(by_products) = &self.by_products {
                by_products.raise(&mut all, POWERS_MAX);
            }
            all
        })
    }

    /// Absorbs a string, padded with zeros to a whole block.
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

    /// Absorbs one block or more.
    fn absorb_blocks(&self, sum: &mut Block, blocks: &[u8]) {
        match &self.by_products {
            Some(by_products) if self.powers.serves(blocks.len()) => {
                by_products.absorb(&self.powers, sum, blocks);
            }
            Some(by_products) => by_products.absorb(self.raise_all(), sum, blocks),
            None => self.powers.absorb_by_integers(sum, blocks),
        }
    }
}

impl fmt::Debug for Ghash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ghash(secret)")
    }
}

/// The order of a block's bytes in a lane.
#[derive(Clone, Copy)]
enum Order {
    /// The order for GHASH.
    Reversed,
    /// The order for POLYVAL.
    AsItIs,
}

impl Order {
    /// Shuffle indices from a block to a lane. They also lead from a lane to a block.
    const fn places(self) -> Block {
        match self {
            Self::Reversed => [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
            Self::AsItIs => [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        }
    }

    /// A block as the number in a lane.
    const fn number(self, block: &Block) -> u128 {
        match self {
            Self::Reversed => u128::from_be_bytes(*block),
            Self::AsItIs => u128::from_le_bytes(*block),
        }
    }

    /// The block of a number in a lane.
    const fn block(self, number: u128) -> Block {
        match self {
            Self::Reversed => number.to_be_bytes(),
            Self::AsItIs => number.to_le_bytes(),
        }
    }
}

/// The sum of a power's halves, in both halves.
const fn folded(power: u128) -> u128 {
    power ^ power.rotate_left(64)
}

/// The product of two lanes divided by x¹²⁸, as [`Product::of`] and [`Field::reduced`] compute it.
fn product(a: u128, b: u128) -> u128 {
    let halves = |block: u128| (block as u64, (block >> 64) as u64);
    let ((a_low, a_high), (b_low, b_high)) = (halves(a), halves(b));
    let (low, high) = (carryless(a_low, b_low), carryless(a_high, b_high));
    let cross = carryless(a_low ^ a_high, b_low ^ b_high) ^ low ^ high;
    let (low, high) = (low ^ cross << 64, high ^ cross >> 64);
    let step = |low: u128| {
        let half = u128::from(low as u64);
        low.rotate_left(64) ^ half << 63 ^ half << 62 ^ half << 57
    };
    high ^ step(step(low))
}

/// The carry-less product, from integer products of 64 bits. WebAssembly and 32-bit CPUs have no wider ones.
///
/// The high half is the low half of the product of the reversed factors, reversed.
fn carryless(a: u64, b: u64) -> u128 {
    let low = carryless_low(a, b);
    let high = carryless_low(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    u128::from(high) << 64 | u128::from(low)
}

/// The low half of the carry-less product.
///
/// Each factor is split into four parts of every fourth bit. A product of two parts adds at most 15 ones at a
/// place below 60. Their carries do not reach the next used place, which is four bits higher. Carries of higher
/// places leave the low half.
fn carryless_low(a: u64, b: u64) -> u64 {
    const FOURTH: u64 = 0x1111_1111_1111_1111;
    let every_fourth = |number: u64| [0, 1, 2, 3].map(|first| number & FOURTH << first);
    let (a, b) = (every_fourth(a), every_fourth(b));
    let mut product = 0;
    for place in 0..4 {
        let mut sum = 0;
        for i in 0..4 {
            sum ^= a[i].wrapping_mul(b[(4 + place - i) % 4]);
        }
        product |= sum & FOURTH << place;
    }
    product
}

/// A reversed key times x. Products of reversed blocks are divided by x, and this factor compensates.
fn times_x(key: u128) -> u128 {
    let overflow = (key >> 127) * (0xc2 << 120 | 1);
    key << 1 ^ overflow
}

/// Registers of blocks in a stride: their products are added and reduced once.
pub(crate) const STRIDE: usize = 8;

/// Blocks in the widest register.
pub(crate) const LANES_MAX: usize = Line::LANES;

/// Blocks of a message other than its data that can be hashed in one sum with a stride.
const BESIDES: usize = 8;

/// The number of powers for the widest registers.
const POWERS_MAX: usize = STRIDE * LANES_MAX + BESIDES;

/// Powers that are computed with the key, for registers of `lanes` blocks: on four lanes enough for 320 bytes, some
/// associated data and the lengths, otherwise for 64 to 160 bytes. Fewer lanes take longer for each power.
const fn first_powers(lanes: usize) -> usize {
    if lanes == 1 { 8 } else { 6 * lanes }
}

/// The powers of a key in lane order.
///
/// `blocks[POWERS_MAX - k]` is power k, and zeros follow the first power. Powers for neighbouring blocks are
/// therefore neighbours too. `order` is the byte order of blocks in lanes.
pub(crate) struct Powers {
    blocks: [Block; POWERS_MAX + LANES_MAX],
    /// For each power the XOR of its halves, in both halves.
    folded: [Block; POWERS_MAX + LANES_MAX],
    /// `across[r - 1]` is the power over r registers, broadcast to every lane. It depends on the register
    /// width.
    across: [Power; STRIDE],
    /// The first power in the second lane, with zeros elsewhere.
    in_second_lane: Power,
    order: Order,
    /// The register width for which `blocks`, `folded` and `across` were computed; 0 before that.
    register_bits: usize,
    /// The number of powers that were computed.
    count: usize,
}

/// Powers for the blocks of some registers, and their folded halves.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    powers: &'a [u8],
    folded: &'a [u8],
}

impl Factors<'_> {
    /// The factors for register `place`.
    #[inline(always)]
    pub(crate) fn load<W: CarrylessLanes>(&self, isa: W::Isa, place: usize) -> Factor<W> {
        let at = place * W::BYTES;
        let (power, folded) = (&self.powers[at..][..W::BYTES], &self.folded[at..][..W::BYTES]);
        Factor { power: W::load(isa, power), folded: W::load(isa, folded) }
    }
}

/// A power in every lane, and its folded halves in each.
#[derive(Clone, Copy)]
pub(crate) struct Power {
    lanes: Line,
    folded: Line,
}

impl Power {
    const ZERO: Self = Self { lanes: Line::ZERO, folded: Line::ZERO };

    #[inline(always)]
    pub(crate) fn load<W: CarrylessLanes>(&self, isa: W::Isa) -> Factor<W> {
        Factor { power: self.lanes.load(isa), folded: self.folded.load(isa) }
    }
}

impl Powers {
    /// Zeros in every byte, so that they are written where they stay. [`Powers::begin`] comes next.
    const NONE: Self = Self {
        blocks: [[0; BLOCK_BYTES]; POWERS_MAX + LANES_MAX],
        folded: [[0; BLOCK_BYTES]; POWERS_MAX + LANES_MAX],
        across: [Power::ZERO; STRIDE],
        in_second_lane: Power::ZERO,
        order: Order::Reversed,
        register_bits: 0,
        count: 0,
    };

    /// Takes the first power, and the sum of its halves.
    fn begin(&mut self, power: Block, folded: Block, order: Order) {
        (self.order, self.register_bits, self.count) = (order, 0, 1);
        (self.blocks[POWERS_MAX - 1], self.folded[POWERS_MAX - 1]) = (power, folded);
        (self.in_second_lane.lanes.0[1], self.in_second_lane.folded.0[1]) = (power, folded);
    }

    /// The number of powers that were computed.
    #[inline(always)]
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The register of the lowest powers, from the first one.
    #[inline(always)]
    fn lowest<W: CarrylessLanes>(&self, isa: W::Isa, field: &Field<W>) -> W {
        let first = self.one::<W>(isa, 1);
        let (mut numbered, mut lowest) = ([first; LANES_MAX], first);
        for number in 2..=W::BITS / 128 {
            let half = number / 2;
            let power = field.reduced(Product::of(numbered[half - 1], numbered[number - half - 1]));
            (numbered[number - 1], lowest) = (power, lowest.preceded_by(power));
        }
        lowest
    }

    /// Keeps register `at` of the powers, the lowest being register 0.
    #[inline(always)]
    fn keep<W: CarrylessLanes>(&mut self, field: &Field<W>, at: usize, register: W) {
        let (blocks, folded) = (W::BITS / 128, field.folded(register));
        let place = POWERS_MAX - (at + 1) * blocks;
        register.store(self.blocks[place..][..blocks].as_flattened_mut());
        folded.store(self.folded[place..][..blocks].as_flattened_mut());
        if let Some(across) = self.across.get_mut(at) {
            register.lowest_in_all().store(&mut across.lanes.bytes_mut()[..W::BYTES]);
            folded.lowest_in_all().store(&mut across.folded.bytes_mut()[..W::BYTES]);
        }
    }

    /// Whether there are enough powers to hash `len_bytes` bytes. A stride needs a power for each of its
    /// blocks.
    const fn serves(&self, len_bytes: usize) -> bool {
        let register_bytes = self.register_bits / 8;
        len_bytes <= STRIDE * register_bytes || self.count * BLOCK_BYTES >= STRIDE * register_bytes
    }

    /// Absorbs one block or more, by the first power and integer products. This is constant-time on CPUs with
    /// a constant-time integer multiplication.
    fn absorb_by_integers(&self, sum: &mut Block, blocks: &[u8]) {
        let first = u128::from_le_bytes(self.blocks[POWERS_MAX - 1]);
        let mut hash = self.order.number(sum);
        for block in blocks.as_chunks().0 {
            hash = product(hash ^ self.order.number(block), first);
        }
        *sum = self.order.block(hash);
    }

    /// The factors for the blocks of `N` neighbouring registers. The first block is multiplied by this power.
    /// The last register must contain at least one block.
    #[inline(always)]
    pub(crate) fn registers<W: CarrylessLanes, const N: usize>(&self, power: usize) -> Factors<'_> {
        // For one register this is the only remaining check: every power has at least as many blocks after it
        // as there are lanes.
        assert!(power <= POWERS_MAX);
        let (at, blocks) = (POWERS_MAX - power, N * W::BITS / 128);
        let (powers, folded) = (&self.blocks[at..][..blocks], &self.folded[at..][..blocks]);
        Factors { powers: powers.as_flattened(), folded: folded.as_flattened() }
    }

    /// The powers for one register of neighbouring blocks. The first block is multiplied by this power.
    #[inline(always)]
    pub(crate) fn from<W: CarrylessLanes>(&self, isa: W::Isa, power: usize) -> W {
        self.registers::<W, 1>(power).load(isa, 0).power
    }

    /// One power, in every lane.
    #[inline(always)]
    pub(crate) fn one<W: CarrylessLanes>(&self, isa: W::Isa, power: usize) -> W {
        assert!((1..=POWERS_MAX).contains(&power));
        W::broadcast(isa, &self.blocks[POWERS_MAX - power])
    }
}

/// An implementation by products of one kind of register.
trait Absorb: Send + Sync {
    /// Computes the first `count` powers from the first one.
    fn raise(&self, powers: &mut Powers, count: usize);

    /// Absorbs one block or more.
    fn absorb(&self, powers: &Powers, sum: &mut Block, blocks: &[u8]);
}

/// The implementation by products of these registers.
struct ByProducts<W: CarrylessLanes>(W::Isa);

impl<W: CarrylessLanes> ByProducts<W> {
    /// Computes the powers for strings of at most `len_bytes`. `None` if these registers do not exist.
    fn raised(powers: &mut Powers, len_bytes: usize, features: Features) -> Option<Box<dyn Absorb>> {
        let isa = W::Isa::detect(features)?;
        // GCM-SIV has a key per message, so only the powers that its length needs are computed.
        let lanes = W::BITS / 128;
        let count = match powers.order {
            Order::Reversed => first_powers(lanes),
            Order::AsItIs if len_bytes < STRIDE * W::BYTES => lanes,
            Order::AsItIs => STRIDE * lanes,
        };
        let by_products = Self(isa);
        by_products.raise(powers, count);
        Some(Box::new(by_products))
    }
}

impl<W: CarrylessLanes> Absorb for ByProducts<W> {
    fn raise(&self, powers: &mut Powers, count: usize) {
        self.0.enter(Raise::<W>(self.0, powers, count));
        (powers.register_bits, powers.count) = (W::BITS, count);
    }

    fn absorb(&self, powers: &Powers, sum: &mut Block, blocks: &[u8]) {
        self.0.enter(AbsorbBlocks::<W> { isa: self.0, powers, sum, blocks });
    }
}

/// Computes the first powers. The last field is their number; they fill whole registers.
///
/// Powers 1 to k times power k are powers k + 1 to 2k. The products of such a pass do not wait for one another. The first
/// registers stay in registers, so that no product waits for a store.
struct Raise<'a, W: CarrylessLanes>(W::Isa, &'a mut Powers, usize);

impl<W: CarrylessLanes> Kernel for Raise<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, all, needed) = self;
        let lanes = W::BITS / 128;
        assert!(needed.is_multiple_of(lanes) && needed <= POWERS_MAX);
        let field = Field::<W>::new(isa, Order::AsItIs);
        let mut registers = [all.lowest(isa, &field); STRIDE];
        all.keep(&field, 0, registers[0]);
        unrolled!(at in [1 2 3 4 5 6 7] {
            if at * lanes < needed {
                let before = 1 << at.ilog2();
                let highest = registers[before - 1].lowest_in_all();
                registers[at] = field.reduced(Product::of(registers[at - before], highest));
                all.keep(&field, at, registers[at]);
            }
        });
        let highest = registers[STRIDE - 1].lowest_in_all();
        for at in STRIDE..needed / lanes {
            let from = all.from(isa, (at - STRIDE + 1) * lanes);
            all.keep(&field, at, field.reduced(Product::of(from, highest)));
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
