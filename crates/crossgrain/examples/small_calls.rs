//! Measures the cost of calls with few blocks, and the speed of mode crates over our types: `cargo run
//! --release -p crossgrain --example small_calls -- [ISA cap]`.
//!
//! Every figure is the minimum of many repetitions. The results are first compared with block-by-block
//! results.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use cipher::consts::{U16, U64};
use cipher::inout::InOut;
use cipher::{
    Array, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser,
    InnerIvInit, KeyInit, ParBlocks, ParBlocksSizeUser, StreamCipher, StreamCipherCoreWrapper,
};
use crossgrain::mode::{Cbc, Ctr, Ecb, Options};
use crossgrain::rustcrypto::{BlockCipher, Kind, kind};
use crossgrain::{Direction, Key};
use ctr::{CtrCore, flavors::Ctr128BE};

const KEY: [u8; 32] = [7; 32];
const IV: [u8; 16] = [9; 16];
const SLAB_BYTES: usize = 64 * 1024;

type Blocks = Vec<Array<u8, U16>>;
type CtrCrate<C> = StreamCipherCoreWrapper<CtrCore<C, Ctr128BE>>;

/// A block cipher of another crate.
trait Other: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16> {}
impl<C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>> Other for C {}

fn main() -> Result<(), Box<dyn Error>> {
    let features = std::env::args().nth(1).map(|cap| cap.parse()).transpose()?;
    let options = Options { features, threads: 1, ..Options::default() };
    cipher::<kind::Aes128>(&aes::Aes128::new_from_slice(&KEY[..16])?, &options)?;
    cipher::<kind::Serpent256>(&serpent::Serpent::new_from_slice(&KEY)?, &options)
}

fn cipher<K: Kind>(theirs: &impl Other, options: &Options) -> Result<(), Box<dyn Error>> {
    let key = &KEY[..K::CIPHER.key_bytes()];
    let start = Instant::now();
    let ours = BlockCipher::<K>::with_options(key, options)?;
    println!("{}: ns for the first key {}", K::NAME, start.elapsed().as_nanos());
    let another = || drop(black_box(BlockCipher::<K>::with_options(key, options)));
    println!("ns for a further key {:.0}", least_ns(another));
    let key = Key::new(K::CIPHER, key)?;
    println!("plan {}", Ecb::with_options(&key, Direction::Encrypt, options)?.plans()[0]);
    calls(&ours, theirs, &Ctr::with_options(&key, &IV, options)?)?;
    modes(&ours, theirs, &key, options)
}

/// Calls with few blocks, one after another.
fn calls<K: Kind>(ours: &BlockCipher<K>, theirs: &impl Other, ctr: &Ctr) -> Result<(), Box<dyn Error>> {
    println!("blocks  ns a block: encrypt_n  one by one  encrypt_block     ctr  RustCrypto");
    for count in [1, 4, 8, 16, 64, 128, 512, 4096] {
        let input = vec![[1; 16]; count];
        let (mut at_once, mut single) = (input.clone(), input.clone());
        let mut blocks: Blocks = input.iter().map(|block| Array(*block)).collect();
        let block_ns = least_ns(|| blocks.iter_mut().for_each(|block| ours.encrypt_block(block)));
        let n_ns = least_ns(|| ours.encrypt_n(&input, &mut at_once).expect("as many blocks"));
        let single_ns = least_ns(|| {
            for (from, to) in input.chunks(1).zip(single.chunks_mut(1)) {
                ours.encrypt_n(from, to).expect("as many blocks");
            }
        });
        assert_eq!(at_once, single);
        let theirs_ns = least_ns(|| theirs.encrypt_blocks(&mut blocks));
        let ctr_ns = least_ns(|| ctr.apply_at(0, at_once.as_flattened_mut()));
        let [n_ns, single_ns, block_ns, ctr_ns, theirs_ns] =
            [n_ns, single_ns, block_ns, ctr_ns, theirs_ns].map(|ns| ns / count as f64);
        println!("{count:6} {n_ns:21.1} {single_ns:11.1} {block_ns:14.1} {ctr_ns:7.1} {theirs_ns:11.1}");
    }
    Ok(())
}

