//! How long copies and runs take, as the host sees it: with the start, the wait, and whatever the driver does.
//!
//! The fastest of a few counts, since what disturbs only ever adds.

use std::time::{Duration, Instant};

use super::{Error, Gpu};

/// Times that something is done, at most.
const TURNS: usize = 5;

/// What took so long is not done again: what disturbs is short beside it.
const LONG: Duration = Duration::from_millis(100);

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
    // The first turn allocates.
    turn()?;
    let (begun, mut least) = (Instant::now(), Duration::MAX);
    for _ in 0..TURNS {
        let start = Instant::now();
        turn()?;
        least = least.min(start.elapsed());
        if begun.elapsed() > LONG {
            break;
        }
    }
    Ok(least)
}

/// So many bytes to the device and back.
pub(super) fn copies(gpu: &Gpu, len_bytes: usize) -> Result<Copies, Error> {
    let (device, mut buffer) = (gpu.device(), gpu.allocate(len_bytes)?);
    let mut bytes = vec![0x5a; len_bytes];
    let download = fastest(|| device.download(&buffer, &mut bytes))?;
    // A driver may put a copy off: what comes back has arrived before.
    let both = fastest(|| {
        device.upload(&bytes.clone(), &mut buffer)?;
        device.download(&buffer, &mut bytes)
    })?;
    Ok(Copies { upload: both.saturating_sub(download), download })
}
