"""ci/quickstart: the one-sided programs on two ranks, under both hosts, bare and with Transom, in one table."""

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass

import hosts
from hosts import BARE, BUILT, HOSTS, WITH_TRANSOM

ROUNDS = 5
SECONDS = 160  # after the build; fewer rounds on a machine that is too slow for all
ONE_RUN = 40
LATENCY_ITERATIONS = 2000  # MPICH alone takes tens of microseconds each where the target has to help
SOURCES = hosts.ROOT / "benches" / "osu"
SHARED_SOURCES = ("data", "onesided", "options")
SIZES = {8: "8 B", 4096: "4 KiB", 65536: "64 KiB", 1048576: "1 MiB"}


@dataclass(frozen=True)
class Job:
    program: str
    title: str
    sync: str
    sizes: tuple[int, ...]
    window: str = "allocate"
    fixed: bool = False  # the program knows its only size
    latency: bool = True

    def arguments(self):
        sizes = [] if self.fixed else ["-m", f"{min(self.sizes)}:{max(self.sizes)}"]
        return ["-w", self.window, "-s", self.sync, *sizes, *(["-n", "-i", LATENCY_ITERATIONS] if self.latency else [])]

    def __str__(self):
        return f"{self.program} -w {self.window} -s {self.sync}"


EPOCHS = ("flush", "flush_local", "lock", "lock_all", "pscw", "fence")
BANDWIDTH = (65536, 1048576)

JOBS = [
    *[Job("put_latency", "put latency, ns", sync, (8, 4096)) for sync in EPOCHS],
    Job("put_latency", "put latency on memory of malloc, ns", "flush", (8,), window="create"),
    *[Job("get_latency", "get latency, ns", sync, (8, 4096)) for sync in ("flush", "lock", "fence")],
    *[Job("acc_latency", "accumulate latency (sum of MPI_CHAR), ns", "flush", (size,)) for size in (8, 65536)],
    *[Job("get_acc_latency", "get_accumulate latency (sum of MPI_CHAR), ns", "flush", (size,)) for size in (8, 65536)],
    *[Job("fop_latency", "fetch_and_op latency (sum), ns", sync, (8,), fixed=True) for sync in ("flush", "lock")],
    *[Job("cas_latency", "compare_and_swap latency, ns", sync, (8,), fixed=True) for sync in ("flush", "lock")],
    Job("put_bw", "put bandwidth, MB/s", "flush", BANDWIDTH, latency=False),
    Job("get_bw", "get bandwidth, MB/s", "flush", BANDWIDTH, latency=False),
    Job("put_bibw", "put bandwidth both ways, MB/s", "fence", BANDWIDTH, latency=False),
]


def compile_programs():
    for host in HOSTS:
        hosts.progress(f"compiling with {host.mpicc}")
        for program in dict.fromkeys(job.program for job in JOBS):
            host.compile(BUILT / host.key / program, [SOURCES / f"{name}.c" for name in (program, *SHARED_SOURCES)])


def table_of(output):
    """Size -> value, of a program's output in the OSU format."""
    rows = (line.split() for line in output.splitlines() if line[:1].isdigit())
    return {int(row[0]): float(row[1]) for row in rows}


class Figures:
    def __init__(self):
        self.values = defaultdict(list)
        self.failures = {}
        self.rounds = 0

    def round(self, variants):
        for job in JOBS:
            for host in HOSTS:
                for variant in variants:
                    if (job, host, variant) not in self.failures:
                        self.measure(job, host, variant)
        self.rounds += 1

    def measure(self, job, host, variant):
        hosts.progress(f"round {self.rounds + 1} of {ROUNDS}: {job}, {host.name} {variant}")
        program = [BUILT / host.key / job.program, *job.arguments()]
        try:
            environment = hosts.swap_environment(host, variant) if job.program == "cas_latency" else {}
            table = table_of(host.run(program, transom=variant == WITH_TRANSOM, limit=ONE_RUN, environment=environment))
            for size in job.sizes:
                self.values[job, host, variant, size].append(table[size])
        except (hosts.Failure, KeyError) as failure:
            self.failures[job, host, variant] = str(failure)

    def median(self, job, host, variant, size):
        return hosts.median(self.values[job, host, variant, size])

    def speedup(self, job, host, size):
        bare, ours = (self.median(job, host, variant, size) for variant in (BARE, WITH_TRANSOM))
        if bare is None or ours is None or min(bare, ours) <= 0:
            return None
        return bare / ours if job.latency else ours / bare


def times(factor):
    return "-" if factor is None else f"{hosts.significant(factor, 2)} x"


def print_table(figures):
    print(f"{'':26}" + "".join(f"{host.name:>36}" for host in HOSTS))
    print(f"{'':26}" + "".join(f"{BARE:>12}{WITH_TRANSOM:>14}{'faster':>10}" for _ in HOSTS))
    title = None
    for job in JOBS:
        if job.title != title:
            title = job.title
            print(title)
        for size in job.sizes:
            line = f"    {job.sync:<12}{SIZES[size]:>8}  "
            for host in HOSTS:
                for variant, width in ((BARE, 12), (WITH_TRANSOM, 14)):
                    line += f"{hosts.significant(figures.median(job, host, variant, size)):>{width}}"
                line += f"{times(figures.speedup(job, host, size)):>10}"
            print(line)


def command():
    parser = argparse.ArgumentParser(prog="ci/quickstart", description=__doc__.split(": ", 1)[1])
    hosts.add_common_options(parser)
    arguments = parser.parse_args()
    hosts.prepare(arguments)
    compile_programs()

    figures, crowd = Figures(), hosts.Crowd()
    start = time.monotonic()
    while figures.rounds < ROUNDS:
        if figures.rounds and (time.monotonic() - start) * (figures.rounds + 1) / figures.rounds > SECONDS:
            break
        figures.round(hosts.variants(arguments.bare))
    hosts.progress("")

    print("One-sided communication between two ranks on this machine: the installed MPI alone, and with Transom.")
    print("Windows of MPI_Win_allocate unless something else is said; flush, lock and so on: what completes the operations.")
    print("pscw is MPI_Win_post, start, complete and wait; it and fence pass the turn between the ranks.")
    print(f"Ranks {hosts.placement()}; medians of {figures.rounds} rounds.\n")
    print_table(figures)
    print()
    for note in (hosts.SWAP_NOTE, crowd.warning()):
        if note:
            print(note)
    for (job, host, variant), failure in figures.failures.items():
        print(f"\n{job}, {host.name} {variant}: {failure}", file=sys.stderr)
    transom = hosts.TRANSOM.relative_to(hosts.ROOT)
    print("\nNext, run your own program, as it is, with the mpirun that it was built for:")
    print(f"    mpirun.mpich -n 2 {transom} exec ./app")
    print(f"    mpirun.openmpi -n 2 {transom} exec ./app")
    return 1 if figures.failures else 0


if __name__ == "__main__":
    hosts.main("ci/quickstart", command)
