//! `transom info`: what there is to serve on this machine, what the machine offers, and what of it is used.

mod ask;
mod child;
mod find;
mod given;
mod machine;
mod object;
mod probe;
mod report;
mod text;
mod trials;

use core::ffi::{CStr, c_int};

use transom::base::config::{self, Config};
use transom::base::log::line;

use crate::{Arguments, USAGE, objects, print};
use report::{Report, Transom, Variable};

const HELP: &str = "\
Usage: transom info [--json] [PROGRAM|LIBRARY]...

Says which MPI libraries are found, and which object of Transom would serve each; what this machine offers, and what of it is used; and
which TRANSOM_* variables are set. Of each PROGRAM (or library) that is named it says which MPI it would get. All of it is tried out, in
processes of their own that end after 10 s at the latest: libraries are loaded and asked, system calls made. Nothing is changed.

Libraries are looked for in LD_LIBRARY_PATH, in the lib of VIRTUAL_ENV, beside each mpirun* and mpiexec* in PATH, and in the loader's cache.

--json prints one object. Its keys (null where there is nothing to say):
  transom     version, object (what is preloaded), reason (why it is missing)
  arguments   of each: argument, path (the file that is loaded), host (as below), served, reason (why not)
  hosts       of each: path, found (a list: how), name, version, says (its own first line), family (mpich, openmpi), served,
              engine (the object that serves it), reason (why not)
  machine     kernel, cores (online, usable), served (windows of ranks on this machine can be), reason (why not), facilities,
              memlock (soft, hard: bytes, null for no limit; use), huge_pages (of each: size, total, free), dev_shm (size: bytes; use)
  facilities  memfd, proc_fd, futex, pidfd, process_vm, userfaultfd, io_uring, huge_pages; of each: offered, detail (what was seen, or
              the refusal), use, purpose, without (what follows from a refusal)
  use         one of \"used\", \"not used yet\", \"not needed\"
  variables   of each: name, value, means (true or false; null for one that this version does not know)

Exit status: 0, whatever is found; 1 if it cannot be printed; 2 for a wrong command line.
";

/// Prints the report; the exit status.
pub(crate) fn run(arguments: Option<Arguments>) -> c_int {
    let mut json = false;
    let mut options = true;
    let mut named = Vec::new();
    for argument in words(arguments) {
        match argument.to_bytes() {
            b"--" if options => options = false,
            b"--json" if options => json = true,
            b"--help" | b"-h" if options => return print(HELP),
            option if options && option.starts_with(b"-") => {
                line(format_args!("info has no option {} (see transom info --help)", String::from_utf8_lossy(option)));
                return USAGE;
            }
            _ => named.push(argument),
        }
    }
    if !standard_descriptors_are_open() {
        line(format_args!("standard output is closed"));
        return 1;
    }
    let report = examine(&named);
    if json { print(&(serde_json::to_string_pretty(&report).unwrap_or_default() + "\n")) } else { print(&report.to_string()) }
}

fn words(mut arguments: Option<Arguments>) -> impl Iterator<Item = &'static CStr> {
    core::iter::from_fn(move || {
        let first = arguments?.first();
        arguments = arguments?.next();
        first
    })
}

/// Is standard output open? Standard input and error are afterwards in any case: no descriptor that is opened later may take their place,
/// since it would be overwritten in the children.
fn standard_descriptors_are_open() -> bool {
    // SAFETY: plain calls with valid arguments.
    unsafe {
        let open = libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) >= 0;
        loop {
            match libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) {
                descriptor if descriptor > libc::STDERR_FILENO => {
                    libc::close(descriptor);
                    break;
                }
                -1 => break,
                _ => {}
            }
        }
        open
    }
}

fn examine(named: &[&CStr]) -> Report {
    let _strays = child::Strays::adopt();
    let installed = objects::find();
    let object = installed.as_deref().ok();
    // All at once: each may take its time.
    let given: Vec<_> = named.iter().map(|name| given::start(name, object)).collect();
    let asked: Vec<_> = find::libraries().into_iter().map(|library| ask::start(library.path, library.ways, object)).collect();
    Report {
        machine: machine::examine(),
        arguments: given.into_iter().map(given::Given::answer).collect(),
        hosts: asked.into_iter().map(ask::Asked::answer).collect(),
        variables: variables(),
        transom: Transom {
            version: env!("CARGO_PKG_VERSION"),
            object: object.map(|path| path.to_string_lossy().into_owned()),
            reason: installed.err(),
        },
    }
}

/// Those that are set and begin like Transom's: a misspelt one shows as one that is not known.
fn variables() -> Vec<Variable> {
    let Config { require, verbose, disable, stats } = *config::get();
    let known =
        [("TRANSOM_REQUIRE", require), ("TRANSOM_VERBOSE", verbose), ("TRANSOM_DISABLE", disable), ("TRANSOM_STATS", stats)];
    let mut variables: Vec<_> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .filter(|(name, _)| name.starts_with("TRANSOM_"))
        .map(|(name, value)| {
            let means = known.iter().find(|(known, _)| *known == name).map(|(_, means)| *means);
            Variable { name, value, means }
        })
        .collect();
    variables.sort_by(|one, other| one.name.cmp(&other.name));
    variables
}
