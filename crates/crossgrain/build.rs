//! Tells the crate how it is compiled.
//!
//! Kernels are thousands of gates, inlined into one function each. A compiler that does not optimise takes gigabytes and
//! many minutes for those of vector registers, to make them slower than plain integers. So an unoptimised build has integers
//! alone, as on a machine whose registers crossgrain does not know: the same bytes. Cargo says here which build it is, also where a
//! profile of the dependent sets `opt-level` for this package.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(crossgrain_integers_only)");
    let is = |variable, value| std::env::var(variable).as_deref() == Ok(value);
    if is("OPT_LEVEL", "0") || !is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        println!("cargo::rustc-cfg=crossgrain_integers_only");
    }
}
