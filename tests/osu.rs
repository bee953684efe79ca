//! `ci/osu` on a small tree of our own with the layout, the names and the output of the OSU benchmarks, which no package brings.

mod common;

use common::{Host, dist, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const HOSTS: [Host; 2] = [Host::Mpich, Host::OpenMpi];

/// An empty directory of this name that later runs find again.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("osu").join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    directory
}

fn compile(compiler: &str, source: &Path, executable: &Path) {
    fs::create_dir_all(executable.parent().expect("a file in a directory")).expect("a directory for the executable");
    let mut command = Command::new(compiler);
    command
        .args(["-std=gnu11", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(executable)
        .arg(source)
        .arg("-ldl");
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The fixture as it is after `make install` with these hosts' compilers.
fn installed(name: &str, hosts: &[Host]) -> PathBuf {
    let tree = scratch(name);
    for host in hosts {
        for program in ["osu_put_latency", "osu_get_bw"] {
            let place = Path::new("mpi/one-sided").join(program);
            let source = root().join("tests/osu_fixture").join(&place).with_extension("c");
            let prefix = tree.join(host.name()).join("libexec/osu-micro-benchmarks");
            compile(&host.compiler(), &source, &prefix.join(place));
        }
    }
    tree
}

struct Said {
    success: bool,
    stdout: String,
    stderr: String,
}

/// Runs `ci/osu` within a time limit that is longer than those of its own that are tested.
fn osu(arguments: &[&str], tree: &Path, more: &[&str]) -> Said {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "120"]).arg(root().join("ci/osu")).args(arguments).arg(tree).args(more);
    // A rank that is killed leaves files of Open MPI's there, in /dev/shm if nothing is said.
    for component in ["btl_vader", "osc_rdma", "osc_sm"] {
        command.env(format!("OMPI_MCA_{component}_backing_directory"), env!("CARGO_TARGET_TMPDIR"));
    }
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { success: status.success(), stdout: text(stdout), stderr: text(stderr) }
}

impl Said {
    #[track_caller]
    fn expect(&self, condition: bool, what: &str) {
        assert!(condition, "{what}\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
    }

    #[track_caller]
    fn says(&self, text: &str) {
        self.expect(self.stdout.contains(text) || self.stderr.contains(text), text);
    }

    /// The words after the size in the line of that size, after the heading of that program.
    #[track_caller]
    fn row(&self, program: &str, size: &str) -> Vec<&str> {
        let mut table = self.stdout.lines().skip_while(|line| *line != program);
        let line = table.find(|line| line.split_whitespace().next() == Some(size)).unwrap_or_default();
        let row: Vec<_> = line.split_whitespace().skip(1).collect();
        self.expect(!row.is_empty(), "no such row");
        row
    }
}

fn is_number(word: &str) -> bool {
    word.replace(',', "").parse::<f64>().is_ok()
}

#[test]
fn hosts_stand_side_by_side_bare_and_with_transom() {
    dist("bin/transom");
    let said = osu(&["--no-build", "--rounds", "1"], &installed("both", &HOSTS), &[]);
    said.expect(said.success, "ci/osu failed");
    said.says("# Fixture MPI_Put Latency Test v0");
    said.says("Latency (us)");
    for size in ["4", "8", "16"] {
        let row = said.row("osu_put_latency", size);
        said.expect(row.iter().filter(|word| is_number(word)).count() >= 4, "a bare figure and one with Transom for either host");
    }
    // This program tells by its figure who served it; more bandwidth would have been better.
    assert_eq!(said.row("osu_get_bw", "1"), ["2.00", "1.00", "0.50", "x", "2.00", "1.00", "0.50", "x"]);
}

#[test]
fn a_tree_of_one_host_needs_only_that_host() {
    for (host, title, other) in [(Host::Mpich, "MPICH 4", "Open MPI"), (Host::OpenMpi, "Open MPI 4", "MPICH")] {
        let tree = installed(&format!("only-{}", host.name()), &[host]);
        let said = osu(&["--bare", "--rounds", "2"], &tree, &["put_latency"]);
        said.expect(said.success, "ci/osu failed");
        said.says(title);
        said.expect(!said.stdout.contains(other), "a host that this tree was not built with");
        said.expect(!said.stdout.contains("osu_get_bw"), "a program that was not asked for");
        let row = said.row("osu_put_latency", "8");
        said.expect(row.len() == 3 && is_number(row[0]) && row[1..] == ["-", "-"], "a figure of the bare host alone");
    }
}

#[test]
fn options_after_the_dashes_reach_the_programs() {
    let tree = installed("options", &HOSTS);
    let said = osu(&["--bare", "--rounds", "1"], &tree, &["put_latency", "--", "-i", "7"]);
    said.expect(said.success, "ci/osu failed");
    let said = osu(&["--bare", "--rounds", "1"], &tree, &["put_latency", "--", "-z"]);
    said.expect(!said.success, "a program that ends with an error passed for one that ran");
    for host in ["MPICH 4", "Open MPI 4"] {
        let line = said.stdout.lines().find(|line| line.starts_with(&format!("failed, {host}"))).unwrap_or_default();
        // What the program says, not the advice that Open MPI's launcher prints around it.
        said.expect(line.contains("bare: Usage: osu_put_latency"), "the failure of each host, in the program's words");
    }
}

#[test]
fn a_program_that_hangs_is_ended() {
    let tree = installed("hang", &HOSTS);
    let said = osu(&["--bare", "--rounds", "2", "--limit", "2"], &tree, &["put_latency", "--", "-i", "1000000000000"]);
    said.expect(!said.success, "an endless program passed for one that ran");
    said.expect(said.stdout.matches("no end after 2 seconds").count() == 2, "one line for either host");
    let end = Instant::now() + Duration::from_secs(5);
    while running_below(&tree) > 0 {
        said.expect(Instant::now() < end, "its processes still run");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How many processes run an executable of this tree.
fn running_below(tree: &Path) -> usize {
    let processes = fs::read_dir("/proc").expect("the processes").flatten();
    let executables = processes.filter_map(|process| fs::read_link(process.path().join("exe")).ok());
    executables.filter(|executable| executable.starts_with(tree)).count()
}

#[test]
fn a_directory_that_is_no_such_tree_is_named() {
    let missing = scratch("missing").join("nothing-here");
    let said = osu(&["--bare"], &missing, &[]);
    said.expect(!said.success, "a missing directory");
    said.says("nothing-here is not a directory");

    let said = osu(&["--bare"], &scratch("empty"), &[]);
    said.expect(!said.success, "an empty directory");
    said.says("no OSU one-sided benchmark is below");

    let sources = root().join("tests/osu_fixture");
    let said = osu(&["--bare"], &sources, &[]);
    said.expect(!said.success, "a tree that is not built");
    said.says("name a tree that is built or installed");

    let without_mpi = scratch("without-mpi");
    let source = without_mpi.join("empty.c");
    fs::write(&source, "int main(void) { return 0; }\n").expect("a source file");
    compile("cc", &source, &without_mpi.join("mpi/one-sided/osu_put_latency"));
    let said = osu(&["--bare"], &without_mpi, &[]);
    said.expect(!said.success, "programs without MPI");
    said.says("link neither MPICH nor Open MPI");

    let said = osu(&["--bare"], &installed("names", &[Host::Mpich]), &["put_letancy"]);
    said.expect(!said.success, "an unknown program");
    said.says("osu_put_letancy is not in this tree; there are osu_get_bw, osu_put_latency");
}
