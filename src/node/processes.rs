//! The processes of a team: who they are, which cores they may use, and whether one has died.

use crate::host::job;
use crate::host::wait::Watch;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a rank says of its process when a team is formed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Identity of the running kernel: equal on one node, different on any other.
    pub boot: [u8; 16],
    /// Process id, as the process itself sees it.
    pub pid: u64,
    /// Start time in clock ticks since boot, 0 where `/proc` does not tell.
    pub start: u64,
    /// Cores that the process may run on, a bit each.
    pub cores: [u64; 16],
}

impl Identity {
    /// The calling process.
    pub fn own() -> Identity {
        let pid = std::process::id();
        Identity { boot: boot_id(), pid: u64::from(pid), start: job::start_time(pid).unwrap_or(0), cores: cores() }
    }
}

/// `/proc/sys/kernel/random/boot_id` as bytes; zeros where it cannot be read (all ranks of such a node agree on that too).
fn boot_id() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> = text.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    id
}

fn cores() -> [u64; 16] {
    let mut mask = [0_u64; 16];
    // SAFETY: room for `size_of_val` bytes. A kernel with more cores than bits refuses, which leaves no bit set.
    unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    mask
}

/// The processes of all ranks of a team, in rank order.
pub struct Processes {
    identities: Vec<Identity>,
    own: u32,
    crowded: bool,
    known_dead: AtomicU32,
}

const NOBODY: u32 = u32::MAX;

impl Processes {
    /// Number of ranks.
    pub fn count(&self) -> u32 {
        self.identities.len() as u32
    }

    /// The number of a rank's process.
    pub fn pid(&self, rank: u32) -> u32 {
        self.identities[rank as usize].pid as u32
    }

    /// The processes behind these identities; `own` is the calling rank.
    pub fn new(identities: Vec<Identity>, own: u32) -> Processes {
        let mut cores = [0_u64; 16];
        for identity in &identities {
            cores.iter_mut().zip(identity.cores).for_each(|(all, some)| *all |= some);
        }
        let core_count: u32 = cores.iter().map(|word| word.count_ones()).sum();
        let crowded = core_count != 0 && identities.len() > core_count as usize;
        Processes { identities, own, crowded, known_dead: AtomicU32::new(NOBODY) }
    }
}

impl Watch for Processes {
    fn dead(&self) -> Option<u32> {
        let mut others = self.identities.iter().zip(0..).filter(|(_, rank)| *rank != self.own);
        let (_, dead) = others.find(|(identity, _)| job::has_ended(identity.pid as u32, identity.start))?;
        self.known_dead.store(dead, Relaxed);
        Some(dead)
    }

    #[inline]
    fn known_dead(&self) -> Option<u32> {
        match self.known_dead.load(Relaxed) {
            NOBODY => None,
            rank => Some(rank),
        }
    }

    fn crowded(&self) -> bool {
        self.crowded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_is_crowded_when_it_has_more_ranks_than_cores() {
        let on = |cores: u64| {
            let mut identity = Identity::own();
            identity.cores = [0; 16];
            identity.cores[0] = cores;
            identity
        };
        assert!(!Processes::new(vec![on(0b01), on(0b10)], 0).crowded(), "each bound to a core of its own");
        assert!(Processes::new(vec![on(0b01), on(0b01)], 0).crowded(), "both bound to the same core");
        assert!(!Processes::new(vec![on(0b11), on(0b11)], 0).crowded());
        assert!(Processes::new(vec![on(0b11); 3], 0).crowded());
    }

    #[test]
    fn the_death_of_a_process_is_seen_and_remembered() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let other = Identity { pid: u64::from(pid), start: job::start_time(pid).unwrap(), ..Identity::own() };
        let processes = Processes::new(vec![Identity::own(), other], 0);
        assert_eq!((processes.dead(), processes.known_dead()), (None, None));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(processes.dead(), Some(1));
        assert_eq!(processes.known_dead(), Some(1));
    }

    #[test]
    fn one_kernel_has_one_identity() {
        assert_eq!(Identity::own(), Identity::own());
        assert_ne!(Identity::own().boot, [0; 16]);
    }
}
