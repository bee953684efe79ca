//! `libtransom.so`, the one object that is preloaded: it exports the MPI names of the list as trampolines and has no MPI inside.
//! At the first MPI call it finds the host MPI that is really loaded, starts the engine object of that family and lets the
//! trampolines lead there. A program that makes no MPI call is not touched.

mod engine;
mod host;
mod lock;
mod resolve;
mod slots;
pub mod trampoline;
