//! A file read, encrypted, decrypted, and written by one program, as the literature measured loops of AES.
//!
//! AES-256 in ECB on whole blocks. Reading and writing are serial, through small buffers like those of the C library.
//! Decryption finds the data where encryption left it.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use crossgrain::mode::{Ecb, Options};
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Key};

/// Bytes in the buffers of reader and writer.
const BUFFER_BYTES: usize = 4096;

/// The file, the threads that compute, and the sizes of pieces.
#[derive(clap::Args)]
pub(crate) struct Args {
    input: PathBuf,
    output: PathBuf,
    /// Threads that encrypt and decrypt
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Bytes to read at a time
    #[arg(long, default_value_t = 16)]
    read: usize,
    /// Bytes to write at a time
    #[arg(long, default_value_t = 512)]
    write: usize,
}

/// Prints the seconds of reading, encryption, decryption, writing, and of all together.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let seconds = timed(args).map_err(|error| error.to_string())?;
    println!("{}", seconds.map(|seconds| format!("{seconds:.9}")).join(" "));
    Ok(())
}

fn timed(args: &Args) -> Result<[f64; 5], Box<dyn std::error::Error>> {
    let options = Options { threads: args.threads, ..Options::default() };
    let key = Key::new(Cipher::Aes256, &[7; 32])?;
    let encrypt = Ecb::with_options(&key, Direction::Encrypt, &options)?;
    let decrypt = Ecb::with_options(&key, Direction::Decrypt, &options)?;
    let start = Instant::now();
    let file = File::open(&args.input)?;
    let mut data = vec![0; usize::try_from(file.metadata()?.len())? / BLOCK_BYTES * BLOCK_BYTES];
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    data.chunks_mut(args.read).try_for_each(|piece| reader.read_exact(piece))?;
    let read = start.elapsed();
    let first = data.first_chunk::<BLOCK_BYTES>().copied();
    encrypt.apply(&mut data[..])?;
    let encrypted = start.elapsed();
    decrypt.apply(&mut data[..])?;
    let decrypted = start.elapsed();
    if data.first_chunk().copied() != first {
        return Err("the decrypted data is not the input".into());
    }
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, File::create(&args.output)?);
    data.chunks(args.write).try_for_each(|piece| writer.write_all(piece))?;
    writer.flush()?;
    let written = start.elapsed();
    let phases = [read, encrypted - read, decrypted - encrypted, written - decrypted, written];
    Ok(phases.map(|phase| phase.as_secs_f64()))
}
