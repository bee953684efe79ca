"""ci/osu: the OSU one-sided benchmarks of a tree that you built, unmodified, bare and with Transom, side by side."""

import argparse
import os
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import hosts
from hosts import BARE, HOSTS, WITH_TRANSOM

ELF = b"\x7fELF"


@dataclass
class Table:
    """One program's output under one host: title lines, column titles, and the value that each start gave for each size."""

    titles: list[str] = field(default_factory=list)
    unit: str = ""
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def read(self, output):
        self.titles = []
        for line in output.splitlines():
            if re.match(r"#\s*Size\s", line):
                # Later versions may print further columns (percentiles, validation); the first is what they all print.
                self.unit = re.split(r"\s{2,}", line.lstrip("# ").strip())[1]
            elif line.startswith("#"):
                self.titles.append(line.lstrip("# ").strip())
            elif found := re.match(r"(\d+)\s+(\d+(?:\.\d*)?)", line):
                self.values[found[1]].append(float(found[2]))


def needed_libraries(file):
    """Names of the shared libraries that an executable asks for; none when it is a script or asks for none."""
    with open(file, "rb") as start:
        if start.read(len(ELF)) != ELF:
            return []
    try:
        listing = subprocess.run(["readelf", "-d", str(file)], capture_output=True, text=True)
    except FileNotFoundError:
        raise hosts.Failure("the command `readelf` is missing: install binutils") from None
    return re.findall(r"\(NEEDED\).*\[(.+)\]", listing.stdout)


def host_of(file):
    for library in needed_libraries(file):
        for host in HOSTS:
            if re.match(host.libraries, library):
                return host
    return None


def find_programs(tree):
    """Name -> host -> executable, of everything below `tree` that is called osu_* and lies in a directory `one-sided`."""
    if not tree.is_dir():
        raise hosts.Failure(f"{tree} is not a directory")
    candidates = []
    for directory, subdirectories, files in os.walk(tree.resolve()):
        subdirectories.sort()
        if "one-sided" in Path(directory).parts:
            candidates += [Path(directory) / file for file in sorted(files) if re.fullmatch(r"osu_\w+", file)]
    candidates = [file for file in candidates if os.access(file, os.X_OK)]
    if not candidates:
        raise hosts.Failure(
            f"no OSU one-sided benchmark is below {tree}: name a tree that is built or installed, in which "
            "mpi/one-sided/osu_put_latency and the like are"
        )
    programs = defaultdict(dict)
    for file in candidates:
        host = host_of(file)
        if host:
            programs[file.name].setdefault(host, file)
    if not programs:
        raise hosts.Failure(
            f"{candidates[0]} and the others below {tree} link neither {' nor '.join(host.title for host in HOSTS)}: "
            f"build them with {' or '.join(host.mpicc for host in HOSTS)}"
        )
    return programs


def select(programs, names):
    if not names:
        return programs
    wanted = [name if name.startswith("osu_") else f"osu_{name}" for name in names]
    for name in wanted:
        if name not in programs:
            raise hosts.Failure(f"{name} is not in this tree; there are {', '.join(sorted(programs))}")
    return {name: programs[name] for name in wanted}


def median_of(table, size):
    return hosts.median(table.values.get(size)) if table else None


def faster(bare, ours, unit):
    if not bare or not ours:
        return "-"  # OSU prints two digits, so that less than 5 ns is 0.00
    return f"{hosts.significant(ours / bare if '/s' in unit else bare / ours, 2)} x"


def print_tables(name, tables, failures):
    """All of one program: its titles, then a line for each size."""
    columns = sorted({host for host, _ in tables}, key=HOSTS.index)
    first = next((table for table in tables.values() if table.values), None)
    print(f"\n{name}")
    if first:
        print("".join(f"# {title}\n" for title in first.titles), end="")
        print(f"{'':10}" + "".join(f"{host.name:>36}" for host in columns))
        print(f"{'Size':10}" + "".join(f"{BARE:>12}{WITH_TRANSOM:>14}{'faster':>10}" for _ in columns) + f"   {first.unit}")
        sizes = sorted({size for table in tables.values() for size in table.values}, key=int)
        for size in sizes:
            line = f"{size:10}"
            for host in columns:
                bare, ours = (median_of(tables.get((host, variant)), size) for variant in (BARE, WITH_TRANSOM))
                for value, width in ((bare, 12), (ours, 14)):
                    line += f"{'-' if value is None else f'{value:,.2f}':>{width}}"
                line += f"{faster(bare, ours, first.unit):>10}"
            print(line)
    for (host, variant), failure in failures.items():
        print(f"failed, {host.name} {variant}: {failure}")
    sys.stdout.flush()


def run_program(name, executables, options, arguments):
    """Tables and failures of one program, by host and variant."""
    tables, failures = {}, {}
    for round in range(arguments.rounds):
        for host, executable in executables.items():
            for variant in hosts.variants(arguments.bare):
                at = host, variant
                if at in failures:
                    continue
                hosts.progress(f"round {round + 1} of {arguments.rounds}: {name}, {host.name} {variant}")
                table = tables.setdefault(at, Table())
                try:
                    table.read(host.run([executable, *options], transom=variant == WITH_TRANSOM, limit=arguments.limit))
                    if not table.values:
                        raise hosts.Failure("no table in its output")
                except hosts.Failure as failure:
                    failures[at] = str(failure)
    hosts.progress("")
    return tables, failures


def parse_command_line():
    parser = argparse.ArgumentParser(
        prog="ci/osu",
        usage="%(prog)s [OPTION...] DIR [PROGRAM...] [-- OSU-OPTION...]",
        description=__doc__.split(": ", 1)[1],
        epilog="What follows -- is passed to each program, for example: ci/osu DIR put_latency get_latency -- -w create -s lock",
    )
    parser.add_argument("tree", metavar="DIR", type=Path, help="a tree of the OSU benchmarks, built or installed")
    parser.add_argument("programs", metavar="PROGRAM", nargs="*", help="such as put_latency (default: all that the tree has)")
    parser.add_argument("--rounds", type=int, default=3, help="starts of each, of which medians are shown (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=120, help="seconds that one start may take (default: %(default)s)")
    hosts.add_common_options(parser)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:cut])
    if arguments.rounds < 1 or arguments.limit < 1:
        parser.error("--rounds and --limit begin at 1")
    return arguments, words[cut + 1 :]


def command():
    arguments, options = parse_command_line()
    programs = select(find_programs(arguments.tree), arguments.programs)
    hosts.prepare(arguments)
    print(f"OSU one-sided benchmarks of {arguments.tree}, two ranks, medians of {arguments.rounds} rounds")
    failed, crowd = False, hosts.Crowd()
    for name in sorted(programs):
        tables, failures = run_program(name, programs[name], options, arguments)
        print_tables(name, tables, failures)
        failed = failed or bool(failures)
    if warning := crowd.warning():
        print(f"\n{warning}")
    return 1 if failed else 0


if __name__ == "__main__":
    hosts.main("ci/osu", command)
