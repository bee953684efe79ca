//! `transom info`: what it says is so, whatever the machine refuses and whatever a library does that it looks at.

mod common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Host, Job, Side, dist, root};
use serde_json::Value;

/// A directory of a test's own, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = format!("transom-info-{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        Scratch(directory.canonicalize().expect("a directory of our own"))
    }

    /// `tests/programs/SOURCE.c` under a name that may lie in a new directory.
    fn compile(&self, compiler: &str, name: &str, source: &str, flags: &[&str]) -> String {
        let out = self.0.join(name);
        fs::create_dir_all(out.parent().expect("below the directory")).expect("a directory of our own");
        let source = root().join("tests/programs").join(source).with_extension("c");
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&out).arg(source).args(flags);
        let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        text(&out)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").into()
}

/// A job of the command alone: the harness ends it when it hangs, and sees what it leaves behind.
fn info(command: PathBuf) -> Job {
    let alone = Side { host: Host::Mpich, transom: false };
    Job::of_executable(alone, command).without_launcher().arg("info").limit(40)
}

fn in_text(job: &Job) -> String {
    let outcome = job.passes();
    outcome.expect(outcome.stderr.is_empty(), "nothing is to be said but the report");
    outcome.stdout
}

fn in_json(job: &Job) -> Value {
    let outcome = job.clone().arg("--json").passes();
    outcome.expect(outcome.stderr.is_empty(), "nothing is to be said but the report");
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}\n{outcome}"))
}

/// What a command that knows better prints.
fn output(command: &str) -> String {
    let output = Command::new("sh").args(["-c", command]).output().unwrap_or_else(|error| panic!("{command}: {error}"));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().into()
}

/// The host whose path ends so.
#[track_caller]
fn host<'a>(report: &'a Value, end: &str) -> &'a Value {
    let hosts = report["hosts"].as_array().expect("a list");
    let mut hosts = hosts.iter().filter(|host| host["path"].as_str().expect("a path").ends_with(end));
    let host = hosts.next().unwrap_or_else(|| panic!("no {end} in {report:#}"));
    assert!(hosts.next().is_none(), "{end} is there twice: {report:#}");
    host
}

#[track_caller]
fn expect_debians_hosts(report: &Value) {
    let mpich = output("mpirun.mpich --version | sed -n 's/^ *Version: *//p'");
    let open_mpi = output("ompi_info --version | sed -n 's/^Open MPI v//p'");
    let mut seen = Vec::new();
    for (end, name, version, family, engine) in [
        ("/libmpich.so.12", "MPICH", mpich, "mpich", "libtransom_mpich.so"),
        ("/libmpi.so.40", "Open MPI", open_mpi, "openmpi", "libtransom_ompi.so"),
    ] {
        let host = host(report, end);
        assert_eq!(host["name"], name, "{host:#}");
        assert_eq!(host["version"], version.as_str(), "{host:#}");
        assert_eq!(host["family"], family, "{host:#}");
        assert_eq!(host["served"], true, "{host:#}");
        assert_eq!(host["reason"], Value::Null, "{host:#}");
        assert!(host["says"].as_str().expect("a line").contains(&version), "{host:#}");
        let served_by = dist(&format!("lib/transom/{engine}")).canonicalize().expect("it is built");
        assert_eq!(host["engine"], text(&served_by).as_str(), "{host:#}");
        assert!(host["found"].as_array().expect("a list").iter().any(|way| way == "loader cache"), "{host:#}");
        seen.push(fs::canonicalize(host["path"].as_str().expect("a path")).expect("it is there"));
    }
    assert_ne!(seen[0], seen[1]);
}

