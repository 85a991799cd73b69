"""Lanes that find no room wait for a place, and do not keep asking for one."""

import asyncio

import pytest

from postroad.engine.lane import LaneWorker
from postroad.engine.room import Room
from postroad.engine.runners import Runners
from postroad.model.limits import Limits
from postroad.testing import receivers
from postroad.testing.world import World, simulate

SERVERS = 150
EACH = 2
ROOM = 16


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often somebody looks whether a lane can send."""
    count = [0]
    serve = Runners._serve

    async def counted(runners: Runners, worker: LaneWorker, task: "asyncio.Task[None]") -> None:
        count[0] += 1
        await serve(runners, worker, task)

    monkeypatch.setattr(Runners, "_serve", counted)
    return count


async def burst(world: World) -> None:
    """Many servers, more than there is room for."""
    for n in range(SERVERS):
        world.behaviours[f"s{n}"] = receivers.good(seconds=0.1)
        for _ in range(EACH):
            await world.send(f"sim://s{n}/a")
    world.start("one")
    world.check(await world.settled(within_s=60))


def test_lanes_without_room_are_asked_when_there_is_some(served: list[int]) -> None:
    simulate(1, burst, Limits(room=ROOM))
    assert served[0] < 5 * SERVERS * EACH


def test_otherwise_each_place_that_is_given_back_has_all_of_them_ask(
    served: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Room, "left", property(lambda _room: 1 << 30))
    simulate(1, burst, Limits(room=ROOM))
    assert served[0] > 10 * SERVERS * EACH
