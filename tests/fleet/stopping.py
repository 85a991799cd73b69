"""The server stops as in a crash, in mid-load, and comes back."""

from collections import Counter

from msgspec import Struct

from tests.crash.book import Book, now_ms
from tests.crash.killing import Report, check
from tests.fleet.fleet import Fleet
from tests.fleet.killing import assorted, check_lanes
from tests.fleet.states import look_into, tries_of, waiting
from tests.fleet.words import Line, Mail
from tests.servers.postgres import PrivatePostgres

SURE = Mail("", "", batch=10, rest_ms=60, sure=True)
RECOVERY_S = 90.0


def crash_server(server: PrivatePostgres, stops: int, messages: int) -> Report:
    """Two workers and a sender go on while their server is stopped so many times. `kills` of the
    report are the stops, `cut` the tries that may have been forgotten: results are recorded with
    synchronous_commit off."""
    report = Report()
    forgotten: list[Forgotten] = []
    with Fleet(server.create_road()) as fleet:
        fleet.crew(2)
        sender = fleet.mail(assorted(messages), SURE)
        for _ in range(stops):
            _wait_done(fleet, 100, "some are done")
            forgotten.append(_stop_and_start(server, fleet))
            report.kills += 1
        fleet.wait_sent(sender)
        fleet.wait(lambda: waiting(fleet.dsn) == 0, "all is over", 90.0)
        for name in sorted(fleet.workers):
            fleet.stop(name)
        lines = fleet.fsynced_lines()
        cut = Counter(one.id for stop in forgotten for one in lines if stop.has(one))
        check(Book(lines), look_into(fleet.dsn), cut, report, forgets=True)
        check_lanes(lines, report)
    return report


class Forgotten(Struct, frozen=True):
    """What a server that came back knew of messages that are not over, and when it was asked."""

    at_ms: int
    tries: dict[str, int]

    def has(self, line: Line) -> bool:
        """Whether this try had begun, and the server does not know how it ended."""
        begun = line.word == "start" and line.at_ms <= self.at_ms
        return begun and self.tries.get(line.id, line.attempt) < line.attempt


def _stop_and_start(server: PrivatePostgres, fleet: Fleet) -> Forgotten:
    server.stop("immediate")
    fleet.rest(1.0)
    with fleet.frozen():  # before the workers write down again what was forgotten
        server.start()
        forgotten = Forgotten(now_ms(), tries_of(fleet.dsn))
    _wait_done(fleet, 20, "workers deliver again")
    return forgotten


def _wait_done(fleet: Fleet, count: int, what: str) -> None:
    """Wait for so many ends of tries from now on."""
    before = len(fleet.said("done"))
    fleet.wait(lambda: len(fleet.said("done")) > before + count, what, RECOVERY_S)
