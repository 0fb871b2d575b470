//! Estimates pi with random darts. Each index seeds a separate xorshift generator and throws `THROWS`
//! darts, and the hits are summed.
//!
//! The darts are never stored: one pass generates, tests and sums them. Run with `cargo run --release -p
//! crossgrain-gpu --example darts -- [auto|seq|par|cuda:N|wgpu:N]`.
//!
//! Source: Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003), the triple (13, 17, 5).

use std::env;
use std::error::Error;

use crossgrain_gpu::parallel::{Lanes, Map, Policy, Sum, transform_reduce};

/// Number of darts per index.
pub const THROWS: u32 = 32;

/// Number of an index's darts that hit the quarter circle.
#[derive(Clone, Copy, Debug)]
pub struct Hits {
    /// Seed that distinguishes runs.
    pub seed: u32,
}

impl Map<1, 1> for Hits {
    #[inline(always)]
    fn map<W: Lanes>(&self, [index]: [W; 1]) -> [W; 1] {
        // Neighbouring indices must not have neighbouring states, and the state must not be zero.
        let start = index.add_lanes(index.uniform(self.seed)).multiply_lanes(index.filled(0x9e37_79b9));
        let mut state = start ^ index.filled(0x1234_5678);
        let mut hits = index.filled(0);
        for _ in 0..THROWS {
            state = xorshift(state);
            // Two 15-bit coordinates. The dart is outside if the sum of their squares is at least 2³⁰.
            let (x, y) = (state.shift_lanes_right::<17>(), state & index.filled(0x7fff));
            let outside = x.multiply_lanes(x).add_lanes(y.multiply_lanes(y)).shift_lanes_right::<30>();
            hits = hits.add_lanes(outside ^ index.filled(1));
        }
        [hits]
    }
}

/// The next state of the generator.
#[inline(always)]
fn xorshift<W: Lanes>(state: W) -> W {
    let state = state ^ state.shift_lanes_left::<13>();
    let state = state ^ state.shift_lanes_right::<17>();
    state ^ state.shift_lanes_left::<5>()
}

#[allow(dead_code, reason = "tests take the kernels alone")]
fn main() -> Result<(), Box<dyn Error>> {
    let place = env::args().nth(1).map_or(Ok(Policy::Auto), |name| name.parse())?.open()?;
    let generators = 1 << 22;
    let [hits] = transform_reduce(&Hits { seed: 1 }, &Sum, place.indices(0..generators)?)?;
    let throws = generators as f64 * f64::from(THROWS);
    println!("pi is about {} by {throws} darts ({place:?})", 4.0 * f64::from(hits) / throws);
    Ok(())
}
