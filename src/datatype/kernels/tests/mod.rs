//! Every kernel against what C makes of the same bytes, and against other threads.

mod against_c;
mod allowed;
mod threads;
