//! What every room stands on: configuration, errors, statistics, the log, and the C tables that separately built objects share.
//! Nothing here knows MPI, a mapping or a window.

pub mod combined;
pub mod config;
pub mod element;
pub mod error;
pub mod family;
pub mod fortran;
pub mod functions;
pub mod hash;
pub mod log;
pub mod op;
pub mod stats;
pub mod table;
pub mod threads;
