//! The list of the registers of WebAssembly, by their capabilities. No other list exists. The lists are those
//! of `x86_64/list.rs`.

/// Runs an expression once for each register of this machine in the list that the first argument names. The
/// second argument is the name of the register's type in the expression.
///
/// | name | registers |
/// |---|---|
/// | `all`, `all_from_widest`, `without_byte_tables`, `widest_without_byte_tables` | [`SimdWord`](super::SimdWord) |
/// | all others | none |
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_register {
    (all, $W:ident => $run:expr) => {
        for_each_register!(@ [SimdWord] $W $run)
    };
    (all_from_widest, $W:ident => $run:expr) => {
        for_each_register!(@ [SimdWord] $W $run)
    };
    (without_byte_tables, $W:ident => $run:expr) => {
        for_each_register!(@ [SimdWord] $W $run)
    };
    (widest_without_byte_tables, $W:ident => $run:expr) => {
        for_each_register!(@ [SimdWord] $W $run)
    };
    (more_gates, $W:ident => $run:expr) => {};
    (many_without_rotations, $W:ident => $run:expr) => {};
    (aes, $W:ident => $run:expr) => {};
    (aes_without_galois, $W:ident => $run:expr) => {};
    (one_block, $W:ident => $run:expr) => {};
    (carryless_from_widest, $W:ident => $run:expr) => {};
    (galois_of_16, $W:ident => $run:expr) => {};
    (galois_of_32, $W:ident => $run:expr) => {};
    (byte_tables, $W:ident => $run:expr) => {};
    (byte_tables_and_galois, $W:ident => $run:expr) => {};
    (@ [$($Register:ident)*] $W:ident $run:expr) => {
        $({
            type $W = $crate::engine::arch::$Register;
            $run
        })*
    };
}
pub(crate) use for_each_register;
