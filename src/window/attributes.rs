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
pub(super) struct Cached(Vec<Attribute>);

struct Attribute {
    keyval: c_int,
    value: Value,
    /// Its delete callback is being called.
    going: bool,
}

impl Cached {
    /// The one that is asked for: the last one set, and one that is going only where there is no other.
    fn value(&self, keyval: c_int) -> Option<&Value> {
        let of_key = self.0.iter().rev().filter(|attribute| attribute.keyval == keyval);
        let found = of_key.clone().find(|attribute| !attribute.going).or_else(|| of_key.clone().next());
        found.map(|attribute| &attribute.value)
    }

    fn position(&self, value: &Value) -> Option<usize> {
        self.0.iter().position(|attribute| attribute.value.is(value))
    }

    /// Marks an attribute as going: its value.
    fn begin(&mut self, wanted: impl Fn(&Attribute) -> bool) -> Option<(c_int, Value)> {
        let attribute = self.0.iter_mut().rev().find(|attribute| !attribute.going && wanted(attribute))?;
        attribute.going = true;
        Some((attribute.keyval, attribute.value.clone()))
    }
}

/// An attribute's hold on its keyval. Its end may call the host: to be dropped while nothing is locked.
struct Held(c_int);

impl Drop for Held {
    fn drop(&mut self) {
        keyval::release(self.0);
    }
}

/// An attribute whose delete callback is to be called. The callback may use the window, its attributes too, so nothing is locked meanwhile;
/// the attribute is there until it returns, and stays if it fails or throws, but nobody else deletes it:
///
/// ```text
/// thread 1: delete: finds the attribute, calls back            takes it away
/// thread 2:                     delete: finds it too, calls back: twice for one value
/// ```
#[must_use = "the attribute stays if the callback is not called"]
pub struct Deletion<'a> {
    window: &'a Window,
    keyval: c_int,
    value: Value,
}

impl Deletion<'_> {
    /// Calls the callback, and takes the attribute away if it agrees. Not to be called with frames above that must not be thrown through: a
    /// callback in C++ may throw, as it may under the hosts.
    pub fn run(self, win: MPI_Win) -> Result<(), Error> {
        match keyval::call_delete(win, self.keyval, &self.value) {
            SUCCESS => {
                self.take_away();
                Ok(())
            }
            code => Err(Error { class: Class::Other, what: What::Callback(code) }),
        }
    }

    /// As [`Deletion::run`], for a window that ends: the attribute goes whatever the callback says.
    pub fn run_at_end(self, win: MPI_Win) -> Result<(), Error> {
        let code = keyval::call_delete(win, self.keyval, &self.value);
        self.take_away();
        if code == SUCCESS { Ok(()) } else { Err(Error { class: Class::Other, what: What::Callback(code) }) }
    }

    fn take_away(&self) {
        let mut cached = lock(&self.window.cached);
        let Some(position) = cached.position(&self.value) else { return };
        cached.0.remove(position);
        drop(cached);
        drop(Held(self.keyval));
    }
}

impl Drop for Deletion<'_> {
    fn drop(&mut self) {
        let mut cached = lock(&self.window.cached);
        if let Some(position) = cached.position(&self.value) {
            cached.0[position].going = false;
        }
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

    fn deletion(&self, wanted: impl Fn(&Attribute) -> bool) -> Option<Deletion<'_>> {
        let (keyval, value) = lock(&self.cached).begin(wanted)?;
        Some(Deletion { window: self, keyval, value })
    }

    /// What `MPI_Win_delete_attr` has to run. An attribute that is not set is deleted already; one that another thread deletes is that one's
    /// to delete.
    pub fn delete_attribute(&self, keyval: c_int) -> Result<Option<Deletion<'_>>, Error> {
        self.check_changeable(keyval)?;
        Ok(self.deletion(|attribute| attribute.keyval == keyval))
    }

    /// What the end of the window has to run next: the last attribute set.
    pub fn last_attribute(&self) -> Option<Deletion<'_>> {
        self.deletion(|_| true)
    }

    /// `MPI_Win_set_attr`, in C or Fortran. The delete callback is told of a value that was there before. As for [`Deletion::run`], it may throw.
    pub fn set_attribute(&self, win: MPI_Win, keyval: c_int, value: isize, writer: Language) -> Result<(), Error> {
        self.check_changeable(keyval)?;
        // Held before the old value lets go: a freed keyval would end in between.
        if !keyval::hold(keyval) {
            return Err(keyval::unknown());
        }
        let held = Held(keyval);
        // More than once where a callback, or another thread, sets it again meanwhile: the last one wins.
        while let Some(before) = self.deletion(|attribute| attribute.keyval == keyval) {
            before.run(win)?;
        }
        let value = Value::new(value, writer);
        lock(&self.cached).0.push(Attribute { keyval, value, going: false });
        core::mem::forget(held);
        Ok(())
    }
}
