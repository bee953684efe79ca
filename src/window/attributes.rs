//! The predefined attributes of a window (MPI-4.1, section 12.2.6).

use super::{Flavor, Window};
use crate::host::abi::{self, MPI_Aint};
use core::ffi::{c_int, c_void};

/// Their values. The application gets their addresses, which stay valid as long as the window does.
pub(super) struct Predefined {
    pub(super) base: *mut c_void,
    pub(super) size: MPI_Aint,
    pub(super) unit: c_int,
    pub(super) flavor: c_int,
    pub(super) model: c_int,
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
}

impl Window {
    /// What `MPI_Win_get_attr` gives for a predefined keyval; `None` for any other.
    pub fn predefined_attribute(&self, keyval: c_int) -> Option<*mut c_void> {
        let values = &self.attributes;
        let address = |of: *const c_int| of.cast_mut().cast::<c_void>();
        Some(match keyval {
            abi::window::BASE => values.base,
            abi::window::SIZE => (&raw const values.size).cast_mut().cast(),
            abi::window::DISP_UNIT => address(&values.unit),
            abi::window::CREATE_FLAVOR => address(&values.flavor),
            abi::window::MODEL => address(&values.model),
            _ => return None,
        })
    }
}
