//! Ways to put every byte of a register through an S-box, and through a linear map, in constant time.
//!
//! | way | S-box | linear map | needs | S-boxes |
//! |---|---|---|---|---|
//! | [`Galois`] | two affine maps around the field's inversion | one | GFNI | with structure |
//! | [`Rounds`] | an AES instruction between two maps, or fewer | two tables of nibbles | AES instructions | with structure |
//! | [`Nibbles`] | inversion in GF(2⁴)² by tables of nibbles | two tables of nibbles | a byte shuffle | with structure |
//! | [`PermuteGalois`] | 256 bytes in four registers | one affine map | VBMI, GFNI | any |
//! | [`Scan`], [`ScanGalois`] | sixteen tables of nibbles | as above | a byte shuffle, GFNI | any |
//!
//! "With structure" means that the S-box is inversion in AES's field between two affine maps (`circuit::affine`). Its constants
//! are part of the tables where there are any.

use super::folded::Lacks;
use super::nibbles::NibbleSbox;
use super::sbox::{Linear, Sbox};
use crate::circuit::affine::Affine;
use crate::word::{AesLanes, ByteLanes, ByteTables, GaloisBytes, each, eight};

/// A way to substitute bytes. What it gives of S-boxes and maps are constants, which kernels load where they use them.
///
/// Implementations of [`Way::substitute`] and [`Way::map`] must be `#[inline(always)]`.
pub trait Way<W: ByteLanes>: Send + Sync + 'static {
    /// What tells this way from others in a variant's name; empty where the ISA says it.
    const NAME: &'static str;

    /// Instructions for a linear map, loads of constants left out.
    const INSTRUCTIONS_OF_MAP: f64;

    /// An S-box as this way takes it.
    type Sbox: Copy + Send + Sync;

    /// A linear map as this way takes it.
    type Linear: Copy + Send + Sync;

    /// An S-box; `None` if this way cannot do it.
    fn sbox(sbox: &Sbox) -> Option<Self::Sbox>;

    /// A linear map.
    fn linear(map: &Linear) -> Self::Linear;

    /// Instructions for an S-box, loads of constants left out.
    fn instructions(sbox: &Sbox) -> f64;

    /// What an S-box lacks: constants that this way leaves to round keys.
    fn lacks(_sbox: &Sbox) -> Lacks {
        Lacks::NOTHING
    }

    /// The S-box of each byte, but for what it lacks. `known` is the same S-box, which the compiler sees through where it is a constant.
    fn substitute(isa: W::Isa, bytes: W, sbox: &Self::Sbox, known: &Sbox) -> W;

    /// The image of each byte. `known` is the same map, which the compiler sees through where it is a constant.
    fn map(isa: W::Isa, bytes: W, map: &Self::Linear, known: &Linear) -> W;
}

/// By the CPU's field arithmetic.
#[derive(Debug)]
pub struct Galois;

impl<W: GaloisBytes> Way<W> for Galois {
    const NAME: &'static str = "";
    const INSTRUCTIONS_OF_MAP: f64 = 1.0;
    /// Nothing: S-boxes that share a map are to share a register, so the compiler has to know them.
    type Sbox = ();
    type Linear = u64;

    fn sbox(sbox: &Sbox) -> Option<()> {
        sbox.inversion.map(|_| ())
    }

    fn instructions(sbox: &Sbox) -> f64 {
        if sbox.inverts_first { 1.0 } else { 2.0 }
    }

    fn lacks(sbox: &Sbox) -> Lacks {
        Lacks::of(sbox).unwrap_or(Lacks::NOTHING)
    }

    fn linear(map: &Linear) -> u64 {
        Affine { matrix: map.images, constant: 0 }.galois()
    }

    #[inline(always)]
    fn substitute(isa: W::Isa, bytes: W, (): &(), known: &Sbox) -> W {
        let [input, output] = known.galois;
        let entering = if known.inverts_first { bytes } else { bytes.affine::<0>(isa, input) };
        entering.affine_of_inverse::<0>(isa, output)
    }

    #[inline(always)]
    fn map(isa: W::Isa, bytes: W, map: &u64, _known: &Linear) -> W {
        bytes.affine::<0>(isa, *map)
    }
}

/// A map of bytes as the sum of what the low and the high nibble become.
pub type NibbleMap = [[u8; 16]; 2];

fn nibble_map(map: impl Fn(u8) -> u8, constant: u8) -> NibbleMap {
    [each!(low < 16 => map(low as u8) ^ constant), each!(high < 16 => map((high as u8) << 4))]
}

fn nibbles_of(map: &Affine) -> NibbleMap {
    nibble_map(|x| map.apply(x) ^ map.constant, map.constant)
}