/// As whom and where the command may run: this user; if that is root, another; and what users of containers are.
fn users() -> Vec<Vec<&'static str>> {
    let mut users = vec![vec![], vec!["unshare", "-Ur"]];
    // Root of a container may be the only user that it knows.
    let known = fs::read_to_string("/proc/self/uid_map").expect("the users that there are");
    let all = known.split_whitespace().last().and_then(|count| count.parse::<u64>().ok()).is_some_and(|count| count > 65_534);
    // SAFETY: geteuid only returns a number.
    if all && unsafe { libc::geteuid() } == 0 {
        users.push(vec!["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    users
}

#[test]
fn debians_hosts_are_found_and_served_for_every_user() {
    for user in users() {
        let report = in_json(&info(dist("bin/transom")).through(&user));
        expect_debians_hosts(&report);
        assert_eq!(report["machine"]["served"], true, "{user:?}: {report:#}");
        for facility in ["memfd", "proc_fd", "futex", "pidfd"] {
            let facility = &report["machine"]["facilities"][facility];
            assert_eq!((&facility["offered"], &facility["use"]), (&true.into(), &"used".into()), "{user:?}: {report:#}");
        }
    }
}

#[test]
fn people_read_the_same() {
    let command = || info(dist("bin/transom")).env("TRANSOM_STATS", "1");
    let (report, said) = (in_json(&command()), in_text(&command()));
    let object = dist("lib/transom/libtransom.so").canonicalize().expect("it is built");
    assert_eq!(report["transom"]["object"], text(&object).as_str());
    assert_eq!(said.lines().next(), Some(format!("transom {}: {}", env!("CARGO_PKG_VERSION"), object.display()).as_str()));
    for host in report["hosts"].as_array().expect("a list") {
        let of = |key: &str| host[key].as_str().expect("Debian's hosts say everything").to_owned();
        let path = of("path");
        let line =
            said.lines().find(|line| line.contains(&format!(" {path}:"))).unwrap_or_else(|| panic!("no {path} in\n{said}"));
        let called = format!("{} {} ({} family) ", of("name"), of("version"), of("family"));
        assert!(line.contains(&called), "{called}: {line}");
        assert!(line.ends_with(&format!("served by {}", of("engine").rsplit('/').next().expect("a name"))), "{line}");
    }
    for (name, facility) in report["machine"]["facilities"].as_object().expect("an object") {
        let name = match name.as_str() {
            "proc_fd" => "/proc/PID/fd",
            "huge_pages" => "huge pages",
            name => name,
        };
        let offered = if facility["offered"] == true { "yes" } else { "no" };
        let usage = facility["use"].as_str().expect("a word");
        let line =
            said.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("no {name} in\n{said}"));
        let words: Vec<_> = line.trim_start()[name.len()..].split_whitespace().collect();
        assert!(words.join(" ").starts_with(&format!("{offered} {usage} ")), "{line}");
    }
    assert!(said.lines().any(|line| line.split_whitespace().eq(["TRANSOM_STATS=1", "yes"])), "{said}");
}

#[test]
fn figures_agree_with_those_of_other_commands() {
    let limited = ["sh", "-c", "ulimit -S -l 64 && exec taskset -c 0 \"$@\"", "sh"];
    for (through, limit, cores) in
        [(&limited[..], "ulimit -S -l 64 && ulimit -l", "taskset -c 0 nproc"), (&[], "ulimit -l", "nproc")]
    {
        let machine = &in_json(&info(dist("bin/transom")).through(through))["machine"];
        let soft = output(limit).parse::<u64>().map_or(Value::Null, |kilobytes| (kilobytes << 10).into());
        assert_eq!(machine["memlock"]["soft"], soft, "{machine:#}");
        let hard = output("ulimit -H -l").parse::<u64>().map_or(Value::Null, |kilobytes| (kilobytes << 10).into());
        assert_eq!(machine["memlock"]["hard"], hard, "{machine:#}");
        assert_eq!(machine["cores"]["usable"].to_string(), output(cores), "{machine:#}");
        assert_eq!(machine["cores"]["online"].to_string(), output("getconf _NPROCESSORS_ONLN"), "{machine:#}");
        assert_eq!(machine["kernel"], output("uname -sr").as_str(), "{machine:#}");
        let shm = output("df --block-size=1 --output=size /dev/shm 2>/dev/null | tail -n 1 || true");
        assert_eq!(machine["dev_shm"]["size"], shm.parse::<u64>().map_or(Value::Null, Value::from), "{machine:#}");
        let meminfo = |name: &str| output(&format!("sed -n 's/^{name}: *\\([0-9]*\\).*/\\1/p' /proc/meminfo"));
        if let Ok(size) = meminfo("Hugepagesize").parse::<u64>() {
            let pages = machine["huge_pages"].as_array().expect("a list").iter().find(|pages| pages["size"] == size << 10);
            let pages = pages.unwrap_or_else(|| panic!("no pages of {size} kB in {machine:#}"));
            assert_eq!(pages["total"].to_string(), meminfo("HugePages_Total"), "{machine:#}");
            if pages["free"] == 0 {
                assert_eq!(machine["facilities"]["huge_pages"]["offered"], false, "{machine:#}");
            }
        }
    }
}

/// Facilities with the system call that each begins with, and whether that can be made here, asked in the simplest way.
fn facilities() -> [(&'static str, &'static str, bool); 5] {
    // SAFETY: calls that make descriptors, which are closed.
    unsafe {
        let made = |descriptor: libc::c_long| descriptor >= 0 && libc::close(descriptor as i32) == 0;
        let mut parameters = [0_u8; 120];
        [
            ("memfd", "memfd_create", made(libc::memfd_create(c"test".as_ptr(), 0).into())),
            ("pidfd", "pidfd_open", made(libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0))),
            ("userfaultfd", "userfaultfd", made(libc::syscall(libc::SYS_userfaultfd, 1))),
            ("io_uring", "io_uring_setup", made(libc::syscall(libc::SYS_io_uring_setup, 1, parameters.as_mut_ptr()))),
            ("process_vm", "process_vm_readv", may_read_sibling()),
        ]
    }
}

