//! Key derivations on the lanes of CPU registers, many candidates at a time. A derivation may consist of several,
//! of which those without lanes are carried out one candidate after another.

use std::ops::Range;

use super::lanes::{Keys, OnLanes};
use super::{Error, Kdf};
use crossgrain::Features;

/// Candidates with at least this number of iterations are tried in small groups, so that a search stops soon.
const SLOW_ITERATIONS: u64 = 20_000;

/// A derivation of which at least one part runs on lanes.
#[derive(Clone, Debug)]
pub(super) struct Components {
    features: Features,
    parts: Vec<(Part, Range<usize>)>,
    iterations: u64,
    /// Whether only some bytes of the keys are derived.
    is_partial: bool,
}

#[derive(Clone, Debug)]
enum Part {
    Lanes(OnLanes),
    Each(Kdf),
}

impl Components {
    /// The derivation of keys of `key_bytes`, if lanes are faster than deriving one key after another.
    ///
    /// # Errors
    /// [`Error::Block`] for an ISA cap that cannot be parsed.
    pub(super) fn new(kdf: &Kdf, key_bytes: usize) -> Result<Option<Self>, Error> {
        let whole = [(kdf.clone(), key_bytes)];
        let kdfs = if let Kdf::Several(kdfs) = kdf { kdfs } else { &whole[..] };
        let all: Option<Vec<_>> = kdfs.iter().map(|(kdf, _)| iterations(kdf)).collect();
        let Some(all) = all else { return Ok(None) };
        let features = Features::from_environment()?;
        let (mut parts, mut from) = (Vec::new(), 0);
        for (kdf, part_bytes) in kdfs {
            let lanes = match kdf {
                Kdf::Pbkdf2 { hash, salt, iterations } => OnLanes::new(*hash, salt, *iterations, *part_bytes),
                _ => None,
            };
            let lanes = lanes.filter(|lanes| lanes.is_faster(features));
            let part = lanes.map_or_else(|| Part::Each(kdf.clone()), Part::Lanes);
            parts.push((part, from..from + part_bytes));
            from += part_bytes;
        }
        let is_faster = parts.iter().any(|(part, _)| matches!(part, Part::Lanes(_)));
        let iterations = all.into_iter().map(u64::from).sum();
        Ok(is_faster.then_some(Self { features, parts, iterations, is_partial: false }))
    }

    /// Leaves out the digests that contain none of these bytes of the key, if there are any.
    pub(super) fn only(mut self, bytes: Option<Range<usize>>) -> Self {
        if let ([(Part::Lanes(lanes), _)], Some(bytes)) = (&mut self.parts[..], bytes) {
            self.is_partial = lanes.keep(&bytes);
        }
        self
    }

    /// Whether only some bytes of the keys are derived.
    pub(super) const fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Whether a candidate takes long.
    pub(super) const fn is_slow(&self) -> bool {
        self.iterations >= SLOW_ITERATIONS
    }

    /// Derives the keys of words, back to back. Parts that are not `needed` are left out; an empty slice stands for
    /// all parts.
    pub(super) fn derive(&self, words: &[&[u8]], needed: &[bool], keys: &mut [u8]) -> Result<(), Error> {
        let stride = self.parts.last().map_or(0, |(_, range)| range.end);
        let is_needed = |at: &usize| needed.get(*at).is_none_or(|is_needed| *is_needed);
        for (part, range) in (0..self.parts.len()).filter(is_needed).map(|at| &self.parts[at]) {
            match part {
                Part::Lanes(lanes) => {
                    let keys = Keys { bytes: keys, stride, from: range.start };
                    lanes.derive(self.features, words.iter().copied(), keys);
                }
                Part::Each(kdf) => {
                    let mut deriver = kdf.deriver(range.len())?;
                    for (word, key) in words.iter().zip(keys.chunks_exact_mut(stride)) {
                        deriver.derive(word, &mut key[range.clone()]).map_err(Error::BadCandidate)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The iterations of a derivation without much memory, which may wait for others.
const fn iterations(kdf: &Kdf) -> Option<u32> {
    match kdf {
        Kdf::Pbkdf2 { iterations, .. } => Some(*iterations),
        Kdf::BytesToKey { .. } => Some(1),
        _ => None,
    }
}
