//! Camellia: a Feistel network of two halves of eight bytes, with FL and its inverse after every sixth round.
//!
//! Keys stand in the order of their use, eight bytes each: two for whitening, six for rounds, two for FL, and so on.
//! Source: RFC 3713.

use zeroize::{Zeroize, Zeroizing};

use super::plain::{Tables, substitute};
use super::sbox::{Linear, Sbox};
use super::{Bytes, Description, OnBytes, RoundKeys};
use crate::block::Direction;
use crate::word::written_out;

/// Camellia.
#[derive(Debug)]
pub struct Camellia;

/// The S-box of each byte of F's input, by number.
const CHOICE: [usize; 8] = [0, 1, 2, 3, 1, 2, 3, 0];

/// The linear maps of FL: a byte up by one bit, and its highest bit alone as the lowest.
const UP: usize = 0;
const CARRY: usize = 1;

impl Description for Camellia {
    const BOXES: &'static [Sbox] = &{
        let s1 = Sbox::new(S1);
        [s1, s1.rotated(0, 1), s1.rotated(0, 7), s1.rotated(1, 0)]
    };

    /// Up by one bit; and the highest bit as the lowest.
    const MAPS: &'static [Linear] =
        &[Linear { images: [2, 4, 8, 16, 32, 64, 128, 0] }, Linear { images: [0, 0, 0, 0, 0, 0, 0, 1] }];

    fn schedule(key: &[u8], direction: Direction) -> RoundKeys {
        let mut sources = Zeroizing::new(sources(key));
        let list = if key.len() == 16 { SHORT } else { LONG };
        let mut keys = Zeroizing::new(Vec::with_capacity(8 * list.len()));
        for &(source, rotation, half) in list {
            let word = sources[source as usize].rotate_left(rotation);
            keys.extend_from_slice(&((word >> (64 * half)) as u64).to_be_bytes());
        }
        sources.zeroize();
        if direction == Direction::Decrypt {
            let words = keys.as_chunks_mut::<8>().0;
            let last = words.len() - 1;
            words.reverse();
            words.swap(0, 1);
            words.swap(last - 1, last);
        }
        keys
    }
}

/// What round keys are rotations of.
#[derive(Clone, Copy)]
enum Source {
    Kl,
    Kr,
    Ka,
    Kb,
}

/// K_L, K_R, K_A and K_B (RFC 3713 §2.2).
fn sources(key: &[u8]) -> [u128; 4] {
    let half = |bytes: &[u8]| bytes.iter().fold(0, |half, &byte| half << 8 | u128::from(byte));
    let (kl, kr) = match key.len() {
        16 => (half(key), 0),
        24 => (half(&key[..16]), half(&key[16..]) << 64 | !half(&key[16..]) & u128::from(u64::MAX)),
        _ => (half(&key[..16]), half(&key[16..])),
    };
    let ka = two_rounds(two_rounds(kl ^ kr, 0) ^ kl, 2);
    let kb = two_rounds(ka ^ kr, 4);
    [kl, kr, ka, kb]
}

/// Two rounds by the constants Σ from number `first` on.
fn two_rounds(state: u128, first: usize) -> u128 {
    const SIGMA: [u64; 6] = [
        0xa09e_667f_3bcc_908b,
        0xb67a_e858_4caa_73b2,
        0xc6ef_372f_e94f_82be,
        0x54ff_53a5_f1d3_6f1c,
        0x10e5_27fa_de68_2d1d,
        0xb056_88c2_b3e6_c1fd,
    ];
    let (mut d1, mut d2) = ((state >> 64) as u64, state as u64);
    d2 ^= f_of_secret(d1 ^ SIGMA[first]);
    d1 ^= f_of_secret(d2 ^ SIGMA[first + 1]);
    u128::from(d1) << 64 | u128::from(d2)
}

/// F of a sum with a key, by gates.
fn f_of_secret(sum: u64) -> u64 {
    let mut bytes = sum.to_be_bytes();
    substitute(Camellia::BOXES, |at| CHOICE[at], &mut bytes);
    u64::from_be_bytes(p(Tables::of::<Camellia>(), bytes))
}

/// Half 1 is the high one. Both halves of a rotation.
macro_rules! halves {
    ($($source:ident $rotation:literal $($half:literal)?),*) => {
        &[$((Source::$source, $rotation, 1), (Source::$source, $rotation, 0)),*]
    };
}

