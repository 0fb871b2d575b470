//! Floating-point arithmetic emulated with integers, for words and languages that lack it or guarantee too
//! little about it.
//!
//! One implementation serves both lengths: a 32-bit [`Integer`] holds an `f32`, a 64-bit one an `f64`. Each
//! operation has four steps:
//!
//! 1. Split both numbers into sign, exponent and significand with its leading one.
//! 2. Compute the exact significand with [`MORE`] extra places. The last of them is sticky: it is set if any
//!    bit below is set.
//! 3. Shift, so that the leading one is at its place or the exponent is the least.
//! 4. Round once, then handle zeros, infinities and NaNs.
//!
//! The source is IEEE 754-2019, written from its definitions. Every result is rounded to nearest, ties to
//! even, subnormal numbers included. A NaN that an operation creates is [`nan`]. No branch depends on a
//! value.

use super::{Arithmetic, Integer, Lanes};

/// Extra places of a result below those of a significand. The last is the sticky bit.
const MORE: u32 = 3;

/// The result of an operation. A square root ignores `b`. A comparison fills the whole number with the mask.
pub fn computed<W: Lanes, B: Integer<W>>(operation: Arithmetic, a: B, b: B) -> B {
    let (ones, zeros) = (constant::<W, B>(a, u64::MAX), constant::<W, B>(a, 0));
    match operation {
        Arithmetic::Add => sum(a, b),
        Arithmetic::Multiply => product(a, b),
        Arithmetic::Divide => quotient(a, b),
        Arithmetic::Root => root(a),
        Arithmetic::Less => B::chosen(less(a, b), ones, zeros),
        Arithmetic::Equal => B::chosen(equal(a, b), ones, zeros),
    }
}

/// Bits of the stored fraction.
const fn places<W: Lanes, B: Integer<W>>() -> u32 {
    if B::BITS == 32 { 23 } else { 52 }
}

/// The exponent of infinities and NaNs: all bits set.
const fn exponent_max<W: Lanes, B: Integer<W>>() -> u32 {
    (1 << (B::BITS - 1 - places::<W, B>())) - 1
}

/// The bias of stored exponents.
const fn bias<W: Lanes, B: Integer<W>>() -> u32 {
    exponent_max::<W, B>() / 2
}

fn constant<W: Lanes, B: Integer<W>>(like: B, value: u64) -> B {
    B::constant(like.top(), value)
}

fn infinity<W: Lanes, B: Integer<W>>(like: B) -> B {
    constant(like, u64::from(exponent_max::<W, B>()) << places::<W, B>())
}

/// The NaN that operations create: positive, with only the first bit of the fraction set.
fn nan<W: Lanes, B: Integer<W>>(like: B) -> B {
    infinity(like) ^ constant(like, 1 << (places::<W, B>() - 1))
}

/// A number without its sign bit.
fn magnitude<W: Lanes, B: Integer<W>>(x: B) -> B {
    x & constant(x, (1 << (B::BITS - 1)) - 1)
}

/// The sign bit of a number, in place.
fn sign<W: Lanes, B: Integer<W>>(x: B) -> B {
    x & constant(x, 1 << (B::BITS - 1))
}

fn is_zero<W: Lanes, B: Integer<W>>(x: B) -> W {
    x.equal(constant(x, 0))
}

/// Whether a number without its sign bit is a NaN.
fn is_nan<W: Lanes, B: Integer<W>>(magnitude: B) -> W {
    infinity(magnitude).less(magnitude)
}

fn or<W: Lanes>(a: W, b: W) -> W {
    !(!a & !b)
}

fn minus<W: Lanes>(a: W, b: W) -> W {
    !(!a).add_lanes(b)
}

/// The stored exponent.
fn exponent<W: Lanes, B: Integer<W>>(x: B) -> W {
    x.top().shift_lanes_up(1).shift_lanes_down(places::<W, B>() + 33 - B::BITS)
}

/// The exponent and the significand of a number. A subnormal number has exponent 1 and no leading one.
fn apart<W: Lanes, B: Integer<W>>(x: B) -> (W, B) {
    let stored = exponent(x);
    let is_small = stored.equal_lanes(stored.zero());
    let fraction = x & constant(x, (1 << places::<W, B>()) - 1);
    let leading = constant(x, 1 << places::<W, B>());
    let significand = B::chosen(is_small, fraction, fraction ^ leading);
    (stored.add_lanes(is_small & stored.filled(1)), significand)
}

/// The exponent and the significand of a number, shifted so that the leading one is the top bit. Subnormal
/// numbers get an exponent below 1.
fn normal<W: Lanes, B: Integer<W>>(x: B) -> (W, B) {
    let (exponent, significand) = apart(x);
    let significand = significand.shifted_left(B::BITS - 1 - places::<W, B>());
    let zeros = significand.zeros();
    (minus(exponent, zeros), significand.shift_left_by(zeros))
}

