//! The algebra of real blocks. A mode that runs on it encrypts, slowly, one operation at a time.
//!
//! Apart from the order as written, iterations can run in an order that a parallel machine might use. This
//! order relies on the analysis: private variables are removed at the start of an iteration, induction
//! variables get their closed form, and blocks that will be overwritten are saved. If the analysis allows
//! too much, the result is wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use super::algebra::{Algebra, GIVEN, IV, Op, Place, TAG};
use super::analysis::{Analysis, Loop, Verdict};
use super::specification::{self, Lengths};
use crossgrain::engine::mode::xts::tweak::double;
use crossgrain::mode::Mode;
use crossgrain::{Block, Direction};

/// The block cipher that a mode calls.
#[derive(Clone, Copy)]
pub struct Ciphers<'a> {
    /// The cipher under the key.
    pub encipher: &'a dyn Fn(Block) -> Block,
    /// Its inverse.
    pub decipher: &'a dyn Fn(Block) -> Block,
    /// The cipher under a second key: XTS's tweak key or SIV's counter key. In GCM-SIV, the map from a
    /// nonce to its hash key; `encipher` then uses the nonce's encryption key.
    pub encipher_other: &'a dyn Fn(Block) -> Block,
}

impl fmt::Debug for Ciphers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ciphers(secret)")
    }
}

/// The input of a mode.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The contents of [`IV`]: see [`run`](specification::run).
    pub iv: Block,
    /// Associated data, which are only authenticated.
    pub header: &'a [Block],
    /// Plaintext or ciphertext.
    pub input: &'a [Block],
    /// The received tag of a ciphertext. Decryption needs it in modes that derive the counter from the tag.
    pub tag: Block,
}

/// The output of a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Ciphertext or plaintext.
    pub output: Vec<Block>,
    /// The full tag of an authenticated mode. After decryption, the caller must compare it.
    pub tag: Option<Block>,
}

/// The order of iterations, and the storage.
#[derive(Clone, Copy, Debug)]
pub enum Order<'a> {
    /// Serial, with separate input and output.
    Apart,
    /// Serial and in place, even if that is wrong.
    InPlace,
    /// As this analysis allows. Parallel loops run odd iterations in descending order, then even ones.
    Parallel(&'a Analysis),
}

/// Runs a mode on real blocks.
pub fn on_blocks(
    mode: Mode,
    direction: Direction,
    ciphers: Ciphers<'_>,
    message: Message<'_>,
    order: Order<'_>,
) -> Answer {
    let blocks = Blocks::new(ciphers, message, order);
    let lengths = Lengths { header_blocks: message.header.len(), blocks: message.input.len() };
    specification::run(&blocks, mode, direction, lengths);
    let memory = blocks.memory.borrow();
    let output = (0..lengths.blocks).filter_map(|i| memory.get(&blocks.place(Place::Output(i))).copied());
    Answer { output: output.collect(), tag: memory.get(&TAG).copied() }
}

type Memory = BTreeMap<Place, Block>;

/// The algebra of real blocks.
struct Blocks<'a> {
    ciphers: Ciphers<'a>,
    order: Order<'a>,
    is_in_place: bool,
    memory: RefCell<Memory>,
    /// The memory before the loop, if the loop needs it saved.
    saved: RefCell<Option<Memory>>,
}

impl<'a> Blocks<'a> {
    fn new(ciphers: Ciphers<'a>, message: Message<'a>, order: Order<'a>) -> Self {
        let header = message.header.iter().enumerate().map(|(i, &block)| (Place::Header(i), block));
        let input = message.input.iter().enumerate().map(|(i, &block)| (Place::Input(i), block));
        let memory = header.chain(input).chain([(IV, message.iv), (GIVEN, message.tag)]).collect();
        let is_in_place = match order {
            Order::Apart => false,
            Order::InPlace => true,
            Order::Parallel(analysis) => analysis.in_place,
        };
        Self { ciphers, order, is_in_place, memory: RefCell::new(memory), saved: RefCell::default() }
    }

    /// The memory place of a place of the specification.
    fn place(&self, place: Place) -> Place {
        match place {
            Place::Output(i) if self.is_in_place => Place::Input(i),
            other => other,
        }
    }

    /// Runs a loop in an order that a parallel machine might use.
    fn scattered(&self, allowed: &Loop, iterations: usize, body: &dyn Fn(usize)) {
        let inductions = allowed.inductions();
        let firsts: Vec<_> = inductions
            .iter()
            .map(|(&name, &op)| (Place::Scalar(name), op, self.read(Place::Scalar(name))))
            .collect();
        *self.saved.borrow_mut() =
            (allowed.verdict() == Verdict::ParallelSaved).then(|| self.memory.borrow().clone());
        let odd_then_even = (0..iterations).rev().filter(|i| i % 2 == 1).chain((0..iterations).step_by(2));
        for i in odd_then_even {
            for name in allowed.private() {
                self.memory.borrow_mut().remove(&Place::Scalar(name));
            }
            for &(place, op, first) in &firsts {
                self.write(place, (0..i).fold(first, |value, _| self.apply(op, value, None)));
            }
            body(i);
        }
        *self.saved.borrow_mut() = None;
    }
}

