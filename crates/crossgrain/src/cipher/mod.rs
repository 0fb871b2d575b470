//! Registry of ciphers, and the interface through which one description of a cipher gives all its forms.
//!
//! A description consists of a key schedule, S-boxes as tables, linear maps of bytes, and the rounds. The
//! rounds are a function, generic over the type of a byte ([`Bytes`]) or of a 32-bit word ([`Words`]) of the
//! state. Each form is the same function with another type:
//!
//! * a plain byte, substituted by table look-up: the reference ([`plain`]);
//! * a register that holds this byte of many blocks, with one of several methods of substitution
//!   ([`substitution`]):
//!   a kernel ([`sliced`]);
//! * a register that holds a byte of many keys, or of one block under each key: a key-search kernel
//!   ([`key_lanes`]);
//! * eight words, each with one bit of this byte for many blocks, by gates: a bit-sliced kernel ([`sliced`]),
//!   and the key schedule;
//! * the constant that a kernel omits: round keys that include the constants of the S-boxes ([`folded`]);
//! * the unit type, with each operation counted: cost estimates ([`Work`]);
//! * the number of the operation that computed the byte: programs for GPUs and designs for
//!   hardware (`device::recorded`).
//!
//! A key schedule is likewise generic over the type of a byte of the key ([`KeyBytes`]).
//!
//! Invariants: outside a cipher's folder, only this file names the cipher: in the registry row and the `mod`
//! line. Rounds and schedules have no branch and no index that depends on secret data. Only a type that they
//! run on may have one.

/// The registry: calls the macro `$given` with its own arguments, followed by every family of ciphers.
///
/// A family reads `Family "name" if condition, rounds(module::Type) {`: the prefix of variant names, the
/// `cfg` condition, and the description. `rounds` is `bytes` or `words`, the unit that the rounds compute
/// with, or `by_hand`. Kernels of a `by_hand` cipher are in its folder, those of all others in `derived`. One
/// row per key size follows. It gives the type, the name that users type, the name in documentation, and the
/// key length in bytes, and the rounds as the standard counts them (for AES, Nr of FIPS 197, table 3). Tables
/// list ciphers in this order.
macro_rules! ciphers {
    ($given:ident $($argument:tt)*) => {
        $given! {
            $($argument)*
            /// AES (FIPS 197).
            Aes "aes" if all(), by_hand(aes::Aes) {
                Aes128 "aes-128" "AES with a 128-bit key": 16 bytes, 10 rounds;
                Aes192 "aes-192" "AES with a 192-bit key": 24 bytes, 12 rounds;
                Aes256 "aes-256" "AES with a 256-bit key": 32 bytes, 14 rounds;
            }
            /// Serpent (Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption
            /// Standard").
            Serpent "serpent" if feature = "serpent", by_hand(serpent::Serpent) {
                Serpent128 "serpent-128" "Serpent with a 128-bit key": 16 bytes, 32 rounds;
                Serpent192 "serpent-192" "Serpent with a 192-bit key": 24 bytes, 32 rounds;
                Serpent256 "serpent-256" "Serpent with a 256-bit key": 32 bytes, 32 rounds;
            }
            /// SM4 (GB/T 32907-2016).
            Sm4 "sm4" if feature = "sm4", words(sm4::Sm4) {
                Sm4 "sm4" "SM4, with a 128-bit key": 16 bytes, 32 rounds;
            }
            /// Camellia (RFC 3713).
            Camellia "camellia" if feature = "camellia", bytes(camellia::Camellia) {
                Camellia128 "camellia-128" "Camellia with a 128-bit key": 16 bytes, 18 rounds;
                Camellia192 "camellia-192" "Camellia with a 192-bit key": 24 bytes, 24 rounds;
                Camellia256 "camellia-256" "Camellia with a 256-bit key": 32 bytes, 24 rounds;
            }
            /// ARIA (RFC 5794).
            Aria "aria" if feature = "aria", bytes(aria::Aria) {
                Aria128 "aria-128" "ARIA with a 128-bit key": 16 bytes, 12 rounds;
                Aria192 "aria-192" "ARIA with a 192-bit key": 24 bytes, 14 rounds;
                Aria256 "aria-256" "ARIA with a 256-bit key": 32 bytes, 16 rounds;
            }
            /// Kuznyechik (GOST R 34.12-2015, RFC 7801).
            Kuznyechik "kuznyechik" if feature = "kuznyechik", bytes(kuznyechik::Kuznyechik) {
                Kuznyechik "kuznyechik" "Kuznyechik, with a 256-bit key": 32 bytes, 10 rounds;
            }
        }
    };
}

