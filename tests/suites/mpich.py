"""ci/suite mpich: MPICH's own tests of windows and one-sided communication, under MPICH or Open MPI, behind Transom or bare.

The sources are those of Debian's source package; mpich.txt says of each test whether it applies. Number of ranks, arguments, time limit
and what passing means are the suite's own.
"""

import argparse
import fnmatch
import hashlib
import math
import os
import re
import shutil
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import common
from common import HOSTS, SUITES, Failure

VERSION = "4.0.2"
ARCHIVE = f"mpich_{VERSION}.orig.tar.xz"
SHA256 = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"

OURS = SUITES / "mpich"
SOURCE = OURS / f"mpich-{VERSION}" / "test" / "mpi"
LIST = Path(__file__).with_suffix(".txt")

# In the order of the suite.
FOLDERS = (
    "attr",
    "rma",
    "f77/attr",
    "f77/rma",
    "cxx/rma",
    "f90/attr",
    "f90/rma",
    "f08/attr",
    "f08/rma",
    "errors/rma",
    "threads/rma",
)
DEFAULT_RANKS = 2
DEFAULT_LIMIT = 180
CORES = len(os.sched_getaffinity(0))
COMPILERS_AT_ONCE = 2


@dataclass
class Test:
    """A line of the suite's lists."""

    name: str  # FOLDER/PROGRAM
    ranks: int = DEFAULT_RANKS
    arguments: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    launcher_flags: list[str] = field(default_factory=list)
    limit: int = DEFAULT_LIMIT
    rule: str = ""  # resultTest: what passing means, where it is not the usual
    xfail: str = ""

    @property
    def folder(self):
        return self.name.rpartition("/")[0]

    @property
    def program(self):
        return self.name.rpartition("/")[2]

    @property
    def patience(self):
        """The time limit in seconds, multiplied where ranks share cores, as the suite lets one do: MPICH's waits spin and never yield."""
        return self.limit * math.ceil(self.ranks / CORES)

    def __str__(self):
        return " ".join([self.name, f"-n {self.ranks}", *self.arguments])


# --- the sources


def fetch():
    """The suite's sources, by apt with a configuration of its own: the system's need not know source packages."""
    stamp = OURS / "fetched"
    if stamp.exists():
        return
    print("fetching the sources of mpich", VERSION, flush=True)
    apt = OURS / "apt"
    for directory in ("parts", "state/lists/partial", "cache/archives/partial"):
        (apt / directory).mkdir(parents=True, exist_ok=True)
    (apt / "parts" / "debian.sources").write_text(
        f"Types: deb-src\nURIs: {MIRROR}\nSuites: bookworm\nComponents: main\nSigned-By: {KEYRING}\n"
    )
    configuration = apt / "apt.conf"
    configuration.write_text(
        f'Dir::Etc::SourceList "/dev/null";\n'
        f'Dir::Etc::SourceParts "{apt}/parts";\n'
        f'Dir::State "{apt}/state";\n'
        f'Dir::Cache "{apt}/cache";\n'
        'APT::Sandbox::User "root";\n'  # apt's own user may not write here
    )
    environment = {**os.environ, "APT_CONFIG": str(configuration)}
    build(["apt-get", "-q", "update"], environment=environment)
    offered = build(["apt-cache", "showsrc", "mpich"], environment=environment)
    found = re.search(rf"^Version: ({re.escape(VERSION)}-\S+)$", offered, re.MULTILINE)
    if not found:
        raise Failure(f"{MIRROR} has no source package of mpich {VERSION}")
    archives = OURS / "archives"
    archives.mkdir(exist_ok=True)
    build(["apt-get", "-q", "source", "--download-only", f"mpich={found[1]}"], directory=archives, environment=environment)
    archive = archives / ARCHIVE
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != SHA256:
        raise Failure(f"{ARCHIVE} is not the expected file: its SHA-256 is {digest}")
    below = f"mpich-{VERSION}/test/mpi/"
    with tarfile.open(archive) as whole:
        whole.extractall(OURS, [member for member in whole if member.name.startswith(below)])
    stamp.touch()


