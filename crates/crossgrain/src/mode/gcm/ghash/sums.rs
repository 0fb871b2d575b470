//! GHASH inside other kernels. [`Sums`] has one sum per lane, for long data. [`ShortHash`] multiplies each of
//! a few blocks by a separate power and reduces once.

use super::field::{ByThree, Factor, Field, Product};
use super::{BESIDES, Factors, LANES_MAX, Powers, STRIDE};
use crate::arch::{AesLanes, CarrylessLanes, each};
use crate::block::{BLOCK_BYTES, Block};

/// A hash in progress, with one sum per lane.
pub(crate) struct Sums<'a, W: CarrylessLanes> {
    isa: W::Isa,
    powers: &'a Powers,
    field: Field<W>,
    sums: W,
}

impl<'a, W: CarrylessLanes> Sums<'a, W> {
    /// Blocks in a register.
    const LANES: usize = W::BITS / 128;

    /// Continues from `sum` with a string of at most one register; its last block goes to the last lane. If
    /// the string is empty, `sum` must be zero.
    #[inline(always)]
    pub(crate) fn begun(isa: W::Isa, powers: &'a Powers, sum: &Block, string: &[u8]) -> Self
    where
        W: AesLanes,
    {
        let field = Field::<W>::of_ghash(isa);
        let mut sums = (W::load_part(isa, string) ^ W::load_lowest(isa, sum)).shuffle_bytes(field.places);
        for _ in string.len().div_ceil(BLOCK_BYTES)..Self::LANES {
            sums = sums.preceded_by(field.zero);
        }
        Self { isa, powers, field, sums }
    }

    /// Continues from `sum` with a register that may be partly filled.
    #[inline(always)]
    pub(super) fn after(isa: W::Isa, powers: &'a Powers, sum: &Block, first: &[u8]) -> Self {
        let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
        let start = W::BYTES - first.len();
        bytes[start..W::BYTES].copy_from_slice(first);
        for i in 0..BLOCK_BYTES {
            bytes[start + i] ^= sum[i];
        }
        let field = Field::<W>::new(isa, powers.order);
        Self { isa, powers, field, sums: field.load(isa, &bytes[..W::BYTES]) }
    }

    /// The products, at the end of a stride, of the sums so far and the stride's first register.
    #[inline(always)]
    pub(crate) fn begin_stride(&self, stride: &[u8]) -> ByThree<W> {
        let of_sums = self.powers.across[STRIDE - 1].load(self.isa);
        self.field.two_by_three((self.sums, of_sums), self.of_stride(stride, 0))
    }

    /// The products, at the end of a stride, of two registers from this place on. The last register of the
    /// stride is not one of them.
    #[inline(always)]
    pub(crate) fn two_of_stride(&self, stride: &[u8], place: usize) -> ByThree<W> {
        self.field.two_by_three(self.of_stride(stride, place), self.of_stride(stride, place + 1))
    }

    /// A stride's register at this place, and the power that moves it to the end.
    #[inline(always)]
    fn of_stride(&self, stride: &[u8], place: usize) -> (W, Factor<W>) {
        let blocks = self.field.load(self.isa, &stride[place * W::BYTES..][..W::BYTES]);
        (blocks, self.powers.across[STRIDE - 2 - place].load(self.isa))
    }

    /// Reduces the products, and adds the last register of the stride.
    #[inline(always)]
    pub(crate) fn end_stride(&mut self, products: ByThree<W>, stride: &[u8]) {
        let last = self.field.load(self.isa, &stride[(STRIDE - 1) * W::BYTES..][..W::BYTES]);
        self.sums = self.field.reduced(products.product()) ^ last;
    }

    /// Adds [`STRIDE`] registers.
    #[inline(always)]
    pub(crate) fn add_stride(&mut self, stride: &[u8]) {
        let mut products = self.begin_stride(stride);
        for place in [1, 3, 5] {
            products = products.plus(self.two_of_stride(stride, place));
        }
        self.end_stride(products, stride);
    }

    /// The sums so far, for [`ShortHash::after_lanes`].
    #[inline(always)]
    pub(crate) const fn lanes(&self) -> W {
        self.sums
    }

    #[inline(always)]
    pub(super) fn add_register(&mut self, register: &[u8]) {
        let moved = self.field.reduced(Product::of(self.sums, self.powers.across[0].load(self.isa).power));
        self.sums = moved ^ self.field.load(self.isa, register);
    }

    /// The hash: the sum of all lanes, each multiplied by its power. The first lane has the highest power.
    #[inline(always)]
    pub(crate) fn end(self) -> Block {
        let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
        let powers = self.powers.from(self.isa, Self::LANES);
        let sums = self.field.reduced(Product::of(self.sums, powers));
        sums.shuffle_bytes(self.field.places).store(&mut bytes[..W::BYTES]);
        let mut sum = [0; BLOCK_BYTES];
        for lane in bytes[..W::BYTES].as_chunks::<BLOCK_BYTES>().0 {
            sum = each!(i < 16 => sum[i] ^ lane[i]);
        }
        sum
    }
}

/// GHASH of a few blocks: each is multiplied by its own power, and the sum is reduced once.
pub(crate) struct ShortHash<'a, W> {
    powers: &'a Powers,
    field: Field<W>,
    pub(crate) products: ByThree<W>,
    /// The power for the next block, which is also the number of blocks still to come.
    power: usize,
    /// The value to be added to the next block.
    due: W,
}

