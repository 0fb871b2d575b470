//! XTS (IEEE 1619-2007, SP 800-38E): sectors of storage, each encrypted under a tweak derived from its
//! number.
//!
//! ```text
//! T₀ = E(K₂, sector number as 128-bit little-endian integer)     Tⱼ₊₁ = Tⱼ · x in GF(2¹²⁸)
//! Cⱼ = Tⱼ ^ E(K₁, Pⱼ ^ Tⱼ)
//!
//! A sector of m blocks and b more bytes (ciphertext stealing, §5.3.2):
//!     X = Tₘ₋₁ ^ E(K₁, Pₘ₋₁ ^ Tₘ₋₁)              as for whole blocks
//!     Cₘ = first b bytes of X
//!     Cₘ₋₁ = Tₘ ^ E(K₁, (Pₘ, last 16 − b bytes of X) ^ Tₘ)
//! Decryption uses D with K₁ and exchanges Tₘ₋₁ and Tₘ.
//! ```
//!
//! The tweaks of many sectors are encrypted in one run. Sectors of whole blocks are then one job with the
//! source `Tweaked`. Stealing is done for many sectors at a time: first the whole blocks of all, then the
//! last blocks of all.

pub mod reference;
pub mod tweak;

use std::{fmt, slice};

use subtle::ConstantTimeEq;

use self::tweak::{Tweaks, times_x_to};
use super::lists::Lists;
use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use super::unauthenticated::{Apply, Place};
use crate::arch::{Buffers, ClearRegisters, wipe};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Error, Key};
use crate::kernel::Source;
use crate::mode::Options;
use crate::plan::Plan;
use crate::run::Program;

pub(super) const ENTRY: Entry = Entry {
    name: "xts",
    summary: "Sectors of a disk, by a key of twice the length",
    initial: Initial::Sector,
    lengths: Lengths::Sectors,
    keys: 2,
    cipher_use: CipherUse::BothWays,
    fused: None,
    parallel: Parallel::Both,
    any_block_size: false,
    tag_bytes: &[],
    aad_strings_max: 0,
    reuse: Reuse::EqualBlocks,
    admits: every_cipher,
    wipes_forged: false,
    make: Make::Unauthenticated(|request| {
        let key = XtsKey::new(request.cipher, request.key)?;
        let xts = Xts::with_options(&key, request.direction, request.start.sector_bytes, request.options)?;
        Ok(Box::new(Sectors { xts, first: request.start.sector }))
    }),
};

/// The largest sector in bytes: 2²⁰ blocks (SP 800-38E).
pub const SECTOR_BYTES_MAX: usize = BLOCK_BYTES << 20;

/// Sectors whose first tweaks are computed at a time. This covers 4 MiB even if sectors are small.
const SECTORS_AT_A_TIME: usize = 8192;

/// Limits for ciphertext stealing on several sectors together, as a number of sectors and of bytes. Within
/// them the data stays in cache.
const STEALING_TOGETHER: usize = 64;
const STEALING_BYTES: usize = 64 * 1024;

/// The two keys of XTS. Wiped when dropped.
#[derive(Clone, Debug)]
pub struct XtsKey {
    data: Key,
    tweak: Key,
}

impl XtsKey {
    /// Takes the key for the data followed by the key for the tweaks, in the order of IEEE 1619.
    ///
    /// # Errors
    /// [`Error::TwoKeysLength`] unless `bytes` is exactly twice as long as a key of the cipher,
    /// [`Error::EqualXtsKeys`] if both halves are equal.
    pub fn new(cipher: Cipher, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != 2 * cipher.key_bytes() {
            let (mode, len_bytes) = (ENTRY.name, bytes.len());
            return Err(Error::TwoKeysLength { mode, cipher, len_bytes });
        }
        let _clear = ClearRegisters;
        let (data, tweak) = bytes.split_at(cipher.key_bytes());
        if data.ct_eq(tweak).into() {
            return Err(Error::EqualXtsKeys);
        }
        Ok(Self { data: Key::new(cipher, data)?, tweak: Key::new(cipher, tweak)? })
    }

