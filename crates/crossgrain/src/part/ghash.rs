//! GHASH: the hash of GCM, by carry-less multiplication, as many blocks at a time as a few registers hold.
//!
//! Layout: a block a 128-bit lane, bytes reversed, so that its bits are coefficients in the order that the instruction
//! multiplies in. Needs: `CarrylessLanes`; elsewhere a library's constant-time code (`ghash`) takes its place.
//! Source: SP 800-38D §6.4; RFC 8452, appendix A, for what the reversed bytes and the key times x make of it; Gueron and
//! Kounavis, "Intel Carry-Less Multiplication Instruction and its Usage for Computing the GCM Mode" (2014).
//! Holds: every lane is a sum of its own, by Horner's rule with a power of the key that spans a stride. The lanes meet once,
//! at the end of a run, each times the power that its place asks for; so a run that does not fill its first register has zeros
//! in front, which add nothing.

use std::fmt;

use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use zeroize::Zeroizing;

use crate::block::{BLOCK_BYTES, Block};
use crate::word::{CarrylessLanes, ClmulWord128, ClmulWord256, ClmulWord512, Features, Isa, Kernel, each};

/// GHASH with one key.
pub struct Ghash(Box<dyn Hash>);

impl Ghash {
    /// Binds the hash to a key by the widest of these instructions. Wiped when dropped.
    pub fn new(key: &Block, features: Features) -> Self {
        let hash = None
            .or_else(|| Powers::<ClmulWord512>::boxed(key, features))
            .or_else(|| Powers::<ClmulWord256>::boxed(key, features))
            .or_else(|| Powers::<ClmulWord128>::boxed(key, features));
        Self(hash.unwrap_or_else(|| Box::new(Software(GHash::new(&(*key).into())))))
    }

    /// Goes on with a string, zeros behind it up to a whole block.
    pub fn absorb(&self, sum: &mut Block, string: &[u8]) {
        let (whole, rest) = string.split_at(string.len() - string.len() % BLOCK_BYTES);
        if !whole.is_empty() {
            self.0.absorb(sum, whole);
        }
        if !rest.is_empty() {
            let mut last = [0; BLOCK_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            self.0.absorb(sum, &last);
        }
    }
}

impl fmt::Debug for Ghash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ghash(secret)")
    }
}

/// A way to compute it.
trait Hash: Send + Sync {
    /// Goes on with one block or more.
    fn absorb(&self, sum: &mut Block, blocks: &[u8]);
}

/// A library's, in constant time on any CPU.
struct Software(GHash);

impl Hash for Software {
    fn absorb(&self, sum: &mut Block, blocks: &[u8]) {
        let (blocks, _) = blocks.as_chunks();
        let mut hash = self.0.clone();
        let first: Block = each!(i < 16 => sum[i] ^ blocks[0][i]);
        hash.update(&[first.into()]);
        for block in &blocks[1..] {
            hash.update(&[(*block).into()]);
        }
        *sum = hash.finalize().into();
    }
}

/// Registers of blocks that are multiplied before their products are reduced together.
const STRIDE: usize = 8;

/// Blocks in the widest register.
const LANES_MAX: usize = 4;

/// The powers of a key from the first on, as lanes have them.
struct Powers<W: CarrylessLanes> {
    isa: W::Isa,
    powers: Zeroizing<[Block; STRIDE * LANES_MAX]>,
}

impl<W: CarrylessLanes> Powers<W> {
    /// Blocks in a register.
    const LANES: usize = W::BITS / 128;

    fn boxed(key: &Block, features: Features) -> Option<Box<dyn Hash>> {
        let isa = W::Isa::detect(features)?;
        let mut powers = Zeroizing::new([[0; BLOCK_BYTES]; STRIDE * LANES_MAX]);
        // The key times x: products of reversed blocks come out divided by it.
        let key = u128::from_be_bytes(*key);
        let overflow = (key >> 127) * (0xc2 << 120 | 1);
        powers[0] = (key << 1 ^ overflow).to_le_bytes();
        isa.enter(Raise::<W>(isa, &mut powers));
        Some(Box::new(Self { isa, powers }))
    }
}

impl<W: CarrylessLanes> Hash for Powers<W> {
    fn absorb(&self, sum: &mut Block, blocks: &[u8]) {
        self.isa.enter(AbsorbBlocks { powers: self, sum, blocks });
    }
}

