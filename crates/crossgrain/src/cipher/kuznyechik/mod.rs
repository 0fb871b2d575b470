//! Kuznyechik: nine rounds of key addition, S-box and linear transformation L, and a final key addition.
//!
//! L is sixteen steps R of a shift register. Each step computes a new first byte, a linear combination of all
//! sixteen bytes, and drops the last byte. On registers only the new byte is computed; the shift only renames
//! registers. The coefficients of bytes 0 to 14 are a palindrome, and that of the last byte is 1. The inverse
//! of L is therefore L on the bytes in reversed order. Decryption uses this and reverses blocks.
//! Source: RFC 7801. Multiplication is modulo x⁸ + x⁷ + x⁶ + x + 1.

use zeroize::Zeroizing;

use super::sbox::{Linear, Sbox};
use super::{Bytes, Description, KeyBytes, OnBytes, Portion, Scheduled};
use crate::arch::{each, unrolled, written_out};
use crate::block::{Block, Direction};

/// Kuznyechik.
#[derive(Debug)]
pub struct Kuznyechik;

/// The low eight bits of the polynomial.
const POLYNOMIAL: u8 = 0xc3;

/// The coefficients of R other than one, in their order from either end to the middle. They are the linear
/// maps.
const FACTORS: [u8; 7] = [148, 32, 133, 16, 194, 192, 251];

/// Number of round keys.
const KEYS: usize = 10;

/// The constants of the key schedule, one for each round of its Feistel network: L of the round's number.
const CONSTANTS: [Block; 32] = {
    let (mut constants, mut at) = ([[0; 16]; 32], 0);
    while at < 32 {
        constants[at][15] = at as u8 + 1;
        constants[at] = l(constants[at]);
        at += 1;
    }
    constants
};

impl Description for Kuznyechik {
    /// π and its inverse.
    const BOXES: &'static [Sbox] = &{
        let pi = Sbox::new(PI);
        [pi, pi.inverse()]
    };

    const MAPS: &'static [Linear] = &{
        const fn product(index: usize) -> Linear {
            Linear::product(FACTORS[index], POLYNOMIAL)
        }
        [product(0), product(1), product(2), product(3), product(4), product(5), product(6)]
    };

    /// The last round and the addition after it.
    const LAST_KEYS: usize = 2;

    /// The bytes that the first steps of L compute in encryption.
    const EARLY: usize = 12;
}

impl Scheduled for Kuznyechik {
    fn round_key_bytes(_: usize) -> usize {
        16 * KEYS
    }

    #[inline(always)]
    fn round_keys<S: KeyBytes>(
        s: S,
        key: &[S::Byte],
        direction: Direction,
        keep: &mut impl FnMut(usize, &[S::Byte]),
    ) {
        let mut a = Zeroizing::new(each!(i < 16 => key[i]));
        let mut b = Zeroizing::new(each!(i < 16 => key[16 + i]));
        for number in 0..=CONSTANTS.len() {
            if number > 0 {
                let mut sum = s.sum_with(*a, CONSTANTS[number - 1]);
                s.substitute(|_| 0, &mut sum);
                let next = s.sum(mix(s, sum), *b);
                *b = *a;
                *a = next;
            }
            if number % 8 == 0 {
                let first = number / 4;
                for (number, key) in [(first, *a), (first + 1, *b)] {
                    let last = KEYS - 1;
                    match direction {
                        Direction::Encrypt => keep(16 * number, &key),
                        // Keys for reversed blocks. All keys but the last are added after the inverse of L
                        // instead of before it.
                        Direction::Decrypt if number == 0 => keep(16 * last, &reversed(key)),
                        Direction::Decrypt => keep(16 * (last - number), &mix(s, reversed(key))),
                    }
                }
            }
        }
    }
}

