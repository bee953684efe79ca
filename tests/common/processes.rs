//! Finding and ending every process of a job.
//!
//! A process group is not enough: `hydra_pmi_proxy` gives each rank a session of its own, and `mpirun.openmpi` each rank a group. What
//! they all inherit is the environment, so a job is known by a variable in it.

use std::fs;
use std::time::{Duration, Instant};

/// The variable that marks a job's processes.
pub(super) const MARK: &str = "TRANSOM_TEST_JOB";

/// Processes that carry this mark and have not ended (a zombie's environment is empty).
pub(super) fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}

/// Waits until no marked process is left. Returns those that outlast the patience.
pub(super) fn outlasting(mark: &str, patience: Duration) -> Vec<i32> {
    let end = Instant::now() + patience;
    loop {
        let left = marked(mark);
        if left.is_empty() || Instant::now() >= end {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kills marked processes until none is left; a parent may fork while its children are being killed.
pub(super) fn kill_all(mark: &str) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let left = marked(mark);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "processes {left:?} cannot be killed");
        for pid in left {
            // SAFETY: kill takes no pointer. The pid was read a moment ago from a process that carries our mark.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a process does, for the report of a job that ran out of time: its state, and where the kernel holds it.
pub(super) fn describe(pid: i32) -> String {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let words = |bytes: Vec<u8>| {
        String::from_utf8_lossy(&bytes).split('\0').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let status = String::from_utf8_lossy(&read("status")).into_owned();
    let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or("gone").trim().to_owned();
    format!("{pid}: {}: {state}, in {}", words(read("cmdline")), words(read("wchan")))
}
