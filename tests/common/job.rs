//! One start of a launcher and what came of it.

use super::{Side, compile, dist, processes};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a job may take unless it says otherwise.
const LIMIT: Duration = Duration::from_secs(60);
/// How much longer in the long run, where programs do ten times as many rounds.
const FULL: u32 = 10;
/// How long processes may outlast their launcher.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ranks that run the same program with the same arguments.
#[derive(Clone)]
struct Part {
    ranks: u32,
    transom: bool,
    /// A command that starts the ranks.
    through: Vec<String>,
    executable: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
}

/// A job to be started.
#[derive(Clone)]
pub(crate) struct Job {
    side: Side,
    parts: Vec<Part>,
    environment: Vec<(String, String)>,
    launcher: Vec<OsString>,
    shell: Option<String>,
    alone: bool,
    limit: Duration,
}

/// What came of a job.
pub(crate) struct Outcome {
    pub(crate) command: String,
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// What ranks wrote to files `report-RANK` in their `TMPDIR`, in the order of ranks: a launcher may lose their output.
    pub(crate) reports: Vec<String>,
    pub(crate) elapsed: Duration,
    /// What its processes did when its time was up.
    pub(crate) late: Option<String>,
    /// Processes that were left when the launcher had ended.
    pub(crate) strays: Vec<String>,
}

impl Job {
    pub(super) fn new(side: Side, program: &str) -> Job {
        let executable = compile::program(side.host, program);
        Job::of_executable(side, executable)
    }

    /// A job of one rank that runs something that is not ours.
    pub(crate) fn of_executable(side: Side, executable: PathBuf) -> Job {
        let part = Part {
            ranks: 1,
            transom: side.transom,
            through: Vec::new(),
            executable,
            arguments: Vec::new(),
            environment: Vec::new(),
        };
        Job { side, parts: vec![part], environment: Vec::new(), launcher: Vec::new(), shell: None, alone: false, limit: LIMIT }
    }

    fn last(&mut self) -> &mut Part {
        self.parts.last_mut().expect("a job has a part from the start")
    }

    pub(crate) fn ranks(mut self, ranks: u32) -> Job {
        self.last().ranks = ranks;
        self
    }

    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Job {
        self.last().arguments.push(argument.into());
        self
    }

    /// A variable for every rank.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Job {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// A variable for the ranks of the last part only.
    pub(crate) fn env_of_part(mut self, name: &str, value: &str) -> Job {
        self.last().environment.push((name.into(), value.into()));
        self
    }

    /// The ranks of the last part are started by this command.
    pub(crate) fn through(mut self, command: &[&str]) -> Job {
        self.last().through = command.iter().map(|word| word.to_string()).collect();
        self
    }