/// L of a block that is a compile-time constant.
const fn l(mut x: Block) -> Block {
    let mut first = 16;
    while first > 0 {
        first -= 1;
        // The new byte overwrites the last one. Byte i is at index `first` + 1 + i, modulo 16.
        let (mut sum, mut i) = (x[first], 0);
        while i < 15 {
            let byte = x[(first + 1 + i) % 16];
            let from_the_end = if i < 7 { i } else { 14 - i };
            sum ^= match from_the_end {
                6 => byte,
                7 => Kuznyechik::MAPS[6].of(byte),
                other => Kuznyechik::MAPS[other].of(byte),
            };
            i += 1;
        }
        x[first] = sum;
    }
    x
}

impl OnBytes for Kuznyechik {
    #[inline(always)]
    fn portion<S: Bytes>(
        s: S,
        direction: Direction,
        portion: Portion,
        block: [S::Byte; 16],
        keys: &[S::Key],
    ) -> [S::Byte; 16] {
        let encrypts = direction == Direction::Encrypt;
        let (begins, ends) = (portion != Portion::Last, portion != Portion::First);
        let (rounds, last) = keys.split_at(keys.len() - if ends { 16 } else { 0 });
        let mut x = if encrypts || !begins { block } else { reversed(block) };
        let sbox = usize::from(!encrypts);
        let (rounds, _) = rounds.as_chunks();
        if let (Portion::Last, [key]) = (portion, rounds) {
            // Without a loop, so that steps of L whose bytes are not used are left out.
            x = if encrypts { mix(s, layer(s, x, key, sbox)) } else { layer(s, mix(s, x), key, sbox) };
        } else {
            // The loop alternates between S-boxes and L, so the code of each exists only once. Decryption
            // begins with L.
            let mut keys = rounds.iter();
            let mut substitutes = encrypts;
            for _ in 0..2 * keys.len() {
                if substitutes && let Some(key) = keys.next() {
                    x = layer(s, x, key, sbox);
                } else {
                    x = mix(s, x);
                }
                substitutes = !substitutes;
            }
        }
        if !ends {
            return x;
        }
        x = written_out!(i < 16 => s.add_key(x[i], &last[i]));
        if encrypts { x } else { reversed(x) }
    }
}

/// Adds a round key and substitutes.
#[inline(always)]
fn layer<S: Bytes>(s: S, x: [S::Byte; 16], key: &[S::Key; 16], sbox: usize) -> [S::Byte; 16] {
    written_out!(i < 16 => s.substitute_sum(x[i], &key[i], sbox))
}

/// The bytes in reversed order, on which the inverse of L is L.
#[inline(always)]
fn reversed<T: Copy>(x: [T; 16]) -> [T; 16] {
    written_out!(i < 16 => x[15 - i])
}

/// L: sixteen steps R. After n steps, byte i is at index i − n modulo 16.
#[inline(always)]
fn mix<S: Bytes>(s: S, mut x: [S::Byte; 16]) -> [S::Byte; 16] {
    if S::IN_REGISTERS {
        unrolled!(n in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            x[15 - n] = step(s, &x, (16 - n) % 16, 15 - n);
        });
    } else {
        for n in 0..16 {
            x[15 - n] = step(s, &x, (16 - n) % 16, 15 - n);
        }
    }
    x
}

/// The new first byte of a step R. Bytes 0 to 14 are at the indices from `first` on, modulo 16, and the last
/// byte is at index `last`.
///
/// The coefficients are a palindrome, so bytes with equal coefficients are added before the multiplication.
#[inline(always)]
fn step<S: Bytes>(s: S, x: &[S::Byte; 16], first: usize, last: usize) -> S::Byte {
    let pair = written_out!(i < 8 => s.add(x[(first + i) % 16], x[(first + 14 - i) % 16]));
    let low = s.add(s.add(s.linear(pair[0], 0), s.linear(pair[1], 1)), s.linear(pair[2], 2));
    let high = s.add(s.add(s.linear(pair[3], 3), s.linear(pair[4], 4)), s.linear(pair[5], 5));
    let middle = s.add(pair[6], s.linear(x[(first + 7) % 16], 6));
    s.add(s.add(x[last], middle), s.add(low, high))
}

