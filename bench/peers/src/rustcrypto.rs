//! RustCrypto: the `aes` and `serpent` crates over whole slices, and the `ctr` and `xts-mode` crates on top of them.
//!
//! Which AES runs is decided when this is compiled:
//!
//! * plain: the crate asks the CPU at run time and takes its AES instructions where there are any;
//! * `RUSTFLAGS='--cfg aes_backend="soft"'`: only the portable bit-sliced code is there;
//! * `--cfg aes_backend_soft="compact"` besides: its smaller and slower form.

use std::hint::black_box;

use aes::{Aes128, Aes128Enc, Aes192, Aes192Enc, Aes256, Aes256Enc};
use aria::{Aria128, Aria192, Aria256};
use camellia::{Camellia128, Camellia192, Camellia256};
use cipher::array::Array;
use cipher::consts::U16;
use cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, InnerIvInit, KeyInit};
use cipher::{StreamCipher, StreamCipherCoreWrapper, StreamCipherSeek};
use ctr::flavors::{Ctr64BE, Ctr128BE};
use ctr::{CtrCore, CtrFlavor};
use kuznyechik::Kuznyechik;
use serpent::Serpent;
use sm4::Sm4;
use xts_mode::Xts128;

use crate::peer::{
    BLOCK_BYTES, Cipher, Direction, Job, Mode, Operation, PARTIAL_BLOCK, Peer, Setup, each_sector,
};

/// As in `Cargo.lock`; a test compares them.
pub(crate) const AES_VERSION: &str = "0.9.4";
pub(crate) const CTR_VERSION: &str = "0.10.1";
pub(crate) const SERPENT_VERSION: &str = "0.6.0";
pub(crate) const XTS_VERSION: &str = "0.6.0";

/// The RustCrypto crates, as they were compiled into this binary.
pub(crate) struct RustCrypto;

impl Peer for RustCrypto {
    fn name(&self) -> String {
        let backend = backend();
        format!(
            "RustCrypto aes {AES_VERSION} + serpent {SERPENT_VERSION} + ctr {CTR_VERSION} + xts-mode {XTS_VERSION}, {backend}"
        )
    }

    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String> {
        match setup.job().cipher {
            Cipher::Aes128 => operation::<Aes128, Aes128Enc>(setup),
            Cipher::Aes192 => operation::<Aes192, Aes192Enc>(setup),
            Cipher::Aes256 => operation::<Aes256, Aes256Enc>(setup),
            // One type, which takes keys of every size.
            Cipher::Serpent128 | Cipher::Serpent192 | Cipher::Serpent256 => {
                operation::<Serpent, Serpent>(setup)
            }
            Cipher::Sm4 => operation::<Sm4, Sm4>(setup),
            Cipher::Camellia128 => operation::<Camellia128, Camellia128>(setup),
            Cipher::Camellia192 => operation::<Camellia192, Camellia192>(setup),
            Cipher::Camellia256 => operation::<Camellia256, Camellia256>(setup),
            Cipher::Aria128 => operation::<Aria128, Aria128>(setup),
            Cipher::Aria192 => operation::<Aria192, Aria192>(setup),
            Cipher::Aria256 => operation::<Aria256, Aria256>(setup),
            Cipher::Kuznyechik => operation::<Kuznyechik, Kuznyechik>(setup),
        }
    }
}

/// Which code the `aes` crate was compiled to use.
#[allow(
    unexpected_cfgs,
    reason = "flags of the aes crate; declaring them here would replace the workspace's lints"
)]
fn backend() -> &'static str {
    if cfg!(all(aes_backend = "soft", aes_backend_soft = "compact")) {
        "software backend, compact"
    } else if cfg!(aes_backend = "soft") {
        "software backend"
    } else if aes::hardware_accelerated() {
        "picks by itself (found AES instructions)"
    } else {
        "picks by itself (found no AES instructions)"
    }
}

