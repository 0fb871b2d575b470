//! Camellia: a Feistel network of two halves of eight bytes, with FL and its inverse after every sixth round.
//!
//! Round keys are stored in order of use, eight bytes each. The order is two for whitening, then six for
//! rounds alternating with two for FL, and finally two for whitening.
//! Source: RFC 3713.

use zeroize::Zeroizing;

use super::sbox::{Linear, Sbox};
use super::{Bytes, Description, InRegisters, KeyBytes, OnBytes, Pass, Passes, Portion, Scheduled};
use crate::arch::{each, unrolled, written_out};
use crate::block::Direction;

/// Camellia.
#[derive(Debug)]
pub struct Camellia;

/// The S-box of each byte of F's input, by number.
const CHOICE: [usize; 8] = [0, 1, 2, 3, 1, 2, 3, 0];

/// The linear maps of FL: a byte shifted left by one bit, and its highest bit moved to the lowest place.
const UP: usize = 0;
const CARRY: usize = 1;

impl Description for Camellia {
    const BOXES: &'static [Sbox] = &{
        let s1 = Sbox::new(S1);
        [s1, s1.rotated(0, 1), s1.rotated(0, 7), s1.rotated(1, 0)]
    };

    /// A shift left by one bit; the highest bit moved to the lowest place.
    const MAPS: &'static [Linear] =
        &[Linear::new([2, 4, 8, 16, 32, 64, 128, 0]), Linear::new([0, 0, 0, 0, 0, 0, 0, 1])];

    /// The last two rounds and the whitening after them. The last round does not change the first bytes of the result.
    const LAST_KEYS: usize = 2;
}

impl Scheduled for Camellia {
    fn round_key_bytes(key_bytes: usize) -> usize {
        8 * list(key_bytes).len()
    }

    #[inline(always)]
    fn round_keys<S: KeyBytes>(
        s: S,
        key: &[S::Byte],
        direction: Direction,
        keep: &mut impl FnMut(usize, &[S::Byte]),
    ) {
        let sources = Zeroizing::new(sources(s, key));
        let list = list(key.len());
        for (at, &(source, rotation, half)) in list.iter().enumerate() {
            let rotation = rotation + if half == 1 { 0 } else { 64 };
            let half: Half<_> = s.bits_from(&sources[source as usize], rotation);
            let place = if direction == Direction::Encrypt { at } else { from_the_end(at, list.len()) };
            keep(8 * place, &half);
        }
    }
}

/// The list of round keys for keys of `key_bytes` bytes.
const fn list(key_bytes: usize) -> &'static [(Source, usize, usize)] {
    if key_bytes == 16 { SHORT } else { LONG }
}

/// The place in decryption of round key number `at` of `count`. The order is reversed, except that the two
/// halves of whitening keys keep their order.
const fn from_the_end(at: usize, count: usize) -> usize {
    let place = count - 1 - at;
    if place < 2 || place >= count - 2 { place ^ 1 } else { place }
}

/// The values from which round keys are taken.
#[derive(Clone, Copy)]
enum Source {
    Kl,
    Kr,
    Ka,
    Kb,
}

/// K_L, K_R, K_A and K_B (RFC 3713 §2.2).
#[inline(always)]
fn sources<S: KeyBytes>(s: S, key: &[S::Byte]) -> [[S::Byte; 16]; 4] {
    let kl = each!(i < 16 => key[i]);
    let kr = match key.len() {
        16 => [s.constant(0); 16],
        24 => each!(i < 16 => if i < 8 { key[16 + i] } else { s.add(key[8 + i], s.constant(0xff)) }),
        _ => each!(i < 16 => key[16 + i]),
    };
    let ka = two_rounds(s, s.sum(two_rounds(s, s.sum(kl, kr), 0), kl), 2);
    let kb = two_rounds(s, s.sum(ka, kr), 4);
    [kl, kr, ka, kb]
}