impl Algebra for Blocks<'_> {
    type Value = Block;

    fn constant(&self, block: Block) -> Block {
        block
    }

    fn read(&self, place: Place) -> Block {
        let saved = self.saved.borrow();
        let held = match (&*saved, place) {
            (Some(saved), Place::Input(_)) => saved.get(&place).copied(),
            _ => self.memory.borrow().get(&self.place(place)).copied(),
        };
        held.unwrap_or_else(|| panic!("{place:?} is read before it is written: the specification is wrong"))
    }

    fn write(&self, place: Place, value: Block) {
        self.memory.borrow_mut().insert(self.place(place), value);
    }

    fn apply(&self, op: Op, a: Block, b: Option<Block>) -> Block {
        let b = b.unwrap_or_default();
        match op {
            Op::Xor => (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes(),
            Op::Encipher => (self.ciphers.encipher)(a),
            Op::Decipher => (self.ciphers.decipher)(a),
            Op::EncipherOther => (self.ciphers.encipher_other)(a),
            Op::Increment => u128::from_be_bytes(a).wrapping_add(1).to_be_bytes(),
            Op::Increment32 => {
                let a = u128::from_be_bytes(a);
                (a >> 32 << 32 | u128::from((a as u32).wrapping_add(1))).to_be_bytes()
            }
            Op::IncrementLittle32 => {
                let a = u128::from_le_bytes(a);
                (a >> 32 << 32 | u128::from((a as u32).wrapping_add(1))).to_le_bytes()
            }
            Op::Double => double(u128::from_be_bytes(a)).to_be_bytes(),
            Op::DoubleLittle => double(u128::from_le_bytes(a)).to_le_bytes(),
            Op::Multiply => multiply(a, b),
            Op::MultiplyLittle => dot(a, b),
            Op::Set(bits) => (u128::from_ne_bytes(a) | u128::from_ne_bytes(bits)).to_ne_bytes(),
            Op::Keep(bits) => (u128::from_ne_bytes(a) & u128::from_ne_bytes(bits)).to_ne_bytes(),
            Op::ShiftLeft(bits) => (u128::from_be_bytes(a) << bits).to_be_bytes(),
            Op::ShiftRight(bits) => (u128::from_be_bytes(a) >> bits).to_be_bytes(),
            Op::Stretch => stretched(a, b),
        }
    }

    fn each(&self, name: &'static str, iterations: usize, body: &dyn Fn(usize)) {
        let allowed = match self.order {
            Order::Parallel(analysis) => analysis.find(name),
            _ => None,
        };
        match allowed.filter(|allowed| allowed.verdict() <= Verdict::ParallelSaved) {
            Some(allowed) => self.scattered(allowed, iterations, body),
            None => (0..iterations).for_each(body),
        }
    }
}

/// POLYVAL's `dot`: the product divided by x¹²⁸. It is GHASH's product with bytes reversed and one factor
/// divided by x (RFC 8452, appendix A).
fn dot(mut a: Block, mut b: Block) -> Block {
    a.reverse();
    b.reverse();
    let b = u128::from_be_bytes(b);
    let mut product = multiply(a, ((b >> 1) ^ ((b & 1) * (0xe1 << 120))).to_be_bytes());
    product.reverse();
    product
}

/// Bits of the stretched top, starting at the number in the nonce's last six bits.
fn stretched(top: Block, nonce: Block) -> Block {
    let bit = |block: Block, i: usize| block[i / 8] >> (7 - i % 8) & 1;
    let bottom = usize::from(nonce[15] % 64);
    let mut offset = [0; 16];
    for i in 0..128 {
        let from = bottom + i;
        let value = if from < 128 { bit(top, from) } else { bit(top, from - 128) ^ bit(top, from - 120) };
        offset[i / 8] |= value << (7 - i % 8);
    }
    offset
}

/// The product with bits reflected, computed bit by bit (SP 800-38D, algorithm 1).
fn multiply(a: Block, b: Block) -> Block {
    let (a, mut v) = (u128::from_be_bytes(a), u128::from_be_bytes(b));
    let mut product = 0;
    for bit in (0..128).rev() {
        product ^= v * (a >> bit & 1);
        v = (v >> 1) ^ ((v & 1) * (0xe1 << 120));
    }
    product.to_be_bytes()
}