impl<'a, W: AesLanes> ShortHash<'a, W> {
    /// The maximum number of blocks of a hash.
    pub(crate) const BLOCKS_MAX: usize = STRIDE * W::BLOCKS + BESIDES;

    /// Begins a hash of this many blocks.
    #[inline(always)]
    pub(crate) fn new(isa: W::Isa, powers: &'a Powers, blocks: usize) -> Self {
        let field = Field::<W>::of_ghash(isa);
        Self { powers, field, products: ByThree::none(&field), power: blocks, due: field.zero }
    }

    /// Adds the next block to `sum`, an earlier hash.
    #[inline(always)]
    pub(crate) fn after(&mut self, isa: W::Isa, sum: &Block) {
        self.due = self.field.load_lowest(isa, sum);
    }

    /// Continues from the lane sums of [`Sums`], which are multiplied like blocks.
    #[inline(always)]
    pub(crate) fn after_lanes(&mut self, isa: W::Isa, lanes: W) {
        let factors = self.powers.registers::<W, 1>(W::BLOCKS + self.power);
        self.products = self.field.by_three(lanes, factors.load(isa, 0));
    }

    /// Adds a register with this many blocks and zeros after them.
    #[inline(always)]
    pub(crate) fn add(&mut self, isa: W::Isa, register: W, blocks: usize) {
        self.add_by(register, self.of_registers::<1>().load::<W>(isa, 0));
        self.power -= blocks;
    }

    /// Adds a register whose blocks are multiplied by this factor.
    #[inline(always)]
    pub(crate) fn add_by(&mut self, register: W, factor: Factor<W>) {
        let lanes = register.shuffle_bytes(self.field.places) ^ self.due;
        self.due = self.field.zero;
        self.products = self.products.plus(self.field.by_three(lanes, factor));
    }

    /// Adds two registers whose blocks are multiplied by these factors.
    #[inline(always)]
    pub(crate) fn add_two_by(&mut self, one: (W, Factor<W>), other: (W, Factor<W>)) {
        let first = (one.0.shuffle_bytes(self.field.places) ^ self.due, one.1);
        let second = (other.0.shuffle_bytes(self.field.places), other.1);
        self.due = self.field.zero;
        self.products = self.products.plus(self.field.two_by_three(first, second));
    }

    /// The factors for the next `N` registers, which are added by [`ShortHash::add_by`].
    #[inline(always)]
    pub(crate) fn of_registers<const N: usize>(&self) -> Factors<'a> {
        self.powers.registers::<W, N>(self.power)
    }

    /// Adds a string, padded with zeros to a whole block.
    #[inline(always)]
    pub(crate) fn add_all(&mut self, isa: W::Isa, string: &[u8]) {
        for register in string.chunks(W::BYTES) {
            self.add(isa, W::load_part(isa, register), register.len().div_ceil(BLOCK_BYTES));
        }
    }

    /// Forms the register of the last two blocks and their factors, for [`ShortHash::end`]. The next block
    /// has the bytes `block`; it is absent if `block` is empty. The last block is `last`, which holds its
    /// number in every lane. Registers with two lanes or more hold both blocks.
    #[inline(always)]
    pub(crate) fn ends(&mut self, isa: W::Isa, block: &[u8], last: W) -> (W, Factor<W>) {
        if const { W::BLOCKS == 1 } {
            if !block.is_empty() {
                self.add(isa, W::load_part(isa, block), 1);
            }
            return (last, self.powers.registers::<W, 1>(1).load(isa, 0));
        }
        let last = last & W::load(isa, &SECOND_LANE[..W::BYTES]);
        let of_last = self.powers.in_second_lane.load::<W>(isa);
        if block.is_empty() {
            return (last, of_last);
        }
        let lanes = W::load_part(isa, block).shuffle_bytes(self.field.places) ^ last;
        let (first, of_next) =
            (W::load(isa, &FIRST_LANE[..W::BYTES]), self.of_registers::<1>().load::<W>(isa, 0));
        self.power -= 1;
        let power = first.select(of_next.power, of_last.power);
        (lanes, Factor { power, folded: first.select(of_next.folded, of_last.folded) })
    }

    /// The hash, in every lane, after a last register of data and the [`ends`](ShortHash::ends).
    #[inline(always)]
    pub(crate) fn end(self, (data, factor): (W, Factor<W>), ends: (W, Factor<W>)) -> W {
        let data = data.shuffle_bytes(self.field.places) ^ self.due;
        let products = self.products.plus(self.field.two_by_three((data, factor), ends));
        self.field.end(products.product())
    }
}

/// Ones in the first lane of a register, or in the second.
const FIRST_LANE: [u8; LANES_MAX * BLOCK_BYTES] = ones_in_lane(0);
const SECOND_LANE: [u8; LANES_MAX * BLOCK_BYTES] = ones_in_lane(1);

const fn ones_in_lane(lane: usize) -> [u8; LANES_MAX * BLOCK_BYTES] {
    let mut lanes = [[0; BLOCK_BYTES]; LANES_MAX];
    lanes[lane] = [0xff; BLOCK_BYTES];
    let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
    bytes.copy_from_slice(lanes.as_flattened());
    bytes
}
