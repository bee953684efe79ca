//! The operations. On mapped peers they are copies, made by the origin before the call returns.

mod copy;
mod get;
mod put;
mod target;

pub use get::get;
pub use put::put;
pub use target::Transfer;
