//! Programs and shared objects of `tests/programs`, compiled once per host, language and content.

use super::{Host, root};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a source is written in; a host has a compiler for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    C,
    Cxx,
    Fortran(Interface),
}

/// How a Fortran program comes by MPI. The same source is compiled for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interface {
    /// `include 'mpif.h'`, in fixed form.
    Mpif,
    /// `use mpi`.
    UseMpi,
    /// `use mpi_f08`.
    MpiF08,
}

impl Interface {
    /// In the name of an executable.
    fn suffix(self) -> &'static str {
        match self {
            Interface::Mpif => "mpif",
            Interface::UseMpi => "mpi",
            Interface::MpiF08 => "mpi_f08",
        }
    }
}

impl Language {
    fn wrapper(self) -> &'static str {
        match self {
            Language::C => "mpicc",
            Language::Cxx => "mpicxx",
            Language::Fortran(_) => "mpif90",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Language::C => &["-std=gnu11"],
            Language::Cxx => &["-std=gnu++17"],
            // MPI's procedures, or those with buffers of any type, are not declared there, so each type is warned of that contradicts the
            // call before. What else there is to say of the source is said for `mpi_f08`.
            Language::Fortran(Interface::Mpif) => &[
                "-DMPIF_H",
                "-cpp",
                "-ffixed-form",
                "-ffixed-line-length-none",
                "-fcray-pointer",
                "-fallow-argument-mismatch",
                "-Wno-error",
            ],
            Language::Fortran(Interface::UseMpi) => &[
                "-DUSE_MPI",
                "-cpp",
                "-ffree-form",
                "-ffree-line-length-none",
                "-fcray-pointer",
                "-fallow-argument-mismatch",
                "-Wno-error",
            ],
            // A callback takes what MPI gives it, whether or not it looks at it.
            Language::Fortran(Interface::MpiF08) => {
                &["-DMPI_F08", "-cpp", "-ffree-form", "-ffree-line-length-none", "-Wno-unused-dummy-argument"]
            }
        }
    }

    /// The host's compiler, told what every source is compiled with. It starts at the root, so that messages name sources as seen from
    /// there.
    fn compiler(self, host: Host) -> Command {
        let mut command = Command::new(host.command(self.wrapper()));
        command.current_dir(root()).args(STRICT).args(self.flags());
        command
    }
}

const STRICT: [&str; 6] = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"];
const LIBRARIES: [&str; 2] = ["-ldl", "-lm"];
/// Where the sources are, seen from the root.
const PROGRAMS: &str = "tests/programs";

/// What becomes one file.
struct Product<'a> {
    name: String,
    /// The first gives the linker its language.
    sources: &'a [(Language, PathBuf)],
    compiled_with: &'a [&'a str],
    linked_with: &'a [&'a str],
}

impl Product<'_> {
    /// A hash over everything that is said and read when it is made.
    fn key(&self) -> u64 {
        let mut key = DefaultHasher::new();
        (STRICT, LIBRARIES, self.compiled_with, self.linked_with).hash(&mut key);
        let mut files: Vec<PathBuf> = Vec::new();
        for (language, source) in self.sources {
            language.flags().hash(&mut key);
            files.push(source.clone());
            for directory in source.ancestors().skip(1).take_while(|directory| directory.starts_with(PROGRAMS)) {
                files.extend(headers(directory));
            }
        }
        for file in files {
            fs::read(root().join(&file)).unwrap_or_else(|error| panic!("{}: {error}", file.display())).hash(&mut key);
        }
        key.finish()
    }

    /// Test processes run side by side, so each makes it in a directory of its own and renames: whoever comes second replaces a file by
    /// its equal.
    fn made(&self, host: Host) -> PathBuf {
        let directory = root().join("target/tests").join(host.name());
        let product = directory.join(format!("{}-{:016x}", self.name, self.key()));
        if product.is_file() {
            return product;
        }
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let own = directory.join(format!("{}.{}.{}", self.name, std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(&own).unwrap_or_else(|error| panic!("{}: {error}", own.display()));
        let mut objects = Vec::new();
        for (language, source) in self.sources {
            let object = own.join(source.file_name().expect("a source is a file")).with_extension("o");
            let mut command = language.compiler(host);
            if matches!(language, Language::Fortran(_)) {
                // Fortran's modules are files.
                command.arg("-J").arg(&own);
            }
            run(command.args(self.compiled_with).arg("-c").arg("-o").arg(&object).arg(source));
            objects.push(object);
        }
        let unnamed = own.join("product");
        let mut command = self.sources[0].0.compiler(host);
        run(command.arg("-o").arg(&unnamed).args(&objects).args(self.linked_with).args(LIBRARIES));
        fs::rename(&unnamed, &product).unwrap_or_else(|error| panic!("{}: {error}", product.display()));
        // What is left there disturbs nobody.
        let _ = fs::remove_dir_all(&own);
        product
    }
}

fn headers(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(directory)).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut headers: Vec<_> = entries
        .map(|entry| directory.join(entry.expect("an entry of that directory").file_name()))
        .filter(|name| name.extension().is_some_and(|extension| extension == "h" || extension == "inc"))
        .collect();
    headers.sort();
    headers
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// From `NAME.c`, or `NAME.cc`.
fn from_one_source(host: Host, name: &str, compiled_with: &[&str], linked_with: &[&str]) -> PathBuf {
    let with_extension = |extension: &str| Path::new(PROGRAMS).join(name).with_extension(extension);
    let (in_c, in_cxx) = (with_extension("c"), with_extension("cc"));
    let source = if root().join(&in_cxx).is_file() { (Language::Cxx, in_cxx) } else { (Language::C, in_c) };
    Product { name: name.into(), sources: &[source], compiled_with, linked_with }.made(host)
}

/// The executable of `tests/programs/NAME.c`, or `NAME.cc`, for a host.
pub(super) fn program(host: Host, name: &str) -> PathBuf {
    from_one_source(host, name, &[], &[])
}

/// A shared object of `tests/programs/NAME.c`, with further flags.
pub(super) fn object(host: Host, name: &str, flags: &[&str]) -> PathBuf {
    from_one_source(host, name, &[&["-fPIC"], flags].concat(), &["-shared"])
}

/// The executable of `tests/programs/NAME.c`, linked to a shared object that stands before the host in it.
pub(super) fn program_linked_to(host: Host, name: &str, object: &Path) -> PathBuf {
    // Debian's linker drops objects of which nothing is used by name.
    from_one_source(host, name, &[], &["-Wl,--no-as-needed", object.to_str().expect("a path in UTF-8")])
}

/// The executable of `tests/programs/fortran/NAME.F90` for a host and an interface, with the part in C that all of them share.
pub(super) fn fortran(host: Host, interface: Interface, name: &str) -> PathBuf {
    let directory = Path::new(PROGRAMS).join("fortran");
    let sources =
        [(Language::Fortran(interface), directory.join(name).with_extension("F90")), (Language::C, directory.join("c_part.c"))];
    Product { name: format!("{name}.{}", interface.suffix()), sources: &sources, compiled_with: &[], linked_with: &[] }.made(host)
}
