//! The list of the registers of 64-bit ARM, by their capabilities. No other list exists. The lists are those
//! of `x86_64/list.rs`.

/// Runs an expression once for each register of this machine in the list that the first argument names. The
/// second argument is the name of the register's type in the expression.
///
/// | name | registers |
/// |---|---|
/// | `all`, `all_from_widest`, `without_byte_tables`, `widest_without_byte_tables` | [`NeonWord`](super::NeonWord) |
/// | `more_gates` | [`Sha3Word`](super::Sha3Word) |
/// | `many_without_rotations` | `NeonWord`, `Sha3Word` |
/// | `aes`, `aes_without_galois`, `one_block`, `carryless_from_widest` | [`AesWord`](super::AesWord) |
/// | `galois_of_16`, `galois_of_32`, `byte_tables`, `byte_tables_and_galois` | none |
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_register {
    (all, $W:ident => $run:expr) => {
        for_each_register!(@ [NeonWord] $W $run)
    };
    (all_from_widest, $W:ident => $run:expr) => {
        for_each_register!(@ [NeonWord] $W $run)
    };
    (more_gates, $W:ident => $run:expr) => {
        for_each_register!(@ [Sha3Word] $W $run)
    };
    (many_without_rotations, $W:ident => $run:expr) => {
        for_each_register!(@ [NeonWord Sha3Word] $W $run)
    };
    (without_byte_tables, $W:ident => $run:expr) => {
        for_each_register!(@ [NeonWord] $W $run)
    };
    (widest_without_byte_tables, $W:ident => $run:expr) => {
        for_each_register!(@ [NeonWord] $W $run)
    };
    (aes, $W:ident => $run:expr) => {
        for_each_register!(@ [AesWord] $W $run)
    };
    (aes_without_galois, $W:ident => $run:expr) => {
        for_each_register!(@ [AesWord] $W $run)
    };
    (one_block, $W:ident => $run:expr) => {
        for_each_register!(@ [AesWord] $W $run)
    };
    (carryless_from_widest, $W:ident => $run:expr) => {
        for_each_register!(@ [AesWord] $W $run)
    };
    // No CPU has instructions for affine maps of bytes or for tables of 256 bytes.
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
