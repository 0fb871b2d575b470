//! The rows of AES, from single steps to the whole cipher.

use super::description::Aes;
use super::key::RoundKeys;
#[cfg(feature = "own-keys")]
use super::own_keys::OwnKeys;
use super::steps::Part as Step;
use super::{bitsliced as bits, bytesliced, cached_counter as cached, hsliced, instructions, table};
use crate::arch::{AesLanes, ByteLanes, Isa, Lane32, Portable, Register, Wiped};
use crate::block::{Direction, Family};
use crate::cipher::derived::kernels::BytesOnLanes;
use crate::cipher::substitution::Substitution;
use crate::kernel::fused::{Fused, FusedPart};
use crate::kernel::{Keys, Part};
use crate::layout::repr::Repr;
use crate::variant::table::{Set, bitsliced, by, by_table, fused, needed, of, of_family, part, set, whole};
use crate::variant::{Action, BindFused, BindTile, BindWhole, Variant};

/// The row of a keystream that uses tables in the counter's order.
fn cached_counter<I: Isa>(repr: Repr, action: Action) -> Variant {
    Variant { reads_counter_tables: true, ..of::<I>(Family::Aes, "aes-ctr-cached", repr, action) }
}

/// Adds rows for all parts of AES on tiles, from single steps to the whole cipher.
#[inline(never)]
fn aes_tiles(isa: Set, way: &str, repr: Repr, bind: BindTile, rows: &mut Vec<Variant>) {
    for direction in Direction::ALL {
        for part in needed(Step::IN_TABLE, Step::planned, direction) {
            let action = Action::Tile(part, direction, bind);
            rows.push(by(way, of_family(Family::Aes, part.name(direction), isa, repr, action)));
        }
    }
}

/// Downcasts a part and keys to those of AES.
fn aes<'a>(part: Part, keys: &'a Keys<'_>) -> Option<(Step, &'a RoundKeys)> {
    Some((Step::of(part)?, keys.round_keys()?))
}

/// Adds rows on `blocks` for any machine: bytes and tables.
pub(crate) fn along_the_grain(rows: &mut Vec<Variant>) {
    let blocks = Repr::Blocks;
    let bind: BindTile = |_, part, direction, keys, round| {
        let (part, keys) = aes(part, keys)?;
        table::Step::new(part, direction, keys, round).map(|step| Box::new(step) as _)
    };
    let bind_whole: BindWhole = |_, direction, keys| {
        let kernel = table::TCipher::new(direction, keys.round_keys()?);
        Some(Wiped::new(kernel).as_dyn(|kernel| kernel))
    };
    for direction in Direction::ALL {
        let steps = if cfg!(feature = "steps") { &Step::STEPS[..] } else { &[] };
        for step in needed(steps, Step::planned, direction) {
            let row = part::<Portable>(step, direction, blocks, bind);
            rows.push(if step == Step::SubBytes.planned() { by_table(row) } else { row });
        }
        rows.push(by_table(whole::<Portable>(Family::Aes, direction, bind_whole)));
    }
    let action = Action::WholeCounter(bind_whole);
    rows.push(by_table(of::<Portable>(Family::Aes, "aes-ctr", blocks, action)));
}

/// Adds rows of whole ciphers with AES instructions.
pub(crate) fn by_instructions<W: AesLanes + Lane32>(rows: &mut Vec<Variant>) {
    let bind: BindWhole = |features, direction, keys| {
        let isa = W::Isa::detect(features)?;
        Some(instructions::Cipher::<W>::new(isa, direction, keys)?.as_dyn(|kernel| kernel))
    };
    for direction in Direction::ALL {
        rows.push(whole::<W::Isa>(Family::Aes, direction, bind));
    }
    let counter = Action::WholeCounter(bind);
    rows.push(of::<W::Isa>(Family::Aes, "aes-ctr", Repr::Blocks, counter));
    let bind_cached: BindWhole = |features, _, keys| {
        let isa = W::Isa::detect(features)?;
        Some(cached::CachedCounter::<W>::new(isa, keys)?.as_dyn(|kernel| kernel))
    };
    let action = Action::WholeCounter(bind_cached);
    rows.push(cached_counter::<W::Isa>(Repr::Blocks, action));
    by_modes::<W>(rows);
}

