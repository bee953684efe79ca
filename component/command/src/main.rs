//! The command `transom`.

// Without Rust's own start-up, which ignores SIGPIPE and opens closed standard descriptors: a program that replaces this process must
// get both as they were.
#![cfg_attr(not(test), no_main)]
#![cfg_attr(test, allow(dead_code))]

mod exec;
mod info;
mod objects;
mod preload;
mod program;

use core::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

const HELP: &str = "\
transom: one-sided MPI communication for programs as they are

Usage:
  transom exec [--] PROGRAM [ARGUMENT]...      run a program with Transom in front of its MPI
  transom info [--json] [PROGRAM|LIBRARY]...   what there is to serve on this machine, and what a program would get
  transom exec --help | info --help            more about them
  transom --help | --version

Under a launcher, put it before the program:
  mpirun -n 4 transom exec ./app
";

/// Exit status for a command line that is not understood, as most commands have it.
const USAGE: c_int = 2;

/// The entry of the process.
///
/// # Safety
/// Called by the C library's start-up with the process's arguments.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn main(_count: c_int, arguments: *const *const c_char) -> c_int {
    // SAFETY: C promises an array that a null pointer ends; everything in it lives as long as the process.
    let arguments = unsafe { Arguments::new(arguments) };
    let Some(arguments) = arguments.next() else { return complain(HELP, USAGE) };
    match arguments.first().map_or(&b""[..], CStr::to_bytes) {
        b"exec" => exec::run(arguments.next()),
        b"info" => info::run(arguments.next()),
        b"--help" | b"-h" | b"help" => print(HELP),
        b"--version" | b"-V" => print(concat!("transom ", env!("CARGO_PKG_VERSION"), "\n")),
        b"" => complain(HELP, USAGE),
        other => {
            let other = String::from_utf8_lossy(other);
            complain(&format!("transom: no such command: {other} (see transom --help)\n"), USAGE)
        }
    }
}

/// What is left of the process's arguments, in the form in which a program is started with them.
#[derive(Clone, Copy)]
struct Arguments(*const *const c_char);

impl Arguments {
    /// # Safety
    /// `array` is an array of C strings that a null pointer ends, and lives as long as the process.
    unsafe fn new(array: *const *const c_char) -> Self {
        Self(array)
    }

    fn first(self) -> Option<&'static CStr> {
        // SAFETY: an array as `new` demands, which `next` does not leave.
        unsafe { if (*self.0).is_null() { None } else { Some(CStr::from_ptr(*self.0)) } }
    }

    /// Without the first; none where there is no first.
    fn next(self) -> Option<Self> {
        // SAFETY: not at the end, so there is one more.
        self.first().map(|_| Self(unsafe { self.0.add(1) }))
    }

    fn as_ptr(self) -> *const *const c_char {
        self.0
    }
}

/// For the user who asked; an output that is full or closed is an error.
fn print(text: &str) -> c_int {
    // SAFETY: not closed by this; Rust's own standard output takes a closed one for an output that is not wanted.
    let mut out = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDOUT_FILENO) });
    match out.write_all(text.as_bytes()) {
        Ok(()) => 0,
        Err(error) => complain(&format!("transom: cannot write to standard output: {}\n", reason(&error)), 1),
    }
}

/// For the user who did not ask.
fn complain(text: &str, status: c_int) -> c_int {
    let _ = io::stderr().write_all(text.as_bytes());
    status
}

/// The system's own words, without the number that Rust adds.
fn reason(error: &io::Error) -> String {
    let Some(number) = error.raw_os_error() else { return error.to_string() };
    // SAFETY: the text is valid until the next call, and there is no other thread.
    unsafe { CStr::from_ptr(libc::strerror(number)) }.to_string_lossy().into_owned()
}
