//! MPI libraries that a user of this machine may come to load.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::child::Child;
use super::object::{self, Kind};

/// A library that was come by.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    /// How, in users' words.
    pub(crate) ways: Vec<String>,
    /// What the path leads to, links followed.
    file: PathBuf,
}

/// Looks in the places from which the loader or a launcher would take one, the loader's first choice first.
pub(crate) fn libraries() -> Vec<Found> {
    let mut search = Search::default();
    let set = |name| std::env::var_os(name).filter(|value: &std::ffi::OsString| !value.is_empty());
    for directory in set("LD_LIBRARY_PATH").iter().flat_map(|list| list.as_bytes().split(|byte| matches!(byte, b':' | b';'))) {
        let directory = if directory.is_empty() { b"." } else { directory };
        search.directory(Path::new(OsStr::from_bytes(directory)), "LD_LIBRARY_PATH");
    }
    if let Some(environment) = set("VIRTUAL_ENV") {
        search.directory(&Path::new(&environment).join("lib"), "VIRTUAL_ENV");
    }
    let mut prefixes = Vec::new();
    for launcher in launchers(&set("PATH").unwrap_or_default()) {
        // The launcher's own name and what it is a link to may lie in different trees, as Debian's alternatives do.
        let (named, real) = (plain(&launcher), launcher.canonicalize().unwrap_or_default());
        for prefix in [named, real].iter().filter_map(|file| Some(file.parent()?.parent()?.to_path_buf())) {
            if !prefixes.contains(&prefix) {
                let triple = format!("lib/{}-linux-gnu", std::env::consts::ARCH);
                for directory in ["lib", "lib64", &triple] {
                    search.directory(&prefix.join(directory), &format!("beside {}", launcher.display()));
                }
                prefixes.push(prefix);
            }
        }
    }
    for path in loader_cache() {
        search.consider(&path, "loader cache");
    }
    search.found
}

/// `mpirun*` and `mpiexec*` in PATH.
fn launchers(path: &OsStr) -> Vec<PathBuf> {
    let mut launchers = Vec::new();
    for directory in std::env::split_paths(path) {
        launchers.extend(files(&directory, |name| name.starts_with(b"mpirun") || name.starts_with(b"mpiexec")));
    }
    launchers
}

/// Files of a directory in a lasting order.
fn files(directory: &Path, wanted: impl Fn(&[u8]) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.filter(|entry| wanted(entry.file_name().as_bytes())).map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// What the loader finds where no directory is named: `LIBRARY (KIND) => PATH`.
fn loader_cache() -> Vec<PathBuf> {
    // Users' PATH often lacks the directory of the system's own commands.
    for command in [c"/sbin/ldconfig", c"ldconfig"] {
        let Ok(mut child) = Child::start_command(&[command, c"-p"]) else { continue };
        let lines = core::iter::from_fn(|| child.line());
        let paths: Vec<_> = lines.filter_map(|line| line.rsplit_once(" => ").map(|(_, path)| PathBuf::from(path))).collect();
        if !paths.is_empty() {
            return paths;
        }
    }
    Vec::new()
}

#[derive(Default)]
struct Search {
    found: Vec<Found>,
    /// Looked at, and no MPI.
    others: Vec<PathBuf>,
}

impl Search {
    fn directory(&mut self, directory: &Path, way: &str) {
        for path in files(directory, may_be_mpi) {
            self.consider(&path, way);
        }
    }

    fn consider(&mut self, path: &Path, way: &str) {
        // A link that leads nowhere is passed over by the loader too.
        let (Some(name), Ok(file)) = (path.file_name(), path.canonicalize()) else { return };
        if !may_be_mpi(name.as_bytes()) || !file.is_file() || self.others.contains(&file) {
            return;
        }
        if let Some(known) = self.found.iter_mut().find(|known| known.file == file) {
            if !known.ways.iter().any(|known| known == way) {
                known.ways.push(way.into());
            }
            // Of the names of one file the one that programs ask for is the most telling: neither the compiler's nor the full version.
            let path = plain(path);
            if rank(&path) < rank(&known.path) && path.parent() == known.path.parent() {
                known.path = path;
            }
            return;
        }
        match object::look_at(path) {
            Ok(Kind::Inside | Kind::Other | Kind::Foreign) => self.others.push(file),
            // The name without a version is the compiler's, and may be a script for the linker.
            Err(_) if name.as_bytes().ends_with(b".so") => self.others.push(file),
            // What else cannot be read is asked too: the loader, which fails on it, says why.
            Ok(Kind::Mpi) | Err(_) => self.found.push(Found { path: plain(path), ways: vec![way.into()], file }),
        }
    }
}

/// `libmpi.so.40`, `libmpich.so.12`, `libmpi_abi.so`, but nothing that is beside such a file under a longer name.
fn may_be_mpi(name: &[u8]) -> bool {
    let Some(version) = name.strip_prefix(b"libmpi").and_then(|rest| {
        let at = rest.windows(3).position(|text| text == b".so")?;
        Some(&rest[at + 3..])
    }) else {
        return false;
    };
    version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// How far a name is from the one that programs ask for, which has one number behind `.so`.
fn rank(path: &Path) -> usize {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbers = name.split_once(".so").map_or(0, |(_, version)| version.matches('.').count());
    numbers.abs_diff(1)
}

/// The path without links in its directory: on many systems `/lib` is one.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let directory = path
        .parent()
        .and_then(|directory| if directory.as_os_str().is_empty() { Path::new(".") } else { directory }.canonicalize().ok());
    match (directory, path.file_name()) {
        (Some(directory), Some(name)) => directory.join(name),
        _ => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mpi_libraries_are_known() {
        for name in ["libmpi.so", "libmpi.so.40", "libmpich.so.12.2.2", "libmpi_abi.so.0", "libmpi_cray.so.12"] {
            assert!(may_be_mpi(name.as_bytes()), "{name}");
        }
        for name in ["libmpi.a", "libmpi.so.40.debug", "libmp.so", "libmpi.so.conf", "liboshmem.so.40"] {
            assert!(!may_be_mpi(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn the_name_that_programs_ask_for_is_preferred() {
        let rank = |name| rank(Path::new(name));
        assert!(rank("/l/libmpi.so.40") < rank("/l/libmpi.so"));
        assert!(rank("/l/libmpi.so.40") < rank("/l/libmpi.so.40.30.4"));
    }
}
