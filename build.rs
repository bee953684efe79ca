//! Finds out which ABI family the headers behind `MPICC` belong to, since handle types differ: `cfg(transom_mpich)` for `int` handles,
//! `cfg(transom_ompi)` for pointers.

use std::io::Write;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-env-changed=MPICC");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_MPI").is_none() {
        return;
    }
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let mut child = Command::new(&compiler)
        .args(["-E", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {compiler} (set MPICC to an MPI compiler wrapper): {error}"));
    let source = b"#include <mpi.h>\n#ifdef OPEN_MPI\ntransom_family ompi\n#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)\ntransom_family mpich\n#endif\n";
    child.stdin.take().expect("piped above").write_all(source).expect("the preprocessor reads its input");
    let output = child.wait_with_output().expect("the preprocessor ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let family = text.lines().find_map(|line| line.strip_prefix("transom_family "));
    match family {
        Some(family) => {
            println!("cargo::rustc-cfg=transom_{family}");
            println!("cargo::metadata=FAMILY={family}");
        }
        None => panic!("{compiler}: neither the MPICH nor the Open MPI family"),
    }
}
