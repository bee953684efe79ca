//! The MPI underneath: its functions, the facts of its ABI family, its communicators, the job it runs in, and waiting. The only room
//! that names an MPI function.

pub mod abi;
pub mod attribute;
pub mod comm;
pub mod datatype;
#[cfg(transom_ompi)]
pub mod fortran;
pub mod info;
pub mod job;
pub mod predefined;
pub mod progress;
pub mod request;
pub mod table;
pub mod wait;
