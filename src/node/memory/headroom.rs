//! How much memory can be reserved before the kernel starts to kill.
//!
//! A `memfd` has no limit of its own: `fallocate` beyond what the machine or the control group has left does not fail, it calls the
//! out-of-memory killer. So whoever reserves asks here first, and the user gets an error instead. It is an estimate: others may take memory
//! meanwhile, for which a margin is left. A look takes some ten microseconds, so each gives credit for what is reserved next.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::MemoryError;

/// The most credit that a look gives. Less where memory is short: a 16th of it, so that a node's ranks do not overdraw it together.
const LARGEST_CREDIT: u64 = 16 << 20;
/// Left alone: a 64th of what there is in all, but not more than this.
const LARGEST_MARGIN: u64 = 256 << 20;

/// Before `piece` bytes are reserved, the first of `ahead`: whether there is room for all that is ahead.
pub(super) fn check(piece: usize, ahead: usize) -> Result<(), MemoryError> {
    static CREDIT: AtomicU64 = AtomicU64::new(0);
    let draw = |credit: u64| credit.checked_sub(piece as u64);
    if piece == ahead && CREDIT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, draw).is_ok() {
        return Ok(());
    }
    let left = Sources::system().left_after(ahead)?;
    CREDIT.store((left / 16).min(LARGEST_CREDIT), Ordering::Relaxed);
    Ok(())
}

/// Where the kernel tells.
struct Sources<'a> {
    meminfo: &'a Path,
    /// Which control groups the process is in.
    membership: &'a Path,
    /// Where control groups of version 1 that limit memory are mounted.
    version_1: &'a Path,
    /// Where control groups of version 2 are mounted.
    version_2: &'a Path,
}

impl Sources<'_> {
    fn system() -> Self {
        Self {
            meminfo: Path::new("/proc/meminfo"),
            membership: Path::new("/proc/self/cgroup"),
            version_1: Path::new("/sys/fs/cgroup/memory"),
            version_2: Path::new("/sys/fs/cgroup"),
        }
    }

    /// How much would be left if `size` bytes were taken.
    fn left_after(&self, size: usize) -> Result<u64, MemoryError> {
        // What cannot be read sets no limit.
        let meminfo = fs::read_to_string(self.meminfo).unwrap_or_default();
        let bytes = |name| number_after(&meminfo, name).map(|number| number.saturating_mul(1024));
        let swap = bytes("SwapFree:").unwrap_or(0);
        let machine =
            bytes("MemAvailable:").zip(bytes("MemTotal:")).map(|(available, total)| available.saturating_sub(margin(total)));
        let rooms =
            [(machine, "memory that the machine has left"), (self.group_room(), "memory that the control group has left")];
        let Some((room, what)) = rooms.into_iter().filter_map(|(room, what)| room.zip(Some(what))).min() else {
            return Ok(u64::MAX);
        };
        let left = room.saturating_add(swap).checked_sub(size as u64);
        left.ok_or(MemoryError::NoMemory { bytes: size as u64, what, errno: libc::ENOMEM })
    }

    /// The least room of the process's control groups and the groups around them.
    fn group_room(&self) -> Option<u64> {
        let membership = fs::read_to_string(self.membership).ok()?;
        let mut least = None;
        for line in membership.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
                continue;
            };
            let (root, files) = match controllers {
                "" => (self.version_2, &VERSION_2),
                list if list.split(',').any(|name| name == "memory") => (self.version_1, &VERSION_1),
                _ => continue,
            };
            // In a container the path may be of the world outside: then only the root is there to be read.
            for around in Path::new(path.trim_start_matches('/')).ancestors() {
                least = least.into_iter().chain(files.room(&root.join(around))).min();
            }
        }
        least
    }
}

