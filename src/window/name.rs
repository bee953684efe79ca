//! A window's name (MPI-4.1, section 7.8).

use super::Window;
use crate::base::threads::lock;
use crate::host::abi::MAX_OBJECT_NAME;

/// Bytes of a name, without the terminator. No name is an empty one.
pub(super) type Name = Vec<u8>;

impl Window {
    /// The name, shorter than `MPI_MAX_OBJECT_NAME`.
    pub fn name(&self) -> Vec<u8> {
        lock(&self.name).clone()
    }

    /// Gives the window a name; what is too long is cut off at the end of a character.
    pub fn set_name(&self, name: &[u8]) {
        let mut length = name.len().min(MAX_OBJECT_NAME - 1);
        // A byte of 10xxxxxx goes on with a character of UTF-8.
        while length < name.len() && length > 0 && name[length] & 0xc0 == 0x80 {
            length -= 1;
        }
        *lock(&self.name) = name[..length].to_vec();
    }
}