/// The low nibbles, and the high ones.
#[inline(always)]
fn split<W: ByteLanes>(isa: W::Isa, bytes: W) -> [W; 2] {
    let nibble = W::splat(isa, eight(0x0f));
    [bytes & nibble, bytes.shift_right::<4>() & nibble]
}

#[inline(always)]
fn by_nibbles<W: ByteLanes>(isa: W::Isa, bytes: W, map: &NibbleMap) -> W {
    let [low, high] = split(isa, bytes);
    W::broadcast(isa, &map[0]).shuffle_bytes(low) ^ W::broadcast(isa, &map[1]).shuffle_bytes(high)
}

/// Twice each byte in AES's field: a shuffle reads zero where the top bit is set.
#[inline(always)]
fn doubled<W: ByteLanes>(isa: W::Isa, bytes: W) -> W {
    let polynomial = W::splat(isa, eight(0x1b));
    bytes.add_bytes(bytes) ^ (polynomial ^ polynomial.shuffle_bytes(bytes))
}

/// By an AES instruction, whose ShiftRows is undone, between maps by nibbles, or without a map that only adds a constant.
#[derive(Debug)]
pub struct Rounds;

/// The maps around SubBytes, or around InvSubBytes.
#[derive(Clone, Copy, Debug)]
pub struct RoundSbox {
    input: NibbleMap,
    output: NibbleMap,
}

/// The places that ShiftRows takes bytes to, and those that InvShiftRows takes them to.
const AFTER_SHIFT_ROWS: [u8; 16] = [0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3];
const AFTER_INV_SHIFT_ROWS: [u8; 16] = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11];

impl<W: AesLanes> Way<W> for Rounds {
    const NAME: &'static str = "";
    const INSTRUCTIONS_OF_MAP: f64 = 6.0;
    type Sbox = RoundSbox;
    type Linear = NibbleMap;

    fn sbox(sbox: &Sbox) -> Option<RoundSbox> {
        sbox.around_aes
            .map(|around| RoundSbox { input: nibbles_of(&around.input), output: nibbles_of(&around.output) })
    }

    fn instructions(sbox: &Sbox) -> f64 {
        2.0 + 6.0 * sbox.around_aes.map_or(0.0, |around| around.maps() as f64)
    }

    /// The constants of maps that are left out.
    fn lacks(sbox: &Sbox) -> Lacks {
        let of = |map: &Affine| if map.adds_constant() { map.constant } else { 0 };
        sbox.around_aes
            .map_or(Lacks::NOTHING, |around| Lacks { input: of(&around.input), output: of(&around.output) })
    }

    fn linear(map: &Linear) -> NibbleMap {
        nibble_map(|x| map.of(x), 0)
    }

    #[inline(always)]
    fn substitute(isa: W::Isa, bytes: W, sbox: &RoundSbox, known: &Sbox) -> W {
        // `sbox` is of no S-box without.
        let Some(around) = &known.around_aes else { return bytes };
        let entering = if around.input.adds_constant() { bytes } else { by_nibbles(isa, bytes, &sbox.input) };
        let zero = W::splat(isa, 0);
        let (substituted, places) = if around.inverse {
            (entering.decrypt_last_round(zero), &AFTER_INV_SHIFT_ROWS)
        } else {
            (entering.encrypt_last_round(zero), &AFTER_SHIFT_ROWS)
        };
        let substituted = substituted.shuffle_bytes(W::broadcast(isa, places));
        if around.output.adds_constant() { substituted } else { by_nibbles(isa, substituted, &sbox.output) }
    }

    #[inline(always)]
    fn map(isa: W::Isa, bytes: W, map: &NibbleMap, _known: &Linear) -> W {
        by_nibbles(isa, bytes, map)
    }
}

/// By tables of nibbles ([`NibbleSbox`]).
#[derive(Debug)]
pub struct Nibbles;

impl<W: ByteLanes> Way<W> for Nibbles {
    const NAME: &'static str = "nibbles";
    const INSTRUCTIONS_OF_MAP: f64 = 6.0;
    type Sbox = NibbleSbox;
    type Linear = NibbleMap;

    fn sbox(sbox: &Sbox) -> Option<NibbleSbox> {
        sbox.nibbles
    }

    fn instructions(_sbox: &Sbox) -> f64 {
        22.0
    }

    /// The constant of the output alone.
    fn lacks(sbox: &Sbox) -> Lacks {
        Lacks { output: sbox.inversion.map_or(0, |found| found.output.constant), ..Lacks::NOTHING }
    }

    fn linear(map: &Linear) -> NibbleMap {
        nibble_map(|x| map.of(x), 0)
    }

