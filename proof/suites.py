"""fleet-tests, bench-tests: tests that take long, or that take times."""

from pathlib import Path

import pytest

from proof.shape import Reached

FLEET_TESTS = 6
BENCH_TESTS = 10


class Tally:
    """How the tests went."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed


def prove_fleet(_seconds: float) -> Reached:
    """The fleet's tests that take long, or that take times."""
    return _run("fleet_tests", FLEET_TESTS)


def prove_bench(_seconds: float) -> Reached:
    """Benchmarks, small, from end to end."""
    return _run("bench_tests", BENCH_TESTS)


def _run(folder: str, floor: int) -> Reached:
    tally = Tally()
    code = pytest.main(["-q", str(Path(__file__).parent / folder)], plugins=[tally])
    broken = tally.failed + (code != pytest.ExitCode.OK)
    return Reached(floor=floor, reached=tally.passed, broken=int(broken))
