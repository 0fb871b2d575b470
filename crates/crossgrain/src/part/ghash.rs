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

use std::fmt;

use crate::block::{BLOCK_BYTES, Block};
use crate::word::{
    AesLanes, CarrylessLanes, ClmulWord128, ClmulWord256, ClmulWord512, Features, Isa, Kernel, Wiped, each,
    wipe,
};

/// GHASH, or POLYVAL, with one key.
pub struct Ghash {
    powers: Wiped<Powers>,
    by: Box<dyn Absorb>,
    is_by_products: bool,
}

impl Ghash {
    /// Binds GHASH to a key by the widest of these instructions. Wiped when dropped.
    pub fn new(key: &Block, features: Features) -> Self {
        let first = times_x(Order::Reversed.number(key));
        Self::by_first_power((first, Order::Reversed), usize::MAX, features)
    }

    /// Binds POLYVAL (RFC 8452 §3) likewise, for strings of `len_bytes` at most.
    pub fn polyval(key: &Block, len_bytes: usize, features: Features) -> Self {
        Self::by_first_power((Order::AsItIs.number(key), Order::AsItIs), len_bytes, features)
    }

    fn by_first_power(first: (u128, Order), len_bytes: usize, features: Features) -> Self {
        // Filled where they stay: what is moved leaves a copy.
        let mut powers = Wiped::from(Box::new(Powers::NONE));
        powers.order = first.1;
        powers.blocks[POWERS_MAX - 1] = first.0.to_le_bytes();
        let by = None
            .or_else(|| ByProducts::<ClmulWord512>::raised(&mut powers, len_bytes, features))
            .or_else(|| ByProducts::<ClmulWord256>::raised(&mut powers, len_bytes, features))
            .or_else(|| ByProducts::<ClmulWord128>::raised(&mut powers, len_bytes, features));
        let is_by_products = by.is_some();
        Self { powers, by: by.unwrap_or_else(|| Box::new(ByIntegers)), is_by_products }
    }

