//! The built objects: no second MPI comes into a process with them, and `libtransom.so` exports the lists and nothing else.

mod common;

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::Path;
use std::process::Command;

use transom::base::fortran::SYMBOLS;
use transom::base::functions::NAMES;

const OBJECTS: [&str; 3] = ["libtransom.so", "libtransom_mpich.so", "libtransom_ompi.so"];

fn output(program: &str, arguments: &[&str], object: &Path) -> String {
    let output = Command::new(program).env("LC_ALL", "C").args(arguments).arg(object).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {}: {}", object.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the tools write text")
}

/// Names of the libraries that an object makes the loader bring in.
fn needed(object: &Path) -> Vec<String> {
    let table = output("readelf", &["--dynamic", "--wide"], object);
    let lines = table.lines().filter(|line| line.contains("(NEEDED)"));
    lines.map(|line| line.split(['[', ']']).nth(1).expect("readelf puts names in brackets").to_owned()).collect()
}

/// Dynamic symbols, without their versions.
fn symbols(which: &str, object: &Path) -> BTreeSet<String> {
    let table = output("nm", &["--dynamic", "--format=posix", which], object);
    let names = table.lines().filter_map(|line| line.split([' ', '@']).next());
    names.map(str::to_owned).collect()
}

#[test]
fn no_object_brings_a_second_mpi() {
    for name in OBJECTS {
        let object = common::dist(&format!("lib/transom/{name}"));
        let needed = needed(&object);
        assert!(needed.iter().any(|library| library.starts_with("libc.so")), "{name} needs {needed:?}: the table was misread");
        // Whitelisted, since an MPI may be called anything: what Rust's library itself is linked to, and mathematics.
        let known = ["libc.so", "libgcc_s.so", "libm.so", "ld-linux"];
        let strange: Vec<_> = needed.iter().filter(|library| !known.iter().any(|known| library.starts_with(known))).collect();
        assert!(strange.is_empty(), "{name} needs {strange:?}");
    }
}

/// Each library more would be loaded into every shell and every tool that a wrapper script starts.
#[test]
fn the_preloaded_object_brings_nothing_at_all() {
    let needed = needed(&common::dist("lib/transom/libtransom.so"));
    assert!(needed.iter().all(|library| library.starts_with("libc.so") || library.starts_with("ld-linux")), "{needed:?}");
}

#[test]
fn no_object_asks_the_loader_for_a_symbol_of_mpi() {
    for name in OBJECTS {
        let object = common::dist(&format!("lib/transom/{name}"));
        let undefined = symbols("--undefined-only", &object);
        assert!(undefined.contains("dlsym"), "{name}: the table was misread");
        let prefixes = ["MPI", "PMPI", "pmpi", "mpi", "ompi", "opal", "QMPI", "ibv_", "RSMPI"];
        let of_mpi: Vec<_> = undefined.iter().filter(|symbol| prefixes.iter().any(|prefix| symbol.starts_with(prefix))).collect();
        assert!(of_mpi.is_empty(), "{name} asks for {of_mpi:?}");
    }
}

#[test]
fn the_preloaded_object_exports_the_lists_and_nothing_else() {
    let text = |name: &CStr| name.to_str().expect("ASCII").to_owned();
    let of_c = NAMES.iter().flat_map(|(name, profiling)| [(*name).to_owned(), text(profiling)]);
    let expected: BTreeSet<String> = of_c.chain(SYMBOLS.iter().map(|symbol| text(symbol))).collect();
    assert_eq!(expected.len(), 2 * NAMES.len() + SYMBOLS.len(), "a name is listed twice");
    assert_eq!(symbols("--defined-only", &common::dist("lib/transom/libtransom.so")), expected);
}

#[test]
fn an_engine_exports_its_start_and_nothing_else() {
    for name in &OBJECTS[1..] {
        let object = common::dist(&format!("lib/transom/{name}"));
        assert_eq!(symbols("--defined-only", &object), BTreeSet::from(["transom_engine_start".to_owned()]), "{name}");
    }
}
