"""The server goes away in mid-load, connections are cut at the worst moments, the bell is silent:
nothing is lost, and the workers recover by themselves."""

from collections import Counter
from collections.abc import Iterator

import pytest

from postroad.model.ids import to_number
from tests.crash.book import Book
from tests.crash.killing import Report, check
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.killing import check_lanes
from tests.fleet.states import look_into, number, waiting
from tests.fleet.stopping import crash_server
from tests.fleet.words import Mail
from tests.servers.postgres import ELSEWHERE, PrivatePostgres
from tests.servers.proxy import Proxy


@pytest.fixture
def own_server() -> Iterator[PrivatePostgres]:
    """One that may be stopped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(ELSEWHERE, raising=False)
        with PrivatePostgres() as pg:
            yield pg


@pytest.fixture
def proxy(dsn: str) -> Iterator[Proxy]:
    with Proxy(dsn) as proxy:
        yield proxy


def checked(fleet: Fleet, cut: Counter[str]) -> Report:
    """Every promise; `cut` are the tries whose results may have been forgotten."""
    fleet.wait(lambda: waiting(fleet.dsn) == 0, "all is over", 40.0)
    for name in sorted(fleet.workers):
        fleet.stop(name)
    report = Report()
    lines = fleet.fsynced_lines()
    check(Book(lines), look_into(fleet.dsn), cut, report)
    check_lanes(lines, report)
    return report


def test_a_server_that_crashes_in_mid_load(own_server: PrivatePostgres) -> None:
    report = crash_server(own_server, stops=1, messages=250)
    assert report.breaches == []
    assert report.accepted == 250
    assert report.repeats <= report.cut


def test_connections_cut_between_a_commit_and_its_answer(fleet: Fleet, proxy: Proxy) -> None:
    fleet.crew(2, dsn=proxy.dsn())
    for turn, queue in enumerate(("quick", "box-1.1", "quick")):
        slow = Parcel(tag(queue, turn, 0), wait_ms=2_000)
        fleet.send([slow])
        _cut_its_record(fleet, proxy, slow)
    # The claim's commit: the lane is owned by a process that does not know it.
    for turn in range(2):
        cut = proxy.cut_after_next(b"handler:flaky")
        fleet.send([Parcel(tag("flaky", 9, turn))])
        assert cut.wait(60)
    report = checked(fleet, Counter())
    assert report.breaches == []
    assert report.repeats == 0


def _cut_its_record(fleet: Fleet, proxy: Proxy, parcel: Parcel) -> None:
    """Cut the connection that takes the result of a message that is in flight now."""
    fleet.wait(lambda: any(line.tag == parcel.tag for line in fleet.said("start")), "it starts")
    (name,) = {line.id for line in fleet.said("start") if line.tag == parcel.tag}
    cut = proxy.cut_after_next(str(to_number(name)).encode())
    assert cut.wait(60), "its result goes through the proxy"
    count = "select count(*) from postroad.history where id = $1"
    assert number(fleet.dsn, count, to_number(name)) == 1, "it was the record that was cut"


def test_sends_cut_between_their_commit_and_its_answer(fleet: Fleet, proxy: Proxy) -> None:
    fleet.crew(1)
    parcels = [Parcel(tag("quick", 0, n)) for n in range(3)]
    cut = proxy.cut_after_next(parcels[1].tag.encode())
    fleet.send(parcels, Mail("", proxy.dsn(), batch=1, sure=True))
    assert cut.is_set()
    report = checked(fleet, Counter())
    assert fleet.said("refused"), "the sender was told that it is not known"
    assert report.breaches == []
    assert (report.accepted, report.states) == (3, {"delivered": 3})
