//! Measures the cost of kernels: crossgrain's AES and Serpent generators as kernels, compared with its own
//! gate variants on the same registers. The AES variants are bit-sliced like the kernel. The Serpent
//! variants work on words of blocks, which is faster on most CPUs.
//!
//! Both run on one thread and on the same registers, in turns, and the fastest of many runs counts. Results
//! are compared first. Run with `cargo run --release -p crossgrain-gpu --example generator`.
//! `CROSSGRAIN_ISA` limits the registers.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crossgrain::engine::variant::{Variant, table};
use crossgrain::mode::Options;
use crossgrain::stream::{Seed, Stream};
use crossgrain::{Cipher, Key};
use crossgrain_gpu::parallel::{
    AesBlocks, BitLoop, DeviceVec, Loop, Place, Policy, SerpentBlocks, generate, transform_into,
};

/// How the names of crossgrain's own variants begin. AES's narrowest has 64 bits; the kernel's has 32.
const AES: &str = "aes-encrypt/bitsliced";
const SERPENT: &str = "serpent-ctr/blocks/";

/// Time for the measurement of both.
const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let place = Policy::Seq.open()?;
    for kibibytes in [256, 16 << 10] {
        for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256] {
            let key = Seed::new(42).key(cipher);
            compare(&place, &key, AES, Loop(AesBlocks::new(&key, 0)?), kibibytes)?;
        }
        // The number of rounds is the same for all key sizes.
        let key = Seed::new(42).key(Cipher::Serpent256);
        compare(&place, &key, SERPENT, Loop(SerpentBlocks::new(&key, 0)?), kibibytes)?;
    }
    Ok(())
}

/// Measures both on `kibibytes` KiB.
fn compare(
    place: &Place,
    key: &Key,
    forms: &str,
    kernel: Loop<impl BitLoop<1, 4>>,
    kibibytes: usize,
) -> Result<(), Box<dyn Error>> {
    let form = |variant: &Variant| {
        let options = Options { threads: 1, variants: vec![variant.name.clone()], ..Options::default() };
        Stream::with_options(key, &options)
    };
    // The table lists narrow registers first.
    let widest_first = table().iter().rev().filter(|variant| variant.name.starts_with(forms));
    let stream = widest_first.filter_map(|variant| form(variant).ok()).next();
    let stream = stream.ok_or("no registers are allowed")?;
    let mut bytes = vec![0; kibibytes << 10];
    let blocks = bytes.len() / 16;
    let mut vector: DeviceVec<4> = generate(&kernel, place, blocks)?;
    stream.fill_bytes_at(0, &mut bytes);
    let made = vector.to_vec()?.into_iter().flat_map(|block| block.map(u32::to_le_bytes));
    if !made.flatten().eq(bytes.iter().copied()) {
        return Err("the two are different".into());
    }

    let [mut own, mut as_kernel] = [f64::INFINITY; 2];
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        let start = Instant::now();
        stream.fill_bytes_at(0, black_box(&mut bytes));
        own = own.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        transform_into(&kernel, place.indices(0..blocks)?, &mut vector)?;
        as_kernel = as_kernel.min(start.elapsed().as_secs_f64());
        black_box(&vector);
    }
    let speed = |seconds: f64| bytes.len() as f64 / seconds / 1e9;
    println!(
        "{:?}, {kibibytes} KiB: {:.2} GB/s as a kernel, {:.2} by {}, ratio {:.2}",
        key.cipher(),
        speed(as_kernel),
        speed(own),
        stream.plans()[0],
        own / as_kernel
    );
    Ok(())
}
