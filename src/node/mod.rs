//! What the ranks of one node share.

pub mod memory;
pub mod words;
