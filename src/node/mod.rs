//! What the ranks of one node share: segments of memory, the words by which they agree, and the team that a communicator's ranks form.

pub mod cross;
pub mod memory;
#[cfg(feature = "mpi")]
pub mod processes;
#[cfg(feature = "mpi")]
pub mod team;
pub mod words;
