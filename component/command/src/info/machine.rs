//! What this machine offers to ranks of this user, what of it Transom uses, and what it does not use yet.

use core::ffi::CStr;

use super::probe::Answer;
use super::report::{Cores, DevShm, Facility, HugePages, Machine, Memlock, Usage};
use super::trials;

/// Tries everything.
pub(crate) fn examine() -> Machine {
    let huge_pages = huge_pages();
    let facilities = vec![
        facility("memfd", trials::memfd(), Usage::Used, "memory of windows", Some("no window can be made")),
        facility(
            "proc_fd",
            trials::descriptors_of_peers(),
            Usage::Used,
            "memory of other ranks",
            Some("windows are left to the host"),
        ),
        facility("futex", trials::futex(), Usage::Used, "sleep of ranks that wait", Some("waiting ranks do not sleep")),
        facility("pidfd", trials::pidfd(), Usage::Used, "death of ranks", Some("waits for a dead rank do not end")),
        facility(
            "process_vm",
            trials::process_vm(),
            Usage::Used,
            "private memory of windows",
            Some("windows on it are left to the host"),
        ),
        facility("userfaultfd", trials::userfaultfd(), Usage::NotYet, "release of registered memory", None),
        facility("io_uring", trials::io_uring(), Usage::NotYet, "pinned memory", None),
        facility("huge_pages", try_huge_pages(&huge_pages), Usage::NotYet, "memory of large windows", None),
    ];
    // Where the first is refused, so is what needs it.
    let refusal = facilities.iter().find(|facility| matches!(facility.name, "memfd" | "proc_fd") && !facility.offered);
    Machine {
        kernel: kernel(),
        cores: cores(),
        served: refusal.is_none(),
        reason: refusal.map(|facility| facility.detail.clone()),
        facilities,
        memlock: memlock(),
        huge_pages,
        dev_shm: DevShm { size: file_system_size(c"/dev/shm"), usage: Usage::NotNeeded },
    }
}

fn facility(name: &'static str, answer: Answer, usage: Usage, purpose: &'static str, without: Option<&'static str>) -> Facility {
    let offered = answer.is_ok();
    Facility { name, offered, detail: answer.unwrap_or_else(|reason| reason), usage, purpose, without }
}

/// The system's name and release.
fn kernel() -> String {
    // SAFETY: all zero is a value of this type, and a place for the answer, whose texts are terminated.
    unsafe {
        let mut names: libc::utsname = core::mem::zeroed();
        libc::uname(&mut names);
        let text = |name: &[core::ffi::c_char]| CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned();
        format!("{} {}", text(&names.sysname), text(&names.release))
    }
}

fn cores() -> Cores {
    // SAFETY: only asks; all zero is the empty set, and a place for the answer.
    let (online, usable) = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        (libc::sysconf(libc::_SC_NPROCESSORS_ONLN).max(1) as u64, libc::CPU_COUNT(&set) as u64)
    };
    // A machine with more cores than the set has room for gives none.
    Cores { online, usable: if usable == 0 { online } else { usable } }
}

fn memlock() -> Memlock {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the answer.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    let bytes = |limit| (limit != libc::RLIM_INFINITY).then_some(limit);
    Memlock { soft: bytes(limit.rlim_cur), hard: bytes(limit.rlim_max), usage: Usage::NotYet }
}

fn file_system_size(path: &CStr) -> Option<u64> {
    // SAFETY: all zero is a value of this type; a C string and a place for the answer.
    unsafe {
        let mut system: libc::statvfs = core::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut system) == 0).then(|| system.f_blocks * system.f_frsize)
    }
}

/// Of every size that the machine has, the smallest first.
fn huge_pages() -> Vec<HugePages> {
    let sizes = std::fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten();
    let mut pages: Vec<_> = sizes
        .filter_map(|entry| {
            let size: u64 = entry.file_name().to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let number = |file| std::fs::read_to_string(entry.path().join(file)).ok()?.trim().parse().ok();
            Some(HugePages { size: size << 10, total: number("nr_hugepages")?, free: number("free_hugepages")? })
        })
        .collect();
    pages.sort_by_key(|pages| pages.size);
    pages
}

/// The size that is meant where none is named.
fn default_huge_page() -> Option<usize> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("Hugepagesize:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
}

fn try_huge_pages(pages: &[HugePages]) -> Answer {
    let size = default_huge_page().ok_or("this kernel has none")?;
    trials::huge_pages(size).map_err(|reason| match pages.iter().find(|pages| pages.size == size as u64) {
        Some(pages) if pages.free == 0 => format!("{reason} ({} set aside, none free)", pages.total),
        _ => reason,
    })
}