/// `x` shifted towards the low end by `count` bits. The last bit is set if any bit that is shifted out is
/// set.
fn shifted<W: Lanes, B: Integer<W>>(x: B, count: W) -> B {
    let most = count.filled(B::BITS - 1);
    let count = count.min_lanes(most);
    let shifted = x.shift_right_by(count);
    let is_exact = shifted.shift_left_by(count).equal(x);
    with_last(shifted, !is_exact)
}

/// `x` with its last bit set in lanes in which the mask is ones.
fn with_last<W: Lanes, B: Integer<W>>(x: B, mask: W) -> B {
    let last = B::from_low(mask & mask.filled(1));
    !(!x & !last)
}

/// Rounds a significand with [`MORE`] extra places and joins it with its exponent. Either the leading one is
/// at its place or the exponent is
/// 1. Too large a result becomes infinity. The sign is clear.
fn packed<W: Lanes, B: Integer<W>>(exponent: W, x: B) -> B {
    let last = x.shifted_right(MORE) & constant(x, 1);
    let rounded = x.plus(constant(x, 3)).plus(last).shifted_right(MORE);
    // The leading one adds 1 to the exponent. Without it, the number is subnormal.
    let above = exponent.add_lanes(exponent.filled(u32::MAX));
    let number = rounded.plus(B::from_top(above.shift_lanes_up(places::<W, B>() + 32 - B::BITS)));
    let most = exponent.filled(exponent_max::<W, B>() - 1);
    B::chosen(most.less_lanes(exponent), infinity(x), number)
}

/// [`packed`] for an exponent that may be less than 1.
fn packed_small<W: Lanes, B: Integer<W>>(exponent: W, x: B) -> B {
    let one = exponent.filled(1);
    let is_small = minus(exponent, one).top_of_lanes();
    let below = is_small & minus(one, exponent);
    packed(is_small.select(one, exponent), shifted(x, below))
}

fn sum<W: Lanes, B: Integer<W>>(a: B, b: B) -> B {
    let is_less = magnitude(a).less(magnitude(b));
    let (big, small) = (B::chosen(is_less, b, a), B::chosen(is_less, a, b));
    let differ = (big.top() ^ small.top()).top_of_lanes();
    let ((exponent_big, x), (exponent_small, y)) = (apart(big), apart(small));
    let y = shifted(y.shifted_left(MORE), minus(exponent_big, exponent_small));
    let y = B::chosen(differ, !y, y).plus(B::from_low(differ & differ.filled(1)));
    let total = x.shifted_left(MORE).plus(y);
    // The sum may have one bit more or any number of bits fewer. It is shifted left no further than the
    // exponent allows.
    let spare = B::BITS - 1 - MORE - places::<W, B>();
    let carried = total.shifted_right(places::<W, B>() + MORE + 1).equal(constant(a, 1));
    let halved =
        with_last(total.shifted_right(1), B::from_low(differ.filled(1)).equal(total & constant(a, 1)));
    let total = B::chosen(carried, halved, total);
    let exponent_sum = exponent_big.add_lanes(carried & differ.filled(1));
    let zeros = minus(total.zeros(), differ.filled(spare));
    let zeros = zeros.min_lanes(exponent_sum.add_lanes(differ.filled(u32::MAX)));
    let result = packed(minus(exponent_sum, zeros), total.shift_left_by(zeros));
    // A sum that is zero because both terms cancel is positive.
    let result = B::chosen(differ & is_zero(total), constant(a, 0), result ^ sign(big));
    let most = differ.filled(exponent_max::<W, B>());
    let is_none = or(
        is_nan(magnitude(big)),
        differ & exponent(big).equal_lanes(most) & exponent(small).equal_lanes(most),
    );
    let result = B::chosen(exponent(big).equal_lanes(most), big, result);
    B::chosen(is_none, nan(a), result)
}

fn product<W: Lanes, B: Integer<W>>(a: B, b: B) -> B {
    let ((exponent_a, x), (exponent_b, y)) = (normal(a), normal(b));
    let [low, high] = x.whole_product(y);
    let high = with_last(high, !is_zero(low));
    let is_carried = high.top().top_of_lanes();
    let high = B::chosen(is_carried, high, high.shifted_left(1));
    let exponents = exponent_a.add_lanes(exponent_b).add_lanes(is_carried & exponent_a.filled(1));
    let exponent = minus(exponents, exponents.filled(bias::<W, B>()));
    let spare = high.top().filled(B::BITS - 1 - MORE - places::<W, B>());
    let result = packed_small(exponent, shifted(high, spare));
    let (a, b, sign) = (magnitude(a), magnitude(b), sign(a ^ b));
    let is_none = or(is_nan(a), is_nan(b));
    let is_zero = or(is_zero(a), is_zero(b));
    let is_infinite = or(a.equal(infinity(a)), b.equal(infinity(b)));
    let result = B::chosen(is_zero, constant(a, 0), B::chosen(is_infinite, infinity(a), result)) ^ sign;
    B::chosen(or(is_none, is_zero & is_infinite), nan(a), result)
}