/// Whether a process may read another's memory that has the same parent: the kernel looks for the page only if it may.
fn may_read_sibling() -> bool {
    let mut sibling = Command::new("sleep").arg("60").spawn().expect("sleep");
    let pid = sibling.id() as i32;
    let mut reader = Command::new("true");
    // SAFETY: one system call that writes to memory of its own, of which there is none to read.
    unsafe {
        reader.pre_exec(move || {
            let mut bytes = [0_u8; 8];
            let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 8 };
            let remote = libc::iovec { iov_base: core::ptr::without_provenance_mut(8), iov_len: 8 };
            libc::process_vm_readv(pid, &local, 1, &remote, 1, 0);
            Err(std::io::Error::last_os_error())
        });
    }
    let refusal = reader.spawn().expect_err("nothing is mapped there");
    let _ = sibling.kill();
    let _ = sibling.wait();
    refusal.raw_os_error() == Some(libc::EFAULT)
}

#[test]
fn what_the_machine_refuses_is_said_with_the_reason() {
    let scratch = Scratch::new();
    let refuse = scratch.compile("gcc", "refuse", "info_refuse", &[]);
    let facilities = facilities();
    for (action, reason) in [("errno", "Operation not permitted"), ("kill", "killed by signal 31 (Bad system call)")] {
        for (refused, call, _) in facilities {
            let report = in_json(&info(dist("bin/transom")).through(&[&refuse, action, call, "--"]));
            expect_debians_hosts(&report);
            for (name, _, possible) in facilities {
                let facility = &report["machine"]["facilities"][name];
                let possible = possible && name != refused;
                assert_eq!(facility["offered"], possible, "{action} {call}: {name} in {report:#}");
                let detail = facility["detail"].as_str().expect("a text");
                if name == refused {
                    assert!(detail.contains(reason), "{action} {call}: {detail}");
                    // A process that was killed could not say in which call.
                    assert!(action == "kill" || detail.contains(call), "{action} {call}: {detail}");
                }
            }
            let served = refused != "memfd";
            assert_eq!(report["machine"]["served"], served, "{report:#}");
            assert_eq!(report["machine"]["reason"].is_null(), served, "{report:#}");
            assert_eq!(report["machine"]["facilities"]["proc_fd"]["offered"], served, "{report:#}");
        }
    }
    // Refused too when the call is there but a limit is in its way.
    let report = in_json(&info(dist("bin/transom")).through(&["sh", "-c", "ulimit -n 4 && exec \"$@\"", "sh"]));
    assert_eq!(report["machine"]["served"], false, "{report:#}");
    for (name, ..) in facilities {
        let detail = report["machine"]["facilities"][name]["detail"].as_str().expect("a text");
        assert!(detail.contains("Too many open files"), "{name}: {detail}");
    }
}

#[test]
fn ranks_that_see_no_processes_cannot_share() {
    // Processes are numbered anew, but /proc is that of the machine, as in a container that was put together by hand.
    let report = in_json(&info(dist("bin/transom")).through(&["unshare", "-Urp", "--fork"]));
    let machine = &report["machine"];
    assert_eq!(machine["facilities"]["memfd"]["offered"], true, "{report:#}");
    assert_eq!(machine["facilities"]["proc_fd"]["offered"], false, "{report:#}");
    assert_eq!(machine["facilities"]["proc_fd"]["without"], "windows are left to the host", "{report:#}");
    assert_eq!(machine["served"], false, "{report:#}");
    assert_eq!(machine["reason"], machine["facilities"]["proc_fd"]["detail"], "{report:#}");
}

