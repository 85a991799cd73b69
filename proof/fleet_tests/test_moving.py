"""Handlers scale over their shards, and a stop hands lanes over at once."""

from collections import Counter

from tests.crash.book import now_ms
from tests.fleet.fleet import Fleet
from tests.fleet.states import waiting
from tests.fleet.test_moving import MARGIN_S, parcels
from tests.fleet.words import BRISK


def test_a_handler_scales_over_its_shards(fleet: Fleet) -> None:
    # Each worker could have all of it: 16 lanes, some 3 s of work for 64 at once a lane.
    crew = fleet.crew(2)
    fleet.send(parcels("quick", 3_000, wait_ms=300))
    fleet.wait(lambda: waiting(fleet.dsn) == 0, "all is over")
    shares = Counter(line.worker for line in fleet.said("start"))
    assert min(shares[name] for name in crew) > 3_000 / 5, shares


def test_a_stopped_worker_hands_its_lanes_over_at_once(fleet: Fleet) -> None:
    (first,) = fleet.crew(1)
    fleet.send(parcels("quick", 64, wait_ms=60_000))
    fleet.wait(lambda: len(fleet.said("start", first)) == 64, "all are started")
    (second,) = fleet.crew(1)
    # In flight for longer than the drain time: given back, and no try is spent.
    took_s = fleet.stop(first)
    assert took_s < BRISK.drain_s + MARGIN_S
    stopped_ms = now_ms()
    fleet.wait(lambda: len(fleet.said("start", second)) == 64, "all are started again", 5.0)
    again = fleet.said("start", second)
    assert max(line.at_ms for line in again) - stopped_ms < 2_000
    assert {line.attempt for line in again} == {1}
