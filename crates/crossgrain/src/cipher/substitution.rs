//! Methods that substitute every byte of a register, and apply a linear map to it, in constant time.
//!
//! | method | S-box | linear map | needs | S-boxes |
//! |---|---|---|---|---|
//! | [`Galois`] | two affine maps around the field's inversion | one affine map | GFNI | with structure |
//! | [`Rounds`] | an AES instruction between at most two maps | two nibble tables | AES instructions | with structure |
//! | [`Nibbles`] | inversion in GF(2⁴)² by nibble tables | two nibble tables | a byte shuffle | with structure |
//! | [`Permute`] | 256 bytes in four registers | two nibble tables | VBMI | any |
//! | [`PermuteGalois`] | 256 bytes in four registers | one affine map | VBMI, GFNI | any |
//! | [`Scan`] | sixteen nibble tables | two nibble tables | a byte shuffle | any |
//! | [`ScanGalois`] | sixteen nibble tables | one affine map | a byte shuffle, GFNI | any |
//!
//! "With structure" means that the S-box is inversion in AES's field between two affine maps
//! (`circuit::affine`). Nibble tables include the constants of these maps, except those that
//! [`Substitution::lacks`] reports.

use super::folded::FoldedConstants;
use super::nibbles::NibbleSbox;
use super::sbox::{Linear, NibbleMap, Sbox, nibble_map};
use crate::arch::{AesLanes, ByteLanes, ByteTables, GaloisBytes, each, eight};
use crate::circuit::affine::Affine;

/// A method of substitution. Kernels load its form of S-boxes and maps where they use them.
///
/// Implementations of [`Substitution::substitute`] and [`Substitution::map`] must be `#[inline(always)]`.
pub trait Substitution<W: ByteLanes>: Send + Sync + 'static {
    /// The method's name in a variant's name; empty where the instruction set identifies the method.
    const NAME: &'static str;

    /// Instructions for a linear map, without the loads of constants.
    const INSTRUCTIONS_OF_MAP: f64;

    /// An S-box in this method's form.
    type Sbox: Copy + Send + Sync;

    /// A linear map in this method's form.
    type Linear: Copy + Send + Sync;

    /// Converts an S-box; `None` if this method cannot compute it.
    fn sbox(sbox: &Sbox) -> Option<Self::Sbox>;

    /// Converts a linear map.
    fn linear(map: &Linear) -> Self::Linear;

    /// Instructions for an S-box, without the loads of constants.
    fn instructions(sbox: &Sbox) -> f64;

    /// The constants of an S-box that this method omits and leaves to the round keys.
    fn lacks(_sbox: &Sbox) -> FoldedConstants {
        FoldedConstants::NOTHING
    }

    /// Substitutes each byte, except for the constants that [`Substitution::lacks`] reports. `known` is the
    /// same S-box: where it is a compile-time constant, the compiler can specialise on it.
    fn substitute(isa: W::Isa, bytes: W, sbox: &Self::Sbox, known: &Sbox) -> W;

    /// Maps each byte. `known` is the same map: where it is a compile-time constant, the compiler can
    /// specialise on it.
    fn map(isa: W::Isa, bytes: W, map: &Self::Linear, known: &Linear) -> W;
}

/// Uses the CPU's instructions for GF(2⁸) (GFNI).
#[derive(Debug)]
pub struct Galois;

impl<W: GaloisBytes> Substitution<W> for Galois {
    const NAME: &'static str = "";
    const INSTRUCTIONS_OF_MAP: f64 = 1.0;
    /// Empty. The compiler must know the S-boxes, so that S-boxes with the same map share a register.
    type Sbox = ();
    type Linear = u64;

    fn sbox(sbox: &Sbox) -> Option<()> {
        sbox.inversion.map(|_| ())
    }

    fn instructions(sbox: &Sbox) -> f64 {
        if sbox.inverts_first { 1.0 } else { 2.0 }
    }

