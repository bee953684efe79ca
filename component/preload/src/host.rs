//! The host MPI: which loaded object it is, and of which family.

use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use std::ffi::CString;

use transom::base::family::Family;
use transom::base::functions::NAMES;

/// The MPI library that the program loaded.
pub(crate) struct Host {
    /// `dlopen` handle, never closed: slots lead into the object.
    pub(crate) handle: *mut c_void,
    /// Path of the object, as the loader knows it.
    pub(crate) path: CString,
    addresses: Range<usize>,
}

impl Host {
    /// The host is the loaded object that defines `PMPI_Init`: a profiling tool defines `MPI_Init` alone.
    pub(crate) fn find() -> Option<Host> {
        let symbol = past_us(PMPI_INIT)?;
        Host::defining(symbol, loaded())
    }

    /// `dlsym` looks into an object's dependencies too, so the object searched need not be the one that defines.
    fn defining(symbol: *mut c_void, objects: Vec<Object>) -> Option<Host> {
        let object = objects.into_iter().find(|object| object.addresses.contains(&(symbol as usize)))?;
        Some(Host { handle: open(&object.path)?, path: object.path, addresses: object.addresses })
    }

    /// The host's own function for a name of the list.
    pub(crate) fn function(&self, index: usize) -> Option<*mut c_void> {
        self.symbol(NAMES[index].1)
    }

    /// What an object between us and the host defines as `MPI_X`: a profiling tool that was linked into the program. Preloaded we stand
    /// before it, and a tool that sees some calls but never `MPI_Init` does worse than one that sees none.
    ///
    /// A host that is split over two objects (`MPI_X` in one, `PMPI_X` in the other) is no tool: only where the object of `PMPI_X` has
    /// its own `MPI_X`, another one before it was put there on purpose.
    pub(crate) fn tool(&self, index: usize) -> Option<*mut c_void> {
        let name = CString::new(NAMES[index].0).ok()?;
        if !self.addresses.contains(&(self.symbol(&name)? as usize)) {
            return None;
        }
        // SAFETY: a C string.
        let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        (!next.is_null() && !self.addresses.contains(&(next as usize))).then_some(next)
    }

    /// The family, or why there is none.
    pub(crate) fn family(&self) -> Result<Family, String> {
        // SAFETY: the host's own symbols.
        unsafe { Family::of(&self.path.to_string_lossy(), |name| self.symbol(name)) }
    }

    fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a live handle and a C string.
        let symbol = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    }
}

const PMPI_INIT: &CStr = c"PMPI_Init";

/// What a symbol would mean without this object.
///
/// Where the program or one of its libraries is linked to the host, that is next in the search order; an interpreter may have loaded it
/// with `RTLD_LOCAL`, as Python does, where no search order leads and only going through the loaded objects finds it.
pub(crate) fn past_us(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    let mut objects = loaded();
    let own = objects.iter().position(|object| object.addresses.contains(&(past_us as *const () as usize)));
    let own = own.map(|own| objects.remove(own).addresses).unwrap_or_default();
    // Only after the loader has been left: `dlopen` inside the callback of `dl_iterate_phdr` takes the loader's two locks in the
    // other order than a `dlopen` of another thread does.
    objects.iter().find_map(|object| {
        let handle = open(&object.path)?;
        // SAFETY: a live handle and a C string.
        let symbol = unsafe { libc::dlsym(handle, name.as_ptr()) };
        // SAFETY: `handle` was opened here.
        unsafe { libc::dlclose(handle) };
        (!symbol.is_null() && !own.contains(&(symbol as usize))).then_some(symbol)
    })
}

/// An object that the loader has mapped.
struct Object {
    path: CString,
    addresses: Range<usize>,
}

/// All objects with a path, the program itself left out: a host that is linked into the program statically is out of our reach.
fn loaded() -> Vec<Object> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, objects: *mut c_void) -> c_int {
        // SAFETY: the loader hands out a valid entry for the time of the call, and `objects` is the vector below.
        let (info, objects) = unsafe { (&*info, &mut *objects.cast::<Vec<Object>>()) };
        if info.dlpi_name.is_null() {
            return 0;
        }
        // SAFETY: the loader's names are C strings, its program headers as many as it says.
        let (path, headers) =
            unsafe { (CStr::from_ptr(info.dlpi_name), core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize)) };
        let segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let begin = segments.clone().map(|segment| segment.p_vaddr).min().unwrap_or(0);
        let end = segments.map(|segment| segment.p_vaddr + segment.p_memsz).max().unwrap_or(0);
        if path.to_bytes().contains(&b'/') {
            let addresses = (info.dlpi_addr + begin) as usize..(info.dlpi_addr + end) as usize;
            objects.push(Object { path: path.to_owned(), addresses });
        }
        0
    }
    let mut objects = Vec::new();
    // SAFETY: `add` fits, and `objects` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast()) };
    objects
}

/// A handle of an object that is loaded already.
fn open(path: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string; NOLOAD runs no code of the object.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
    (!handle.is_null()).then_some(handle)
}

/// The directory that this object was loaded from, absolute even where the loader was given a relative path and the program has
/// changed its directory since.
pub(crate) fn own_directory() -> Option<CString> {
    let own = loaded().into_iter().find(|object| object.addresses.contains(&(own_directory as *const () as usize)))?;
    let handle = open(&own.path)?;
    let mut origin = vec![0_u8; libc::PATH_MAX as usize + 1];
    // SAFETY: `handle` is live; the loader made the origin with getcwd and the path, each bounded by PATH_MAX.
    let code = unsafe { libc::dlinfo(handle, libc::RTLD_DI_ORIGIN, origin.as_mut_ptr().cast()) };
    let origin = CStr::from_bytes_until_nul(&origin).ok()?;
    (code == 0 && !origin.is_empty()).then(|| origin.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_object_is_found_by_its_addresses() {
        let objects = loaded();
        let libc = objects.iter().find(|object| object.addresses.contains(&(libc::getpid as *const () as usize)));
        assert!(libc.expect("libc is loaded").path.to_string_lossy().contains("libc"));
    }
}
