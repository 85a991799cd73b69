"""The run's own rules: nothing is skipped, and what it ran on is printed.

A test that cannot run here has not been run: a skip, an xfail or a rerun fails the whole run.
`--serverless` leaves out every test that needs PostgreSQL or RabbitMQ; `make quick` asks for it.
"""

import gc
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.servers.postgres import PrivatePostgres
    from tests.servers.rabbitmq import PrivateRabbit

VERSIONS = pytest.StashKey[list[str]]()
DODGED = pytest.StashKey[list[str]]()
SECONDS = pytest.StashKey[dict[str, float]]()
LONG = re.compile(
    "tests/(crash|deploy|demo|fleet|guides|pacing|processes|restoring)/"
    "|(browser|faults|idle|kills|move|moving|receipts|restarts|signals|tidy|watchdog|extras)[.]py"
)
BROKERS = frozenset({"broker", "own_broker"})
SERVERS = BROKERS | {"server"}
# What a worker process hands to the one that prints, when pytest-xdist splits the run.
PARCEL = "postroad_server_versions"
MEMORY, ROOM_BYTES = Path("/dev/shm"), 8 << 30
"""Where temporary files are, when that much is free: a database was made in 0.1 s and not in 0.3 s,
30 messages took a SQLite road 0.05 s and not 0.19 s. The proofs stay on the disk."""


def pytest_addoption(parser: pytest.Parser) -> None:
    words = "only the tests that need neither PostgreSQL nor RabbitMQ"
    parser.addoption("--serverless", action="store_true", help=words)


def has_room(memory: Path = MEMORY, facts: Path = Path("/proc/meminfo")) -> bool:
    """Whether all files of a run fit into memory."""
    if not memory.is_dir() or not facts.exists():
        return False
    free = re.search(r"^MemAvailable: +(\d+) kB", facts.read_text(), re.MULTILINE)
    room = min(int(free[1]) << 10 if free else 0, shutil.disk_usage(memory).free)
    return room >= ROOM_BYTES


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all tests are collected
    # Not where somebody has chosen a folder; and the workers of a run do as it does.
    if "TMPDIR" not in os.environ and has_room():
        os.environ["TMPDIR"] = str(MEMORY)  # of the processes that tests start, too
        tempfile.tempdir = None
    # How fast a busy machine draws examples says nothing about the code.
    slow = [HealthCheck.too_slow]
    settings.register_profile("any machine", deadline=None, suppress_health_check=slow)
    settings.load_profile("any machine")
    # A shell starts what it runs in the background with Ctrl+C ignored, and every process that a
    # test starts would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[SECONDS] = {}
    config.stash[VERSIONS] = [f"SQLite {apsw.sqlite_lib_version()}"]
    config.stash[DODGED] = []
    config.pluginmanager.register(Rules(config), "postroad-rules")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("serverless"):
        left_out = {item for item in items if SERVERS & set(getattr(item, "fixturenames", ()))}
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    items[:] = in_shares(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def in_shares(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Tests in the order in which workers get them: each an equal share. Those that need a broker are
    first, so that one or two workers get them all, and not each of them starts a broker. Every other
    share begins with its part of the long ones: a run ended with two of them, and workers that had
    nothing left to steal."""
    brokers = [item for item in items if needs_broker(item)]
    others = [item for item in items if not needs_broker(item)]
    if workers == 1:
        return brokers + others
    brokers.sort(key=lambda item: not is_long(item))
    long, short = [i for i in others if is_long(i)], [i for i in others if not is_long(i)]
    beside = max(0, len(items) // workers - len(brokers))
    shared = brokers + short[:beside]
    del short[:beside]
    for left in range(workers - 1, 0, -1):
        heads, rest = len(long) // left, len(short) // left
        shared += long[:heads] + short[:rest]
        del long[:heads], short[:rest]
    return shared


def is_long(item: pytest.Item) -> bool:
    """Whether a test is in a folder or file in which some take seconds."""
    return LONG.search(item.nodeid) is not None


def needs_broker(item: pytest.Item) -> bool:
    """Whether a test uses RabbitMQ; those of the contract ask for it by a parameter."""
    callspec = getattr(item, "callspec", None)
    store = callspec.params.get("bench") if callspec else None
    return store == "rabbitmq" or not BROKERS.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_collection_finish() -> None:
    """The tests themselves are no garbage: to look at them took 0.16 s whenever somebody collected."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postroad_server_versions(pytestconfig: pytest.Config) -> list[str]:
    """Servers this run used: a fixture that starts one appends "PostgreSQL 17.2"."""
    return pytestconfig.stash[VERSIONS]


@pytest.fixture(scope="session")
def broker(postroad_server_versions: list[str]) -> Iterator["PrivateRabbit"]:
    """One RabbitMQ for all tests of a worker: it takes seven seconds of CPU to start."""
    from tests.servers.rabbitmq import UNSTUCK, PrivateRabbit

    with PrivateRabbit(UNSTUCK) as rabbit:
        postroad_server_versions.append(f"RabbitMQ {rabbit.version}")
        yield rabbit


@pytest.fixture(scope="session")
def own_broker(broker: "PrivateRabbit") -> Iterator["PrivateRabbit"]:
    """One that may be killed: the same, unless that is one elsewhere."""
    from tests.servers.rabbitmq import ELSEWHERE, UNSTUCK, PrivateRabbit

    if not broker.elsewhere:
        yield broker
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(ELSEWHERE)
        with PrivateRabbit(UNSTUCK) as own:
            yield own


@pytest.fixture(scope="session")
def server(postroad_server_versions: list[str]) -> Iterator["PrivatePostgres"]:
    """One PostgreSQL for all tests of a worker that neither stop nor set it: each makes databases
    of its own."""
    from tests.servers.postgres import PrivatePostgres

    with PrivatePostgres() as own:
        version = own.sql("show server_version").split()[0]
        postroad_server_versions.append(f"PostgreSQL {version}")
        yield own


class Rules:
    """Counts what dodged, fails the run for it, and carries versions home from the workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.config.stash[DODGED].append(f"skipped {report.nodeid}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        folder = report.nodeid.removeprefix("tests/").partition("/")[0]
        seconds = self.config.stash[SECONDS]
        seconds[folder] = seconds.get(folder, 0) + report.duration
        if hasattr(report, "wasxfail"):
            self.config.stash[DODGED].append(f"xfail {report.nodeid}")
        elif report.outcome not in ("passed", "failed"):
            self.config.stash[DODGED].append(f"{report.outcome} {report.nodeid}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        parcel: dict[str, list[str]] = getattr(node, "workeroutput", {})
        self.config.stash[VERSIONS].extend(parcel.get(PARCEL, []))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        parcel: dict[str, list[str]] | None = getattr(self.config, "workeroutput", None)
        if parcel is not None:
            parcel[PARCEL] = self.config.stash[VERSIONS]
        elif self.config.stash[DODGED] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        yield

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for dodge in self.config.stash[DODGED]:
            terminalreporter.line(f"not run, so the run fails: {dodge}", red=True)
        took = sorted(self.config.stash[SECONDS].items(), key=lambda folder: -folder[1])
        each = [f"{name} {seconds:.0f}" for name, seconds in took]
        terminalreporter.line(f"seconds by folder, all test processes added up: {', '.join(each)}")
        versions = self.config.stash[VERSIONS]
        terminalreporter.line(f"servers used: {', '.join(sorted(set(versions)))}")
