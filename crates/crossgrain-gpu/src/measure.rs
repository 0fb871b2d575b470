//! How long copies and runs take, as the host sees it: with the start, the wait, and whatever the driver does.
//!
//! The fastest of a few counts, since what disturbs only ever adds.

use std::time::{Duration, Instant};

use super::{Device, Error};

/// Times that something is done.
const TURNS: usize = 5;

/// How long it takes to copy some bytes.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// To the device.
    pub upload: Duration,
    /// From it.
    pub download: Duration,
}

/// The time of the fastest turn.
pub(super) fn fastest(mut turn: impl FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
    let mut times = [Duration::MAX; TURNS];
    // The first turn allocates.
    turn()?;
    for time in &mut times {
        let start = Instant::now();
        turn()?;
        *time = start.elapsed();
    }
    Ok(times.into_iter().min().unwrap_or_default())
}

/// So many bytes to the device and back.
pub(super) fn copies<D: Device>(device: &D, len_bytes: usize) -> Result<Copies, Error> {
    let mut buffer = device.allocate(len_bytes)?;
    let mut bytes = vec![0x5a; len_bytes];
    let download = fastest(|| device.download(&buffer, &mut bytes))?;
    // A driver may put a copy off: what comes back has arrived before.
    let both = fastest(|| {
        device.upload(&bytes.clone(), &mut buffer)?;
        device.download(&buffer, &mut bytes)
    })?;
    Ok(Copies { upload: both.saturating_sub(download), download })
}
