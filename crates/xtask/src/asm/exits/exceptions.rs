//! The public functions that may return without clearing registers, each with the reason.

/// A public function that may break rule 6.
#[derive(Debug)]
pub(crate) struct Exception {
    /// `Type::function` or `Trait::function`, as in the listing of the public interface.
    pub(crate) function: &'static str,
    /// The reason why no secret is left.
    pub(crate) reason: &'static str,
}

pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        function: "Unauthenticated::grain_bytes",
        reason: "gives a length; the call through a pointer runs no kernel",
    },
    Exception {
        function: "Unauthenticated::plans",
        reason: "gives the plans; the call through a pointer runs no kernel",
    },
    Exception {
        function: "Stream::variants",
        reason: "gives names; the call through a pointer runs no kernel",
    },
];
