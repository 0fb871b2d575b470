//! Compiles the workers in C, and passes the compiler's version to the program.

fn main() {
    println!("cargo:rerun-if-changed=c");
    let mut build = cc::Build::new();
    build.opt_level(3).warnings(true).extra_warnings(true).include("c");
    let compiler = build.get_compiler();
    let version =
        compiler.to_command().arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let version = String::from_utf8_lossy(&version);
    println!("cargo:rustc-env=C_COMPILER={}", version.lines().next().unwrap_or("unknown").trim());
    build.files(["botan", "ipsec_mb", "libgcrypt", "nettle", "openssl"].map(|name| format!("c/{name}.c")));
    build.compile("peers");
}
