//! `transom exec` and the preloaded object: what runs unharmed, what cannot be served and is told so, and how the host MPI is found.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use common::{Family, Job, Side};

/// A directory of a test's own, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = format!("transom-exec-{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        Scratch(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A program or object, of `tests/programs/SOURCE.c`.
    fn compile(&self, compiler: &str, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let out = self.path(name);
        let source = common::root().join("tests/programs").join(source).with_extension("c");
        let mut command = Command::new(compiler);
        command
            .args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
            .arg(&out)
            .arg(source)
            .args(flags);
        let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        out
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        allow(&path, 0o755);
        path
    }

    /// Some of the built files, laid out anew.
    fn copy(&self, files: &[(&str, &str)]) {
        for (from, to) in files {
            let to = self.path(to);
            fs::create_dir_all(to.parent().expect("below the directory")).expect("a directory of our own");
            fs::copy(common::dist(from), &to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

const BUILT: [(&str, &str); 2] = [("bin/transom", "bin/transom"), ("lib/transom/libtransom.so", "lib/transom/libtransom.so")];

/// A command with a time limit for all that it starts, and no variable that another job may have set.
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60"]).arg(program);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("TRANSOM_") || name == "LD_PRELOAD") {
            command.env_remove(name);
        }
    }
    command
}

fn transom_exec() -> Command {
    let mut command = command(common::dist("bin/transom"));
    command.arg("exec");
    command
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the programs of these tests write text")
}

/// Exit status, standard output and error of a command, whose arguments are the rest.
#[track_caller]
fn expect(command: &mut Command, arguments: &[&str], status: i32, stdout: &str, stderr: &str) {
    let output = run(command.args(arguments));
    let got = (output.status.code(), text(&output.stdout), text(&output.stderr));
    assert_eq!(got, (Some(status), stdout, stderr), "{command:?}");
}

#[test]
fn programs_without_mpi_run_as_they_always_do() {
    expect(&mut transom_exec(), &["/bin/true"], 0, "", "");
    expect(&mut transom_exec(), &["--", "false"], 1, "", "");
    expect(&mut transom_exec(), &["sh", "-c", "echo out; echo err >&2; exit 7"], 7, "out\n", "err\n");
    expect(&mut transom_exec(), &["printf", "<%s>", "a", "b c", "", "--help", "--"], 0, "<a><b c><><--help><-->", "");
    expect(&mut transom_exec(), &["sh", "-c", "echo $0", "name"], 0, "name\n", "");
    expect(&mut transom_exec(), &["env", "A=1", "sh", "-c", "echo $A"], 0, "1\n", "");
    expect(&mut transom_exec(), &["python3", "-c", "import sys; print(sys.argv); sys.exit(3)", "x"], 3, "['-c', 'x']\n", "");
    let killed = run(transom_exec().args(["sh", "-c", "kill -9 $$"]));
    assert_eq!(killed.status.signal(), Some(9), "timeout ends as its command did");
}

#[test]
fn signals_and_descriptors_are_inherited() {
    let transom = common::dist("bin/transom");
    let show = "grep Sig[BI] /proc/self/status; ls /proc/self/fd; cat";
    for before in ["trap '' PIPE INT; exec \"$@\" <&-", "exec \"$@\" 2>&-", "exec \"$@\" </etc/hostname 7</etc/hostname"] {
        let bare = run(command("sh").args(["-c", before, "sh", "sh", "-c", show]));
        let ours = run(command("sh").args(["-c", before, "sh"]).arg(&transom).args(["exec", "sh", "-c", show]));
        assert!(bare.stdout.len() > 40, "{}", text(&bare.stdout));
        assert_eq!(text(&ours.stdout), text(&bare.stdout), "{before}");
        assert_eq!(text(&ours.stderr), text(&bare.stderr), "{before}");
    }
}

#[test]
fn what_cannot_run_is_said_as_the_shell_says_it() {
    let scratch = Scratch::new();
    let plain = scratch.path("plain.txt");
    fs::write(&plain, "text").expect("a file of our own");
    let plain = plain.to_str().expect("UTF-8");
    let missing = scratch.path("missing");
    let missing = missing.to_str().expect("UTF-8");
    expect(
        &mut transom_exec(),
        &["no-such-program"],
        127,
        "",
        "transom: cannot run no-such-program: No such file or directory\n",
    );
    expect(&mut transom_exec(), &[missing], 127, "", &format!("transom: cannot run {missing}: No such file or directory\n"));
    expect(&mut transom_exec(), &[plain], 126, "", &format!("transom: cannot run {plain}: Permission denied\n"));
    let option = "transom: exec has no option --frob (see transom exec --help)\n";
    expect(&mut transom_exec(), &["--frob", "true"], 125, "", option);
    for arguments in [&[][..], &["--"]] {
        let output = run(transom_exec().args(arguments));
        assert_eq!(output.status.code(), Some(125));
        assert!(text(&output.stderr).starts_with("Usage: transom exec"), "{}", text(&output.stderr));
    }
}