/// Our modes, and mode crates over our type, over another cipher and over no cipher, on 64 KiB.
fn modes<K: Kind>(
    ours: &BlockCipher<K>,
    theirs: &impl Other,
    key: &Key,
    options: &Options,
) -> Result<(), Box<dyn Error>> {
    let mut slab = vec![1; SLAB_BYTES];
    let mut blocks: Blocks = vec![Array([1; 16]); SLAB_BYTES / 16];
    println!("GB/s on {SLAB_BYTES} bytes     our mode   crate over ours   over RustCrypto   over nothing");
    let stream = Ctr::with_options(key, &IV, options)?;
    row(
        "ctr",
        [
            gb_per_s(|| stream.apply_at(0, &mut slab)),
            gb_per_s(|| ctr_crate(ours).apply_keystream(&mut slab)),
            gb_per_s(|| ctr_crate(theirs).apply_keystream(&mut slab)),
            gb_per_s(|| ctr_crate(&Nothing).apply_keystream(&mut slab)),
        ],
    );
    for (what, direction) in [("cbc decryption", Direction::Decrypt), ("cbc encryption", Direction::Encrypt)]
    {
        let mode = Cbc::with_options(key, direction, options)?;
        row(
            what,
            [
                gb_per_s(|| mode.apply(&mut IV.into(), &mut slab).expect("whole blocks")),
                cbc_crate(direction, ours, &mut blocks),
                cbc_crate(direction, theirs, &mut blocks),
                cbc_crate(direction, &Nothing, &mut blocks),
            ],
        );
    }
    Ok(())
}

fn cbc_crate(direction: Direction, cipher: &impl Other, blocks: &mut Blocks) -> f64 {
    let iv = &IV.into();
    gb_per_s(|| match direction {
        Direction::Encrypt => cbc::Encryptor::inner_iv_init(cipher, iv).encrypt_blocks(blocks),
        Direction::Decrypt => cbc::Decryptor::inner_iv_init(cipher, iv).decrypt_blocks(blocks),
    })
}

fn ctr_crate<C: BlockCipherEncrypt<BlockSize = U16>>(cipher: C) -> CtrCrate<C> {
    CtrCrate::from_core(CtrCore::inner_iv_init(cipher, &IV.into()))
}

/// A cipher that leaves blocks unchanged, in batches. It shows the overhead of the mode crates.
struct Nothing;

impl BlockSizeUser for Nothing {
    type BlockSize = U16;
}

impl ParBlocksSizeUser for Nothing {
    type ParBlocksSize = U64;
}

impl BlockCipherEncrypt for Nothing {
    fn encrypt_with_backend(&self, work: impl BlockCipherEncClosure<BlockSize = U16>) {
        work.call(self);
    }
}

impl BlockCipherDecrypt for Nothing {
    fn decrypt_with_backend(&self, work: impl BlockCipherDecClosure<BlockSize = U16>) {
        work.call(self);
    }
}

impl BlockCipherEncBackend for Nothing {
    fn encrypt_block(&self, block: InOut<'_, '_, Array<u8, U16>>) {
        black_box(block.into_out_with_copied_in());
    }

    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        black_box(blocks.into_out_with_copied_in());
    }
}

impl BlockCipherDecBackend for Nothing {
    fn decrypt_block(&self, block: InOut<'_, '_, Array<u8, U16>>) {
        black_box(block.into_out_with_copied_in());
    }

    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        black_box(blocks.into_out_with_copied_in());
    }
}

fn row(what: &str, [mode, ours, theirs, nothing]: [f64; 4]) {
    println!("{what:20} {mode:13.2} {ours:17.2} {theirs:17.2} {nothing:14.2}");
}

fn gb_per_s(work: impl FnMut()) -> f64 {
    SLAB_BYTES as f64 / least_ns(work)
}

/// The minimum time of a call in nanoseconds, over about a fifth of a second.
fn least_ns(mut work: impl FnMut()) -> f64 {
    let mut repeats = 1_u32;
    let mut sample = |repeats: u32| {
        let start = Instant::now();
        (0..repeats).for_each(|_| work());
        start.elapsed().as_nanos() as f64 / f64::from(repeats)
    };
    sample(1);
    while sample(repeats) * f64::from(repeats) < 20_000.0 {
        repeats *= 2;
    }
    let samples = (200e6 / (sample(repeats) * f64::from(repeats))).clamp(3.0, 10_000.0) as usize;
    (0..samples).map(|_| sample(repeats)).fold(f64::INFINITY, f64::min)
}