    /// Two new keys from the operating system's generator.
    ///
    /// # Errors
    /// As [`Key::generate`].
    pub fn generate(cipher: Cipher) -> Result<Self, Error> {
        Ok(Self { data: Key::generate(cipher)?, tweak: Key::generate(cipher)? })
    }
}

/// XTS in one direction, for sectors of one size.
///
/// Two versions of the same sector reveal which of its blocks differ. Sectors are not authenticated. Use XTS
/// for storage that has no room for tags.
///
/// ```
/// use crossgrain::mode::{Xts, XtsKey};
/// use crossgrain::{Cipher, Direction};
///
/// let key = XtsKey::generate(Cipher::Aes256)?;
/// let mut sectors = vec![7; 8 * 512];
/// Xts::new(&key, Direction::Encrypt, 512)?.apply(1000, &mut sectors)?; // sectors 1000 to 1007
/// let mut second = sectors[512..1024].to_vec();
/// Xts::new(&key, Direction::Decrypt, 512)?.apply(1001, &mut second)?;
/// assert_eq!(second, [7; 512]);
/// # Ok::<(), crossgrain::Error>(())
/// ```
pub struct Xts {
    program: Program,
    tweaks: Program,
    direction: Direction,
    sector_bytes: usize,
}

impl Xts {
    /// XTS with the default options, bound to its keys.
    ///
    /// # Errors
    /// [`Error::SectorBytes`] unless sectors have 16 bytes to 16 MiB, [`Error::BadIsaCap`] for an unreadable
    /// `CROSSGRAIN_ISA`.
    pub fn new(key: &XtsKey, direction: Direction, sector_bytes: usize) -> Result<Self, Error> {
        Self::with_options(key, direction, sector_bytes, &Options::default())
    }

    /// XTS with these options, bound to its keys.
    ///
    /// # Errors
    /// [`Error::SectorBytes`] unless sectors have 16 bytes to 16 MiB, and as
    /// [`Ctr::with_options`](super::Ctr::with_options).
    pub fn with_options(
        key: &XtsKey,
        direction: Direction,
        sector_bytes: usize,
        options: &Options,
    ) -> Result<Self, Error> {
        if !(BLOCK_BYTES..=SECTOR_BYTES_MAX).contains(&sector_bytes) {
            return Err(Error::SectorBytes { len_bytes: sector_bytes });
        }
        let job = |direction| Mode::Xts.job(key.data.cipher(), direction);
        let program = options.program(job(direction), &options.keys(&key.data)?)?;
        let tweaks = options.freely().program(job(Direction::Encrypt), &options.keys(&key.tweak)?)?;
        // The tweaks of many sectors lie on the stack. So it is after each replacement of the keys.
        program.ran_deeper();
        Ok(Self { program, tweaks, direction, sector_bytes })
    }

    /// Replaces the keys by others of the same cipher. Sector size, options and plans stay. See
    /// [`Ecb::rekey`](super::Ecb::rekey).
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for keys of another cipher or key size. The mode keeps its keys then.
    pub fn rekey(&mut self, key: &XtsKey) -> Result<(), Error> {
        let tweaks = self.tweaks.replace_key(&key.tweak);
        let replaced = tweaks.and_then(|is_bound| Ok(is_bound | self.program.replace_key(&key.data)?));
        let replaced = Program::wipe_rekeyed_stack([&mut self.program, &mut self.tweaks], replaced);
        self.program.ran_deeper();
        replaced
    }

