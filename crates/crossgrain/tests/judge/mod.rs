//! Expected results of GPU programs, computed by the reference.

use crossgrain::engine::device::{Kernel, Task};
use crossgrain::engine::reference::{self, modes};
use crossgrain::{Direction, Key};

pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

pub(crate) fn expected(kernel: Kernel, key: &Key, counter: u128, data: &[u8]) -> Vec<u8> {
    let (cipher, mut data) = (reference::cipher(key), data.to_vec());
    match kernel.task {
        Task::Encrypt => modes::ecb(&*cipher, Direction::Encrypt, &mut data),
        Task::Decrypt => modes::ecb(&*cipher, Direction::Decrypt, &mut data),
        Task::Count => modes::ctr(&*cipher, counter.to_be_bytes(), &mut data),
        Task::Generate => {
            for (at, block) in (0..).zip(data.chunks_mut(16)) {
                let mut keystream = counter.wrapping_add(at).to_le_bytes();
                cipher.encrypt(&mut keystream);
                block.copy_from_slice(&keystream[..block.len()]);
            }
        }
    }
    data
}