    /// What the ranks of the last part write to stderr goes to the reports: launchers lose some of it when a job aborts.
    pub(crate) fn stderr_reported(self) -> Job {
        self.through(&["sh", "-c", r#"exec "$@" 2>>"$TMPDIR/report-0""#, "sh"])
    }

    /// The ranks of the last part run without Transom.
    pub(crate) fn without_transom(mut self) -> Job {
        self.last().transom = false;
        self
    }

    /// A declined window is no error in this job.
    pub(crate) fn may_decline(self) -> Job {
        self.env("TRANSOM_REQUIRE", "0")
    }

    /// Further ranks: the last part again (one rank), to be changed by what follows.
    pub(crate) fn and(mut self) -> Job {
        let mut part = self.last().clone();
        (part.ranks, part.transom) = (1, self.side.transom);
        part.environment.clear();
        part.through.clear();
        self.parts.push(part);
        self
    }

    /// A flag of the host's launcher.
    pub(crate) fn launcher_flag(mut self, flag: impl Into<OsString>) -> Job {
        self.launcher.push(flag.into());
        self
    }

    /// The launcher is started by this shell text as `"$@"`, in a mount namespace of its own where this needs no other right.
    pub(crate) fn in_own_mounts(mut self, text: &str) -> Job {
        self.shell = Some(text.into());
        self
    }

    /// The program is started by itself, as MPI allows for a job of one rank.
    pub(crate) fn without_launcher(mut self) -> Job {
        self.alone = true;
        self
    }

    pub(crate) fn limit(mut self, seconds: u64) -> Job {
        self.limit = Duration::from_secs(seconds);
        self
    }

    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(text) = &self.shell {
            // As root a mount namespace is enough; others need a user namespace in which they are root.
            // SAFETY: geteuid only returns a number.
            let flags = if unsafe { libc::geteuid() } == 0 { "-m" } else { "-rm" };
            words.extend(["unshare", flags, "sh", "-ec", text, "sh"].map(OsString::from));
        }
        if !self.alone {
            words.push(self.side.host.launcher().into());
            words.extend(self.side.host.launcher_flags().iter().map(OsString::from));
            words.extend(self.launcher.iter().cloned());
        }
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                words.push(":".into());
            }
            if !self.alone {
                words.extend(["-n".into(), part.ranks.to_string().into()]);
            }
            // `env` sets the same for one part under both launchers.
            words.push("env".into());
            words.extend(part.environment.iter().map(|(name, value)| format!("{name}={value}").into()));
            if part.transom {
                words.push("EXPECT_TRANSOM=1".into());
            }
            words.extend(part.through.iter().map(OsString::from));
            if part.transom {
                words.extend([dist("bin/transom").into(), "exec".into(), "--".into()]);
            }
            words.push(part.executable.clone().into());
            words.extend(part.arguments.iter().cloned());
        }
        words
    }

    /// Runs the job to its end, or to its time limit.
    pub(crate) fn run(&self) -> Outcome {
        let limit = if super::full() { self.limit * FULL } else { self.limit };
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        // Short, since Open MPI makes socket names in it, and its own, so that killed jobs leave nothing behind.
        let scratch = std::env::temp_dir().join(format!("transom-{mark}"));
        std::fs::create_dir_all(&scratch).unwrap_or_else(|error| panic!("{}: {error}", scratch.display()));

        let words = self.words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if name
                .to_str()
                .is_some_and(|name| (name.starts_with("TRANSOM_") && name != "TRANSOM_TEST_FULL") || name == "LD_PRELOAD")
            {
                command.env_remove(name);
            }
        }
        command.env(processes::MARK, &mark).env("TMPDIR", &scratch);
        if self.shell.is_none() {
            // A rank that is killed leaves Open MPI's files there, which lie in /dev/shm if nothing is said.
            for component in ["btl_vader", "btl_sm", "osc_rdma", "osc_sm"] {
                command.env(format!("OMPI_MCA_{component}_backing_directory"), &scratch);
            }
        }
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        if self.side.transom {
            command.env("TRANSOM_REQUIRE", "1");
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // SAFETY: both calls are async-signal-safe and touch no memory of ours.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                // A test that is killed takes the launcher with it, and that its ranks.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }

        let start = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = reader(child.stdout.take().expect("piped above"));
        let stderr = reader(child.stderr.take().expect("piped above"));
        let mut late = None;
        let status = loop {
            if let Some(status) = child.try_wait().expect("our own child") {
                break status;
            }
            if start.elapsed() >= limit {
                late = Some(processes::marked(&mark).into_iter().map(processes::describe).collect::<Vec<_>>().join("\n"));
                processes::kill_all(&mark);
                break child.wait().expect("our own child");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let elapsed = start.elapsed();
        let strays = processes::outlasting(&mark, PATIENCE).into_iter().map(processes::describe).collect();
        processes::kill_all(&mark);
        let outcome = Outcome {
            command: format!("{command:?}"),
            status,
            stdout: stdout.join().expect("the reader of stdout"),
            stderr: stderr.join().expect("the reader of stderr"),
            reports: (0..64).filter_map(|rank| std::fs::read_to_string(scratch.join(format!("report-{rank}"))).ok()).collect(),
            elapsed,
            late,
            strays,
        };
        let _ = std::fs::remove_dir_all(&scratch);
        outcome
    }

    /// Runs the job; every rank must end well, in time, and leave no process behind.
    #[track_caller]
    pub(crate) fn passes(&self) -> Outcome {
        let outcome = self.run();
        outcome.expect(outcome.status.success(), "the job failed");
        outcome
    }

    /// Runs the job; it must fail of itself, in time, and leave no process behind.
    #[track_caller]
    pub(crate) fn fails(&self) -> Outcome {
        let outcome = self.run();
        outcome.expect(!outcome.status.success(), "the job should have failed");
        outcome
    }
}

impl Outcome {
    /// Panics with everything that is known unless the condition holds, the job ended in time and nothing was left behind.
    #[track_caller]
    pub(crate) fn expect(&self, condition: bool, what: &str) {
        if let Some(processes) = &self.late {
            panic!("the time limit passed after {:.1?}; its processes were:\n{processes}\n{self}", self.elapsed);
        }
        assert!(self.strays.is_empty(), "processes were left behind:\n{}\n{self}", self.strays.join("\n"));
        assert!(condition, "{what}\n{self}");
    }

    /// Lines of both streams that hold this text.
    pub(crate) fn lines_with<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        self.stdout.lines().chain(self.stderr.lines()).filter(move |line| line.contains(text))
    }

    /// The numbers after `NAME=` in both streams, in order of appearance.
    #[track_caller]
    pub(crate) fn values(&self, name: &str) -> Vec<i64> {
        let key = format!("{name}=");
        let words = self.stdout.split_whitespace().chain(self.stderr.split_whitespace());
        words.filter_map(|word| word.strip_prefix(&key)?.parse().ok()).collect()
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or_default()),
        };
        let mut text = String::new();
        let _ = writeln!(text, "command: {}\nended after {:.2?} with {end}", self.command, self.elapsed);
        for report in &self.reports {
            let _ = write!(text, "report: {}", ended(report));
        }
        let _ = writeln!(text, "--- stdout\n{}--- stderr\n{}---", ended(&self.stdout), ended(&self.stderr));
        f.write_str(&text)
    }
}

/// The text with a line end.
fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// How much of a stream's beginning, and of its end, is kept: a broken job can write for a minute.
const KEPT: usize = 100_000;

fn reader(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut head, mut tail, mut lost) = (Vec::new(), VecDeque::<u8>::new(), 0);
        let mut buffer = vec![0; 1 << 16];
        // An error ends the text as the end of the stream does.
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let to_head = count.min(KEPT - head.len());
            head.extend_from_slice(&buffer[..to_head]);
            tail.extend(&buffer[to_head..count]);
            let surplus = tail.len().saturating_sub(KEPT);
            tail.drain(..surplus);
            lost += surplus;
        }
        if lost > 0 {
            head.extend_from_slice(format!("\n[{lost} bytes left out]\n").as_bytes());
        }
        head.extend(tail);
        String::from_utf8_lossy(&head).into_owned()
    })
}
