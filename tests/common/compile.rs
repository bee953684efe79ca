//! C and C++ programs and shared objects of `tests/programs`, compiled once per host and content.

use super::{Host, root};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

const FLAGS: [&str; 6] = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"];

/// The executable of `tests/programs/NAME.c`, or `NAME.cc`, for a host.
pub(super) fn program(host: Host, name: &str) -> PathBuf {
    built(host, name, &[])
}

/// A shared object of `tests/programs/NAME.c`, with further flags.
pub(super) fn object(host: Host, name: &str, flags: &[&str]) -> PathBuf {
    built(host, name, &[&["-shared", "-fPIC"], flags].concat())
}

/// The executable of `tests/programs/NAME.c`, linked to a shared object that stands before the host in it.
pub(super) fn program_linked_to(host: Host, name: &str, object: &Path) -> PathBuf {
    // Debian's linker drops objects of which nothing is used by name.
    built(host, name, &["-Wl,--no-as-needed", object.to_str().expect("a path in UTF-8")])
}

/// Test processes run side by side, so each compiles to a name of its own and renames: whoever comes second replaces a file by its equal.
fn built(host: Host, name: &str, flags: &[&str]) -> PathBuf {
    let sources = root().join("tests/programs");
    let mut source = sources.join(name).with_extension("c");
    let mut compiler = host.compiler();
    let mut standard = "-std=gnu11";
    if !source.is_file() {
        source.set_extension("cc");
        compiler = host.command("mpicxx");
        standard = "-std=gnu++17";
    }
    let text = fs::read(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let mut key = DefaultHasher::new();
    (text, FLAGS, flags).hash(&mut key);
    let mut headers: Vec<_> = fs::read_dir(&sources)
        .expect("the directory of the programs")
        .map(|entry| entry.expect("an entry of that directory").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "h"))
        .collect();
    headers.sort();
    for header in headers {
        fs::read(&header).unwrap_or_else(|error| panic!("{}: {error}", header.display())).hash(&mut key);
    }
    let directory = root().join("target/tests").join(host.name());
    let executable = directory.join(format!("{name}-{:016x}", key.finish()));
    if executable.is_file() {
        return executable;
    }
    fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let own = directory.join(format!("{name}.{}.{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed)));
    let mut command = Command::new(&compiler);
    command.arg(standard).args(FLAGS).arg("-o").arg(&own).arg(&source).args(flags).args(["-ldl", "-lm"]);
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    fs::rename(&own, &executable).unwrap_or_else(|error| panic!("{}: {error}", executable.display()));
    executable
}