/// The keys of 16-byte keys in order: what of, rotated how far, and which half.
const SHORT: &[(Source, u32, u32)] = &[
    (Source::Kl, 0, 1),
    (Source::Kl, 0, 0),
    (Source::Ka, 0, 1),
    (Source::Ka, 0, 0),
    (Source::Kl, 15, 1),
    (Source::Kl, 15, 0),
    (Source::Ka, 15, 1),
    (Source::Ka, 15, 0),
    (Source::Ka, 30, 1),
    (Source::Ka, 30, 0),
    (Source::Kl, 45, 1),
    (Source::Kl, 45, 0),
    (Source::Ka, 45, 1),
    (Source::Kl, 60, 0),
    (Source::Ka, 60, 1),
    (Source::Ka, 60, 0),
    (Source::Kl, 77, 1),
    (Source::Kl, 77, 0),
    (Source::Kl, 94, 1),
    (Source::Kl, 94, 0),
    (Source::Ka, 94, 1),
    (Source::Ka, 94, 0),
    (Source::Kl, 111, 1),
    (Source::Kl, 111, 0),
    (Source::Ka, 111, 1),
    (Source::Ka, 111, 0),
];

/// The keys of longer keys.
const LONG: &[(Source, u32, u32)] = halves![
    Kl 0, Kb 0, Kr 15, Ka 15, Kr 30, Kb 30, Kl 45, Ka 45, Kl 60, Kr 60, Kb 60, Kl 77, Ka 77, Kr 94, Ka 94, Kl 111, Kb 111
];

/// Half of a block.
type Half<T> = [T; 8];

impl OnBytes for Camellia {
    const CHANGED: usize = 8;

    #[inline(always)]
    fn rounds<S: Bytes>(s: S, _: Direction, block: [S::Byte; 16], keys: &[S::Key]) -> [S::Byte; 16] {
        let (whitening, mut rest) = keys.split_at(16);
        let mut a: Half<S::Byte> = written_out!(i < 8 => s.add_key(block[i], &whitening[i]));
        let mut b: Half<S::Byte> = written_out!(i < 8 => s.add_key(block[8 + i], &whitening[8 + i]));
        loop {
            for keys in rest[..48].as_chunks::<16>().0 {
                let f_of_a = f(s, a, &keys[..8]);
                b = written_out!(i < 8 => s.add(b[i], f_of_a[i]));
                let f_of_b = f(s, b, &keys[8..]);
                a = written_out!(i < 8 => s.add(a[i], f_of_b[i]));
            }
            rest = &rest[48..];
            if rest.len() == 16 {
                break;
            }
            (a, b) = (fl(s, a, &rest[..8]), inv_fl(s, b, &rest[8..16]));
            rest = &rest[16..];
        }
        written_out!(i < 16 => if i < 8 { s.add_key(b[i % 8], &rest[i]) } else { s.add_key(a[i % 8], &rest[i]) })
    }
}

/// The function F of a half and a round key.
#[inline(always)]
fn f<S: Bytes>(s: S, half: Half<S::Byte>, key: &[S::Key]) -> Half<S::Byte> {
    p(s, written_out!(i < 8 => s.substitute_sum(half[i], &key[i], CHOICE[i])))
}

/// The permutation P, by 16 sums (Camellia's specification, "efficient implementation" on bytes).
#[inline(always)]
fn p<S: Bytes>(s: S, z: Half<S::Byte>) -> Half<S::Byte> {
    let [mut z1, mut z2, mut z3, mut z4, mut z5, mut z6, mut z7, mut z8] = z;
    (z1, z2, z3, z4) = (s.add(z1, z6), s.add(z2, z7), s.add(z3, z8), s.add(z4, z5));
    (z5, z6, z7, z8) = (s.add(z5, z3), s.add(z6, z4), s.add(z7, z1), s.add(z8, z2));
    (z1, z2, z3, z4) = (s.add(z1, z8), s.add(z2, z5), s.add(z3, z6), s.add(z4, z7));
    (z5, z6, z7, z8) = (s.add(z5, z4), s.add(z6, z1), s.add(z7, z2), s.add(z8, z3));
    [z5, z6, z7, z8, z1, z2, z3, z4]
}

/// A word of four bytes rotated up by one bit, of which a key has some.
#[inline(always)]
fn rotated<S: Bytes>(s: S, word: [S::Byte; 4], key: &[S::Key]) -> [S::Byte; 4] {
    let x = written_out!(i < 4 => s.and_key(word[i], &key[i]));
    written_out!(i < 4 => s.add(s.linear(x[i], UP), s.linear(x[(i + 1) % 4], CARRY)))
}

