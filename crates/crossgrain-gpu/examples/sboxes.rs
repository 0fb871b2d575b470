//! Serpent's S-box layer without the rest of the cipher, with crossgrain's gates, in place in a device's
//! memory.
//!
//! An element is the four words of a block. Bit i of the four words is the input of S-box i, for 32
//! S-boxes. Gates on words therefore compute the whole layer, and no transposition is necessary. Run with
//! `cargo run --release -p crossgrain-gpu --example sboxes -- [auto|seq|par|cuda:N|wgpu:N]`.
//!
//! Source: Anderson, Biham, Knudsen, "Serpent: A Proposal for the Advanced Encryption Standard" (1998), §2
//! and A.5.

use std::env;
use std::error::Error;

use crossgrain::engine::cipher::serpent::sbox_circuit as serpent_sbox;
use crossgrain_gpu::parallel::{DeviceVec, Lanes, Map, Policy, for_each_bundle};

/// The S-box layer of a round.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// The index of the S-box, 0 to 7.
    pub index: usize,
}

impl Map<4, 4> for Layer {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; 4]) -> [W; 4] {
        serpent_sbox::forward(self.index, x)
    }
}

/// The inverse layer.
#[derive(Clone, Copy, Debug)]
pub struct Inverse {
    /// The index of the S-box, 0 to 7.
    pub index: usize,
}

impl Map<4, 4> for Inverse {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; 4]) -> [W; 4] {
        serpent_sbox::inverse(self.index, x)
    }
}

#[allow(dead_code, reason = "tests take the kernels alone")]
fn main() -> Result<(), Box<dyn Error>> {
    let place = env::args().nth(1).map_or(Ok(Policy::Auto), |name| name.parse())?.open()?;
    let blocks: Vec<[u32; 4]> = (0..1 << 16).map(|at| [at, at ^ 0xff, !at, at << 7]).collect();
    let mut state = DeviceVec::from_slice(&place, &blocks)?;
    for index in 0..8 {
        for_each_bundle(&Layer { index }, &mut state)?;
    }
    println!("block 1 after the eight layers: {:08x?} ({place:?})", state.view(1..2)?.to_vec()?[0]);
    for index in (0..8).rev() {
        for_each_bundle(&Inverse { index }, &mut state)?;
    }
    if state.to_vec()? != blocks {
        return Err("the inverse layers do not undo them".into());
    }
    println!("and the inverse layers undo them");
    Ok(())
}
