//! What the program to be run is, as far as it decides whether the loader will preload anything into it.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};

use crate::preload;

/// A program, scripts followed to their interpreter.
#[derive(Debug)]
pub(crate) struct Program {
    /// The file that the kernel loads.
    pub(crate) path: PathBuf,
    /// Why it cannot be served.
    pub(crate) obstacle: Option<Obstacle>,
    /// Name of the AddressSanitizer runtime that it needs.
    pub(crate) sanitizer: Option<Vec<u8>>,
    /// The loader that it asks for.
    pub(crate) loader: Option<PathBuf>,
    /// It is no program: others load it.
    pub(crate) library: bool,
}

/// Why a program cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// No loader takes part in its start.
    Static,
    /// It is code for another kind of machine, or for 32 bits.
    Machine,
    /// Its loader is that of another C library, which fails on objects made for this one.
    Library,
    /// It gets other rights than its caller's, so that the loader trusts no variable.
    Rights,
}

impl Obstacle {
    /// Ends a sentence that begins with the program's name.
    pub(crate) fn because(self) -> &'static str {
        match self {
            Obstacle::Static => "is statically linked",
            Obstacle::Machine => "is for another kind of machine",
            Obstacle::Library => "is built on another C library",
            Obstacle::Rights => "runs with the rights of another user or group",
        }
    }

    /// Whether programs that it starts inherit `LD_PRELOAD` and can be served.
    pub(crate) fn passes_on(self) -> bool {
        matches!(self, Obstacle::Static | Obstacle::Machine)
    }
}

/// The kernel follows this many scripts whose interpreters are scripts.
const SCRIPTS: usize = 5;

/// Looks at a program. An error means that it cannot be looked at, which says nothing about whether it can run.
pub(crate) fn examine(path: &Path) -> io::Result<Program> {
    let mut path = path.to_path_buf();
    let mut start = beginning(&path)?;
    for _ in 0..SCRIPTS {
        match interpreter(&start) {
            Some(interpreter) => path = interpreter,
            None if start.starts_with(&elf::ELFMAG) => break,
            // No magic number: the C library hands the file to the shell.
            None => path = PathBuf::from("/bin/sh"),
        }
        start = beginning(&path)?;
    }
    let file = ReadCache::new(File::open(&path)?);
    let link = if is_for_this_machine(&start) { Some(Link::read(&file).map_err(io::Error::other)?) } else { None };
    let obstacle = if gets_other_rights(&path)? {
        Some(Obstacle::Rights)
    } else {
        link.as_ref().map_or(Some(Obstacle::Machine), Link::obstacle)
    };
    let link = link.unwrap_or_default();
    let sanitizer = link.needed.into_iter().find(|name| preload::is_sanitizer(name));
    Ok(Program { path, obstacle, sanitizer, library: link.library && link.loader.is_none(), loader: link.loader })
}

/// As much of a file as the kernel looks at to tell what it is.
pub(crate) fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(256).read_to_end(&mut start)?;
    Ok(start)
}

/// The interpreter that a script's first line names.
fn interpreter(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | 0)).filter(|word| !word.is_empty());
    words.next().map(|word| PathBuf::from(OsStr::from_bytes(word)))
}

#[cfg(target_arch = "x86_64")]
const MACHINE: elf::Machine = elf::EM_X86_64;
#[cfg(target_arch = "aarch64")]
const MACHINE: elf::Machine = elf::EM_AARCH64;

/// 64 bits, little-endian and this machine's: class, byte order and machine stand at the same place in every ELF header.
pub(crate) fn is_for_this_machine(start: &[u8]) -> bool {
    let machine = start.get(18..20).map(|machine| u16::from_le_bytes([machine[0], machine[1]]));
    start.get(4..6) == Some(&[elf::ELFCLASS64.0, elf::ELFDATA2LSB.0]) && machine == Some(MACHINE.0)
}

