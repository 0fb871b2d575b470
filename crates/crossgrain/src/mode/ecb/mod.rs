//! Electronic codebook (SP 800-38A §6.1): each block is encrypted independently.

pub(crate) mod reference;

use super::registry::{CipherUse, Entry, Initial, Lengths, Make, Mode, Parallel, Reuse, every_cipher};
use super::unauthenticated::{Apply, Place};
use crate::arch::{Buffers, ClearRegisters};
use crate::block::{BLOCK_BYTES, Block, Direction, Error, Key};
use crate::kernel::Source;
use crate::mode::Options;
use crate::plan::Plan;
use crate::run::Program;

pub(super) const ENTRY: Entry = Entry {
    name: "ecb",
    summary: "Electronic codebook: whole blocks, of 16 bytes in most ciphers; equal ones stay equal",
    initial: Initial::Nothing,
    lengths: Lengths::WholeBlocks,
    keys: 1,
    cipher_use: CipherUse::BothWays,
    fused: None,
    parallel: Parallel::Both,
    any_block_size: true,
    tag_bytes: &[],
    aad_strings_max: 0,
    reuse: Reuse::EqualBlocks,
    admits: every_cipher,
    wipes_forged: false,
    make: Make::Unauthenticated(|request| {
        Ok(Box::new(Ecb::with_options(&request.key()?, request.direction, request.options)?))
    }),
};

/// ECB in one direction.
///
/// Equal blocks have equal ciphertexts, so ECB hides little. Use it as a building block for other modes.
///
/// ```
/// use crossgrain::mode::Ecb;
/// use crossgrain::{Cipher, Direction, Key};
///
/// let key = Key::new(Cipher::Aes128, &[7; 16])?;
/// let mut blocks = [0; 64];
/// Ecb::new(&key, Direction::Encrypt)?.apply(&mut blocks)?;
/// Ecb::new(&key, Direction::Decrypt)?.apply(&mut blocks)?;
/// assert_eq!(blocks, [0; 64]);
/// # Ok::<(), crossgrain::Error>(())
/// ```
#[derive(Debug)]
pub struct Ecb {
    program: Program,
}

impl Ecb {
    /// ECB with the default options, bound to a key.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key, direction: Direction) -> Result<Self, Error> {
        Self::with_options(key, direction, &Options::default())
    }

    /// ECB with these options, bound to a key.
    ///
    /// # Errors
    /// Errors in the options: [`Error::UnknownVariant`], [`Error::Unavailable`], [`Error::NoPlan`],
    /// [`Error::UnfitPlan`], or [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn with_options(key: &Key, direction: Direction, options: &Options) -> Result<Self, Error> {
        let job = Mode::Ecb.job(key.cipher(), direction);
        Ok(Self { program: options.program(job, &options.keys(key)?)? })
    }

    /// Replaces the key by another one of the same cipher. Options and plans stay.
    ///
    /// With AES instructions this allocates nothing, so it suits protocols that change keys often.
    ///
    /// # Errors
    /// [`Error::OtherCipher`] for a key of another cipher or key size. The mode keeps its key then.
    pub fn rekey(&mut self, key: &Key) -> Result<(), Error> {
        self.program.take_key(key)
    }

    /// Encrypts or decrypts whole blocks.
    ///
    /// # Errors
    /// [`Error::PartialBlock`] unless the length is a multiple of 16 bytes. Nothing is written in this case.
    #[inline]
    pub fn apply<'a>(&self, buffers: impl Into<Buffers<'a>>) -> Result<(), Error> {
        self.apply_to(buffers.into())
    }

    fn apply_to(&self, buffers: Buffers<'_>) -> Result<(), Error> {
        let _clear = ClearRegisters;
        let len_bytes = buffers.len_bytes();
        if !len_bytes.is_multiple_of(BLOCK_BYTES) {
            return Err(Error::PartialBlock { len_bytes });
        }
        self.program.run(Source::Bytes, buffers);
        Ok(())
    }

    /// Encrypts or decrypts a single block, for callers whose next block depends on the result.
    /// Use [`Ecb::apply`] in all other cases.
    #[inline]
    pub fn block(&self, block: &mut Block) {
        let _clear = ClearRegisters;
        self.program.block(block);
    }

    /// The plans in use, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.program.plans()
    }
}

impl Apply for Ecb {
    fn apply(&self, _place: &mut Place, buffers: Buffers<'_>) -> Result<(), Error> {
        self.apply_to(buffers)
    }

    fn plans(&self) -> &[Plan] {
        self.plans()
    }
}
