"""Lanes that find no room wait for a place, and do not keep asking for one."""

import asyncio

import pytest

from postroad.engine import runners
from postroad.engine.capacity import Capacity
from postroad.engine.lane_worker import LaneWorker
from postroad.engine.runners import Runners
from postroad.engine.waiting_lanes import WaitingLanes
from postroad.model.limits import Limits
from postroad.model.outcome import Outcome
from tests.rig import receivers
from tests.rig.world import World, simulate

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
    simulate(1, burst, Limits(in_flight_max=ROOM))
    assert served[0] < 5 * SERVERS * EACH


@pytest.mark.wide
def test_otherwise_each_place_that_is_given_back_has_all_of_them_ask(
    served: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(Capacity):
        def left(self, tenant: str) -> int:  # noqa: ARG002
            return 1 << 30

    monkeypatch.setattr(
        runners, "WaitingLanes", lambda _capacity: WaitingLanes(Endless(Limits(), {}))
    )
    simulate(1, burst, Limits(in_flight_max=ROOM))
    assert served[0] > 10 * SERVERS * EACH


def test_a_place_is_not_left_to_lanes_that_cannot_use_it() -> None:
    """Lanes that waited for room and were paused meanwhile stood before others, one each tick."""

    async def story(world: World) -> None:
        first = iter([12.0])

        def hog(now_ms: int, draw: float) -> tuple[float, bool, Outcome]:
            return receivers.good(seconds=next(first, 900.0))(now_ms, draw)

        world.behaviours["hog"] = hog
        for n in range(SERVERS):
            await world.send(f"sim://hog/{n}")
        world.start("one")
        await asyncio.sleep(3)
        for n in range(SERVERS):
            world.behaviours[f"s{n}"] = receivers.good(seconds=0.01)
            await world.send(f"sim://s{n}/a")
        await asyncio.sleep(5)
        for n in range(SERVERS - 1):
            await world.client.pause(f"sim://s{n}/a")
        begun_ms = world.clock.now_ms()
        while not any(one.lane == f"s{SERVERS - 1}" for one in world.ledger.book):
            await asyncio.sleep(0.1)
            assert world.clock.now_ms() < begun_ms + 6_000

    simulate(1, story, Limits(in_flight_max=SERVERS, window=SERVERS))