#[test]
fn help_and_version_are_given() {
    let transom = common::dist("bin/transom");
    let version = concat!("transom ", env!("CARGO_PKG_VERSION"), "\n");
    expect(&mut command(&transom), &["--version"], 0, version, "");
    for arguments in [&["--help"][..], &["exec", "--help"]] {
        let output = run(command(&transom).args(arguments));
        assert!(output.status.success() && text(&output.stdout).contains("transom exec [--] PROGRAM [ARGUMENT]..."));
    }
    let output = run(command(&transom).arg("frobnicate"));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn scripts_run_by_their_interpreter_or_the_shell() {
    let scratch = Scratch::new();
    let with = scratch.script("with", "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\n");
    let without = scratch.script("without", "echo \"$@\"; exit 4\n");
    let of_script = scratch.script("of_script", &format!("#!{} x\n", with.display()));
    expect(&mut transom_exec(), &[with.to_str().unwrap(), "a b"], 0, "['a b']\n", "");
    expect(&mut transom_exec(), &[without.to_str().unwrap(), "a b"], 4, "a b\n", "");
    let script = of_script.to_str().unwrap();
    expect(&mut transom_exec(), &[script], 0, &format!("['x', '{script}']\n"), "");
}

#[test]
fn what_was_preloaded_stays_before_us() {
    let scratch = Scratch::new();
    let plain = scratch.compile("gcc", "plain", "exec_plain", &[]);
    let tool = scratch.compile("gcc", "tool.so", "exec_refusing_engine", &["-shared", "-fPIC"]);
    let tool = tool.to_str().expect("UTF-8");
    let ours = common::dist("lib/transom/libtransom.so").canonicalize().expect("it is there");
    let (ours, plain) = (ours.to_str().expect("UTF-8"), plain.to_str().expect("UTF-8"));

    expect(&mut transom_exec(), &[plain], 9, &format!("preload={ours}\n"), "");
    expect(transom_exec().env("LD_PRELOAD", tool), &[plain], 9, &format!("preload={tool}:{ours}\n"), "");
    let both = format!("{ours} {tool}");
    expect(transom_exec().env("LD_PRELOAD", both), &[plain], 9, &format!("preload={tool}:{ours}\n"), "");
    let transom = common::dist("bin/transom");
    let nested = ["env", &format!("LD_PRELOAD={ours}:{tool}"), transom.to_str().expect("UTF-8"), "exec", "--", plain];
    expect(&mut transom_exec(), &nested, 9, &format!("preload={tool}:{ours}\n"), "");
}

#[test]
fn objects_are_looked_for_in_two_places() {
    let scratch = Scratch::new();
    scratch.copy(&[("bin/transom", "alone/bin/transom")]);
    let alone = scratch.path("alone/bin");
    let alone_text = alone.display();
    let missing = format!("transom: libtransom.so is neither in {alone_text} nor in {alone_text}/../lib/transom\n");
    expect(command(alone.join("transom")).arg("exec"), &["true"], 125, "", &missing);

    scratch.copy(&[("bin/transom", "beside/transom"), ("lib/transom/libtransom.so", "beside/libtransom.so")]);
    scratch.copy(&BUILT);
    for (transom, object) in [("beside/transom", "beside/libtransom.so"), ("bin/transom", "lib/transom/libtransom.so")] {
        let object = scratch.path(object).canonicalize().expect("copied above");
        let expected = format!("{}\n", object.display());
        expect(command(scratch.path(transom)).arg("exec"), &["sh", "-c", "echo $LD_PRELOAD"], 0, &expected, "");
    }

    let spaced = [("bin/transom", "with space/transom"), ("lib/transom/libtransom.so", "with space/libtransom.so")];
    scratch.copy(&spaced);
    let output = run(command(scratch.path("with space/transom")).args(["exec", "true"]));
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("has a space or a colon in it"), "{}", text(&output.stderr));
}

