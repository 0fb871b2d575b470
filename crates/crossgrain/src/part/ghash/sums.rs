//! GHASH as kernels go on with it: a sum for every lane, or, of few blocks, one product for each.

use super::field::{ByThree, Factor, Field, Product};
use super::{BESIDES, Factors, LANES_MAX, Lanes, Power, Powers, STRIDE};
use crate::block::{BLOCK_BYTES, Block};
use crate::word::{AesLanes, CarrylessLanes, each, wipe};

/// [`Sums`] in memory. Wiped when dropped: with what was hashed they would give away the key.
pub(in crate::part) struct Kept {
    sums: Lanes,
    due: Lanes,
}

impl Kept {
    /// A place for them.
    pub(in crate::part) const fn new() -> Self {
        Self { sums: Lanes::ZERO, due: Lanes::ZERO }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        wipe(&mut self.sums.0);
        wipe(&mut self.due.0);
    }
}

/// Two registers of a stride, and the powers of the second and the first.
pub(in crate::part) type Pair<'a> = (&'a [u8], &'a [Power; 2]);

/// A hash on its way: a sum a lane.
pub(in crate::part) struct Sums<'a, W: CarrylessLanes> {
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
    pub(in crate::part) fn from(isa: W::Isa, powers: &'a Powers, sum: &Block) -> Self {
        let field = Field::<W>::new(isa, powers.order);
        Self { isa, powers, field, sums: field.zero, due: field.load_lowest(isa, sum) }
    }

    /// Begins with a string of no more bytes than a register has: with its last block in the last lane.
    #[inline(always)]
    pub(in crate::part) fn begun(isa: W::Isa, powers: &'a Powers, string: &[u8]) -> Self
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
    pub(in crate::part) fn load(isa: W::Isa, powers: &'a Powers, Kept { sums, due }: &Kept) -> Self {
        let field = Field::<W>::new(isa, powers.order);
        let (sums, due) = (W::load(isa, &sums.0[..W::BYTES]), W::load(isa, &due.0[..W::BYTES]));
        Self { isa, powers, field, sums, due }
    }

    /// Keeps them in memory.
    #[inline(always)]
    pub(in crate::part) fn keep(&self, kept: &mut Kept) {
        self.sums.store(&mut kept.sums.0[..W::BYTES]);
        self.due.store(&mut kept.due.0[..W::BYTES]);
    }

    /// Goes on from `sum` with a register that is not full.
    #[inline(always)]
    pub(super) fn after(isa: W::Isa, powers: &'a Powers, sum: &Block, first: &[u8]) -> Self {
        let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
        let start = W::BYTES - first.len();
        bytes[start..W::BYTES].copy_from_slice(first);
        for i in 0..BLOCK_BYTES {
            bytes[start + i] ^= sum[i];
        }
        let field = Field::<W>::new(isa, powers.order);
        Self { isa, powers, field, sums: field.load(isa, &bytes[..W::BYTES]), due: field.zero }
    }

    /// What the sums so far, and the first register of a stride, come to at its end.
    #[inline(always)]
    pub(in crate::part) fn begin_stride(&mut self, first: &[u8]) -> ByThree<W> {
        let blocks = self.field.load(self.isa, first) ^ self.due;
        self.due = self.field.zero;
        let [.., of_first, of_sums] = &self.powers.across;
        let sums = self.field.by_three(self.sums, of_sums.load(self.isa));
        sums.plus(self.field.by_three(blocks, of_first.load(self.isa)))
    }

    /// All registers of a stride but the first and the last, two by two, with their powers.
    #[inline(always)]
    pub(in crate::part) fn pairs<'b>(&self, stride: &'b [u8]) -> impl Iterator<Item = Pair<'b>>
    where
        'a: 'b,
    {
        let (powers, _) = self.powers.across[..STRIDE - 2].as_chunks();
        stride[W::BYTES..].chunks_exact(2 * W::BYTES).zip(powers.iter().rev())
    }

    /// What the first register of a pair comes to at the end of its stride.
    #[inline(always)]
    pub(in crate::part) fn front(&self, (registers, [_, power]): Pair<'_>) -> ByThree<W> {
        let blocks = self.field.load(self.isa, &registers[..W::BYTES]);
        self.field.by_three(blocks, power.load(self.isa))
    }

    /// What the second register of a pair comes to.
    #[inline(always)]
    pub(in crate::part) fn back(&self, (registers, [power, _]): Pair<'_>) -> ByThree<W> {
        let blocks = self.field.load(self.isa, &registers[W::BYTES..]);
        self.field.by_three(blocks, power.load(self.isa))
    }

    /// Adds the last register of a stride.
    #[inline(always)]
    pub(in crate::part) fn end_stride(&mut self, products: ByThree<W>, last: &[u8]) {
        self.sums = self.field.reduced(products.product()) ^ self.field.load(self.isa, last);
    }

    /// Adds [`STRIDE`] registers.
    #[inline(always)]
    pub(in crate::part) fn add_stride(&mut self, stride: &[u8]) {
        let mut products = self.begin_stride(&stride[..W::BYTES]);
        for pair in self.pairs(stride) {
            products = products.plus(self.front(pair)).plus(self.back(pair));
        }
        self.end_stride(products, &stride[(STRIDE - 1) * W::BYTES..][..W::BYTES]);
    }

    /// The sums so far, for [`Few::after_lanes`].
    #[inline(always)]
    pub(in crate::part) const fn lanes(&self) -> W {
        self.sums
    }

    #[inline(always)]
    pub(super) fn add_register(&mut self, register: &[u8]) {
        let moved = self.field.reduced(Product::of(self.sums, self.powers.across[0].load(self.isa).power));
        self.sums = moved ^ self.field.load(self.isa, register);
    }

    /// The sum of the lanes, of which the first is the furthest from the end.
    #[inline(always)]
    pub(in crate::part) fn end(self) -> Block {
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
pub(in crate::part) struct Few<'a, W> {
    powers: &'a Powers,
    field: Field<W>,
    pub(in crate::part) products: ByThree<W>,
    /// The power for the next block: blocks that are still to come.
    power: usize,
    /// What is still to be added to the next block.
    due: W,
}

