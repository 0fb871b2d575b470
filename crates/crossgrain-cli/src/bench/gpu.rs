//! Times GPU programs by the device's clock, and compares them with the peak of its multiprocessors.
//!
//! Every program's result is compared with the CPU's before it is timed. The data stays in device memory, and
//! each run reads and writes it there. `crossgrain devices --measure` measures the cost of copies.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use crossgrain::engine::block::Family;
use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::{ALL, Kernel, Listing, Task};
use crossgrain::mode::{Ctr, Ecb, Options};
use crossgrain::stream::Stream;
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Key};
use crossgrain_gpu::{Cipher as OnDevice, Gpu, Info, choose};
use serde_json::json;

use super::{Args, GPU_BYTES_MAX};
use crate::error::{self, Error, Exit};
use crate::input::{read_small, shown};

/// The counter of the first block. It is small enough for the position of its first byte to fit 128 bits.
const FIRST: u128 = 0x0001_0203_0405_0607_0809_0a0b_ffff_ff00;

/// The most bytes of a result that are compared; comparing more would dominate the run time.
const CHECK_BYTES: usize = 256 << 20;

/// A program to time.
struct Program {
    name: String,
    kernel: Kernel,
    listing: Listing,
}

/// A line of the result.
struct Row<'a> {
    cipher: Cipher,
    program: &'a Program,
    len_bytes: usize,
    fastest: Duration,
    median: Duration,
    /// The device's peak in bits per second, if the device reports it.
    limit: Option<f64>,
}

impl Row<'_> {
    fn bits_per_s(&self) -> f64 {
        8.0 * self.len_bytes as f64 / self.fastest.as_secs_f64()
    }
}

/// Times the programs whose ids contain the filter, and prints the results.
pub(super) fn run(args: &Args) -> Result<(), Error> {
    let gpu = choose(args.device.as_deref().unwrap_or("gpu")).map_err(failed)?;
    let info = gpu.info().clone();
    let most = info.max_blocks.saturating_mul(BLOCK_BYTES);
    let len_bytes = usize::try_from(args.bytes.unwrap_or(GPU_BYTES_MAX))
        .unwrap_or(most)
        .min(most)
        .next_multiple_of(BLOCK_BYTES);
    let data: Vec<u8> =
        (0..len_bytes.min(CHECK_BYTES)).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    say(&head(&info, len_bytes, args.json))?;
    for program in &programs(&gpu, args.beside.as_deref())? {
        let kernel = program.kernel;
        let is_wanted =
            |cipher: &Cipher| cipher.family() == kernel.family && args.filter().passes(&id(*cipher, program));
        let ciphers = Cipher::ALL.into_iter().filter(is_wanted);
        let keys: Vec<_> = ciphers.map(counting_key).collect::<Result<_, _>>()?;
        let [first, ..] = &keys[..] else { continue };
        // Compiled once for all keys.
        // SAFETY: the text is the kernel's own, or that of a file which the user named as a program for the
        // same job.
        let made = unsafe { OnDevice::listed(&gpu, kernel, &program.listing, first) };
        let mut on_device = made.map_err(failed)?;
        for key in &keys {
            on_device.set_key(key).map_err(failed)?;
            check(&mut on_device, program, key, &data)?;
            let mut times = (0..args.turns.max(1)).map(|_| on_device.run(FIRST, len_bytes));
            let mut times = times.by_ref().collect::<Result<Vec<_>, _>>().map_err(failed)?;
            times.sort();
            let cipher = key.cipher();
            let limit = info.units.map(|units| units.limit_bits_per_s(kernel.work(cipher)));
            let (fastest, median) = (times[0], times[times.len() / 2]);
            say(&line(&Row { cipher, program, len_bytes, fastest, median, limit }, args.json))?;
        }
    }
    Ok(())
}

/// A device error ends the run.
fn failed(error: crossgrain_gpu::Error) -> Error {
    Error::new(Exit::InputOutput, error.to_string())
}

/// The id of a program's row.
fn id(cipher: Cipher, program: &Program) -> String {
    format!("gpu/{cipher}/{}", program.name)
}

/// A key with the bytes 0, 1, 2, …
fn counting_key(cipher: Cipher) -> Result<Key, Error> {
    let bytes: Vec<_> = (0..cipher.key_bytes() as u8).collect();
    Ok(Key::new(cipher, &bytes)?)
}

/// The programs of crossgrain that the device supports, and the user's.
fn programs(gpu: &Gpu, beside: Option<&Path>) -> Result<Vec<Program>, Error> {
    let (info, language) = (gpu.info(), gpu.language());
    let own = ALL.iter().copied().filter(|&kernel| info.takes(kernel, language));
    let own = own.map(|kernel| Program {
        name: kernel.name().to_owned(),
        kernel,
        listing: kernel.listing(language),
    });
    let mut programs: Vec<_> = own.collect();
    if let Some(file) = beside {
        match others(file)? {
            (its, program) if its == language => programs.push(program),
            _ => {
                error::tell(&format!("{} is left out: it is not in the language of {}", shown(file), info.id))
            }
        }
    }
    Ok(programs)
}