#[test]
fn libraries_that_misbehave_are_said_and_harm_nobody() {
    let scratch = Scratch::new();
    let toy = |name: &str, define: &str| {
        let flags = ["-shared", "-fPIC", define];
        scratch.compile("gcc", &format!("{name}/libmpi.so.12"), "info_toy_mpi", &flags);
    };
    let hangs = "it did not answer within 10 s";
    let crashes = "its process was killed by signal 11 (Segmentation fault)";
    // Name, how it is compiled, whether it says its version, and what is said of it.
    let toys = [
        ("crashes", "-DLOADED=crash()", false, format!("{crashes} while being loaded")),
        ("crashes-late", "-DASKED=crash()", false, format!("{crashes} while being asked for its version")),
        ("ends", "-DLOADED=exit(3)", false, "its process ended with status 3 while being loaded".into()),
        ("hangs", "-DLOADED=hang()", false, format!("{hangs} while being loaded")),
        ("hangs-late", "-DASKED=hang()", false, format!("{hangs} while being asked for its version")),
        ("leaves-one", "-DLOADED=leave_one_behind()", true, "no PMPI_Abort".into()),
        ("poor", "-DPLAIN", true, "no PMPI_Abort".into()),
    ];
    for (name, define, ..) in &toys {
        toy(name, define);
    }
    scratch.compile("gcc", "stranger/libmpi.so.12", "exec_toy_mpi", &["-shared", "-fPIC"]);
    for broken in ["junk", "torn"] {
        fs::create_dir_all(scratch.0.join(broken)).expect("a directory of our own");
    }
    fs::write(scratch.0.join("junk/libmpi.so.12"), "not an object\n".repeat(100)).expect("a file of our own");
    let whole = fs::read(scratch.0.join("poor/libmpi.so.12")).expect("compiled above");
    fs::write(scratch.0.join("torn/libmpi.so.12"), &whole[..whole.len() / 5]).expect("a file of our own");
    fs::create_dir_all(scratch.0.join("nowhere")).expect("a directory of our own");
    std::os::unix::fs::symlink("/nonexistent", scratch.0.join("nowhere/libmpi.so.12")).expect("a link of our own");

    let mut places: Vec<_> =
        toys.iter().map(|(name, ..)| *name).chain(["stranger", "junk", "torn", "nowhere", "absent"]).collect();
    places.sort();
    let list = places.iter().map(|name| text(&scratch.0.join(name))).collect::<Vec<_>>().join(":");
    let pid = scratch.0.join("pid");
    let job = info(dist("bin/transom")).env("LD_LIBRARY_PATH", &list).env("TOY_PID", &text(&pid)).arg("--json");
    let outcome = job.passes();
    // All at once: two of them need their 10 s.
    outcome.expect(outcome.elapsed < Duration::from_secs(18), "one after the other");
    outcome.expect(outcome.stderr.is_empty(), "the libraries' own words are not to be seen");
    let left = fs::read_to_string(&pid).expect("the process that was left behind wrote its id");
    outcome.expect(!Path::new("/proc").join(&left).exists(), "the process that was left behind is still there");

    let report: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}\n{outcome}"));
    for (name, _, versioned, reason) in &toys {
        let toy = host(&report, &format!("/{name}/libmpi.so.12"));
        assert_eq!(toy["served"], false, "{toy:#}");
        assert!(toy["reason"].as_str().expect("a text").contains(reason.as_str()), "{reason}: {toy:#}");
        assert_eq!(toy["version"], if *versioned { "9.8.7".into() } else { Value::Null }, "{toy:#}");
        assert_eq!(toy["found"], Value::from(vec!["LD_LIBRARY_PATH"]), "{toy:#}");
    }
    for (name, reason) in [("stranger", "(Toy MPI 1.0) is of no family that is served"), ("junk", "the loader cannot load it: ")]
    {
        let host = host(&report, &format!("/{name}/libmpi.so.12"));
        assert!(host["reason"].as_str().expect("a text").contains(reason), "{reason}: {host:#}");
    }
    // The loader itself may crash on it.
    assert_eq!(host(&report, "/torn/libmpi.so.12")["served"], false);
    assert!(!outcome.stdout.contains("nowhere"), "the loader passes over such a link: {report:#}");
    assert_eq!(host(&report, "/libmpich.so.12")["served"], true, "{report:#}");
    assert_eq!(host(&report, "/libmpi.so.40")["served"], true, "{report:#}");
}

