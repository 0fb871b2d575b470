//! A single chain, block by block.

use super::chain::{ChainMessage, Data, Rule};
use crate::kernel::serial::{Blocks, SerialJob};

/// Blocks of a chain.
pub(crate) struct ChainJob<'a, 'b> {
    pub(crate) rule: Rule,
    pub(crate) chain: &'a mut ChainMessage<'b>,
    /// The number of blocks, from the beginning of the data on.
    pub(crate) blocks: usize,
}

impl SerialJob for ChainJob<'_, '_> {
    #[inline(always)]
    fn run<C: Blocks>(&mut self, cipher: C) {
        let Self { rule, ref mut chain, blocks } = *self;
        let state = cipher.load(&chain.state);
        let state = match (rule, &mut chain.data) {
            (Rule::Absorb, data) => cipher.absorb(state, &data.input().as_chunks().0[..blocks]),
            (Rule::Replace(link), Data::Replaced(buffers)) => cipher.link(link, state, buffers, blocks),
            (Rule::Replace(_), Data::Absorbed(_)) => unreachable!("there is no output"),
        };
        cipher.store(state, &mut chain.state);
    }
}