impl<'a, W: AesLanes> Few<'a, W> {
    /// The most blocks of a hash.
    pub(in crate::part) const BLOCKS_MAX: usize = STRIDE * W::BLOCKS + BESIDES;

    /// Begins with so many blocks.
    #[inline(always)]
    pub(in crate::part) fn new(isa: W::Isa, powers: &'a Powers, blocks: usize) -> Self {
        let field = Field::<W>::of_ghash(isa);
        Self { powers, field, products: ByThree::none(&field), power: blocks, due: field.zero }
    }

    /// The next block is added to `sum`.
    #[inline(always)]
    pub(in crate::part) fn after(&mut self, isa: W::Isa, sum: &Block) {
        self.due = self.field.load_lowest(isa, sum);
    }

    /// The blocks follow on sums of lanes, which are multiplied like blocks.
    #[inline(always)]
    pub(in crate::part) fn after_lanes(&mut self, isa: W::Isa, lanes: W) {
        let factors = self.powers.registers::<W, 1>(W::BLOCKS + self.power);
        self.products = self.field.by_three(lanes, factors.load(isa, 0));
    }

    /// Adds the first blocks of a register, behind which it has zeros.
    #[inline(always)]
    pub(in crate::part) fn add(&mut self, isa: W::Isa, register: W, blocks: usize) {
        self.add_by(register, self.of_registers::<1>().load(isa, 0));
        self.power -= blocks;
    }

    /// Adds a register, whose blocks are multiplied by this.
    #[inline(always)]
    pub(in crate::part) fn add_by(&mut self, register: W, factor: Factor<W>) {
        let lanes = register.pick(self.field.places) ^ self.due;
        self.due = self.field.zero;
        self.products = self.products.plus(self.field.by_three(lanes, factor));
    }

    /// What the blocks of so many registers are multiplied by, which are added by [`Few::add_by`].
    #[inline(always)]
    pub(in crate::part) fn of_registers<const N: usize>(&self) -> Factors<'a> {
        self.powers.registers::<W, N>(self.power)
    }

    /// Adds a string, with zeros behind it up to a whole block.
    #[inline(always)]
    pub(in crate::part) fn add_all(&mut self, isa: W::Isa, string: &[u8]) {
        for register in string.chunks(W::BYTES) {
            self.add(isa, W::load_part(isa, register), register.len().div_ceil(BLOCK_BYTES));
        }
    }

    /// The hash, in every lane, after a last block that is this number in every lane.
    #[inline(always)]
    pub(in crate::part) fn end(self, isa: W::Isa, last: W) -> W {
        let last = Product::of(last, self.powers.from(isa, 1));
        self.field.end(self.products.product().plus(last))
    }
}
