//! The ABI family that the library was built for (`build.rs` of `transom`): `cfg(transom_mpich)` or `cfg(transom_ompi)`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let family = std::env::var("DEP_TRANSOM_HOST_FAMILY").expect("transom's build script tells the family");
    println!("cargo::rustc-cfg=transom_{family}");
}
