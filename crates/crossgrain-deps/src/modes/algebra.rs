//! The block algebra: what a mode of operation may do with blocks, and where it may keep them.
//!
//! A mode written over [`Algebra`] is an executable specification. On symbols ([`super::trace`]) it tells
//! which iteration reads and writes what; on blocks ([`super::blocks`]) it encrypts.
//! Holds: whatever a mode remembers is kept in a [`Place`]. A value that is only bound by `let` lives and
//! dies within its iteration and gives rise to no dependence.

use std::fmt;

use crossgrain::Block;

/// Where a block is kept: in an array, or under a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Block i of the message as it comes.
    Input(usize),
    /// Block i of the message as it goes.
    Output(usize),
    /// Block i of what is authenticated and not encrypted.
    Header(usize),
    /// A variable that holds one block.
    Scalar(&'static str),
}

impl Place {
    /// The variable: an array is one.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::Output(_) => "output",
            Self::Header(_) => "header",
            Self::Scalar(name) => name,
        }
    }

    /// Which element of its array.
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
    /// The sum of two blocks in GF(2¹²⁸), or of two vectors of bits.
    Xor,
    /// The block cipher under the key.
    Encipher,
    /// Its inverse.
    Decipher,
    /// The block cipher under another key: that of XTS' tweak, of SIV's counter; of GCM-SIV, what makes a nonce's hash key.
    EncipherOther,
    /// One more, as a big-endian number modulo 2¹²⁸ (SP 800-38A B.1).
    Increment,
    /// One more in the last four bytes, modulo 2³² (inc₃₂ of SP 800-38D §6.2).
    Increment32,
    /// One more in the first four bytes, little-endian, modulo 2³² (RFC 8452 §4).
    IncrementLittle32,
    /// Times x in GF(2¹²⁸), the first byte most significant (SP 800-38B §6.1).
    Double,
    /// Times x in GF(2¹²⁸), the first byte least significant (IEEE 1619-2018 §5.2).
    DoubleLittle,
    /// The product of two blocks in GF(2¹²⁸), bits reflected (SP 800-38D §6.3).
    Multiply,
    /// The product divided by x¹²⁸ in POLYVAL's field (`dot` of RFC 8452 §3).
    MultiplyLittle,
    /// The bits that a constant has, the others cleared.
    Keep(Block),
    /// The bits that a constant has, set.
    Set(Block),
    /// OCB's first offset: the top, which is an enciphered nonce, stretched and cut where the nonce says (RFC 7253 §4.2).
    Stretch,
}

impl Op {
    /// Whether the block cipher is called.
    pub const fn is_cipher_call(self) -> bool {
        matches!(self, Self::Encipher | Self::Decipher | Self::EncipherOther)
    }

    /// Whether doing it i times has a closed form, so that any iteration can start by itself.
    pub const fn has_closed_form(self) -> bool {
        matches!(
            self,
            Self::Increment | Self::Increment32 | Self::IncrementLittle32 | Self::Double | Self::DoubleLittle
        )
    }

    /// What doing it i times comes to, for an operation that has a closed form.
    pub const fn closed_form(self) -> &'static str {
        match self {
            Self::Increment => "first + i",
            Self::Increment32 | Self::IncrementLittle32 => "first + i in 32 bits",
            Self::Double | Self::DoubleLittle => "first * x^i",
            _ => "none",
        }
    }
}

/// Places that hold something before a mode begins.
pub const IV: Place = Place::Scalar("iv");
/// The tag that came, where decryption starts from it.
pub const GIVEN: Place = Place::Scalar("given tag");
/// Where an authenticated mode leaves its tag.
pub const TAG: Place = Place::Scalar("tag");

/// What a mode is written over. Everything takes `&self`, so that expressions nest as on paper.
pub trait Algebra {
    /// What stands for a block.
    type Value: Copy + fmt::Debug;

    /// A block that the standard gives.
    fn constant(&self, block: Block) -> Self::Value;

    /// What a place holds.
    fn read(&self, place: Place) -> Self::Value;

    /// Puts a value in a place.
    fn write(&self, place: Place, value: Self::Value);

    /// One operation: `b` is the second operand of those that have two.
    fn apply(&self, op: Op, a: Self::Value, b: Option<Self::Value>) -> Self::Value;

    /// A loop with a name: the body once for each i from 0 on.
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
