//! Measures the cost of every variant on this machine and prints it in the format of the shipped estimates.
//! Each cipher family is measured with its shortest keys. The argument is the time budget per family in
//! milliseconds; 20 for each variant unless given.

use std::time::Instant;

use crossgrain::Policy;
use crossgrain::engine::tune::{Scope, measure_costs};
use crossgrain::plan::Costs;
use crossgrain::{Cipher, Error, Features};

fn main() -> Result<(), Error> {
    let budget_ms = std::env::args().nth(1).and_then(|words| words.parse().ok());
    let features = Features::from_environment()?;
    let start = Instant::now();
    let clock_ns = move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let of = |cipher| {
        let scope = Scope { cipher, features, policy: Policy::Any, budget_ms };
        measure_costs(scope, &clock_ns, &|| ())
    };
    let mut all = Vec::new();
    // In reverse order, because a later entry replaces an earlier one. Rows that several families share thus
    // keep the costs measured with AES.
    for (at, &cipher) in Cipher::ALL.iter().enumerate().rev() {
        let has_shortest_keys = Cipher::ALL[..at].iter().all(|other| other.family() != cipher.family());
        if has_shortest_keys {
            all.extend(of(cipher)?.iter().map(|(name, known)| (name.to_owned(), known)));
        }
    }
    print!("{}", all.into_iter().collect::<Costs>());
    eprintln!("measured in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