/// The program runs, with this line before its output; and with TRANSOM_REQUIRE it does not.
#[track_caller]
fn told_that_it_cannot_be_served(program: &Path, why: &str, after: &str, preload: &str) {
    let shown = program.display();
    let line = format!("transom: {shown} {why}: it cannot be served");
    let output = run(transom_exec().arg(program));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(9), &*format!("{line}{after}\n")));
    assert_eq!(text(&output.stdout), format!("preload={preload}\n"));
    let output = run(transom_exec().env("TRANSOM_REQUIRE", "1").arg(program));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(126), &*format!("{line}, and TRANSOM_REQUIRE is set\n")));
    assert_eq!(text(&output.stdout), "", "it ran all the same");
}

#[test]
fn a_static_program_is_told_that_it_cannot_be_served() {
    let scratch = Scratch::new();
    let ours = common::dist("lib/transom/libtransom.so").canonicalize().expect("it is there");
    for flag in ["-static", "-static-pie"] {
        let program = scratch.compile("gcc", flag, "exec_plain", &[flag]);
        let after = " (programs that it starts will be)";
        told_that_it_cannot_be_served(&program, "is statically linked", after, ours.to_str().expect("UTF-8"));
    }
}

#[test]
fn a_set_user_id_program_is_told_that_it_cannot_be_served() {
    let why = "runs with the rights of another user or group";
    // SAFETY: only returns a number.
    if unsafe { libc::geteuid() } != 0 {
        // Only root can make one; everyone else has one of root's at hand.
        let output = run(transom_exec().args(["/usr/bin/su", "--version"]));
        assert_eq!(text(&output.stderr), format!("transom: /usr/bin/su {why}: it cannot be served\n"));
        return;
    }
    let scratch = Scratch::new();
    let program = scratch.compile("gcc", "program", "exec_plain", &[]);
    for (user, group, mode) in [(Some(12345), None, 0o4755), (Some(0), Some(12345), 0o2755)] {
        chown(&program, user, group).expect("root may");
        allow(&program, mode);
        assert_eq!(program.metadata().expect("it is there").mode() & 0o7777, mode);
        told_that_it_cannot_be_served(&program, why, "", "(none)");
    }
    // The bit that gives root what root has already changes nothing.
    chown(&program, Some(0), Some(0)).expect("root may");
    allow(&program, 0o6755);
    let output = run(transom_exec().arg(&program));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(9), ""));
}

#[test]
fn code_for_another_machine_is_told_so() {
    let scratch = Scratch::new();
    let program = scratch.compile("gcc", "program", "exec_plain", &[]);
    let whole = fs::read(&program).expect("just compiled");
    // The class (32 bits) and the machine in the ELF header.
    for (at, value) in [(4, 1), (18, 2)] {
        let mut changed = whole.clone();
        changed[at] = value;
        let other = scratch.path(&format!("other{at}"));
        fs::write(&other, changed).expect("a file of our own");
        allow(&other, 0o755);
        let output = run(transom_exec().arg(&other));
        let line = format!("transom: {} is for another kind of machine: it cannot be served", other.display());
        assert!(text(&output.stderr).starts_with(&line), "{}", text(&output.stderr));
    }
}

#[test]
fn without_a_host_nothing_is_initialized() {
    let scratch = Scratch::new();
    let program = scratch.compile("gcc", "program", "exec_no_host", &["-ldl"]);
    expect(&mut command(&program), &[], 0, "initialized=-1\n", "");
    let lines = "transom: MPI_Win_sync is called, but no MPI is loaded\ntransom: MPI_Win_c2f is called, but no MPI is loaded\n";
    expect(transom_exec().arg(&program), &[], 0, "initialized=0\nsync=16\nsync=16\nc2f=0\n", lines);
}

#[test]
fn an_mpi_of_no_known_family_is_left_alone() {
    let scratch = Scratch::new();
    let toy = scratch.compile("gcc", "libtoy.so", "exec_toy_mpi", &["-shared", "-fPIC", "-Wl,-soname,libtoy.so"]);
    let directory = scratch.0.to_str().expect("UTF-8");
    let flags = ["-DPROGRAM", toy.to_str().expect("UTF-8"), "-Wl,-rpath", directory];
    let program = scratch.compile("gcc", "program", "exec_toy_mpi", &flags);
    let answers = "rget_accumulate=111\nrget_accumulate=111\ncompare_and_swap=222\n";

    expect(&mut command(&program), &[], 0, &format!("{answers}rput_c=-1\nrput_c=-1\n"), "");
    let reason = format!("transom: the MPI at {} (Toy MPI 1.0) is of no family that is served", toy.display());
    let lines =
        format!("{reason}; all calls go to the host MPI\ntransom: MPI_Rput_c is called, which the host MPI does not have\n");
    expect(transom_exec().arg(&program), &[], 0, &format!("{answers}rput_c=16\nrput_c=16\n"), &lines);
    let line = format!("{reason}; TRANSOM_REQUIRE is set, so the program ends here\n");
    expect(transom_exec().env("TRANSOM_REQUIRE", "1").arg(&program), &[], 1, "", &line);
}

