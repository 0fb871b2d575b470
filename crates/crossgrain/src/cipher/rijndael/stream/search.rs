//! Key search for wide blocks: the choice of a variant.

use super::rows::search_rows;
use super::{Rijndael, Variant};
use crate::arch::Features;
use crate::block::Error;
use crate::cipher::aes::description::{Aes, WideRounds};
use crate::cipher::rijndael::search::Known;
use crate::kernel::search::SearchPart;

/// The cheapest search for keys of a cipher that these features allow, or the variant with this name. Returns its name
/// too.
///
/// # Errors
/// [`Error::WideInitialLength`] for a known block of another length, [`Error::UnknownVariant`] for a name of no search
/// for this block size and direction, and for one whose instructions are missing.
pub fn search(
    cipher: Rijndael,
    known: &Known,
    features: Features,
    name: Option<&str>,
) -> Result<(String, Box<dyn SearchPart>), Error> {
    match cipher.block_bytes() {
        24 => cheapest::<24, 192>(cipher, known, features, name),
        _ => cheapest::<32, 256>(cipher, known, features, name),
    }
}

fn cheapest<const BYTES: usize, const WORDS: usize>(
    cipher: Rijndael,
    known: &Known,
    features: Features,
    name: Option<&str>,
) -> Result<(String, Box<dyn SearchPart>), Error>
where
    Aes: WideRounds<BYTES>,
{
    let (block_bytes, len_bytes) = (BYTES, known.input.len());
    let other = || Error::WideInitialLength { cipher: cipher.name(), block_bytes, len_bytes };
    let block = known.blocks().ok_or_else(other)?;
    let mut rows = search_rows::<BYTES, WORDS>(known.direction);
    let key_ns = |variant: &Variant| variant.bundle_ns / variant.bundle_blocks as f64;
    rows.sort_by(|a, b| key_ns(&a.variant).total_cmp(&key_ns(&b.variant)));
    rows.retain(|row| {
        features.contains(row.variant.needs) && name.is_none_or(|name| name == row.variant.name)
    });
    let mut bound = rows.iter().filter_map(|row| {
        let part = (row.bind)(features, cipher.key_bytes(), block)?;
        Some((row.variant.name.clone(), part))
    });
    // A search on integers needs no instructions, so there is always one.
    bound.next().ok_or_else(|| Error::UnknownVariant(name.unwrap_or_default().to_owned()))
}
