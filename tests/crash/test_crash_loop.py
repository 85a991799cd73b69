"""A message that kills its process reaches the dead set, and its neighbours are delivered."""

from collections import Counter

import pytest

from postroad.model.entities import HANDLER_SHARDS, Policy, shard_of
from postroad.model.ids import to_number
from tests.crash.killing import crash_loop

NEIGHBOURS = 960
"""About sixty in each of a handler's sixteen lanes."""
RESTARTS_MAX = 20


def lane(name: str) -> int:
    return shard_of(Policy(), HANDLER_SHARDS, "", to_number(name))


@pytest.mark.parametrize("queue", ["quick", "plain"])
def test_only_the_poison_dies(queue: str) -> None:
    report, found = crash_loop(NEIGHBOURS, RESTARTS_MAX, queue)
    assert report.breaches == []
    assert report.states == {"delivered": NEIGHBOURS, "crash_loop": 1}
    assert 4 <= report.kills <= 12
    lanes = {name: lane(name) for name in found.messages}
    (poison,) = [name for name, message in found.messages.items() if message.state == "dead"]
    assert Counter(lanes.values())[lanes[poison]] > 30


def test_the_ones_behind_it_in_its_order_go_on() -> None:
    report, _ = crash_loop(40, RESTARTS_MAX, "keys", "a")
    assert report.states == {"delivered": 40, "crash_loop": 1}
    assert report.breaches == []