/// Names of a control group's files.
struct Group {
    limit: &'static str,
    usage: &'static str,
    /// In `memory.stat`: pages of files, which the kernel drops before it kills.
    file_pages: [&'static str; 2],
}

const VERSION_1: Group = Group {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    file_pages: ["total_active_file ", "total_inactive_file "],
};
const VERSION_2: Group = Group { limit: "memory.max", usage: "memory.current", file_pages: ["active_file ", "inactive_file "] };

impl Group {
    /// `None` where there is no limit.
    fn room(&self, group: &Path) -> Option<u64> {
        let number = |name| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let (limit, usage) = (number(self.limit)?, number(self.usage)?);
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let files: u64 = self.file_pages.iter().filter_map(|name| number_after(&stat, name)).sum();
        Some(limit.saturating_sub(margin(limit)).saturating_sub(usage.saturating_sub(files)))
    }
}

fn margin(total: u64) -> u64 {
    (total / 64).min(LARGEST_MARGIN)
}

/// The number on the line of `text` that begins with `name`.
fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_ascii_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A directory with files of the given contents, read as a system of its own.
    fn verdict(name: &str, files: &[(&str, &str)], size: u64) -> Result<(), MemoryError> {
        let root = std::env::temp_dir().join(format!("transom-headroom-{}-{name}", std::process::id()));
        for (path, contents) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        let sources = Sources {
            meminfo: &root.join("meminfo"),
            membership: &root.join("cgroup"),
            version_1: &root.join("v1"),
            version_2: &root.join("v2"),
        };
        let verdict = sources.left_after(size as usize).map(|_| ());
        fs::remove_dir_all(root).unwrap();
        verdict
    }

    /// 1 GiB in all, half of it available: 512 MiB less a margin of 16.
    const MEMINFO: (&str, &str) = ("meminfo", "MemTotal:  1048576 kB\nMemAvailable:  524288 kB\nSwapFree:  0 kB\n");

    #[test]
    fn what_the_machine_has_left_is_the_limit() {
        assert_eq!(verdict("machine-fits", &[MEMINFO], 496 * MIB), Ok(()));
        let error = verdict("machine-full", &[MEMINFO], 497 * MIB).unwrap_err();
        assert!(error.is_exhaustion() && error.to_string().contains("machine"), "{error}");
        let swap = ("meminfo", "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\nSwapFree: 1048576 kB\n");
        assert_eq!(verdict("machine-swap", &[swap], 1000 * MIB), Ok(()));
    }

    #[test]
    fn a_control_group_around_ours_limits_too() {
        let files = [
            MEMINFO,
            ("cgroup", "4:memory:/job/step\n0::/\n"),
            ("v1/job/memory.limit_in_bytes", "134217728\n"),
            ("v1/job/memory.usage_in_bytes", "67108864\n"),
            ("v1/job/memory.stat", "active_file 1\ntotal_active_file 16777216\ntotal_inactive_file 16777216\n"),
            ("v1/job/step/memory.limit_in_bytes", "9223372036854771712\n"),
            ("v1/job/step/memory.usage_in_bytes", "67108864\n"),
        ];
        // 128 MiB, 2 of them margin, 64 - 32 of them used for other things than files.
        assert_eq!(verdict("v1-fits", &files, 94 * MIB), Ok(()));
        let error = verdict("v1-full", &files, 95 * MIB).unwrap_err();
        assert!(error.to_string().contains("control group"), "{error}");
    }

    #[test]
    fn version_2_without_a_limit_says_max() {
        let unlimited = [MEMINFO, ("cgroup", "0::/\n"), ("v2/memory.max", "max\n"), ("v2/memory.current", "67108864\n")];
        assert_eq!(verdict("v2-unlimited", &unlimited, 496 * MIB), Ok(()));
        let limited = [MEMINFO, ("cgroup", "0::/gone\n"), ("v2/memory.max", "67108864\n"), ("v2/memory.current", "33554432\n")];
        assert_eq!(verdict("v2-fits", &limited, 31 * MIB), Ok(()));
        assert!(verdict("v2-full", &limited, 32 * MIB).is_err());
    }

    #[test]
    fn a_system_that_tells_nothing_sets_no_limit() {
        assert_eq!(verdict("silent", &[("cgroup", "garbage\n")], 1 << 40), Ok(()));
    }

    #[test]
    fn this_machine_is_understood() {
        assert!(Sources::system().left_after(1).is_ok_and(|left| left < 1 << 50));
        assert!(Sources::system().left_after(1 << 50).is_err());
    }
}
