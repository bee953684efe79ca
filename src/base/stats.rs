//! What was done, counted for the summary at `MPI_Finalize`.
//!
//! Operations are counted where they happen, in a [`Tally`] of their window: two plain additions, under a nanosecond. Below
//! `MPI_THREAD_MULTIPLE` one thread at a time is inside MPI, so load-add-store loses nothing; with it the additions are atomic
//! (a few nanoseconds) so that the sums stay exact. A window's tallies are added to the process's [`TOTALS`] when it is freed.

use super::threads;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Kinds of operations, in the order of the summary.
pub const KINDS: [&str; 2] = ["put", "get"];

/// Index of a kind in [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// `MPI_Put`.
    Put = 0,
    /// `MPI_Get`.
    Get = 1,
}

/// Operations and bytes of one kind.
#[derive(Debug, Default)]
pub struct Tally {
    operations: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    /// Counts one operation.
    #[inline]
    pub fn count(&self, bytes: u64) {
        if threads::are_concurrent() {
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

/// Tallies of one window, by [`Kind`].
#[derive(Debug, Default)]
pub struct Tallies(pub [Tally; KINDS.len()]);

impl Tallies {
    /// The tally of a kind.
    #[inline]
    pub fn of(&self, kind: Kind) -> &Tally {
        &self.0[kind as usize]
    }

    /// Adds these to the process's totals.
    pub fn fold(&self) {
        for (own, total) in self.0.iter().zip(&TOTALS.direct.0) {
            let (operations, bytes) = own.read();
            total.operations.fetch_add(operations, Relaxed);
            total.bytes.fetch_add(bytes, Relaxed);
        }
    }
}

/// The process's totals.
pub struct Totals {
    /// Operations on mapped peers, of windows that are freed.
    pub direct: Tallies,
    /// Windows that Transom serves. Counted at rank 0 of the window's group only, so that a sum over all ranks counts windows.
    pub served: AtomicU64,
    /// Windows left to the host, counted likewise.
    pub declined: AtomicU64,
    /// Set of reasons ([`Decline`]) seen, a bit each.
    pub reasons: AtomicU64,
}

/// This process's totals.
pub static TOTALS: Totals = Totals {
    direct: Tallies([
        Tally { operations: AtomicU64::new(0), bytes: AtomicU64::new(0) },
        Tally { operations: AtomicU64::new(0), bytes: AtomicU64::new(0) },
    ]),
    served: AtomicU64::new(0),
    declined: AtomicU64::new(0),
    reasons: AtomicU64::new(0),
};

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
    /// `MPI_Win_create` on memory that is not Transom's.
    ForeignMemory = 4,
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
        Decline::ForeignMemory,
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
            Decline::ForeignMemory => {
                "MPI_Win_create on memory that is not from MPI_Alloc_mem or another window is not served yet"
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
