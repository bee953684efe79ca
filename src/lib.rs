//! Transom: an MPI-3/4 one-sided (RMA window) engine that plugs into the MPI that is already there.
//!
//! The rooms, from the ground up (each imports from lower floors only): [`base`]; `host` (the MPI underneath); `datatype`; [`node`] (what
//! the ranks of one node share); `window`; `rma` and `sync`. What is preloaded lives in `component/`.

pub mod base;
#[cfg(feature = "mpi")]
pub mod datatype;
#[cfg(feature = "mpi")]
pub mod host;
pub mod node;
#[cfg(feature = "mpi")]
pub mod rma;
#[cfg(feature = "mpi")]
pub mod sync;
#[cfg(feature = "mpi")]
pub mod window;
