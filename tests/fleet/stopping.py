"""The server stops as in a crash, in mid-load, and comes back."""

from collections import Counter

from tests.crash.book import Book, now_ms
from tests.crash.killing import Report, check
from tests.fleet.fleet import Fleet
from tests.fleet.killing import assorted, check_lanes
from tests.fleet.states import look_into, waiting
from tests.fleet.words import Mail
from tests.servers.postgres import PrivatePostgres

SURE = Mail("", "", batch=10, rest_ms=60, sure=True)
FORGOTTEN_MS = 1_000
"""Results are recorded with synchronous_commit off: a crash of the server forgets those of the last
three rounds of its WAL writer, 600 ms; the rest is for the tries themselves and a busy machine."""
RECOVERY_S = 15.0


def crash_server(server: PrivatePostgres, stops: int, messages: int) -> Report:
    """Two workers and a sender go on while their server is stopped so many times. `kills` of the
    report are the stops, `cut` the tries that may have been forgotten."""
    report = Report()
    cut: Counter[str] = Counter()
    with Fleet(server.create_database()) as fleet:
        fleet.crew(2)
        sender = fleet.mail(assorted(messages), SURE)
        for _ in range(stops):
            _wait_done(fleet, 100, "some are done")
            cut += _stop_and_start(server, fleet)
            report.kills += 1
        fleet.wait_sent(sender)
        fleet.wait(lambda: waiting(fleet.dsn) == 0, "all is over", 40.0)
        for name in sorted(fleet.workers):
            fleet.stop(name)
        lines = fleet.fsynced_lines()
        check(Book(lines), look_into(fleet.dsn), cut, report)
        check_lanes(lines, report)
    return report


def _stop_and_start(server: PrivatePostgres, fleet: Fleet) -> Counter[str]:
    server.stop("immediate")
    stopped_ms = now_ms()
    fleet.rest(1.0)
    server.start()
    _wait_done(fleet, 20, "workers deliver again")
    return Counter(
        line.id
        for line in fleet.said("start")
        if stopped_ms - FORGOTTEN_MS < line.at_ms < stopped_ms
    )


def _wait_done(fleet: Fleet, count: int, what: str) -> None:
    """Wait for so many ends of tries from now on."""
    before = len(fleet.said("done"))
    fleet.wait(lambda: len(fleet.said("done")) > before + count, what, RECOVERY_S)