/// `ciphers!(by_folder path::WHAT: Type)` defines `of_family`, which returns the `static path::WHAT` of a
/// family's folder. It is the folder named after the family if its kernels are written by hand. For all
/// other families it is `derived`.
macro_rules! by_folder {
    (
        $($what:ident)::+: $Type:ident
        $(
            $(#[doc = $about:literal])+
            $family:ident $name:literal if $of:meta, $on:ident($module:ident::$type:ident) { $($row:tt)+ }
        )+
    ) => {
        by_folder!(
            @rows ($($what)::+): $Type
            $($family if $of, $on($module);)+
        );
    };
    (@rows $what:tt: $Type:ident $($family:ident if $of:meta, $on:ident($module:ident);)+) => {
        /// The entry of a family's folder.
        const fn of_family(family: $crate::block::Family) -> &'static $Type {
            match family {
                $(
                    #[cfg($of)]
                    $crate::block::Family::$family => by_folder!(@$on $module $what),
                )+
            }
        }
    };
    (@by_hand $module:ident ($($what:ident)::+)) => { &$crate::cipher::$module::$($what)::+ };
    (@$on:ident $module:ident ($($what:ident)::+)) => { &$crate::cipher::derived::$($what)::+ };
}

pub mod aes;
#[cfg(feature = "aria")]
pub mod aria;
#[cfg(feature = "camellia")]
pub mod camellia;
#[cfg(feature = "kuznyechik")]
pub mod kuznyechik;
#[cfg(feature = "wide")]
pub mod rijndael;
#[cfg(feature = "serpent")]
pub mod serpent;
#[cfg(feature = "sm4")]
pub mod sm4;

pub mod derived;
mod description;
mod entry;
pub mod folded;
pub mod key_lanes;
mod key_schedule;
#[cfg(feature = "search")]
mod many_keys;
pub mod nibbles;
pub mod plain;
pub mod reference;
pub mod sbox;
pub mod sliced;
pub mod substitution;
#[cfg(feature = "search")]
pub mod under_keys;
mod work;

pub use self::description::{
    ByHand, Bytes, Description, InRegisters, KeyBytes, Listed, Names, OnBytes, OnWords, Pass, Passes,
    Portion, RoundKeys, Scheduled, Visitor, Words,
};
pub use self::entry::{Entry, Keys};
#[cfg(feature = "search")]
pub use self::many_keys::LANES as KEYS_AT_ONCE;
pub use self::work::Work;
use crate::block::Family;

/// Implements [`Listed`] for every description, and defines the look-up and the visitor of descriptions.
macro_rules! descriptions {
    ($(
        $(#[doc = $about:literal])+
        $family:ident $name:literal if $of:meta, $on:ident($module:ident::$type:ident) { $($row:tt)+ }
    )+) => {
        $(
            #[cfg($of)]
            impl Listed for $module::$type {
                const FAMILY: Family = Family::$family;
                const NAMES: Names = Names {
                    family: $name,
                    encrypt: concat!($name, "-encrypt"),
                    decrypt: concat!($name, "-decrypt"),
                    ctr: concat!($name, "-ctr"),
                    random: concat!($name, "-random"),
                };
            }
        )+

        /// The description of a family.
        const fn of_family(family: Family) -> &'static Entry {
            match family {
                $(
                    #[cfg($of)]
                    Family::$family => {
                        static ENTRY: Entry = Entry::$on::<$module::$type>();
                        &ENTRY
                    }
                )+
            }
        }

        /// Calls the visitor with every description from which kernels are derived.
        pub fn visit(visitor: &mut impl Visitor) {
            $(
                #[cfg($of)]
                descriptions!(@visit visitor $on $module::$type);
            )+
            let _ = visitor;
        }
    };
    (@visit $visitor:ident by_hand $module:ident::$type:ident) => {};
    (@visit $visitor:ident $on:ident $module:ident::$type:ident) => { $visitor.$on::<$module::$type>() };
}

ciphers!(descriptions);
