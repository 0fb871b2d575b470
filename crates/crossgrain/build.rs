//! Tells the crate how it is compiled.
//!
//! Kernels are thousands of gates, inlined into one function each. A compiler that does not optimise takes gigabytes and
//! many minutes for those of vector registers, to make them slower than plain integers. So an unoptimised build has integers
//! alone, as on a machine whose registers crossgrain does not know: the same bytes. Cargo says here which build it is, also where a
//! profile of the dependent sets `opt-level` for this package.
//!
//! * `crossgrain_integers_only`: the machine has no folder in `src/arch`, or the build is unoptimised. WebAssembly
//!   has a folder for programs with simd128, because no program can ask for it at run time.
//! * `crossgrain_few_registers`: some lists of registers are empty, so code for them is unused. Only x86-64
//!   fills all of them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(crossgrain_integers_only, crossgrain_few_registers)");
    let is = |variable, value| std::env::var(variable).as_deref() == Ok(value);
    let is_x86_64 = is("CARGO_CFG_TARGET_ARCH", "x86_64");
    let is_aarch64 = is("CARGO_CFG_TARGET_ARCH", "aarch64") && is("CARGO_CFG_TARGET_ENDIAN", "little");
    let has = |feature| {
        std::env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|all| all.split(',').any(|one| one == feature))
    };
    let is_wasm32 = is("CARGO_CFG_TARGET_ARCH", "wasm32") && has("simd128");
    let integers_only = is("OPT_LEVEL", "0") || !is_x86_64 && !is_aarch64 && !is_wasm32;
    if integers_only {
        println!("cargo::rustc-cfg=crossgrain_integers_only");
    }
    if integers_only || !is_x86_64 {
        println!("cargo::rustc-cfg=crossgrain_few_registers");
    }
}
