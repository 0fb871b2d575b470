//! Tells the sources of the command line that they are compiled as a fuzz target.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(crossgrain_fuzz)");
    println!("cargo::rustc-cfg=crossgrain_fuzz");
}
