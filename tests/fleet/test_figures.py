"""What somebody sees who looks at a fleet from beside it."""

from typing import Any

import pytest

from tests.cli.running import data
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.words import Mail

BATCH = 300
WRITTEN_S = 90.0
"""Workers write their figures every ten seconds; on a busy machine a little later."""


def top(fleet: Fleet) -> Any:
    return data("top", "--once", "--dsn", fleet.dsn)


def delivered(look: Any) -> int:
    return sum(point["tries"].get("delivered", 0) for point in look["figures"]["points"])


@pytest.mark.wide
def test_top_beside_three_workers_shows_their_sum_and_who_they_are(fleet: Fleet) -> None:
    fleet.crew(3)
    count = 0
    while len({line.worker for line in fleet.said("done")}) < 3:  # until each has had its share
        load = [Parcel(tag("quick", 0, count + n), wait_ms=200) for n in range(BATCH)]
        fleet.wait_sent(fleet.mail(load, Mail("", "", batch=20, rest_ms=100)))
        count += BATCH
        fleet.wait(lambda: len(fleet.said("done")) == count, "all are delivered")  # noqa: B023
    fleet.wait(lambda: delivered(top(fleet)) >= 0.9 * count, "figures are written", WRITTEN_S)
    look = top(fleet)
    assert 0.9 * count <= delivered(look) <= 1.1 * count
    assert {point["name"] for point in look["figures"]["points"]} == {"handler:quick"}
    pids = {int(line.note) for line in fleet.said("here")}
    assert {worker["pid"] for worker in look["workers"]} == pids
    assert {worker["state"] for worker in look["workers"]} <= {"working", "idle"}


@pytest.mark.wide  # small twin: `test_leases` of the contract
def test_a_worker_that_was_killed_is_lost_and_one_that_leaves_is_gone(fleet: Fleet) -> None:
    crew = fleet.crew(2)
    fleet.send(Parcel(tag("quick", 0, n), wait_ms=60_000) for n in range(40))
    fleet.wait(lambda: len(fleet.said("start")) == 40, "all are started")
    first = fleet.said("start")[0].worker
    (second,) = set(crew) - {first}
    fleet.kill(first)

    def states() -> list[str]:
        return sorted(worker["state"] for worker in top(fleet)["workers"])

    fleet.wait(lambda: states() == ["lost", "working"], "its lanes are taken over", WRITTEN_S)
    fleet.stop(second)
    assert states() == ["lost"]
