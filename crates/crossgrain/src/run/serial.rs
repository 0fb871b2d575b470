//! The work of modes on single blocks, for programs whose kernel cannot keep it in registers: every step is a
//! run.

use super::program::Program;
use super::threads::Threads;
use crate::arch::{Buffers, each, wipe};
use crate::block::{Block, part_number};
use crate::kernel::Source;
use crate::kernel::serial::{Blocks, RunsSerially, Serial, SerialJob};
use crate::mode::gcm_siv::kernel::GcmSivJob;

impl Program {
    /// Runs work of a mode on single blocks. The program must be one that encrypts bytes.
    pub(crate) fn serial(&self, job: Serial<'_, '_, '_>) {
        self.serial_by(None, job);
    }

    /// The same for work that also decrypts, with the program for that.
    pub(crate) fn serial_both_ways(&self, inverse: &Self, job: Serial<'_, '_, '_>) {
        self.serial_by(Some(inverse), job);
    }

    /// Runs the work if the kernels can keep blocks in registers. Otherwise returns it.
    #[inline]
    pub(super) fn serial_in_registers<'j, 'a, 'b>(
        &self,
        inverse: Option<&Self>,
        job: Serial<'j, 'a, 'b>,
    ) -> Option<Serial<'j, 'a, 'b>> {
        match (self.kernel(), inverse.map(Self::kernel)) {
            (Some(kernel), None) => kernel.serial(None, job),
            (Some(kernel), Some(Some(inverse))) => kernel.serial(Some(inverse), job),
            _ => Some(job),
        }
    }

    /// Seals or opens a short message of GCM-SIV under the keys that the program's key derives, if its kernel
    /// can.
    pub(crate) fn gcm_siv(&self, job: &mut GcmSivJob<'_, '_>) -> bool {
        self.kernel().is_some_and(|kernel| kernel.gcm_siv(job))
    }

    #[inline]
    fn serial_by(&self, inverse: Option<&Self>, job: Serial<'_, '_, '_>) {
        if let Some(job) = self.serial_in_registers(inverse, job) {
            job.run_by(&ByRuns { program: self, inverse: inverse.unwrap_or(self) });
        }
    }
}

/// Programs on blocks as big-endian numbers.
#[derive(Clone, Copy)]
struct ByRuns<'a> {
    program: &'a Program,
    inverse: &'a Program,
}

impl RunsSerially for ByRuns<'_> {
    #[inline(never)]
    fn run_job(&self, job: &mut impl SerialJob) {
        job.run(*self);
    }
}

impl Blocks for ByRuns<'_> {
    type Block = u128;

    const RUNS_MANY: bool = true;

    fn load(self, block: &Block) -> u128 {
        u128::from_be_bytes(*block)
    }

    fn load_part(self, bytes: &[u8]) -> u128 {
        part_number(bytes).swap_bytes()
    }

    fn of_number(self, number: u128) -> u128 {
        number
    }

    fn number(self, block: u128) -> u128 {
        block
    }

    fn store(self, block: u128, place: &mut Block) {
        *place = block.to_be_bytes();
    }

    fn store_part(self, block: u128, place: &mut [u8]) {
        let len_bytes = place.len();
        place.copy_from_slice(&block.to_be_bytes()[..len_bytes]);
    }

    fn first_bytes(self, block: u128, len_bytes: usize) -> u128 {
        block & !u128::MAX.checked_shr(8 * len_bytes as u32).unwrap_or(0)
    }

    fn encrypt<const N: usize>(self, blocks: [u128; N]) -> [u128; N] {
        through(self.program, blocks)
    }

    fn decrypt<const N: usize>(self, blocks: [u128; N]) -> [u128; N] {
        through(self.inverse, blocks)
    }
}

fn through<const N: usize>(program: &Program, blocks: [u128; N]) -> [u128; N] {
    let mut bytes: [Block; N] = each!(i < N => blocks[i].to_be_bytes());
    program.run_by(Threads::ONE, Source::Bytes, Buffers::in_place(bytes.as_flattened_mut()));
    let blocks = each!(i < N => u128::from_be_bytes(bytes[i]));
    wipe(bytes.as_flattened_mut());
    blocks
}