#[inline(always)]
fn fl<S: Bytes>(s: S, x: Half<S::Byte>, key: &[S::Key]) -> Half<S::Byte> {
    let turned = rotated(s, [x[0], x[1], x[2], x[3]], key);
    let low: [S::Byte; 4] = written_out!(i < 4 => s.add(x[4 + i], turned[i]));
    written_out!(i < 8 => if i < 4 { s.add(x[i], s.or_key(low[i % 4], &key[4 + i % 4])) } else { low[i % 4] })
}

#[inline(always)]
fn inv_fl<S: Bytes>(s: S, y: Half<S::Byte>, key: &[S::Key]) -> Half<S::Byte> {
    let high: [S::Byte; 4] = written_out!(i < 4 => s.add(y[i], s.or_key(y[4 + i], &key[4 + i])));
    let turned = rotated(s, high, key);
    written_out!(i < 8 => if i < 4 { high[i % 4] } else { s.add(y[i], turned[i % 4]) })
}

/// The S-box s₁, of which the other three are rotations.
const S1: [u8; 256] = [
    0x70, 0x82, 0x2c, 0xec, 0xb3, 0x27, 0xc0, 0xe5, 0xe4, 0x85, 0x57, 0x35, 0xea, 0x0c, 0xae, 0x41, 0x23,
    0xef, 0x6b, 0x93, 0x45, 0x19, 0xa5, 0x21, 0xed, 0x0e, 0x4f, 0x4e, 0x1d, 0x65, 0x92, 0xbd, 0x86, 0xb8,
    0xaf, 0x8f, 0x7c, 0xeb, 0x1f, 0xce, 0x3e, 0x30, 0xdc, 0x5f, 0x5e, 0xc5, 0x0b, 0x1a, 0xa6, 0xe1, 0x39,
    0xca, 0xd5, 0x47, 0x5d, 0x3d, 0xd9, 0x01, 0x5a, 0xd6, 0x51, 0x56, 0x6c, 0x4d, 0x8b, 0x0d, 0x9a, 0x66,
    0xfb, 0xcc, 0xb0, 0x2d, 0x74, 0x12, 0x2b, 0x20, 0xf0, 0xb1, 0x84, 0x99, 0xdf, 0x4c, 0xcb, 0xc2, 0x34,
    0x7e, 0x76, 0x05, 0x6d, 0xb7, 0xa9, 0x31, 0xd1, 0x17, 0x04, 0xd7, 0x14, 0x58, 0x3a, 0x61, 0xde, 0x1b,
    0x11, 0x1c, 0x32, 0x0f, 0x9c, 0x16, 0x53, 0x18, 0xf2, 0x22, 0xfe, 0x44, 0xcf, 0xb2, 0xc3, 0xb5, 0x7a,
    0x91, 0x24, 0x08, 0xe8, 0xa8, 0x60, 0xfc, 0x69, 0x50, 0xaa, 0xd0, 0xa0, 0x7d, 0xa1, 0x89, 0x62, 0x97,
    0x54, 0x5b, 0x1e, 0x95, 0xe0, 0xff, 0x64, 0xd2, 0x10, 0xc4, 0x00, 0x48, 0xa3, 0xf7, 0x75, 0xdb, 0x8a,
    0x03, 0xe6, 0xda, 0x09, 0x3f, 0xdd, 0x94, 0x87, 0x5c, 0x83, 0x02, 0xcd, 0x4a, 0x90, 0x33, 0x73, 0x67,
    0xf6, 0xf3, 0x9d, 0x7f, 0xbf, 0xe2, 0x52, 0x9b, 0xd8, 0x26, 0xc8, 0x37, 0xc6, 0x3b, 0x81, 0x96, 0x6f,
    0x4b, 0x13, 0xbe, 0x63, 0x2e, 0xe9, 0x79, 0xa7, 0x8c, 0x9f, 0x6e, 0xbc, 0x8e, 0x29, 0xf5, 0xf9, 0xb6,
    0x2f, 0xfd, 0xb4, 0x59, 0x78, 0x98, 0x06, 0x6a, 0xe7, 0x46, 0x71, 0xba, 0xd4, 0x25, 0xab, 0x42, 0x88,
    0xa2, 0x8d, 0xfa, 0x72, 0x07, 0xb9, 0x55, 0xf8, 0xee, 0xac, 0x0a, 0x36, 0x49, 0x2a, 0x68, 0x3c, 0x38,
    0xf1, 0xa4, 0x40, 0x28, 0xd3, 0x7b, 0xbb, 0xc9, 0x43, 0xc1, 0x15, 0xe3, 0xad, 0xf4, 0x77, 0xc7, 0x80,
    0x9e,
];