#[test]
fn a_program_is_told_what_it_would_get() {
    let scratch = Scratch::new();
    let ring = |host: Host| scratch.compile(&host.compiler(), &format!("ring.{}", host.name()), "exec_ring", &["-ldl"]);
    let (mpich, open_mpi) = (ring(Host::Mpich), ring(Host::OpenMpi));
    let binding = output(
        "ldconfig -p 2>/dev/null | sed -n 's/.*libmpi_mpifh.so.40 .* => //p' || /sbin/ldconfig -p | sed -n 's/.*libmpi_mpifh.so.40 .* => //p'",
    );
    let fixed = scratch.compile("gcc", "static", "exec_plain", &["-static"]);
    let inside = scratch.compile("gcc", "inside", "info_toy_mpi", &["-DPROGRAM"]);
    let library = scratch.compile("gcc", "lost/libmpi.so.7", "exec_toy_mpi", &["-shared", "-fPIC", "-Wl,-soname,libmpi.so.7"]);
    let lost = scratch.compile("gcc", "lost/program", "exec_toy_mpi", &["-DPROGRAM", &library]);
    let script = text(&scratch.0.join("script"));
    fs::write(&script, "#!/bin/sh\nexec true\n").expect("a file of our own");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a file of our own");
    let notes = text(&scratch.0.join("notes"));
    fs::write(&notes, "text\n").expect("a file of our own");

    let no_mpi = "is linked to no MPI; one that is loaded later is served as listed below";
    let asked: [(&str, Result<&str, &str>); 10] = [
        (&mpich, Ok("/libmpich.so.12")),
        (&open_mpi, Ok("/libmpi.so.40")),
        (&binding, Ok("/libmpi.so.40")),
        (&fixed, Err("cannot be served: it is statically linked")),
        (&inside, Err("cannot be served: an MPI is linked into it statically")),
        (&lost, Err("cannot be loaded: libmpi.so.7: cannot open shared object file: No such file or directory")),
        (&script, Err(no_mpi)),
        ("cat", Err(no_mpi)),
        (&notes, Err("is neither a program nor a library")),
        ("no-such-program", Err("cannot be looked at: No such file or directory")),
    ];
    let job = asked.iter().fold(info(dist("bin/transom")), |job, (argument, _)| job.arg(*argument));
    let (report, said) = (in_json(&job), in_text(&job));
    expect_debians_hosts(&report);
    for ((argument, expected), told) in asked.iter().zip(report["arguments"].as_array().expect("a list")) {
        assert_eq!(told["argument"], *argument);
        assert_eq!(told["served"], expected.is_ok(), "{told:#}");
        match expected {
            Ok(end) => {
                let (host, listed) = (&told["host"], host(&report, end));
                for key in ["path", "name", "version", "family", "engine", "served", "reason"] {
                    assert_eq!(host[key], listed[key], "{told:#}");
                }
                let path = host["path"].as_str().expect("a path");
                assert!(said.lines().any(|line| line.contains(argument) && line.contains(path)), "{argument} in\n{said}");
            }
            Err(reason) => {
                assert_eq!(told["reason"], *reason, "{told:#}");
                assert_eq!(told["host"], Value::Null, "{told:#}");
                assert!(said.lines().any(|line| line.contains(argument) && line.ends_with(reason)), "{argument} in\n{said}");
            }
        }
    }
    let path =
        |index: usize| fs::canonicalize(report["arguments"][index]["path"].as_str().expect("a path")).expect("it is there");
    assert_eq!(path(6), fs::canonicalize("/bin/sh").expect("a shell"));

    // What counts is what the loader would give it here and now.
    let job = info(dist("bin/transom")).env("LD_LIBRARY_PATH", &text(&scratch.0.join("lost"))).arg(&lost);
    let told = &in_json(&job)["arguments"][0];
    assert_eq!(told["host"]["path"], library.as_str(), "{told:#}");
    assert_eq!(told["host"]["name"], "Toy MPI", "{told:#}");
    assert_eq!(told["served"], false, "{told:#}");
}

