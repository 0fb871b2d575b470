//! The block algebra: the operations that a mode of operation may apply to blocks, and the places where it
//! may store them.
//!
//! A mode written over [`Algebra`] is an executable specification. On symbols ([`super::trace`]) it shows
//! which iteration reads and writes which place. On blocks ([`super::blocks`]) it encrypts.
//!
//! A mode must keep its state in a [`Place`]. A value bound by `let` exists only within its iteration and
//! causes no dependence.

use std::fmt;

use crossgrain::Block;

/// A place that holds one block: an element of an array, or a named variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Block i of the input message.
    Input(usize),
    /// Block i of the output message.
    Output(usize),
    /// Block i of the associated data, which is authenticated but not encrypted.
    Header(usize),
    /// A variable that holds one block.
    Scalar(&'static str),
}

impl Place {
    /// The variable's name. An array counts as one variable.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::Output(_) => "output",
            Self::Header(_) => "header",
            Self::Scalar(name) => name,
        }
    }

    /// The index in its array. `None` for a scalar.
    pub const fn index(self) -> Option<usize> {
        match self {
            Self::Input(i) | Self::Output(i) | Self::Header(i) => Some(i),
            Self::Scalar(_) => None,
        }
    }
}

/// An operation on blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The sum of two blocks in GF(2¹²⁸): their exclusive or.
    Xor,
    /// The block cipher under the key.
    Encipher,
    /// The inverse of `Encipher`.
    Decipher,
    /// The block cipher under a second key: XTS's tweak key or SIV's counter key. In GCM-SIV, the
    /// derivation of a nonce's hash key.
    EncipherOther,
    /// Increment of a big-endian number modulo 2¹²⁸ (SP 800-38A B.1).
    Increment,
    /// Increment of the last four bytes modulo 2³² (inc₃₂ of SP 800-38D §6.2).
    Increment32,
    /// Increment of the first four bytes, little-endian, modulo 2³² (RFC 8452 §4).
    IncrementLittle32,
    /// Multiplication by x in GF(2¹²⁸), the first byte most significant (SP 800-38B §6.1).
    Double,
    /// Multiplication by x in GF(2¹²⁸), the first byte least significant (IEEE 1619-2018 §5.2).
    DoubleLittle,
    /// The product of two blocks in GF(2¹²⁸), bits reflected (SP 800-38D §6.3).
    Multiply,
    /// The product divided by x¹²⁸ in POLYVAL's field (`dot` of RFC 8452 §3).
    MultiplyLittle,
    /// Bitwise and with a constant.
    Keep(Block),
    /// Bitwise or with a constant.
    Set(Block),
    /// Shift to the left by fewer than 128 bits, as a big-endian number.
    ShiftLeft(u32),
    /// Shift to the right by fewer than 128 bits, as a big-endian number.
    ShiftRight(u32),
    /// OCB's initial offset. `a` is the enciphered nonce (the top), which is stretched and then shifted by
    /// the number in the nonce's last six bits (RFC 7253 §4.2).
    Stretch,
}

impl Op {
    /// Whether the operation calls the block cipher.
    pub const fn is_cipher_call(self) -> bool {
        matches!(self, Self::Encipher | Self::Decipher | Self::EncipherOther)
    }

    /// Whether i repetitions have a closed form, so that any iteration can start independently.
    pub const fn has_closed_form(self) -> bool {
        matches!(
            self,
            Self::Increment | Self::Increment32 | Self::IncrementLittle32 | Self::Double | Self::DoubleLittle
        )
    }

    /// The closed form of i repetitions, or `none`.
    pub const fn closed_form(self) -> &'static str {
        match self {
            Self::Increment => "first + i",
            Self::Increment32 | Self::IncrementLittle32 => "first + i in 32 bits",
            Self::Double | Self::DoubleLittle => "first * x^i",
            _ => "none",
        }
    }
}

/// The initialisation vector or its equivalent. It is set before a mode starts.
pub const IV: Place = Place::Scalar("iv");
/// The received tag, for modes whose decryption starts from it. It is set before a mode starts.
pub const GIVEN: Place = Place::Scalar("given tag");
/// The place where an authenticated mode stores its tag.
pub const TAG: Place = Place::Scalar("tag");

/// The interface over which modes are written. All methods take `&self`, so that expressions can nest.
pub trait Algebra {
    /// The representation of a block.
    type Value: Copy + fmt::Debug;

    /// A constant of the standard.
    fn constant(&self, block: Block) -> Self::Value;

    /// The value that a place holds.
    fn read(&self, place: Place) -> Self::Value;

    /// Stores a value in a place.
    fn write(&self, place: Place, value: Self::Value);

    /// Applies an operation. `b` is the second operand of binary operations.
    fn apply(&self, op: Op, a: Self::Value, b: Option<Self::Value>) -> Self::Value;

    /// A named loop, which runs the body for each i from 0 to `iterations - 1`.
    fn each(&self, name: &'static str, iterations: usize, body: &dyn Fn(usize));

    /// [`Op::Xor`].
    fn xor(&self, a: Self::Value, b: Self::Value) -> Self::Value {
        self.apply(Op::Xor, a, Some(b))
    }

    /// [`Op::Encipher`].
    fn encipher(&self, a: Self::Value) -> Self::Value {
        self.apply(Op::Encipher, a, None)
    }

    /// [`Op::Decipher`].
    fn decipher(&self, a: Self::Value) -> Self::Value {
        self.apply(Op::Decipher, a, None)
    }
}
