//! Windows from Python: mpi4py as people install it. Its wheel runs under every host but Debian's MPICH, which no wheel can load: there it is
//! built from source. What else mpi4py asks of windows is `ci/suite mpi4py`.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{Host, Job, Side, root};

/// An interpreter with mpi4py for a host, and the variables by which mpi4py finds that host.
struct Python {
    executable: PathBuf,
    environment: Vec<(String, String)>,
}

impl Python {
    fn of(host: Host) -> Python {
        let mut command = Command::new("python3");
        command.arg("-B").arg(root().join("tests/suites/mpi4py.py")).args(["--setup", "--host", host.name()]);
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("paths in UTF-8");
        let mut lines = text.lines();
        let executable = lines.next().expect("the interpreter").into();
        let environment = lines
            .map(|line| line.split_once('=').expect("NAME=VALUE"))
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Python { executable, environment }
    }

    /// A job of two ranks that runs a script of `tests/programs`.
    fn job(&self, on: Side, script: &str) -> Job {
        let job = Job::of_executable(on, self.executable.clone()).ranks(2);
        let job = self.environment.iter().fold(job, |job, (name, value)| job.env(name, value));
        job.arg(root().join("tests/programs").join(script))
    }
}

fn windows(on: Side) {
    let outcome = Python::of(on.host).job(on, "windows.py").env("TRANSOM_STATS", "1").passes();
    // A launcher may join the lines of two ranks.
    outcome.expect(outcome.stdout.matches("windows work under").count() == 2, "both ranks ran to the end");
    if on.transom {
        // Three windows, in each of them two puts and three gets on each rank.
        for served in ["windows 3 served 0 host", "put 12 operations 3120 bytes direct", "get 18 operations 3168 bytes direct"] {
            outcome.expect(outcome.lines_with(served).count() == 1, served);
        }
    }
}

on_hosts! {
    windows;
}
