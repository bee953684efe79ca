//! What a datatype describes: where its bytes lie. Predefined types and contiguous repetitions of them; every other combiner is refused.

mod layout;
mod lookup;

pub use layout::{Layout, transfer};
pub use lookup::{contiguous_size, layout, prepare};
