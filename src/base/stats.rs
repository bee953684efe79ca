//! What was done, counted for the summary at `MPI_Finalize`.
//!
//! Operations are counted where they happen, in a [`Tally`] of their window: two plain additions, under a nanosecond. Below
//! `MPI_THREAD_MULTIPLE` one thread at a time is inside MPI, so load-add-store loses nothing; with it the additions must be atomic
//! for the sums to be exact, as much work as a whole put, so that they are made only where somebody will read them
//! ([`set_unread`]). A window's tallies are added to the process's [`TOTALS`] when it is freed.

use super::threads;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static UNREAD: AtomicBool = AtomicBool::new(false);

/// Nobody will read what is counted of operations. Called before the first of them.
pub fn set_unread() {
    UNREAD.store(true, Relaxed);
}

/// Kinds of operations, in the order of the summary.
pub const KINDS: [&str; 6] = ["put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"];

/// Index of a kind in [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// `MPI_Put`.
    Put = 0,
    /// `MPI_Get`.
    Get = 1,
    /// `MPI_Accumulate`.
    Accumulate = 2,
    /// `MPI_Get_accumulate`.
    GetAccumulate = 3,
    /// `MPI_Fetch_and_op`.
    FetchAndOp = 4,
    /// `MPI_Compare_and_swap`.
    CompareAndSwap = 5,
}

/// How a target's memory is reached, in the order of the summary.
pub const PATHS: [&str; 2] = ["direct", "cross"];

/// Index of a path in [`PATHS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Path {
    /// By loads and stores on a shared mapping.
    Direct = 0,
    /// By `process_vm_readv` and `process_vm_writev`.
    Cross = 1,
}

/// Operations and bytes of one kind.
#[derive(Debug, Default)]
pub struct Tally {
    operations: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    /// Counts one operation.
    #[inline(always)]
    pub fn count(&self, bytes: u64) {
        if threads::are_concurrent() {
            if UNREAD.load(Relaxed) {
                return;
            }
            self.operations.fetch_add(1, Relaxed);
            self.bytes.fetch_add(bytes, Relaxed);
        } else {
            self.operations.store(self.operations.load(Relaxed).wrapping_add(1), Relaxed);
            self.bytes.store(self.bytes.load(Relaxed).wrapping_add(bytes), Relaxed);
        }
    }

    /// Operations and bytes so far.
    pub fn read(&self) -> (u64, u64) {
        (self.operations.load(Relaxed), self.bytes.load(Relaxed))
    }
}

/// Tallies of one window, by [`Path`] and [`Kind`].
#[derive(Debug, Default)]
pub struct Tallies([[Tally; KINDS.len()]; PATHS.len()]);

impl Tallies {
    /// None yet.
    pub const fn new() -> Tallies {
        Tallies(
            [const { [const { Tally { operations: AtomicU64::new(0), bytes: AtomicU64::new(0) } }; KINDS.len()] }; PATHS.len()],
        )
    }

    /// The tally of a kind of operation on mapped memory.
    #[inline]
    pub fn of(&self, kind: Kind) -> &Tally {
        self.by(Path::Direct, kind)
    }

    /// The tally of a kind on a path.
    #[inline]
    pub fn by(&self, path: Path, kind: Kind) -> &Tally {
        &self.0[path as usize][kind as usize]
    }

    /// All, path by path.
    pub fn all(&self) -> impl Iterator<Item = &Tally> {
        self.0.iter().flatten()
    }

    /// Adds these to the process's totals.
    pub fn fold(&self) {
        for (own, total) in self.all().zip(TOTALS.operations.all()) {
            let (operations, bytes) = own.read();
            total.operations.fetch_add(operations, Relaxed);
            total.bytes.fetch_add(bytes, Relaxed);
        }
    }
}

/// The process's totals.
pub struct Totals {
    /// Operations of windows that are freed.
    pub operations: Tallies,
    /// Windows that Transom serves. Counted at rank 0 of the window's group only, so that a sum over all ranks counts windows.
    pub served: AtomicU64,
    /// Windows left to the host, counted likewise.
    pub declined: AtomicU64,
    /// Set of reasons ([`Decline`]) seen, a bit each.
    pub reasons: AtomicU64,
}

/// This process's totals.
pub static TOTALS: Totals =
    Totals { operations: Tallies::new(), served: AtomicU64::new(0), declined: AtomicU64::new(0), reasons: AtomicU64::new(0) };

/// Why a window is left to the host. The numbers travel between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Decline {
    /// A rank of the communicator runs without Transom, on another node, or in another job.
    Absent = 1,
    /// The launcher is not one whose ranks can find each other.
    Launcher = 2,
    /// The ranks cannot map each other's memory.
    Unmapped = 3,
    /// `MPI_Win_create` on private memory that the ranks may not reach.
    PrivateMemory = 4,
    /// `MPI_Win_create_dynamic`.
    Dynamic = 5,
    /// The info key `transom=host`.
    Asked = 6,
    /// MPI was not initialised by `MPI_Init` (sessions).
    Session = 7,
    /// Ranks run different builds of Transom.
    Version = 8,
    /// `TRANSOM_DISABLE` is set on this rank.
    Disabled = 9,
}

impl Decline {
    /// All reasons.
    pub const ALL: [Decline; 9] = [
        Decline::Absent,
        Decline::Launcher,
        Decline::Unmapped,
        Decline::PrivateMemory,
        Decline::Dynamic,
        Decline::Asked,
        Decline::Session,
        Decline::Version,
        Decline::Disabled,
    ];

    /// The reason as users read it.
    pub const fn text(self) -> &'static str {
        match self {
            Decline::Absent => "a rank of the communicator runs without Transom or on another node",
            Decline::Launcher => "the launcher is not known, so that ranks cannot find each other",
            Decline::Unmapped => "ranks cannot map each other's memory",
            Decline::PrivateMemory => {
                "MPI_Win_create on private memory that the ranks may not reach (process_vm_readv is refused: see transom info)"
            }
            Decline::Dynamic => "dynamic windows are not served yet",
            Decline::Asked => "info transom=host",
            Decline::Session => "MPI was not initialised by MPI_Init",
            Decline::Version => "ranks run different builds of Transom",
            Decline::Disabled => "TRANSOM_DISABLE is set",
        }
    }

    /// The reason behind a number that travelled.
    pub fn from_byte(byte: u8) -> Option<Decline> {
        Decline::ALL.into_iter().find(|reason| *reason as u8 == byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_exact_with_and_without_threads() {
        let tally = Tally::default();
        tally.count(8);
        tally.count(16);
        assert_eq!(tally.read(), (2, 24));
        threads::set_concurrent();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| tally.count(1)));
            }
        });
        assert_eq!(tally.read(), (40_002, 40_024));
    }

    #[test]
    fn reasons_travel_as_bytes() {
        for reason in Decline::ALL {
            assert_eq!(Decline::from_byte(reason as u8), Some(reason));
        }
        assert_eq!(Decline::from_byte(0), None);
    }
}
