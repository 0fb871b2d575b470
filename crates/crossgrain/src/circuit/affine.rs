//! Recognises S-boxes that are inversion in AES's field between two affine maps, from the table only.
//!
//! S(x) = B·(A·x + a)⁻¹ + b, over GF(2⁸) modulo x⁸ + x⁴ + x³ + x + 1 with 0⁻¹ = 0, where A and B are
//! invertible matrices over GF(2). Another polynomial gives no other S-boxes, because all fields of 256
//! elements are isomorphic by a linear map. The S-boxes of AES, SM4, Camellia, ARIA and their inverses have
//! this structure, and keep it when bits are permuted or complemented. GFNI computes such an S-box in two
//! instructions.
//!
//! A linear map is stored as the images of the eight bits, least significant first. The functions here are for
//! constants and for planning: they look up tables and branch, so no argument may be secret. Only
//! [`Affine::apply`] and [`Affine::gates`] take secret bytes.
//!
//! Algorithm:
//!
//! 1. Let z be the input that is inverted as 0. For each difference d, four inputs x, one of them z, have the
//!    same S(x) + S(x + d). All other sums occur twice (Nyberg, "Differentially uniform mappings for
//!    cryptography", Eurocrypt 1993). The fours of three differences have only z in common. If they do not,
//!    the S-box has another structure.
//! 2. T(x) = S(x + z) + S(z) satisfies A·x · B⁻¹·T(x) = 1 for x ≠ 0.
//! 3. For each c and i, (c·x^(2ⁱ))⁻¹ = c⁻¹·(x⁻¹)^(2ⁱ), and both sides are linear in x and x⁻¹. So one S-box
//!    has 255 · 8 pairs of maps, and one of them has A·1 = 1. Guess the image of one more bit.
//! 4. If A is known at x, so is B⁻¹ at T(x), and vice versa. Sums of known points are known on both sides.
//!    This determines everything or ends in a contradiction (Biryukov, De Cannière, Braeken and Preneel, "A
//!    toolbox for cryptanalysis: linear and affine equivalence algorithms", Eurocrypt 2003). The exception is
//!    that the known images form a field of 4 or 16 elements; then guess another image.
//!
//! Invariant: a structure that is found computes the table, because it is compared on all inputs.

use super::Bits;
use crate::arch::Word;

/// The product in AES's field.
pub const fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut bit) = (0, 0);
    while bit < 8 {
        product = ((product << 1) ^ ((product >> 7) * 0x1b)) ^ ((b >> (7 - bit) & 1) * a);
        bit += 1;
    }
    product
}

/// The inverses in AES's field, and 0 for 0.
pub static INVERSES: [u8; 256] = {
    let mut inverses = [0; 256];
    // 3 generates all elements but 0, and 0xf6 is its inverse.
    let (mut power, mut inverse, mut at) = (1, 1, 0);
    while at < 255 {
        inverses[power as usize] = inverse;
        power = multiply(power, 3);
        inverse = multiply(inverse, 0xf6);
        at += 1;
    }
    inverses
};

/// An affine map of bytes as bit vectors: x → M·x + c.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Affine {
    /// The images of the eight bits under M, least significant first.
    pub matrix: [u8; 8],
    /// c.
    pub constant: u8,
}

impl Affine {
    /// The identity.
    pub const IDENTITY: Self = Self { matrix: [1, 2, 4, 8, 16, 32, 64, 128], constant: 0 };

    /// Whether M is the identity, so that the map only adds c.
    pub const fn adds_constant(&self) -> bool {
        u64::from_le_bytes(self.matrix) == u64::from_le_bytes(Self::IDENTITY.matrix)
    }