    #[inline(always)]
    fn substitute(isa: W::Isa, bytes: W, sbox: &NibbleSbox, _known: &Sbox) -> W {
        let table = |table: &[u8; 16]| W::broadcast(isa, table);
        let [a, b] = split(isa, by_nibbles(isa, bytes, &sbox.split));
        let by_k = table(&sbox.inverse[1]).shuffle_bytes(a ^ b);
        let y = table(&sbox.inverse[0]).shuffle_bytes(table(&sbox.inverse[0]).shuffle_bytes(a) ^ by_k) ^ b;
        let z = table(&sbox.inverse[0]).shuffle_bytes(table(&sbox.inverse[0]).shuffle_bytes(b) ^ by_k) ^ a;
        table(&sbox.join[0]).shuffle_bytes(y) ^ table(&sbox.join[1]).shuffle_bytes(z)
    }

    #[inline(always)]
    fn map(isa: W::Isa, bytes: W, map: &NibbleMap, known: &Linear) -> W {
        if known.doubles() { doubled(isa, bytes) } else { by_nibbles(isa, bytes, map) }
    }
}

/// The 256 bytes in registers.
#[inline(always)]
fn look_up<W: ByteTables>(isa: W::Isa, bytes: W, table: &[u8; 256]) -> W {
    let quarters: [W; 4] = each!(i < 4 => W::load(isa, &table[i * W::BYTES..][..W::BYTES]));
    bytes.look_up(&quarters)
}

/// Any table by eight tables of nibbles for bytes below 128, eight for the others, and a choice.
#[inline(always)]
fn scan<W: ByteLanes>(isa: W::Isa, bytes: W, table: &[u8; 256]) -> W {
    let low_bits = bytes & W::splat(isa, eight(0x7f));
    let zero = W::splat(isa, 0);
    let (mut below, mut above) = (zero, zero);
    for high in 0..8 {
        // Only the bytes whose high bits are these keep their top bit clear, and are picked; all others read zero.
        let at = (low_bits ^ W::splat(isa, eight((high as u8) << 4))).add_bytes(W::splat(isa, eight(0x70)));
        let row = |half: usize| W::broadcast(isa, each_row(table, 8 * half + high));
        below = below ^ row(0).shuffle_bytes(at);
        above = above ^ row(1).shuffle_bytes(at);
    }
    // All ones where the top bit is clear.
    let is_below = W::splat(isa, u64::MAX).shuffle_bytes(bytes);
    above ^ (is_below & (below ^ above))
}

/// Sixteen neighbouring bytes of the table.
#[inline(always)]
fn each_row(table: &[u8; 256], row: usize) -> &[u8; 16] {
    &table.as_chunks().0[row]
}

/// A way that takes any table: `$name`, with S-boxes by `$substitute` and maps as `$maps` has them.
macro_rules! of_any_table {
    ($(#[$doc:meta])* $name:ident, $text:literal, $($bound:ident)+, $substitute:ident = $instructions:literal, $maps:ident, $Linear:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl<W: $($bound +)+> Way<W> for $name {
            const NAME: &'static str = $text;
            const INSTRUCTIONS_OF_MAP: f64 = <$maps as Way<W>>::INSTRUCTIONS_OF_MAP;
            type Sbox = [u8; 256];
            type Linear = $Linear;

            fn sbox(sbox: &Sbox) -> Option<[u8; 256]> {
                Some(sbox.table)
            }

            fn instructions(_sbox: &Sbox) -> f64 {
                $instructions
            }

            fn linear(map: &Linear) -> $Linear {
                <$maps as Way<W>>::linear(map)
            }

            #[inline(always)]
            fn substitute(isa: W::Isa, bytes: W, sbox: &[u8; 256], _known: &Sbox) -> W {
                $substitute(isa, bytes, sbox)
            }

            #[inline(always)]
            fn map(isa: W::Isa, bytes: W, map: &$Linear, known: &Linear) -> W {
                <$maps as Way<W>>::map(isa, bytes, map, known)
            }
        }
    };
}

of_any_table!(
    /// By a table of 256 bytes in registers.
    Permute, "", ByteTables, look_up = 4.0, Nibbles, NibbleMap
);
of_any_table!(
    /// By a table of 256 bytes in registers, and maps by the CPU's field arithmetic.
    PermuteGalois, "", ByteTables GaloisBytes, look_up = 4.0, Galois, u64
);
of_any_table!(
    /// By sixteen tables of nibbles.
    Scan, "scan", ByteLanes, scan = 53.0, Nibbles, NibbleMap
);
of_any_table!(
    /// By sixteen tables of nibbles, and maps by the CPU's field arithmetic.
    ScanGalois, "scan", GaloisBytes, scan = 53.0, Galois, u64
);
