//! Info keys that are honoured when a window is made or memory is allocated.

use crate::host::abi::MPI_Info;
use crate::host::comm;
use crate::node::memory;

/// `transom=host`: leave this window to the host.
pub fn asks_for_host(info: MPI_Info) -> bool {
    comm::info_value(info, c"transom").is_some_and(|value| value.trim().eq_ignore_ascii_case("host"))
}

/// `alloc_shared_noncontig=true`: the parts of a shared window need not touch.
pub fn allows_gaps(info: MPI_Info) -> bool {
    comm::info_value(info, c"alloc_shared_noncontig").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}

/// `mpi_minimum_memory_alignment`, where it is a power of two that can be given; a cache line otherwise.
pub fn alignment(info: MPI_Info) -> usize {
    comm::info_value(info, c"mpi_minimum_memory_alignment")
        .and_then(|value| value.trim().parse::<usize>().ok())
        .filter(|align| align.is_power_of_two() && *align <= memory::MAX_ALIGN)
        .unwrap_or(memory::LINE)
}
