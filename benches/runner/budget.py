"""ci/bench: the budgets of one-sided communication between two ranks, ours and the reference in one run.

A figure "ours" comes from the benchmark program under a host with Transom. Its reference was measured in the same processes,
on a plain shared mapping, in rounds that alternate; in rows that end in /host it is the same call of the bare host, from the
same program started without Transom between two starts with it.
"""

import argparse
import json
import operator
import sys
from collections import defaultdict
from dataclasses import dataclass

import hosts
from hosts import BARE, BUILT, HOSTS, WITH_TRANSOM

LAUNCHES = 3
ROUNDS = 5  # of each launch
ONE_RUN = 120
SOURCES = hosts.ROOT / "benches" / "budget"
REPORT = BUILT / "report.json"


@dataclass(frozen=True)
class Budget:
    """A bound of a ratio. "<=" bounds how many times the reference's time ours takes, ">=" how many times better ours is."""

    sign: str
    bound: float

    def __str__(self):
        return f"{self.sign} {self.bound:g}"

    def met_by(self, ratio):
        return {"<=": operator.le, ">=": operator.ge}[self.sign](ratio, self.bound)


@dataclass(frozen=True)
class Measurement:
    """One name of the benchmark program."""

    name: str
    budget: Budget | None = None
    against_hosts: tuple[tuple[str, str, float], ...] = ()  # host, beginning of its version, times faster
    constant: float | None = None  # the reference, where it is not measured
    launches: int = LAUNCHES
    host_may_fail: bool = False
    swaps: bool = False  # it compares and swaps
    further: tuple[str, ...] = ()  # other names under which it prints figures

    def host_budget(self, host):
        for key, version, bound in self.against_hosts:
            if host.key == key and f"{host.version}.".startswith(version):
                return Budget(">=", bound)
        return None


def at_most(bound):
    return Budget("<=", bound)


def at_least(bound):
    return Budget(">=", bound)


TRANSFERS = (("openmpi", "4.1.", 1.5), ("openmpi", "5.", 1), ("mpich", "4.0.", 40))
EVERY = (("openmpi", "", 1), ("mpich", "", 1))
SUMS = (("openmpi", "", 1), ("mpich", "", 15))

MEASUREMENTS = [
    *[
        Measurement(f"{call}/8/{flavour}/flush", at_most(2.5), TRANSFERS)
        for call in ("put", "get")
        for flavour in ("allocate", "allocate_shared", "create_mem")
    ],
    *[Measurement(f"{call}/bandwidth/{size}", at_least(0.95)) for call in ("put", "get") for size in ("64KiB", "1MiB")],
    Measurement("put/8/create/flush"),
    *[
        Measurement(f"{call}/8/flush{threads}", at_most(bound), EVERY, swaps=call == "compare_and_swap")
        for call in ("fetch_and_op", "compare_and_swap")
        for threads, bound in (("", 4), ("/multiple", 5))
    ],
    *[Measurement(f"{call}/8/wait", at_most(1)) for call in ("rput", "rget")],
    *[
        Measurement(f"{call}/64KiB/{element}", at_most(1.3), SUMS)
        for call in ("accumulate", "get_accumulate")
        for element in ("char", "double")
    ],
    Measurement("accumulate/disjoint", at_least(1.8)),
    Measurement("accumulate/disjoint/raw"),
    *[
        Measurement(f"{call}/{layout}", at_most(1.2), EVERY)
        for call in ("put", "get", "accumulate")
        for layout in ("strided/64KiB", "indexed/4096")
    ],
    *[Measurement(f"datatype/{use}") for use in ("first_use/strided", "first_use/indexed", "known")],
    Measurement("lock/exclusive/put8", at_most(2)),
    Measurement("fence/2", at_most(2)),
    Measurement("create/allocate/64B", at_most(20)),
    Measurement(
        "create/live/10000",
        at_least(1),
        constant=10000,
        launches=1,
        host_may_fail=True,  # MPICH 4.0.2 ends at 2,046
        further=("create/live/10000/time",),
    ),
    *[Measurement(f"passive/{call}", at_most(1.2)) for call in ("put", "fetch_and_op", "accumulate")],
]


class Figures:
    def __init__(self):
        self.values = defaultdict(list)  # host, variant, name, side
        self.units = {}
        self.failures = []
        self.notes = []

    def measure(self, host, variant, measurement):
        program = [BUILT / host.key / "budget", "-r", ROUNDS, measurement.name]
        try:
            environment = hosts.swap_environment(host, variant) if measurement.swaps else {}
            output = host.run(program, transom=variant == WITH_TRANSOM, limit=ONE_RUN, environment=environment)
        except hosts.Failure as failure:
            said = self.notes if variant == BARE and measurement.host_may_fail else self.failures
            text = f"{measurement.name}, {host.name} {variant}: {failure}"
            if text not in said:
                said.append(text)
            return
        for line in output.splitlines():
            if line.count("\t") == 3:
                name, side, unit, value = line.split("\t")
                self.values[host, variant, name, side].append(float(value))
                self.units[name] = unit

    def median(self, host, variant, name, side):
        return hosts.median(self.values[host, variant, name, side])

    def reference(self, host, name):
        """What was measured beside ours; what the bare host's processes measured only where there is nothing else to show."""
        ours = self.median(host, WITH_TRANSOM, name, "reference")
        return ours if ours is not None else self.median(host, BARE, name, "reference")


