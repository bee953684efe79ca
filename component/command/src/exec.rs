//! `transom exec`: puts `libtransom.so` before the program's MPI, and becomes the program.

use core::ffi::{CStr, c_int};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use transom::base::config;
use transom::base::log::line;

use crate::program::{self, Program};
use crate::{Arguments, complain, objects, preload, print, reason};

const HELP: &str = "\
Usage: transom exec [--] PROGRAM [ARGUMENT]...

Runs PROGRAM so that its one-sided MPI calls are answered by Transom. PROGRAM may be a script or an interpreter: what counts is the MPI
that is loaded in the end. A program without MPI runs as it always does.

  TRANSOM_DISABLE=1   leave everything to the host MPI
  TRANSOM_REQUIRE=1   end with an error where the host MPI would have to answer
  TRANSOM_VERBOSE=1   say what is decided, and why
  TRANSOM_STATS=1     a summary at MPI_Finalize

Not served: statically linked programs, and programs that run with the rights of another user. A program built with AddressSanitizer is
served if it is PROGRAM itself; if a script starts it, set ASAN_OPTIONS=verify_asan_link_order=0.

Exit status: 125 if transom fails, 126 if PROGRAM cannot be run, 127 if it is not found; else that of PROGRAM.
";

/// Exit statuses of commands that run another, as `env`, `nice` and the shells have them.
const FAILED: c_int = 125;
const CANNOT_RUN: c_int = 126;
const NOT_FOUND: c_int = 127;

/// Returns only if the program could not be started, with the exit status.
pub(crate) fn run(arguments: Option<Arguments>) -> c_int {
    let Some(arguments) = arguments else { return complain(HELP, FAILED) };
    let arguments = match arguments.first().map_or(&b""[..], CStr::to_bytes) {
        b"--help" | b"-h" => return print(HELP),
        b"--" => arguments.next().unwrap_or(arguments),
        option if option.starts_with(b"-") => {
            line(format_args!("exec has no option {} (see transom exec --help)", String::from_utf8_lossy(option)));
            return FAILED;
        }
        _ => arguments,
    };
    let Some(name) = arguments.first() else { return complain(HELP, FAILED) };
    if let Err((reason, status)) = prepare(name) {
        line(format_args!("{reason}"));
        return status;
    }
    // The C library looks the name up again, by its own rules, and runs a script without `#!` as the shell would.
    // SAFETY: a C string and an array that a null pointer ends.
    unsafe { libc::execvp(name.as_ptr(), arguments.as_ptr()) };
    let error = std::io::Error::last_os_error();
    let found = !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR));
    line(format_args!("cannot run {}: {}", name.to_string_lossy(), reason(&error)));
    if found { CANNOT_RUN } else { NOT_FOUND }
}

/// Sets `LD_PRELOAD`; or says why the program is not to be run, and the exit status.
fn prepare(name: &CStr) -> Result<(), (String, c_int)> {
    let object = objects::find().map_err(|reason| (reason, FAILED))?;
    // What cannot be looked at may still run, and will say so if it does not.
    let program = look_up(name).and_then(|path| program::examine(&path).ok());
    if let Some(Program { path, obstacle: Some(obstacle), .. }) = &program {
        let what = format!("{} {}: it cannot be served", path.display(), obstacle.because());
        if config::get().require {
            return Err((format!("{what}, and TRANSOM_REQUIRE is set"), CANNOT_RUN));
        }
        line(format_args!("{what}{}", if obstacle.passes_on() { " (programs that it starts will be)" } else { "" }));
        if !obstacle.passes_on() {
            return Ok(());
        }
    }
    let existing = std::env::var_os("LD_PRELOAD").unwrap_or_default().into_vec();
    let sanitizer = program.and_then(|program| program.sanitizer);
    let value = preload::value(&existing, object.as_os_str().as_bytes(), sanitizer.as_deref());
    // SAFETY: no other thread reads the environment of this process.
    unsafe { std::env::set_var("LD_PRELOAD", OsStr::from_bytes(&value)) };
    Ok(())
}

/// The file that `execvp` will take.
pub(crate) fn look_up(name: &CStr) -> Option<PathBuf> {
    let name = Path::new(OsStr::from_bytes(name.to_bytes()));
    if name.as_os_str().as_bytes().contains(&b'/') {
        return Some(name.to_path_buf());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| may_run(file))
}

/// Whether it is a file that this user may run.
pub(crate) fn may_run(file: &Path) -> bool {
    let Ok(name) = CString::new(file.as_os_str().as_bytes()) else { return false };
    // SAFETY: a C string.
    file.is_file() && unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0
}