def build(words, *, directory=None, environment=None):
    """Standard output of a command on the way to the tests."""
    if not shutil.which(words[0]):
        raise Failure(f"{words[0]} is not installed")
    done = subprocess.run(words, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise Failure("\n".join([f"{words[0]} failed", *common.end_of(done.stdout + done.stderr)]))
    return done.stdout


# --- the lists


def read_tests(folder):
    """Tests of a folder, in the suite's order."""
    directory = SOURCE / folder
    template = directory / "testlist.in"
    text = (template if template.exists() else directory / "testlist").read_text()
    for line in text.splitlines():
        # What stands between @ is a comment sign in builds that leave the test out; here mpich.txt decides.
        words = re.sub(r"@\w+@", "", line.partition("#")[0]).split()
        if words:
            yield read_test(folder, *words)


def read_test(folder, program, ranks=DEFAULT_RANKS, *options):
    test = Test(f"{folder}/{program}", int(ranks))
    for option in options:
        key, _, value = option.partition("=")
        match key:
            case "arg":
                test.arguments.append(value)
            case "env":
                name, _, value = value.partition("=")
                test.environment[name] = value
            case "mpiexecarg":
                test.launcher_flags.append(value)
            case "timeLimit":
                test.limit = int(value)
            case "resultTest":
                test.rule = value
            case "xfail":
                test.xfail = value
            case "strict" | "mpix" | "lock" | "mem":
                pass  # of no meaning here: everything is run, one after the other
            case _:
                raise Failure(f"{folder}/testlist says {option} of {program}, which is not known here")
    return test


def read_list(host):
    """Name -> why it is skipped under this host, or an empty text, in mpich.txt."""
    reasons = {}
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        words = line.partition("#")[0].split(maxsplit=2)
        match words:
            case []:
                pass
            case [name, "run"]:
                reasons.setdefault(name, "")
            case [name, "skip", reason]:
                reasons[name] = reason
            case [name, word, reason] if word == f"skip-{host.key}":
                reasons[name] = reason
            case [name, word, _] if word.removeprefix("skip-") in HOSTS:
                reasons.setdefault(name, "")
            case _:
                raise Failure(f"{LIST.name}:{number}: neither NAME run, NAME skip REASON nor NAME skip-HOST REASON")
    return reasons


def select(names, reasons):
    """Tests and why they are skipped (an empty text: they are run). A test or a pattern that is named is run whatever mpich.txt says,
    a folder's tests as it says."""
    every = [test for folder in FOLDERS for test in read_tests(folder)]
    known = {test.name for test in every}
    for name in reasons.keys() - known:
        raise Failure(f"{LIST.name} names {name}, which the suite does not have")
    for test in every:
        if not test.folder.endswith("attr") and test.name not in reasons:
            raise Failure(f"{LIST.name} says nothing of {test.name}")
    folders = [name.rstrip("/") for name in names if name.rstrip("/") in FOLDERS]
    patterns = [name for name in names if name.rstrip("/") not in FOLDERS]
    for pattern in patterns:
        if not fnmatch.filter(known, pattern):
            raise Failure(f"{pattern} is neither a folder nor a test; folders are {', '.join(FOLDERS)}")
    for test in every:
        if any(fnmatch.fnmatchcase(test.name, pattern) for pattern in patterns):
            yield test, ""
        elif test.name in reasons and (test.folder in folders or not names):
            yield test, reasons[test.name] or (test.xfail and f"the suite expects it to fail: {test.xfail}")


# --- building


@dataclass(frozen=True)
class Language:
    compiler: str
    extension: str
    support: tuple[str, ...]  # what each of its programs is linked with
    flags: tuple[str, ...] = ()


MTEST = ("util/mtest.c", "util/mtest_common.c")
DTPOOLS = tuple(
    f"dtpools/src/{name}.c"
    for name in ("dtpools", "dtpools_misc", "dtpools_init_verify", "dtpools_desc", "dtpools_attr", "dtpools_custom")
)
LANGUAGES = {
    "f77": Language("mpifort", ".f", ("util/mtest_f77.f",)),
    "f90": Language("mpifort", ".f90", ("util/mtest_f90.f90",)),
    "f08": Language("mpifort", ".f90", ("util/mtest_f08.f90",)),
    "cxx": Language("mpicxx", ".cxx", ("util/mtest_cxx.cxx", "util/mtest_common.c")),
    "threads": Language("mpicc", ".c", (*MTEST, "util/mtest_thread.c", *DTPOOLS), ("-DMTEST_USE_THREAD",)),
}
C = Language("mpicc", ".c", (*MTEST, "util/mtest_single.c", *DTPOOLS))

# gfortran takes calls of one choice-buffer procedure with arguments of several types for errors.
FORTRAN_FLAGS = ("-O1", "-g", "-fallow-argument-mismatch")
C_FLAGS = ("-O1", "-g", "-pthread")
# The suite uses functions that MPI-3 removed. Open MPI still has them, and makes using them an error at compile time.
HOST_FLAGS = {"openmpi": ("-DOMPI_OMIT_MPI1_COMPAT_DECLS=0", "-D__mpi_interface_removed__(old,new)=")}


class Builder:
    """Builds tests with a host's compilers, in a directory of that host. The suite's configure finds out what compilers and MPI have; its
    makefiles are not used, since they have no Fortran 2008 unless MPICH itself is built around them."""

    def __init__(self, host):
        self.host = host
        self.directory = OURS / host.key
        self.makefiles = {}

    @cached_property
    def compilers(self):
        return {wrapper: self.host.compiler(wrapper) for wrapper in ("mpicc", "mpicxx", "mpifort")}

    def configure(self):
        """Runs configure, unless it has been run with these compilers."""
        versions = [build([compiler, "--version"]) for compiler in self.compilers.values()]
        versions += [build([self.compilers["mpicc"], "-show"]), build([self.host.launcher, "--version"])]
        options = [
            *(f"{name}={self.compilers['mpicc']}" for name in ("CC", "MPICC")),
            *(f"{name}={self.compilers['mpicxx']}" for name in ("CXX", "MPICXX")),
            *(f"{name}={self.compilers['mpifort']}" for name in ("F77", "MPIF77", "FC", "MPIFC")),
            f"MPIEXEC={self.host.launcher}",
            f"FFLAGS={' '.join(FORTRAN_FLAGS)}",
            f"FCFLAGS={' '.join(FORTRAN_FLAGS)}",
            "--enable-threads=multiple",
            *(f"--disable-{part}" for part in ("spawn", "romio", "part", "perftest", "collalgo-tests")),
        ]
        key = "\n".join([*options, str(C_FLAGS), str(HOST_FLAGS), str(LANGUAGES), *versions])
        stamp = self.directory / "configured"
        if stamp.exists() and stamp.read_text() == key:
            return
        print(f"configuring the tests for {self.host.title}", flush=True)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        build([str(SOURCE / "configure"), *options], directory=self.directory)
        stamp.write_text(key)

    def makefile(self, folder):
        """Variables of the suite's makefile of a folder: what a program is made of, where that is not the source of its name."""
        if folder not in self.makefiles:
            text = (SOURCE / folder / "Makefile.am").read_text().replace("\\\n", " ")
            self.makefiles[folder] = dict(re.findall(r"^(\w+)\s*=\s*(.*)$", text, re.MULTILINE))
        return self.makefiles[folder]

    def compile(self, source, flags):
        """The object file of a source, with flags that tell programs apart."""
        name = source.replace("/", "-")
        if flags:
            name += "-" + hashlib.sha256(" ".join(flags).encode()).hexdigest()[:12]
        target = self.directory / "objects" / f"{name}.o"
        if target.exists():
            return target
        folder = source.rpartition("/")[0]
        places = [folder, "include", "dtpools/include", "dtpools"]
        if folder.startswith("f"):
            places.append(folder.partition("/")[0] + "/attr")
        includes = [f"-I{root / place}" for place in places for root in (self.directory, SOURCE)]
        if source.endswith((".f", ".f90")):
            # Modules, if there are any, go to a directory of their own: two compilers may be at work.
            modules = target.with_suffix(".modules")
            modules.mkdir(parents=True, exist_ok=True)
            wrapper, own = "mpifort", [*FORTRAN_FLAGS, f"-J{modules}"]
        else:
            wrapper = "mpicxx" if source.endswith(".cxx") else "mpicc"
            own = ["-DHAVE_CONFIG_H", "-w", *C_FLAGS, *HOST_FLAGS.get(self.host.key, ()), *flags]
        target.parent.mkdir(parents=True, exist_ok=True)
        return self.produce(target, [self.compilers[wrapper], *own, *includes, "-c", str(SOURCE / source)])

    def produce(self, target, words):
        """Runs a compiler; the file gets its name when it is whole, since two programs may want it at once."""
        own = target.with_name(f"{target.name}.{os.getpid()}.{id(words)}")
        try:
            build([*words, "-o", str(own)])
            own.replace(target)
        finally:
            own.unlink(missing_ok=True)
        return target

    def program(self, name):
        """The executable of a test. Raises what the compiler says."""
        target = self.directory / "programs" / name
        if target.exists():
            return target
        folder, _, program = name.rpartition("/")
        language = LANGUAGES.get(folder.partition("/")[0], C)
        makefile = self.makefile(folder)
        sources = makefile.get(f"{program}_SOURCES", program + language.extension).split()
        flags = [word for word in makefile.get(f"{program}_CPPFLAGS", "").split() if word.startswith("-D")]
        objects = [self.compile(f"{folder}/{source}", [*language.flags, *flags]) for source in sources if not source.endswith(".h")]
        objects += [self.compile(source, language.flags) for source in language.support]
        target.parent.mkdir(parents=True, exist_ok=True)
        return self.produce(target, [self.compilers[language.compiler], "-pthread", *map(str, objects), "-lm"])

    def build_all(self, names):
        """Name -> executable, or the Failure that it met."""

        def one(name):
            try:
                return self.program(name)
            except Failure as failure:
                return failure

        names = list(dict.fromkeys(names))
        missing = [name for name in names if not (self.directory / "programs" / name).exists()]
        if missing:
            print(f"building {len(missing)} programs for {self.host.title}", flush=True)
        with ThreadPoolExecutor(COMPILERS_AT_ONCE) as pool:
            return dict(zip(names, pool.map(one, names)))


# --- running


def verdict(test, outcome):
    """Why a test fails by the suite's own rule, or an empty text. Both streams count."""
    if outcome.late:
        return f"no end after {test.patience} seconds"
    if outcome.strays:
        return "processes were left behind: " + "; ".join(outcome.strays)
    # Fortran's runtime says it where a program ends by STOP.
    lines = [line for line in (outcome.stdout + "\n" + outcome.stderr).splitlines() if line and "FORTRAN STOP" not in line]
    good = [line for line in lines if re.fullmatch(r"\s*No [Ee]rrors\s*", line)]
    other = [line for line in lines if line not in good and not re.fullmatch(r"\s*Test Passed\s*", line)]
    match test.rule:
        case "":
            if not good:
                return "it does not say No Errors"
            if other:
                return "it says more than No Errors"
            return f"exit status {outcome.status}" if outcome.status else ""
        case "TestErrFatal":
            return "" if outcome.status else "exit status 0, but the program must fail"
        case "TestStatus":
            return "" if outcome.status else "exit status 0, but the program must fail"
        case "TestStatusNoErrors":
            if not good or other:
                return "it does not say No Errors, and only that"
            return "" if outcome.status else "exit status 0, but the program must fail"
        case rule:
            raise Failure(f"{test.name}: the rule {rule} is not known here")


def run_test(host, test, executable, *, transom):
    """Why it fails, or an empty text, and what came of it."""
    outcome = common.launch(
        host,
        [executable, *test.arguments],
        ranks=test.ranks,
        transom=transom,
        limit=test.patience,
        environment=test.environment,
        launcher_flags=test.launcher_flags,
    )
    return verdict(test, outcome), outcome


def command():
    parser = argparse.ArgumentParser(
        prog="ci/suite mpich",
        description=__doc__.split(": ", 1)[1].split("\n\n")[0],
        epilog=f"NAME is a folder ({', '.join(FOLDERS)}), a test such as rma/winname, or a pattern such as 'rma/win_shared*'. "
        "What mpich.txt skips is run where a test or a pattern names it.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all that mpich.txt has")
    parser.add_argument("--host", required=True, choices=HOSTS, help="the MPI to build with and run under")
    parser.add_argument("--bare", action="store_true", help="the host alone, without Transom")
    arguments = parser.parse_args()
    host, transom = HOSTS[arguments.host], not arguments.bare
    if transom:
        common.require_transom()

    fetch()
    selected = list(select(arguments.names, read_list(host)))
    builder = Builder(host)
    builder.configure()
    programs = builder.build_all([test.name for test, reason in selected if not reason])

    summary = common.Summary(transom)
    for test, reason in selected:
        if reason:
            summary.skips(test, reason)
            continue
        executable = programs[test.name]
        if isinstance(executable, Failure):
            summary.fails(test, 0, str(executable))
            summary.bare_fails(test, "it does not compile")
            continue
        complaint, outcome = run_test(host, test, executable, transom=transom)
        summary.statistics.add(outcome.statistics)
        if complaint:
            summary.fails(test, outcome.seconds, f"{outcome.stdout}\n{outcome.stderr}\n{complaint}")
            if transom:
                summary.bare_fails(test, run_test(host, test, executable, transom=False)[0])
        else:
            summary.passes(test, outcome.seconds)
    return summary.finish(need_operations=not arguments.names)


if __name__ == "__main__":
    common.main("ci/suite mpich", command)
