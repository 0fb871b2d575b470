//! Search for a key of Rijndael with blocks of 24 and 32 bytes.
//!
//! * [`OnLanes`]: bytes of many keys in registers, with one key per lane.
//! * [`OneByOne`]: one key after another, with a kernel that encrypts blocks. It runs on every machine.
//!
//! The first is the kernel of the described ciphers, `derived::search::registers`. Both compare all known bits.
//!
//! Source: as for `aes::description`, whose key expansion and rounds are used here.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::WideBlocks;
use crate::arch::{ByteLanes, Wiped};
use crate::block::Direction;
use crate::cipher::aes::description::{Aes, WideRounds, expand_in_place, round_key_bytes};
use crate::cipher::derived::search::registers::{Search, Tried, differing};
use crate::cipher::key_lanes::{Byte, KeyLanes};
use crate::cipher::substitution::Substitution;
use crate::kernel::search::{Inner, Known as KnownBlock, SearchPart, TableReuse};

/// A block of any length before and after the cipher, with a mask of the known bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The direction that leads from `input` to `output`.
    pub direction: Direction,
    /// The block that entered the cipher.
    pub input: Vec<u8>,
    /// The cipher's result.
    pub output: Vec<u8>,
    /// The bits of `output` that are known.
    pub mask: Vec<u8>,
}

impl Known {
    /// The same for blocks of `BYTES` bytes. `None` for blocks of another length.
    pub fn blocks<const BYTES: usize>(&self) -> Option<KnownBlock<BYTES>> {
        let Self { direction, input, output, mask } = self;
        let block = |bytes: &[u8]| bytes.try_into().ok();
        let (input, output, mask) = (block(input)?, block(output)?, block(mask)?);
        Some(KnownBlock { direction: *direction, input, output, mask })
    }
}

/// Bytes of the longest key, and of the round keys of the widest block.
const KEY_BYTES: usize = 32;
const ROUND_KEY_BYTES: usize = 32 * 15;

/// Keys on lanes. `Y` is the method of substitution.
pub type OnLanes<W, Y, const BYTES: usize> = Search<UnderKeys, W, Y, BYTES, ROUND_KEY_BYTES>;

/// The cipher under many keys.
#[derive(Clone, Copy, Debug)]
pub struct UnderKeys;

impl<const BYTES: usize> Tried<BYTES> for UnderKeys
where
    Aes: WideRounds<BYTES>,
{
    type Cipher = Aes;

    fn round_key_bytes(key_bytes: usize) -> usize {
        round_key_bytes::<BYTES>(key_bytes)
    }

    #[inline(always)]
    fn differing<W: ByteLanes, Y: Substitution<W>>(
        lanes: KeyLanes<'_, Aes, W, Y>,
        known: &KnownBlock<BYTES>,
        key: &[Byte<W>],
        round_keys: &mut [Byte<W>],
    ) -> W {
        // A call of `copy_from_slice` may stay one.
        for (round_key, byte) in round_keys.iter_mut().zip(key) {
            *round_key = *byte;
        }
        expand_in_place::<_, BYTES>(lanes, key.len(), known.direction, round_keys);
        let block = Aes::wide_rounds(lanes, known.direction, lanes.same(&known.input), round_keys);
        differing(lanes, known, &block)
    }
}

/// Binds a kernel for blocks to a key; `None` if its instructions are missing.
pub type BindBlocks<const BYTES: usize> =
    Arc<dyn Fn(&[u8]) -> Option<Wiped<dyn WideBlocks<BYTES>>> + Send + Sync>;

/// One key after another.
pub struct OneByOne<const BYTES: usize> {
    bind: BindBlocks<BYTES>,
    key_bytes: usize,
    known: KnownBlock<BYTES>,
}

impl<const BYTES: usize> OneByOne<BYTES> {
    /// A search for keys of this length, by a kernel in the direction of the known block.
    pub const fn new(bind: BindBlocks<BYTES>, key_bytes: usize, known: KnownBlock<BYTES>) -> Self {
        Self { bind, key_bytes, known }
    }
}

impl<const BYTES: usize> fmt::Debug for OneByOne<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rijndael::search::OneByOne({BYTES} bytes)")
    }
}

impl<const BYTES: usize> SearchPart for OneByOne<BYTES> {
    fn lanes(&self) -> usize {
        1
    }

    fn inner(&self, keys: &[u8], _: TableReuse) -> Box<dyn Inner> {
        let Self { bind, key_bytes, known } = self;
        let (bind, key_bytes, known) = (Arc::clone(bind), *key_bytes, *known);
        let mut listed = Listed { bind, key_bytes, known, keys: Zeroizing::new(Vec::new()) };
        listed.refill(keys, TableReuse::Once);
        Box::new(listed)
    }
}

/// A list of keys.
struct Listed<const BYTES: usize> {
    bind: BindBlocks<BYTES>,
    key_bytes: usize,
    known: KnownBlock<BYTES>,
    keys: Zeroizing<Vec<u8>>,
}

impl<const BYTES: usize> Inner for Listed<BYTES> {
    fn keys(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    fn refill(&mut self, keys: &[u8], _: TableReuse) {
        assert!(keys.len().is_multiple_of(self.key_bytes));
        self.keys = Zeroizing::new(keys.to_vec());
    }

    fn search(&self, outer: &[u8], _: &mut Vec<u64>, found: &mut Vec<usize>) {
        assert_eq!(outer.len(), self.key_bytes);
        let KnownBlock { input, output, mask, .. } = self.known;
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let key = &mut key[..self.key_bytes];
        for (number, inner) in self.keys.chunks_exact(self.key_bytes).enumerate() {
            for ((key, outer), inner) in key.iter_mut().zip(outer).zip(inner) {
                *key = outer ^ inner;
            }
            let mut block = [input];
            let Some(cipher) = (self.bind)(key) else { return };
            cipher.run(&mut block);
            let bytes = block[0].iter().zip(output).zip(mask);
            let differing =
                bytes.fold(0, |differing, ((byte, wanted), mask)| differing | (byte ^ wanted) & mask);
            if differing == 0 {
                found.push(number);
            }
        }
    }
}