/// The S-box π.
const PI: [u8; 256] = [
    0xfc, 0xee, 0xdd, 0x11, 0xcf, 0x6e, 0x31, 0x16, 0xfb, 0xc4, 0xfa, 0xda, 0x23, 0xc5, 0x04, 0x4d, 0xe9,
    0x77, 0xf0, 0xdb, 0x93, 0x2e, 0x99, 0xba, 0x17, 0x36, 0xf1, 0xbb, 0x14, 0xcd, 0x5f, 0xc1, 0xf9, 0x18,
    0x65, 0x5a, 0xe2, 0x5c, 0xef, 0x21, 0x81, 0x1c, 0x3c, 0x42, 0x8b, 0x01, 0x8e, 0x4f, 0x05, 0x84, 0x02,
    0xae, 0xe3, 0x6a, 0x8f, 0xa0, 0x06, 0x0b, 0xed, 0x98, 0x7f, 0xd4, 0xd3, 0x1f, 0xeb, 0x34, 0x2c, 0x51,
    0xea, 0xc8, 0x48, 0xab, 0xf2, 0x2a, 0x68, 0xa2, 0xfd, 0x3a, 0xce, 0xcc, 0xb5, 0x70, 0x0e, 0x56, 0x08,
    0x0c, 0x76, 0x12, 0xbf, 0x72, 0x13, 0x47, 0x9c, 0xb7, 0x5d, 0x87, 0x15, 0xa1, 0x96, 0x29, 0x10, 0x7b,
    0x9a, 0xc7, 0xf3, 0x91, 0x78, 0x6f, 0x9d, 0x9e, 0xb2, 0xb1, 0x32, 0x75, 0x19, 0x3d, 0xff, 0x35, 0x8a,
    0x7e, 0x6d, 0x54, 0xc6, 0x80, 0xc3, 0xbd, 0x0d, 0x57, 0xdf, 0xf5, 0x24, 0xa9, 0x3e, 0xa8, 0x43, 0xc9,
    0xd7, 0x79, 0xd6, 0xf6, 0x7c, 0x22, 0xb9, 0x03, 0xe0, 0x0f, 0xec, 0xde, 0x7a, 0x94, 0xb0, 0xbc, 0xdc,
    0xe8, 0x28, 0x50, 0x4e, 0x33, 0x0a, 0x4a, 0xa7, 0x97, 0x60, 0x73, 0x1e, 0x00, 0x62, 0x44, 0x1a, 0xb8,
    0x38, 0x82, 0x64, 0x9f, 0x26, 0x41, 0xad, 0x45, 0x46, 0x92, 0x27, 0x5e, 0x55, 0x2f, 0x8c, 0xa3, 0xa5,
    0x7d, 0x69, 0xd5, 0x95, 0x3b, 0x07, 0x58, 0xb3, 0x40, 0x86, 0xac, 0x1d, 0xf7, 0x30, 0x37, 0x6b, 0xe4,
    0x88, 0xd9, 0xe7, 0x89, 0xe1, 0x1b, 0x83, 0x49, 0x4c, 0x3f, 0xf8, 0xfe, 0x8d, 0x53, 0xaa, 0x90, 0xca,
    0xd8, 0x85, 0x61, 0x20, 0x71, 0x67, 0xa4, 0x2d, 0x2b, 0x09, 0x5b, 0xcb, 0x9b, 0x25, 0xd0, 0xbe, 0xe5,
    0x6c, 0x52, 0x59, 0xa6, 0x74, 0xd2, 0xe6, 0xf4, 0xb4, 0xc0, 0xd1, 0x66, 0xaf, 0xc2, 0x39, 0x4b, 0x63,
    0xb6,
];
