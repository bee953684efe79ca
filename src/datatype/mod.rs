//! What a datatype describes: where its bytes lie, and how its elements are reduced. Predefined types and contiguous repetitions of them;
//! every other combiner is refused.

#[cfg(transom_ompi)]
mod addresses;
mod kernels;
mod layout;
mod lookup;
mod predefined;

pub use crate::base::element::Element;
pub use crate::base::op::Op;
pub use kernels::{Atomic, Bulk, CompareAndSwap, Exchange, Kernel, atomic, compare_and_swap, kernel};
pub use layout::{Layout, pieces, transfer};
pub use lookup::{elements, layout};
pub use predefined::{contiguous_size, element, op, prepare};