/// How a program is linked. Read through the program headers, as the kernel and the loader do: the sections may have been stripped.
#[derive(Default)]
struct Link {
    /// The loader that it asks for.
    loader: Option<PathBuf>,
    /// Whether it is an object with a name.
    named: bool,
    /// Whether it has no address of its own without being a program that has none either.
    library: bool,
    needed: Vec<Vec<u8>>,
}

impl Link {
    fn read<'data>(data: impl ReadRef<'data>) -> object::read::Result<Link> {
        let header = elf::FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let segments = header.program_headers(endian, data)?;
        let mut link = Link { library: header.e_type(endian) == elf::ET_DYN, ..Link::default() };
        for segment in segments {
            if let Some(path) = segment.interpreter(endian, data)? {
                link.loader = Some(OsStr::from_bytes(path).into());
            }
            let Some(entries) = segment.dynamic(endian, data)? else { continue };
            let value = |tag| entries.iter().find(|entry| entry.tag(endian) == tag).map_or(0, |entry| entry.val(endian));
            // The table gives the address that the strings will have in memory.
            let address = value(elf::DT_STRTAB);
            let holder = segments.iter().find(|segment| {
                let begin = segment.p_vaddr(endian);
                segment.p_type(endian) == elf::PT_LOAD && (begin..begin + segment.p_filesz(endian)).contains(&address)
            });
            let begin = holder.map_or(0, |holder| holder.p_offset(endian) + address - holder.p_vaddr(endian));
            let strings = StringTable::new(data, begin, begin + value(elf::DT_STRSZ));
            for entry in entries.iter().take_while(|entry| entry.tag(endian) != elf::DT_NULL) {
                match entry.tag(endian) {
                    elf::DT_SONAME => link.named = true,
                    elf::DT_FLAGS_1 => link.library &= entry.val(endian) & elf::DF_1_PIE.0 == 0,
                    elf::DT_NEEDED => link.needed.push(entry.string(endian, strings)?.to_vec()),
                    _ => {}
                }
            }
        }
        Ok(link)
    }

    fn obstacle(&self) -> Option<Obstacle> {
        match self.loader.as_deref().map(|loader| loader.file_name().unwrap_or_default().as_bytes()) {
            Some(loader) if loader.starts_with(b"ld-musl") => Some(Obstacle::Library),
            Some(_) => None,
            // An object with a name that can be run is the loader itself, called by hand with a program as its argument.
            None if self.named => None,
            None => Some(Obstacle::Static),
        }
    }
}

/// Whether the kernel will tell the loader that the program gets rights which its caller does not have (`AT_SECURE`).
fn gets_other_rights(path: &Path) -> io::Result<bool> {
    let metadata = std::fs::metadata(path)?;
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: these calls have no way to go wrong that matters here.
    let (user, group, mut new_user, mut new_group) =
        unsafe { (libc::getuid(), libc::getgid(), libc::geteuid(), libc::getegid()) };
    // SAFETY: all zero is a value of this type of integers.
    let mut system: libc::statvfs = unsafe { core::mem::zeroed() };
    // SAFETY: a C string, and a place for the answer.
    let ignored = unsafe { libc::statvfs(name.as_ptr(), &mut system) } == 0 && system.f_flag & libc::ST_NOSUID != 0;
    // SAFETY: only asks.
    let may_change = unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } != 1;
    if !ignored && may_change {
        if metadata.mode() & libc::S_ISUID != 0 {
            new_user = metadata.uid();
        }
        // The bit alone, where the group may not run the file, once meant something else.
        if metadata.mode() & (libc::S_ISGID | libc::S_IXGRP) == libc::S_ISGID | libc::S_IXGRP {
            new_group = metadata.gid();
        }
    }
    // SAFETY: two C strings; a null buffer of no length only asks whether there is a value.
    let capabilities = unsafe { libc::getxattr(name.as_ptr(), c"security.capability".as_ptr(), core::ptr::null_mut(), 0) } > 0;
    // The file's capabilities add nothing to what root has. Anyone else is not trusted with them even where he cannot gain them.
    Ok(new_user != user || new_group != group || (capabilities && !ignored && user != 0))
}
