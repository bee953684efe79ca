//! What an object file defines, as far as it decides whether it is an MPI.

use std::fs::File;
use std::io;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, ReadCache};

use crate::program::{beginning, is_for_this_machine};

/// An object file, seen by whoever looks for an MPI.
pub(crate) enum Kind {
    /// The library of an MPI.
    Mpi,
    /// It has an MPI inside that nothing can be put before: a program that was linked to it statically.
    Inside,
    /// Any other object for this machine.
    Other,
    /// For another machine: the loader passes over it.
    Foreign,
}

/// The library of an MPI is what defines `PMPI_Init`: language bindings and profiling tools define `MPI_Init` at most.
const MARK: &str = "PMPI_Init";

/// What the file is. Told by its sections, which the loader does without: an error says nothing about whether it can be loaded.
pub(crate) fn look_at(path: &Path) -> io::Result<Kind> {
    let start = beginning(path)?;
    if !start.starts_with(b"\x7fELF") {
        return Err(io::Error::other("not an object file"));
    }
    if !is_for_this_machine(&start) {
        return Ok(Kind::Foreign);
    }
    let data = ReadCache::new(File::open(path)?);
    let file = ElfFile64::<Endianness, _>::parse(&data).map_err(io::Error::other)?;
    let mark =
        |symbol: &object::read::elf::ElfSymbol64<'_, '_, Endianness, _>| symbol.name() == Ok(MARK) && symbol.is_definition();
    if file.dynamic_symbols().any(|symbol| mark(&symbol)) {
        return Ok(Kind::Mpi);
    }
    Ok(if file.symbols().any(|symbol| mark(&symbol)) { Kind::Inside } else { Kind::Other })
}
