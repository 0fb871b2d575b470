//! ARIA: rounds of key addition, sixteen S-boxes and the diffusion layer A, with two alternating S-box
//! layers.
//!
//! A is an involution. Decryption is encryption under other keys: the order is reversed, and A is applied to
//! all but the outermost two.
//! Source: RFC 5794.

use zeroize::Zeroizing;

use super::sbox::{self, Sbox};
use super::{Bytes, Description, KeyBytes, OnBytes, Portion, Scheduled};
use crate::arch::{each, written_out};
use crate::block::Direction;

/// ARIA.
#[derive(Debug)]
pub struct Aria;

impl Description for Aria {
    /// S₁, which is AES's S-box, S₂, and their inverses.
    const BOXES: &'static [Sbox] = &{
        let s2 = Sbox::new(S2);
        [sbox::AES, s2, sbox::AES.inverse(), s2.inverse()]
    };

    /// The last two rounds.
    const LAST_KEYS: usize = 3;
}

impl Scheduled for Aria {
    fn round_key_bytes(key_bytes: usize) -> usize {
        16 * (rounds(key_bytes) + 1)
    }

    #[inline(always)]
    fn round_keys<S: KeyBytes>(
        s: S,
        key: &[S::Byte],
        direction: Direction,
        keep: &mut impl FnMut(usize, &[S::Byte]),
    ) {
        let rounds = rounds(key.len());
        let w = Zeroizing::new(words(s, key));
        for i in 0..=rounds {
            // Right by 19 and 31 bits, and left by 61, 31 and 19.
            let rotation = [128 - 19, 128 - 31, 61, 31, 19][i / 4];
            let mut key = s.sum(w[i % 4], s.rotate_left(w[(i + 1) % 4], rotation));
            if direction == Direction::Decrypt && 0 < i && i < rounds {
                key = diffuse(s, key);
            }
            let place = if direction == Direction::Encrypt { i } else { rounds - i };
            keep(16 * place, &key);
        }
    }
}

/// Number of rounds for keys of `key_bytes` bytes.
const fn rounds(key_bytes: usize) -> usize {
    key_bytes / 4 + 8
}

/// W₀ to W₃ (RFC 5794 §2.2).
#[inline(always)]
fn words<S: KeyBytes>(s: S, key: &[S::Byte]) -> [[S::Byte; 16]; 4] {
    let kl = each!(i < 16 => key[i]);
    let kr = each!(i < 16 => if 16 + i < key.len() { key[16 + i] } else { s.constant(0) });
    // Odd rounds begin with S-box 0, even ones with number 2.
    let first = key.len() / 8 - 2;
    let w1 = s.sum(round_of_secret(s, kl, first, 0), kr);
    let w2 = s.sum(round_of_secret(s, w1, first + 1, 2), kl);
    let w3 = s.sum(round_of_secret(s, w2, first + 2, 0), w1);
    [kl, w1, w2, w3]
}

/// A round with one of the constants C as its key. Its S-boxes begin with number `first`.
#[inline(always)]
fn round_of_secret<S: KeyBytes>(s: S, from: [S::Byte; 16], constant: usize, first: usize) -> [S::Byte; 16] {
    const C: [u128; 3] = [
        0x517c_c1b7_2722_0a94_fe13_abe8_fa9a_6ee0,
        0x6db1_4acc_9e21_c820_ff28_b1d5_ef5d_e2b0,
        0xdb92_371d_2126_e970_0324_9775_04e8_c90e,
    ];
    let mut bytes = s.sum_with(from, C[constant % 3].to_be_bytes());
    s.substitute(|at| (at + first) % 4, &mut bytes);
    diffuse(s, bytes)
}

impl OnBytes for Aria {
    #[inline(always)]
    fn portion<S: Bytes>(
        s: S,
        _: Direction,
        portion: Portion,
        block: [S::Byte; 16],
        keys: &[S::Key],
    ) -> [S::Byte; 16] {
        let ends = portion != Portion::First;
        let (keys, last) = keys.split_at(keys.len() - if ends { 16 } else { 0 });
        let mut x = block;
        // Each iteration is an odd and an even round. The last round has no diffusion layer.
        let (pairs, _) = keys.as_chunks::<32>();
        for (n, keys) in pairs.iter().enumerate() {
            x = diffuse(s, layer(s, x, &keys[..16], 0));
            x = layer(s, x, &keys[16..], 2);
            if !ends || n + 1 < pairs.len() {
                x = diffuse(s, x);
            }
        }
        if ends { written_out!(i < 16 => s.add_key(x[i], &last[i])) } else { x }
    }
}

/// Adds a round key and substitutes. The S-boxes of odd rounds begin with number 0, those of even rounds with
/// number 2.
#[inline(always)]
fn layer<S: Bytes>(s: S, x: [S::Byte; 16], key: &[S::Key], first: usize) -> [S::Byte; 16] {
    written_out!(i < 16 => s.substitute_sum(x[i], &key[i], (i + first) % 4))
}

