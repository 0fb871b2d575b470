//! Selects numbers by their set bits, bit-sliced: counts those with odd parity, and finds the first with a
//! given weight.
//!
//! A 512-bit register counts the set bits of 512 numbers at once, and a GPU thread those of 32. The
//! counters are pure gate logic. Run with `cargo run --release -p crossgrain-gpu --example weights --
//! [auto|seq|par|cuda:N|wgpu:N]`.

use std::env;
use std::error::Error;

use crossgrain_gpu::parallel::{BitMap, Bits, Policy, Sum, Word, find, transform_reduce};

/// 1 if a number has an odd number of set bits, otherwise 0.
#[derive(Clone, Copy, Debug)]
pub struct Parity;

impl BitMap<1, 1> for Parity {
    #[inline(always)]
    fn map<W: Word>(&self, [x]: [[W; 32]; 1]) -> [[W; 32]; 1] {
        let mut result = [x[0].zero(); 32];
        for bit in x {
            result[0] = result[0] ^ bit;
        }
        [result]
    }
}

/// 1 if a number has exactly this number of set bits, otherwise 0.
#[derive(Clone, Copy, Debug)]
pub struct HasWeight(pub u32);

impl BitMap<1, 1> for HasWeight {
    #[inline(always)]
    fn map<W: Word>(&self, [x]: [[W; 32]; 1]) -> [[W; 32]; 1] {
        let zero = x[0].zero();
        let mut count = [zero; 6];
        for pair in 0..16 {
            let (a, b) = (x[2 * pair], x[2 * pair + 1]);
            // A full adder, whose carry goes to the higher digits.
            let mut carry = W::ternary::<0b1110_1000>(count[0], a, b);
            count[0] = count[0] ^ a ^ b;
            for digit in &mut count[1..] {
                (*digit, carry) = (*digit ^ carry, *digit & carry);
            }
        }
        let mut result = [zero; 32];
        result[0] = !zero;
        for (at, digit) in count.into_iter().enumerate() {
            result[0] = result[0] & if self.0 >> at & 1 == 1 { digit } else { !digit };
        }
        [result]
    }
}

#[allow(dead_code, reason = "tests take the kernels alone")]
fn main() -> Result<(), Box<dyn Error>> {
    let place = env::args().nth(1).map_or(Ok(Policy::Auto), |name| name.parse())?.open()?;
    let numbers = place.indices(0..1 << 24)?;
    let [odd] = transform_reduce(&Bits(Parity), &Sum, numbers)?;
    println!("{odd} of the numbers below 2^24 have an odd parity ({place:?})");
    for weight in [1, 12, 24] {
        match find(&Bits(HasWeight(weight)), numbers)? {
            Some(first) => println!("the first with {weight} ones is {first:#x}"),
            None => println!("none has {weight} ones"),
        }
    }
    Ok(())
}
