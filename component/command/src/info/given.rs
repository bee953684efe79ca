//! What a program that the user names would get: which MPI the loader would give it, and whether Transom can be put before that.

use core::ffi::CStr;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::ask::{self, Asked};
use super::child::{Child, End, c_string};
use super::find::plain;
use super::object::{self, Kind};
use super::report::Argument;
use crate::program::{self, Program};
use crate::{exec, objects, reason};

/// A program or library that is being looked at.
pub(crate) struct Given {
    argument: String,
    path: Option<PathBuf>,
    /// Its MPI, or why it has none that can be served.
    host: Result<Asked, String>,
}

/// Begins to look; `object` is what would be preloaded.
pub(crate) fn start(argument: &CStr, object: Option<&Path>) -> Given {
    let name = Path::new(OsStr::from_bytes(argument.to_bytes()));
    // As the shell takes it, else as a file's name.
    let path = exec::look_up(argument).unwrap_or_else(|| name.to_path_buf());
    let (path, host) = match program::examine(&path) {
        // The C library's rule: what is neither an object nor a script is the shell's, if it may be run.
        Ok(program) if !program.library && !exec::may_run(&path) => {
            (Some(path), Err("is neither a program nor a library".into()))
        }
        Ok(program) => (
            Some(program.path.clone()),
            host_of(&program).map(|host| ask::start(host, vec![format!("of {}", name.display())], object)),
        ),
        Err(error) => (None, Err(format!("cannot be looked at: {}", reason(&error)))),
    };
    Given { argument: argument.to_string_lossy().into_owned(), path, host }
}

impl Given {
    /// Waits for the answer.
    pub(crate) fn answer(self) -> Argument {
        let (host, reason) = match self.host {
            Ok(asked) => (Some(asked.answer()), None),
            Err(reason) => (None, Some(reason)),
        };
        Argument {
            argument: self.argument,
            path: self.path.map(|path| path.to_string_lossy().into_owned()),
            served: host.as_ref().is_some_and(|host| host.served),
            reason: reason.or_else(|| host.as_ref()?.reason.clone()),
            host,
        }
    }
}

fn host_of(program: &Program) -> Result<PathBuf, String> {
    if let (Some(obstacle), false) = (program.obstacle, program.library) {
        return Err(format!("cannot be served: it {}", obstacle.because()));
    }
    match object::look_at(&program.path) {
        Ok(Kind::Mpi) if program.library => return Ok(plain(&program.path)),
        Ok(Kind::Mpi | Kind::Inside) => return Err("cannot be served: an MPI is linked into it statically".into()),
        Ok(Kind::Foreign) => return Err("is for another kind of machine".into()),
        Ok(Kind::Other) => {}
        Err(error) => return Err(format!("cannot be looked at: {}", reason(&error))),
    }
    let ours = |path: &PathBuf| path.file_name() == Some(OsStr::new(objects::NAME));
    let host = loaded_with(program)?.into_iter().find(|path| !ours(path) && matches!(object::look_at(path), Ok(Kind::Mpi)));
    host.map(|host| plain(&host)).ok_or_else(|| "is linked to no MPI; one that is loaded later is served as listed below".into())
}

/// What the loader would load, in its order. The loader itself is asked; it runs nothing of the program.
fn loaded_with(program: &Program) -> Result<Vec<PathBuf>, String> {
    let own = own_loader().map_err(|error| format!("the loader cannot be told: {}", reason(&error)))?;
    // Running what a file names as its loader would be running the file.
    if let Some(loader) = &program.loader
        && loader.canonicalize().ok() != own.canonicalize().ok()
    {
        return Err(format!("is started by a loader of its own, {}, which is not asked", loader.display()));
    }
    let path = c_string(program.path.as_os_str().as_bytes());
    let mut child = Child::start_command(&[&c_string(own.as_os_str().as_bytes()), c"--list", &path])?;
    let (mut objects, mut complaint) = (Vec::new(), None);
    while let Some(line) = child.line() {
        // PROGRAM: error while loading shared libraries: NAME: REASON
        // or NAME => PATH (ADDRESS), or PATH (ADDRESS)
        if let Some((_, text)) = line.split_once("error while loading shared libraries: ") {
            complaint = Some(text.to_owned());
        }
        objects.push(without_address(line.split_once(" => ").map_or(line.trim(), |(_, path)| path)));
    }
    match (child.end(), complaint) {
        (End::Exited(0), _) => Ok(objects),
        (_, Some(complaint)) => Err(format!("cannot be loaded: {complaint}")),
        (end, None) => Err(format!("cannot be loaded: the loader {end}")),
    }
}

fn without_address(path: &str) -> PathBuf {
    path.rsplit_once(" (0x").map_or(path, |(path, _)| path).into()
}

fn own_loader() -> io::Result<PathBuf> {
    program::examine(Path::new("/proc/self/exe"))?.loader.ok_or_else(|| io::Error::other("this command has none"))
}
