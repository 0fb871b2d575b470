//! The list of the registers of x86-64, by their capabilities. No other list exists.

/// Runs an expression once for each register of this machine in the list that the first argument names. The
/// second argument is the name of the register's type in the expression.
///
/// | name | registers | order |
/// |---|---|---|
/// | `all` | one for each width: [`Lane32`](super::Lane32) and [`ByteLanes`](super::ByteLanes) | narrowest first |
/// | `all_from_widest` | the same | widest first |
/// | `more_gates` | further registers for circuits, with more three-input gates than those in `all` | |
/// | `many_without_rotations` | 32 registers, and CPUs that rotate a 32-bit lane by two instructions | |
/// | `without_byte_tables` | of these, widths at which kernels do not use [`ByteTables`](super::ByteTables) | narrowest first |
/// | `widest_without_byte_tables` | the last of these | |
/// | `aes` | [`AesLanes`](super::AesLanes) | narrowest first |
/// | `aes_without_galois` | of these, widths at which a CPU may have AES rounds and no [`GaloisBytes`](super::GaloisBytes) | narrowest first |
/// | `one_block` | `AesLanes` of one block | |
/// | `carryless_from_widest` | [`CarrylessLanes`](super::CarrylessLanes) | widest first |
/// | `galois_of_16` | [`GaloisBytes`](super::GaloisBytes), 16 registers | |
/// | `galois_of_32` | [`GaloisBytes`](super::GaloisBytes), 32 registers | |
/// | `byte_tables` | [`ByteTables`](super::ByteTables) | |
/// | `byte_tables_and_galois` | `ByteTables` and `GaloisBytes` | |
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_register {
    (all, $W:ident => $run:expr) => {
        for_each_register!(@ [Word128 Word256 Word512] $W $run)
    };
    (all_from_widest, $W:ident => $run:expr) => {
        for_each_register!(@ [Word512 Word256 Word128] $W $run)
    };
    // AVX-512 has all gates of three inputs, and its registers are in `all`.
    (more_gates, $W:ident => $run:expr) => {
        for_each_register!(@ [] $W $run)
    };
    // With 32 registers there are instructions that rotate.
    (many_without_rotations, $W:ident => $run:expr) => {
        for_each_register!(@ [] $W $run)
    };
    (without_byte_tables, $W:ident => $run:expr) => {
        for_each_register!(@ [Word128 Word256] $W $run)
    };
    (widest_without_byte_tables, $W:ident => $run:expr) => {
        for_each_register!(@ [Word256] $W $run)
    };
    (aes, $W:ident => $run:expr) => {
        for_each_register!(@ [AesWord128 AesWord256 AesWord512] $W $run)
    };
    // No CPU has VAES on 512 bits without GFNI.
    (aes_without_galois, $W:ident => $run:expr) => {
        for_each_register!(@ [AesWord128 AesWord256] $W $run)
    };
    (one_block, $W:ident => $run:expr) => {
        for_each_register!(@ [AesWord128] $W $run)
    };
    (carryless_from_widest, $W:ident => $run:expr) => {
        for_each_register!(@ [ClmulWord512 ClmulWord256 ClmulWord128] $W $run)
    };
    (galois_of_16, $W:ident => $run:expr) => {
        for_each_register!(@ [GfniWord256] $W $run)
    };
    (galois_of_32, $W:ident => $run:expr) => {
        for_each_register!(@ [GfniWord512] $W $run)
    };
    (byte_tables, $W:ident => $run:expr) => {
        for_each_register!(@ [VbmiWord512] $W $run)
    };
    (byte_tables_and_galois, $W:ident => $run:expr) => {
        for_each_register!(@ [GfniVbmiWord512] $W $run)
    };
    (@ [$($Register:ident)*] $W:ident $run:expr) => {
        $({
            type $W = $crate::engine::arch::$Register;
            $run
        })*
    };
}
pub(crate) use for_each_register;
