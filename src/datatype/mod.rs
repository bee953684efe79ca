//! What a datatype describes: where its bytes lie, and how its elements are reduced.

#[cfg(transom_ompi)]
mod addresses;
mod combine;
mod combiner;
mod cursor;
mod kernels;
mod layout;
mod lookup;
mod pairs;
mod predefined;
mod shape;
#[cfg(test)]
mod tests;
mod transfer;

pub use crate::base::element::Element;
pub use crate::base::op::Op;
pub use combine::combine;
pub use cursor::Cursor;
pub use kernels::{Atomic, Bulk, CompareAndSwap, Exchange, Kernel, atomic, compare_and_swap, kernel};
pub use layout::{Held, Items, Layout, NotAlike, parts};
pub use lookup::{items, layout, single};
pub use predefined::{contiguous_size, element, op, prepare};
pub use shape::Block;
pub use transfer::{pieces, transfer};
