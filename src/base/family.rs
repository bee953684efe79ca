//! Which family a host MPI is of, and which engine object serves that family. Told without starting the host: by a symbol, and by what it
//! calls itself, which MPI lets anybody ask before `MPI_Init`.

use core::ffi::{CStr, c_char, c_int, c_void};

/// Hosts with one binary interface, served by one engine object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// MPICH and what descends from it: handles are ints.
    Mpich,
    /// Open MPI: handles are pointers.
    OpenMpi,
}

impl Family {
    /// The family of the host at `path`, or why there is none.
    ///
    /// # Safety
    /// `symbol` gives what the host defines under a name.
    pub unsafe fn of(path: &str, symbol: impl Fn(&CStr) -> Option<*mut c_void>) -> Result<Family, String> {
        if symbol(c"ompi_mpi_comm_world").is_some() {
            return Ok(Family::OpenMpi);
        }
        let file = path.rsplit('/').next().unwrap_or(path);
        // MPICH built for the standard's own binary interface says that it is MPICH, but its handles are pointers.
        if file.contains("mpi_abi") {
            return Err(format!("{path} has the binary interface of MPI 5, which is not served yet"));
        }
        // SAFETY: promised by the caller.
        let version = unsafe { version(symbol) }.unwrap_or_default();
        named(&version).ok_or_else(|| {
            let first = version.lines().next().unwrap_or_default();
            format!(
                "the MPI at {path} ({}) is of no family that is served",
                if first.is_empty() { "version unknown" } else { first }
            )
        })
    }

    /// As users read it.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Mpich => "mpich",
            Family::OpenMpi => "openmpi",
        }
    }

    /// File name of the engine object, which lies beside `libtransom.so`.
    pub const fn engine(self) -> &'static str {
        match self {
            Family::Mpich => "libtransom_mpich.so",
            Family::OpenMpi => "libtransom_ompi.so",
        }
    }
}

/// What a host says of itself.
///
/// # Safety
/// `symbol` gives what the host defines under a name.
pub unsafe fn version(symbol: impl Fn(&CStr) -> Option<*mut c_void>) -> Option<String> {
    let function = symbol(c"PMPI_Get_library_version")?;
    // SAFETY: MPI's prototype of the function.
    let function =
        unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int>(function) };
    // Twice the longest MPI_MAX_LIBRARY_VERSION_STRING that is known (MPICH), and zero at its end.
    let mut text = vec![0_u8; 16_384];
    let mut length: c_int = 0;
    // SAFETY: the buffer is longer than any host's text.
    let code = unsafe { function(text.as_mut_ptr().cast(), &mut length) };
    let text = CStr::from_bytes_until_nul(&text).ok()?;
    (code == 0).then(|| text.to_string_lossy().into_owned())
}

/// The family of those hosts that can only be told by what they call themselves.
fn named(version: &str) -> Option<Family> {
    ["MPICH", "Intel(R) MPI", "MVAPICH"].iter().any(|name| version.contains(name)).then_some(Family::Mpich)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_is_told_by_what_a_host_calls_itself() {
        let mpich =
            ["MPICH Version:\t4.0.2\n", "Intel(R) MPI Library 2021.11 for Linux* OS\n", "MVAPICH2 Version      :\t2.3.7\n"];
        for version in mpich.into_iter().chain(["MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)\n"]) {
            assert_eq!(named(version), Some(Family::Mpich), "{version}");
        }
        assert_eq!(named("Toy MPI 1.0"), None);
        assert_eq!(named(""), None);
    }

    unsafe extern "C" fn mpich(text: *mut c_char, _: *mut c_int) -> c_int {
        // SAFETY: the caller's buffer is long enough.
        unsafe { c"MPICH Version:\t5.0.0\n".as_ptr().copy_to(text, 22) };
        0
    }

    #[test]
    fn handles_decide_and_not_the_name() {
        let says_mpich = |name: &CStr| (name == c"PMPI_Get_library_version").then_some(mpich as *mut c_void);
        let has_both = |name: &CStr| match name.to_bytes() {
            b"ompi_mpi_comm_world" => Some(core::ptr::dangling_mut()),
            _ => says_mpich(name),
        };
        // SAFETY: the only function that is called has its prototype.
        unsafe {
            assert_eq!(Family::of("/lib/libmpi.so.12", says_mpich), Ok(Family::Mpich));
            assert_eq!(Family::of("/lib/libmpi.so.40", has_both), Ok(Family::OpenMpi));
            let refusal = Family::of("/lib/libmpi_abi.so.0", says_mpich).unwrap_err();
            assert!(refusal.contains("/lib/libmpi_abi.so.0") && refusal.contains("not served yet"), "{refusal}");
            let refusal = Family::of("/lib/libmpi.so", |_| None).unwrap_err();
            assert!(refusal.contains("version unknown"), "{refusal}");
        }
    }
}
