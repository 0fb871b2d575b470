//! A single chain, block by block.

use super::chain::{Data, Rule, Strand};
use crate::kernel::serial::{Blocks, SerialJob};

/// Blocks of a chain.
pub(crate) struct ChainJob<'a, 'b> {
    pub(crate) rule: Rule,
    pub(crate) strand: &'a mut Strand<'b>,
    /// The number of blocks, from the beginning of the data on.
    pub(crate) blocks: usize,
}

impl SerialJob for ChainJob<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let Self { rule, ref mut strand, blocks } = *self;
        let state = cipher.load(&strand.state);
        let state = match (rule, &mut strand.data) {
            (Rule::Absorb, data) => cipher.absorb(state, &data.input().as_chunks().0[..blocks]),
            (Rule::Replace(link), Data::Replaced(buffers)) => cipher.link(link, state, buffers, blocks),
            (Rule::Replace(_), Data::Absorbed(_)) => unreachable!("there is no output"),
        };
        cipher.store(state, &mut strand.state);
    }
}
