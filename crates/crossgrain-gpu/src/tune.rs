//! Finds the best launch configuration for programs on a device, by timing a few thread counts.
//!
//! A configuration whose result differs from the default's is ignored. The default is kept unless another
//! configuration is clearly faster.

use std::time::Duration;

use crossgrain::Key;
use crossgrain::engine::device::Kernel;

use super::parallel::{Lanes, Launch, Loop, MapLoop, Place, Sum, reduce, transform, transform_into};
use super::{Cipher, Error, Gpu, measure};

/// Group sizes to try, in threads.
const GROUPS: [u32; 4] = [64, 128, 256, 384];

/// Threads per run to try.
const RUNS: [u32; 4] = [1 << 15, 1 << 16, 1 << 17, 1 << 18];

/// A configuration is clearly faster if it needs less than this fraction of the default's time.
const CLEAR: f64 = 0.97;

/// Number of output bytes that are compared.
const COMPARED_BYTES: usize = 1 << 16;

/// Number of elements on which kernels of `parallel` are timed.
const ELEMENTS: usize = 1 << 19;

/// The group size with which this program runs fastest on `len_bytes` bytes.
///
/// # Errors
/// If the device is lost, has too little memory, or rejects even the default size.
pub fn best_group(gpu: &Gpu, kernel: Kernel, key: &Key, len_bytes: usize) -> Result<u32, Error> {
    let usual = kernel.group_threads(gpu.language());
    let others =
        GROUPS.into_iter().filter(|&group| group != usual && kernel.takes_group(gpu.language(), group));
    best(usual, others, |group| {
        let mut cipher = Cipher::new(gpu, kernel, group, key)?;
        let mut answer = vec![0x5a; COMPARED_BYTES];
        cipher.apply(0, &mut answer)?;
        Ok((answer, cipher.measure_run(len_bytes)?))
    })
}

/// The fastest launch configuration for kernels of [`parallel`](super::parallel), measured with a hash of
/// 2¹⁹ numbers in sixteen rounds.
///
/// # Errors
/// If the device is lost, has too little memory, or rejects even the default configuration.
pub fn best_launch(gpu: &Gpu) -> Result<Launch, Error> {
    let launches = GROUPS
        .into_iter()
        .flat_map(|group_threads| RUNS.map(|run_threads| Launch { group_threads, run_threads }));
    let others = launches.filter(|launch| *launch != Launch::default() && launch.check(gpu.info()).is_ok());
    best(Launch::default(), others, |launch| {
        let place = Place::on(gpu.started(launch)?);
        let numbers = place.indices(0..ELEMENTS)?;
        let mut goal = transform(&Loop(Hash), numbers)?;
        let answer = reduce(&Sum, &goal)?;
        Ok((answer, measure::fastest(|| transform_into(&Loop(Hash), numbers, &mut goal))?))
    })
}

struct Hash;

impl MapLoop<1, 2> for Hash {
    fn rounds(&self) -> u32 {
        16
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, [x]: [W; 1]) -> [W; 2] {
        [x, x]
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, [x, y]: [W; 2]) -> [W; 2] {
        let x = x.rotate_lanes_left::<13>().multiply_lanes(x.filled(0x9e37_79b9)) ^ y;
        [x, y.add_lanes(x)]
    }
}

/// The fastest of `others` that is clearly faster than `usual` and gives the same result, otherwise
/// `usual`.
fn best<T, A: PartialEq>(
    usual: T,
    others: impl Iterator<Item = T>,
    mut timed: impl FnMut(T) -> Result<(A, Duration), Error>,
) -> Result<T, Error>
where
    T: Copy,
{
    let (answer, time) = timed(usual)?;
    let (mut best, mut least) = (usual, time.mul_f64(CLEAR));
    for other in others {
        match timed(other) {
            Ok((same, time)) if same == answer && time < least => (best, least) = (other, time),
            Err(error @ Error::Lost(_)) => return Err(error),
            // Either the result differs, or it is slower, or the driver rejects this configuration.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn the_usual_stays_unless_another_is_right_and_clearly_faster() {
        let best_of = |times: [Result<(u8, u64), Error>; 3]| {
            let timed = |at: usize| times[at].clone().map(|(answer, ms)| (answer, Duration::from_millis(ms)));
            best(0, 1..3, timed)
        };
        let refusal = Error::Program("too many threads".to_owned());
        let refused = || Err(refusal.clone());
        assert_eq!(best_of([Ok((7, 100)), Ok((7, 99)), Ok((7, 101))]), Ok(0));
        assert_eq!(best_of([Ok((7, 100)), Ok((7, 90)), Ok((7, 80))]), Ok(2));
        assert_eq!(best_of([Ok((7, 100)), Ok((7, 90)), Ok((8, 80))]), Ok(1));
        assert_eq!(best_of([Ok((7, 100)), refused(), Ok((7, 80))]), Ok(2));
        assert_eq!(best_of([refused(), Ok((7, 90)), Ok((7, 80))]), Err(refusal.clone()));
        let lost = Error::Lost("unplugged".to_owned());
        assert_eq!(best_of([Ok((7, 100)), Err(lost.clone()), Ok((7, 80))]), Err(lost));
    }
}
