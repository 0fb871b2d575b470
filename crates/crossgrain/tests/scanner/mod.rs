//! Searches this process's own memory for secrets: heap, globals and all stacks, including the memory below
//! their ends.
//!
//! The secrets are held masked, and read buffers are overwritten, so the scanner does not find copies of its
//! own.

pub(crate) mod secrets;
pub(crate) mod signals;

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

/// Every byte of a secret is XORed with this.
pub(crate) const MASK: u8 = 0xa7;

/// Bytes read at a time.
const STEP_BYTES: usize = 1 << 20;

/// Most memory is zero. Pages of zeros are skipped.
const PAGE_BYTES: usize = 4096;

static ZEROS: [u8; PAGE_BYTES + ANCHOR_BYTES] = [0; PAGE_BYTES + ANCHOR_BYTES];

/// Length in bytes of the anchor, the part of a secret that is compared first. Its bytes are not all equal.
const ANCHOR_BYTES: usize = 4;

/// A secret to search for.
pub(crate) struct Needle {
    pub(crate) name: String,
    masked: Vec<u8>,
    /// Offset of the first anchor: bytes that are not all equal.
    anchor: usize,
}

impl Needle {
    /// Takes the masked bytes.
    pub(crate) fn new(name: &str, masked: Vec<u8>) -> Self {
        let anchor = masked.windows(ANCHOR_BYTES).position(|window| window.iter().any(|&b| b != window[0]));
        Self { name: name.to_owned(), masked, anchor: anchor.unwrap() }
    }
}

/// A place where a secret was found.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) at: usize,
    pub(crate) region: String,
}

/// Scans for a set of secrets.
pub(crate) struct Scanner<'a> {
    needles: &'a [Needle],
    /// Indices of needles by masked anchor.
    by_anchor: HashMap<u32, Vec<usize>>,
    /// For each hash value, whether some anchor has it.
    might: Vec<bool>,
    buffer: Vec<u8>,
    overlap_bytes: usize,
    memory: File,
}

fn anchor_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().unwrap())
}

fn hashed(anchor: u32) -> usize {
    (anchor.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

/// Compares bytes with a masked secret.
fn is_masked(bytes: &[u8], masked: &[u8]) -> bool {
    let (mut at, len) = (0, bytes.len());
    while at < len && bytes[at] ^ MASK == masked[at] {
        at += 1;
    }
    at == len
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(needles: &'a [Needle]) -> Self {
        let (mut by_anchor, mut might) = (HashMap::<_, Vec<_>>::new(), vec![false; 1 << 16]);
        for (i, needle) in needles.iter().enumerate() {
            let anchor = anchor_of(&needle.masked[needle.anchor..]);
            by_anchor.entry(anchor).or_default().push(i);
            might[hashed(anchor)] = true;
        }
        let overlap_bytes = needles.iter().map(|needle| needle.masked.len()).max().unwrap_or(0);
        let buffer = vec![0; STEP_BYTES + 2 * overlap_bytes];
        let memory = File::open("/proc/self/mem").unwrap();
        Self { needles, by_anchor, might, buffer, overlap_bytes, memory }
    }

    /// Scans all writable memory except the scanner's own.
    pub(crate) fn scan(&mut self) -> Vec<Found> {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut found = Vec::new();
        for line in maps.lines() {
            let mut fields = line.split_whitespace();
            let (range, rights) = (fields.next().unwrap(), fields.next().unwrap());
            if rights.starts_with("rw") {
                let (from, to) = range.split_once('-').unwrap();
                let address = |digits| usize::from_str_radix(digits, 16).unwrap();
                self.region((address(from), address(to)), fields.nth(3).unwrap_or("anonymous"), &mut found);
            }
        }
        found
    }

    fn region(&mut self, (from, to): (usize, usize), name: &str, found: &mut Vec<Found>) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let own = buffer.as_ptr_range();
        let own = own.start as usize..own.end as usize;
        for start in (from..to).step_by(STEP_BYTES) {
            let first = start.saturating_sub(self.overlap_bytes).max(from);
            let len_bytes = (start + STEP_BYTES + self.overlap_bytes).min(to) - first;
            // A region that was unmapped in the meantime is skipped.
            if self.memory.read_exact_at(&mut buffer[..len_bytes], first as u64).is_ok() {
                let anchors = start - first..(start - first + STEP_BYTES).min(len_bytes);
                self.hits(&buffer[..len_bytes], anchors, |at, needle| {
                    if !own.contains(&(first + at)) {
                        let name_of_needle = self.needles[needle].name.clone();
                        found.push(Found { name: name_of_needle, at: first + at, region: name.to_owned() });
                    }
                });
            }
            // Clears only the part in use, since most regions are small.
            buffer[..len_bytes].fill(0);
            std::hint::black_box(&mut buffer);
        }
        self.buffer = buffer;
    }

    /// Finds secrets whose anchors begin in a range of bytes. The loops are plain because tests are barely
    /// optimised and most of the run time is spent here.
    fn hits(&self, bytes: &[u8], anchors: std::ops::Range<usize>, mut hit: impl FnMut(usize, usize)) {
        let (mask, might) = (u32::from_le_bytes([MASK; 4]), &self.might[..]);
        for page in anchors.clone().step_by(PAGE_BYTES) {
            let end =
                (page + PAGE_BYTES).min(anchors.end).min((bytes.len() + 1).saturating_sub(ANCHOR_BYTES));
            let with_next = &bytes[page.min(end)..(end + ANCHOR_BYTES).min(bytes.len())];
            if *with_next == ZEROS[..with_next.len()] {
                continue;
            }
            let mut next = page;
            while next < end {
                let at = next;
                next += 1;
                let anchor =
                    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) ^ mask;
                if !might[hashed(anchor)] {
                    continue;
                }
                for &i in self.by_anchor.get(&anchor).into_iter().flatten() {
                    let Needle { masked, anchor, .. } = &self.needles[i];
                    let begin = at.checked_sub(*anchor);
                    let there = begin.and_then(|begin| bytes.get(begin..begin + masked.len()));
                    if there.is_some_and(|there| is_masked(there, masked)) {
                        hit(at - anchor, i);
                    }
                }
            }
        }
    }
}