    fn lacks(sbox: &Sbox) -> FoldedConstants {
        sbox.folded
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

/// Splits each byte into its low and its high nibble.
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

/// Doubles each byte in AES's field.
#[inline(always)]
fn doubled<W: ByteLanes>(isa: W::Isa, bytes: W) -> W {
    let reduction = W::splat(isa, eight(0x1b)) ^ W::byte_where_top_bit_is_clear(isa, 0x1b, bytes);
    bytes.add_bytes(bytes) ^ reduction
}

/// Uses an AES instruction and undoes its ShiftRows. The maps before and after it are nibble tables; a map
/// that only adds a constant is omitted.
#[derive(Debug)]
pub struct Rounds;

/// The maps before and after SubBytes or InvSubBytes.
#[derive(Clone, Copy, Debug)]
pub struct RoundSbox {
    input: NibbleMap,
    output: NibbleMap,
}

/// Shuffle indices that undo ShiftRows and InvShiftRows: byte i moved to the place in entry i.
const AFTER_SHIFT_ROWS: [u8; 16] = [0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3];
const AFTER_INV_SHIFT_ROWS: [u8; 16] = [0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11];

impl<W: AesLanes> Substitution<W> for Rounds {
    const NAME: &'static str = "";
    const INSTRUCTIONS_OF_MAP: f64 = 6.0;
    type Sbox = RoundSbox;
    type Linear = NibbleMap;

    fn sbox(sbox: &Sbox) -> Option<RoundSbox> {
        sbox.around_aes
            .map(|around| RoundSbox { input: nibble_map(&around.input), output: nibble_map(&around.output) })
    }

    fn instructions(sbox: &Sbox) -> f64 {
        2.0 + 6.0 * sbox.around_aes.map_or(0.0, |around| around.maps() as f64)
    }

    /// The constants of the omitted maps.
    fn lacks(sbox: &Sbox) -> FoldedConstants {
        let of = |map: &Affine| if map.adds_constant() { map.constant } else { 0 };
        sbox.around_aes.map_or(FoldedConstants::NOTHING, |around| FoldedConstants {
            input: of(&around.input),
            output: of(&around.output),
        })
    }

    fn linear(map: &Linear) -> NibbleMap {
        map.nibbles
    }

    #[inline(always)]
    fn substitute(isa: W::Isa, bytes: W, sbox: &RoundSbox, known: &Sbox) -> W {
        // Never returns here: `Substitution::sbox` gives `None` for S-boxes without `around_aes`.
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

/// Uses nibble tables ([`NibbleSbox`]).
#[derive(Debug)]
pub struct Nibbles;

impl<W: ByteLanes> Substitution<W> for Nibbles {
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

    /// Only the constant of the output map.
    fn lacks(sbox: &Sbox) -> FoldedConstants {
        FoldedConstants { output: sbox.folded.output, ..FoldedConstants::NOTHING }
    }

    fn linear(map: &Linear) -> NibbleMap {
        map.nibbles
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

/// Looks each byte up in a 256-byte table that registers hold.
#[inline(always)]
fn look_up<W: ByteTables>(isa: W::Isa, bytes: W, table: &[u8; 256]) -> W {
    let quarters: [W; 4] = each!(i < 4 => W::load(isa, &table[i * W::BYTES..][..W::BYTES]));
    bytes.look_up(&quarters)
}

/// Looks each byte up in any table: eight nibble tables for bytes below 128, eight for the others, and a
/// selection.
#[inline(always)]
fn scan<W: ByteLanes>(isa: W::Isa, bytes: W, table: &[u8; 256]) -> W {
    let low_bits = bytes & W::splat(isa, eight(0x7f));
    let zero = W::splat(isa, 0);
    let (mut below, mut above) = (zero, zero);
    for high in 0..8 {
        // The result is at most 15 only in bytes whose high bits equal `high`.
        let at = low_bits ^ W::splat(isa, eight((high as u8) << 4));
        let row = |half: usize| W::broadcast(isa, each_row(table, 8 * half + high));
        below = below ^ row(0).shuffle_bytes_up_to_15(isa, at);
        above = above ^ row(1).shuffle_bytes_up_to_15(isa, at);
    }
    // All ones where the top bit is clear.
    let is_below = W::byte_where_top_bit_is_clear(isa, 0xff, bytes);
    above ^ (is_below & (below ^ above))
}

/// Sixteen consecutive bytes of the table.
#[inline(always)]
fn each_row(table: &[u8; 256], row: usize) -> &[u8; 16] {
    &table.as_chunks().0[row]
}

/// Defines a method for any table: `$name`, with S-boxes by `$substitute` and linear maps from `$maps`.
macro_rules! of_any_table {
    ($(#[$doc:meta])* $name:ident, $text:literal, $($bound:ident)+, $substitute:ident = $instructions:literal, $maps:ident, $Linear:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl<W: $($bound +)+> Substitution<W> for $name {
            const NAME: &'static str = $text;
            const INSTRUCTIONS_OF_MAP: f64 = <$maps as Substitution<W>>::INSTRUCTIONS_OF_MAP;
            type Sbox = [u8; 256];
            type Linear = $Linear;

            fn sbox(sbox: &Sbox) -> Option<[u8; 256]> {
                Some(sbox.table)
            }

            fn instructions(_sbox: &Sbox) -> f64 {
                $instructions
            }

            fn linear(map: &Linear) -> $Linear {
                <$maps as Substitution<W>>::linear(map)
            }

            #[inline(always)]
            fn substitute(isa: W::Isa, bytes: W, sbox: &[u8; 256], _known: &Sbox) -> W {
                $substitute(isa, bytes, sbox)
            }

            #[inline(always)]
            fn map(isa: W::Isa, bytes: W, map: &$Linear, known: &Linear) -> W {
                <$maps as Substitution<W>>::map(isa, bytes, map, known)
            }
        }
    };
}

of_any_table!(
    /// Uses a 256-byte table in registers, and nibble tables for linear maps.
    Permute, "", ByteTables, look_up = 4.0, Nibbles, NibbleMap
);
of_any_table!(
    /// Uses a 256-byte table in registers, and GFNI for linear maps.
    PermuteGalois, "", ByteTables GaloisBytes, look_up = 4.0, Galois, u64
);
of_any_table!(
    /// Uses sixteen nibble tables per S-box, and nibble tables for linear maps.
    Scan, "scan", ByteLanes, scan = 53.0, Nibbles, NibbleMap
);
of_any_table!(
    /// Uses sixteen nibble tables per S-box, and GFNI for linear maps.
    ScanGalois, "scan", GaloisBytes, scan = 53.0, Galois, u64
);
