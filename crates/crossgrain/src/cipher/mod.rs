//! The registry of ciphers; ciphers that are described once, and all that is made of a description.
//!
//! A description is a key schedule, S-boxes as tables, linear maps of bytes, and the rounds: a function generic over what a
//! byte or a 32-bit word of the state is ([`Bytes`], [`Words`]). What it is run on decides what comes out:
//!
//! * a plain byte, looked up in the tables: the reference ([`plain`]);
//! * a register that holds that byte of many blocks, substituted by one of several [`ways`]: a kernel ([`sliced`]);
//! * a register that holds a byte of many keys, or of a block under each: a kernel that searches for a key ([`key_lanes`]);
//! * eight words, each of them one bit of many blocks, by gates: a bit-sliced kernel ([`sliced`]), and the key schedule;
//! * the constants that a kernel's S-boxes leave out: round keys that bring them ([`folded`]);
//! * nothing, and each operation is counted: estimates ([`Work`]);
//! * the number of an operation: programs for GPUs (`device::recorded`).
//!
//! A key schedule is a function generic over what a byte of a key is ([`KeyBytes`]), in the same way.
//!
//! Nothing outside a cipher's folder names it, but for this file: its row in the registry, and the line that declares its module.
//! Holds: rounds and schedules branch and index on nothing secret; they leave that to what they are run on.

/// The registry: a macro is given every family of ciphers, behind arguments of its own.
///
/// `Family "name" if condition, rounds {`: what variants are called, what the family is compiled by, and its description: a type
/// whose rounds are on `bytes` or on `words`, or whose kernels are `by_hand` in a folder of `part`, of the same name. Then a row for each size of key: its type,
/// the name that users type, what it is called in documentation; bytes of a key; rounds as the standard counts them (for AES, Nr
/// of FIPS 197, table 3); and its types in CTR, EAX and GCM for RustCrypto's traits. Tables list ciphers in this order.
macro_rules! ciphers {
    ($given:ident $($argument:tt)*) => {
        $given! {
            $($argument)*
            /// AES (FIPS 197).
            Aes "aes" if all(), by_hand(aes::Aes) {
                Aes128 "aes-128" "AES with a 128-bit key": 16 bytes, 10 rounds, Aes128Ctr Aes128Eax Aes128Gcm;
                Aes192 "aes-192" "AES with a 192-bit key": 24 bytes, 12 rounds, Aes192Ctr Aes192Eax Aes192Gcm;
                Aes256 "aes-256" "AES with a 256-bit key": 32 bytes, 14 rounds, Aes256Ctr Aes256Eax Aes256Gcm;
            }
            /// Serpent (Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption Standard").
            Serpent "serpent" if feature = "serpent", by_hand(serpent::Serpent) {
                Serpent128 "serpent-128" "Serpent with a 128-bit key":
                    16 bytes, 32 rounds, Serpent128Ctr Serpent128Eax Serpent128Gcm;
                Serpent192 "serpent-192" "Serpent with a 192-bit key":
                    24 bytes, 32 rounds, Serpent192Ctr Serpent192Eax Serpent192Gcm;
                Serpent256 "serpent-256" "Serpent with a 256-bit key":
                    32 bytes, 32 rounds, Serpent256Ctr Serpent256Eax Serpent256Gcm;
            }
            /// SM4 (GB/T 32907-2016).
            Sm4 "sm4" if feature = "sm4", words(sm4::Sm4) {
                Sm4 "sm4" "SM4, with a 128-bit key": 16 bytes, 32 rounds, Sm4Ctr Sm4Eax Sm4Gcm;
            }
            /// Camellia (RFC 3713).
            Camellia "camellia" if feature = "camellia", bytes(camellia::Camellia) {
                Camellia128 "camellia-128" "Camellia with a 128-bit key":
                    16 bytes, 18 rounds, Camellia128Ctr Camellia128Eax Camellia128Gcm;
                Camellia192 "camellia-192" "Camellia with a 192-bit key":
                    24 bytes, 24 rounds, Camellia192Ctr Camellia192Eax Camellia192Gcm;
                Camellia256 "camellia-256" "Camellia with a 256-bit key":
                    32 bytes, 24 rounds, Camellia256Ctr Camellia256Eax Camellia256Gcm;
            }
            /// ARIA (RFC 5794).
            Aria "aria" if feature = "aria", bytes(aria::Aria) {
                Aria128 "aria-128" "ARIA with a 128-bit key": 16 bytes, 12 rounds, Aria128Ctr Aria128Eax Aria128Gcm;
                Aria192 "aria-192" "ARIA with a 192-bit key": 24 bytes, 14 rounds, Aria192Ctr Aria192Eax Aria192Gcm;
                Aria256 "aria-256" "ARIA with a 256-bit key": 32 bytes, 16 rounds, Aria256Ctr Aria256Eax Aria256Gcm;
            }
            /// Kuznyechik (GOST R 34.12-2015, RFC 7801).
            Kuznyechik "kuznyechik" if feature = "kuznyechik", bytes(kuznyechik::Kuznyechik) {
                Kuznyechik "kuznyechik" "Kuznyechik, with a 256-bit key":
                    32 bytes, 10 rounds, KuznyechikCtr KuznyechikEax KuznyechikGcm;
            }
        }
    };
}

/// `ciphers!(by_folder WHAT: Type)`: what the module that says so knows of a family. That is the `static WHAT` of the module below it that is
/// called as the family, if kernels are by hand, and otherwise that of `described`.
macro_rules! by_folder {
    (
        $what:ident: $Type:ident
        $(
            $(#[doc = $about:literal])+
            $family:ident $name:literal if $of:meta, $on:ident($module:ident::$type:ident) { $($row:tt)+ }
        )+
    ) => {
        /// What is known of a family here.
        const fn of_family(family: $crate::block::Family) -> &'static $Type {
            match family {
                $(
                    #[cfg($of)]
                    $crate::block::Family::$family => by_folder!(@$on $module $what),
                )+
            }
        }
    };
    (@by_hand $module:ident $what:ident) => { &$module::$what };
    (@$on:ident $module:ident $what:ident) => { &described::$what };
}

pub mod aes;
#[cfg(feature = "aria")]
pub mod aria;
#[cfg(feature = "camellia")]
pub mod camellia;
#[cfg(feature = "kuznyechik")]
pub mod kuznyechik;
#[cfg(feature = "serpent")]
pub mod serpent;
#[cfg(feature = "sm4")]
pub mod sm4;

mod description;
mod entry;
pub mod folded;
#[cfg(feature = "search")]
pub mod key_lanes;
#[cfg(feature = "search")]
mod many_keys;
pub mod nibbles;
pub mod plain;
pub mod sbox;
pub mod sliced;
pub mod ways;
mod work;

pub use self::description::{
    ByHand, Bytes, Description, InRegisters, KeyBytes, Listed, Names, OnBytes, OnWords, Pass, Passes,
    RoundKeys, Scheduled, Visitor, Words,
};
pub use self::entry::{Entry, Keys};
#[cfg(feature = "search")]
pub use self::many_keys::LANES as KEYS_AT_ONCE;
pub use self::work::Work;
use crate::block::Family;

/// What follows from the registry for descriptions.
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

        /// Has a visitor see every description that kernels are derived from.
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