/// Two ranks behind the command of another layout than the one that is tested.
fn two_ranks_behind(transom: &Path, side: Side, program: &Path) -> Job {
    let bare = Side { transom: false, ..side };
    Job::of_executable(bare, transom.to_path_buf()).arg("exec").arg(program).ranks(2)
}

fn without_its_engine_the_host_answers(on: Side) {
    let scratch = Scratch::new();
    scratch.copy(&BUILT);
    let program = scratch.compile(&on.host.compiler(), "ring", "exec_ring", &["-ldl"]);
    let job = two_ranks_behind(&scratch.path("bin/transom"), on, &program);
    let engine = scratch.path(match on.host.family() {
        Family::Mpich => "lib/transom/libtransom_mpich.so",
        Family::OpenMpi => "lib/transom/libtransom_ompi.so",
    });

    let outcome = job.passes();
    outcome.expect(outcome.lines_with("all calls go to the host MPI").count() == 2, "one line from each process");
    outcome.expect(outcome.lines_with(engine.to_str().expect("UTF-8")).count() == 2, "the line names the file");
    outcome.expect(outcome.lines_with("ring: rank").count() == 2, "both ranks ran");
    let outcome = job.clone().env("TRANSOM_REQUIRE", "1").fails();
    outcome.expect(outcome.lines_with("ring: rank").count() == 0, "a rank ran all the same");

    scratch.compile("gcc", engine.to_str().expect("UTF-8"), "exec_refusing_engine", &["-shared", "-fPIC"]);
    let outcome = job.passes();
    outcome.expect(outcome.lines_with("is of another build than libtransom.so").count() == 2, "one line from each process");
    outcome.expect(outcome.lines_with("another thread").count() == 0, "the engine's call waited for itself");
    outcome.expect(outcome.lines_with("ring: rank").count() == 2, "both ranks ran");
}

/// A program that is linked to `libmpi_abi` instead of the host's own interface.
fn an_mpi_of_the_standards_interface_is_left_alone(on: Side) {
    let scratch = Scratch::new();
    let ring = scratch.compile(&on.host.command("mpicc_abi"), "ring", "exec_ring", &["-ldl"]);
    let job = two_ranks_behind(&common::dist("bin/transom"), on, &ring);
    let outcome = job.passes();
    outcome.expect(outcome.lines_with("has the binary interface of MPI 5").count() == 2, "one line from each process");
    outcome.expect(outcome.lines_with("ring: rank").count() == 2, "both ranks ran");
    let outcome = job.env("TRANSOM_REQUIRE", "1").fails();
    outcome.expect(outcome.lines_with("ring: rank").count() == 0, "a rank ran all the same");
}

fn behind_a_script(on: Side) {
    let scratch = Scratch::new();
    let script = scratch.script("wrapper", "#!/bin/sh\necho wrapper\n\"$@\"\nstatus=$?\necho ended with $status\nexit $status\n");
    let ring = scratch.compile(&on.host.compiler(), "ring", "exec_ring", &["-ldl"]);
    let outcome = Job::of_executable(on, script).arg(ring).ranks(2).passes();
    outcome.expect(outcome.lines_with("ring: rank").count() == 2, "both ranks ran");
    outcome.expect(outcome.lines_with("ended with 0").count() == 2, "the script went on after them");
}

fn behind_itself(on: Side) {
    let scratch = Scratch::new();
    let ring = scratch.compile(&on.host.compiler(), "ring", "exec_ring", &["-ldl"]);
    let transom = common::dist("bin/transom");
    let outcome = Job::of_executable(on, transom).arg("exec").arg(ring).ranks(2).passes();
    outcome.expect(outcome.stderr.is_empty(), "nothing is to be said");
}

