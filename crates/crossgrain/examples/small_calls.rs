//! What calls of few blocks cost, and what mode crates reach over our types:
//! `cargo run --release -p crossgrain --example small_calls -- [ISA cap]`.
//!
//! Every figure is the least of many repetitions; answers are held to block at a time first.

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
use crossgrain::rustcrypto::Aes128;
use crossgrain::{Buffers, Cipher, Direction, Key};
use ctr::{CtrCore, flavors::Ctr128BE};

const KEY: [u8; 16] = [7; 16];
const IV: [u8; 16] = [9; 16];
const SLAB_BYTES: usize = 64 * 1024;

type Blocks = Vec<Array<u8, U16>>;
type CtrCrate<C> = StreamCipherCoreWrapper<CtrCore<C, Ctr128BE>>;

fn main() -> Result<(), Box<dyn Error>> {
    let features = std::env::args().nth(1).map(|cap| cap.parse()).transpose()?;
    let options = Options { features, threads: 1, ..Options::default() };
    let start = Instant::now();
    let aes = Aes128::with_options(&KEY, &options)?;
    println!("ns for the first key of all: {}", start.elapsed().as_nanos());
    let key = Key::new(Cipher::Aes128, &KEY)?;
    println!("plan {}", Ecb::new(&key, Direction::Encrypt, &options)?.plans()[0]);
    println!("ns for a new key: {:.0}", least_ns(|| drop(black_box(Aes128::with_options(&KEY, &options)))));
    println!("ns for a new key by KeyInit: {:.0}", least_ns(|| drop(black_box(Aes128::new(&KEY.into())))));
    let theirs = aes::Aes128::new(&KEY.into());

    println!("blocks  ns a block: encrypt_n  one by one  RustCrypto aes");
    for count in [1, 4, 8, 16, 64, 512, 4096] {
        let input = vec![[1; 16]; count];
        let (mut at_once, mut single) = (input.clone(), input.clone());
        let n_ns = least_ns(|| aes.encrypt_n(&input, &mut at_once).expect("as many blocks"));
        let single_ns = least_ns(|| {
            for (from, to) in input.chunks(1).zip(single.chunks_mut(1)) {
                aes.encrypt_n(from, to).expect("as many blocks");
            }
        });
        assert_eq!(at_once, single);
        let mut blocks: Blocks = input.iter().map(|block| Array(*block)).collect();
        let theirs_ns = least_ns(|| theirs.encrypt_blocks(&mut blocks));
        let per_block = |ns: f64| ns / count as f64;
        println!(
            "{count:6} {:21.1} {:11.1} {:15.1}",
            per_block(n_ns),
            per_block(single_ns),
            per_block(theirs_ns)
        );
    }
    modes(&aes, &theirs, &key, &options)
}

/// Mode crates over our type and over another, beside our own mode, on 64 KiB.
fn modes(aes: &Aes128, theirs: &aes::Aes128, key: &Key, options: &Options) -> Result<(), Box<dyn Error>> {
    let mut slab = vec![1; SLAB_BYTES];
    let mut blocks: Blocks = vec![Array([1; 16]); SLAB_BYTES / 16];
    println!("GB/s on {SLAB_BYTES} bytes");
    let stream = Ctr::new(key, &IV, options)?;
    row("ctr, our mode", || stream.apply_at(0, Buffers::in_place(&mut slab)));
    row("ctr crate over ours", || {
        CtrCrate::from_core(CtrCore::inner_iv_init(aes, &IV.into())).apply_keystream(&mut slab);
    });
    row("ctr crate over aes", || {
        CtrCrate::from_core(CtrCore::inner_iv_init(theirs, &IV.into())).apply_keystream(&mut slab);
    });
    row("ctr crate over nothing", || {
        CtrCrate::from_core(CtrCore::inner_iv_init(&Nothing, &IV.into())).apply_keystream(&mut slab);
    });
    let ours = Cbc::new(key, Direction::Decrypt, options)?;
    row("cbc decrypt, our mode", || {
        ours.apply(&mut { IV }, Buffers::in_place(&mut slab)).expect("whole blocks");
    });
    row("cbc crate decrypt over ours", || {
        cbc::Decryptor::inner_iv_init(aes, &IV.into()).decrypt_blocks(&mut blocks);
    });
    row("cbc crate decrypt over aes", || {
        cbc::Decryptor::inner_iv_init(theirs, &IV.into()).decrypt_blocks(&mut blocks);
    });
    row("cbc crate decrypt over nothing", || {
        cbc::Decryptor::inner_iv_init(&Nothing, &IV.into()).decrypt_blocks(&mut blocks);
    });
    let ours = Cbc::new(key, Direction::Encrypt, options)?;
    row("cbc encrypt, our mode", || {
        ours.apply(&mut { IV }, Buffers::in_place(&mut slab)).expect("whole blocks");
    });
    row("cbc crate encrypt over ours", || {
        cbc::Encryptor::inner_iv_init(aes, &IV.into()).encrypt_blocks(&mut blocks);
    });
    row("cbc crate encrypt over aes", || {
        cbc::Encryptor::inner_iv_init(theirs, &IV.into()).encrypt_blocks(&mut blocks);
    });
    Ok(())
}

/// A cipher that leaves blocks as they are, in batches: what mode crates cost by themselves.
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

fn row(what: &str, work: impl FnMut()) {
    println!("{what:30} {:7.2}", SLAB_BYTES as f64 / least_ns(work));
}

/// The least time of a call, in nanoseconds, over about a fifth of a second.
fn least_ns(mut work: impl FnMut()) -> f64 {
    let mut repeats = 1_u32;
    let mut sample = |repeats: u32| {
        let start = Instant::now();
        (0..repeats).for_each(|_| work());
        start.elapsed().as_nanos() as f64 / f64::from(repeats)
    };
    while sample(repeats) * f64::from(repeats) < 20_000.0 {
        repeats *= 2;
    }
    let samples = (200e6 / (sample(repeats) * f64::from(repeats))).clamp(3.0, 10_000.0) as usize;
    (0..samples).map(|_| sample(repeats)).fold(f64::INFINITY, f64::min)
}
