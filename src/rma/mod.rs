//! The operations. On mapped peers they are copies and atomic instructions, made by the origin before the call returns.

mod accumulate;
mod compare;
mod copy;
mod get;
mod put;
mod reduce;
mod target;

pub use accumulate::{Fetch, accumulate, fetch_and_op, fetch_and_op_at_once, get_accumulate};
pub use compare::{Compare, compare_and_swap, compare_and_swap_at_once};
pub use get::{get, get_at_once};
pub use put::{put, put_at_once};
pub use reduce::{Buffer, Destination};
pub use target::Transfer;
