//! Products in GF(2¹²⁸), a lane each, and how they are reduced.

use super::{LANES_MAX, Order};
use crate::block::Block;
use crate::word::{AesLanes, CarrylessLanes};

/// The constants of the field in each lane.
#[derive(Clone, Copy)]
pub(in crate::part) struct Field<W> {
    pub(super) zero: W,
    /// x¹²⁸ + x¹²⁷ + x¹²⁶ + x¹²¹ + 1 less its ends, which reductions have as swaps.
    modulus: W,
    /// Picks the bytes of a block for a lane, and back.
    pub(super) places: W,
    /// Picks the halves of a block in reverse.
    swap: W,
}

impl<W: CarrylessLanes> Field<W> {
    /// Those of GHASH.
    #[inline(always)]
    pub(in crate::part) fn of_ghash(isa: W::Isa) -> Self {
        Self::new(isa, Order::Reversed)
    }

    /// No products.
    #[inline(always)]
    pub(in crate::part) const fn none(&self) -> Product<W> {
        Product { low: self.zero, cross: self.zero, high: self.zero }
    }

    /// The big-endian number that each block is; and back.
    #[inline(always)]
    pub(in crate::part) fn reversed(&self, blocks: W) -> W {
        blocks.shuffle_bytes(self.places)
    }

    #[inline(always)]
    pub(super) fn new(isa: W::Isa, order: Order) -> Self {
        Self {
            zero: W::splat(isa, 0),
            modulus: W::splat(isa, 0xc2 << 56),
            places: W::broadcast(isa, &order.places()),
            swap: W::broadcast(isa, &[8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]),
        }
    }

    #[inline(always)]
    pub(super) fn load(&self, isa: W::Isa, blocks: &[u8]) -> W {
        W::load(isa, blocks).shuffle_bytes(self.places)
    }

    /// The first lane, and zeros.
    #[inline(always)]
    pub(super) fn load_lowest(&self, isa: W::Isa, block: &Block) -> W {
        W::load_lowest(isa, block).shuffle_bytes(self.places)
    }

    /// The product divided by x¹²⁸: its low half is cleared in two steps of 64 bits, by multiples of the modulus. A step brings what it
    /// takes away, times x¹²⁸ and by swapped halves, into the 128 bits that lie 64 bits higher.
    #[inline(always)]
    pub(super) fn reduced(&self, product: Product<W>) -> W {
        let Product { low, cross, high } = product;
        let cross = cross ^ low.shuffle_bytes(self.swap) ^ low.low_product(self.modulus);
        high ^ cross.shuffle_bytes(self.swap) ^ cross.low_product(self.modulus)
    }

    /// The sum of a lane's halves, in both.
    #[inline(always)]
    pub(super) fn folded(&self, lanes: W) -> W {
        lanes ^ lanes.shuffle_bytes(self.swap)
    }

    /// The product of lanes and a power.
    #[inline(always)]
    pub(super) fn by_three(&self, lanes: W, factor: Factor<W>) -> ByThree<W> {
        ByThree(Product {
            low: lanes.low_product(factor.power),
            cross: self.folded(lanes).low_product(factor.folded),
            high: lanes.high_product(factor.power),
        })
    }
}

impl<W: CarrylessLanes> Field<W> {
    /// The sum of two products of lanes and a power. The sums of halves of both lie in one register, which takes an instruction less.
    #[inline(always)]
    pub(super) fn two_by_three(&self, (a, by): (W, Factor<W>), (b, of_b): (W, Factor<W>)) -> ByThree<W> {
        let (low, high) = W::exchange_halves(a, b);
        let folded = low ^ high;
        let one = Product {
            low: a.low_product(by.power),
            cross: folded.low_product(by.folded),
            high: a.high_product(by.power),
        };
        let other = Product {
            low: b.low_product(of_b.power),
            cross: folded.high_product(of_b.folded),
            high: b.high_product(of_b.power),
        };
        ByThree(one.plus(other))
    }
}

impl<W: AesLanes> Field<W> {
    /// The hashes of as many messages as a register has lanes, a lane each, from their products: those that lie in all lanes of a
    /// register a message, and those of blocks of which each message has one, in its lane. They are reduced together.
    #[inline(always)]
    pub(in crate::part) fn ends(&self, mut across: [Product<W>; LANES_MAX], along: Product<W>) -> W {
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
    pub(in crate::part) fn end(&self, products: Product<W>) -> W {
        let mut sum = self.reduced(products);
        let mut lanes = 1;
        while lanes < W::BLOCKS {
            let mut turned = sum;
            for _ in 0..lanes {
                turned = turned.preceded_by(turned);
            }
            (sum, lanes) = (sum ^ turned, 2 * lanes);
        }
        sum.shuffle_bytes(self.places)
    }
}

/// The 256 bits of a product: of low halves, of halves crosswise 64 bits higher, and of high halves.
#[derive(Clone, Copy)]
pub(in crate::part) struct Product<W> {
    low: W,
    cross: W,
    high: W,
}

impl<W: CarrylessLanes> Product<W> {
    #[inline(always)]
    pub(in crate::part) fn of(a: W, b: W) -> Self {
        Self { low: a.low_product(b), cross: a.cross_products(b), high: a.high_product(b) }
    }

    #[inline(always)]
    pub(in crate::part) fn plus(self, other: Self) -> Self {
        Self { low: self.low ^ other.low, cross: self.cross ^ other.cross, high: self.high ^ other.high }
    }
}

/// Powers of a key, and the sums of their halves.
#[derive(Clone, Copy)]
pub(in crate::part) struct Factor<W> {
    pub(super) power: W,
    pub(super) folded: W,
}

/// The sum of products of three multiplications each (Karatsuba's): where a [`Product`] has those of halves crosswise, this has those of
/// the sums of halves.
///
/// Multiplications take longest: on Zen 5 one of 512 bits starts every other cycle, as four rounds of AES do, and takes the places of
/// three other instructions.
#[derive(Clone, Copy)]
pub(in crate::part) struct ByThree<W>(Product<W>);

impl<W: CarrylessLanes> ByThree<W> {
    /// No products.
    #[inline(always)]
    pub(super) const fn none(field: &Field<W>) -> Self {
        Self(field.none())
    }

    #[inline(always)]
    pub(in crate::part) fn plus(self, other: Self) -> Self {
        Self(self.0.plus(other.0))
    }

    /// The same, settled.
    #[inline(always)]
    pub(in crate::part) fn settled(self) -> Self
    where
        W: AesLanes,
    {
        let Product { low, cross, high } = self.0;
        Self(Product { low: low.settled(), cross: cross.settled(), high: high.settled() })
    }

    /// What products of four multiplications come to.
    #[inline(always)]
    pub(in crate::part) fn product(self) -> Product<W> {
        let Product { low, cross, high } = self.0;
        Product { low, cross: cross ^ low ^ high, high }
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
