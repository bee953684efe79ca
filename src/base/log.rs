//! Lines for people, on stderr. One `write` a line, so that lines of several ranks do not run into each other.

use core::fmt;
use std::io::Write;

/// Writes `transom: ` and the line.
pub fn line(text: fmt::Arguments<'_>) {
    let whole = format!("transom: {text}\n");
    // A closed stderr is no reason to fail an MPI call.
    let _ = std::io::stderr().write_all(whole.as_bytes());
}

/// As [`line`], under `TRANSOM_VERBOSE=1` only.
pub fn verbose(text: fmt::Arguments<'_>) {
    if super::config::get().verbose {
        line(text);
    }
}
