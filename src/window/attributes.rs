//! Attributes of a window: the predefined ones (MPI-4.1, section 12.2.6) and those that the program caches (section 7.7).

use super::keyval::{self, Language, Value};
use super::{Flavor, Window};
use crate::base::error::{Class, Error, What};
use crate::base::threads::lock;
use crate::host::abi::{self, MPI_Aint, MPI_Win, SUCCESS};
use core::ffi::{c_int, c_void};

/// Values of the predefined attributes. The application gets their addresses, which stay valid as long as the window does.
pub(super) struct Predefined {
    base: *mut c_void,
    size: MPI_Aint,
    unit: c_int,
    flavor: c_int,
    model: c_int,
}

impl Predefined {
    pub(super) fn new(base: *mut c_void, size: MPI_Aint, unit: u64, flavor: Flavor) -> Predefined {
        Predefined {
            base,
            size,
            // The attribute is an `int` even where `MPI_Win_create_c` took an `MPI_Aint`.
            unit: c_int::try_from(unit).unwrap_or(c_int::MAX),
            flavor: match flavor {
                Flavor::Create => abi::window::FLAVOR_CREATE,
                Flavor::Allocate => abi::window::FLAVOR_ALLOCATE,
                Flavor::Shared => abi::window::FLAVOR_SHARED,
            },
            // Loads, stores and copies act on one memory: there is no private copy.
            model: abi::window::UNIFIED,
        }
    }

    /// C gets the address of a value (the base is one itself), Fortran the value.
    fn read(&self, keyval: c_int, reader: Language) -> Option<isize> {
        let number = |of: &c_int| match reader {
            Language::C => &raw const *of as isize,
            Language::Fortran => *of as isize,
        };
        Some(match keyval {
            abi::window::BASE => self.base as isize,
            abi::window::SIZE if reader == Language::C => &raw const self.size as isize,
            #[allow(clippy::unnecessary_cast)] // MPI_Aint is i64 in one family and isize in the other.
            abi::window::SIZE => self.size as isize,
            abi::window::DISP_UNIT => number(&self.unit),
            abi::window::CREATE_FLAVOR => number(&self.flavor),
            abi::window::MODEL => number(&self.model),
            _ => return None,
        })
    }
}

/// What the program has cached, in the order of setting.
#[derive(Default)]
pub(super) struct Cached(Vec<(c_int, Value)>);

impl Cached {
    fn value(&self, keyval: c_int) -> Option<&Value> {
        self.0.iter().find_map(|(known, value)| (*known == keyval).then_some(value))
    }

    /// Takes an attribute away, and its keyval's hold with it.
    fn remove(&mut self, keyval: c_int) -> Option<Held> {
        let position = self.0.iter().position(|(known, _)| *known == keyval)?;
        self.0.remove(position);
        Some(Held(keyval))
    }
}

/// An attribute's hold on its keyval. Its end may call the host: to be dropped while nothing is locked.
struct Held(c_int);

impl Drop for Held {
    fn drop(&mut self) {
        keyval::release(self.0);
    }
}

impl Window {
    /// `MPI_Win_get_attr`, in C or Fortran; `None` where the attribute is not set.
    pub fn attribute(&self, keyval: c_int, reader: Language) -> Result<Option<isize>, Error> {
        if let Some(value) = self.predefined.read(keyval, reader) {
            return Ok(Some(value));
        }
        if let Some(value) = lock(&self.cached).value(keyval) {
            return Ok(Some(value.read(reader)));
        }
        if keyval::is_known(keyval) { Ok(None) } else { Err(keyval::unknown()) }
    }

    fn check_changeable(&self, keyval: c_int) -> Result<(), Error> {
        match self.predefined.read(keyval, Language::C) {
            Some(_) => Err(Error::text(Class::Keyval, "a predefined attribute of a window cannot be changed")),
            None if keyval::is_known(keyval) => Ok(()),
            None => Err(keyval::unknown()),
        }
    }

    /// Calls the delete callback of an attribute, if it is set, and takes it away if the callback agrees. The callback may use the window, its
    /// attributes too, so nothing is locked meanwhile; the attribute is there until it returns.
    fn drop_attribute(&self, win: MPI_Win, keyval: c_int) -> Result<(), Error> {
        let Some(value) = lock(&self.cached).value(keyval).cloned() else { return Ok(()) };
        match keyval::call_delete(win, keyval, &value) {
            SUCCESS => {
                let _held = lock(&self.cached).remove(keyval);
                Ok(())
            }
            code => Err(Error { class: Class::Other, what: What::Callback(code) }),
        }
    }

    /// `MPI_Win_set_attr`, in C or Fortran. The delete callback is told of a value that was there before.
    pub fn set_attribute(&self, win: MPI_Win, keyval: c_int, value: isize, writer: Language) -> Result<(), Error> {
        self.check_changeable(keyval)?;
        // Held before the old value lets go: a freed keyval would end in between.
        if !keyval::hold(keyval) {
            return Err(keyval::unknown());
        }
        let held = Held(keyval);
        self.drop_attribute(win, keyval)?;
        let mut cached = lock(&self.cached);
        // Another thread, or the callback, may have set it meanwhile: the last one wins.
        let _before = cached.remove(keyval);
        cached.0.push((keyval, Value::new(value, writer)));
        core::mem::forget(held);
        drop(cached);
        Ok(())
    }

    /// `MPI_Win_delete_attr`. An attribute that is not set is deleted already.
    pub fn delete_attribute(&self, win: MPI_Win, keyval: c_int) -> Result<(), Error> {
        self.check_changeable(keyval)?;
        self.drop_attribute(win, keyval)
    }

    /// Deletes all attributes, the last one set first. Where callbacks fail the others are called all the same; the first failure is told.
    pub(super) fn delete_attributes(&self, win: MPI_Win) -> Result<(), Error> {
        let mut result = Ok(());
        loop {
            let Some(keyval) = lock(&self.cached).0.last().map(|(keyval, _)| *keyval) else { return result };
            if let Err(error) = self.drop_attribute(win, keyval) {
                let _held = lock(&self.cached).remove(keyval);
                result = result.and(Err(error));
            }
        }
    }
}
