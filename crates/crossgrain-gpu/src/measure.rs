//! Measures copies and runs as the host sees them: the time includes launch, wait and the driver's work.
//!
//! The result is the fastest of a few repetitions, because interference only adds time.

use std::time::{Duration, Instant};

use super::{Error, Gpu};

/// Maximum number of timed repetitions.
const TURNS: usize = 5;

/// After this total time no repetition follows: interference is short compared with it.
const LONG: Duration = Duration::from_millis(100);

/// Duration of copying a number of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// Host to device.
    pub upload: Duration,
    /// Device to host.
    pub download: Duration,
}

/// The duration of the fastest repetition.
pub(super) fn fastest(mut turn: impl FnMut() -> Result<(), Error>) -> Result<Duration, Error> {
    // The first call is not timed because it allocates.
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

/// Times copies of `len_bytes` bytes in both directions.
pub(super) fn copies(gpu: &Gpu, len_bytes: usize) -> Result<Copies, Error> {
    let (device, mut buffer) = (gpu.device(), gpu.allocate(len_bytes)?);
    let mut bytes = vec![0x5a; len_bytes];
    let download = fastest(|| device.download(&buffer, &mut bytes))?;
    // A driver may defer an upload. Downloading the same buffer waits for it, so the upload's time is a
    // difference.
    let both = fastest(|| {
        device.upload(&bytes.clone(), &mut buffer)?;
        device.download(&buffer, &mut bytes)
    })?;
    Ok(Copies { upload: both.saturating_sub(download), download })
}
