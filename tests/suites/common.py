"""What tests of others need here: the hosts, launches with a time limit that leaves no process behind, and the summary."""

import collections
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TRANSOM = ROOT / "target" / "dist" / "bin" / "transom"
SUITES = ROOT / "target" / "suites"

# Every process of a launch inherits it. A process group would not do: Hydra gives each rank a session of its own, and Open MPI's launcher
# each rank a group.
MARK = "TRANSOM_SUITE_JOB"
# How long processes may outlast their launcher.
PATIENCE = 5
# How much of the beginning of a stream, and of its end, is kept: a broken job can write for minutes.
KEPT = 100_000


class Failure(Exception):
    """What ends the whole run; the text is for the user."""


@dataclass(frozen=True)
class Host:
    """An MPI with its launcher and what the launcher needs to start more ranks than there are cores."""

    key: str
    title: str
    flags: tuple[str, ...] = ()

    @property
    def launcher(self):
        return f"mpirun.{self.key}"

    def compiler(self, wrapper):
        """Debian's name of mpicc, mpicxx or mpifort."""
        return f"{wrapper}.{self.key}"


HOSTS = {
    host.key: host
    for host in (
        Host("mpich", "MPICH"),
        # A rank that is bound to one core would meet those of another job there.
        Host("openmpi", "Open MPI", ("--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1")),
    )
}


