"""What each rank runs of ci/suite mpi4py: tests of mpi4py's, one after the other and in step, with a report that outlives a hang.

A rank writes to REPORTS/RANK a line for what it begins and a line for what came of it; its stack goes to REPORTS/RANK.stack if a test
does not end. Between tests the ranks tell each other how it went. Where they differ they all end, since windows and messages of that
test may be left, which would spoil the next.
"""

import argparse
import faulthandler
import json
import sys
import unittest
from pathlib import Path

# A test loops over types, sizes and ranks: what fails once may fail a thousand times.
TEXTS_OF_A_TEST = 3
# Seconds that the end of a spoilt job may take.
PATIENCE = 5


class Recorder(unittest.TestResult):
    """How one test went: `pass`, `skip` or `fail`, and what there is to say."""

    def __init__(self):
        super().__init__()
        self.result, self.texts = "pass", []

    def _fails(self, test, error, where=""):
        self.result = "fail"
        if len(self.texts) < TEXTS_OF_A_TEST:
            self.texts.append(self._exc_info_to_string(error, test) + where)

    def addError(self, test, error):
        self._fails(test, error)

    def addFailure(self, test, error):
        self._fails(test, error)

    def addSubTest(self, test, subtest, error):
        if error:
            self._fails(test, error, f"in the part {subtest._subDescription()}")

    def addSkip(self, test, reason):
        if self.result == "pass":
            self.result, self.texts = "skip", [reason]


def skip_nothing_for_the_hosts_sake(module):
    """Tests are left out by the host's name and version, and by whether it makes windows at all. Behind Transom that says nothing of windows:
    no host satisfies a predicate, and no class is disabled."""
    import mpiunittest
    from mpi4py import MPI

    mpiunittest.mpi_predicate = lambda predicate: None
    mpiunittest.disable = lambda what, reason: what
    if module == "test_win":
        # testSharedQuery, the only place that asks there, does nothing for most flavours below 4.1; ours answer as 4.1 says.
        version = max(MPI.Get_version(), (4, 1))
        MPI.Get_version = lambda: version


def names_of(suite):
    """The tests of a suite, in its order."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names_of(test)
        else:
            yield test.id()


def load(names):
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names)
    if loader.errors:
        sys.exit("\n".join(loader.errors))
    return suite


def run(names, reports, start, limit):
    from mpi4py import MPI

    team = MPI.COMM_WORLD.Dup()  # the tests' own messages do not meet ours
    with (
        open(reports / str(team.rank), "w", buffering=1) as report,
        open(reports / f"{team.rank}.stack", "w") as stack,
    ):

        def say(**line):
            print(json.dumps(line), file=report)

        # It needs no help of Python's: a call of MPI that does not return may hold the interpreter.
        faulthandler.dump_traceback_later(start, exit=True, file=stack)
        load(names)
        for name in names:
            say(begin=name)
            faulthandler.dump_traceback_later(limit, exit=True, file=stack)
            recorder = Recorder()
            load([name]).run(recorder)
            say(end=name, result=recorder.result, texts=recorder.texts)
            results = team.allgather(recorder.result)
            faulthandler.cancel_dump_traceback_later()
            if len(set(results)) > 1:
                # MPI_Finalize may wait for what never comes.
                limit = PATIENCE
                break
    faulthandler.dump_traceback_later(limit, exit=True, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tests", type=Path, required=True, help="directory of the tests")
    parser.add_argument("--list", nargs="+", metavar="MODULE", help="print the names of the tests of these modules")
    parser.add_argument("--reports", type=Path, help="directory of the reports; in it `names`, a module's tests that are to be run")
    parser.add_argument("--start", type=float, help="seconds until the first test")
    parser.add_argument("--limit", type=float, help="seconds that one test may take")
    parser.add_argument("--skip-nothing", action="store_true", help="run also what is left out for the host's sake")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.tests))
    if arguments.list:
        print(*names_of(load(arguments.list)), sep="\n")
        return
    names = (arguments.reports / "names").read_text().split()
    if arguments.skip_nothing:
        skip_nothing_for_the_hosts_sake(names[0].partition(".")[0])
    run(names, arguments.reports, arguments.start, arguments.limit)


if __name__ == "__main__":
    main()