def row(name, host, ours, reference, unit, budget):
    known = ours is not None and reference is not None and min(ours, reference) > 0
    ratio = None
    if known:
        more_is_better = unit != "ns"
        worse = budget is not None and budget.sign == "<="
        ratio = ours / reference if worse != more_is_better else reference / ours
    return {
        "name": name,
        "host": host.name,
        "ours": ours,
        "reference": reference,
        "unit": unit,
        "ratio": float(f"{ratio:.4g}") if known else None,
        "budget": str(budget) if budget else None,
        "met": budget.met_by(ratio) if budget and known else None,
    }


def rows(figures, measurement, host):
    """The rows of one measurement: beside the plain mapping, then beside the bare host."""
    for name in (measurement.name, *measurement.further):
        main = name == measurement.name
        unit = figures.units.get(name)
        ours = figures.median(host, WITH_TRANSOM, name, "ours")
        if main:
            reference = measurement.constant or figures.reference(host, name)
            yield row(name, host, ours, reference, unit, measurement.budget)
        bare = figures.median(host, BARE, name, "ours")
        yield row(f"{name}/host", host, ours, bare, unit, measurement.host_budget(host) if main else None)


def print_table(table):
    columns = {"name": "<40", "host": "<16", "ours": ">11", "reference": ">11", "unit": ">8"}
    columns |= {"ratio": ">9", "budget": ">9", "met": ">6"}
    shown = {None: "-", True: "yes", False: "NO"}
    print("".join(f"{column:{width}}" for column, width in columns.items()))
    for line in table:
        cells = line | {key: hosts.significant(line[key]) for key in ("ours", "reference", "ratio")}
        cells["met"] = shown[line["met"]]
        print("".join(f"{cells[column] or '-':{width}}" for column, width in columns.items()))


def select(names):
    """Measurements of which at least one row has a name that begins so."""

    def rows_of(measurement):
        return [row for name in (measurement.name, *measurement.further) for row in (name, f"{name}/host")]

    prefixes = tuple(names) or ("",)
    chosen = [measurement for measurement in MEASUREMENTS if any(row.startswith(prefixes) for row in rows_of(measurement))]
    if not chosen:
        known = "\n  ".join(measurement.name for measurement in MEASUREMENTS)
        raise hosts.Failure(f"nothing that is measured begins with {' or '.join(names)}; there are\n  {known}")
    return chosen


def measure_all(chosen, variants):
    figures = Figures()
    for launch in range(LAUNCHES):
        for measurement in chosen:
            if launch >= measurement.launches:
                continue
            for host in HOSTS:
                for variant in variants:
                    hosts.progress(f"start {launch + 1} of {LAUNCHES}: {measurement.name}, {host.name} {variant}")
                    figures.measure(host, variant, measurement)
    hosts.progress("")
    return figures


def command():
    parser = argparse.ArgumentParser(prog="ci/bench", description=__doc__.split(": ", 1)[1])
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of names: put, lock/exclusive, … (default: all)")
    hosts.add_common_options(parser)
    arguments = parser.parse_args()
    chosen = select(arguments.names)
    hosts.prepare(arguments)
    for host in HOSTS:
        hosts.progress(f"compiling with {host.mpicc}")
        host.compile(BUILT / host.key / "budget", sorted(SOURCES.glob("*.c")))

    crowd = hosts.Crowd()
    figures = measure_all(chosen, hosts.variants(arguments.bare))
    table = [line for measurement in chosen for host in HOSTS for line in rows(figures, measurement, host)]
    if arguments.names:
        table = [line for line in table if line["name"].startswith(tuple(arguments.names))]
    REPORT.write_text(json.dumps(table, indent=1) + "\n")

    print_table(table)
    print(f"\nTwo ranks, {hosts.placement()}; medians of {LAUNCHES} starts with {ROUNDS} rounds each.")
    print("What an empty loop takes is subtracted on both sides.")
    print("Ratio, beside <=: ours takes so many times the reference's time; else ours is so many times better.")
    swap_note = hosts.SWAP_NOTE if any(measurement.swaps for measurement in chosen) else ""
    for note in (swap_note, crowd.warning(), *figures.notes):
        if note:
            print(note)
    print(f"The same as JSON: {REPORT.relative_to(hosts.ROOT)}")
    for failure in figures.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if figures.failures else 0


if __name__ == "__main__":
    hosts.main("ci/bench", command)
