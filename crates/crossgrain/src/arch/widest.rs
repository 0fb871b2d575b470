//! Runs generic code on the widest registers that the CPU has and the cap allows.

use super::{Features, Isa, Kernel, Lane32, Lane64, Portable, Register, for_each_register};

/// Code for registers of any width, with its inputs as fields.
pub trait Work: Sized {
    /// The result.
    type Output;

    /// The code, as in [`Kernel::run`]. Implementations and all functions that they call must be
    /// `#[inline(always)]`.
    fn run<W: Lane32>(self, isa: W::Isa) -> Self::Output;
}

/// Runs `work` on the widest registers that `features` allow and the CPU has, or on 32-bit integers.
///
/// This function is never inlined. Otherwise each caller would contain a copy for each register. It also lets
/// callers wipe the stack below themselves.
#[inline(never)]
pub fn on_widest<J: Work>(features: Features, work: J) -> J::Output {
    for_each_register!(all_from_widest, W => {
        if let Some(isa) = <W as Register>::Isa::detect(features) {
            return isa.enter(Entered::<W, J> { isa, work });
        }
    });
    Portable.enter(Entered::<u32, J> { isa: Portable, work })
}

struct Entered<W: Lane32, J> {
    isa: W::Isa,
    work: J,
}

impl<W: Lane32, J: Work> Kernel for Entered<W, J> {
    type Output = J::Output;

    #[inline(always)]
    fn run(self) -> J::Output {
        self.work.run::<W>(self.isa)
    }
}

/// [`Work`] for registers of 64-bit lanes.
pub trait Work64: Sized {
    /// The result.
    type Output;

    /// As [`Work::run`].
    fn run<W: Lane64>(self, isa: W::Isa) -> Self::Output;
}

/// [`on_widest`] for registers of 64-bit lanes, or 64-bit integers.
#[inline(never)]
pub fn on_widest64<J: Work64>(features: Features, work: J) -> J::Output {
    for_each_register!(all_from_widest, W => {
        if let Some(isa) = <W as Register>::Isa::detect(features) {
            return isa.enter(Entered64::<W, J> { isa, work });
        }
    });
    Portable.enter(Entered64::<u64, J> { isa: Portable, work })
}

struct Entered64<W: Lane64, J> {
    isa: W::Isa,
    work: J,
}

impl<W: Lane64, J: Work64> Kernel for Entered64<W, J> {
    type Output = J::Output;

    #[inline(always)]
    fn run(self) -> J::Output {
        self.work.run::<W>(self.isa)
    }
}