    /// Encrypts or decrypts sectors. The first one has the number `first_sector`; numbers wrap at 2¹²⁸. The
    /// last sector may be shorter than the others, but must have at least 16 bytes.
    ///
    /// # Errors
    /// [`Error::ShortSector`] if the last sector is shorter than 16 bytes. Nothing is written in this case.
    #[inline]
    pub fn apply<'a>(&self, first_sector: u128, buffers: impl Into<Buffers<'a>>) -> Result<(), Error> {
        self.apply_from(first_sector, buffers.into())
    }

    fn apply_from(&self, first_sector: u128, buffers: Buffers<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        let len_bytes = buffers.len_bytes();
        if (BLOCK_BYTES..=self.sector_bytes).contains(&len_bytes) && len_bytes.is_multiple_of(BLOCK_BYTES) {
            self.apply_to_one(first_sector, buffers);
            return Ok(());
        }
        self.apply_to_many(first_sector, buffers)
    }

    /// Runs any sectors. Not inlined, so that a single sector does not pay for its frame.
    #[inline(never)]
    fn apply_to_many(&self, first_sector: u128, buffers: Buffers<'_>) -> Result<(), Error> {
        let last_bytes = buffers.len_bytes() % self.sector_bytes;
        if (1..BLOCK_BYTES).contains(&last_bytes) {
            return Err(Error::ShortSector { len_bytes: last_bytes });
        }
        let sectors = buffers.len_bytes().div_ceil(self.sector_bytes);
        let mut lists = Lists::new(sectors.min(SECTORS_AT_A_TIME));
        let [starts] = lists.each();
        let (mut sector, mut rest) = (first_sector, buffers);
        while !rest.is_empty() {
            let most_bytes = SECTORS_AT_A_TIME.saturating_mul(self.sector_bytes).min(rest.len_bytes());
            let (now, later) = rest.split_at(most_bytes);
            let starts = &mut starts[..most_bytes.div_ceil(self.sector_bytes)];
            self.start(sector, starts);
            self.apply_started(starts, now);
            (sector, rest) = (sector.wrapping_add(starts.len() as u128), later);
        }
        Ok(())
    }

    /// Runs a single sector of whole blocks, without lists.
    fn apply_to_one(&self, sector: u128, buffers: Buffers<'_>) {
        let mut start = sector.to_le_bytes();
        self.tweaks.block(&mut start);
        self.run(slice::from_ref(&start), buffers.len_bytes() / BLOCK_BYTES, buffers);
        wipe(&mut start);
    }

    /// The first tweaks of consecutive sectors: the encrypted sector numbers, as little-endian integers.
    fn start(&self, first_sector: u128, starts: &mut [Block]) {
        for (i, start) in starts.iter_mut().enumerate() {
            *start = first_sector.wrapping_add(i as u128).to_le_bytes();
        }
        self.tweaks.run(Source::Bytes, Buffers::in_place(starts.as_flattened_mut()));
    }

    /// Runs sectors whose first tweaks are `starts`. The last one may be shorter than the others.
    fn apply_started(&self, starts: &[Block], buffers: Buffers<'_>) {
        let full = buffers.len_bytes() / self.sector_bytes;
        let (sectors, last) = buffers.split_at(full * self.sector_bytes);
        let (starts, last_start) = starts.split_at(full);
        self.apply_equal(starts, self.sector_bytes, sectors);
        self.apply_equal(last_start, last.len_bytes(), last);
    }

    /// Runs sectors of one size.
    fn apply_equal(&self, starts: &[Block], sector_bytes: usize, sectors: Buffers<'_>) {
        if starts.is_empty() {
            return;
        }
        if sector_bytes.is_multiple_of(BLOCK_BYTES) {
            self.run(starts, sector_bytes / BLOCK_BYTES, sectors);
        } else {
            self.steal(starts, sector_bytes, sectors);
        }
    }

    /// Runs sectors of whole blocks.
    fn run(&self, starts: &[Block], sector_blocks: usize, buffers: Buffers<'_>) {
        self.program.run(Source::Tweaked(Tweaks::new(starts, sector_blocks)), buffers);
    }

    /// Runs sectors of one size that end within a block.
    fn steal(&self, starts: &[Block], sector_bytes: usize, mut rest: Buffers<'_>) {
        let together = (STEALING_BYTES / sector_bytes).clamp(1, STEALING_TOGETHER);
        let whole_bytes = sector_bytes / BLOCK_BYTES * BLOCK_BYTES;
        let mut copy = vec![0; if starts.len() > 1 { together.min(starts.len()) * whole_bytes } else { 0 }];
        for starts in starts.chunks(together) {
            let (mut sectors, later) = rest.split_at(starts.len() * sector_bytes);
            if starts.len() == 1 {
                self.run(starts, sector_bytes, sectors.reborrow().split_at(whole_bytes - BLOCK_BYTES).0);
            } else {
                self.run_together(
                    starts,
                    sector_bytes,
                    &mut copy[..starts.len() * whole_bytes],
                    &mut sectors,
                );
            }
            self.steal_ends(starts, sector_bytes, sectors);
            rest = later;
        }
        wipe(&mut copy);
    }

    /// Runs all whole blocks of the sectors but the last of each. They are copied together, so that one run
    /// takes them all.
    fn run_together(
        &self,
        starts: &[Block],
        sector_bytes: usize,
        copy: &mut [u8],
        sectors: &mut Buffers<'_>,
    ) {
        let whole_bytes = copy.len() / starts.len();
        for (to, from) in copy.chunks_mut(whole_bytes).zip(sectors.input().chunks(sector_bytes)) {
            to.copy_from_slice(&from[..whole_bytes]);
        }
        // The copy includes the last whole block, whose result is ignored: 2ⁿ blocks and a part run best as
        // 2ⁿ.
        self.run(starts, whole_bytes / BLOCK_BYTES, Buffers::in_place(copy));
        let plain_bytes = whole_bytes - BLOCK_BYTES;
        for (from, to) in copy.chunks(whole_bytes).zip(sectors.output_mut().chunks_mut(sector_bytes)) {
            to[..plain_bytes].copy_from_slice(&from[..plain_bytes]);
        }
    }

    /// Ciphertext stealing for the last two blocks of each sector (IEEE 1619 §5.3.2). The blocks at the same
    /// position in all sectors run together.
    fn steal_ends(&self, starts: &[Block], sector_bytes: usize, mut sectors: Buffers<'_>) {
        let whole = sector_bytes / BLOCK_BYTES;
        // Decryption exchanges the tweaks of the last two blocks.
        let (first, second) = match self.direction {
            Direction::Encrypt => (whole - 1, whole),
            Direction::Decrypt => (whole, whole - 1),
        };
        let mut blocks = [[0; BLOCK_BYTES]; STEALING_TOGETHER];
        let mut tweaks = [[0; BLOCK_BYTES]; STEALING_TOGETHER];
        let (blocks, tweaks) = (&mut blocks[..starts.len()], &mut tweaks[..starts.len()]);
        let places = (whole - 1) * BLOCK_BYTES..whole * BLOCK_BYTES;
        for (block, sector) in blocks.iter_mut().zip(sectors.input().chunks(sector_bytes)) {
            block.copy_from_slice(&sector[places.clone()]);
        }
        self.run_at(first, starts, tweaks, blocks);
        for (i, block) in blocks.iter_mut().enumerate() {
            let (from, to) = (i * sector_bytes + places.end, (i + 1) * sector_bytes);
            // The incomplete block keeps the first bytes of the block before it. Its own bytes replace them
            // there.
            let stolen = *block;
            let end = &sectors.input()[from..to];
            block[..end.len()].copy_from_slice(end);
            sectors.output_mut()[from..to].copy_from_slice(&stolen[..to - from]);
        }
        self.run_at(second, starts, tweaks, blocks);
        for (block, sector) in blocks.iter().zip(sectors.output_mut().chunks_mut(sector_bytes)) {
            sector[places.clone()].copy_from_slice(block);
        }
        wipe(blocks.as_flattened_mut());
        wipe(tweaks.as_flattened_mut());
    }

    /// Runs one block of each sector, at block `at` of the sector.
    fn run_at(&self, at: usize, starts: &[Block], tweaks: &mut [Block], blocks: &mut [Block]) {
        for (tweak, start) in tweaks.iter_mut().zip(starts) {
            *tweak = times_x_to(u128::from_le_bytes(*start), at).to_le_bytes();
        }
        self.run(tweaks, 1, Buffers::in_place(blocks.as_flattened_mut()));
    }

    /// The plans in use, widest bundle first.
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

/// A message of sectors. The first one has the number `first`.
struct Sectors {
    xts: Xts,
    first: u128,
}

impl Apply for Sectors {
    fn apply(&self, place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error> {
        let (position_bytes, sector_bytes) = (place.position_bytes, self.xts.sector_bytes as u128);
        if !position_bytes.is_multiple_of(sector_bytes) {
            return Err(Error::SplitSector { position_bytes });
        }
        self.xts.apply_from(self.first.wrapping_add(position_bytes / sector_bytes), buffers)
    }

    fn grain_bytes(&self) -> usize {
        self.xts.sector_bytes
    }

    fn plans(&self) -> &[Plan] {
        self.xts.plans()
    }
}
