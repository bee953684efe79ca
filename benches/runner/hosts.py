"""The MPIs that programs run under, alone and with Transom preloaded."""

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DIST = ROOT / "target" / "dist"
TRANSOM = DIST / "bin" / "transom"
BUILT = ROOT / "target" / "bench"

BARE, WITH_TRANSOM = "bare", "with Transom"
RANKS = 2

CFLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"]


class Failure(Exception):
    """A program that did not do what it was started for; the text is for the user."""


@dataclass(frozen=True)
class Host:
    key: str
    title: str
    libraries: str  # what a program that is built with it NEEDs, as a pattern
    bind: tuple[str, ...]
    always: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def mpicc(self):
        return f"mpicc.{self.key}"

    @property
    def mpirun(self):
        return f"mpirun.{self.key}"

    @cached_property
    def version(self):
        text = run_plain([self.mpirun, "--version"], limit=20, environment=self.environment)
        found = re.search(r"\d+\.\d+(\.\d+)?", text)
        if not found:
            raise Failure(f"{self.mpirun} --version names no version")
        return found.group()

    @property
    def name(self):
        return f"{self.title} {self.version}"

    def compile(self, output, sources):
        output.parent.mkdir(parents=True, exist_ok=True)
        run_plain([self.mpicc, *CFLAGS, "-o", str(output), *map(str, sources)], limit=120)

    def run(self, program, *, transom, limit, environment=()):
        """Standard output of `program` (a list) on two ranks, each on its own core where there are two."""
        bind = self.bind if cores() >= RANKS else ()
        command = [self.mpirun, *self.always, *bind, "-n", str(RANKS)]
        environment = dict(self.environment) | dict(environment)
        if transom:
            command += [str(TRANSOM), "exec"]
            # Without it an engine that hands every call to the host would be measured as if it were one.
            environment["TRANSOM_REQUIRE"] = "1"
        return run_plain([*command, *map(str, program)], limit=limit, environment=environment.items())


MPICH = Host("mpich", "MPICH", r"libmpich\.so|libmpi\.so\.12$", bind=("-bind-to", "core"))
OPEN_MPI = Host(
    "openmpi",
    "Open MPI",
    r"libmpi\.so\.(40|80)$",
    bind=("--bind-to", "core"),
    always=("--oversubscribe",),
    environment=(("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")),
)
HOSTS = (MPICH, OPEN_MPI)

SWAP_NOTE = "Open MPI alone runs compare_and_swap with OMPI_MCA_osc=^rdma: 4.1 crashes with what it chooses itself."


def swap_environment(host, variant):
    """For programs that compare and swap: see SWAP_NOTE, and issue 11349 of open-mpi/ompi."""
    return {"OMPI_MCA_osc": "^rdma"} if (host, variant) == (OPEN_MPI, BARE) else {}


def run_plain(command, *, limit, environment=()):
    if not shutil.which(command[0]):
        raise Failure(f"{command[0]} is not installed")
    start = time.monotonic()
    # A launcher that is told to end ends its ranks too; one that is killed at once may leave them behind.
    timed = ["timeout", "-k", "5", str(limit), *command]
    environment = {**os.environ, **dict(environment)}
    done = subprocess.run(timed, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode and time.monotonic() - start >= limit:
        raise Failure(f"no end after {limit} seconds")
    if done.returncode != 0:
        raise Failure(essence(done.stderr, done.stdout) or f"exit status {done.returncode}")
    return done.stdout


def essence(*streams):
    """The first lines of a failed job that say something: Transom's, else the program's, else the launcher's, which come in boxes
    that rulers make."""
    own, boxed = {}, {}  # in order, each line once: every rank may say it
    for stream in streams:
        in_box = False
        for line in map(str.strip, stream.splitlines()):
            if re.fullmatch(r"[-=]{20,}", line):
                in_box = not in_box
            elif line and not line.startswith("/"):  # a stack of addresses
                (boxed if in_box else own)[line] = True
    transom = [line for line in own if line.startswith("transom")]
    return "; ".join((transom or list(own) or list(boxed))[:2])


def build_transom():
    """ci/build, with what it says of its progress, and without the paths that it prints."""
    if subprocess.run([str(ROOT / "ci" / "build")], stdout=subprocess.DEVNULL).returncode != 0:
        raise Failure("ci/build failed")
    require_transom()


def require_transom():
    if not TRANSOM.exists():
        raise Failure(f"{TRANSOM} does not exist: run ci/build")


def variants(bare_only):
    return (BARE,) if bare_only else (BARE, WITH_TRANSOM)


def prepare(arguments):
    """What every command does first, from its own --bare and --no-build."""
    if arguments.bare:
        return
    if arguments.no_build:
        require_transom()
    else:
        build_transom()


def add_common_options(parser):
    parser.add_argument("--bare", action="store_true", help="the hosts alone, without Transom")
    parser.add_argument("--no-build", action="store_true", help="use target/dist as it is")


def main(name, command):
    """Runs `command()`, which returns an exit status, and says failures in one line."""
    try:
        sys.exit(command())
    except Failure as failure:
        sys.exit(f"{name}: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


def progress(text):
    """One line that is overwritten, for whoever watches a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def cores():
    return len(os.sched_getaffinity(0))


def placement():
    return "each bound to a core of its own" if cores() >= RANKS else "both on one core"


class Crowd:
    """Work of others on this machine's cores since it was made."""

    def __init__(self):
        self.busy, self.all = self.machine()
        self.own = self.ours()

    @staticmethod
    def machine():
        """Seconds that its cores were busy, and that they had."""
        with open("/proc/stat") as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]
        second = os.sysconf("SC_CLK_TCK")
        return (sum(ticks) - idle) / second, sum(ticks) / second

    @staticmethod
    def ours():
        """Seconds of this process and of all that it started and that ended."""
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in used)

    def warning(self):
        """A line when others took enough to be seen in the figures, else nothing."""
        busy, available = (now - before for now, before in zip(self.machine(), (self.busy, self.all)))
        share = (busy - (self.ours() - self.own)) / available if available > 0 else 0
        return f"Other work took {share:.0%} of this machine's cores meanwhile: the figures are noisy." if share > 0.05 else ""


def median(values):
    return statistics.median(values) if values else None


def significant(value, digits=3):
    """1234.5 -> 1,234; 12.34 -> 12.3; 0.8 -> 0.800; None -> -."""
    if value is None:
        return "-"
    if abs(value) < 1:
        return f"{value:#.{digits}g}"
    return f"{value:,.{max(digits - len(str(int(abs(value)))), 0)}f}"
