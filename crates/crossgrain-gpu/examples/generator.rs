//! What a kernel costs: the library's AES generator as a kernel, beside the library's own bit-sliced form of the same steps.
//!
//! On one thread and by the same registers, in turns, the fastest of many; results are compared first. Run with
//! `cargo run --release -p crossgrain-gpu --example generator`; `CROSSGRAIN_ISA` caps the registers.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crossgrain::Cipher;
use crossgrain::mode::Options;
use crossgrain::stream::{Seed, Stream};
use crossgrain_gpu::parallel::{AesBlocks, DeviceVec, Loop, Place, Policy, generate, transform_into};

/// The library's own forms, widest first. The narrowest has 64 bits where a kernel has 32.
const FORMS: [&str; 4] =
    ["bitsliced512/avx512", "bitsliced256/avx2", "bitsliced128/sse2", "bitsliced64/portable"];

/// How long both are timed.
const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let place = Policy::Seq.open()?;
    for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256] {
        for kibibytes in [256, 16 << 10] {
            compare(&place, cipher, kibibytes)?;
        }
    }
    Ok(())
}

/// Times both on so many bytes.
fn compare(place: &Place, cipher: Cipher, kibibytes: usize) -> Result<(), Box<dyn Error>> {
    let key = Seed::new(42).key(cipher);
    let form = |name| {
        let options =
            Options { threads: 1, variants: vec![format!("aes-encrypt/{name}")], ..Options::default() };
        Stream::with_options(&key, &options)
    };
    let stream = FORMS.into_iter().find_map(|name| form(name).ok()).ok_or("no registers are allowed")?;
    let kernel = Loop(AesBlocks::new(&key, 0)?);

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
        "{cipher:?}, {kibibytes} KiB: {:.2} GB/s as a kernel, {:.2} by {}, ratio {:.2}",
        speed(as_kernel),
        speed(own),
        stream.plans()[0],
        own / as_kernel
    );
    Ok(())
}
