//! The price of a call option from random paths (Monte Carlo) in `f64`, compared with the formula of Black
//! and Scholes, 1973.
//!
//! Each block of a random stream gives two normal numbers (Box and Muller, 1958). Each normal number gives
//! the price at the end of a path. Run with `cargo run --release -p crossgrain-gpu --example option --
//! [auto|seq|par|cuda:N|wgpu:N]`: every place prints the same digits.

use std::{env, error::Error};

use crossgrain::{Cipher, stream::Seed};
use crossgrain_gpu::parallel::{AesBlocks, Element, F64, Lanes, Loop, Map, Place, Policy, Sum, U64};
use crossgrain_gpu::parallel::{generate, transform_reduce};

/// A call option, exercised at the end of its term.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The present price of the underlying.
    pub spot: f64,
    /// The strike price.
    pub strike: f64,
    /// Interest over the term.
    pub rate: f64,
    /// Volatility over the term.
    pub spread: f64,
}

impl Map<4, 2> for Call {
    #[inline(always)]
    fn map<W: Lanes>(&self, [a, b, c, d]: [W; 4]) -> [W; 2] {
        let radius = (F64::filled(a, -2.0) * (F64::filled(a, 1.0) - F64::unit(U64::new([a, b]))).ln()).sqrt();
        let [x, y] = F64::unit(U64::new([c, d])).turn();
        (self.payoff(a, radius * x) + self.payoff(a, radius * y)).words()
    }
}

impl Call {
    /// The payoff at the end of a path that a normal number gives.
    #[inline(always)]
    fn payoff<W: Lanes>(&self, like: W, normal: F64<W>) -> F64<W> {
        let drift = F64::uniform(like, self.rate - self.spread * self.spread / 2.0);
        let price = F64::uniform(like, self.spot) * (drift + F64::uniform(like, self.spread) * normal).exp();
        (price - F64::uniform(like, self.strike)).max(F64::filled(like, 0.0))
    }

    /// The present value, from two paths per block.
    ///
    /// # Errors
    /// If the place has too little memory or is lost.
    pub fn price(&self, place: &Place, blocks: usize) -> Result<f64, Box<dyn Error>> {
        let random = generate(&Loop(AesBlocks::new(&Seed::new(1).key(Cipher::Aes128), 0)?), place, blocks)?;
        let sum = transform_reduce(self, &Sum::of::<f64>(), &random)?;
        Ok(f64::from_numbers(sum) / (2 * blocks) as f64 * (-self.rate).exp())
    }
}

#[allow(dead_code, reason = "tests take the rest alone")]
fn main() -> Result<(), Box<dyn Error>> {
    let place = env::args().nth(1).map_or(Ok(Policy::Auto), |name| name.parse())?.open()?;
    let call = Call { spot: 100.0, strike: 105.0, rate: 0.05, spread: 0.2 };
    println!("{} by paths, 8.02135 by the formula ({place:?})", call.price(&place, 1 << 22)?);
    Ok(())
}