/// Two rounds with the constants Σ from number `first` on.
#[inline(always)]
fn two_rounds<S: KeyBytes>(s: S, state: [S::Byte; 16], first: usize) -> [S::Byte; 16] {
    const SIGMA: [u64; 6] = [
        0xa09e_667f_3bcc_908b,
        0xb67a_e858_4caa_73b2,
        0xc6ef_372f_e94f_82be,
        0x54ff_53a5_f1d3_6f1c,
        0x10e5_27fa_de68_2d1d,
        0xb056_88c2_b3e6_c1fd,
    ];
    let (d1, d2) = (each!(i < 8 => state[i]), each!(i < 8 => state[8 + i]));
    let d2 = s.sum(d2, f_of_secret(s, s.sum_with(d1, SIGMA[first].to_be_bytes())));
    let d1 = s.sum(d1, f_of_secret(s, s.sum_with(d2, SIGMA[first + 1].to_be_bytes())));
    each!(i < 16 => if i < 8 { d1[i] } else { d2[i - 8] })
}

/// F of a value that already includes the key.
#[inline(always)]
fn f_of_secret<S: KeyBytes>(s: S, mut sum: Half<S::Byte>) -> Half<S::Byte> {
    s.substitute(|at| CHOICE[at], &mut sum);
    p(s, sum)
}

/// Expands to both halves of each rotation: half 1, the high one, and half 0.
macro_rules! halves {
    ($($source:ident $rotation:literal $($half:literal)?),*) => {
        &[$((Source::$source, $rotation, 1), (Source::$source, $rotation, 0)),*]
    };
}

/// The round keys of a 16-byte key in order: source, rotation, half.
const SHORT: &[(Source, usize, usize)] = &[
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

/// The round keys of a longer key.
const LONG: &[(Source, usize, usize)] = halves![
    Kl 0, Kb 0, Kr 15, Ka 15, Kr 30, Kb 30, Kl 45, Ka 45, Kl 60, Kr 60, Kb 60, Kl 77, Ka 77, Kr 94, Ka 94, Kl 111, Kb 111
];

/// Half of a block.
type Half<T> = [T; 8];

impl OnBytes for Camellia {
    const IN_PASSES: bool = true;

    #[inline(always)]
    fn passes<P: Passes>(passes: &mut P, round_keys: usize) {
        passes_of(Portion::All, passes, round_keys);
    }

    #[inline(always)]
    fn portion<S: Bytes>(
        s: S,
        _: Direction,
        portion: Portion,
        block: [S::Byte; 16],
        keys: &[S::Key],
    ) -> [S::Byte; 16] {
        let mut all = InRegisters { s, block, keys };
        passes_of(portion, &mut all, keys.len());
        all.block
    }
}

/// The passes of a portion, given the length of its round keys in bytes.
#[inline(always)]
fn passes_of<P: Passes>(portion: Portion, passes: &mut P, round_keys: usize) {
    let mut rest = round_keys;
    if portion != Portion::Last {
        passes.pass::<Begin>();
        rest -= 16;
    }
    let after = if portion == Portion::First { 0 } else { 16 };
    'rounds: loop {
        for _ in 0..3 {
            passes.pass::<Round<false>>();
            passes.pass::<Round<true>>();
            rest -= 16;
            // All rounds are a multiple of six.
            if portion != Portion::All && rest == after {
                break 'rounds;
            }
        }
        if rest == after {
            break;
        }
        passes.pass::<Middle>();
        rest -= 16;
    }
    if portion != Portion::First {
        passes.pass::<End>();
    }
}

/// The halves of a block: the high half, which comes first, and the low half.
#[inline(always)]
fn halves<T: Copy>(block: &[T; 16]) -> [Half<T>; 2] {
    [written_out!(i < 8 => block[i]), written_out!(i < 8 => block[8 + i])]
}

/// Whitening before the rounds.
struct Begin;

impl Pass for Begin {
    const KEYS: usize = 16;

    #[inline(always)]
    fn run<S: Bytes>(s: S, block: &mut [S::Byte; 16], keys: &[S::Key]) {
        *block = written_out!(i < 16 => s.add_key(block[i], &keys[i]));
    }
}

/// A round, which changes the high half or the low one.
struct Round<const HIGH: bool>;

impl<const HIGH: bool> Pass for Round<HIGH> {
    const KEYS: usize = 8;

