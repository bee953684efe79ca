//! Links the unwinder in. The shared one (`libgcc_s`) would be loaded into every process that the object is preloaded into: two thirds of
//! what a short-lived program without MPI, a shell's `test` or `sed`, would pay for being started behind `transom exec`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
}
