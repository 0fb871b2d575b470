//! Runs every variant that this CPU has on two amounts of data, for a tracer (`cargo xtask limits`) that
//! counts instructions.
//!
//! The difference between the two amounts is the cost of the additional blocks; the cost per call cancels
//! out. Parts that require exactly one full tile run on that only. Before each run the program prints a line
//! `VARIANT BYTES`, and a warm-up run precedes the line. The program starts when it reads a line, so that the
//! tracer has time to attach.

use crossgrain::engine::variant::{Variant, table};
use crossgrain::plan::{Trial, Workspace};
use crossgrain::{Cipher, Error, Features};

/// The smaller amount: a full tile.
const LEN_BYTES: usize = 8 << 10;

/// The smaller amount for variants that build tables once the data is at least this long.
const CACHED_LEN_BYTES: usize = 16 << 10;

fn main() -> Result<(), Error> {
    // If there is nothing to read, the program starts anyway.
    let _ = std::io::stdin().read_line(&mut String::new());
    let features = Features::from_environment()?;
    let filter = std::env::args().nth(1).unwrap_or_default();
    let mut workspace = Workspace::default();
    for variant in table().iter().filter(|variant| variant.name.contains(&filter)) {
        let len_bytes = if variant.reads_counter_tables { CACHED_LEN_BYTES } else { LEN_BYTES };
        let mut before = 0;
        for len_bytes in [len_bytes, 2 * len_bytes] {
            // Skipped if the CPU lacks the instructions, or if the amount makes no difference.
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

/// The cipher with the shortest key in the variant's family. Conversions and counters are the same for all
/// ciphers.
fn cipher(variant: &Variant) -> Cipher {
    let serves = |cipher: &Cipher| variant.serves(cipher.family());
    Cipher::ALL.into_iter().find(serves).unwrap_or(Cipher::Aes128)
}
