//! Runs every variant that this CPU has on two amounts of data, and says before each run what comes: work for
//! a tracer (`cargo xtask limits`), which counts the instructions between.
//!
//! What two amounts differ by is what a block costs; what is done once a call cancels out. Parts that take one
//! full tile and no less are run on that alone. Each line is `VARIANT BYTES`; a run for warming up goes before it.
//! It begins when it is given a line, which leaves the tracer time to attach.

use crossgrain::internal::variant::{Variant, table};
use crossgrain::plan::{Trial, Workspace};
use crossgrain::{Cipher, Error, Features};

/// The smaller amount: a full tile.
const LEN_BYTES: usize = 8 << 10;

/// Of variants that make tables once they were given so much.
const WALK_LEN_BYTES: usize = 16 << 10;

fn main() -> Result<(), Error> {
    // Nothing to read is no reason not to run.
    let _ = std::io::stdin().read_line(&mut String::new());
    let features = Features::from_environment()?;
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut workspace = Workspace::default();
    for variant in table().iter().filter(|variant| variant.name.contains(&filter)) {
        let len_bytes = if variant.walks { WALK_LEN_BYTES } else { LEN_BYTES };
        let mut before = 0;
        for len_bytes in [len_bytes, 2 * len_bytes] {
            // None where these instructions do not suffice, or where the amount makes no difference.
            let trial = Trial::new(variant, cipher(variant), features, len_bytes);
            let Some(mut trial) = trial.filter(|trial| trial.len_bytes() > before) else { break };
            before = trial.len_bytes();
            trial.run(&mut workspace);
            println!("{} {before}", variant.name);
            trial.run(&mut workspace);
        }
    }
    Ok(())
}

/// The cipher of a variant's family with the shortest key; conversions and counters are the same for all.
fn cipher(variant: &Variant) -> Cipher {
    let serves = |cipher: &Cipher| variant.serves(cipher.family());
    Cipher::ALL.into_iter().find(serves).unwrap_or(Cipher::Aes128)
}