/// Powers of the first.
struct Raise<'a, W: CarrylessLanes>(W::Isa, &'a mut [Block; STRIDE * LANES_MAX]);

impl<W: CarrylessLanes> Kernel for Raise<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, powers) = self;
        let field = Field::<W>::new(isa);
        let key = W::broadcast(isa, &powers[0]);
        let mut power = key;
        for place in &mut powers[1..] {
            power = field.reduced(Product::of(power, key));
            let mut lanes = [0; LANES_MAX * BLOCK_BYTES];
            power.store(&mut lanes[..W::BYTES]);
            place.copy_from_slice(&lanes[..BLOCK_BYTES]);
        }
    }
}

struct AbsorbBlocks<'a, W: CarrylessLanes> {
    powers: &'a Powers<W>,
    sum: &'a mut Block,
    blocks: &'a [u8],
}

impl<W: CarrylessLanes> Kernel for AbsorbBlocks<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { powers: &Powers { isa, ref powers }, sum, blocks } = self;
        let field = Field::<W>::new(isa);
        let lanes = Powers::<W>::LANES;
        // Over 1 to `STRIDE` registers.
        let across: [W; STRIDE] = each!(i < STRIDE => W::broadcast(isa, &powers[(i + 1) * lanes - 1]));
        let (first, rest) = blocks.split_at((blocks.len() - 1) % W::BYTES + 1);
        let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
        let start = W::BYTES - first.len();
        bytes[start..W::BYTES].copy_from_slice(first);
        for i in 0..BLOCK_BYTES {
            bytes[start + i] ^= sum[i];
        }
        let mut sums = field.load(isa, &bytes[..W::BYTES]);
        let mut strides = rest.chunks_exact(STRIDE * W::BYTES);
        for stride in &mut strides {
            let mut products = Product::of(sums, across[STRIDE - 1]);
            for i in 0..STRIDE - 1 {
                let blocks = field.load(isa, &stride[i * W::BYTES..][..W::BYTES]);
                products = products.plus(Product::of(blocks, across[STRIDE - 2 - i]));
            }
            sums = field.reduced(products) ^ field.load(isa, &stride[(STRIDE - 1) * W::BYTES..]);
        }
        for register in strides.remainder().chunks_exact(W::BYTES) {
            sums = field.reduced(Product::of(sums, across[0])) ^ field.load(isa, register);
        }
        // The first lane is the furthest from the end.
        for (lane, power) in powers[..lanes].iter().rev().enumerate() {
            bytes[lane * BLOCK_BYTES..][..BLOCK_BYTES].copy_from_slice(power);
        }
        let sums = field.reduced(Product::of(sums, W::load(isa, &bytes[..W::BYTES])));
        sums.pick(field.reverse).store(&mut bytes[..W::BYTES]);
        *sum = [0; BLOCK_BYTES];
        for lane in bytes[..W::BYTES].as_chunks::<BLOCK_BYTES>().0 {
            *sum = each!(i < 16 => sum[i] ^ lane[i]);
        }
    }
}

/// The constants of the field in each lane.
#[derive(Clone, Copy)]
struct Field<W> {
    zero: W,
    /// x¹²⁸ + x¹²⁷ + x¹²⁶ + x¹²¹ + 1 less its ends, which reductions have as swaps.
    modulus: W,
    /// Picks the bytes of a block in reverse.
    reverse: W,
    /// Picks the halves of a block in reverse.
    swap: W,
}

impl<W: CarrylessLanes> Field<W> {
    #[inline(always)]
    fn new(isa: W::Isa) -> Self {
        Self {
            zero: W::splat(isa, 0),
            modulus: W::splat(isa, 0xc2 << 56),
            reverse: W::broadcast(isa, &[15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
            swap: W::broadcast(isa, &[8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]),
        }
    }

    #[inline(always)]
    fn load(&self, isa: W::Isa, blocks: &[u8]) -> W {
        W::load(isa, blocks).pick(self.reverse)
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

/// The 256 bits of a product: of low halves, of halves crosswise 64 bits higher, and of high halves.
#[derive(Clone, Copy)]
struct Product<W> {
    low: W,
    cross: W,
    high: W,
}

impl<W: CarrylessLanes> Product<W> {
    #[inline(always)]
    fn of(a: W, b: W) -> Self {
        Self { low: a.low_product(b), cross: a.cross_products(b), high: a.high_product(b) }
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { low: self.low ^ other.low, cross: self.cross ^ other.cross, high: self.high ^ other.high }
    }
}
