//! Measures what every variant costs here and prints it in the format of the shipped estimates.

use std::time::Instant;

use crossgrain::tune::{Scope, measure_costs};
use crossgrain::variant::Policy;
use crossgrain::{Cipher, Error, Features};

fn main() -> Result<(), Error> {
    let budget_ms = std::env::args().nth(1).and_then(|words| words.parse().ok()).unwrap_or(2000);
    let scope = Scope {
        cipher: Cipher::Aes128,
        features: Features::from_environment()?,
        policy: Policy::Any,
        budget_ms,
    };
    let start = Instant::now();
    let clock_ns = move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    print!("{}", measure_costs(scope, &clock_ns)?);
    eprintln!("measured in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
