//! Helpers for the tests that check a law over the whole table of variants: forced plans, ISA levels, other
//! implementations to compare with, and skips that are printed.
#![allow(dead_code, unused_imports, reason = "each law uses its own part of this")]

mod basics;

pub(crate) use basics::{ALL_CAP, CAP_WITHOUT_AES, CAPS, capped, cases, hex, key, known_caps, painted};

use cipher::consts::U16;
use cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, InnerIvInit, KeyInit, StreamCipher,
    StreamCipherCoreWrapper,
};
use crossgrain::engine::block::Family;
use crossgrain::engine::check;
use crossgrain::engine::layout::convert::{Load, Store};
use crossgrain::engine::layout::repr::Repr;
use crossgrain::engine::reference::{self, modes};
use crossgrain::engine::variant::{Action, Variant, table};
use crossgrain::mode::{Ctr, Ecb, Options};
use crossgrain::plan::{Job, JobSource};
use crossgrain::{Block, Buffers, Cipher, Direction, Features, Key};
use ctr::{CtrCore, flavors::Ctr128BE};

/// The ciphers of a family, shortest key first.
pub(crate) fn ciphers(family: Family) -> Vec<Cipher> {
    Cipher::ALL.into_iter().filter(|cipher| cipher.family() == family).collect()
}

/// The AES key with these bytes; their count selects the key size.
pub(crate) fn key_of(bytes: &[u8]) -> Key {
    family_key_of(Family::Aes, bytes)
}

/// The same for any family.
pub(crate) fn family_key_of(family: Family, bytes: &[u8]) -> Key {
    let cipher = ciphers(family).into_iter().find(|cipher| cipher.key_bytes() == bytes.len());
    Key::new(cipher.unwrap(), bytes).unwrap()
}

/// The variant if this CPU can run it. Otherwise prints a line and gives `None`, or fails if
/// CROSSGRAIN_REQUIRE names its ISA.
pub(crate) fn here(variant: &Variant) -> Option<&Variant> {
    if variant.is_available(Features::of_cpu()) {
        return Some(variant);
    }
    skip(variant.isa, &variant.name);
    None
}

/// Prints that a check is skipped because this CPU has no such ISA. Fails if CROSSGRAIN_REQUIRE names the
/// ISA.
pub(crate) fn skip(isa: &str, what: &str) {
    let required = std::env::var("CROSSGRAIN_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|required| required == isa), "{what} is required");
    println!("skipped: {what} ({isa} is not on this CPU)");
}

/// Prints how many cases were checked. `cargo xtask evidence` adds up the counts of all tests with the same
/// label.
pub(crate) fn counted(count: usize, what: &str) {
    println!("counted: {count} {what}");
}

/// The loads into tiles that this CPU can run.
pub(crate) fn loads() -> Vec<(&'static Variant, Box<dyn Load>)> {
    let bind = |variant: &'static Variant| match variant.action {
        Action::Load(bind) => here(variant).map(|_| (variant, bind(Features::of_cpu()).unwrap())),
        _ => None,
    };
    table().iter().filter_map(bind).collect()
}

pub(crate) fn stores() -> Vec<(&'static Variant, Box<dyn Store>)> {
    let bind = |variant: &'static Variant| match variant.action {
        Action::Store(bind) => here(variant).map(|_| (variant, bind(Features::of_cpu()).unwrap())),
        _ => None,
    };
    table().iter().filter_map(bind).collect()
}

/// Blocks in a bundle. Representations along the grain accept any number: these get a few more than a
/// register holds.
pub(crate) fn bundle_blocks(repr: Repr) -> usize {
    repr.bundle_blocks().unwrap_or(37)
}

/// Options that force a variant on this CPU. Leaks do not exclude it.
pub(crate) fn forced(variant: &Variant, direction: Direction) -> Options {
    check::forced(variant, direction, Features::of_cpu())
}

/// Runs a job in place with these options.
pub(crate) fn run(
    key: &Key,
    direction: Direction,
    source: JobSource,
    first: u128,
    options: &Options,
    data: &mut [u8],
) {
    run_buffers(key, direction, source, first, options, Buffers::in_place(data));
}

pub(crate) fn run_buffers(
    key: &Key,
    direction: Direction,
    source: JobSource,
    first: u128,
    options: &Options,
    buffers: Buffers<'_>,
) {
    match source {
        JobSource::Bytes => Ecb::with_options(key, direction, options).unwrap().apply(buffers).unwrap(),
        JobSource::Counter => Ctr::with_options(key, &first.to_be_bytes(), options).unwrap().apply(buffers),
        JobSource::Mode(_) | JobSource::Keys { .. } => panic!("not a job on blocks: {source:?}"),
    }
}

