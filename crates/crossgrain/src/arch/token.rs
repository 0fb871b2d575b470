//! The macro by which machines define their tokens.

/// Defines a token. Only `detect` makes it; `enter` compiles a kernel for `$target_features`, which must be the
/// features in `$needs`.
macro_rules! isa {
    ($(#[$doc:meta])* $Isa:ident, $name:literal, $needs:expr, $enter:ident, $target_features:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Isa(());

        const _: () = {
            use $crate::arch::{Features, Isa, Kernel};

            // A method of the kernel, so that the compiler places it in the kernel's codegen unit. These
            // units compile in parallel.
            trait Enter: Kernel {
                /// # Safety
                /// The CPU must have the features named.
                #[target_feature(enable = $target_features)]
                unsafe fn $enter(self) -> Self::Output {
                    if const { Self::SPILLS } {
                        align_frame();
                    }
                    self.run()
                }
            }

            impl<K: Kernel> Enter for K {}

            impl $crate::arch::sealed::Sealed for $Isa {}

            impl Isa for $Isa {
                const NAME: &'static str = $name;
                const NEEDS: Features = $needs;

                fn detect(allowed: Features) -> Option<Self> {
                    let there = allowed & Features::of_cpu();
                    there.contains(Self::NEEDS).then_some(Self(()))
                }

                #[inline]
                fn enter<K: Kernel>(self, kernel: K) -> K::Output {
                    // SAFETY: `self` exists, so `detect` found every feature that `$enter` is compiled for.
                    unsafe { kernel.$enter() }
                }
            }
        };
    };
}
pub(super) use isa;
