//! Rounds with gaps between them, in which products are computed. The two use different execution ports.
//!
//! Products and states must be [`pinned`](crate::arch::AesLanes::pinned) alternately. Otherwise the
//! compiler moves all of one kind after all of the other.
//! Source: Gopal et al., "Fast Cryptographic Computation on Intel Architecture Processors Via Function
//! Stitching" (2010).

use crate::arch::Line;
use crate::cipher::aes::key::WideKeys;

/// The keys of the middle rounds after the first, distributed over four gaps for other work: two, two, four
/// and four rounds come before them. Shorter keys have fewer rounds before the second and third gap.
///
/// There is no loop over the keys. Loop control and checks would be a tenth of all instructions, and on Zen 5
/// the number of instructions limits the speed. The keys are addressed from both ends, which takes two
/// registers.
#[derive(Clone, Copy)]
pub(super) struct Gaps<'a> {
    front: &'a [Line; 6],
    back: &'a [Line; 6],
    has_second: bool,
    has_more_of_third: bool,
}

impl<'a> Gaps<'a> {
    /// Distributes all keys but the first.
    #[inline(always)]
    pub(super) fn new(keys: &'a WideKeys) -> Self {
        let rounds = keys.rounds();
        Self {
            front: keys.six_from(2),
            back: match rounds {
                10 => keys.six_from(4),
                12 => keys.six_from(6),
                _ => keys.six_from(8),
            },
            has_second: rounds > 10,
            has_more_of_third: rounds > 12,
        }
    }
}

/// Registers in the cipher.
pub(super) trait Rounds {
    /// A middle round.
    fn round(&mut self, key: &Line);

    /// Makes the states [`pinned`](crate::arch::AesLanes::pinned).
    fn pin(&mut self);

    /// Two rounds, before the first gap.
    #[inline(always)]
    fn before_first(&mut self, gaps: Gaps<'_>) {
        self.round(&gaps.front[0]);
        self.round(&gaps.front[1]);
        self.pin();
    }

    /// The rounds before the second gap.
    #[inline(always)]
    fn before_second(&mut self, gaps: Gaps<'_>) {
        if gaps.has_second {
            self.round(&gaps.front[2]);
            self.round(&gaps.front[3]);
        }
        self.pin();
    }

    /// The rounds before the third gap.
    #[inline(always)]
    fn before_third(&mut self, gaps: Gaps<'_>) {
        if gaps.has_more_of_third {
            self.round(&gaps.front[4]);
            self.round(&gaps.front[5]);
        }
        self.round(&gaps.back[0]);
        self.round(&gaps.back[1]);
        self.pin();
    }

    /// Four rounds, before the last gap.
    #[inline(always)]
    fn before_fourth(&mut self, gaps: Gaps<'_>) {
        for key in &gaps.back[2..] {
            self.round(key);
        }
        self.pin();
    }
}