    /// The image of a byte: the sum of its bits' images, in constant time. A word holds all of them, one in each byte.
    pub const fn apply(&self, x: u8) -> u8 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        // Byte i is bit i of `x` in its place, then eight copies of this bit.
        let bits = (x as u64 * ONES) & 0x8040_2010_0804_0201;
        let copies = ((bits + 0x7f * ONES) >> 7 & ONES) * 0xff;
        let mut sum = copies & u64::from_le_bytes(self.matrix);
        sum ^= sum >> 32;
        sum ^= sum >> 16;
        sum ^= sum >> 8;
        sum as u8 ^ self.constant
    }

    /// The map by gates.
    #[inline(always)]
    pub fn gates<W: Word>(&self, x: Bits<W>) -> Bits<W> {
        let mut y = [x[0].zero(); 8];
        for (bit, y) in y.iter_mut().enumerate() {
            for (x, image) in x.into_iter().zip(&self.matrix) {
                if image >> bit & 1 == 1 {
                    *y = *y ^ x;
                }
            }
            if self.constant >> bit & 1 == 1 {
                *y = !*y;
            }
        }
        y
    }

    /// The composition: this map, then `next`.
    pub const fn then(&self, next: &Self) -> Self {
        let (mut matrix, mut bit) = ([0; 8], 0);
        while bit < 8 {
            matrix[bit] = next.apply(self.matrix[bit]) ^ next.constant;
            bit += 1;
        }
        Self { matrix, constant: next.apply(self.constant) }
    }

    /// The inverse map, or `None` if two bytes have the same image.
    pub const fn inverse(&self) -> Option<Self> {
        let linear = Self { matrix: self.matrix, constant: 0 };
        let mut known = Images::none();
        let mut bit = 0;
        while bit < 8 {
            if !known.learn(linear.matrix[bit], 1 << bit) {
                return None;
            }
            bit += 1;
        }
        let linear = Self { matrix: known.matrix(), constant: 0 };
        Some(Self { matrix: linear.matrix, constant: linear.apply(self.constant) })
    }

    /// M in GFNI's format: the first row, which computes the least significant bit, is the highest byte.
    pub const fn galois(&self) -> u64 {
        let (mut matrix, mut bit) = (0, 0);
        while bit < 8 {
            let (mut row, mut from) = (0_u64, 0);
            while from < 8 {
                row |= ((self.matrix[from] >> bit & 1) as u64) << from;
                from += 1;
            }
            matrix |= row << (8 * (7 - bit));
            bit += 1;
        }
        matrix
    }
}

/// An S-box that is `input`, then inversion in AES's field, then `output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inversion {
    /// x → A·x + a.
    pub input: Affine,
    /// x → B·x + b.
    pub output: Affine,
}

impl Inversion {
    /// The S-box of AES: inversion, the XOR of a byte and its rotations by 1 to 4, and 0x63 (FIPS 197,
    /// section 5.1.1).
    pub const AES: Self = Self {
        input: Affine::IDENTITY,
        output: Affine { matrix: [0x1f, 0x3e, 0x7c, 0xf8, 0xf1, 0xe3, 0xc7, 0x8f], constant: 0x63 },
    };

    /// Finds the structure of this table; `None` if it has another.
    ///
    /// The result is one of the 2040 equivalent pairs of maps. Its matrix A maps 1 to 1, and it is the
    /// identity if that is possible.
    pub const fn of(table: &[u8; 256]) -> Option<Self> {
        let Some(inverse) = inverse_table(table) else { return None };
        let Some(zero) = inverted_as_zero(table) else { return None };
        let translated = Translated { table, inverse: &inverse, zero };
        let mut known = Known { input: Images::none(), output: Images::none() };
        if !known.learn(&translated, 1, 1) {
            return None;
        }
        let Some(known) = known.completed(&translated) else { return None };
        let output = Affine { matrix: known.output.matrix(), constant: 0 };
        let Some(output) = output.inverse() else { return None };
        let linear = Affine { matrix: known.input.matrix(), constant: 0 };
        let found = Self {
            input: Affine { constant: linear.apply(zero), ..linear },
            output: Affine { constant: table[zero as usize], ..output },
        };
        if found.computes(table) { Some(found) } else { None }
    }

    /// The S-box's value.
    pub const fn apply(&self, x: u8) -> u8 {
        self.output.apply(INVERSES[self.input.apply(x) as usize])
    }

    /// The inverse S-box, or `None` if one of the maps is not invertible. The maps that [`Inversion::of`]
    /// finds are.
    pub const fn inverse(&self) -> Option<Self> {
        match (self.output.inverse(), self.input.inverse()) {
            (Some(input), Some(output)) => Some(Self { input, output }),
            _ => None,
        }
    }

    /// Whether this equals the table on all inputs.
    pub const fn computes(&self, table: &[u8; 256]) -> bool {
        let mut x = 0;
        while x < 256 {
            if self.apply(x as u8) != table[x] {
                return false;
            }
            x += 1;
        }
        true
    }
}

/// The inverse of a table, if it is a permutation.
pub const fn inverse_table(table: &[u8; 256]) -> Option<[u8; 256]> {
    let (mut inverse, mut seen, mut x) = ([0; 256], [false; 256], 0);
    while x < 256 {
        let y = table[x] as usize;
        if seen[y] {
            return None;
        }
        seen[y] = true;
        inverse[y] = x as u8;
        x += 1;
    }
    Some(inverse)
}

/// The input that is inverted as 0: the only one that is among the four of every difference.
const fn inverted_as_zero(table: &[u8; 256]) -> Option<u8> {
    let mut times = [0; 256];
    // The fours of two differences are equal or have only that input in common. Those of three independent
    // differences are not all equal.
    let mut bit = 0;
    while bit < 3 {
        let Some(four) = four_of(table, 1 << bit) else { return None };
        let mut at = 0;
        while at < 4 {
            times[four[at]] += 1;
            at += 1;
        }
        bit += 1;
    }
    let mut x = 0;
    while x < 256 {
        if times[x] == 3 {
            return Some(x as u8);
        }
        x += 1;
    }
    None
}

