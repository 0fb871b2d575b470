//! The frequency of each sum of two dice. The sums are generated, sorted, and cut where one sum ends and
//! the next begins.
//!
//! Run with `cargo run --release -p crossgrain-gpu --example histogram -- [auto|seq|par|cuda:N|wgpu:N]`.

use crossgrain_gpu::Error;
use crossgrain_gpu::parallel::{DeviceVec, Lanes, Map, Place, Policy, copy_if, sort_by_key, transform, zip};

/// The sum of two dice. It depends only on the index.
struct Roll;

impl Map<1, 1> for Roll {
    #[inline(always)]
    fn map<W: Lanes>(&self, [index]: [W; 1]) -> [W; 1] {
        let mixed = index.multiply_lanes(index.filled(0x9e37_79b9));
        let mixed = (mixed ^ mixed.shift_lanes_right::<15>()).multiply_lanes(index.filled(0x85eb_ca6b));
        [die(mixed.shift_lanes_right::<16>()).add_lanes(die(mixed & mixed.filled(0xffff)))]
    }
}

/// A number from 1 to 6, from 16 random bits.
#[inline(always)]
fn die<W: Lanes>(bits: W) -> W {
    bits.multiply_lanes(bits.filled(6)).shift_lanes_right::<16>().add_lanes(bits.filled(1))
}

/// Selects the last element of each run of equal sums.
struct Ends;

impl Map<3, 1> for Ends {
    #[inline(always)]
    fn map<W: Lanes>(&self, [sum, next, _]: [W; 3]) -> [W; 1] {
        [sum ^ next]
    }
}

/// Each sum that occurs in `rolls` rolls, with its frequency.
///
/// # Errors
/// If `rolls` is zero, or the place has too little memory or is lost.
pub fn histogram(place: &Place, rolls: usize) -> Result<Vec<[u32; 2]>, Error> {
    let sums = transform(&Roll, &sort_by_key(&Roll, place.indices(0..rolls)?)?)?;
    let pairs: DeviceVec<2> = zip(sums.view(..rolls.max(1) - 1)?, sums.view(1..)?)?;
    let numbered: DeviceVec<3> = zip(&pairs, place.indices(1..rolls)?)?;
    let mut ends = copy_if(&Ends, &numbered)?.to_vec()?;
    ends.extend(sums.view(rolls - 1..)?.to_vec()?.iter().map(|[last]| [*last, 0, rolls as u32]));
    let begins = [0].into_iter().chain(ends.iter().map(|[_, _, end]| *end));
    Ok(ends.iter().zip(begins).map(|([sum, _, end], begin)| [*sum, end - begin]).collect())
}

#[allow(dead_code, reason = "tests take the rest alone")]
fn main() -> Result<(), Error> {
    let place = std::env::args().nth(1).map_or(Ok(Policy::Auto), |name| name.parse())?.open()?;
    for [sum, count] in histogram(&place, 1_000_000)? {
        println!("{sum:2} {count:6} {}", "*".repeat(count as usize / 3000));
    }
    Ok(())
}