/// A cipher both ways, and its form that sets up keys for encryption alone.
fn operation<C, E>(setup: &Setup) -> Result<Box<dyn Operation>, String>
where
    C: KeyInit + BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt + 'static,
    E: KeyInit + BlockCipherEncrypt<BlockSize = U16> + 'static,
{
    match setup.job().mode {
        Mode::Ecb => {
            let cipher = C::new_from_slice(setup.key()).map_err(|e| e.to_string())?;
            let direction = setup.job().direction;
            Ok(Box::new(Ecb { cipher, direction }))
        }
        Mode::Rekey => {
            let key = setup.key().to_vec();
            Ok(match setup.job().direction {
                Direction::Encrypt => {
                    Box::new(Rekey::<E> { key, run: |cipher, block| cipher.encrypt_block(block) })
                }
                Direction::Decrypt => {
                    Box::new(Rekey::<C> { key, run: |cipher, block| cipher.decrypt_block(block) })
                }
            })
        }
        Mode::Ctr => counter::<C, Ctr128BE>(setup),
        Mode::Ctr64 => counter::<C, Ctr64BE>(setup),
        Mode::Cbc | Mode::Gcm | Mode::Ocb | Mode::Ccm | Mode::Cmac => {
            Err("RustCrypto is asked for ecb, rekey, ctr, ctr64 and xts".into())
        }
        Mode::Xts => {
            let (data_key, tweak_key) = setup.key().split_at(setup.key().len() / 2);
            let cipher = |key| C::new_from_slice(key).map_err(|e| e.to_string());
            Ok(Box::new(Sectors {
                xts: Xts128::new(cipher(data_key)?, cipher(tweak_key)?),
                job: setup.job(),
                first: setup.iv().try_into().map_err(|_| "no number of a sector")?,
            }))
        }
    }
}

/// By way of the cipher, since a stream takes keys of the size that its cipher's type has, and one type stands for
/// Serpent of all sizes.
fn counter<C, F>(setup: &Setup) -> Result<Box<dyn Operation>, String>
where
    C: KeyInit + BlockCipherEncrypt<BlockSize = U16> + 'static,
    F: CtrFlavor<U16> + 'static,
{
    let cipher = C::new_from_slice(setup.key()).map_err(|e| e.to_string())?;
    let core = CtrCore::<C, F>::inner_iv_slice_init(cipher, setup.iv()).map_err(|e| e.to_string())?;
    Ok(Box::new(Counter(StreamCipherCoreWrapper::from_core(core))))
}

/// Blocks by themselves.
struct Ecb<C> {
    cipher: C,
    direction: Direction,
}

impl<C> Operation for Ecb<C>
where
    C: BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt,
{
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let (blocks, rest) = Array::slice_as_chunks_mut(buffer);
        if !rest.is_empty() {
            return Err(PARTIAL_BLOCK.into());
        }
        match self.direction {
            Direction::Encrypt => self.cipher.encrypt_blocks(blocks),
            Direction::Decrypt => self.cipher.decrypt_blocks(blocks),
        }
        Ok(())
    }
}

/// Blocks by themselves, each under a key that was just set up.
struct Rekey<C> {
    key: Vec<u8>,
    run: fn(&C, &mut Array<u8, U16>),
}

impl<C: KeyInit> Operation for Rekey<C> {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let (blocks, rest) = Array::slice_as_chunks_mut(buffer);
        if !rest.is_empty() {
            return Err(PARTIAL_BLOCK.into());
        }
        for block in blocks {
            // The compiler is not to know that it is the same key again.
            let cipher = C::new_from_slice(black_box(&self.key)).map_err(|e| e.to_string())?;
            (self.run)(&cipher, block);
        }
        Ok(())
    }
}

/// Sectors, numbered from the first on.
struct Sectors<C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt> {
    xts: Xts128<C>,
    job: Job,
    first: [u8; BLOCK_BYTES],
}

impl<C: BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt> Operation for Sectors<C> {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        each_sector(self.first, self.job.sector_bytes(), buffer, |number, sector| {
            if sector.len() < BLOCK_BYTES {
                return Err(PARTIAL_BLOCK.into());
            }
            match self.job.direction {
                Direction::Encrypt => self.xts.encrypt_sector(sector, number.into()),
                Direction::Decrypt => self.xts.decrypt_sector(sector, number.into()),
            }
            Ok(())
        })
    }
}

/// A key stream, the same in both directions.
struct Counter<S>(S);

impl<S: StreamCipher + StreamCipherSeek> Operation for Counter<S> {
    fn apply(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        // Seeking only sets the counter; a new stream would copy the round keys each time.
        self.0.try_seek(0_u32).map_err(|e| e.to_string())?;
        self.0.try_apply_keystream(buffer).map_err(|e| e.to_string())
    }
}