fn with_address_sanitizer(on: Side) {
    let scratch = Scratch::new();
    let ring = scratch.compile(&on.host.compiler(), "ring", "exec_ring", &["-ldl", "-fsanitize=address"]);
    // The hosts themselves leak.
    let job = Job::of_executable(on, ring.clone()).ranks(2).env("ASAN_OPTIONS", "detect_leaks=0");
    let outcome = job.passes();
    outcome.expect(outcome.lines_with("ring: rank").count() == 2, "both ranks ran");
    // As the help says, for a program whose runtime the command cannot know of.
    let script = scratch.script("wrapper", "#!/bin/sh\nexec \"$@\"\n");
    let options = "detect_leaks=0:verify_asan_link_order=0";
    Job::of_executable(on, script).arg(ring).ranks(2).env("ASAN_OPTIONS", options).passes();
}

/// A profiling tool sees each call of two ranks that run `exec_ring` once, and what it calls is ours.
#[track_caller]
fn sees_everything(on: Side, job: &Job) {
    let outcome = job.passes();
    let behind = if on.transom { "behind=libtransom.so" } else { "behind=libmpi" };
    let seen = format!("tool: starts=1 fences=2 puts=1 {behind}");
    outcome.expect(outcome.lines_with(&seen).count() == 2, "the tool sees each call once, and calls the right object");
    outcome.expect(outcome.lines_with("ring: rank").count() == 2, "both ranks ran");
}

fn a_preloaded_tool_wraps_us(on: Side) {
    let scratch = Scratch::new();
    let tool = scratch.compile(&on.host.compiler(), "tool.so", "exec_tool", &["-shared", "-fPIC", "-ldl"]);
    let ring = scratch.compile(&on.host.compiler(), "ring", "exec_ring", &["-ldl"]);
    // Where the harness puts Transom in front, programs insist on MPI_Put being its: here it is the tool's.
    let transom = common::dist("bin/transom");
    let job = if on.transom { two_ranks_behind(&transom, on, &ring) } else { Job::of_executable(on, ring).ranks(2) };
    sees_everything(on, &job.env("TRANSOM_REQUIRE", "1").env_of_part("LD_PRELOAD", tool.to_str().expect("UTF-8")));
}

fn a_linked_tool_wraps_us(on: Side) {
    let scratch = Scratch::new();
    let flags = ["-shared", "-fPIC", "-ldl", "-Wl,-soname,libtool.so"];
    let tool = scratch.compile(&on.host.compiler(), "libtool.so", "exec_tool", &flags);
    let directory = scratch.0.to_str().expect("UTF-8");
    let flags = ["-ldl", tool.to_str().expect("UTF-8"), "-Wl,-rpath", directory];
    let ring = scratch.compile(&on.host.compiler(), "ring", "exec_ring", &flags);
    sees_everything(on, &Job::of_executable(on, ring).ranks(2));
}

fn an_mpi_outside_the_search_order_is_found(on: Side) {
    let scratch = Scratch::new();
    let plugin = scratch.compile(&on.host.compiler(), "plugin.so", "exec_plugin", &["-DPLUGIN", "-shared", "-fPIC"]);
    let program = scratch.compile("gcc", "program", "exec_plugin", &["-ldl"]);
    let outcome = Job::of_executable(on, program).arg(plugin).ranks(2).passes();
    outcome.expect(outcome.lines_with("ring: rank").count() == 2, "both ranks ran");
}

fn an_mpi_that_comes_late_is_found(on: Side) {
    let scratch = Scratch::new();
    let plugin = scratch.compile(&on.host.compiler(), "plugin.so", "exec_plugin", &["-DPLUGIN", "-shared", "-fPIC"]);
    let program = scratch.compile("gcc", "program", "exec_no_host", &["-ldl"]);
    let outcome = Job::of_executable(on, program).arg(plugin).passes();
    let answers = "initialized=0\nsync=16\nsync=16\nc2f=0\nbefore=0\nstart=0\nafter=1\nend=0\n";
    outcome.expect(outcome.stdout == answers, "wrong answers");
}

fn first_calls_from_many_threads(on: Side) {
    on.program("exec_threads").ranks(2).passes();
}

on_hosts! {
    without_its_engine_the_host_answers, bare: [] "there is nothing to compare with";
    an_mpi_of_the_standards_interface_is_left_alone, not under: [mpich openmpi openmpi5 impi] "only MPICH 5 brings the compiler",
        bare: [] "there is nothing to compare with";
    behind_a_script;
    behind_itself, bare: [] "the launcher's command would be the tested one";
    with_address_sanitizer;
    a_preloaded_tool_wraps_us;
    a_linked_tool_wraps_us;
    an_mpi_outside_the_search_order_is_found;
    an_mpi_that_comes_late_is_found, bare: [] "the program has no MPI to ask for";
    first_calls_from_many_threads;
}