/// Adds rows of modes that run together with AES instructions.
fn by_modes<W: AesLanes + Lane32>(rows: &mut Vec<Variant>) {
    let gcm: BindFused = |features, _, keys| {
        let isa = W::Isa::detect(features)?;
        Some(FusedPart::Gcm(cached::CachedCounter::<W>::new(isa, keys)?.as_dyn(|kernel| kernel)))
    };
    let ocb: BindFused = |features, direction, keys| {
        let isa = W::Isa::detect(features)?;
        let kernel = instructions::Cipher::<W>::new(isa, direction, keys)?;
        Some(FusedPart::Ocb(kernel.as_dyn(|kernel| kernel)))
    };
    let chains: BindFused = |features, direction, keys| {
        let isa = W::Isa::detect(features)?;
        let kernel = instructions::Cipher::<W>::new(isa, direction, keys)?;
        Some(FusedPart::Chains(kernel.as_dyn(|kernel| kernel)))
    };
    let (encrypt, decrypt) = (Direction::Encrypt, Direction::Decrypt);
    // GCM's kernel reads tables in the counter's order.
    rows.push(Variant {
        reads_counter_tables: true,
        ..fused::<W::Isa>(Family::Aes, Fused::Gcm, encrypt, gcm)
    });
    rows.push(fused::<W::Isa>(Family::Aes, Fused::Ocb, encrypt, ocb));
    rows.push(fused::<W::Isa>(Family::Aes, Fused::Ocb, decrypt, ocb));
    rows.push(fused::<W::Isa>(Family::Aes, Fused::Chains, encrypt, chains));
    #[cfg(feature = "own-keys")]
    for direction in Direction::ALL {
        rows.push(fused::<W::Isa>(Family::Aes, Fused::OwnKeys, direction, |features, direction, keys| {
            let isa = W::Isa::detect(features)?;
            let kernel = OwnKeys::<W>::new(isa, direction, keys.key_of(Family::Aes)?.cipher().key_bytes());
            Some(FusedPart::OwnKeys(Wiped::new(kernel).as_dyn(|kernel| kernel)))
        }));
    }
}

/// Adds bit-sliced rows: parts, fused rounds and the whole cipher.
pub(crate) fn bitsliced_rows<W: Register>(rows: &mut Vec<Variant>) {
    let repr = bitsliced::<W>();
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, aes(part, keys)?);
        if part == Step::Cipher {
            return Some(Box::new(bits::Cipher::<W>::new(isa, direction, keys)));
        }
        let step = bits::Step::<W>::new(isa, part, direction, keys, round)?;
        Some(Box::new(step))
    };
    aes_tiles(set::<W::Isa>(), "", repr, bind, rows);
}

/// Adds the bit-sliced keystream with the first two rounds shared between counters.
pub(crate) fn cached_counter_rows<W: Register>(rows: &mut Vec<Variant>) {
    let repr = bitsliced::<W>();
    let encrypted = Action::CountEncrypted(|features, keys| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(bits::Tail::<W>::cached_counter(isa, keys.round_keys()?)))
    });
    rows.push(cached_counter::<W::Isa>(repr, encrypted));
}

/// Adds rows on eight words (`hsliced`): parts, rounds and whole cipher.
pub(crate) fn hsliced_rows<W: ByteLanes>(rows: &mut Vec<Variant>) {
    let repr = Repr::Hsliced { bits: W::BITS };
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, aes(part, keys)?);
        Some(Box::new(hsliced::Sliced::<W>::new(isa, part, direction, keys, round)))
    };
    aes_tiles(set::<W::Isa>(), "", repr, bind, rows);
}

/// Adds rows on sixteen words (`bytesliced`): parts, rounds and whole cipher, with one method of
/// substitution. The whole cipher processes `N` bundles side by side.
pub(crate) fn bytesliced_rows<W: ByteLanes, Y: Substitution<W>, const N: usize>(rows: &mut Vec<Variant>) {
    let repr = Repr::Bytesliced { bits: W::BITS };
    let bind: BindTile = |features, part, direction, keys, round| {
        let (isa, (part, keys)) = (W::Isa::detect(features)?, aes(part, keys)?);
        if part == Step::Cipher {
            let keys = keys.in_use(direction);
            let keys = keys.blocks().as_flattened();
            return Some(Box::new(BytesOnLanes::<Aes, W, Y, N>::new(isa, direction, keys)?));
        }
        Some(Box::new(bytesliced::Step::<W, Y>::new(isa, part, direction, keys, round)?))
    };
    aes_tiles(set::<W::Isa>(), Y::NAME, repr, bind, rows);
    let encrypted = Action::CountEncrypted(|features, keys| {
        let isa = W::Isa::detect(features)?;
        Some(Box::new(bytesliced::Tail::<W, Y>::cached_counter(isa, keys.round_keys()?)?))
    });
    rows.push(by(Y::NAME, cached_counter::<W::Isa>(repr, encrypted)));
}