/// The same job computed by the reference.
pub(crate) fn expected(
    key: &Key,
    direction: Direction,
    source: JobSource,
    first: u128,
    data: &[u8],
) -> Vec<u8> {
    let cipher = reference::cipher(key);
    let mut data = data.to_vec();
    match source {
        JobSource::Bytes => modes::ecb(&*cipher, direction, &mut data),
        JobSource::Counter => modes::ctr(&*cipher, first.to_be_bytes(), &mut data),
        JobSource::Mode(_) | JobSource::Keys { .. } => panic!("not a job on blocks: {source:?}"),
    }
    data
}

/// Calls `$f` with RustCrypto's cipher for a key; `None` if RustCrypto does not have the cipher.
macro_rules! with_other {
    ($key:expr, $f:ident($($argument:expr),*)) => {{
        let key = $key;
        macro_rules! of {
            ($Cipher:ty) => { Some($f(<$Cipher>::new_from_slice(key.bytes()).unwrap(), $($argument),*)) };
        }
        match key.cipher() {
            Cipher::Aes128 => of!(aes::Aes128),
            Cipher::Aes192 => of!(aes::Aes192),
            Cipher::Aes256 => of!(aes::Aes256),
            Cipher::Serpent128 | Cipher::Serpent192 | Cipher::Serpent256 => of!(serpent::Serpent),
            Cipher::Sm4 => of!(sm4::Sm4),
            Cipher::Camellia128 => of!(camellia::Camellia128),
            Cipher::Camellia192 => of!(camellia::Camellia192),
            Cipher::Camellia256 => of!(camellia::Camellia256),
            Cipher::Aria128 => of!(aria::Aria128),
            Cipher::Aria192 => of!(aria::Aria192),
            Cipher::Aria256 => of!(aria::Aria256),
            Cipher::Kuznyechik => of!(kuznyechik::Kuznyechik),
            _ => None,
        }
    }};
}

/// A second implementation: RustCrypto's ciphers and `ctr`, or the reference for ciphers that RustCrypto does
/// not have.
pub(crate) fn other(key: &Key, direction: Direction, source: JobSource, first: u128, data: &mut [u8]) {
    if with_other!(key, other_run(direction, source, first, data)).is_none() {
        data.copy_from_slice(&expected(key, direction, source, first, data));
    }
}

/// The same for single blocks, with the key expanded once.
pub(crate) fn other_single(key: &Key, direction: Direction) -> BlockByBlock {
    other_blocks(key, direction).unwrap_or_else(|| {
        let by = reference::cipher(key);
        match direction {
            Direction::Encrypt => Box::new(move |block| by.encrypt(block)),
            Direction::Decrypt => Box::new(move |block| by.decrypt(block)),
        }
    })
}

/// RustCrypto's cipher for single blocks, if it has one.
pub(crate) fn other_blocks(key: &Key, direction: Direction) -> Option<BlockByBlock> {
    with_other!(key, block_by_block(direction))
}

/// Encrypts or decrypts a single block in place.
pub(crate) type BlockByBlock = Box<dyn FnMut(&mut Block)>;

trait Other: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + 'static {}
impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> + 'static> Other for C {}

fn other_run(cipher: impl Other, direction: Direction, source: JobSource, first: u128, data: &mut [u8]) {
    let (blocks, _) = ::cipher::array::Array::slice_as_chunks_mut(data);
    match (source, direction) {
        (JobSource::Bytes, Direction::Encrypt) => cipher.encrypt_blocks(blocks),
        (JobSource::Bytes, Direction::Decrypt) => cipher.decrypt_blocks(blocks),
        (JobSource::Counter, _) => {
            let core = CtrCore::<_, Ctr128BE>::inner_iv_init(&cipher, &first.to_be_bytes().into());
            StreamCipherCoreWrapper::from_core(core).apply_keystream(data);
        }
        (JobSource::Mode(_) | JobSource::Keys { .. }, _) => panic!("not a job on blocks: {source:?}"),
    }
}

fn block_by_block(cipher: impl Other, direction: Direction) -> BlockByBlock {
    match direction {
        Direction::Encrypt => Box::new(move |block| cipher.encrypt_block(block.into())),
        Direction::Decrypt => Box::new(move |block| cipher.decrypt_block(block.into())),
    }
}

/// Every variant with every job on bytes or counters that it can be forced into, available here. The kernels of
/// modes are tested with their modes.
pub(crate) fn forced_jobs() -> Vec<(&'static Variant, Job, Options)> {
    table()
        .iter()
        .filter_map(here)
        .flat_map(|variant| {
            let jobs = Cipher::ALL.into_iter().flat_map(|cipher| check::jobs(variant, cipher));
            let jobs = jobs.filter(|job| matches!(job.source, JobSource::Bytes | JobSource::Counter));
            jobs.map(move |job| (variant, job, forced(variant, job.direction)))
        })
        .collect()
}