    #[inline(always)]
    fn run<S: Bytes>(s: S, block: &mut [S::Byte; 16], keys: &[S::Key]) {
        let [high, low] = halves(block);
        let (to, of, first) = if HIGH { (high, low, 0) } else { (low, high, 8) };
        let changed = add_f(s, to, of, keys);
        unrolled!(i in [0 1 2 3 4 5 6 7] { block[first + i] = changed[i]; });
    }
}

/// FL of the high half, and the inverse of FL of the low half.
struct Middle;

impl Pass for Middle {
    const KEYS: usize = 16;

    #[inline(always)]
    fn run<S: Bytes>(s: S, block: &mut [S::Byte; 16], keys: &[S::Key]) {
        let [high, low] = halves(block);
        let (high, low) = (fl(s, high, &keys[..8]), inv_fl(s, low, &keys[8..]));
        *block = written_out!(i < 16 => if i < 8 { high[i % 8] } else { low[i % 8] });
    }
}

/// Whitening after the rounds, with the halves exchanged.
struct End;

impl Pass for End {
    const KEYS: usize = 16;

    #[inline(always)]
    fn run<S: Bytes>(s: S, block: &mut [S::Byte; 16], keys: &[S::Key]) {
        *block = written_out!(i < 16 => s.add_key(block[(i + 8) % 16], &keys[i]));
    }
}

/// XORs F of one half and a round key into the other half.
#[inline(always)]
fn add_f<S: Bytes>(s: S, to: Half<S::Byte>, of: Half<S::Byte>, key: &[S::Key]) -> Half<S::Byte> {
    let z: Half<S::Byte> = written_out!(i < 8 => s.substitute_sum(of[i], &key[i], CHOICE[i]));
    if s.sums_three() {
        return add_p_by_threes(s, to, z);
    }
    let p = p(s, z);
    written_out!(i < 8 => s.add(to[i], p[i]))
}

#[inline(always)]
fn three<S: Bytes>(s: S, a: S::Byte, b: S::Byte, c: S::Byte) -> S::Byte {
    s.add(s.add(a, b), c)
}

/// Adds P of `z` to a half by 16 XORs of two or three values; P followed by the addition takes 20 of them.
/// With XORs of two values this takes 29, and P followed by the addition takes 24.
#[inline(always)]
fn add_p_by_threes<S: Bytes>(s: S, to: Half<S::Byte>, z: Half<S::Byte>) -> Half<S::Byte> {
    let [z1, z2, z3, z4, z5, z6, z7, z8] = z;
    let (first, second) = (s.add(z5, z6), s.add(z7, z8));
    let w = [
        three(s, z2, z6, second),
        three(s, z3, z5, second),
        three(s, z4, z8, first),
        three(s, z1, z7, first),
    ];
    let all = s.add(three(s, z1, z2, z3), z4);
    written_out!(i < 8 => if i < 4 { three(s, all, w[i % 4], to[i]) } else { three(s, z[i % 4], w[i % 4], to[i]) })
}

/// The permutation P, by 16 XORs (Camellia's specification, "efficient implementation" on bytes).
#[inline(always)]
fn p<S: Bytes>(s: S, z: Half<S::Byte>) -> Half<S::Byte> {
    let [mut z1, mut z2, mut z3, mut z4, mut z5, mut z6, mut z7, mut z8] = z;
    (z1, z2, z3, z4) = (s.add(z1, z6), s.add(z2, z7), s.add(z3, z8), s.add(z4, z5));
    (z5, z6, z7, z8) = (s.add(z5, z3), s.add(z6, z4), s.add(z7, z1), s.add(z8, z2));
    (z1, z2, z3, z4) = (s.add(z1, z8), s.add(z2, z5), s.add(z3, z6), s.add(z4, z7));
    (z5, z6, z7, z8) = (s.add(z5, z4), s.add(z6, z1), s.add(z7, z2), s.add(z8, z3));
    [z5, z6, z7, z8, z1, z2, z3, z4]
}

/// The AND of a four-byte word with a key, rotated left by one bit.
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

/// The S-box s₁. The other three are rotations of it.
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
