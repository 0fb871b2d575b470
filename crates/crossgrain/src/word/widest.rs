//! Work on the widest registers that are allowed and there.

use super::{Features, Isa, Kernel, Lane32, Portable, Register, for_each_register};

/// Work that is written once for registers of any width.
pub trait Work: Sized {
    /// What it gives back.
    type Output;

    /// The work, as [`Kernel::run`]: implementations must be `#[inline(always)]`, with all that they call.
    fn run<W: Lane32>(self, isa: W::Isa) -> Self::Output;
}

/// Does the work on the widest registers that `features` allow and the CPU has, or on 32-bit integers.
///
/// It is never inlined: callers would contain a copy for each register, and callers wipe the stack below themselves.
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