/// One digit of a division or root: subtracts `other` if it is not greater than `rest`, then doubles. The
/// mask has ones where `rest` is less, so the digit is 0. Both have the highest bit clear.
fn without<W: Lanes, B: Integer<W>>(rest: B, other: B) -> (B, W) {
    let difference = !(!rest).plus(other);
    let is_less = difference.top().top_of_lanes();
    (B::chosen(is_less, rest, difference).shifted_left(1), is_less)
}

fn quotient<W: Lanes, B: Integer<W>>(a: B, b: B) -> B {
    let ((exponent_a, x), (exponent_b, y)) = (normal(a), normal(b));
    let spare = B::BITS - 1 - places::<W, B>();
    let (mut rest, divisor) = (x.shifted_right(spare), y.shifted_right(spare));
    let mut digits = constant(a, 0);
    // One digit for each turn: a first one that may be zero, then the places of the result and the extra
    // places.
    for place in (0..places::<W, B>() + MORE + 2).rev() {
        let is_less;
        (rest, is_less) = without(rest, divisor);
        digits = digits ^ B::chosen(is_less, constant(a, 0), constant(a, 1 << place));
    }
    let digits = with_last(digits, !is_zero(rest));
    let leading = places::<W, B>() + MORE + 1;
    let is_below_one = is_zero(digits & constant(a, 1 << leading));
    let one = exponent_a.filled(1);
    let digits = B::chosen(is_below_one, digits, shifted(digits, one));
    let exponents = exponent_a.add_lanes(exponent_a.filled(bias::<W, B>()));
    let exponent = minus(minus(exponents, exponent_b), is_below_one & one);
    let result = packed_small(exponent, digits);
    let (a, b, sign) = (magnitude(a), magnitude(b), sign(a ^ b));
    let ([zero_a, zero_b], infinite) = ([a, b].map(is_zero), infinity(a));
    let [infinite_a, infinite_b] = [a, b].map(|x| x.equal(infinite));
    let result = B::chosen(or(zero_b, infinite_a), infinite, result);
    let result = B::chosen(or(zero_a, infinite_b), constant(a, 0), result) ^ sign;
    let is_none = or(or(is_nan(a), is_nan(b)), or(zero_a & zero_b, infinite_a & infinite_b));
    B::chosen(is_none, nan(a), result)
}

fn root<W: Lanes, B: Integer<W>>(a: B) -> B {
    let (exponent, x) = normal(a);
    let one = exponent.filled(1);
    // The exponent is halved. An odd one is first made even, and the significand is doubled instead.
    let exponents = exponent.add_lanes(exponent.filled(bias::<W, B>()));
    let is_odd = exponents.bit_of_lanes::<0>();
    let exponent = minus(exponents, is_odd & one).shift_lanes_down(1);
    let top = places::<W, B>() + MORE;
    let x = x.shifted_right(B::BITS - 1 - top);
    let (mut rest, mut digits) = (B::chosen(is_odd, x.shifted_left(1), x), constant(a, 0));
    for place in (0..=top).rev() {
        // The increase of the square if this digit is 1. It has the scale of the remainder, which doubles
        // each turn.
        let more = digits.shifted_left(1) ^ constant(a, 1 << place);
        let is_less;
        (rest, is_less) = without(rest, more);
        digits = digits ^ B::chosen(is_less, constant(a, 0), constant(a, 1 << place));
    }
    let result = packed(exponent, with_last(digits, !is_zero(rest)));
    let result = B::chosen(magnitude(a).equal(infinity(a)), infinity(a), result);
    let is_none = or(is_nan(magnitude(a)), a.top().top_of_lanes());
    B::chosen(is_zero(magnitude(a)), a, B::chosen(is_none, nan(a), result))
}

fn less<W: Lanes, B: Integer<W>>(a: B, b: B) -> W {
    let [x, y] = [a, b].map(magnitude);
    let are_numbers = !or(or(is_nan(x), is_nan(y)), is_zero(x) & is_zero(y));
    // Integers in the order of the numbers: a positive number has its sign bit set, a negative one has all
    // bits inverted.
    let [a, b] = [a, b].map(|x| B::chosen(x.top().top_of_lanes(), !x, x ^ constant(x, 1 << (B::BITS - 1))));
    are_numbers & a.less(b)
}

fn equal<W: Lanes, B: Integer<W>>(a: B, b: B) -> W {
    let [x, y] = [a, b].map(magnitude);
    !is_nan(x) & !is_nan(y) & or(a.equal(b), is_zero(x) & is_zero(y))
}
