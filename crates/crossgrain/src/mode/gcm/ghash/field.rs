//! Products in GF(2¹²⁸), one per lane, and their reduction.

use super::{LANES_MAX, Order};
use crate::arch::{AesLanes, CarrylessLanes};
use crate::block::Block;

/// The constants of the field, in each lane.
#[derive(Clone, Copy)]
pub(crate) struct Field<W> {
    pub(super) zero: W,
    /// x¹²⁸ + x¹²⁷ + x¹²⁶ + x¹²¹ + 1 without its first and last term, which the reduction handles by swaps of
    /// halves.
    modulus: W,
    /// Shuffle from a block's bytes to a lane, and back.
    pub(super) places: W,
    /// Shuffle that swaps the halves of a block.
    swap: W,
}

impl<W: CarrylessLanes> Field<W> {
    /// The constants for GHASH.
    #[inline(always)]
    pub(crate) fn of_ghash(isa: W::Isa) -> Self {
        Self::new(isa, Order::Reversed)
    }

    /// The constants for POLYVAL.
    #[inline(always)]
    pub(crate) fn of_polyval(isa: W::Isa) -> Self {
        Self::new(isa, Order::AsItIs)
    }

    /// An empty sum of products.
    #[inline(always)]
    pub(crate) const fn none(&self) -> Product<W> {
        Product { low: self.zero, cross: self.zero, high: self.zero }
    }

    /// Each block as a big-endian number in a lane, and back.
    #[inline(always)]
    pub(crate) fn reversed(&self, blocks: W) -> W {
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

    /// This block in the first lane, with zeros in the others.
    #[inline(always)]
    pub(super) fn load_lowest(&self, isa: W::Isa, block: &Block) -> W {
        W::load_lowest(isa, block).shuffle_bytes(self.places)
    }

    /// The product divided by x¹²⁸ (Montgomery reduction). Two steps of 64 bits clear the low half by adding
    /// multiples of the modulus. Each step adds the 64 bits that it clears, times the rest of the modulus and
    /// with halves swapped, to the 128 bits that begin 64 bits higher.
    #[inline(always)]
    pub(crate) fn reduced(&self, product: Product<W>) -> W {
        let Product { low, cross, high } = product;
        let cross = cross ^ low.shuffle_bytes(self.swap) ^ low.low_product(self.modulus);
        high ^ cross.shuffle_bytes(self.swap) ^ cross.low_product(self.modulus)
    }

    /// The XOR of a lane's halves, in both halves.
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
    /// The sum of two products of lanes and powers. The folded halves of both share one register, which saves
    /// an instruction.
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
    /// The hashes of as many messages as a register has lanes, one per lane, reduced together. `across[m]`
    /// holds products of message m in all lanes. `along` holds products of blocks of all messages, each in
    /// the lane of its message.
    #[inline(always)]
    pub(crate) fn ends(&self, mut across: [Product<W>; LANES_MAX], along: Product<W>) -> W {
        let mut count = W::BLOCKS;
        while count > 1 {
            count /= 2;
            for i in 0..count {
                across[i] = across[2 * i].lanes_joined(across[2 * i + 1]);
            }
        }
        self.reversed(self.reduced(across[0].plus(along)))
    }

    /// The hash, in every lane: the reduced sum of blocks that were multiplied by the powers for their
    /// places.
    #[inline(always)]
    pub(crate) fn end(&self, products: Product<W>) -> W {
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

/// The 256 bits of a product: the product of low halves, the cross products (64 bits higher), and the product
/// of high halves.
#[derive(Clone, Copy)]
pub(crate) struct Product<W> {
    low: W,
    cross: W,
    high: W,
}

impl<W: CarrylessLanes> Product<W> {
    #[inline(always)]
    pub(crate) fn of(a: W, b: W) -> Self {
        Self { low: a.low_product(b), cross: a.cross_products(b), high: a.high_product(b) }
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { low: self.low ^ other.low, cross: self.cross ^ other.cross, high: self.high ^ other.high }
    }
}

/// Powers of a key, and their folded halves.
#[derive(Clone, Copy)]
pub(crate) struct Factor<W> {
    pub(super) power: W,
    pub(super) folded: W,
}

/// A sum of Karatsuba products, of three multiplications each. `cross` holds the products of folded halves,
/// not the cross products of a [`Product`].
///
/// Multiplications are the bottleneck. On Zen 5 a 512-bit one starts every other cycle, in which time four
/// AES rounds start, and it takes the issue slots of three other instructions.
#[derive(Clone, Copy)]
pub(crate) struct ByThree<W>(Product<W>);

impl<W: CarrylessLanes> ByThree<W> {
    /// An empty sum of products.
    #[inline(always)]
    pub(super) const fn none(field: &Field<W>) -> Self {
        Self(field.none())
    }

    #[inline(always)]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self(self.0.plus(other.0))
    }

    /// The same value, pinned ([`AesLanes::pinned`]).
    #[inline(always)]
    pub(crate) fn pinned(self) -> Self
    where
        W: AesLanes,
    {
        let Product { low, cross, high } = self.0;
        Self(Product { low: low.pinned(), cross: cross.pinned(), high: high.pinned() })
    }

    /// The sum as products of four multiplications.
    #[inline(always)]
    pub(crate) fn product(self) -> Product<W> {
        let Product { low, cross, high } = self.0;
        Product { low, cross: cross ^ low ^ high, high }
    }
}

impl<W: AesLanes> Product<W> {
    /// Adds neighbouring lanes. The sums of `self` come first, then those of `other`.
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