/// The program in a file, and its language.
fn others(file: &Path) -> Result<(Language, Program), Error> {
    let language = match file.extension().and_then(OsStr::to_str) {
        Some("cu") => Language::Cuda,
        Some("wgsl") => Language::Wgsl,
        _ => {
            return Err(Error::usage(format!(
                "{}: give a file of CUDA C (.cu) or WGSL (.wgsl)",
                shown(file)
            )));
        }
    };
    let text = String::from_utf8(read_small(file)?)
        .map_err(|_| Error::usage(format!("{} is no text: name a program", shown(file))))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let kernel = Kernel::gates(Family::Aes, Task::Count);
    let listing = Listing { entry: name.clone(), text, ..kernel.listing(language) };
    Ok((language, Program { name, kernel, listing }))
}

/// Refuses a program whose result differs from the CPU's.
fn check(on_device: &mut OnDevice, program: &Program, key: &Key, data: &[u8]) -> Result<(), Error> {
    let (mut wanted, mut got) = (data.to_vec(), data.to_vec());
    on_device.apply_at_once(FIRST, &mut got).map_err(failed)?;
    on_cpu(program.kernel.task, key, &mut wanted)?;
    if got == wanted {
        return Ok(());
    }
    let (name, cipher) = (&program.name, key.cipher());
    let why = format!(
        "{name} by {cipher} is wrong on this device: use the CPU, and report it with the device's name"
    );
    Err(Error::new(Exit::Corrupt, why))
}

/// Computes the same on the CPU.
fn on_cpu(task: Task, key: &Key, data: &mut [u8]) -> Result<(), Error> {
    let options = Options::default();
    match task {
        Task::Encrypt => Ecb::with_options(key, Direction::Encrypt, &options)?.apply(data)?,
        Task::Decrypt => Ecb::with_options(key, Direction::Decrypt, &options)?.apply(data)?,
        Task::Count => Ctr::with_options(key, &FIRST.to_be_bytes(), &options)?.apply(data),
        Task::Generate => {
            let position = FIRST.wrapping_mul(BLOCK_BYTES as u128);
            Stream::with_options(key, &options)?.fill_bytes_at(position, data);
        }
    }
    Ok(())
}

/// The heading: the device and the amount of data.
fn head(info: &Info, len_bytes: usize, as_json: bool) -> String {
    let (count, ghz) =
        info.units.map_or((None, None), |units| (Some(units.count), Some(f64::from(units.clock_khz) / 1e6)));
    if as_json {
        let head = json!({
            "device": info.id, "name": info.name, "driver": info.driver, "software": info.is_software,
            "multiprocessors": count, "clock_ghz": ghz, "shared_bytes": info.shared_bytes,
            "bytes": len_bytes, "crossgrain": env!("CARGO_PKG_VERSION"),
        });
        return head.to_string();
    }
    let units = count.zip(ghz).map(|(count, ghz)| format!(", {count} multiprocessors at up to {ghz:.3} GHz"));
    format!(
        "{}: {} ({}){}; {len_bytes} bytes\n{:>10} {:>10} {:>8}",
        info.id,
        info.name,
        info.driver,
        units.unwrap_or_default(),
        "Tbit/s",
        "median",
        "of limit"
    )
}

fn line(row: &Row, as_json: bool) -> String {
    let Row { cipher, program, len_bytes, fastest, median, limit } = row;
    let (name, rate) = (&program.name, row.bits_per_s());
    if as_json {
        let row = json!({
            "id": id(*cipher, program), "bytes": len_bytes,
            "fastest_ns": fastest.as_nanos() as u64, "median_ns": median.as_nanos() as u64,
            "tbit_per_s": rate / 1e12, "limit_tbit_per_s": limit.map(|limit| limit / 1e12),
        });
        return row.to_string();
    }
    let of_median = 8.0 * *len_bytes as f64 / median.as_secs_f64() / 1e12;
    let share = limit.map_or("-".to_owned(), |limit| format!("{:.1} %", 100.0 * rate / limit));
    format!("{:>10.4} {of_median:>10.4} {share:>8}  {cipher} {name}", rate / 1e12)
}

fn say(text: &str) -> Result<(), Error> {
    writeln!(io::stdout(), "{text}").map_err(|error| Error::print(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_its_rates_and_what_they_are_of_the_limit() {
        let kernel = Kernel::gates(Family::Aes, Task::Count);
        let listing = kernel.listing(Language::Wgsl);
        let program = Program { name: "aes-ctr".to_owned(), kernel, listing };
        let [fastest, median] = [1000, 2000].map(Duration::from_nanos);
        let mut row = Row {
            cipher: Cipher::Aes128,
            program: &program,
            len_bytes: 125_000,
            fastest,
            median,
            limit: Some(4e12),
        };
        assert_eq!(line(&row, false), "    1.0000     0.5000   25.0 %  aes-128 aes-ctr");
        row.limit = None;
        assert_eq!(line(&row, false), "    1.0000     0.5000        -  aes-128 aes-ctr");
    }
}
