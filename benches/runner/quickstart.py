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
SOURCES = hosts.ROOT / "benches" / "osu"
PROGRAMS = ("put_latency", "get_latency", "put_bw", "get_bw", "put_bibw")
SIZES = {8: "8 B", 4096: "4 KiB", 65536: "64 KiB", 1048576: "1 MiB"}


@dataclass(frozen=True)
class Job:
    program: str
    title: str
    sync: str
    sizes: tuple[int, ...]
    latency: bool

    def arguments(self):
        return ["-s", self.sync, "-m", f"{min(self.sizes)}:{max(self.sizes)}", *(["-n"] if self.latency else [])]


JOBS = [
    *[Job("put_latency", "put latency, ns", sync, (8, 4096), True) for sync in ("flush", "lock", "fence")],
    *[Job("get_latency", "get latency, ns", sync, (8, 4096), True) for sync in ("flush", "lock", "fence")],
    Job("put_bw", "put bandwidth, MB/s", "flush", (65536, 1048576), False),
    Job("get_bw", "get bandwidth, MB/s", "flush", (65536, 1048576), False),
    Job("put_bibw", "put bandwidth both ways, MB/s", "fence", (65536, 1048576), False),
]


def compile_programs():
    for host in HOSTS:
        hosts.progress(f"compiling with {host.mpicc}")
        for program in PROGRAMS:
            shared = [SOURCES / "onesided.c", SOURCES / "options.c"]
            host.compile(BUILT / host.key / program, [SOURCES / f"{program}.c", *shared])


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
        hosts.progress(f"round {self.rounds + 1} of {ROUNDS}: {job.program} -s {job.sync}, {host.name} {variant}")
        program = [BUILT / host.key / job.program, *job.arguments()]
        try:
            table = table_of(host.run(program, transom=variant == WITH_TRANSOM, limit=ONE_RUN))
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
    print("Windows of MPI_Win_allocate; flush, lock and fence: what completes the transfers.")
    print(f"Ranks {hosts.placement()}; medians of {figures.rounds} rounds.\n")
    print_table(figures)
    if warning := crowd.warning():
        print(f"\n{warning}")
    for (job, host, variant), failure in figures.failures.items():
        print(f"\n{job.program} -s {job.sync}, {host.name} {variant}: {failure}", file=sys.stderr)
    transom = hosts.TRANSOM.relative_to(hosts.ROOT)
    print("\nNext, run your own program, as it is, with the mpirun that it was built for:")
    print(f"    mpirun.mpich -n 2 {transom} exec ./app")
    print(f"    mpirun.openmpi -n 2 {transom} exec ./app")
    return 1 if figures.failures else 0


if __name__ == "__main__":
    hosts.main("ci/quickstart", command)
