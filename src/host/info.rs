//! Info objects: hints of the application, and what is told back to it.

use super::abi::{MAX_INFO_VALUE, MPI_Info, SUCCESS};
use super::table::host;
use crate::base::error::{Class, Error};
use core::ffi::{CStr, c_int};
use core::mem::MaybeUninit;

/// The value of an info key; `None` where it is not set.
pub fn value(info: MPI_Info, key: &CStr) -> Option<String> {
    if info == host().handles.info_null {
        return None;
    }
    // Room for any value: MPICH calls it an error, not a truncation, where one does not fit.
    let mut value = [0; MAX_INFO_VALUE + 1];
    let mut found = 0;
    // SAFETY: room for the characters and the terminator.
    let code = unsafe { (host().call.MPI_Info_get)(info, key.as_ptr(), MAX_INFO_VALUE as c_int, value.as_mut_ptr(), &mut found) };
    if code != SUCCESS || found == 0 {
        return None;
    }
    // SAFETY: the host has written a C string.
    Some(unsafe { CStr::from_ptr(value.as_ptr()) }.to_string_lossy().into_owned())
}

/// A new info object with these keys and values, for the application to free.
pub fn create<'a>(pairs: impl IntoIterator<Item = (&'a CStr, &'a CStr)>) -> Result<MPI_Info, Error> {
    let call = &host().call;
    let mut info = MaybeUninit::uninit();
    // SAFETY: `info` is a valid place for the result.
    if unsafe { (call.MPI_Info_create)(info.as_mut_ptr()) } != SUCCESS {
        return Err(Error::text(Class::Other, "the host's MPI_Info_create failed"));
    }
    // SAFETY: written by the successful call.
    let mut info = unsafe { info.assume_init() };
    for (key, value) in pairs {
        // SAFETY: a live object and C strings.
        if unsafe { (call.MPI_Info_set)(info, key.as_ptr(), value.as_ptr()) } != SUCCESS {
            // SAFETY: a live object that nobody else knows.
            unsafe { (call.MPI_Info_free)(&mut info) };
            return Err(Error::text(Class::Other, "the host's MPI_Info_set failed"));
        }
    }
    Ok(info)
}
