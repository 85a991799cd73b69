"""Workers come and go: lanes move to where there is somebody, and nothing is lost on the way."""

import asyncio
from collections import Counter

import pytest

from postroad import Postroad
from tests.crash.book import Book
from tests.crash.killing import Report, check
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.killing import assorted, check_lanes
from tests.fleet.states import OWNED, look_into, number, waiting
from tests.fleet.words import BRISK, Mail
from tests.servers.postgres import PrivatePostgres

MARGIN_S = 60.0
"""For a busy machine."""


def parcels(queue: str, count: int, wait_ms: int = 0, life: int = 0) -> list[Parcel]:
    return [Parcel(tag(queue, life, n), wait_ms=wait_ms) for n in range(count)]


def all_is_well(fleet: Fleet) -> Report:
    """Everything came to its end, and every promise was kept without a repeat."""
    fleet.wait(lambda: waiting(fleet.dsn) == 0, "all is over")
    for name in sorted(fleet.workers):
        fleet.stop(name)
    report = Report()
    lines = fleet.fsynced_lines()
    check(Book(lines), look_into(fleet.dsn), Counter(), report)
    check_lanes(lines, report)
    assert report.breaches == []
    assert report.repeats == 0
    assert number(fleet.dsn, OWNED) == 0
    return report


def test_roads_that_open_together_make_the_schema_once(server: PrivatePostgres) -> None:
    dsn = server.create_database()

    async def open_all() -> None:
        roads = [Postroad(dsn) for _ in range(6)]
        await asyncio.gather(*[road.__aenter__() for road in roads])
        assert len({road.owner for road in roads}) == 6
        for road in roads:
            await road.__aexit__(None, None, None)

    asyncio.run(open_all())


@pytest.mark.wide
def test_workers_are_added_and_removed_without_loss(fleet: Fleet) -> None:
    fleet.crew(1)
    sender = fleet.mail(assorted(1_000), Mail("", "", batch=10, rest_ms=100))
    for _ in range(2):
        (new,) = fleet.crew(1)
        fleet.wait_at_work(new, 30.0)
        fleet.stop(min(fleet.workers - {new}))
    fleet.wait_sent(sender)
    report = all_is_well(fleet)
    assert report.accepted == 1_000


def test_a_second_worker_gets_its_share_of_what_waits(fleet: Fleet) -> None:
    fleet.crew(1)
    fleet.send(parcels("quick", 2_000, wait_ms=3_000))  # 12 s of work for one
    (new,) = fleet.crew(1)
    fleet.wait_at_work(new, 30.0)


def test_lanes_of_a_killed_worker_are_taken_over_in_time(fleet: Fleet) -> None:
    (first,) = fleet.crew(1)
    fleet.send(parcels("quick", 40, wait_ms=60_000) + parcels("box-1.1", 5, wait_ms=60_000))
    fleet.wait(lambda: len(fleet.said("start", first)) == 45, "all are started")
    (second,) = fleet.crew(1)
    fleet.kill(first)
    last_beat_ms = number(fleet.dsn, "select min(beat_at) from postroad.process")
    lanes = {line.lane for line in fleet.said("start", first)}
    bound_s = (BRISK.lease_ms + BRISK.beat_ms) / 1000 + MARGIN_S
    fleet.wait(
        lambda: {line.lane for line in fleet.said("start", second)} >= lanes, "taken over", bound_s
    )
    # And not before the lease is over, counted from the last sign of life.
    assert number(fleet.dsn, "select postroad.now_ms()") >= last_beat_ms + BRISK.lease_ms
    report = Report()
    check_lanes(fleet.lines, report)
    assert report.breaches == []