class Stream(threading.Thread):
    """Reads what a process writes, so that it never waits, and keeps beginning and end."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.head, self.tail, self.lost = pipe, b"", b"", 0
        self.start()

    def run(self):
        while chunk := self.pipe.read1(1 << 16):
            room = KEPT - len(self.head)
            self.head += chunk[:room]
            self.tail += chunk[room:]
            surplus = max(len(self.tail) - KEPT, 0)
            self.tail = self.tail[surplus:]
            self.lost += surplus

    def text(self):
        gap = b"\n[%d bytes left out]\n" % self.lost if self.lost else b""
        return (self.head + gap + self.tail).decode(errors="replace")


@dataclass
class Statistics:
    """What Transom says of its work at MPI_Finalize, summed over launches."""

    served: int = 0  # windows
    declined: int = 0
    operations: dict = field(default_factory=collections.Counter)  # by path and kind
    bytes: dict = field(default_factory=collections.Counter)

    LINE = re.compile(
        r"transom: (?:rank \d+: )?stats: "
        r"(?:windows (?P<served>\d+) served (?P<declined>\d+) host|(?P<kind>\w+) (?P<operations>\d+) operations (?P<bytes>\d+) bytes (?P<path>\w+))"
    )

    def take_from(self, text):
        """Adds what the text says, and returns the text without those lines."""
        rest = []
        for line in text.splitlines(keepends=True):
            found = self.LINE.fullmatch(line.rstrip("\n"))
            if not found:
                rest.append(line)
            elif found["kind"]:
                self.operations[found["path"], found["kind"]] += int(found["operations"])
                self.bytes[found["path"], found["kind"]] += int(found["bytes"])
            else:
                self.served += int(found["served"])
                self.declined += int(found["declined"])
        return "".join(rest)

    def add(self, other):
        self.served += other.served
        self.declined += other.declined
        self.operations.update(other.operations)
        self.bytes.update(other.bytes)

    def lines(self):
        """A line for the windows, then one for each path."""
        yield f"windows: {self.served} served by Transom, {self.declined} left to the host"
        paths = list(dict.fromkeys(path for path, _ in self.operations))
        if not self.any_operation():
            yield "operations served: none"
        for path in paths:
            counts = [
                f"{kind} {count} ({self.bytes[path, kind]} bytes)" for (at, kind), count in self.operations.items() if at == path and count
            ]
            if counts:
                yield f"operations served, {path}: {', '.join(counts)}"

    def any_operation(self):
        return any(self.operations.values())


@dataclass
class Outcome:
    """What came of a launch."""

    command: list[str]
    status: int  # that of a signal is negative
    stdout: str
    stderr: str  # without the lines of Transom's statistics
    statistics: Statistics
    seconds: float
    late: bool  # ended by the time limit
    strays: list[str]  # what outlasted the launcher


def launch(host, program, *, ranks, transom, limit, environment=(), launcher_flags=()):
    """Runs `program` (a list of words) on `ranks` ranks, behind Transom or bare, for `limit` seconds at most."""
    if not shutil.which(host.launcher):
        raise Failure(f"{host.launcher} is not installed")
    words = [host.launcher, *host.flags, *launcher_flags, "-n", ranks]
    variables = {}
    if transom:
        words += [TRANSOM, "exec", "--"]
        # Without the first, an engine that hands every window to the host would pass as well.
        variables |= {"TRANSOM_REQUIRE": "1", "TRANSOM_STATS": "1"}
    return run([*words, *program], limit=limit, environment={**variables, **dict(environment)})


_serials = itertools.count()


def run(words, *, limit, environment=(), directory=None):
    """Runs a command for `limit` seconds at most and ends whatever it leaves behind."""
    words = [str(word) for word in words]
    mark = f"{os.getpid()}-{next(_serials)}"
    # A directory of its own, so that killed jobs leave nothing behind; a short name, since Open MPI makes sockets in it.
    with tempfile.TemporaryDirectory(prefix="transom-", ignore_cleanup_errors=True) as scratch:
        own = {"TMPDIR": scratch, MARK: mark, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        for component in ("btl_vader", "osc_rdma", "osc_sm"):
            own[f"OMPI_MCA_{component}_backing_directory"] = scratch
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TRANSOM_") and name != "LD_PRELOAD"}
        start = time.monotonic()
        process = subprocess.Popen(
            # If this script is killed, the launcher is told, and ends its ranks.
            ["setpriv", "--pdeathsig", "TERM", *words],
            cwd=directory or scratch,
            env={**inherited, **own, **dict(environment)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            streams = Stream(process.stdout), Stream(process.stderr)
            try:
                process.wait(timeout=limit)
                late = False
            except subprocess.TimeoutExpired:
                late = True
            seconds = time.monotonic() - start
            strays = [] if late else [describe(pid) for pid in outlasting(mark)]
        finally:
            kill_all(mark)
            status = process.wait()
        for stream in streams:
            stream.join(timeout=PATIENCE)
    statistics = Statistics()
    stderr = statistics.take_from(streams[1].text())
    return Outcome(words, status, streams[0].text(), stderr, statistics, seconds, late, strays)


def marked(mark):
    """Processes that carry the mark and have not ended (a zombie's environment is empty)."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                variables = Path("/proc", entry, "environ").read_bytes().split(b"\0")
            except OSError:
                continue  # gone, or another user's
            if wanted in variables:
                found.append(int(entry))
    return found


def outlasting(mark):
    """Marked processes that do not end by themselves."""
    end = time.monotonic() + PATIENCE
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def kill_all(mark):
    """Kills marked processes until none is left: a parent may fork while its children are being killed."""
    end = time.monotonic() + 10
    while left := marked(mark):
        if time.monotonic() > end:
            raise Failure(f"processes {left} cannot be killed")
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def describe(pid):
    try:
        words = Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        words = "gone"
    return f"{pid}: {words}"


def require_transom():
    if not TRANSOM.exists():
        raise Failure(f"{TRANSOM} does not exist: run ci/build")


@dataclass
class Summary:
    """Counts results, says each as it comes, and the whole at the end."""

    transom: bool  # not a run of the bare host
    passed: int = 0
    skipped: int = 0
    failures: list = field(default_factory=list)  # name, output
    bare: dict = field(default_factory=dict)  # what the bare host does with a failure: passes, or fails and why
    statistics: Statistics = field(default_factory=Statistics)

    def passes(self, name, seconds):
        self.passed += 1
        self._say("pass", f"{seconds:.1f} s", name)

    def skips(self, name, reason):
        self.skipped += 1
        self._say("skip", "", f"{name}: {reason}")

    def fails(self, name, seconds, output):
        self.failures.append((name, output))
        self._say("FAIL", f"{seconds:.1f} s", name)

    def bare_fails(self, name, complaint):
        """What a test that failed does without Transom; an empty complaint says that it passes."""
        self.bare[str(name)] = f"fails: {complaint}" if complaint else "passes"

    def _say(self, result, time, text):
        print(f"{result} {time:>8}  {text}", flush=True)

    def finish(self, *, need_operations=True):
        """Prints failures, statistics and, last, the counts. Returns the exit status."""
        for name, output in self.failures:
            print(f"\n== {name}")
            print("\n".join(f"    {line}" for line in end_of(output)))
            if str(name) in self.bare:
                print(f"bare host: {self.bare[str(name)]}")
        print()
        idle = False
        if self.transom:
            print("\n".join(self.statistics.lines()))
            idle = not (self.statistics.any_operation() if need_operations else self.statistics.served)
            if idle:
                print(f"this run shows nothing: Transom served no {'operation' if need_operations else 'window'}")
        print(f"{self.passed} passed, {len(self.failures)} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failures or idle else 0


def end_of(text, lines=25, width=300):
    """The last lines of an output, none of them endless."""
    all_lines = text.rstrip().splitlines()
    if len(all_lines) > lines:
        yield f"[{len(all_lines) - lines} lines left out]"
    for line in all_lines[-lines:]:
        yield line if len(line) <= width else f"{line[:width]}…"


def main(name, command):
    """Runs `command()`, which returns an exit status, and says what ends the run in one line. SIGTERM ends it as Ctrl-C does: what
    was started is ended too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(command())
    except Failure as failure:
        sys.exit(f"{name}: {failure}")
    except KeyboardInterrupt:
        print(f"{name}: ended by a signal", file=sys.stderr)
        sys.exit(130)
