//! Where the objects are that get preloaded: beside the command, or in `../lib/transom`.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The object that the loader is to put before a program's MPI; it finds the engine objects beside itself.
pub(crate) const NAME: &str = "libtransom.so";

/// Its absolute path, or what to tell the user.
pub(crate) fn find() -> Result<PathBuf, String> {
    let command = std::env::current_exe().map_err(|error| format!("cannot tell where this command is: {error}"))?;
    let directory = command.parent().unwrap_or(Path::new("/"));
    let places = [directory.to_path_buf(), directory.join("../lib/transom")];
    let found = places.iter().find_map(|place| place.join(NAME).canonicalize().ok());
    let object = found.ok_or_else(|| format!("{NAME} is neither in {} nor in {}", places[0].display(), places[1].display()))?;
    // The loader knows no way to quote either in LD_PRELOAD.
    if object.as_os_str().as_bytes().iter().any(|byte| matches!(byte, b' ' | b':')) {
        return Err(format!("{} cannot be preloaded: the path has a space or a colon in it", object.display()));
    }
    Ok(object)
}
