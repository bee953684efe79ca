//! The operations. On mapped peers they are copies, made by the origin before the call returns.

mod copy;
mod get;
mod put;
mod target;

pub use get::{get, get_at_once};
pub use put::{put, put_at_once};
pub use target::Transfer;
