//! What Transom attaches to the host's objects, until these are freed.

use super::abi::{MPI_Comm, MPI_Datatype, SUCCESS};
use super::table::{CopyAttribute, DeleteAttribute, host};
use crate::base::error::{Class, Error};
use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::panic::catch_unwind;
use std::sync::{Arc, OnceLock};

/// The host's functions for attributes of one kind of object.
pub struct Functions<O> {
    create_keyval:
        unsafe extern "C-unwind" fn(Option<CopyAttribute<O>>, Option<DeleteAttribute<O>>, *mut c_int, *mut c_void) -> c_int,
    get_attr: unsafe extern "C-unwind" fn(O, c_int, *mut c_void, *mut c_int) -> c_int,
    set_attr: unsafe extern "C-unwind" fn(O, c_int, *mut c_void) -> c_int,
}

/// A kind of object that may have attributes.
pub trait Object: Copy + 'static {
    /// How.
    fn functions() -> Functions<Self>;
    /// The error of a handle that the host does not know.
    const UNKNOWN: Error;
    /// An object with an attribute is being freed.
    fn ended() {}
}

impl Object for MPI_Comm {
    fn functions() -> Functions<MPI_Comm> {
        let call = &host().call;
        Functions {
            create_keyval: call.MPI_Comm_create_keyval,
            get_attr: call.MPI_Comm_get_attr,
            set_attr: call.MPI_Comm_set_attr,
        }
    }

    const UNKNOWN: Error = Error::text(Class::Comm, "the host does not know the communicator");
}

static DATATYPES_ENDED: AtomicU64 = AtomicU64::new(0);

/// Goes up whenever a datatype with an attribute is freed, before its handle can be given to another one.
#[inline(always)]
pub fn datatypes_ended() -> u64 {
    // Who uses a handle again has got it from whoever was given it, after this went up: the program itself orders the two.
    DATATYPES_ENDED.load(Relaxed)
}

impl Object for MPI_Datatype {
    fn functions() -> Functions<MPI_Datatype> {
        let call = &host().call;
        Functions {
            create_keyval: call.MPI_Type_create_keyval,
            get_attr: call.MPI_Type_get_attr,
            set_attr: call.MPI_Type_set_attr,
        }
    }

    const UNKNOWN: Error = Error::text(Class::Type, "the host does not know the datatype");

    fn ended() {
        DATATYPES_ENDED.fetch_add(1, Relaxed);
    }
}

/// An attribute of objects. It is not copied with them.
pub struct Attribute<T, O = MPI_Comm> {
    keyval: OnceLock<c_int>,
    values: PhantomData<fn(O) -> Arc<T>>,
}

impl<T: Send + Sync + 'static, O: Object> Default for Attribute<T, O> {
    fn default() -> Attribute<T, O> {
        Attribute::new()
    }
}

impl<T: Send + Sync + 'static, O: Object> Attribute<T, O> {
    /// An attribute of which no object has a value yet.
    pub const fn new() -> Attribute<T, O> {
        Attribute { keyval: OnceLock::new(), values: PhantomData }
    }

    fn keyval(&self) -> Result<c_int, Error> {
        if let Some(keyval) = self.keyval.get() {
            return Ok(*keyval);
        }
        let mut keyval = 0;
        // SAFETY: the callbacks match their types and need no extra state.
        let code = unsafe {
            (O::functions().create_keyval)(Some(copy_nothing::<O>), Some(delete::<T, O>), &mut keyval, ptr::null_mut())
        };
        if code != SUCCESS {
            return Err(Error::text(Class::Other, "the host makes no keyval"));
        }
        // Two threads may come here at once with two objects: the second key is left unused.
        Ok(*self.keyval.get_or_init(|| keyval))
    }

    /// What is attached to the object.
    pub fn get(&self, object: O) -> Result<Option<Arc<T>>, Error> {
        let keyval = self.keyval()?;
        let (mut value, mut found) = (ptr::null_mut::<c_void>(), 0);
        // SAFETY: the host writes the attribute's pointer to `value`.
        let code = unsafe { (O::functions().get_attr)(object, keyval, (&raw mut value).cast(), &mut found) };
        if code != SUCCESS {
            return Err(O::UNKNOWN);
        }
        if found == 0 {
            return Ok(None);
        }
        let attached = value.cast::<T>().cast_const();
        // SAFETY: only `set` gives this key values, and the attribute's own reference is still there; this adds one.
        Ok(Some(unsafe {
            Arc::increment_strong_count(attached);
            Arc::from_raw(attached)
        }))
    }

    /// Attaches a value.
    pub fn set(&self, object: O, value: Arc<T>) -> Result<(), Error> {
        let keyval = self.keyval()?;
        let value = Arc::into_raw(value);
        // SAFETY: the host keeps the pointer and gives it to the delete callback, once.
        let code = unsafe { (O::functions().set_attr)(object, keyval, value.cast_mut().cast::<c_void>()) };
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: the reference of above, which the host has not taken.
        drop(unsafe { Arc::from_raw(value) });
        Err(Error::text(Class::Other, "the host sets no attribute"))
    }
}

unsafe extern "C-unwind" fn copy_nothing<O>(
    _: O,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the host passes a valid place for the answer.
    unsafe { *flag = 0 };
    SUCCESS
}

unsafe extern "C-unwind" fn delete<T, O: Object>(_: O, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    O::ended();
    // The host's frames are above: what a value's end may do by mistake must not unwind into them.
    // SAFETY: the reference that `set` gave away.
    let _ = catch_unwind(|| drop(unsafe { Arc::from_raw(value.cast::<T>().cast_const()) }));
    SUCCESS
}