#[test]
fn the_variables_in_effect_are_listed() {
    let job = info(dist("bin/transom")).env("TRANSOM_STATS", "1").env("TRANSOM_DISABLE", "no").env("TRANSOM_STAT", "1");
    let (report, said) = (in_json(&job), in_text(&job));
    let means = |name: &str| {
        let variables = report["variables"].as_array().expect("a list");
        variables.iter().find(|variable| variable["name"] == name).map(|variable| variable["means"].clone())
    };
    assert_eq!(means("TRANSOM_STATS"), Some(true.into()));
    assert_eq!(means("TRANSOM_DISABLE"), Some(false.into()));
    assert_eq!(means("TRANSOM_REQUIRE"), None);
    assert_eq!(means("TRANSOM_STAT"), Some(Value::Null));
    for line in ["TRANSOM_STATS=1  yes", "TRANSOM_DISABLE=no  no", "TRANSOM_STAT=1  not known to this version"] {
        assert!(said.lines().any(|said| said.trim() == line), "{line} in\n{said}");
    }
}

/// The built files of these names, laid out anew.
fn installed(scratch: &Scratch, objects: &[&str]) -> PathBuf {
    for file in ["bin/transom"].iter().chain(objects) {
        let to = scratch.0.join(file);
        fs::create_dir_all(to.parent().expect("below the directory")).expect("a directory of our own");
        fs::copy(dist(file), &to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    }
    scratch.0.join("bin/transom")
}

#[test]
fn an_incomplete_installation_is_told_so() {
    let scratch = Scratch::new();
    let report = in_json(&info(installed(&scratch, &["lib/transom/libtransom.so", "lib/transom/libtransom_ompi.so"])));
    assert_eq!(host(&report, "/libmpi.so.40")["served"], true, "{report:#}");
    let mpich = host(&report, "/libmpich.so.12");
    assert_eq!((&mpich["served"], &mpich["engine"]), (&false.into(), &Value::Null), "{report:#}");
    assert!(mpich["reason"].as_str().expect("a text").contains("libtransom_mpich.so"), "{report:#}");
    assert_eq!(mpich["family"], "mpich", "{report:#}");

    let scratch = Scratch::new();
    let report = in_json(&info(installed(&scratch, &[])));
    assert_eq!(report["transom"]["object"], Value::Null, "{report:#}");
    assert!(report["transom"]["reason"].as_str().expect("a text").starts_with("libtransom.so is neither in "), "{report:#}");
    let mpich = host(&report, "/libmpich.so.12");
    assert_eq!((&mpich["served"], &mpich["reason"]), (&false.into(), &"libtransom.so is missing".into()), "{report:#}");
}

#[test]
fn the_help_lists_every_key() {
    let scratch = Scratch::new();
    let ring = scratch.compile(&Host::Mpich.compiler(), "ring", "exec_ring", &["-ldl"]);
    let report = in_json(&info(dist("bin/transom")).env("TRANSOM_STATS", "1").arg(ring));
    let help = in_text(&info(dist("bin/transom")).arg("--help"));
    let words: Vec<_> = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    fn check(value: &Value, words: &[&str]) -> usize {
        match value {
            Value::Array(values) => values.iter().map(|value| check(value, words)).sum(),
            Value::Object(entries) => {
                entries.iter().for_each(|(key, _)| assert!(words.contains(&key.as_str()), "{key} is not in the help"));
                entries.len() + entries.values().map(|value| check(value, words)).sum::<usize>()
            }
            _ => 0,
        }
    }
    assert!(check(&report, &words) > 60);
}

#[test]
fn exit_statuses_are_those_of_most_commands() {
    let outcome = info(dist("bin/transom")).arg("--jason").run();
    outcome.expect(outcome.status.code() == Some(2), "a wrong option");
    outcome.expect(outcome.stderr == "transom: info has no option --jason (see transom info --help)\n", "it is named");
    outcome.expect(outcome.stdout.is_empty(), "and nothing else is said");
    // What comes behind -- is a name.
    let outcome = info(dist("bin/transom")).arg("--json").arg("--").arg("--jason").passes();
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}\n{outcome}"));
    assert_eq!(report["arguments"][0]["argument"], "--jason", "{report:#}");

    for (to, reason) in [(">/dev/full", "No space left on device"), (">&-", "closed")] {
        for form in ["--json", "--"] {
            let shell = format!("exec \"$@\" {to}");
            let outcome = info(dist("bin/transom")).arg(form).through(&["sh", "-c", &shell, "sh"]).run();
            outcome.expect(outcome.status.code() == Some(1), to);
            outcome.expect(outcome.stderr.contains(reason), reason);
        }
    }
    // The other two may be closed, and the report is whole.
    let report = in_json(&info(dist("bin/transom")).through(&["sh", "-c", "exec \"$@\" <&- 2>&-", "sh"]));
    expect_debians_hosts(&report);
    assert_eq!(report["machine"]["served"], true, "{report:#}");
}
