"""The MPIs that programs run under, alone and with Transom preloaded."""

import os
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DIST = ROOT / "target" / "dist"
TRANSOM = DIST / "bin" / "transom"
BUILT = ROOT / "target" / "bench"

BARE, WITH_TRANSOM = "bare", "with Transom"

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

    def run(self, program, *, transom, limit):
        """Standard output of `program` (a list) on two ranks, each on its own core where there are two."""
        bind = self.bind if len(os.sched_getaffinity(0)) >= 2 else ()
        command = [self.mpirun, *self.always, *bind, "-n", "2"]
        environment = dict(self.environment)
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


def run_plain(command, *, limit, environment=()):
    timed = ["timeout", "-k", "5", str(limit), *command]
    try:
        done = subprocess.run(timed, env={**os.environ, **dict(environment)}, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Failure("the command `timeout` is missing: install coreutils") from None
    if done.returncode == 127:
        raise Failure(f"{command[0]} is not installed")
    if done.returncode in (124, 137):
        raise Failure(f"no end after {limit} seconds")
    if done.returncode != 0:
        raise Failure(essence(done.stderr) or essence(done.stdout) or f"exit status {done.returncode}")
    return done.stdout


def essence(text):
    """The first lines that say something: a launcher surrounds them with rulers and advice."""
    lines = [line.strip() for line in text.splitlines()]
    saying = [line for line in lines if line.strip("-=* ")]
    ours = [line for line in saying if line.startswith("transom")]
    return "; ".join((ours or saying)[:3])


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


def main(command):
    """Runs `command()`, which returns an exit status, and says failures in one line."""
    try:
        sys.exit(command())
    except Failure as failure:
        sys.exit(f"{Path(sys.argv[0]).stem}: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)


def progress(text):
    """One line that is overwritten, for whoever watches a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def crowd():
    """A warning when other work shares the cores, else nothing."""
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    return f"Other work ran on this machine (load {load:.1f} on {cores} cores): the figures are noisy." if load > 1 else ""


def median(values):
    return statistics.median(values) if values else None


def significant(value, digits=3):
    """1234.5 -> 1,234; 12.34 -> 12.3; 0.01234 -> 0.0123; None -> -."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    magnitude = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    if magnitude == 0:
        return f"{value:.{digits}g}"
    return f"{value:,.{max(digits - magnitude, 0)}f}"