    /// Whether carry-less products compute the hash.
    pub const fn is_by_products(&self) -> bool {
        self.is_by_products
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
            self.by.absorb(&self.powers, sum, whole);
        }
        if !rest.is_empty() {
            let mut last = [0; BLOCK_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            self.by.absorb(&self.powers, sum, &last);
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

/// A way to compute it.
trait Absorb: Send + Sync {
    /// Goes on with one block or more.
    fn absorb(&self, powers: &Powers, sum: &mut Block, blocks: &[u8]);
}

/// The hash by products of integers, in constant time where the CPU multiplies so; block by block, by the first power.
struct ByIntegers;

impl Absorb for ByIntegers {
    fn absorb(&self, powers: &Powers, sum: &mut Block, blocks: &[u8]) {
        let (order, first) = (powers.order, u128::from_le_bytes(powers.blocks[POWERS_MAX - 1]));
        let mut hash = order.number(sum);
        for block in blocks.as_chunks().0 {
            hash = product(hash ^ order.number(block), first);
        }
        *sum = order.block(hash);
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
    /// The powers over one register and more, up to a stride, in every lane.
    across: [Lanes; STRIDE],
    order: Order,
}

/// The lanes of the widest register.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes([u8; LANES_MAX * BLOCK_BYTES]);

impl Lanes {
    const ZERO: Self = Self([0; LANES_MAX * BLOCK_BYTES]);
}

/// [`Sums`] in memory. Wiped when dropped: with what was hashed they would give away the key.
pub(super) struct Kept {
    sums: Lanes,
    due: Lanes,
}

impl Kept {
    /// A place for them.
    pub(super) const fn new() -> Self {
        Self { sums: Lanes::ZERO, due: Lanes::ZERO }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        wipe(&mut self.sums.0);
        wipe(&mut self.due.0);
    }
}

impl Powers {
    /// A place for powers.
    const NONE: Self = Self {
        blocks: [[0; BLOCK_BYTES]; POWERS_MAX + LANES_MAX],
        across: [Lanes::ZERO; STRIDE],
        order: Order::Reversed,
    };

    /// Those of the blocks of `N` neighbouring registers, of which the first block is to be multiplied by this power, and the last register
    /// has one at least.
    #[inline(always)]
    pub(super) fn registers<W: CarrylessLanes, const N: usize>(&self, power: usize) -> &[Block] {
        assert!(power <= POWERS_MAX);
        &self.blocks[POWERS_MAX - power..][..N * W::BITS / 128]
    }

    /// Those of as many neighbouring blocks as a register has, of which the first is to be multiplied by this power.
    #[inline(always)]
    pub(super) fn from<W: CarrylessLanes>(&self, isa: W::Isa, power: usize) -> W {
        // The only check that is left: behind every power lie as many blocks as lanes.
        assert!(power <= POWERS_MAX);
        W::load(isa, &self.blocks[POWERS_MAX - power..][..W::BITS / 128].as_flattened()[..W::BYTES])
    }

    /// One power, in every lane.
    #[inline(always)]
    pub(super) fn one<W: CarrylessLanes>(&self, isa: W::Isa, power: usize) -> W {
        assert!((1..=POWERS_MAX).contains(&power));
        W::broadcast(isa, &self.blocks[POWERS_MAX - power])
    }
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
            full = if count == lanes { Some(higher) } else { None };
            left -= count;
        }
        for registers in 1..=needed.min(STRIDE * lanes) / lanes {
            let power: W = all.one(isa, registers * lanes);
            power.store(&mut all.across[registers - 1].0[..W::BYTES]);
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

/// A hash on its way: a sum a lane.
pub(super) struct Sums<'a, W: CarrylessLanes> {
    isa: W::Isa,
    powers: &'a Powers,
    field: Field<W>,
    sums: W,
    /// What is still to be added to the next block.
    due: W,
}

impl<'a, W: CarrylessLanes> Sums<'a, W> {
    /// Blocks in a register.
    const LANES: usize = W::BITS / 128;

    /// Goes on from `sum` with whole registers.
    #[inline(always)]
    pub(super) fn from(isa: W::Isa, powers: &'a Powers, sum: &Block) -> Self {
        let field = Field::<W>::new(isa, powers.order);
        Self { isa, powers, field, sums: field.zero, due: field.load_lowest(isa, sum) }
    }

    /// Begins with a string of no more bytes than a register has: with its last block in the last lane.
    #[inline(always)]
    pub(super) fn begun(isa: W::Isa, powers: &'a Powers, string: &[u8]) -> Self
    where
        W: AesLanes,
    {
        let field = Field::<W>::new(isa, powers.order);
        let mut sums = W::load_part(isa, string).pick(field.places);
        for _ in string.len().div_ceil(BLOCK_BYTES)..Self::LANES {
            sums = sums.preceded_by(field.zero);
        }
        Self { isa, powers, field, sums, due: field.zero }
    }

    /// Goes on from where [`Sums::keep`] was.
    #[inline(always)]
    pub(super) fn load(isa: W::Isa, powers: &'a Powers, Kept { sums, due }: &Kept) -> Self {
        let field = Field::<W>::new(isa, powers.order);
        let (sums, due) = (W::load(isa, &sums.0[..W::BYTES]), W::load(isa, &due.0[..W::BYTES]));
        Self { isa, powers, field, sums, due }
    }

    /// Keeps them in memory.
    #[inline(always)]
    pub(super) fn keep(&self, kept: &mut Kept) {
        self.sums.store(&mut kept.sums.0[..W::BYTES]);
        self.due.store(&mut kept.due.0[..W::BYTES]);
    }

    /// Goes on from `sum` with a register that is not full.
    #[inline(always)]
    fn after(isa: W::Isa, powers: &'a Powers, sum: &Block, first: &[u8]) -> Self {
        let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
        let start = W::BYTES - first.len();
        bytes[start..W::BYTES].copy_from_slice(first);
        for i in 0..BLOCK_BYTES {
            bytes[start + i] ^= sum[i];
        }
        let field = Field::<W>::new(isa, powers.order);
        Self { isa, powers, field, sums: field.load(isa, &bytes[..W::BYTES]), due: field.zero }
    }

    /// The key's power over so many registers.
    #[inline(always)]
    fn across(&self, registers: usize) -> W {
        W::load(self.isa, &self.powers.across[registers - 1].0[..W::BYTES])
    }

    /// What the sums so far come to at the end of a stride.
    #[inline(always)]
    pub(super) fn begin_stride(&self) -> Product<W> {
        Product::of(self.sums, self.across(STRIDE))
    }

    /// Adds register `place` of a stride, which is not the last.
    #[inline(always)]
    pub(super) fn add_in_stride(&mut self, products: &mut Product<W>, place: usize, register: &[u8]) {
        let blocks = self.field.load(self.isa, register) ^ self.due;
        self.due = self.field.zero;
        *products = products.plus(Product::of(blocks, self.across(STRIDE - 1 - place)));
    }

    /// Adds the last register of a stride.
    #[inline(always)]
    pub(super) fn end_stride(&mut self, products: Product<W>, register: &[u8]) {
        self.sums = self.field.reduced(products) ^ self.field.load(self.isa, register);
    }

    /// Adds [`STRIDE`] registers.
    #[inline(always)]
    pub(super) fn add_stride(&mut self, stride: &[u8]) {
        let mut products = self.begin_stride();
        for place in 0..STRIDE - 1 {
            self.add_in_stride(&mut products, place, &stride[place * W::BYTES..][..W::BYTES]);
        }
        self.end_stride(products, &stride[(STRIDE - 1) * W::BYTES..]);
    }

    /// The sums so far, for [`Few::after_lanes`].
    #[inline(always)]
    pub(super) const fn lanes(&self) -> W {
        self.sums
    }

    #[inline(always)]
    fn add_register(&mut self, register: &[u8]) {
        let moved = self.field.reduced(Product::of(self.sums, self.across(1)));
        self.sums = moved ^ self.field.load(self.isa, register);
    }

    /// The sum of the lanes, of which the first is the furthest from the end.
    #[inline(always)]
    pub(super) fn end(self) -> Block {
        let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
        let powers = self.powers.from(self.isa, Self::LANES);
        let sums = self.field.reduced(Product::of(self.sums, powers));
        sums.pick(self.field.places).store(&mut bytes[..W::BYTES]);
        let mut sum = [0; BLOCK_BYTES];
        for lane in bytes[..W::BYTES].as_chunks::<BLOCK_BYTES>().0 {
            sum = each!(i < 16 => sum[i] ^ lane[i]);
        }
        sum
    }
}

/// GHASH of so few blocks that each is multiplied by a power of its own, and their sum is reduced once.
pub(super) struct Few<'a, W> {
    powers: &'a Powers,
    field: Field<W>,
    pub(super) products: Product<W>,
    /// The power for the next block: blocks that are still to come.
    power: usize,
    /// What is still to be added to the next block.
    due: W,
}

impl<'a, W: AesLanes> Few<'a, W> {
    /// The most blocks of a hash.
    pub(super) const BLOCKS_MAX: usize = STRIDE * W::BLOCKS + BESIDES;

    /// Begins with so many blocks.
    #[inline(always)]
    pub(super) fn new(isa: W::Isa, powers: &'a Powers, blocks: usize) -> Self {
        let field = Field::<W>::of_ghash(isa);
        Self { powers, field, products: field.none(), power: blocks, due: field.zero }
    }

    /// The next block is added to `sum`.
    #[inline(always)]
    pub(super) fn after(&mut self, isa: W::Isa, sum: &Block) {
        self.due = self.field.load_lowest(isa, sum);
    }

    /// The blocks follow on sums of lanes, which are multiplied like blocks.
    #[inline(always)]
    pub(super) fn after_lanes(&mut self, isa: W::Isa, lanes: W) {
        self.products = Product::of(lanes, self.powers.from(isa, W::BLOCKS + self.power));
    }

    /// Adds the first blocks of a register, behind which it has zeros.
    #[inline(always)]
    pub(super) fn add(&mut self, isa: W::Isa, register: W, blocks: usize) {
        let power = self.powers.from(isa, self.power);
        self.add_by(register, power);
        self.power -= blocks;
    }

    /// Adds a register, whose blocks are multiplied by these.
    #[inline(always)]
    pub(super) fn add_by(&mut self, register: W, powers: W) {
        let lanes = register.pick(self.field.places) ^ self.due;
        self.due = self.field.zero;
        self.products = self.products.plus(Product::of(lanes, powers));
    }

    /// The powers for the blocks of so many registers, which are added by [`Few::add_by`].
    #[inline(always)]
    pub(super) fn of_registers<const N: usize>(&self) -> &'a [u8] {
        self.powers.registers::<W, N>(self.power).as_flattened()
    }

    /// Adds a string, with zeros behind it up to a whole block.
    #[inline(always)]
    pub(super) fn add_all(&mut self, isa: W::Isa, string: &[u8]) {
        for register in string.chunks(W::BYTES) {
            self.add(isa, W::load_part(isa, register), register.len().div_ceil(BLOCK_BYTES));
        }
    }

    /// Leaves out a block, whose product is taken elsewhere.
    #[inline(always)]
    pub(super) const fn skip(&mut self) {
        self.power -= 1;
    }

    /// The hash, in every lane, after a last block that is this number in every lane.
    #[inline(always)]
    pub(super) fn end(self, isa: W::Isa, last: W) -> W {
        let last = Product::of(last, self.powers.from(isa, 1));
        self.field.end(self.products.plus(last))
    }
}

/// The constants of the field in each lane.
#[derive(Clone, Copy)]
pub(super) struct Field<W> {
    zero: W,
    /// x¹²⁸ + x¹²⁷ + x¹²⁶ + x¹²¹ + 1 less its ends, which reductions have as swaps.
    modulus: W,
    /// Picks the bytes of a block for a lane, and back.
    places: W,
    /// Picks the halves of a block in reverse.
    swap: W,
}

impl<W: CarrylessLanes> Field<W> {
    /// Those of GHASH.
    #[inline(always)]
    pub(super) fn of_ghash(isa: W::Isa) -> Self {
        Self::new(isa, Order::Reversed)
    }

    /// No products.
    #[inline(always)]
    pub(super) const fn none(&self) -> Product<W> {
        Product { low: self.zero, cross: self.zero, high: self.zero }
    }

    /// The big-endian number that each block is; and back.
    #[inline(always)]
    pub(super) fn reversed(&self, blocks: W) -> W {
        blocks.pick(self.places)
    }

    #[inline(always)]
    fn new(isa: W::Isa, order: Order) -> Self {
        Self {
            zero: W::splat(isa, 0),
            modulus: W::splat(isa, 0xc2 << 56),
            places: W::broadcast(isa, &order.places()),
            swap: W::broadcast(isa, &[8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]),
        }
    }

    #[inline(always)]
    fn load(&self, isa: W::Isa, blocks: &[u8]) -> W {
        W::load(isa, blocks).pick(self.places)
    }

    /// The first lane, and zeros.
    #[inline(always)]
    fn load_lowest(&self, isa: W::Isa, block: &Block) -> W {
        W::load_lowest(isa, block).pick(self.places)
    }

    /// The product divided by x¹²⁸: its low half is cleared in two steps of 64 bits, by multiples of the modulus.
    #[inline(always)]
    fn reduced(&self, product: Product<W>) -> W {
        let Product { low, cross, high } = product;
        let low = low ^ W::exchange_halves(self.zero, cross).0;
        let high = high ^ W::exchange_halves(cross, self.zero).1;
        let once = low.pick(self.swap) ^ low.low_product(self.modulus);
        high ^ once.pick(self.swap) ^ once.low_product(self.modulus)
    }
}

impl<W: AesLanes> Field<W> {
    /// The hashes of as many messages as a register has lanes, a lane each, from their products: those that lie in all lanes of a
    /// register a message, and those of blocks of which each message has one, in its lane. They are reduced together.
    #[inline(always)]
    pub(super) fn ends(&self, mut across: [Product<W>; LANES_MAX], along: Product<W>) -> W {
        let mut count = W::BLOCKS;
        while count > 1 {
            count /= 2;
            for i in 0..count {
                across[i] = across[2 * i].lanes_joined(across[2 * i + 1]);
            }
        }
        self.reversed(self.reduced(across[0].plus(along)))
    }

    /// The hash of blocks, each multiplied by the power for its place: their sum, reduced, in every lane.
    #[inline(always)]
    pub(super) fn end(&self, products: Product<W>) -> W {
        let mut sum = self.reduced(products);
        let mut lanes = 1;
        while lanes < W::BLOCKS {
            let mut turned = sum;
            for _ in 0..lanes {
                turned = turned.preceded_by(turned);
            }
            (sum, lanes) = (sum ^ turned, 2 * lanes);
        }
        sum.pick(self.places)
    }
}

/// The 256 bits of a product: of low halves, of halves crosswise 64 bits higher, and of high halves.
#[derive(Clone, Copy)]
pub(super) struct Product<W> {
    low: W,
    cross: W,
    high: W,
}

impl<W: CarrylessLanes> Product<W> {
    #[inline(always)]
    pub(super) fn of(a: W, b: W) -> Self {
        Self { low: a.low_product(b), cross: a.cross_products(b), high: a.high_product(b) }
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self { low: self.low ^ other.low, cross: self.cross ^ other.cross, high: self.high ^ other.high }
    }
}

impl<W: AesLanes> Product<W> {
    /// The sums of neighbouring lanes, this one's in front of the other's.
    #[inline(always)]
    fn lanes_joined(self, other: Self) -> Self {
        let even_and_odd = (
            W::unzip_blocks(self.low, other.low),
            W::unzip_blocks(self.cross, other.cross),
            W::unzip_blocks(self.high, other.high),
        );
        let ((low, low_odd), (cross, cross_odd), (high, high_odd)) = even_and_odd;
        Self { low: low ^ low_odd, cross: cross ^ cross_odd, high: high ^ high_odd }
    }
}
