//! XTS (IEEE 1619-2007, SP 800-38E): sectors of storage, each under a tweak made from its number.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::exec::Program;
use crate::mode::Options;
use crate::part::Source;
use crate::part::tweak::Tweaks;
use crate::plan::{Birth, Job, Plan};
use crate::word::Buffers;

/// The largest sector in bytes: 2²⁰ blocks (SP 800-38E).
pub const SECTOR_BYTES_MAX: usize = BLOCK_BYTES << 20;

/// Sectors whose tweaks are made at a time: those of 4 MiB even where sectors are small.
const SECTORS_AT_A_TIME: usize = 8192;

/// The two keys of XTS. Wiped when dropped.
#[derive(Clone, Debug)]
pub struct XtsKey {
    data: Key,
    tweak: Key,
}

impl XtsKey {
    /// Takes the key for the data and, after it, the one for the tweaks, as IEEE 1619 lists them.
    ///
    /// # Errors
    /// [`Error::XtsKeyLength`] unless `bytes` is exactly twice as long as a key of the cipher,
    /// [`Error::EqualXtsKeys`] if both halves are the same.
    pub fn new(cipher: Cipher, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != 2 * cipher.key_bytes() {
            return Err(Error::XtsKeyLength { cipher, len_bytes: bytes.len() });
        }
        let (data, tweak) = bytes.split_at(cipher.key_bytes());
        if data.ct_eq(tweak).into() {
            return Err(Error::EqualXtsKeys);
        }
        Ok(Self { data: Key::new(cipher, data)?, tweak: Key::new(cipher, tweak)? })
    }
}

/// XTS in one direction over sectors of one size.
///
/// A sector encrypted twice shows which of its blocks have changed, and nothing is authenticated: it is made
/// for storage that has no room for tags.
pub struct Xts {
    program: Program,
    tweaks: Program,
    direction: Direction,
    sector_bytes: usize,
}

impl Xts {
    /// Plans XTS and binds it to its keys.
    ///
    /// # Errors
    /// [`Error::SectorBytes`] unless sectors have 16 bytes to 16 MiB; as [`Program::new`]; and
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(
        key: &XtsKey,
        direction: Direction,
        sector_bytes: usize,
        options: &Options,
    ) -> Result<Self, Error> {
        if !(BLOCK_BYTES..=SECTOR_BYTES_MAX).contains(&sector_bytes) {
            return Err(Error::SectorBytes { len_bytes: sector_bytes });
        }
        let job = |direction| Job { cipher: key.data.cipher(), direction, birth: Birth::Bytes };
        let program = options.program(job(direction), &key.data)?;
        let tweaks = options.freely().program(job(Direction::Encrypt), &key.tweak)?;
        Ok(Self { program, tweaks, direction, sector_bytes })
    }

    /// Encrypts or decrypts sectors, of which the first has the number `first_sector`; numbers wrap at 2¹²⁸.
    /// The last sector may be shorter than the others, but has 16 bytes at least.
    ///
    /// # Errors
    /// [`Error::ShortSector`] if it has less; nothing is written then.
    pub fn apply(&self, first_sector: u128, buffers: Buffers<'_>) -> Result<(), Error> {
        let last_bytes = buffers.len_bytes() % self.sector_bytes;
        if (1..BLOCK_BYTES).contains(&last_bytes) {
            return Err(Error::ShortSector { len_bytes: last_bytes });
        }
        let sectors = buffers.len_bytes().div_ceil(self.sector_bytes);
        let mut starts = Zeroizing::new(vec![[0; BLOCK_BYTES]; sectors.min(SECTORS_AT_A_TIME)]);
        let (mut sector, mut rest) = (first_sector, buffers);
        while !rest.is_empty() {
            let most_bytes = (SECTORS_AT_A_TIME * self.sector_bytes).min(rest.len_bytes());
            let (now, later) = rest.split_at(most_bytes);
            let starts = &mut starts[..most_bytes.div_ceil(self.sector_bytes)];
            self.start(sector, starts);
            self.apply_from(starts, now);
            (sector, rest) = (sector.wrapping_add(starts.len() as u128), later);
        }
        Ok(())
    }

    /// The tweaks of sectors' first blocks: the encrypted sector numbers, as little-endian integers.
    fn start(&self, first_sector: u128, starts: &mut [Block]) {
        for (i, start) in starts.iter_mut().enumerate() {
            *start = first_sector.wrapping_add(i as u128).to_le_bytes();
        }
        self.tweaks.run(Source::Bytes, Buffers::in_place(starts.as_flattened_mut()));
    }

    /// Sectors by the tweaks of their first blocks: those of whole blocks in one run, the others one by one.
    fn apply_from(&self, starts: &[Block], buffers: Buffers<'_>) {
        let ends_whole = |len_bytes: usize| len_bytes.is_multiple_of(BLOCK_BYTES);
        let plain = match (ends_whole(self.sector_bytes), ends_whole(buffers.len_bytes())) {
            (true, true) => starts.len(),
            (true, false) => starts.len() - 1,
            (false, _) => 0,
        };
        let at = (plain * self.sector_bytes).min(buffers.len_bytes());
        let (whole, mut rest) = buffers.split_at(at);
        self.run(&starts[..plain], whole);
        for start in &starts[plain..] {
            let at = self.sector_bytes.min(rest.len_bytes());
            let (sector, later) = rest.split_at(at);
            if ends_whole(sector.len_bytes()) {
                self.run(std::slice::from_ref(start), sector);
            } else {
                self.steal(start, sector);
            }
            rest = later;
        }
    }

    /// Sectors of whole blocks.
    fn run(&self, starts: &[Block], buffers: Buffers<'_>) {
        // One that is shorter comes last, where nothing is asked about its end.
        let sector_blocks = self.sector_bytes.div_ceil(BLOCK_BYTES);
        self.program.run(Source::Tweaked(Tweaks::new(starts, sector_blocks)), buffers);
    }

    /// A sector that ends within a block: its last two blocks by ciphertext stealing (IEEE 1619 §5.3.2).
    fn steal(&self, start: &Block, sector: Buffers<'_>) {
        let blocks = sector.len_bytes() / BLOCK_BYTES;
        let tweaks = Tweaks::new(std::slice::from_ref(start), blocks + 1);
        let (whole, mut end) = sector.split_at((blocks - 1) * BLOCK_BYTES);
        self.program.run(Source::Tweaked(tweaks), whole);
        let part_bytes = end.len_bytes() - BLOCK_BYTES;
        // The tweaks of the last two blocks change places when decrypting.
        let (first, second) = match self.direction {
            Direction::Encrypt => (blocks - 1, blocks),
            Direction::Decrypt => (blocks, blocks - 1),
        };
        let mut last = [0; 2 * BLOCK_BYTES];
        last[..end.len_bytes()].copy_from_slice(end.input());
        let (block, tail) = last.split_at_mut(BLOCK_BYTES);
        self.program.run(Source::Tweaked(tweaks.skip(first)), Buffers::in_place(block));
        tail[..part_bytes].swap_with_slice(&mut block[..part_bytes]);
        self.program.run(Source::Tweaked(tweaks.skip(second)), Buffers::in_place(block));
        let len_bytes = end.len_bytes();
        end.output_mut().copy_from_slice(&last[..len_bytes]);
    }

    /// The plans chosen, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

impl fmt::Debug for Xts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Xts")
            .field("direction", &self.direction)
            .field("sector_bytes", &self.sector_bytes)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