/// Four inputs x with the same S(x) + S(x + d); `None` unless all other sums occur for only two inputs.
const fn four_of(table: &[u8; 256], difference: usize) -> Option<[usize; 4]> {
    let (mut first, mut found, mut x) = ([None; 256], None, 0);
    while x < 256 {
        if x < x ^ difference {
            let change = (table[x] ^ table[x ^ difference]) as usize;
            match (first[change], found) {
                (None, _) => first[change] = Some(x),
                (Some(other), None) => found = Some([x, x ^ difference, other, other ^ difference]),
                _ => return None,
            }
        }
        x += 1;
    }
    found
}

/// The permutation T, with T(0) = 0: the table with constants added to its inputs and outputs.
struct Translated<'table> {
    table: &'table [u8; 256],
    inverse: &'table [u8; 256],
    zero: u8,
}

impl Translated<'_> {
    const fn forward(&self, x: u8) -> u8 {
        self.table[(x ^ self.zero) as usize] ^ self.table[self.zero as usize]
    }

    const fn back(&self, y: u8) -> u8 {
        self.inverse[(y ^ self.table[self.zero as usize]) as usize] ^ self.zero
    }
}

/// An injective linear map, known on a subspace.
#[derive(Clone, Copy)]
struct Images {
    /// The subspace, 0 first. Each added point doubles it.
    points: [u8; 256],
    count: usize,
    /// The image of each point of the subspace.
    of: [Option<u8>; 256],
    taken: [bool; 256],
}

impl Images {
    /// Knows only the image of 0.
    const fn none() -> Self {
        let mut images = Self { points: [0; 256], count: 1, of: [None; 256], taken: [false; 256] };
        (images.of[0], images.taken[0]) = (Some(0), true);
        images
    }

    /// Adds the image of a point and everything that follows by linearity. Returns whether the map is still
    /// linear and injective.
    const fn learn(&mut self, x: u8, image: u8) -> bool {
        if let Some(known) = self.of[x as usize] {
            return known == image;
        }
        // If this image is new, so are its sums with all earlier images.
        if self.taken[image as usize] {
            return false;
        }
        let (count, mut at) = (self.count, 0);
        while at < count {
            let (point, sum) = (self.points[at] ^ x, self.image(self.points[at]) ^ image);
            self.points[count + at] = point;
            self.of[point as usize] = Some(sum);
            self.taken[sum as usize] = true;
            at += 1;
        }
        self.count = 2 * count;
        true
    }

    /// The image of a point, or 0 if it is unknown.
    const fn image(&self, x: u8) -> u8 {
        match self.of[x as usize] {
            Some(image) => image,
            None => 0,
        }
    }

    const fn matrix(&self) -> [u8; 8] {
        let (mut matrix, mut bit) = ([0; 8], 0);
        while bit < 8 {
            matrix[bit] = self.image(1 << bit);
            bit += 1;
        }
        matrix
    }
}

/// The known images under A and under the inverse of B.
#[derive(Clone, Copy)]
struct Known {
    input: Images,
    output: Images,
}

impl Known {
    /// Adds an image under A and everything that follows from it. Returns whether this is free of
    /// contradictions.
    const fn learn(&mut self, t: &Translated<'_>, x: u8, image: u8) -> bool {
        if !self.input.learn(x, image) {
            return false;
        }
        // Point 0 is 0 on both sides.
        let (mut inputs, mut outputs) = (1, 1);
        while inputs < self.input.count || outputs < self.output.count {
            if inputs < self.input.count {
                let x = self.input.points[inputs];
                if !self.output.learn(t.forward(x), INVERSES[self.input.image(x) as usize]) {
                    return false;
                }
                inputs += 1;
            }
            if outputs < self.output.count {
                let y = self.output.points[outputs];
                if !self.input.learn(t.back(y), INVERSES[self.output.image(y) as usize]) {
                    return false;
                }
                outputs += 1;
            }
        }
        true
    }

    /// Completes the maps by guessing images of unknown points, with backtracking.
    const fn completed(self, t: &Translated<'_>) -> Option<Self> {
        let mut x = 1;
        while x < 256 && self.input.of[x].is_some() {
            x += 1;
        }
        if x == 256 {
            return Some(self);
        }
        let mut change = 0;
        while change < 256 {
            let mut next = self;
            // Tries the point itself first, so that the identity is found.
            if next.learn(t, x as u8, (x ^ change) as u8)
                && let Some(all) = next.completed(t)
            {
                return Some(all);
            }
            change += 1;
        }
        None
    }
}