/// The diffusion layer A: each byte is the XOR of seven bytes. Six XORs of three bytes each occur in several
/// results. This takes 32 XORs of three values or 64 XORs of two.
#[inline(always)]
fn diffuse<S: Bytes>(s: S, x: [S::Byte; 16]) -> [S::Byte; 16] {
    macro_rules! sum {
        ($first:expr $(, $rest:expr)+) => {{
            let sum = $first;
            $(let sum = s.add(sum, $rest);)+
            sum
        }};
    }
    let a = sum!(x[0], x[7], x[10]);
    let b = sum!(x[3], x[9], x[14]);
    let c = sum!(x[6], x[8], x[13]);
    let d = sum!(x[1], x[4], x[15]);
    let e = sum!(x[5], x[11], x[14]);
    let f = sum!(x[2], x[9], x[12]);
    [
        sum!(b, c, x[4]),
        sum!(x[5], x[7], x[8], x[15], f),
        sum!(x[6], x[10], x[11], x[12], d),
        sum!(a, e, x[13]),
        sum!(x[0], x[2], x[8], x[15], e),
        sum!(b, d, x[10]),
        sum!(a, f, x[13]),
        sum!(x[1], x[3], x[11], x[12], c),
        sum!(a, d, x[13]),
        sum!(x[0], x[1], x[6], x[12], e),
        sum!(x[2], x[3], x[5], x[15], c),
        sum!(x[2], x[4], x[7], x[12], b),
        sum!(x[1], x[6], x[7], x[11], f),
        sum!(a, c, x[3]),
        sum!(x[0], x[4], x[5], x[11], b),
        sum!(x[2], x[5], x[8], x[10], d),
    ]
}

/// The S-box S₂.
const S2: [u8; 256] = [
    0xe2, 0x4e, 0x54, 0xfc, 0x94, 0xc2, 0x4a, 0xcc, 0x62, 0x0d, 0x6a, 0x46, 0x3c, 0x4d, 0x8b, 0xd1, 0x5e,
    0xfa, 0x64, 0xcb, 0xb4, 0x97, 0xbe, 0x2b, 0xbc, 0x77, 0x2e, 0x03, 0xd3, 0x19, 0x59, 0xc1, 0x1d, 0x06,
    0x41, 0x6b, 0x55, 0xf0, 0x99, 0x69, 0xea, 0x9c, 0x18, 0xae, 0x63, 0xdf, 0xe7, 0xbb, 0x00, 0x73, 0x66,
    0xfb, 0x96, 0x4c, 0x85, 0xe4, 0x3a, 0x09, 0x45, 0xaa, 0x0f, 0xee, 0x10, 0xeb, 0x2d, 0x7f, 0xf4, 0x29,
    0xac, 0xcf, 0xad, 0x91, 0x8d, 0x78, 0xc8, 0x95, 0xf9, 0x2f, 0xce, 0xcd, 0x08, 0x7a, 0x88, 0x38, 0x5c,
    0x83, 0x2a, 0x28, 0x47, 0xdb, 0xb8, 0xc7, 0x93, 0xa4, 0x12, 0x53, 0xff, 0x87, 0x0e, 0x31, 0x36, 0x21,
    0x58, 0x48, 0x01, 0x8e, 0x37, 0x74, 0x32, 0xca, 0xe9, 0xb1, 0xb7, 0xab, 0x0c, 0xd7, 0xc4, 0x56, 0x42,
    0x26, 0x07, 0x98, 0x60, 0xd9, 0xb6, 0xb9, 0x11, 0x40, 0xec, 0x20, 0x8c, 0xbd, 0xa0, 0xc9, 0x84, 0x04,
    0x49, 0x23, 0xf1, 0x4f, 0x50, 0x1f, 0x13, 0xdc, 0xd8, 0xc0, 0x9e, 0x57, 0xe3, 0xc3, 0x7b, 0x65, 0x3b,
    0x02, 0x8f, 0x3e, 0xe8, 0x25, 0x92, 0xe5, 0x15, 0xdd, 0xfd, 0x17, 0xa9, 0xbf, 0xd4, 0x9a, 0x7e, 0xc5,
    0x39, 0x67, 0xfe, 0x76, 0x9d, 0x43, 0xa7, 0xe1, 0xd0, 0xf5, 0x68, 0xf2, 0x1b, 0x34, 0x70, 0x05, 0xa3,
    0x8a, 0xd5, 0x79, 0x86, 0xa8, 0x30, 0xc6, 0x51, 0x4b, 0x1e, 0xa6, 0x27, 0xf6, 0x35, 0xd2, 0x6e, 0x24,
    0x16, 0x82, 0x5f, 0xda, 0xe6, 0x75, 0xa2, 0xef, 0x2c, 0xb2, 0x1c, 0x9f, 0x5d, 0x6f, 0x80, 0x0a, 0x72,
    0x44, 0x9b, 0x6c, 0x90, 0x0b, 0x5b, 0x33, 0x7d, 0x5a, 0x52, 0xf3, 0x61, 0xa1, 0xf7, 0xb0, 0xd6, 0x3f,
    0x7c, 0x6d, 0xed, 0x14, 0xe0, 0xa5, 0x3d, 0x22, 0xb3, 0xf8, 0x89, 0xde, 0x71, 0x1a, 0xaf, 0xba, 0xb5,
    0x81,
];
